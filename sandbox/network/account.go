package network

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/handset"
	"postern/sandbox/phone"
)

const (
	minDigits, maxDigits = 5, 15
	// NotOnWhatsApp ends the numbers that have no account.
	NotOnWhatsApp = "0000"
	// maxDevice is the largest device id: the wire has one byte for it.
	maxDevice = 255
)

// account is a number of the network. One that was only looked up has no phone yet:
// accounts must stay cheap, since a large batch creates a hundred thousand of them. The
// server's mutex guards it.
type account struct {
	pn, lid  types.JID
	pushName string
	added    bool // by AddPhone or a pairing, not by a look-up; listed in Phones
	phone    *phone.Phone
	devices  map[uint16]*device
	last     uint16 // the last assigned device id
	presence presence
	profile  profile
	asked    []string // other numbers that a look-up answers with this account, see Register

	deafUntil      time.Time // keep-alive pings of its devices get no answer until then
	passkey        *Passkey  // nil: links need none
	stateConflicts int       // number of app state changes still to be refused
	breakPairing   string    // the wrong part of the next link, see pair-error; empty: none
}

// presence is the last presence of an account; zero if it never had one.
type presence struct {
	known, online bool
	last          time.Time // zero: not shown
}

// deviceLID is the address of one of the account's devices.
func (a *account) deviceLID(id uint16) types.JID {
	jid := a.lid
	jid.Device = id
	return jid
}

func (a *account) devicePN(id uint16) types.JID {
	jid := a.pn
	jid.Device = id
	return jid
}

// sorted lists the linked devices by id.
func (a *account) sorted() []*device {
	devices := make([]*device, 0, len(a.devices))
	for _, id := range slices.Sorted(maps.Keys(a.devices)) {
		devices = append(devices, a.devices[id])
	}
	return devices
}

