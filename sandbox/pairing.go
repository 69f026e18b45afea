package sandbox

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/handset"
)

const (
	refsPerConn = 6
	// maxHellos bounds the link codes that wait to be typed; the oldest is forgotten.
	maxHellos = 1000
	// pairTimeout is how long a client may take to answer each step.
	pairTimeout = 20 * time.Second
	// autoNumber is where AutoScan begins to look for a free number.
	autoNumber = 5511900000001
)

// companionHello is a link code that waits to be typed on the phone that it names.
type companionHello struct {
	conn     *conn
	number   string
	ref      string
	wrapped  []byte
	finished chan waBinary.Node // capacity 1: companion_finish
}

// offerPairing shows the refs that QR codes are made of. The caller holds s.mu.
func (s *Server) offerPairing(c *conn) {
	keys, err := registration(c)
	if err != nil {
		c.log.Info("pairing refused", "error", err)
		c.goodbye(refusal{reason: 400}.node())
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

// randomRef has no comma, which separates the fields of a QR code.
func randomRef() string {
	var raw [24]byte
	_, _ = rand.Read(raw[:]) // crypto/rand never fails
	return "2@" + base64.RawURLEncoding.EncodeToString(raw[:])
}

// registration reads the keys that an unpaired client brings.
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

func (s *Server) requestID() string {
	return "sbx-" + strconv.FormatUint(s.requests.Add(1), 10)
}

// linkDevice completes a pairing by QR code.
func (s *Server) linkDevice(p *Phone, qr handset.QR) error {
	s.mu.Lock()
	c := s.pending[qr.Ref]
	s.mu.Unlock()
	if c == nil {
		return fmt.Errorf("link to %s: %w", p.Number(), ErrNoPairing)
	}
	if c.noise != qr.NoisePub || c.registered.Identity != qr.IdentityPub {
		return fmt.Errorf("link to %s: the code's keys are not those of its connection: %w", p.Number(), ErrPairing)
	}
	s.mu.Lock()
	a := s.accountOf(p.LID())
	protected := a != nil && a.passkey != nil
	if protected {
		s.askPasskey(p, c, a, qr.AdvSecret)
	}
	s.mu.Unlock()
	if protected {
		return nil
	}
	return s.pair(p, c, qr.AdvSecret)
}

// pair sends the signed identity, waits for the client's signature and records the device.
func (s *Server) pair(p *Phone, c *conn, advSecret []byte) error {
	h, err := p.handset()
	if err != nil {
		return fmt.Errorf("link to %s: %w", p.Number(), err)
	}
	d, err := s.reserve(p, c)
	if err != nil {
		return fmt.Errorf("link to %s: %w", p.Number(), err)
	}
	identityPub := d.keys.Identity
	switch s.takeBrokenPairing(d.account) {
	case brokenHMAC:
		advSecret = make([]byte, len(advSecret))
	case brokenSignature:
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
		return fmt.Errorf("link to %s: the client refused with %q: %w", p.Number(), attr(&refused, "text"), ErrPairing)
	}
	if err := h.VerifyDevice(content(identity), d.keys.Identity); err != nil {
		return fmt.Errorf("link to %s: %w: %w", p.Number(), err, ErrPairing)
	}
	if err := s.record(p, d); err != nil {
		return fmt.Errorf("link to %s: %w", p.Number(), err)
	}
	s.mu.Lock()
	lost := s.faults.LosePairingEnd
	s.mu.Unlock()
	if lost {
		c.cancel(fmt.Errorf("fault: the end of a pairing was lost: %w", errDropped))
		return nil
	}
	c.goodbye(waBinary.Node{Tag: "stream:error", Attrs: waBinary.Attrs{"code": "515"}})
	return nil
}

// What is wrong with a link on request.
const (
	brokenHMAC      = "hmac"      // made with another secret than the code's
	brokenSignature = "signature" // of another device's key
)

func (s *Server) takeBrokenPairing(a *account) (broken string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	broken, a.breakPairing = a.breakPairing, ""
	return broken
}

// reserve takes the connection out of the waiting ones and picks a device id.
func (s *Server) reserve(p *Phone, c *conn) (*device, error) {
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
		return nil, ErrNoAccount
	}
	id, ok := a.freeDevice()
	if !ok {
		return nil, fmt.Errorf("%d devices are linked already: %w", maxDevice, ErrPairing)
	}
	return &device{account: a, id: id, keys: *c.registered, linked: time.Now().UTC()}, nil
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
func (s *Server) record(p *Phone, d *device) error {
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

// ask sends a request and waits for its answer.
func (c *conn) ask(id string, n waBinary.Node) (waBinary.Node, error) {
	answer := c.expect(id)
	defer c.forget(id)
	n.Attrs["id"] = id
	c.send(n)
	return c.await(answer)
}

func (c *conn) await(answer <-chan waBinary.Node) (waBinary.Node, error) {
	timer := time.NewTimer(pairTimeout)
	defer timer.Stop()
	select {
	case n := <-answer:
		return n, nil
	case <-c.ctx.Done():
		return waBinary.Node{}, fmt.Errorf("the client went away: %w", ErrPairing)
	case <-timer.C:
		return waBinary.Node{}, fmt.Errorf("the client did not answer: %w", ErrPairing)
	}
}

// linkCode answers the client's two requests of a pairing by code.
func (s *Server) linkCode(c *conn, request *waBinary.Node) (waBinary.Node, error) {
	reg := firstChild(request)
	switch attr(&reg, "stage") {
	case "companion_hello":
		return s.hello(c, reg)
	case "companion_finish":
		ref := reg.GetChildByTag("link_code_pairing_ref")
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, h := range s.hellos {
			if h.conn == c && h.ref == string(content(ref)) {
				select {
				case h.finished <- reg:
				default: // a second one has nobody to wait for it
				}
				return waBinary.Node{}, nil
			}
		}
		return waBinary.Node{}, errIQ{404, "item-not-found"}
	default:
		return waBinary.Node{}, errIQ{400, "bad-request"}
	}
}

func (s *Server) hello(c *conn, reg waBinary.Node) (waBinary.Node, error) {
	number := attrJID(&reg, "jid").User
	wrapped := content(reg.GetChildByTag("link_code_pairing_wrapped_companion_ephemeral_pub"))
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.registered == nil || len(wrapped) == 0 || s.accountByNumber(number) == nil {
		return waBinary.Node{}, errIQ{400, "bad-request"}
	}
	s.hellos = slices.DeleteFunc(s.hellos, func(h *companionHello) bool { return h.conn == c })
	if len(s.hellos) >= maxHellos {
		s.hellos = slices.Delete(s.hellos, 0, 1)
	}
	h := &companionHello{
		conn: c, number: number, ref: randomRef(), wrapped: slices.Clone(wrapped), finished: make(chan waBinary.Node, 1),
	}
	s.hellos = append(s.hellos, h)
	return waBinary.Node{Tag: "link_code_companion_reg", Content: []waBinary.Node{
		{Tag: "link_code_pairing_ref", Content: []byte(h.ref)},
	}}, nil
}

// typeCode completes a pairing by link code. Nothing in the request tells whether the code
// is its own, so a phone with several requests tries them, newest first.
func (s *Server) typeCode(p *Phone, code string) error {
	hellos := s.waitingHellos(p.Number())
	err := fmt.Errorf("type code on %s: %w", p.Number(), ErrNoPairing)
	for _, h := range hellos {
		if err = s.tryCode(p, h, code); err == nil || !errors.Is(err, handset.ErrCode) {
			return err
		}
	}
	return err
}

// waitingHellos lists requests for a number, newest first; for any when it is empty.
func (s *Server) waitingHellos(number string) []*companionHello {
	s.mu.Lock()
	defer s.mu.Unlock()
	hellos := slices.DeleteFunc(slices.Clone(s.hellos), func(h *companionHello) bool {
		return number != "" && h.number != number
	})
	slices.Reverse(hellos)
	return hellos
}

func (s *Server) tryCode(p *Phone, hello *companionHello, code string) error {
	h, err := p.handset()
	if err != nil {
		return fmt.Errorf("type code on %s: %w", p.Number(), err)
	}
	exchange, err := h.StartCode(code, hello.wrapped)
	if err != nil {
		return fmt.Errorf("type code on %s: %w", p.Number(), err)
	}
	identity := h.IdentityPub()
	hello.conn.send(waBinary.Node{
		Tag: "notification",
		Attrs: waBinary.Attrs{
			"type": "link_code_companion_reg", "from": types.ServerJID, "id": s.requestID(), "t": time.Now().Unix(),
		},
		Content: []waBinary.Node{{
			Tag: "link_code_companion_reg", Attrs: waBinary.Attrs{"stage": "primary_hello"},
			Content: []waBinary.Node{
				{Tag: "link_code_pairing_ref", Content: []byte(hello.ref)},
				{Tag: "link_code_pairing_wrapped_primary_ephemeral_pub", Content: exchange.WrappedEphemeral()},
				{Tag: "primary_identity_pub", Content: identity[:]},
			},
		}},
	})
	finish, err := hello.conn.await(hello.finished)
	if err != nil {
		return fmt.Errorf("type code on %s: %w", p.Number(), err)
	}
	companion, secret, err := exchange.Finish(content(finish.GetChildByTag("link_code_pairing_wrapped_key_bundle")))
	if err != nil {
		return fmt.Errorf("type code on %s: %w", p.Number(), err)
	}
	if companion != hello.conn.registered.Identity {
		return fmt.Errorf("type code on %s: the identity is not the one registered: %w", p.Number(), ErrPairing)
	}
	return s.pair(p, hello.conn, secret)
}

// AutoScan links the client that shows code. A QR code's text is scanned by a fresh phone;
// a link code is typed on the phone for which a client asked for it.
func (s *Server) AutoScan(code string) (*Phone, error) {
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

func (s *Server) autoScanQR(code string) (*Phone, error) {
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
	p, err := s.freshPhone("")
	if err != nil {
		return nil, err
	}
	return p, s.linkDevice(p, qr)
}

// freshPhone adds a phone with a number that nobody had.
func (s *Server) freshPhone(pushName string) (*Phone, error) {
	for {
		s.mu.Lock()
		if s.nextAuto == 0 {
			s.nextAuto = autoNumber
		}
		number := strconv.Itoa(s.nextAuto)
		s.nextAuto++
		_, taken := s.byPN[number]
		s.mu.Unlock()
		if taken || !onNetwork(number) {
			continue
		}
		if pushName == "" {
			pushName = "Phone " + number[len(number)-4:]
		}
		p, err := s.AddPhone(PhoneOptions{Number: number, PushName: pushName})
		if !errors.Is(err, ErrExists) {
			return p, err
		}
	}
}
