package mailing

import (
	"fmt"
	"math/rand/v2"

	"github.com/google/uuid"

	"postern/batch/record"
	"postern/batch/template"
	"postern/event"
)

// maxPreview is the longest rendered preview of an item, in characters.
const maxPreview = 200

// Content is what a batch sends to each recipient: the same to all, or by templates.
type Content struct {
	Parts []partContent
	names []string // of the variables that details refer to; templates only
	spin  bool
}

// partContent is one message.
type partContent struct {
	Fixed event.Content
	texts []template.Text // those of fixed, in the order of MapTexts; nil: they are sent as they are
}

// add adds a message of the batch: an album is several to the recipient.
func (c *Content) add(part partContent, templated, spin bool) error {
	c.Parts = append(c.Parts, part)
	if part.Fixed.Album == nil {
		return nil
	}
	for i, file := range part.Fixed.Album.Files {
		one := partContent{Fixed: event.Content{Media: file}}
		if err := one.parse(templated, spin); err != nil {
			return fmt.Errorf("items[%d]: %w", i, err)
		}
		c.Parts = append(c.Parts, one)
	}
	return nil
}

// Album reports whether the parts are an album, which the first one begins.
func (c *Content) Album() bool { return c.Parts[0].Fixed.Album != nil }

// ParseContent checks what a batch sends. Errors wrap event.ErrContent.
func ParseContent(m *record.Message, spin bool) (*Content, error) {
	c := &Content{names: m.Variables, spin: spin}
	for i, p := range m.Parts() {
		part, err := parsePart(p, m.Templated, spin)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", PartName(i, len(m.More) > 0), err)
		}
		if part.Fixed.Album != nil && len(m.More) > 0 {
			return nil, fmt.Errorf("%w: an album is several messages already; it cannot be one of several", event.ErrContent)
		}
		if err := c.add(part, m.Templated, spin); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// PartName names a part in errors.
func PartName(i int, several bool) string {
	if several {
		return fmt.Sprintf("message[%d]", i)
	}
	return "message"
}

func parsePart(p record.Part, templated, spin bool) (part partContent, err error) {
	if part.Fixed, err = event.ParseContent(p.Type, p.Payload); err != nil {
		return part, err
	}
	if part.Fixed.Forward != nil {
		if p.Original == nil {
			return part, fmt.Errorf("%w: payload: messageId names no stored message", event.ErrContent)
		}
		part.Fixed.Forward = p.Original
	}
	return part, part.parse(templated, spin)
}

// parse reads the templates of the texts.
func (part *partContent) parse(templated, spin bool) (err error) {
	if !templated {
		return nil
	}
	part.texts = []template.Text{}
	_, _ = part.Fixed.MapTexts(func(text string) string {
		t, parseErr := template.Parse(text, spin)
		if parseErr != nil && err == nil {
			err = fmt.Errorf("%w: payload: %w", event.ErrContent, parseErr)
		}
		part.texts = append(part.texts, t)
		return text
	})
	return err
}

// Templated reports whether recipients get different texts.
func (c *Content) Templated() bool { return c.Parts[0].texts != nil }

// Required returns the names of the variables that every recipient has to have.
func (c *Content) Required() []string {
	var all []string
	for _, p := range c.Parts {
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

// Missing returns the name of a required variable that a recipient does not have, or "".
func (c *Content) Missing(required []string, d record.Details) string {
	for _, name := range required {
		if _, present := c.value(d, name); !present {
			return name
		}
	}
	return ""
}

func (c *Content) value(d record.Details, name string) (value string, present bool) {
	for i, known := range c.names {
		if known == name {
			return d.Value(i)
		}
	}
	return "", false
}

// Render returns one part of what an item sends. Alternatives are chosen by the item's id,
// so that each call returns the same. Its error wraps event.ErrContent.
func (c *Content) Render(part int, item uuid.UUID, d record.Details) (event.Content, error) {
	p := c.Parts[part]
	if p.texts == nil {
		return p.Fixed, nil
	}
	var choose func(n int) int
	if c.spin {
		seed := [32]byte{len(item): byte(part)}
		copy(seed[:], item[:])
		choose = rand.New(rand.NewChaCha8(seed)).IntN //nolint:gosec // it chooses words
	}
	n := 0
	return p.Fixed.MapTexts(func(string) string {
		t := p.texts[n]
		n++
		return t.Render(func(name string) string {
			value, _ := c.value(d, name)
			return value
		}, choose)
	})
}

// Preview returns the beginning of the first part of what an item sends.
func (c *Content) Preview(item uuid.UUID, d record.Details) string {
	rendered, _ := c.Render(0, item, d)
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

// Variables returns the values of a recipient by their names.
func (c *Content) Variables(d record.Details) map[string]string {
	all := make(map[string]string, len(d.Values))
	for _, v := range d.Values {
		if v.Name < len(c.names) {
			all[c.names[v.Name]] = v.Value
		}
	}
	return all
}