// freeDevice picks an id for a new device; ids are reused only after all others.
func (a *account) freeDevice() (uint16, bool) {
	for range maxDevice {
		a.last = a.last%maxDevice + 1
		if _, taken := a.devices[a.last]; !taken {
			return a.last, true
		}
	}
	return 0, false
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// onNetwork reports whether a number has an account.
func onNetwork(number string) bool {
	return len(number) >= minDigits && len(number) <= maxDigits && digits(number) &&
		number[0] != '0' && !strings.HasSuffix(number, NotOnWhatsApp)
}

// accountOf returns the account of either address, and creates it if the number is of
// this network. It returns nil for other addresses. The caller holds s.mu.
func (s *Server) accountOf(user types.JID) *account {
	switch user.Server {
	case types.HiddenUserServer:
		return s.byLID[user.User]
	case types.DefaultUserServer, types.LegacyUserServer:
		return s.accountByNumber(user.User)
	default:
		return nil
	}
}

func (s *Server) accountByNumber(number string) *account {
	if a, ok := s.byPN[number]; ok {
		return a
	}
	if _, other := s.registered[number]; other || s.closed || !onNetwork(number) {
		return nil
	}
	return s.addAccount(number, s.deriveLID(number))
}

func (s *Server) addAccount(number, lid string) *account {
	a := newAccount(number, lid)
	s.byPN[number], s.byLID[lid] = a, a
	s.persist.account(a)
	return a
}

func newAccount(number, lid string) *account {
	return &account{
		pn: types.NewJID(number, types.DefaultUserServer), lid: types.NewJID(lid, types.HiddenUserServer),
		devices: map[uint16]*device{},
	}
}

// deriveLID derives the same LID from the same number on every server, without
// revealing the number.
func (s *Server) deriveLID(number string) string {
	sum := sha256.Sum256([]byte("sandbox lid " + number))
	for n := binary.BigEndian.Uint64(sum[:]) % 1e14; ; n++ {
		lid := fmt.Sprintf("1%014d", n)
		if _, taken := s.byLID[lid]; !taken {
			return lid
		}
	}
}

// phoneOf creates the account's phone on first use. The caller holds s.mu.
func (s *Server) phoneOf(a *account) *phone.Phone {
	if a.phone != nil {
		return a.phone
	}
	var keys *handset.Handset
	if state := s.persist.handset(a.pn.User); state != nil {
		restored, err := handset.Restore(state)
		if err != nil {
			s.log.Error("the keys of a phone are damaged, it starts with new ones", "number", a.pn.User, "error", err)
		}
		keys = restored
	}
	options := phone.Options{Number: a.pn.User, PushName: a.pushName, LID: a.lid.User}
	a.phone = phone.New(s, options, a.pn, a.lid, keys)
	return a.phone
}

// AddPhone adds a simulated phone. Its account may already exist, after a message to
// it, and then keeps its LID. Errors: ErrNumber, ErrLID, ErrExists, ErrClosed.
func (s *Server) AddPhone(o phone.Options) (*phone.Phone, error) {
	if !onNetwork(o.Number) {
		return nil, fmt.Errorf("add phone %.100q: %d to %d digits that do not begin with 0 or end in %s: %w",
			o.Number, minDigits, maxDigits, NotOnWhatsApp, ErrNumber)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	a, err := s.accountFor(o)
	if err != nil {
		return nil, fmt.Errorf("add phone %s: %w", o.Number, err)
	}
	a.added = true
	if o.PushName != "" && a.pushName != o.PushName {
		a.pushName = o.PushName
		if a.phone != nil {
			a.phone.Rename(o.PushName)
		}
	}
	s.persist.account(a)
	return s.phoneOf(a), nil
}

func (s *Server) accountFor(o phone.Options) (*account, error) {
	if o.LID != "" && !digits(o.LID) {
		return nil, fmt.Errorf("LID %.100q: %w", o.LID, ErrLID)
	}
	a, known := s.byPN[o.Number]
	if known && a.added {
		return nil, ErrExists
	}
	if known {
		if o.LID != "" && o.LID != a.lid.User {
			return nil, fmt.Errorf("the account already has the LID %s: %w", a.lid.User, ErrLID)
		}
		return a, nil
	}
	if o.LID == "" {
		o.LID = s.deriveLID(o.Number)
	}
	if _, taken := s.byLID[o.LID]; taken {
		return nil, fmt.Errorf("LID %s belongs to another phone: %w", o.LID, ErrLID)
	}
	return s.addAccount(o.Number, o.LID), nil
}

// Register makes a look-up of a number answer with the account of another one, as WhatsApp does in
// countries whose numbers are written with and without a digit. The number itself has no account:
// what is sent to it reaches no device. With noLID the answer has no LID. Errors: ErrNumber,
// ErrExists, ErrClosed.
func (s *Server) Register(asked, number string, noLID bool) (*phone.Phone, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	a := s.accountByNumber(number)
	if a == nil || !onNetwork(asked) || asked == number {
		return nil, fmt.Errorf("register %.100q as %.100q: two numbers of %d to %d digits that do not begin with 0 or end in %s: %w",
			asked, number, minDigits, maxDigits, NotOnWhatsApp, ErrNumber)
	}
	if _, known := s.byPN[asked]; known {
		return nil, fmt.Errorf("register %s: %w", asked, ErrExists)
	}
	if before := s.registered[asked]; before.account != nil && before.account != a {
		before.account.asked = slices.DeleteFunc(before.account.asked, func(n string) bool { return n == asked })
		s.persist.account(before.account)
	}
	if !slices.Contains(a.asked, asked) {
		a.asked = append(a.asked, asked)
	}
	s.registered[asked] = spelling{a, noLID}
	a.added = true
	s.persist.account(a)
	return s.phoneOf(a), nil
}

// spelling is the account that a look-up of another number answers with.
type spelling struct {
	account *account
	noLID   bool
}

// Phone returns the phone of a number. Every number of the network has one, added or
// not; false means that the number has no account.
func (s *Server) Phone(number string) (*phone.Phone, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.accountByNumber(number)
	if a == nil {
		return nil, false
	}
	return s.phoneOf(a), true
}

// Connections counts the connections of a number's linked devices, with those whose client was
// told that they end.
func (s *Server) Connections(number string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if c.device != nil && c.device.account.pn.User == number {
			n++
		}
	}
	return n
}

// Phones lists the phones that were added or have a linked device, by number, without
// mere contacts.
func (s *Server) Phones() []*phone.Phone {
	s.mu.Lock()
	defer s.mu.Unlock()
	var phones []*phone.Phone
	for _, number := range slices.Sorted(maps.Keys(s.byPN)) {
		if a := s.byPN[number]; a.added {
			phones = append(phones, s.phoneOf(a))
		}
	}
	return phones
}

// DevicesOf lists the devices of an account, or of all members of a group, in LID form; nil
// when there is no such account or group.
func (s *Server) DevicesOf(user types.JID) []types.JID {
	s.mu.Lock()
	defer s.mu.Unlock()
	if user.Server == types.GroupServer {
		return s.groupDevices(user)
	}
	a := s.accountOf(user.ToNonAD())
	if a == nil {
		return nil
	}
	return a.deviceList()
}

// IdentityOf returns both addresses of an account by either of them.
func (s *Server) IdentityOf(user types.JID) (pn, lid types.JID, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.accountOf(user.ToNonAD())
	if a == nil {
		return pn, lid, false
	}
	return a.pn, a.lid, true
}

// Save implements phone.Network: the next commit reads the phone's keys.
func (s *Server) Save(p *phone.Phone) { s.persist.phone(p) }
