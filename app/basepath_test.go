package app

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"nhooyr.io/websocket"

	"postern/cli/consumer"
	"postern/config"
)

// behind returns a reverse proxy that has the program at prefix, and hands requests on with
// it or without.
func behind(t *testing.T, s *socketRig, prefix string, strips bool) string {
	t.Helper()
	to, err := url.Parse(strings.TrimSuffix(s.url, prefix))
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host
	}}
	var h http.Handler = proxy
	if strips {
		h = http.StripPrefix(prefix, proxy)
	}
	mux := http.NewServeMux()
	mux.Handle(prefix+"/", h)
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv.URL + prefix
}

func pageAt(t *testing.T, url string) (text string, at *url.URL) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %v", url, resp.Status, err)
	}
	return string(raw), resp.Request.URL
}

// TestEverythingIsServedBelowTheBasePath: API, dashboard with all that it refers to,
// documents and WebSockets, behind a proxy that strips the path, one that keeps it,
// and without any.
func TestEverythingIsServedBelowTheBasePath(t *testing.T) {
	s := configured(t, func(c *config.Config) { c.Server.BasePath = "/tools/postern" })
	s.user = s.mint(time.Hour)
	if !strings.HasSuffix(s.URL(), "/tools/postern") || s.Dashboard() != s.URL()+"/" {
		t.Errorf("%s %s", s.URL(), s.Dashboard())
	}
	for name, base := range map[string]string{
		"straight": s.URL(), "kept": behind(t, s, "/tools/postern", false), "stripped": behind(t, s, "/tools/postern", true),
	} {
		t.Run(name, func(t *testing.T) {
			api := consumer.NewClient(base)
			if err := api.Call(t.Context(), s.key, http.MethodPost, "/instance", map[string]string{"instanceName": name}, nil); err != nil {
				t.Error(err)
			}
			page, at := pageAt(t, base) // without the slash at its end
			refs := regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(page, -1)
			looked := 0
			for _, ref := range refs {
				to, err := at.Parse(ref[1])
				if err != nil || to.Host != at.Host {
					continue
				}
				looked++
				if text, _ := pageAt(t, to.String()); !strings.HasPrefix(to.Path, "/tools/postern/") || text == "" {
					t.Errorf("%s refers to %s", at, to)
				}
			}
			if looked < 4 {
				t.Errorf("%d references in %s", looked, page)
			}
			spec, _ := pageAt(t, base+"/openapi.json")
			var doc struct{ Servers []struct{ URL string } }
			if err := json.Unmarshal([]byte(spec), &doc); err != nil || len(doc.Servers) != 1 || doc.Servers[0].URL != "/tools/postern" {
				t.Errorf("%v: %+v", err, doc)
			}
			if docs, _ := pageAt(t, base+"/docs"); !strings.Contains(docs, `href="/tools/postern/openapi.json"`) {
				t.Error("the page of the interface refers to another document")
			}
			if sockets, _ := pageAt(t, base+"/asyncapi.json"); !strings.Contains(sockets, `"pathname":"/tools/postern"`) {
				t.Error("the document of the WebSockets has no path")
			}
			ws, _, err := websocket.Dial(t.Context(), strings.Replace(base, "http", "ws", 1)+"/ws/global/events?event=*&token="+s.user, nil)
			if err != nil {
				t.Fatal(err)
			}
			_ = ws.CloseNow()
		})
	}
}

// TestConsoleWorksBehindUnknownPathPrefix: it refers to
// nothing but what lies beside it.
func TestConsoleWorksBehindUnknownPathPrefix(t *testing.T) {
	s := newSockets(t)
	page, at := pageAt(t, behind(t, s, "/some/where", true)+"/")
	for _, ref := range regexp.MustCompile(`(?:src|href)="([a-z/]+[.a-z]*)"`).FindAllStringSubmatch(page, -1) {
		to, err := at.Parse(ref[1])
		if err != nil {
			t.Fatal(err)
		}
		pageAt(t, to.String())
	}
}

func TestLinksContainTheBasePathOnce(t *testing.T) {
	for base, want := range map[string]string{
		"https://api.example":          "https://api.example/postern/",
		"https://api.example/":         "https://api.example/postern/",
		"https://api.example/postern":  "https://api.example/postern/",
		"https://api.example/postern/": "https://api.example/postern/",
		"https://api.example/x":        "https://api.example/x/postern/",
	} {
		s := configured(t, func(c *config.Config) { c.Server.BasePath, c.Server.BaseURL = "/postern", base })
		if s.Dashboard() != want {
			t.Errorf("%s: %s", base, s.Dashboard())
		}
		if spec, _ := pageAt(t, s.url+"/openapi.json"); !strings.Contains(spec, `"url":"`+strings.TrimSuffix(want, "/")+`"`) {
			t.Errorf("%s: the document names another server", base)
		}
		_ = s.Stop(t.Context())
	}
}

func TestBasePathOfTheAPIStopsTheStart(t *testing.T) {
	cfg := config.Default()
	cfg.Server.Listen, cfg.Server.BasePath, cfg.Store.Path = "127.0.0.1:0", "/instance", t.TempDir()+"/p.db"
	if _, err := Start(t.Context(), cfg, config.NewSecrets(), slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "server.base_path") {
		t.Errorf("%v", err)
	}
}
