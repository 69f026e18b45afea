package batch

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"postern/batch/record"
	"postern/batch/template"
	"postern/event"
	"postern/internal/plural"
)

// Limits of what a recipient of a batch may have.
const (
	MaxVariables     = 32
	MaxValue         = 1024 // characters of a variable's value
	MaxExternalID    = 255  // characters
	maxVariableNames = 256  // different names in one batch
)

// Recipients are the recipients of a new batch. They are kept compact: 100 000 numbers take 2 MB, and
// as strings they would take three times as much. The zero value is empty.
type Recipients struct {
	numbers packed // as the caller wrote them
	details packed // of each one up to the last that has any
	names   []string
	index   map[string]int // of names
	objects bool           // one of them is an object
	column  string         // of the numbers, when they are the rows of a file; else empty
	invalid map[int]error  // the first of those whose details break a rule
	raw     []byte         // of Add, reused

	sent map[int][]record.SentPart // messages that some have got already, of a retry
}

// Recipient is a recipient with what belongs to it alone.
type Recipient struct {
	Number     string `json:"number" strict:"required" doc:"The phone number with its country code." example:"4915112345678"`
	ExternalID string `json:"externalId" doc:"An id of the caller's, at most 255 characters; items show it." example:"customer-17"`
	// Variables are the values of {{name}} in the texts of the batch.
	Variables map[string]*string `json:"variables" doc:"The values of the variables in the texts of the batch, by name: at most 32, of at most 1024 characters." example:"{\"name\":\"Ana\"}"`
}

// Numbers returns recipients that are numbers only.
func Numbers(all ...string) *Recipients {
	var r Recipients
	for _, number := range all {
		r.AddText([]byte(number))
	}
	return &r
}

// Rows says that the recipients are the rows of a file below its header, which is row 1, and which of
// its columns has the numbers: errors name both.
func (r *Recipients) Rows(column string) { r.column, r.objects = column, true }

// entry returns how errors call a recipient.
func (r *Recipients) entry(i int) string {
	if r.column != "" {
		return fmt.Sprintf("row %d", i+2)
	}
	return fmt.Sprintf("recipients[%d]", i)
}

// AddText adds a number, which it copies.
func (r *Recipients) AddText(number []byte) { r.numbers.add(number) }

// NewEntry returns a *Recipient to be decoded and added.
func (r *Recipients) NewEntry() any { return &Recipient{} }

// AddEntry adds a decoded entry.
func (r *Recipients) AddEntry(entry any) { r.Add(*entry.(*Recipient)) }

// Add adds a recipient. If it breaks a rule, the creation of the batch names it.
func (r *Recipients) Add(to Recipient) {
	at := r.numbers.len()
	r.objects = true
	raw, err := r.encode(to)
	if err != nil && len(r.invalid) < maxReported {
		if r.invalid == nil {
			r.invalid = map[int]error{}
		}
		r.invalid[at] = err
	}
	r.add([]byte(to.Number), raw)
}

// add adds a recipient with its encoded details, both of which it copies.
func (r *Recipients) add(number, details []byte) {
	at := r.numbers.len()
	r.numbers.add(number)
	if len(details) == 0 {
		return
	}
	for r.details.len() < at {
		r.details.add(nil)
	}
	r.details.add(details)
}

