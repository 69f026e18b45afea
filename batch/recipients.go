package batch

import (
	"errors"
	"fmt"

	"postern/event"
)

// Packed is a compact list of texts: 100 000 recipients take 2 MB, and as
// strings they would take three times as much. The zero value is empty.
type Packed struct {
	blocks []packedBlock
	n      int
}

type packedBlock struct {
	text []byte
	ends []uint32
}

const packedTexts = 1024 // of a block

// AddText adds a text, which it copies.
func (p *Packed) AddText(text []byte) {
	if p.n%packedTexts == 0 {
		p.blocks = append(p.blocks, packedBlock{make([]byte, 0, 16*packedTexts), make([]uint32, 0, packedTexts)})
	}
	b := &p.blocks[len(p.blocks)-1]
	b.text = append(b.text, text...)
	b.ends = append(b.ends, uint32(len(b.text))) //nolint:gosec // bodies are smaller
	p.n++
}

// Len returns the number of texts.
func (p *Packed) Len() int { return p.n }

// At returns a text by its index.
func (p *Packed) At(i int) string {
	b, at := &p.blocks[i/packedTexts], i%packedTexts
	from := uint32(0)
	if at > 0 {
		from = b.ends[at-1]
	}
	return string(b.text[from:b.ends[at]])
}

// texts is a list of texts, packed or not.
type texts []string

func (t texts) Len() int        { return len(t) }
func (t texts) At(i int) string { return t[i] }

// recipients are the recipients of a batch as the caller wrote them. Their digits are
// parsed again where they are needed, and not stored.
type recipients struct {
	given interface {
		Len() int
		At(i int) string
	}
	kept []uint32 // which of them, by index, when there are duplicates; nil: all
}

func (r recipients) len() int {
	switch {
	case r.kept != nil:
		return len(r.kept)
	case r.given == nil:
		return 0
	}
	return r.given.Len()
}

// at returns a recipient as the caller wrote it.
func (r recipients) at(i int) string {
	if r.kept != nil {
		i = int(r.kept[i])
	}
	return r.given.At(i)
}

// given returns the recipients of a request.
func (r *CreateRequest) given() recipients {
	if r.Packed.Len() > 0 {
		return recipients{given: &r.Packed}
	}
	return recipients{given: texts(r.Recipients)}
}

// distinct validates the recipients and drops duplicates. One that
// is invalid refuses all; the first 100 invalid ones are named by index.
func (e *Engine) distinct(all recipients) (distinct recipients, duplicates int, err error) {
	n := all.len()
	if n == 0 {
		return recipients{}, 0, invalid(InvalidRecipient, "recipients must not be empty")
	}
	if most := e.cfg.MaxRecipients; n > most {
		return recipients{}, 0, invalid(TooManyRecipients, fmt.Sprintf("recipients has more than the %d entries that are allowed", most))
	}
	seen := make(map[uint64]struct{}, n)
	distinct.given = all.given
	var complaints []string
	for i := range n {
		digits, err := phone(all.at(i))
		if err != nil {
			if complaints = append(complaints, fmt.Sprintf("recipients[%d] %v", i, err)); len(complaints) == maxReported {
				break
			}
			continue
		}
		if complaints != nil {
			continue
		}
		number := recipientNumber(digits)
		if _, again := seen[number]; again {
			if distinct.kept == nil {
				distinct.kept = make([]uint32, i, n)
				for j := range distinct.kept {
					distinct.kept[j] = uint32(j) //nolint:gosec // bodies are smaller
				}
			}
			duplicates++
			continue
		}
		seen[number] = struct{}{}
		if duplicates > 0 {
			distinct.kept = append(distinct.kept, uint32(i)) //nolint:gosec // bodies are smaller
		}
	}
	if complaints != nil {
		return recipients{}, 0, invalid(InvalidRecipient, complaints...)
	}
	return distinct, duplicates, nil
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

// phone returns the digits of a recipient.
func phone(input string) (digits string, err error) {
	to, err := event.ParseRecipient(input)
	if err == nil && !to.IsPhone() {
		err = errors.New("a batch sends to phone numbers only")
	}
	if err != nil {
		return "", err
	}
	return to.User, nil
}
