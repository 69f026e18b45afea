package network

import (
	"strconv"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
)

// start answers the handshake: a login or the offer to pair.
func (s *Server) start(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.version = clientVersion(c.payload); s.outdated(c) {
		c.log.Info("client refused as outdated", "version", c.version.String())
		c.goodbye(Refusal{Reason: ReasonOutdated}.node())
		return
	}
	if c.payload.Username == nil {
		s.offerPairing(c)
		return
	}
	number, id := strconv.FormatUint(c.payload.GetUsername(), 10), uint16(c.payload.GetDevice())
	c.log = c.log.With("number", number, "device_id", id)
	if r, ok := s.refusals[number]; ok {
		delete(s.refusals, number)
		c.log.Info("login refused on request", "reason", r.Reason)
		c.goodbye(r.node())
		return
	}
	d := s.loginDevice(number, id)
	if d == nil || d.keys.Noise != c.noise {
		c.log.Info("login refused: the device is not linked")
		c.goodbye(Refusal{Reason: reasonLoggedOut}.node())
		return
	}
	if d.conn != nil {
		d.conn.goodbye(Conflict("replaced"))
	}
	c.device, d.conn, d.active, d.quiet = d, c, false, false
	c.log.Info("device logged in", "queued", len(d.queue))
	c.send(waBinary.Node{Tag: "success", Attrs: waBinary.Attrs{
		"t": time.Now().Unix(), "lid": d.lid(), "display_name": d.account.pushName, "props": "27",
		"location": "sbx", "abprops": "1", "group_abprops": "1", "companion_enc_static": "",
	}})
}

func (s *Server) loginDevice(number string, id uint16) *device {
	a, ok := s.byPN[number]
	if !ok {
		return nil
	}
	return a.devices[id]
}

// Conflict is the stream error that ends a session for another one's sake: kind is "replaced" or
// "device_removed".
func Conflict(kind string) waBinary.Node {
	n := waBinary.Node{Tag: "stream:error", Content: []waBinary.Node{
		{Tag: "conflict", Attrs: waBinary.Attrs{"type": kind}},
	}}
	if kind == "device_removed" {
		n.Attrs = waBinary.Attrs{"code": strconv.Itoa(reasonLoggedOut)}
	}
	return n
}

// StreamError ends a session with a code.
func StreamError(code int) waBinary.Node {
	return waBinary.Node{Tag: "stream:error", Attrs: waBinary.Attrs{"code": strconv.Itoa(code)}}
}

// Refusal is how one login will be answered.
type Refusal struct {
	Reason, Code int // as WhatsApp counts them; a Code of 0 is not told
	Expire       time.Duration
	Message      string
}

func (r Refusal) node() waBinary.Node {
	attrs := waBinary.Attrs{"reason": strconv.Itoa(r.Reason), "location": "sbx"}
	if r.Code != 0 {
		attrs["code"] = strconv.Itoa(r.Code)
	}
	if r.Expire > 0 {
		attrs["expire"] = strconv.Itoa(int(r.Expire.Seconds()))
	}
	if r.Message != "" {
		attrs["message"] = r.Message
	}
	return waBinary.Node{Tag: "failure", Attrs: attrs}
}

// Reasons of a temporary ban, see RefuseLogin.
const (
	ReasonTemporaryBan = 402
	BanSentTooMany     = 101
)

// RefuseLogin answers the next login of any of the number's devices with a failure of this
// reason, as WhatsApp counts them: 401 logged out, 402 temporary ban (for an hour), 403
// locked, 405 client outdated, 503 unavailable.
func (s *Server) RefuseLogin(number string, reason int) {
	r := Refusal{Reason: reason}
	if reason == ReasonTemporaryBan {
		r.Code, r.Expire = BanSentTooMany, time.Hour
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusals[number] = r
}

// RefuseNext cuts the account's devices off and refuses the login that follows. Errors:
// ErrClosed, phone.ErrNoAccount.
func (s *Server) RefuseNext(of types.JID, r Refusal) error {
	return s.with(of, func(a *account) {
		s.refusals[a.pn.User] = r
		a.cut()
	})
}

// EndSessions says a last word to the account's devices that are there, see Conflict and
// StreamError, and closes their connections. Errors: ErrClosed, phone.ErrNoAccount.
func (s *Server) EndSessions(of types.JID, last waBinary.Node) error {
	return s.with(of, func(a *account) { a.endSessions(last) })
}

// endSessions says a last word to each device of the account that is there.
// The caller holds the server's mutex.
func (a *account) endSessions(last waBinary.Node) {
	for _, d := range a.sorted() {
		if d.conn != nil {
			d.conn.goodbye(last)
		}
	}
}

// cut drops the connections of the account's devices. The caller holds the
// server's mutex.
func (a *account) cut() {
	for _, d := range a.devices {
		if d.conn != nil {
			d.conn.drop(errDropped)
		}
	}
}

// Drop cuts the connections of a number's linked devices without a word, like a lost
// network. Clients reconnect and get again what they had not acknowledged.
func (s *Server) Drop(number string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a, ok := s.byPN[number]; ok {
		a.cut()
	}
}

// NotifyOffline cuts the account's devices off and queues some notifications that they get when
// they are back. Errors: ErrClosed, phone.ErrNoAccount.
func (s *Server) NotifyOffline(of types.JID, count int) error {
	return s.with(of, func(a *account) {
		a.cut()
		for range count {
			s.notify(a, "status", a.lid, nil, waBinary.Node{Tag: "set", Content: []byte(a.profile.about())})
		}
	})
}

// Unlink removes all linked devices of a number, as its user can on the phone. Clients are
// told when they are there, else by a refused login.
func (s *Server) Unlink(number string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.byPN[number]
	if !ok {
		return
	}
	for _, d := range a.sorted() {
		s.removeDevice(d)
		if d.conn != nil {
			d.conn.goodbye(Conflict("device_removed"))
		}
	}
}

// removeDevice forgets a device. Its connection, if any, stays for a last word.
func (s *Server) removeDevice(d *device) {
	delete(d.account.devices, d.id)
	s.persist.removeDevice(d)
	s.log.Info("device unlinked", "number", d.account.pn.User, "device_id", d.id)
}

// Failure reasons of a refused login that the server itself gives; RefuseLogin takes any.
const (
	reasonLoggedOut   = 401
	reasonUnavailable = 503
)
