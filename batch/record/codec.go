package record

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"postern/event"
	"postern/store"
)

// A header and an item's record begin with a version. These two are written for
// every item that is sent, so they are compact and not JSON: numbers are zigzag
// varints, texts have their length in front, the fields follow each other in the
// order of the code below. In items of version 2 texts are short (appendShort);
// those of version 1 are read as well. Version 3 is for items with features: it is
// version 2 with a byte for them behind the version, and what belongs to them at the end.
const (
	recordVersion   = 1 // of headers, and of items before
	itemVersion     = 2
	featuresVersion = 3
)

// Features of an item's record.
const (
	featureDetails = 1 << iota // it has details
	featureParts               // some of its messages were sent
)

// Flags of a header.
const (
	flagStarted = 1 << iota
	flagAutoResume
	flagWindowOff
)

// Flags of an item's record.
const (
	flagUsualJID = 1 << iota // the JID is the recipient on event.UserServer, left out
	flagOwnID                // the WhatsApp id is the client's, left out
	flagDelay                // a delay is set
)

// itemCodes gives each status its number in the file: append only.
var itemCodes = [...]ItemStatus{"", ItemPending, ItemSending, ItemSuccess, ItemFailed, ItemSkipped, ItemUnknown}

func (h *Header) encode() []byte {
	raw := make([]byte, 0, 1024)
	raw = append(raw, recordVersion, flags(h.Started, h.AutoResume, h.WindowOff))
	raw = appendText(raw, string(h.Status), h.Reason)
	c := h.Counts
	raw = appendNumbers(raw, c.Total, c.Pending, c.Sending, c.Success, c.Failed, c.Skipped, c.Unknown)
	raw = appendNumbers(raw, h.Reported, h.Cursor, h.Current)
	raw = binary.AppendUvarint(raw, h.Fence)
	raw = appendNumbers(raw, h.UpdatedAt, h.StartedAt, h.CompletedAt, h.PausedAt, h.StoppedAt,
		h.InterruptedAt, h.RecoveredAt, h.NextRunAt)
	raw = appendNumbers(raw, len(h.Shares))
	for _, s := range h.Shares {
		raw = appendNumbers(raw, s.Selected, s.Failed, s.Success)
	}
	raw = appendNumbers(raw, len(h.Recent))
	for _, i := range h.Recent {
		raw = appendNumbers(raw, i.Position)
		raw = append(binary.AppendUvarint(raw, uint64(len(i.Raw))), i.Raw...)
	}
	if h.Edition > 0 {
		raw = binary.AppendUvarint(raw, h.Edition)
	}
	return raw
}

// DecodeHeader reads a header. Its error wraps [store.ErrDamaged].
func DecodeHeader(raw []byte) (h Header, err error) {
	d := decoder{rest: raw}
	d.version(recordVersion)
	set := d.byte()
	h.Started, h.AutoResume, h.WindowOff = set&flagStarted != 0, set&flagAutoResume != 0, set&flagWindowOff != 0
	h.Status, h.Reason = event.BatchStatus(d.text()), d.text()
	c := &h.Counts
	for _, n := range []*int{
		&c.Total, &c.Pending, &c.Sending, &c.Success, &c.Failed, &c.Skipped, &c.Unknown,
		&h.Reported, &h.Cursor, &h.Current,
	} {
		*n = int(d.number())
	}
	h.Fence = d.natural()
	for _, at := range []*int64{
		&h.UpdatedAt, &h.StartedAt, &h.CompletedAt, &h.PausedAt, &h.StoppedAt,
		&h.InterruptedAt, &h.RecoveredAt, &h.NextRunAt,
	} {
		*at = d.number()
	}
	if n := d.length(); n > 0 {
		h.Shares = make([]Share, n)
	}
	for i := range h.Shares {
		h.Shares[i] = Share{Selected: int(d.number()), Failed: int(d.number()), Success: int(d.number())}
	}
	if n := d.length(); n > 0 {
		h.Recent = make([]Newer, n, n+1)
	}
	for i := range h.Recent {
		h.Recent[i] = Newer{Position: int(d.number()), Raw: d.bytes()}
	}
	if len(d.rest) > 0 {
		h.Edition = d.natural()
	}
	return h, d.end("header")
}

