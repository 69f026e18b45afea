package batch

import (
	"context"
	"fmt"

	"postern/batch/mailing"
	"postern/batch/record"
)

// given returns the recipients of a request.
func (r *CreateRequest) given() *mailing.Recipients {
	if r.List == nil {
		r.List = mailing.Numbers(r.Recipients...)
	}
	return r.List
}

var errNoRecipients = invalid(InvalidRecipient, "recipients must not be empty")

// distinct validates the recipients and drops duplicates, also of those that were seen
// before. One that is invalid refuses all; the first 100 invalid ones are named by index. Or they
// are left out, and appended to bad, unless that is nil.
func (e *Engine) distinct(given *mailing.Recipients, seen map[uint64]struct{}, bad *[]Malformed) (distinct mailing.Chosen, duplicates int, err error) {
	n := given.Len()
	most := e.cfg.MaxRecipients
	switch {
	case n == 0 && given.Column != "":
		return mailing.Chosen{}, 0, invalid(InvalidRecipient, "the file has no rows below its header")
	case n == 0:
		return mailing.Chosen{}, 0, errNoRecipients
	case n > most && given.Column != "":
		return mailing.Chosen{}, 0, invalid(TooManyRecipients, fmt.Sprintf("the file has more than the %d rows that are allowed", most))
	case n > most:
		return mailing.Chosen{}, 0, invalid(TooManyRecipients, fmt.Sprintf("recipients has more than the %d entries that are allowed", most))
	}
	distinct.Given = given
	var complaints []string
	leaveOut := func(i int) {
		if distinct.Kept == nil {
			distinct.Kept = make([]uint32, i, n)
			for j := range distinct.Kept {
				distinct.Kept[j] = uint32(j) //nolint:gosec // bodies are smaller
			}
		}
	}
	for i := range n {
		digits, err := mailing.Phone(given.At(i))
		switch {
		case err == nil:
			err = given.Invalid[i]
		case given.Column != "":
			err = fmt.Errorf("column %.100q: %w", given.Column, err)
		}
		if err != nil && bad != nil {
			*bad = append(*bad, malformed(given, i, err))
			leaveOut(i)
			continue
		}
		if err != nil {
			if complaints = append(complaints, fmt.Sprintf("%s %v", given.Entry(i), err)); len(complaints) == mailing.MaxReported {
				break
			}
			continue
		}
		if complaints != nil {
			continue
		}
		known := len(seen)
		seen[e.account(digits)] = struct{}{}
		if len(seen) == known {
			leaveOut(i)
			duplicates++
			continue
		}
		if distinct.Kept != nil {
			distinct.Kept = append(distinct.Kept, uint32(i)) //nolint:gosec // bodies are smaller
		}
	}
	if complaints != nil {
		return mailing.Chosen{}, 0, invalid(InvalidRecipient, complaints...)
	}
	return distinct, duplicates, nil
}

func malformed(given *mailing.Recipients, i int, err error) Malformed {
	m := Malformed{Input: given.At(i), Error: err.Error()}
	if row := i + 2; given.Column != "" {
		m.Row = &row
	} else {
		m.Index = &i
	}
	return m
}

// recipientNumber returns a distinct number for each text of at most 18 digits, leading zeros
// included.
func recipientNumber(digits string) uint64 {
	n := uint64(1)
	for _, c := range []byte(digits) {
		n = 10*n + uint64(c-'0')
	}
	return n
}

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
