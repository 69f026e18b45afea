package batch

import (
	"fmt"

	"postern/batch/mailing"
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
