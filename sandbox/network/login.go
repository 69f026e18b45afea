package network

import (
	"strconv"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
)

// start answers the handshake with a login or a pairing.
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
	}}, bulletin(waBinary.Node{Tag: "edge_routing", Content: []waBinary.Node{
		{Tag: "routing_info", Content: []byte{8, 8, 8, 5}}, // clients send it back at the next connection
	}}))
}

// bulletin is a notice of the server about the session.
func bulletin(content waBinary.Node) waBinary.Node {
	return waBinary.Node{Tag: "ib", Attrs: waBinary.Attrs{"from": types.ServerJID}, Content: []waBinary.Node{content}}
}

func (s *Server) loginDevice(number string, id uint16) *device {
	a, ok := s.byPN[number]
	if !ok {
		return nil
	}
	return a.devices[id]
}

// Conflict is the stream error that ends a session because of another one: kind is
// "replaced" or "device_removed".
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

// Refusal is the answer to one login.
type Refusal struct {
	Reason, Code int // WhatsApp's codes; a Code of 0 is not sent
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

// RefuseLogin answers the next login of any of the number's devices with a failure of
// this WhatsApp reason: 401 logged out, 402 temporary ban (for an hour), 403 locked,
// 405 client outdated, 503 unavailable.
func (s *Server) RefuseLogin(number string, reason int) {
	r := Refusal{Reason: reason}
	if reason == ReasonTemporaryBan {
		r.Code, r.Expire = BanSentTooMany, time.Hour
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusals[number] = r
}

// RefuseNext disconnects the account's devices and refuses the next login. Errors:
// ErrClosed, phone.ErrNoAccount.
func (s *Server) RefuseNext(of types.JID, r Refusal) error {
	return s.with(of, func(a *account) {
		s.refusals[a.pn.User] = r
		a.cut()
	})
}

// EndSessions sends a last stanza to the connected devices of the account, see Conflict
// and StreamError, and closes their connections. Errors: ErrClosed, phone.ErrNoAccount.
func (s *Server) EndSessions(of types.JID, last waBinary.Node) error {
	return s.with(of, func(a *account) { a.endSessions(last) })
}

// endSessions sends a last stanza to each connected device of the account. The caller
// holds the server's mutex.
func (a *account) endSessions(last waBinary.Node) {
	for _, d := range a.sorted() {
		if d.conn != nil {
			d.conn.goodbye(last)
		}
	}
}

// cut closes the connections of the account's devices. The caller holds the server's
// mutex.
func (a *account) cut() {
	for _, d := range a.devices {
		if d.conn != nil {
			d.conn.drop(errDropped)
		}
	}
}

// Drop closes the connections of a number's linked devices like a lost network. Clients
// reconnect and get again what they had not acknowledged.
func (s *Server) Drop(number string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a, ok := s.byPN[number]; ok {
		a.cut()
	}
}

// NotifyOffline disconnects the account's devices and queues some notifications for
// their next login. Errors: ErrClosed, phone.ErrNoAccount.
func (s *Server) NotifyOffline(of types.JID, count int) error {
	return s.with(of, func(a *account) {
		a.cut()
		for range count {
			s.notify(a, "status", a.lid, nil, waBinary.Node{Tag: "set", Content: []byte(a.profile.about())})
		}
	})
}

// Unlink removes all linked devices of a number, as its user can on the phone. Clients
// learn it at once if connected, else by a refused login.
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

// removeDevice deletes a device. Its connection, if any, stays open for a last stanza.
func (s *Server) removeDevice(d *device) {
	delete(d.account.devices, d.id)
	s.persist.removeDevice(d)
	s.log.Info("device unlinked", "number", d.account.pn.User, "device_id", d.id)
}

// Failure reasons that the server itself gives for a refused login; RefuseLogin takes
// any.
const (
	reasonLoggedOut   = 401
	reasonUnavailable = 503
)
