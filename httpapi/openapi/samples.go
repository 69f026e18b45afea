package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"postern/event"
)

// sampleBase is a placeholder for the address of the program in samples; the page's script replaces it.
const sampleBase = "http://localhost:8084"

// sample is a request in one language.
type sample struct{ Language, Label, Code string }

// call is the content that all samples of an operation share.
type call struct {
	method, url  string
	header, cred string // name and value of the credential; empty: none
	body         string // JSON in one line; empty: none
	file         string // the part of a multipart body; empty: none
	socket       bool
}

func samplesOf(p *pageOperation) []sample {
	c := call{method: p.Method, url: sampleBase + p.Path, socket: p.Socket}
	query := url.Values{}
	for _, q := range p.Parameters {
		switch {
		case q.In == "path":
			c.url = strings.ReplaceAll(c.url, "{"+q.Name+"}", url.PathEscape(q.Example))
		case q.In == "query" && q.Required:
			query.Set(q.Name, q.Example)
		}
	}
	if len(query) > 0 {
		c.url += "?" + query.Encode()
	}
	switch p.Credential {
	case "":
	case "GlobalApiKey":
		c.header, c.cred = "apikey", "YOUR_KEY"
	default:
		c.header, c.cred = "Authorization", "Bearer YOUR_TOKEN"
	}
	switch {
	case p.Body != nil && p.Body.Example != "":
		var line bytes.Buffer
		if err := json.Compact(&line, []byte(p.Body.Example)); err == nil {
			c.body = line.String()
		}
	case p.Form != nil:
		for _, f := range p.Form.Fields {
			if f.File {
				c.file = f.Name
			}
		}
	}
	return []sample{
		{"curl", "curl", c.curl()}, {"javascript", "JavaScript", c.javaScript()}, {"python", "Python", c.python()}, {"go", "Go", c.goCode()},
	}
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func (c call) curl() string {
	lines := []string{"curl -sS -X " + c.method + " " + shellQuote(c.url)}
	if c.socket {
		lines[0] = "curl -sS --http1.1 -N " + shellQuote(c.url)
		lines = append(lines, "-H 'Connection: Upgrade' -H 'Upgrade: websocket' -H 'Sec-WebSocket-Version: 13'", "-H 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='")
	}
	if c.header != "" {
		lines = append(lines, "-H "+shellQuote(c.header+": "+c.cred))
	}
	if c.body != "" {
		lines = append(lines, "--json "+shellQuote(c.body))
	}
	if c.file != "" {
		lines = append(lines, "-F "+shellQuote(c.file+"=@file.jpg"))
	}
	return strings.Join(lines, " \\\n  ")
}

func (c call) javaScript() string {
	if c.socket {
		return fmt.Sprintf("const socket = new WebSocket(%s);\nsocket.onmessage = (message) => console.log(JSON.parse(message.data));\n",
			quoted(strings.Replace(c.url, "http", "ws", 1)+"&token=YOUR_TOKEN"))
	}
	var b strings.Builder
	if c.file != "" {
		fmt.Fprintf(&b, "const form = new FormData();\nform.append(%s, file); // from an <input type=\"file\">\n", quoted(c.file))
	}
	fmt.Fprintf(&b, "const answer = await fetch(%s, {\n  method: %s,\n", quoted(c.url), quoted(c.method))
	var headers []string
	if c.header != "" {
		headers = append(headers, quoted(c.header)+": "+quoted(c.cred))
	}
	if c.body != "" {
		headers = append(headers, `"content-type": "application/json"`)
	}
	if len(headers) > 0 {
		fmt.Fprintf(&b, "  headers: {%s},\n", strings.Join(headers, ", "))
	}
	switch {
	case c.body != "":
		fmt.Fprintf(&b, "  body: JSON.stringify(%s),\n", c.body)
	case c.file != "":
		b.WriteString("  body: form,\n")
	}
	b.WriteString("});\nconsole.log(answer.status, await answer.text());\n")
	return b.String()
}

func (c call) python() string {
	if c.socket {
		return fmt.Sprintf("import json\nfrom websockets.sync.client import connect  # pip install websockets\n\nwith connect(%s,\n             additional_headers={%s: %s}) as socket:\n    for message in socket:\n        print(json.loads(message))\n",
			quoted(strings.Replace(c.url, "http", "ws", 1)), quoted(c.header), quoted(c.cred))
	}
	var b strings.Builder
	if c.body != "" {
		b.WriteString("import json\n\n")
	}
	b.WriteString("import requests  # pip install requests\n\n")
	fmt.Fprintf(&b, "answer = requests.request(\n    %s, %s,\n", quoted(c.method), quoted(c.url))
	if c.header != "" {
		fmt.Fprintf(&b, "    headers={%s: %s},\n", quoted(c.header), quoted(c.cred))
	}
	switch {
	case c.body != "":
		fmt.Fprintf(&b, "    json=json.loads(r\"\"\"%s\"\"\"),\n", c.body)
	case c.file != "":
		fmt.Fprintf(&b, "    files={%s: open(\"file.jpg\", \"rb\")},\n", quoted(c.file))
	}
	b.WriteString("    timeout=60,\n)\nprint(answer.status_code, answer.text)\n")
	return b.String()
}

func (c call) goCode() string {
	if c.socket {
		return fmt.Sprintf("package main\n\nimport (\n\t\"context\"\n\t\"fmt\"\n\t\"log\"\n\t\"net/http\"\n\n\t\"github.com/coder/websocket\"\n)\n\nfunc main() {\n\tctx := context.Background()\n\tconn, _, err := websocket.Dial(ctx, %s, &websocket.DialOptions{\n\t\tHTTPHeader: http.Header{%s: {%s}},\n\t})\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n\tfor {\n\t\t_, message, err := conn.Read(ctx)\n\t\tif err != nil {\n\t\t\tlog.Fatal(err)\n\t\t}\n\t\tfmt.Println(string(message))\n\t}\n}\n",
			quoted(strings.Replace(c.url, "http", "ws", 1)), quoted(c.header), quoted(c.cred))
	}
	imports, body, prepare := []string{"fmt", "io", "log", "net/http"}, "nil", ""
	switch {
	case c.body != "":
		imports = append(imports, "strings")
		body = "strings.NewReader(" + goString(c.body) + ")"
	case c.file != "":
		imports = append([]string{"bytes"}, append(imports[:2:2], "log", "mime/multipart", "net/http", "os")...)
		prepare = fmt.Sprintf("\tfile, err := os.ReadFile(\"file.jpg\")\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n\tvar form bytes.Buffer\n\tparts := multipart.NewWriter(&form)\n\tpart, err := parts.CreateFormFile(%s, \"file.jpg\")\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n\t_, _ = part.Write(file)\n\t_ = parts.Close()\n", quoted(c.file))
		body = "&form"
	}
	var b strings.Builder
	b.WriteString("package main\n\nimport (\n")
	for _, name := range imports {
		fmt.Fprintf(&b, "\t%q\n", name)
	}
	fmt.Fprintf(&b, ")\n\nfunc main() {\n%s\treq, err := http.NewRequest(%s, %s,\n\t\t%s)\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n", prepare, quoted(c.method), quoted(c.url), body)
	if c.header != "" {
		fmt.Fprintf(&b, "\treq.Header.Set(%s, %s)\n", quoted(c.header), quoted(c.cred))
	}
	switch {
	case c.body != "":
		b.WriteString("\treq.Header.Set(\"Content-Type\", \"application/json\")\n")
	case c.file != "":
		b.WriteString("\treq.Header.Set(\"Content-Type\", parts.FormDataContentType())\n")
	}
	b.WriteString("\tanswer, err := http.DefaultClient.Do(req)\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n\tdefer answer.Body.Close()\n\ttext, err := io.ReadAll(answer.Body)\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n\tfmt.Println(answer.Status, string(text))\n}\n")
	return b.String()
}

// quoted returns a string literal that is valid in JavaScript, Python and Go.
func quoted(s string) string {
	raw, err := event.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(raw)
}

func goString(s string) string {
	if strings.Contains(s, "`") {
		return quoted(s)
	}
	return "`" + s + "`"
}
