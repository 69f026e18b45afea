package openapi

// operation returns the article of one operation.
func (w *markupWriter) operation(o *pageOperation) {
	w.put("\n<article id=\"%s\" data-method=\"%s\" data-path=\"%s\" data-credential=\"%s\"%s>\n", o.ID, o.Method, o.Path, o.Credential, when(o.Socket, " data-socket"))
	w.put("<h3><a href=\"#%s\"><span class=\"method %s\">%s</span> <code>%s</code></a></h3>\n", o.ID, o.Method, o.Method, o.Path)
	w.put("<p><strong>%s.</strong>", o.Summary)
	for _, about := range o.About {
		w.put(" %s", prose(about))
	}
	w.put("</p>\n")
	w.facts(o)
	w.parameters(o.Parameters)
	w.body("Body", o.Body)
	w.body("Form", o.Form)
	w.answers(o)
	w.samples(o.Samples)
	w.try(o)
	w.put("</article>\n")
}

// facts returns the line with the names and the credential of an operation.
func (w *markupWriter) facts(o *pageOperation) {
	w.put("<p class=\"facts\"><code>%s</code>", o.ID)
	if o.Credential != "" {
		w.put(" · needs <code>%s</code>", o.Credential)
		for _, other := range o.Others {
			w.put(" or <code>%s</code>", other)
		}
	} else {
		w.put(" · needs no credential")
	}
	for i, alias := range o.Aliases {
		before := markup(", ")
		if i == 0 {
			before = " · older: "
		}
		w.put("%s<code>%s</code>", before, alias)
	}
	w.put("</p>\n")
}

func (w *markupWriter) parameters(parameters []pageParameter) {
	if len(parameters) > 0 {
		w.put(`<h4>Parameters</h4><table><thead><tr><th scope="col">Name</th><th scope="col">What it is</th></tr></thead><tbody>`)
		for _, p := range parameters {
			w.put("\n<tr><td><code>%s</code> %s%s</td><td>%s <small>%s%s</small></td></tr>",
				p.Name, p.In, when(p.Required, " <em>required</em>"), prose(p.About), p.Type, exampleMarkup(p.Example))
		}
		w.put("\n</tbody></table>")
	}
	w.put("\n")
}

func (w *markupWriter) body(kind string, b *pageBody) {
	if b != nil {
		w.put(`<h4>%s: <a href="#schema-%s">%s</a></h4>`, kind, b.Schema, b.Schema)
		w.fields(b.Fields)
	}
	w.put("\n")
}

func (w *markupWriter) answers(o *pageOperation) {
	w.put("<h4>Answers</h4>\n<dl class=\"answers\">")
	for _, a := range o.Answers {
		w.put("<dt>%s</dt><dd>%s ", a.Status, prose(a.About))
		if len(a.Type) > 0 {
			w.put("<small>%s</small>", typeMarkup(a.Type))
		}
		if a.Media != "" {
			w.put(" <small>%s</small>", a.Media)
		}
		w.put("</dd>")
	}
	for _, r := range o.Refusals {
		w.put("<dt>%s</dt><dd>", r.Status)
		for i, code := range r.Codes {
			w.put(`%s<a href="#code-%s"><code>%s</code></a>`, when(i > 0, " "), code, code)
		}
		w.put("</dd>")
	}
	w.put("\n</dl>\n")
}

func (w *markupWriter) samples(samples []sample) {
	w.put("<h4>Example</h4>\n<p class=\"languages\" role=\"group\" aria-label=\"Language of the examples\">")
	for _, s := range samples {
		w.put(`<button type="button" data-language="%s">%s</button> `, s.Language, s.Label)
	}
	w.put("</p>\n")
	for _, s := range samples {
		w.put(`<div class="sample" data-language="%s"><span>%s</span><pre tabindex="0">%s</pre></div>`, s.Language, s.Label, s.Code)
	}
	w.put("\n")
}

// try returns the form with which the page's script calls the operation.
func (w *markupWriter) try(o *pageOperation) {
	w.put("<details class=\"try\"><summary>Try it</summary>\n<form>\n")
	for _, p := range o.Parameters {
		w.put(`<label>%s <small>%s</small> <input name="%s" data-in="%s"`, p.Name, p.In, p.Name, p.In)
		if p.Required {
			w.put(` required value="%s"`, p.Example)
		}
		w.put("></label>")
	}
	w.put("\n")
	if o.Body != nil {
		w.put(`<label>Body <textarea name="body" data-in="body" rows="6" spellcheck="false">%s</textarea></label>`, o.Body.Example)
	}
	w.put("\n")
	if o.Form != nil {
		for _, f := range o.Form.Fields {
			w.put(`<label>%s <small>form</small> <input name="%s" data-in="form"%s></label>`, f.Name, f.Name, when(f.File, ` type="file"`))
		}
	}
	verb := "Send"
	if o.Socket {
		verb = "Connect"
	}
	w.put("\n<button>%s</button>\n</form>\n<div class=\"result\" role=\"status\"></div>\n</details>\n", verb)
}
