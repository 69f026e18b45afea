package batch

import (
	"context"
	"fmt"

	"postern/batch/mailing"
	"postern/batch/record"
)

// checkContent renders what a batch sends for each of its new recipients. It refuses with
// *InvalidError.
func (e *Engine) checkContent(ctx context.Context, b *full, to mailing.Chosen) error {
	c, err := mailing.ParseContent(b.message, b.spec.Options.Spin)
	if err != nil {
		return invalid(InvalidMessage, err.Error())
	}
	if !c.Templated() {
		return nil
	}
	required := c.Required()
	var complaints []string
	code := MissingVariable
	complain := func(kind, text string, i int) {
		if complaints == nil {
			code = kind
		}
		if code == kind && len(complaints) < mailing.MaxReported {
			complaints = append(complaints, fmt.Sprintf("%s %s", to.Given.Entry(to.Index(i)), text))
		}
	}
	for i := range to.Len() {
		if ctx.Err() != nil { // large texts for many recipients take a while
			return context.Cause(ctx)
		}
		d, err := to.Details(i)
		if err != nil {
			return err
		}
		if name := c.Missing(required, d); name != "" {
			complain(MissingVariable, fmt.Sprintf("has no variable %q; give it one, or the text a fallback: {{%s|…}}", name, name), i)
			continue
		}
		for part := range c.Parts {
			if _, err := c.Render(part, record.ItemID(b.id, to.Base+i), d); err != nil {
				complain(InvalidMessage, mailing.PartName(part, len(c.Parts) > 1)+": "+err.Error(), i)
				break
			}
		}
	}
	if complaints != nil {
		return invalid(code, complaints...)
	}
	return nil
}
