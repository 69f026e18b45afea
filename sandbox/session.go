package sandbox

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
)

// maxConns bounds the connections, those in the handshake or waiting to be paired included.
const maxConns = 4096

// Failure reasons of a refused login that the server itself gives; RefuseLogin takes any.
const (
	reasonLoggedOut   = 401
	reasonUnavailable = 503
)

func (s *Server) join(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.conns) >= maxConns {
		c.log.Warn("connection refused", "open", len(s.conns))
		return false
	}
	s.conns[c] = struct{}{}
	return true
}

// leave forgets a connection. What its device did not acknowledge stays queued.
func (s *Server) leave(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	for _, ref := range c.refs {
		delete(s.pending, ref)
	}
	s.hellos = slices.DeleteFunc(s.hellos, func(h *companionHello) bool { return h.conn == c })
	d := c.device
	if d == nil || d.conn != c {
		return
	}
	d.conn, d.active = nil, false
	for _, q := range d.queue {
		q.sent = false
	}
	s.dropWatches(d)
	if p := &d.account.presence; p.online && !slices.ContainsFunc(d.account.sorted(), isActive) {
		s.setPresence(d.account, false)
	}
}

func isActive(d *device) bool { return d.active }

// start answers the handshake: a login or the offer to pair.
func (s *Server) start(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.payload.Username == nil {
		s.offerPairing(c)
		return
	}
	number, id := strconv.FormatUint(c.payload.GetUsername(), 10), uint16(c.payload.GetDevice())
	c.log = c.log.With("number", number, "device_id", id)
	if r, ok := s.refusals[number]; ok {
		delete(s.refusals, number)
		c.log.Info("login refused on request", "reason", r.reason)
		c.goodbye(r.node())
		return
	}
	d := s.loginDevice(number, id)
	if d == nil || d.keys.Noise != c.noise {
		c.log.Info("login refused: the device is not linked")
		c.goodbye(refusal{reason: reasonLoggedOut}.node())
		return
	}
	if d.conn != nil {
		d.conn.goodbye(conflict("replaced"))
	}
	c.device, d.conn, d.active = d, c, false
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

// conflict is the stream error that ends a session for another one's sake.
func conflict(kind string) waBinary.Node {
	n := waBinary.Node{Tag: "stream:error", Content: []waBinary.Node{
		{Tag: "conflict", Attrs: waBinary.Attrs{"type": kind}},
	}}
	if kind == "device_removed" {
		n.Attrs = waBinary.Attrs{"code": strconv.Itoa(reasonLoggedOut)}
	}
	return n
}

// refusal is how one login will be answered.
type refusal struct {
	reason, code int
	expire       time.Duration
	message      string
}

func (r refusal) node() waBinary.Node {
	attrs := waBinary.Attrs{"reason": strconv.Itoa(r.reason), "location": "sbx"}
	if r.code != 0 {
		attrs["code"] = strconv.Itoa(r.code)
	}
	if r.expire > 0 {
		attrs["expire"] = strconv.Itoa(int(r.expire.Seconds()))
	}
	if r.message != "" {
		attrs["message"] = r.message
	}
	return waBinary.Node{Tag: "failure", Attrs: attrs}
}

// Reasons of a temporary ban, see RefuseLogin.
const (
	reasonTemporaryBan = 402
	banSentTooMany     = 101
)

// RefuseLogin answers the next login of any of the number's devices with a failure of this
// reason, as WhatsApp counts them: 401 logged out, 402 temporary ban (for an hour), 403
// locked, 405 client outdated, 503 unavailable.
func (s *Server) RefuseLogin(number string, reason int) {
	r := refusal{reason: reason}
	if reason == reasonTemporaryBan {
		r.code, r.expire = banSentTooMany, time.Hour
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusals[number] = r
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

// cut drops the connections of the account's devices. The caller holds the
// server's mutex.
func (a *account) cut() {
	for _, d := range a.devices {
		if d.conn != nil {
			d.conn.cancel(errDropped)
		}
	}
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
			d.conn.goodbye(conflict("device_removed"))
		}
	}
}

// removeDevice forgets a device. Its connection, if any, stays for a last word.
func (s *Server) removeDevice(d *device) {
	delete(d.account.devices, d.id)
	s.persist.removeDevice(d)
	s.log.Info("device unlinked", "number", d.account.pn.User, "device_id", d.id)
}

// handle works on one stanza of a client.
func (s *Server) handle(c *conn, n *waBinary.Node) {
	id := attr(n, "id")
	kind := attr(n, "type")
	if n.Tag == "iq" && (kind == "result" || kind == "error") {
		c.answered(id, *n)
		return
	}
	s.mu.Lock()
	d := c.device
	deaf := s.faults.SwallowPings || d != nil && time.Now().Before(d.account.deafUntil)
	s.mu.Unlock()
	if n.Tag == "iq" {
		if attr(n, "xmlns") != "w:p" || !deaf {
			c.send(s.answer(c, n))
		}
		return
	}
	if d == nil {
		c.log.Debug("stanza of an unpaired client ignored", "tag", n.Tag)
		return
	}
	switch n.Tag {
	case "message":
		s.clientMessage(c, d, *n)
	case "ack":
		s.mu.Lock()
		s.acknowledge(d, ackKey{attr(n, "class"), id})
		s.mu.Unlock()
	case "receipt":
		s.mu.Lock()
		s.acknowledge(d, ackKey{"message", id})
		s.mu.Unlock()
		s.forward(c, d, *n)
	case "presence", "chatstate", "call":
		s.forward(c, d, *n)
	default:
		c.log.Debug("stanza ignored", "tag", n.Tag)
	}
}

func (s *Server) forward(c *conn, d *device, n waBinary.Node) {
	if err := s.route(c.ctx, d.lid(), n); err != nil {
		c.log.Debug("stanza not delivered", "tag", n.Tag, "error", err)
	}
}

// clientMessage routes a message and acknowledges it, as the faults allow.
func (s *Server) clientMessage(c *conn, d *device, n waBinary.Node) {
	f, lost := s.takeFault()
	if lost {
		c.cancel(fmt.Errorf("fault: message %s was lost: %w", attr(&n, "id"), errDropped))
		return
	}
	ack := waBinary.Node{Tag: "ack", Attrs: waBinary.Attrs{
		"class": "message", "id": n.Attrs["id"], "from": n.Attrs["to"], "t": time.Now().Unix(),
	}}
	if f.SendError != 0 {
		ack.Attrs["error"] = strconv.Itoa(f.SendError)
	} else if err := s.route(c.ctx, d.lid(), n); err != nil {
		c.log.Info("message refused", "to", attrJID(&n, "to"), "error", err)
		ack.Attrs["error"] = strconv.Itoa(ackErrorOf(err))
	} else if hash := s.staleHash(d, n); hash != "" {
		ack.Attrs["phash"] = hash
	}
	c.later(f.AckDelay, func() { c.send(ack) })
}

// takeFault counts one message. lost means that it is the one to lose.
func (s *Server) takeFault() (f Faults, lost bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.faults.DropAfter > 0 {
		s.faults.DropAfter--
		if s.faults.DropAfter == 0 {
			s.faults = Faults{}
			return Faults{}, true
		}
	}
	return s.faults, false
}
