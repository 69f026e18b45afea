package openapi

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

func (d *document) answersOf(o Operation) Object {
	all := Object{}
	for _, a := range o.Answers {
		r := Object{"description": a.About}
		if a.About == "" {
			r["description"] = http.StatusText(a.Status)
		}
		content := Object{}
		if a.Type != nil {
			content["application/json"] = Object{"schema": d.answer(a.Type)}
		}
		if a.Status == http.StatusSwitchingProtocols && a.Type == nil {
			// What the messages are, which are events; also, generators leave out what no path uses.
			content["application/json"] = Object{"schema": reference("schemas", d.unionOf(o.ID))}
		}
		if a.Media != "" {
			content[a.Media] = Object{"schema": mediaSchema(a.Media)}
		}
		key := strconv.Itoa(a.Status)
		if before, ok := all[key].(Object); ok {
			maps.Copy(before["content"].(Object), content)
			continue
		}
		if len(content) > 0 {
			r["content"] = content
		}
		all[key] = r
	}
	for status, codes := range d.byStatus(o) {
		key := strconv.Itoa(status)
		if success, ok := all[key]; ok {
			all[key] = d.refused(success, codes)
			continue
		}
		all[key] = d.sharedRefusal(codes)
	}
	return all
}

// unionOf is the component of all messages of a socket.
func (d *document) unionOf(handshake string) string {
	for _, s := range d.api.Sockets {
		if s.ID == handshake {
			return s.Union
		}
	}
	d.fail(fmt.Sprintf("no socket has the handshake %s", handshake))
	return d.api.Sockets[0].Union
}

// sharedRefusal is the response of a status with these codes: a reference
// where it is a single one, for these are the same on most routes.
func (d *document) sharedRefusal(codes []Code) Object {
	if len(codes) > 1 {
		return d.refused(nil, codes)
	}
	name := words(strings.ToLower(codes[0].Code))
	if _, ok := d.responseParts[name]; !ok {
		d.responseParts[name] = d.refused(nil, codes)
	}
	return reference("responses", name)
}

// mediaSchema is the schema of a body that is no JSON.
func mediaSchema(media string) Object {
	if strings.HasPrefix(media, "text/") {
		return Object{"type": "string"}
	}
	if media == "application/json" {
		return Object{"type": "object"}
	}
	return Object{"type": "string", "format": "binary"}
}

func (d *document) byStatus(o Operation) map[int][]Code {
	all := map[int][]Code{}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(o.Codes))) {
		i := slices.IndexFunc(d.api.Codes, func(c Code) bool { return c.Code == name })
		if i < 0 {
			d.fail(fmt.Sprintf("%s names the code %s, which does not exist", o.ID, name))
			continue
		}
		c := d.api.Codes[i]
		all[c.Status] = append(all[c.Status], c)
	}
	return all
}

// refused is the response of a status with its codes; success is the answer of
// the same status that is no refusal, or nil.
func (d *document) refused(success any, codes []Code) Object {
	lines, examples := []string{}, Object{}
	headers := Object{}
	for _, c := range codes {
		lines = append(lines, fmt.Sprintf("- `%s`: %s", c.Code, c.Meaning))
		examples[c.Code] = reference("examples", c.Code)
		if c.RetryAfter > 0 || c.Status == http.StatusTooManyRequests {
			headers["Retry-After"] = reference("headers", "RetryAfter")
		}
	}
	schema := d.refusal
	text := strings.Join(lines, "\n")
	if before, ok := success.(Object); ok {
		text = before["description"].(string) + "\n\n" + text
		if content, ok := before["content"].(Object); ok {
			schema = Object{"oneOf": []any{content["application/json"].(Object)["schema"], d.refusal}}
		}
	}
	o := Object{
		"description": text,
		"content":     Object{"application/json": Object{"schema": schema, "examples": examples}},
	}
	if len(headers) > 0 {
		o["headers"] = headers
	}
	return o
}

// refusals is one example of each code.
func (d *document) refusals() Object {
	all := Object{}
	for _, c := range d.api.Codes {
		all[c.Code] = Object{"summary": c.Meaning, "description": c.Next, "value": Object{
			"statusCode": c.Status, "error": strings.ReplaceAll(strings.ToLower(http.StatusText(c.Status)), " ", "-"),
			"code": c.Code, "messages": []string{c.Meaning}, "message": []string{c.Meaning},
			"requestId": exampleID,
		}}
	}
	return all
}

const exampleID = "6f1c1a52-0d6b-4c56-9c0e-6d1a3f4b2c10"

func headers() Object {
	return Object{
		"RetryAfter": Object{"description": "Seconds after which trying again may help.", "schema": Object{"type": "integer", "minimum": 1}},
	}
}
