package network

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/handset"
	"postern/sandbox/network/wire"
	"postern/sandbox/phone"
)

const (
	refsPerConn = 6
	// pairTimeout is how long a client may take to answer each step.
	pairTimeout = 20 * time.Second
)

// offerPairing sends the refs for QR codes. The caller holds s.mu.
func (s *Server) offerPairing(c *conn) {
	keys, err := registration(c)
	if err != nil {
		c.log.Info("pairing refused", "error", err)
		c.goodbye(Refusal{Reason: 400}.node())
		return
	}
	c.registered = keys
	refs := make([]waBinary.Node, 0, refsPerConn)
	for range refsPerConn {
		ref := randomRef()
		s.pending[ref] = c
		c.refs = append(c.refs, ref)
		refs = append(refs, waBinary.Node{Tag: "ref", Content: []byte(ref)})
	}
	c.send(waBinary.Node{
		Tag:     "iq",
		Attrs:   waBinary.Attrs{"from": types.ServerJID, "id": s.requestID(), "type": "set", "xmlns": "md"},
		Content: []waBinary.Node{{Tag: "pair-device", Content: refs}},
	})
}

// randomRef contains no comma, which separates the fields of a QR code.
func randomRef() string {
	var raw [24]byte
	_, _ = rand.Read(raw[:]) // crypto/rand never fails
	return "2@" + base64.RawURLEncoding.EncodeToString(raw[:])
}

// registration parses the keys of an unpaired client.
func registration(c *conn) (*deviceKeys, error) {
	data := c.payload.GetDevicePairingData()
	if data == nil {
		return nil, errors.New("the client neither logs in nor registers")
	}
	if len(data.GetERegid()) != 4 || len(data.GetEIdent()) != 32 || len(data.GetESkeyID()) != 3 ||
		len(data.GetESkeyVal()) != 32 || len(data.GetESkeySig()) != 64 {
		return nil, errors.New("a key of the registration has a wrong length")
	}
	return &deviceKeys{
		Noise: c.noise, Identity: [32]byte(data.GetEIdent()), Registration: binary.BigEndian.Uint32(data.GetERegid()),
		SignedPreKey: handset.PreKey{
			ID:  binary.BigEndian.Uint32(append([]byte{0}, data.GetESkeyID()...)),
			Pub: [32]byte(data.GetESkeyVal()),
		},
		Signature: [64]byte(data.GetESkeySig()),
	}, nil
}

// LinkDevice completes a pairing by QR code.
func (s *Server) LinkDevice(p *phone.Phone, qr handset.QR) error {
	s.mu.Lock()
	c := s.pending[qr.Ref]
	s.mu.Unlock()
	if c == nil {
		return fmt.Errorf("link to %s: %w", p.Number(), ErrNoPairing)
	}
	if c.noise != qr.NoisePub || c.registered.Identity != qr.IdentityPub {
		return fmt.Errorf("link to %s: the code's keys are not those of its connection: %w", p.Number(), ErrPairing)
	}
	return s.link(p, c, qr.AdvSecret)
}

// link completes a pairing whose code the phone knows, or first requests the passkey of
// a protected account. secret is the secret shared by the phone and the client.
func (s *Server) link(p *phone.Phone, c *conn, secret []byte) error {
	s.mu.Lock()
	a := s.accountOf(p.LID())
	protected := a != nil && a.passkey != nil
	if protected {
		s.askPasskey(p, c, a, secret)
	}
	s.mu.Unlock()
	if protected {
		return nil
	}
	return s.pair(p, c, secret)
}

// pair sends the signed identity, waits for the client's signature and records the device.
func (s *Server) pair(p *phone.Phone, c *conn, advSecret []byte) error {
	h, err := p.Keys()
	if err != nil {
		return fmt.Errorf("link to %s: %w", p.Number(), err)
	}
	d, err := s.reserve(p, c)
	if err != nil {
		return fmt.Errorf("link to %s: %w", p.Number(), err)
	}
	identityPub := d.keys.Identity
	switch s.takeBrokenPairing(d.account) {
	case BrokenHMAC:
		advSecret = make([]byte, len(advSecret))
	case BrokenSignature:
		identityPub = [32]byte{}
	}
	signed, err := h.SignDevice(identityPub, advSecret, uint32(d.id))
	if err != nil {
		return fmt.Errorf("link to %s: %w", p.Number(), err)
	}
	answer, err := c.ask(s.requestID(), s.pairSuccess(d, signed))
	if err != nil {
		return fmt.Errorf("link to %s: %w", p.Number(), err)
	}
	identity, ok := answer.GetOptionalChildByTag("pair-device-sign", "device-identity")
	if !ok {
		refused := answer.GetChildByTag("error")
		return fmt.Errorf("link to %s: the client refused with %q: %w", p.Number(), wire.Attr(&refused, "text"), ErrPairing)
	}
	if err := h.VerifyDevice(wire.Content(identity), d.keys.Identity); err != nil {
		return fmt.Errorf("link to %s: %w: %w", p.Number(), err, ErrPairing)
	}
	if err := s.record(p, d); err != nil {
		return fmt.Errorf("link to %s: %w", p.Number(), err)
	}
	s.mu.Lock()
	lost := s.faults.LosePairingEnd
	s.mu.Unlock()
	if lost {
		c.drop(fmt.Errorf("fault: the end of a pairing was lost: %w", errDropped))
		return nil
	}
	if c.pause(s.latency) { // the client stores the link meanwhile
		c.goodbye(waBinary.Node{Tag: "stream:error", Attrs: waBinary.Attrs{"code": "515"}})
	}
	return nil
}

