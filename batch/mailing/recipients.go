package mailing

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

	"github.com/google/uuid"
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
	Numbers Packed // as the caller wrote them
	Details Packed // of each one up to the last that has any
	Names   []string
	index   map[string]int // of names
	Objects bool           // one of them is an object
	Column  string         // of the numbers, when they are the rows of a file; else empty
	Invalid map[int]error  // those whose details break a rule
	raw     []byte         // of Add, reused

	Sent map[int][]record.SentPart // messages that some have got already, of a retry
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
func (r *Recipients) Rows(column string) { r.Column, r.Objects = column, true }

// Entry returns how errors call a recipient.
func (r *Recipients) Entry(i int) string {
	if r.Column != "" {
		return fmt.Sprintf("row %d", i+2)
	}
	return fmt.Sprintf("recipients[%d]", i)
}

// AddText adds a number, which it copies.
func (r *Recipients) AddText(number []byte) { r.Numbers.add(number) }

// NewEntry returns a *Recipient to be decoded and added.
func (r *Recipients) NewEntry() any { return &Recipient{} }

// AddEntry adds a decoded entry.
func (r *Recipients) AddEntry(entry any) { r.Add(*entry.(*Recipient)) }

// Add adds a recipient. If it breaks a rule, the creation of the batch names it.
func (r *Recipients) Add(to Recipient) {
	at := r.Numbers.len()
	r.Objects = true
	raw, err := r.encode(to)
	if err != nil {
		if r.Invalid == nil {
			r.Invalid = map[int]error{}
		}
		r.Invalid[at] = err
	}
	r.Append([]byte(to.Number), raw)
}

// Append adds a recipient with its encoded details, both of which it copies.
func (r *Recipients) Append(number, details []byte) {
	at := r.Numbers.len()
	r.Numbers.add(number)
	if len(details) == 0 {
		return
	}
	for r.Details.len() < at {
		r.Details.add(nil)
	}
	r.Details.add(details)
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
			return nil, fmt.Errorf("variables names %q twice", r.Names[d.Values[i].Name])
		}
	}
	if d.ExternalID == "" && len(d.Values) == 0 {
		return nil, nil
	}
	r.raw = d.Encode(r.raw[:0])
	return r.raw, nil
}

// CheckVariable returns an error if a variable cannot have that name.
func CheckVariable(name string) error { return template.CheckName(strings.TrimSpace(name)) }

// nameIndex returns the index of a variable's name, a new one if it is new.
func (r *Recipients) nameIndex(name string) (int, error) {
	if i, known := r.index[name]; known {
		return i, nil
	}
	if err := template.CheckName(name); err != nil {
		return 0, fmt.Errorf("variables: %w", err)
	}
	if len(r.Names) == maxVariableNames {
		return 0, fmt.Errorf("variables: %q is one name too many; the recipients of a batch may use %d different names", name, maxVariableNames)
	}
	if r.index == nil {
		r.index = map[string]int{}
	}
	r.index[name] = len(r.Names)
	r.Names = append(r.Names, name)
	return r.index[name], nil
}

// Len returns the number of recipients.
func (r *Recipients) Len() int { return r.Numbers.len() }

// Size returns about how many bytes they take.
func (r *Recipients) Size() int { return r.Numbers.size + r.Details.size }

// At returns a recipient as the caller wrote it.
func (r *Recipients) At(i int) string { return r.Numbers.at(i) }

// DetailsAt returns the details of a recipient, empty if it has none.
func (r *Recipients) DetailsAt(i int) []byte {
	if i >= r.Details.len() {
		return nil
	}
	return []byte(r.Details.at(i))
}

// Packed is a compact list of byte strings.
type Packed struct {
	blocks []*packedBlock
	n      int
	size   int // of the texts and their ends
}

type packedBlock struct {
	text strings.Builder
	ends []uint32
}

const packedTexts = 1024 // of a block

func (p *Packed) add(text []byte) {
	if p.n%packedTexts == 0 {
		b := &packedBlock{ends: make([]uint32, 0, packedTexts)}
		b.text.Grow(16 * packedTexts)
		p.blocks = append(p.blocks, b)
	}
	b := p.blocks[len(p.blocks)-1]
	b.text.Write(text)
	b.ends = append(b.ends, uint32(b.text.Len())) //nolint:gosec // bodies are smaller
	p.n++
	p.size += len(text) + 4
}

func (p *Packed) len() int { return p.n }

// at returns a text without a copy.
func (p *Packed) at(i int) string {
	b, at := p.blocks[i/packedTexts], i%packedTexts
	from := uint32(0)
	if at > 0 {
		from = b.ends[at-1]
	}
	return b.text.String()[from:b.ends[at]]
}

// Chosen are new ones of a batch without duplicates. Their digits are
// parsed again where they are needed, and not stored.
type Chosen struct {
	Given *Recipients
	Kept  []uint32 // which of them, by index, when there are duplicates; nil: all
	Base  int      // the position of the first
}

// Len returns the number of recipients.
func (r Chosen) Len() int {
	switch {
	case r.Kept != nil:
		return len(r.Kept)
	case r.Given == nil:
		return 0
	}
	return r.Given.Len()
}

// Index returns where the caller wrote a recipient.
func (r Chosen) Index(i int) int {
	if r.Kept != nil {
		return int(r.Kept[i])
	}
	return i
}

// Phone returns the digits of a recipient.
func Phone(input string) (digits string, err error) {
	to, err := event.ParseRecipient(input)
	if err == nil && !to.IsPhone() {
		err = errors.New("a batch sends to phone numbers only")
	}
	if err != nil {
		return "", err
	}
	return to.User, nil
}

// MaxReported is how many faults a refused batch names.
const MaxReported = 100

// Details returns the details of a recipient.
func (r Chosen) Details(i int) (record.Details, error) {
	raw := r.Given.DetailsAt(r.Index(i))
	if len(raw) == 0 {
		return record.Details{}, nil
	}
	return record.DecodeDetails(raw)
}

// Rename makes the details refer to the variables of a batch that has others already, and
// returns the names of all.
func (r *Recipients) Rename(known []string) (all []string, err error) {
	all = slices.Clip(known)
	to := make([]int, len(r.Names))
	for i, name := range r.Names {
		if to[i] = slices.Index(all, name); to[i] < 0 {
			to[i] = len(all)
			all = append(all, name)
		}
	}
	if len(all) > maxVariableNames {
		return nil, fmt.Errorf("recipients: the batch would have %d different variables, at most %d are allowed", len(all), maxVariableNames)
	}
	if len(known) == 0 {
		return all, nil
	}
	var renamed Packed
	for i := range r.Details.len() {
		raw := []byte(r.Details.at(i))
		if len(raw) > 0 {
			d, err := record.DecodeDetails(raw)
			if err != nil {
				return nil, err
			}
			for n := range d.Values {
				d.Values[n].Name = to[d.Values[n].Name]
			}
			raw = d.Encode(nil)
		}
		renamed.add(raw)
	}
	r.Details, r.Names = renamed, all
	return all, nil
}

// Text returns what a recipient gets, empty if its record cannot be read.
func (r Chosen) Text(c *Content, id uuid.UUID, i int) string {
	d, err := r.Details(i)
	if err != nil {
		return ""
	}
	rendered, _ := c.Render(0, record.ItemID(id, r.Base+i), d)
	return rendered.Summary()
}

// Number returns a recipient, normalised.
func (r Chosen) Number(i int) string {
	digits, _ := Phone(r.Given.At(r.Index(i)))
	return digits
}
