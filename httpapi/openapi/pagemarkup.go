package openapi

import (
	"bytes"
	"fmt"
	"html"
	"strings"
)

// The page is written by hand: html/template calls methods by names found in texts, and a program that can
// do this keeps every exported method of every type that it ever stores in an interface.

// markup is HTML that is written unchanged.
type markup string

// markupWriter writes the page.
type markupWriter struct{ bytes.Buffer }

// put writes the format with its arguments. It escapes strings among them, which may be placed between
// tags or double quotes; it does not escape markup.
func (w *markupWriter) put(format string, args ...any) {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = html.EscapeString(s)
		}
	}
	fmt.Fprintf(&w.Buffer, format, args...)
}

// prose returns a text as markup: text between backticks is code.
func prose(text string) markup {
	var w markupWriter
	for i, part := range strings.Split(text, "`") {
		if i%2 == 1 {
			w.put("<code>%s</code>", part)
			continue
		}
		w.put("%s", part)
	}
	return markup(w.String())
}

// when returns the markup if the condition holds, otherwise nothing.
func when(holds bool, m markup) markup {
	if holds {
		return m
	}
	return ""
}

// typeMarkup returns a type with links to the components that it names.
func typeMarkup(parts []typePart) markup {
	var w markupWriter
	for _, p := range parts {
		if p.Ref != "" {
			w.put(`<a href="#schema-%s">%s</a>`, p.Ref, p.Text)
			continue
		}
		w.put("%s", p.Text)
	}
	return markup(w.String())
}

// exampleMarkup returns the example after a description, if there is one.
func exampleMarkup(example string) markup {
	if example == "" {
		return ""
	}
	return markup("; for example <code>" + html.EscapeString(example) + "</code>")
}

func (w *markupWriter) page(v pageView) {
	w.put(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s: interface</title>
<link rel="icon" href="data:,">
<style>%s</style>
<noscript>Search, language selection and trying routes need JavaScript.</noscript>
<a class="skip" href="#main">To the routes</a>
`, v.Title, markup(pageStyle))
	w.menu(v.Groups)
	w.put("<main id=\"main\" tabindex=\"-1\">\n")
	w.head(v)
	for _, g := range v.Groups {
		w.put("\n<section id=\"group-%s\">\n<h2>%s</h2>\n<p>%s</p>\n", g.Name, g.Name, g.About)
		for _, o := range g.Operations {
			w.operation(o)
		}
		w.put("\n</section>\n")
	}
	w.events(v.Events)
	w.codes(v.Codes)
	w.schemas(v.Schemas)
	w.put("</main>\n<script>%s</script>\n</html>\n", markup(pageScript))
}

func (w *markupWriter) menu(groups []pageGroup) {
	w.put(`<nav aria-label="Routes">
 <details id="menu" open>
  <summary>Menu</summary>
  <label for="search">Search <kbd>/</kbd></label>
  <input id="search" type="search" autocomplete="off" placeholder="route, field, code">
  <p id="found" role="status"></p>`)
	for _, g := range groups {
		w.put("\n  <details class=\"group\" open><summary>%s</summary><ul>", g.Name)
		for _, o := range g.Operations {
			w.put("\n   <li><a href=\"#%s\"><span class=\"method %s\">%s</span> %s</a></li>", o.ID, o.Method, o.Method, o.Summary)
		}
		w.put("\n  </ul></details>")
	}
	w.put(`
  <ul>
   <li><a href="#events">Events</a></li>
   <li><a href="#codes">Error codes</a></li>
   <li><a href="#schemas">Schemas</a></li>
  </ul>
 </details>
</nav>
`)
}

func (w *markupWriter) head(v pageView) {
	w.put("<header>\n <h1>%s <small>%s</small></h1>\n ", v.Title, v.Version)
	for _, p := range v.About {
		w.put("<p>%s</p>", p)
	}
	w.put(`
 <p>For programs: <a href="%[1]s/openapi.json">%[1]s/openapi.json</a>, <a href="%[1]s/openapi-aliases.json">%[1]s/openapi-aliases.json</a> with the older paths, and <a href="%[1]s/asyncapi.json">%[1]s/asyncapi.json</a>.</p>
 <form id="credentials" autocomplete="off">
  <h2>Try it</h2>
  <p>Credentials stay in this tab until it is closed or reloaded. A token in the answer of a tried route is filled in.</p>
  <label>API key <input id="GlobalApiKey" type="password" autocomplete="off"></label>
  <label>Instance token <input id="InstanceBearer" type="password" autocomplete="off"></label>
  <label>User token <input id="UserBearer" type="password" autocomplete="off"></label>
 </form>
</header>
`, v.Base)
}

// fields returns the table of an object's fields.
func (w *markupWriter) fields(fields []pageField) {
	w.put(`<table><thead><tr><th scope="col">Field</th><th scope="col">What it is</th></tr></thead><tbody>`)
	for _, f := range fields {
		w.put("\n<tr><td><code>%s</code>%s</td><td>%s <small>%s%s</small></td></tr>",
			f.Name, when(f.Required, " <em>required</em>"), prose(f.About), typeMarkup(f.Type), exampleMarkup(f.Example))
	}
	w.put("\n</tbody></table>")
}

func (w *markupWriter) events(events []pageEvent) {
	w.put(`
<section id="events">
<h2>Events</h2>
<p>Events posted to webhooks and sent on WebSockets.</p>
<table><thead><tr><th scope="col">Event</th><th scope="col">When it is sent</th></tr></thead><tbody>`)
	for _, e := range events {
		w.put("\n<tr id=\"event-%s\"><td><a href=\"#schema-%s\"><code>%s</code></a></td><td>%s</td></tr>", e.Name, e.Schema, e.Name, prose(e.About))
	}
	w.put("\n</tbody></table>\n</section>\n")
}

func (w *markupWriter) codes(codes []Code) {
	w.put(`<section id="codes">
<h2>Error codes</h2>
<table><thead><tr><th scope="col">Code</th><th scope="col">Status</th><th scope="col">Meaning and action</th></tr></thead><tbody>`)
	for _, c := range codes {
		retry := markup("")
		if c.RetryAfter != 0 {
			retry = markup(fmt.Sprintf(" Retry-After: %d s.", c.RetryAfter))
		}
		w.put("\n<tr id=\"code-%s\"><td><code>%s</code></td><td>%d</td><td>%s <small>%s%s</small></td></tr>", c.Code, c.Code, c.Status, c.Meaning, c.Next, retry)
	}
	w.put("\n</tbody></table>\n</section>\n")
}

func (w *markupWriter) schemas(schemas []pageSchema) {
	w.put("<section id=\"schemas\">\n<h2>Schemas</h2>\n")
	for _, s := range schemas {
		w.put("\n<article id=\"schema-%s\">\n<h3><a href=\"#schema-%s\">%s</a></h3>\n", s.Name, s.Name, s.Name)
		if s.About != "" {
			w.put("<p>%s</p>", prose(s.About))
		}
		w.put("\n")
		if len(s.Fields) > 0 {
			w.fields(s.Fields)
		} else {
			w.put("<p>%s</p>", typeMarkup(s.Type))
		}
		w.put("\n</article>\n")
	}
	w.put("\n</section>\n")
}
