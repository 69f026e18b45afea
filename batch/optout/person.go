package optout

import (
	"cmp"
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
	shown   string   // the address for people: digits, or a LID as a JID
	numbers []string // canonical; the entry is under the first
	lids    []string
}

// person returns who is at these addresses of one person, which are phone numbers or LIDs.
func (b *Book) person(at ...event.Recipient) (p person) {
	var known []string
	meet := func(jid string) {
		if !slices.Contains(known, jid) {
			known = append(known, jid)
		}
	}
	for _, to := range at {
		meet(to.JID())
	}
	for i := 0; i < len(known); i++ { // known grows
		user, server, _ := strings.Cut(known[i], "@")
		if server == event.LIDServer {
			p.lids = append(p.lids, user)
		} else {
			p.shown = cmp.Or(p.shown, user)
			if number := canonical(user); !slices.Contains(p.numbers, number) {
				p.numbers = append(p.numbers, number)
			}
			for _, form := range forms(user) {
				meet(form + "@" + event.UserServer)
			}
		}
		for _, jid := range b.cfg.Addresses(known[i]) {
			meet(jid)
		}
	}
	p.shown = cmp.Or(p.shown, at[0].JID())
	return p
}

func key(owner uuid.UUID, kind byte, address string) []byte { return store.Key(owner, kind, address) }

// keys returns all keys under which the person may have opted out.
func (p *person) keys(owner uuid.UUID) (all [][]byte) {
	for _, number := range p.numbers {
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
