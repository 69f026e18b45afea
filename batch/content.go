package batch

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/google/uuid"

	"postern/batch/record"
	"postern/batch/template"
	"postern/event"
)

// maxPreview is the longest rendered preview of an item, in characters.
const maxPreview = 200

// content is what a batch sends to each recipient: the same to all, or by templates.
type content struct {
	parts []partContent
	names []string // of the variables that details refer to; templates only
	spin  bool
}

// partContent is one message.
type partContent struct {
	fixed event.Content
	texts []template.Text // those of fixed, in the order of MapTexts; nil: they are sent as they are
}

// add adds a message of the batch: an album is several to the recipient.
func (c *content) add(part partContent, templated, spin bool) error {
	c.parts = append(c.parts, part)
	if part.fixed.Album == nil {
		return nil
	}
	for i, file := range part.fixed.Album.Files {
		one := partContent{fixed: event.Content{Media: file}}
		if err := one.parse(templated, spin); err != nil {
			return fmt.Errorf("items[%d]: %w", i, err)
		}
		c.parts = append(c.parts, one)
	}
	return nil
}

// album reports whether the parts are an album, which the first one begins.
func (c *content) album() bool { return c.parts[0].fixed.Album != nil }

// parseContent checks what a batch sends. Errors wrap event.ErrContent.
func parseContent(m *record.Message, spin bool) (*content, error) {
	c := &content{names: m.Variables, spin: spin}
	for i, p := range m.Parts() {
		part, err := parsePart(p, m.Templated, spin)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", partName(i, len(m.More) > 0), err)
		}
		if part.fixed.Album != nil && len(m.More) > 0 {
			return nil, fmt.Errorf("%w: an album is several messages already; it cannot be one of several", event.ErrContent)
		}
		if err := c.add(part, m.Templated, spin); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// partName names a part in errors.
func partName(i int, several bool) string {
	if several {
		return fmt.Sprintf("message[%d]", i)
	}
	return "message"
}

func parsePart(p record.Part, templated, spin bool) (part partContent, err error) {
	if part.fixed, err = event.ParseContent(p.Type, p.Payload); err != nil {
		return part, err
	}
	if part.fixed.Forward != nil {
		if p.Original == nil {
			return part, fmt.Errorf("%w: payload: messageId names no stored message", event.ErrContent)
		}
		part.fixed.Forward = p.Original
	}
	return part, part.parse(templated, spin)
}

// parse reads the templates of the texts.
func (part *partContent) parse(templated, spin bool) (err error) {
	if !templated {
		return nil
	}
	part.texts = []template.Text{}
	_, _ = part.fixed.MapTexts(func(text string) string {
		t, parseErr := template.Parse(text, spin)
		if parseErr != nil && err == nil {
			err = fmt.Errorf("%w: payload: %w", event.ErrContent, parseErr)
		}
		part.texts = append(part.texts, t)
		return text
	})
	return err
}

// templated reports whether recipients get different texts.
func (c *content) templated() bool { return c.parts[0].texts != nil }

// required returns the names of the variables that every recipient has to have.
func (c *content) required() []string {
	var all []string
	for _, p := range c.parts {
		for _, t := range p.texts {
			for _, v := range t.Variables() {
				if !v.Optional {
					all = append(all, v.Name)
				}
			}
		}
	}
	return all
}

// missing returns the name of a required variable that a recipient does not have, or "".
func (c *content) missing(required []string, d record.Details) string {
	for _, name := range required {
		if _, present := c.value(d, name); !present {
			return name
		}
	}
	return ""
}

func (c *content) value(d record.Details, name string) (value string, present bool) {
	for i, known := range c.names {
		if known == name {
			return d.Value(i)
		}
	}
	return "", false
}

// render returns one part of what an item sends. Alternatives are chosen by the item's id,
// so that each call returns the same. Its error wraps event.ErrContent.
func (c *content) render(part int, item uuid.UUID, d record.Details) (event.Content, error) {
	p := c.parts[part]
	if p.texts == nil {
		return p.fixed, nil
	}
	var choose func(n int) int
	if c.spin {
		seed := [32]byte{len(item): byte(part)}
		copy(seed[:], item[:])
		choose = rand.New(rand.NewChaCha8(seed)).IntN //nolint:gosec // it chooses words
	}
	n := 0
	return p.fixed.MapTexts(func(string) string {
		t := p.texts[n]
		n++
		return t.Render(func(name string) string {
			value, _ := c.value(d, name)
			return value
		}, choose)
	})
}

// preview returns the beginning of the first part of what an item sends.
func (c *content) preview(item uuid.UUID, d record.Details) string {
	rendered, _ := c.render(0, item, d)
	return firstRunes(rendered.Summary(), maxPreview)
}

// firstRunes returns at most n characters of a text.
func firstRunes(text string, n int) string {
	for i := range text {
		if n--; n < 0 {
			return text[:i]
		}
	}
	return text
}

// checkContent renders what a batch sends for each of its new recipients. It refuses with
// *InvalidError.
func (e *Engine) checkContent(ctx context.Context, b *full, to recipients) error {
	c, err := parseContent(b.message, b.spec.Options.Spin)
	if err != nil {
		return invalid(InvalidMessage, err.Error())
	}
	if !c.templated() {
		return nil
	}
	required := c.required()
	var complaints []string
	code := MissingVariable
	complain := func(kind, text string, i int) {
		if complaints == nil {
			code = kind
		}
		if code == kind && len(complaints) < maxReported {
			complaints = append(complaints, fmt.Sprintf("%s %s", to.given.entry(to.index(i)), text))
		}
	}
	for i := range to.len() {
		if ctx.Err() != nil { // large texts for many recipients take a while
			return context.Cause(ctx)
		}
		d, err := to.details(i)
		if err != nil {
			return err
		}
		if name := c.missing(required, d); name != "" {
			complain(MissingVariable, fmt.Sprintf("has no variable %q; give it one, or the text a fallback: {{%s|…}}", name, name), i)
			continue
		}
		for part := range c.parts {
			if _, err := c.render(part, record.ItemID(b.id, to.base+i), d); err != nil {
				complain(InvalidMessage, partName(part, len(c.parts) > 1)+": "+err.Error(), i)
				break
			}
		}
	}
	if complaints != nil {
		return invalid(code, complaints...)
	}
	return nil
}

// details returns the details of a recipient.
func (r recipients) details(i int) (record.Details, error) {
	raw := r.given.detailsAt(r.index(i))
	if len(raw) == 0 {
		return record.Details{}, nil
	}
	return record.DecodeDetails(raw)
}

// variables returns the values of a recipient by their names.
func (c *content) variables(d record.Details) map[string]string {
	all := make(map[string]string, len(d.Values))
	for _, v := range d.Values {
		if v.Name < len(c.names) {
			all[c.names[v.Name]] = v.Value
		}
	}
	return all
}