// Encode omits what follows from the recipient and the client's id. Of an
// unchanged item only the recipient is stored; a record grows by half
// or more when it is sent, for which pages are left with room (Buckets).
func (r *Item) Encode() []byte {
	raw := AppendWaiting(make([]byte, 0, 96), r.Detailed, r.Parts != nil, r.Input, r.To)
	if r.UpdatedAt == 0 && r.Status == "" && r.Parts == nil {
		return raw
	}
	usual, own := r.JID == r.usualJID(), r.WhatsApp == r.ClientID
	raw = append(raw, flags(usual, own, r.DelayMs != nil), itemCode(r.Status))
	if !usual {
		raw = appendShort(raw, r.JID)
	}
	raw = appendShort(raw, r.ClientID)
	if !own {
		raw = appendShort(raw, r.WhatsApp)
	}
	raw = appendShort(raw, r.Code, r.Error)
	if r.DelayMs != nil {
		raw = appendNumbers(raw, *r.DelayMs)
	}
	raw = appendNumbers(raw, r.Instance, r.MessageID, int64(r.Attempts))
	raw = appendNumbers(raw, r.UpdatedAt, r.StartedAt-r.UpdatedAt, r.EndedAt-r.UpdatedAt)
	if r.Parts == nil {
		return raw
	}
	raw = appendNumbers(raw, len(r.Parts))
	for _, p := range r.Parts {
		raw = appendShort(appendNumbers(raw, p.Instance, p.MessageID), p.WhatsApp)
	}
	return raw
}

// AppendWaiting appends the record of an item that has not changed since it was accepted.
func AppendWaiting(raw []byte, detailed, parts bool, input, to string) []byte {
	if detailed || parts {
		raw = append(raw, featuresVersion, flags(detailed, parts))
	} else {
		raw = append(raw, itemVersion)
	}
	return appendShort(raw, input, to)
}

// StatusOf returns the status in a header, without decoding the rest.
func StatusOf(raw []byte) event.BatchStatus {
	d := decoder{rest: raw}
	d.version(recordVersion)
	d.byte() // flags
	return event.BatchStatus(d.text())
}

// DecodeItem reads an item. Its error wraps [store.ErrDamaged].
func DecodeItem(raw []byte) (r Item, err error) {
	d := decoder{rest: raw}
	text, features := d.short, byte(0)
	switch d.version(recordVersion, itemVersion, featuresVersion) {
	case recordVersion:
		text = d.text
	case featuresVersion:
		features = d.byte()
	}
	if features > featureDetails|featureParts {
		return r, d.damaged("item")
	}
	r.Detailed = features&featureDetails != 0
	r.Input, r.To = text(), text()
	if len(d.rest) == 0 && features&featureParts == 0 {
		return r, d.end("item")
	}
	set, code := d.byte(), d.byte()
	if int(code) >= len(itemCodes) {
		return r, d.damaged("item")
	}
	r.Status = itemCodes[code]
	r.JID = r.usualJID()
	if set&flagUsualJID == 0 {
		r.JID = text()
	}
	r.ClientID = text()
	r.WhatsApp = r.ClientID
	if set&flagOwnID == 0 {
		r.WhatsApp = text()
	}
	r.Code, r.Error = text(), text()
	if set&flagDelay != 0 {
		ms := d.number()
		r.DelayMs = &ms
	}
	r.Instance, r.MessageID, r.Attempts = d.number(), d.number(), int(d.number())
	r.UpdatedAt = d.number()
	r.StartedAt, r.EndedAt = r.UpdatedAt+d.number(), r.UpdatedAt+d.number()
	if features&featureParts != 0 {
		r.Parts = make([]SentPart, d.length())
	}
	for i := range r.Parts {
		r.Parts[i] = SentPart{Instance: d.number(), MessageID: d.number(), WhatsApp: d.short()}
	}
	return r, d.end("item")
}

func (r *Item) usualJID() string { return r.Recipient() + "@" + event.UserServer }

// itemCode panics on a status without a number: only this package makes them.
func itemCode(s ItemStatus) byte {
	for code, known := range itemCodes {
		if known == s {
			return byte(code)
		}
	}
	panic(fmt.Sprintf("batch: item status %q has no number in the file", s))
}

