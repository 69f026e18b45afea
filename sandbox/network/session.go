package network

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/network/wire"
)

// maxConns is the largest number of connections, including those in the handshake or
// waiting for a pairing.
const maxConns = 4096

func (s *Server) join(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.conns) >= maxConns {
		c.log.Warn("connection refused: too many are open; restart the sandbox without the client that left them open", "open", len(s.conns))
		return false
	}
	s.conns[c] = struct{}{}
	return true
}

// leave removes a connection. Stanzas that its device did not acknowledge stay queued.
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
	d.conn, d.active, d.quiet = nil, false, false
	for _, q := range d.queue {
		q.sent = false
	}
	s.dropWatches(d)
	if p := &d.account.presence; p.online && !slices.ContainsFunc(d.account.sorted(), isActive) {
		s.setPresence(d.account, false)
	}
}

func isActive(d *device) bool { return d.active }

// handle handles one stanza of a client.
func (s *Server) handle(c *conn, n *waBinary.Node) {
	id := wire.Attr(n, "id")
	kind := wire.Attr(n, "type")
	if n.Tag == "iq" && (kind == "result" || kind == "error") {
		c.answered(id, *n)
		return
	}
	s.mu.Lock()
	d := c.device
	deaf := s.faults.SwallowPings || d != nil && time.Now().Before(d.account.deafUntil)
	s.mu.Unlock()
	if n.Tag == "iq" {
		if wire.Attr(n, "xmlns") != "w:p" || !deaf {
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
		s.acknowledge(d, ackKey{wire.Attr(n, "class"), id})
		s.mu.Unlock()
	case "receipt":
		s.mu.Lock()
		s.acknowledge(d, ackKey{"message", id})
		s.mu.Unlock()
		s.forward(c, d, *n)
		if kind == "view" { // the only receipt whose sender waits
			c.send(waBinary.Node{Tag: "ack", Attrs: waBinary.Attrs{"class": "receipt", "id": n.Attrs["id"], "from": n.Attrs["to"], "type": kind}})
		}
	case "presence", "chatstate":
		s.forward(c, d, *n)
	case "call":
		s.clientCall(c, d, *n)
	default:
		c.log.Debug("stanza ignored", "tag", n.Tag)
	}
}

func (s *Server) forward(c *conn, d *device, n waBinary.Node) {
	if err := s.Route(c.ctx, d.lid(), n); err != nil {
		c.log.Debug("stanza not delivered", "tag", n.Tag, "error", err)
	}
}

// clientCall routes a stage of a call and acknowledges it. A link to a call has no other side.
func (s *Server) clientCall(c *conn, d *device, n waBinary.Node) {
	stage := wire.FirstChild(&n)
	ack := waBinary.Node{Tag: "ack", Attrs: waBinary.Attrs{"class": "call", "id": n.Attrs["id"], "from": n.Attrs["to"], "type": stage.Tag}}
	if stage.Tag == "link_create" {
		ack.Content = []waBinary.Node{{Tag: "link_create", Attrs: waBinary.Attrs{"token": rand.Text(), "media": stage.Attrs["media"]}}}
	} else {
		s.forward(c, d, n)
	}
	c.send(ack)
}

// clientMessage routes a message and acknowledges it, subject to the faults.
func (s *Server) clientMessage(c *conn, d *device, n waBinary.Node) {
	f, lost := s.takeFault()
	if lost {
		c.drop(fmt.Errorf("fault: message %s was lost: %w", wire.Attr(&n, "id"), errDropped))
		return
	}
	ack := waBinary.Node{Tag: "ack", Attrs: waBinary.Attrs{
		"class": "message", "id": n.Attrs["id"], "from": n.Attrs["to"], "t": time.Now().Unix(),
	}}
	if f.SendError != 0 {
		ack.Attrs["error"] = strconv.Itoa(f.SendError)
	} else if err := s.Route(c.ctx, d.lid(), n); err != nil {
		c.log.Info("message refused", "to", wire.JID(&n, "to"), "error", err)
		ack.Attrs["error"] = strconv.Itoa(ackErrorOf(err))
	} else if to := wire.JID(&n, "to"); to.Server == types.NewsletterServer {
		if number := s.serverID(to, wire.Attr(&n, "id")); number != 0 {
			ack.Attrs["server_id"] = number
		}
	} else if hash := s.staleHash(d, n); hash != "" {
		ack.Attrs["phash"] = hash
	}
	c.later(f.AckDelay, func() { c.send(ack) })
}
