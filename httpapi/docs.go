package httpapi

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"net/http"
	"sync"

	"postern/httpapi/openapi"
	"postern/httpapi/rest"
)

// documentOf holds constant bytes in the form in which they are served.
type documentOf struct {
	media, policy string
	content       []byte
	packed        []byte // with gzip
	err           error
}

// addDocuments adds the paths that describe the interface itself. The documents are made at the first request for one.
func (a *api) addDocuments(version string) {
	docs := sync.OnceValue(func() map[string]documentOf { return documents(a.BaseURL, a.BasePath, version) })
	for _, path := range []string{pathOpenAPI, pathAliases, pathAsyncAPI, pathDocs} {
		r := rest.Route{Method: http.MethodGet, Path: path, Auth: rest.Public, Handle: func(c *rest.Call) error {
			return docs()[path].serve(c)
		}}
		a.Add(r)
	}
}

// documents returns all of them, by path.
func documents(server, base, version string) map[string]documentOf {
	docs := openapi.Build(describe(server, base, version))
	const nothing = "default-src 'none'"
	spec, specErr := json.Marshal(docs.OpenAPI)
	older, olderErr := json.Marshal(docs.Aliases)
	sockets, socketsErr := json.Marshal(docs.AsyncAPI)
	page, pageErr := openapi.NewPage(docs)
	return map[string]documentOf{
		pathOpenAPI:  newDocument("application/json", nothing, spec, specErr),
		pathAliases:  newDocument("application/json", nothing, older, olderErr),
		pathAsyncAPI: newDocument("application/json", nothing, sockets, socketsErr),
		pathDocs:     newDocument("text/html; charset=utf-8", page.Policy, page.HTML, pageErr),
	}
}

func newDocument(media, policy string, content []byte, err error) documentOf {
	var small bytes.Buffer
	zip := gzip.NewWriter(&small)
	_, _ = zip.Write(content) // a buffer takes everything
	_ = zip.Close()
	return documentOf{media, policy, content, small.Bytes(), err}
}

// serve answers with the document, compressed if the client accepts it, because the documents are long and repetitive.
func (d documentOf) serve(c *rest.Call) error {
	if d.err != nil {
		return d.err
	}
	h := c.Response.Header()
	h.Set("Content-Type", d.media)
	h.Set("Cache-Control", "no-cache")
	h.Set("Content-Security-Policy", d.policy)
	h.Set("Vary", "Accept-Encoding")
	body := d.content
	if rest.TakesGzip(c.Request.Header) {
		h.Set("Content-Encoding", "gzip")
		body = d.packed
	}
	_, err := c.Response.Write(body)
	return err
}