func flags(set ...bool) byte {
	var all byte
	for i, on := range set {
		if on {
			all |= 1 << i
		}
	}
	return all
}

func appendText(raw []byte, texts ...string) []byte {
	for _, s := range texts {
		raw = append(binary.AppendUvarint(raw, uint64(len(s))), s...)
	}
	return raw
}

// Kinds of a short text, in the lower two bits of the number that it begins with.
const (
	shortPlain  = 0 // the rest of the number is the length in bytes, which follow
	shortNumber = 2 // the text is the rest of the number in decimal
	shortID     = 3 // the rest is a length in bytes, of which the text is webPrefix and their digits
)

// webPrefix begins the message ids of WhatsApp's web clients; upper-case hexadecimal
// digits follow.
const webPrefix = "3EB0"

// appendShort writes phone numbers and message ids in half
// the space.
func appendShort(raw []byte, texts ...string) []byte {
	for _, s := range texts {
		if n, ok := decimal(s); ok {
			raw = binary.AppendUvarint(raw, n<<2|shortNumber)
			continue
		}
		if digits, is := strings.CutPrefix(s, webPrefix); is {
			if id, err := hex.DecodeString(digits); err == nil && strings.ToUpper(digits) == digits {
				raw = append(binary.AppendUvarint(raw, uint64(len(id))<<2|shortID), id...)
				continue
			}
		}
		raw = append(binary.AppendUvarint(raw, uint64(len(s))<<2|shortPlain), s...)
	}
	return raw
}

// decimal returns the number of which s is the shortest decimal form, if it is one below 10¹⁸. Unlike that of
// strconv, a refusal costs no error.
func decimal(s string) (n uint64, ok bool) {
	if s == "" || len(s) > 18 || s[0] == '0' && len(s) > 1 {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + uint64(s[i]-'0')
	}
	return n, true
}

func appendNumbers[T int | int64](raw []byte, numbers ...T) []byte {
	for _, n := range numbers {
		raw = binary.AppendVarint(raw, int64(n))
	}
	return raw
}

// decoder reads a record. After the first missing field it returns
// zeros, and end reports the error.
type decoder struct {
	rest []byte
	bad  bool
}

// version reads the version of the record, which has to be a known one.
func (d *decoder) version(known ...byte) byte {
	v := d.byte()
	d.bad = d.bad || !slices.Contains(known, v)
	return v
}

func (d *decoder) byte() byte {
	if len(d.rest) == 0 {
		d.bad = true
		return 0
	}
	b := d.rest[0]
	d.rest = d.rest[1:]
	return b
}

func (d *decoder) number() int64 {
	n, size := binary.Varint(d.rest)
	return int64(advance(d, uint64(n), size))
}

func (d *decoder) natural() uint64 {
	n, size := binary.Uvarint(d.rest)
	return advance(d, n, size)
}

func advance(d *decoder, n uint64, size int) uint64 {
	if size <= 0 {
		d.bad = true
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

func (d *decoder) text() string { return string(d.bytes()) }

// short reads what appendShort wrote.
func (d *decoder) short() string {
	switch n := d.natural(); n & 3 {
	case shortNumber:
		return strconv.FormatUint(n>>2, 10)
	case shortID:
		return webPrefix + strings.ToUpper(hex.EncodeToString(d.take(n>>2)))
	case shortPlain:
		return string(d.take(n >> 2))
	default:
		d.bad = true
		return ""
	}
}

// bytes returns a part of the record itself.
func (d *decoder) bytes() []byte { return d.take(d.natural()) }

func (d *decoder) take(n uint64) []byte {
	if n > uint64(len(d.rest)) {
		d.bad = true
		return nil
	}
	b := d.rest[:n:n]
	d.rest = d.rest[n:]
	return b
}

// length returns how many fields or records follow, each of a byte at least.
func (d *decoder) length() int {
	n := d.number()
	if n < 0 || n > int64(len(d.rest)) {
		d.bad = true
		return 0
	}
	return int(n)
}

// end returns an error for a record that is too short, too long or of another version.
func (d *decoder) end(what string) error {
	if d.bad || len(d.rest) > 0 {
		return d.damaged(what)
	}
	return nil
}

func (d *decoder) damaged(what string) error {
	return fmt.Errorf("%s that is not a record of a version that is known: %w", what, store.ErrDamaged)
}
