package optout

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

// Kinds of keys behind the owner.
const (
	byNumber byte = iota // an entry, by the canonical number
	byLID                // an entry of a person whose number is unknown
	alsoLID              // leads to an entry by number
	noKind               // above all others
)

// long describes the numbers of a country whose mobile numbers are written in two forms,
// with and without a digit behind the country code or the area code.
type long struct {
	country string // with the digit, where that follows the country code
	at      int    // where the digit is
	digit   byte
	size    int  // of the form with the digit
	next    byte // the least digit that may follow; below it, the form without the digit is another number
}

// longForms are those of Brazil (the mobile digit 9, behind the area code; landline numbers
// begin with 2 to 5 and never have it), Mexico and Argentina (1 and 9 behind the country
// code).
var longForms = []long{
	{"55", 4, '9', 13, '6'},
	{"52", 2, '1', 13, '0'},
	{"54", 2, '9', 13, '0'},
}

// canonical returns the one form under which all forms of a phone number are stored.
func canonical(number string) string {
	for _, l := range longForms {
		if strings.HasPrefix(number, l.country) && len(number) == l.size && number[l.at] == l.digit && number[l.at+1] >= l.next {
			return number[:l.at] + number[l.at+1:]
		}
	}
	return number
}

// forms returns the forms of a phone number, the canonical one first.
func forms(number string) []string {
	short := canonical(number)
	for _, l := range longForms {
		if strings.HasPrefix(short, l.country) && len(short) == l.size-1 && short[l.at] >= l.next {
			return []string{short, short[:l.at] + string(l.digit) + short[l.at:]}
		}
	}
	return []string{short}
}

// person is somebody by all addresses that are known.
type person struct {
	shown  string   // the address for people: digits, or a LID as a JID
	number string   // canonical; empty: unknown
	others []string // further numbers, canonical
	lids   []string
}

// numbers returns all numbers of the person.
func (p *person) numbers() []string {
	if p.number == "" {
		return nil
	}
	return append([]string{p.number}, p.others...)
}

// person returns who is at an address. The address must be a phone number or a LID.
func (b *Book) person(to event.Recipient) (p person) {
	number := to.User
	p.shown = to.User
	if !to.IsPhone() {
		p.shown, p.lids = to.JID(), []string{to.User}
		number, _, _ = strings.Cut(b.cfg.Twin(to.JID()), "@")
		if number == "" {
			return p
		}
		p.shown = number
	}
	p.number = canonical(number)
	b.addLIDs(&p, p.number)
	for _, other := range b.cfg.Numbers(to.JID()) {
		if other = canonical(other); !slices.Contains(p.numbers(), other) {
			p.others = append(p.others, other)
			b.addLIDs(&p, other)
		}
	}
	return p
}

// addLIDs adds the LIDs of a number in all its forms.
func (b *Book) addLIDs(p *person, number string) {
	for _, form := range forms(number) {
		lid, _, _ := strings.Cut(b.cfg.Twin(form+"@"+event.UserServer), "@")
		if lid != "" && !slices.Contains(p.lids, lid) {
			p.lids = append(p.lids, lid)
		}
	}
}

func key(owner uuid.UUID, kind byte, address string) []byte { return store.Key(owner, kind, address) }

// keys returns all keys under which the person may have opted out.
func (p *person) keys(owner uuid.UUID) (all [][]byte) {
	for _, number := range p.numbers() {
		all = append(all, key(owner, byNumber, number))
	}
	for _, lid := range p.lids {
		all = append(all, key(owner, byLID, lid), key(owner, alsoLID, lid))
	}
	return all
}

// optedOut reports whether the person is in the book of owner.
func (p *person) optedOut(tx *store.Tx, owner uuid.UUID) bool {
	for _, k := range p.keys(owner) {
		if tx.Has(bucketEntry, k) {
			return true
		}
	}
	return false
}