// Wrong parts of a link, see BreakPairing.
const (
	BrokenHMAC      = "hmac"      // with another secret than the code's
	BrokenSignature = "signature" // by another device's key
)

// BreakPairing breaks the account's next link: kind is BrokenHMAC or BrokenSignature.
// Errors: ErrClosed, phone.ErrNoAccount.
func (s *Server) BreakPairing(of types.JID, kind string) error {
	return s.with(of, func(a *account) { a.breakPairing = kind })
}

// Downgrade notifies the clients that wait for a link that a phone without multi-device
// support scanned their code, and returns their number.
func (s *Server) Downgrade() (notified int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := map[*conn]bool{}
	for _, c := range s.pending {
		if !waiting[c] {
			waiting[c] = true
			c.send(bulletin(waBinary.Node{Tag: "downgrade_webclient"}))
		}
	}
	return len(waiting)
}

func (s *Server) takeBrokenPairing(a *account) (broken string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	broken, a.breakPairing = a.breakPairing, ""
	return broken
}

// reserve removes the connection from the waiting ones and picks a device id.
func (s *Server) reserve(p *phone.Phone, c *conn) (*device, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(c.refs) == 0 {
		return nil, ErrNoPairing
	}
	for _, ref := range c.refs {
		delete(s.pending, ref)
	}
	c.refs = nil
	a := s.accountOf(p.LID())
	if a == nil {
		return nil, phone.ErrNoAccount
	}
	id, ok := a.freeDevice()
	if !ok {
		return nil, fmt.Errorf("%d devices are linked already: %w", maxDevice, ErrPairing)
	}
	return &device{account: a, id: id, keys: *c.registered, linked: time.Now().UTC(), wishes: readWishes(c.payload.GetDevicePairingData().GetDeviceProps())}, nil
}

func (s *Server) pairSuccess(d *device, signed []byte) waBinary.Node {
	return waBinary.Node{
		Tag:   "iq",
		Attrs: waBinary.Attrs{"from": types.ServerJID, "type": "set", "xmlns": "md", "t": time.Now().Unix()},
		Content: []waBinary.Node{{Tag: "pair-success", Content: []waBinary.Node{
			{Tag: "device-identity", Content: signed},
			{Tag: "biz", Attrs: waBinary.Attrs{"name": ""}},
			{Tag: "device", Attrs: waBinary.Attrs{"jid": d.pn(), "lid": d.lid()}},
			{Tag: "platform", Attrs: waBinary.Attrs{"name": "android"}},
		}}},
	}
}

// record makes the link durable.
func (s *Server) record(p *phone.Phone, d *device) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return ErrClosed
	}
	d.account.devices[d.id] = d
	d.account.added = true
	s.persist.account(d.account)
	s.persist.device(d)
	s.persist.phone(p)
	s.mu.Unlock()
	s.log.Info("device linked", "number", p.Number(), "device_id", d.id)
	return s.persist.flush()
}

// autoNumber is the first number that AutoScan tries.
const autoNumber = 5511900000001

// AutoScan links the client that shows code. The text of a QR code is scanned by a new
// phone; a link code is typed on the phone for which a client requested it.
func (s *Server) AutoScan(code string) (*phone.Phone, error) {
	if strings.Contains(code, "://") {
		return s.autoScanQR(code)
	}
	typed, err := handset.NormaliseCode(code)
	if err != nil {
		return nil, fmt.Errorf("scan: %w", err)
	}
	err = fmt.Errorf("scan: %w", ErrNoPairing)
	for _, h := range s.waitingHellos("") {
		p, ok := s.Phone(h.number)
		if !ok {
			continue
		}
		if err = s.tryCode(p, h, typed); err == nil || !errors.Is(err, handset.ErrCode) {
			return p, err
		}
	}
	return nil, err
}

func (s *Server) autoScanQR(code string) (*phone.Phone, error) {
	qr, err := handset.ParseQR(code)
	if err != nil {
		return nil, fmt.Errorf("scan: %w", err)
	}
	s.mu.Lock()
	_, waits := s.pending[qr.Ref]
	s.mu.Unlock()
	if !waits {
		return nil, fmt.Errorf("scan: %w", ErrNoPairing)
	}
	p, err := s.AddFreshPhone("")
	if err != nil {
		return nil, err
	}
	return p, s.LinkDevice(p, qr)
}

// AddFreshPhone adds a phone with an unused number; an empty name is replaced by a
// generated one. Errors: those of AddPhone.
func (s *Server) AddFreshPhone(pushName string) (*phone.Phone, error) {
	for {
		s.mu.Lock()
		if s.nextAuto == 0 {
			s.nextAuto = autoNumber
		}
		number := strconv.FormatInt(s.nextAuto, 10)
		s.nextAuto++
		_, taken := s.byPN[number]
		s.mu.Unlock()
		if taken || !onNetwork(number) {
			continue
		}
		if pushName == "" {
			pushName = "Phone " + number[len(number)-4:]
		}
		p, err := s.AddPhone(phone.Options{Number: number, PushName: pushName})
		if !errors.Is(err, ErrExists) {
			return p, err
		}
	}
}