// encode returns the details of a recipient, valid until the next call, empty if there are none.
func (r *Recipients) encode(to Recipient) ([]byte, error) {
	if n := utf8.RuneCountInString(to.ExternalID); n > MaxExternalID {
		return nil, fmt.Errorf("externalId has %d characters, at most %d are allowed", n, MaxExternalID)
	}
	if n := len(to.Variables); n > MaxVariables {
		return nil, fmt.Errorf("variables has %s, at most %d are allowed", plural.Of(n, "entry"), MaxVariables)
	}
	d := record.Details{ExternalID: to.ExternalID}
	for name, value := range to.Variables {
		if value == nil {
			continue
		}
		i, err := r.nameIndex(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		if n := utf8.RuneCountInString(*value); n > MaxValue {
			return nil, fmt.Errorf("variables: %q has %d characters, at most %d are allowed", name, n, MaxValue)
		}
		d.Values = append(d.Values, record.DetailValue{Name: i, Value: *value})
	}
	slices.SortFunc(d.Values, func(a, b record.DetailValue) int { return a.Name - b.Name })
	for i := range d.Values {
		if i > 0 && d.Values[i].Name == d.Values[i-1].Name {
			return nil, fmt.Errorf("variables names %q twice", r.names[d.Values[i].Name])
		}
	}
	if d.ExternalID == "" && len(d.Values) == 0 {
		return nil, nil
	}
	r.raw = d.Encode(r.raw[:0])
	return r.raw, nil
}

// nameIndex returns the index of a variable's name, a new one if it is new.
func (r *Recipients) nameIndex(name string) (int, error) {
	if i, known := r.index[name]; known {
		return i, nil
	}
	if err := template.CheckName(name); err != nil {
		return 0, fmt.Errorf("variables: %w", err)
	}
	if len(r.names) == maxVariableNames {
		return 0, fmt.Errorf("variables: %q is one name too many; the recipients of a batch may use %d different names", name, maxVariableNames)
	}
	if r.index == nil {
		r.index = map[string]int{}
	}
	r.index[name] = len(r.names)
	r.names = append(r.names, name)
	return r.index[name], nil
}

// Len returns the number of recipients.
func (r *Recipients) Len() int { return r.numbers.len() }

// size returns about how many bytes they take.
func (r *Recipients) size() int { return r.numbers.size + r.details.size }

// At returns a recipient as the caller wrote it.
func (r *Recipients) At(i int) string { return string(r.numbers.at(i)) }

// detailsAt returns the details of a recipient, empty if it has none.
func (r *Recipients) detailsAt(i int) []byte {
	if i >= r.details.len() {
		return nil
	}
	return r.details.at(i)
}

// packed is a compact list of byte strings.
type packed struct {
	blocks []packedBlock
	n      int
	size   int // of the texts and their ends
}

type packedBlock struct {
	text []byte
	ends []uint32
}

const packedTexts = 1024 // of a block

func (p *packed) add(text []byte) {
	if p.n%packedTexts == 0 {
		p.blocks = append(p.blocks, packedBlock{make([]byte, 0, 16*packedTexts), make([]uint32, 0, packedTexts)})
	}
	b := &p.blocks[len(p.blocks)-1]
	b.text = append(b.text, text...)
	b.ends = append(b.ends, uint32(len(b.text))) //nolint:gosec // bodies are smaller
	p.n++
	p.size += len(text) + 4
}

func (p *packed) len() int { return p.n }

func (p *packed) at(i int) []byte {
	b, at := &p.blocks[i/packedTexts], i%packedTexts
	from := uint32(0)
	if at > 0 {
		from = b.ends[at-1]
	}
	return b.text[from:b.ends[at]:b.ends[at]]
}

// recipients are new ones of a batch without duplicates. Their digits are
// parsed again where they are needed, and not stored.
type recipients struct {
	given *Recipients
	kept  []uint32 // which of them, by index, when there are duplicates; nil: all
	base  int      // the position of the first
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

// index returns where the caller wrote a recipient.
func (r recipients) index(i int) int {
	if r.kept != nil {
		return int(r.kept[i])
	}
	return i
}

// given returns the recipients of a request.
func (r *CreateRequest) given() *Recipients {
	if r.List == nil {
		r.List = Numbers(r.Recipients...)
	}
	return r.List
}

var errNoRecipients = invalid(InvalidRecipient, "recipients must not be empty")

// distinct validates the recipients and drops duplicates, also of those that were seen
// before. One that is invalid refuses all; the first 100 invalid ones are named by index. Or they
// are left out, and appended to bad, unless that is nil.
func (e *Engine) distinct(given *Recipients, seen map[uint64]struct{}, bad *[]Malformed) (distinct recipients, duplicates int, err error) {
	n := given.Len()
	most := e.cfg.MaxRecipients
	switch {
	case n == 0 && given.column != "":
		return recipients{}, 0, invalid(InvalidRecipient, "the file has no rows below its header")
	case n == 0:
		return recipients{}, 0, errNoRecipients
	case n > most && given.column != "":
		return recipients{}, 0, invalid(TooManyRecipients, fmt.Sprintf("the file has more than the %d rows that are allowed", most))
	case n > most:
		return recipients{}, 0, invalid(TooManyRecipients, fmt.Sprintf("recipients has more than the %d entries that are allowed", most))
	}
	distinct.given = given
	var complaints []string
	leaveOut := func(i int) {
		if distinct.kept == nil {
			distinct.kept = make([]uint32, i, n)
			for j := range distinct.kept {
				distinct.kept[j] = uint32(j) //nolint:gosec // bodies are smaller
			}
		}
	}
	for i := range n {
		digits, err := phone(given.At(i))
		switch {
		case err == nil:
			err = given.invalid[i]
		case given.column != "":
			err = fmt.Errorf("column %.100q: %w", given.column, err)
		}
		if err != nil && bad != nil {
			m := Malformed{Index: &i, Input: given.At(i), Error: err.Error()}
			if row := i + 2; given.column != "" {
				m.Index, m.Row = nil, &row
			}
			*bad = append(*bad, m)
			leaveOut(i)
			continue
		}
		if err != nil {
			if complaints = append(complaints, fmt.Sprintf("%s %v", given.entry(i), err)); len(complaints) == maxReported {
				break
			}
			continue
		}
		if complaints != nil {
			continue
		}
		number := e.account(digits)
		if _, again := seen[number]; again {
			leaveOut(i)
			duplicates++
			continue
		}
		seen[number] = struct{}{}
		if distinct.kept != nil {
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
