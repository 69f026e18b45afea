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
			// The messages, which are events; generators leave out components that no path uses.
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
		all[key] = d.sharedRefusal(o, status, codes)
	}
	return all
}

// unionOf returns the component of all messages of a socket.
func (d *document) unionOf(handshake string) string {
	for _, s := range d.api.Sockets {
		if s.ID == handshake {
			return s.Union
		}
	}
	d.fail(fmt.Sprintf("no socket has the handshake %s", handshake))
	return d.api.Sockets[0].Union
}

// sharedRefusal returns a reference to the response of a status with these codes, which many routes
// share. A response with several codes is named after the first.
func (d *document) sharedRefusal(o Operation, status int, codes []Code) Object {
	all := []string{strconv.Itoa(status)}
	for _, c := range codes {
		if all = append(all, c.Code); c.own {
			all = append(all, c.Next)
		}
	}
	set := strings.Join(all, " ")
	name, known := d.refusalSets[set]
	if !known {
		name = words(strings.ToLower(codes[0].Code))
		if codes[0].Also == status {
			name += strconv.Itoa(status)
		}
		switch {
		case len(codes) > 1:
			name = shortStatus(status) + "Of" + capital(o.ID)
		case codes[0].own:
			name += "Of" + capital(o.ID)
		}
		if _, taken := d.responseParts[name]; taken {
			d.fail(fmt.Sprintf("two responses are called %s", name))
		}
		d.refusalSets[set] = name
		d.responseParts[name] = d.refused(nil, codes)
	}
	return reference("responses", name)
}

// shortStatus returns the beginning of a response's name for a status. The full texts of all statuses
// would make the document a tenth longer.
func shortStatus(status int) string {
	switch status {
	case http.StatusRequestTimeout:
		return "Timeout"
	case http.StatusUnsupportedMediaType:
		return "MediaType"
	case http.StatusUnprocessableEntity:
		return "Invalid"
	case http.StatusTooManyRequests:
		return "Limited"
	case http.StatusInternalServerError:
		return "Fault"
	case http.StatusServiceUnavailable:
		return "Unavailable"
	}
	return strings.ReplaceAll(http.StatusText(status), " ", "")
}

func capital(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// mediaSchema returns the schema of a body that is not JSON.
func mediaSchema(media string) Object {
	if strings.HasPrefix(media, "text/") {
		return Object{"type": "string"}
	}
	if media == "application/json" {
		return AnyObject(nil)
	}
	return Object{"type": "string", "format": "binary"}
}

func (d *document) byStatus(o Operation) map[int][]Code {
	all := map[int][]Code{}
	for _, named := range slices.Compact(slices.Sorted(slices.Values(o.Codes))) {
		name, other, also := strings.Cut(named, "/")
		i := slices.IndexFunc(d.api.Codes, func(c Code) bool { return c.Code == name })
		if i < 0 {
			d.fail(fmt.Sprintf("%s names the code %s, which does not exist", o.ID, name))
			continue
		}
		c := d.api.Codes[i]
		if also {
			if other != strconv.Itoa(c.Also) {
				d.fail(fmt.Sprintf("%s names the code %s with a status that it does not have", o.ID, named))
			}
			c.Status, c.RetryAfter = c.Also, 0
		}
		if next, own := o.Advice[name]; own {
			c.Next, c.own = next, true
		}
		all[c.Status] = append(all[c.Status], c)
	}
	return all
}

// codesOf lists, in the description of a response, the codes that its body may have.
const codesOf = "x-codes"

// refused returns the response of a status with its codes; success is a successful answer with the same
// status, or nil.
func (d *document) refused(success any, codes []Code) Object {
	names, advice := []string{}, []string{}
	headers := Object{}
	for _, c := range codes {
		names = append(names, c.Code)
		if c.own {
			advice = append(advice, c.Code+": "+c.Next)
		}
		if c.RetryAfter > 0 || c.Status == http.StatusTooManyRequests {
			headers["Retry-After"] = reference("headers", "RetryAfter")
		}
	}
	schema := d.refusal
	text := paragraphs(strings.Join(names, ", ")+".", strings.Join(advice, "\n\n"))
	if before, ok := success.(Object); ok {
		text = before["description"].(string) + "\n\n" + text
		if content, ok := before["content"].(Object); ok {
			schema = Object{"oneOf": []any{content["application/json"].(Object)["schema"], d.refusal}}
		}
	}
	o := Object{
		"description": text, codesOf: names,
		"content": Object{"application/json": Object{"schema": schema}},
	}
	if len(headers) > 0 {
		o["headers"] = headers
	}
	return o
}

func headers() Object {
	return Object{
		"RetryAfter": Object{"description": "Seconds after which trying again may help.", "schema": Object{"type": "integer", "minimum": 1}},
	}
}
