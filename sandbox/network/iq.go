package network

import (
	"errors"
	"fmt"
	"strconv"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/network/mediahost"
	"postern/sandbox/network/wire"
)

// iqKey identifies a request by its namespace, its type and its first child.
type iqKey struct{ xmlns, kind, child string }

// iqHandler answers a request with the content of the result. A node without a tag means an
// empty result. The device is nil while the client is unpaired.
type iqHandler func(s *Server, c *conn, d *device, n *waBinary.Node) (waBinary.Node, error)

// errIQ is an error answer.
type errIQ struct {
	code int
	text string
}

// Error implements error.
func (e errIQ) Error() string { return fmt.Sprintf("%d %s", e.code, e.text) }

var errUnknownIQ = errIQ{501, "feature-not-implemented"}

// handlerOf is the table of requests of paired clients. An empty child matches every
// first child of its namespace and type.
func handlerOf(key iqKey) (iqHandler, bool) {
	switch key {
	case iqKey{"w:p", "get", ""}, iqKey{"w:p", "get", "ping"}:
		return emptyResult, true
	case iqKey{"encrypt", "get", "count"}:
		return preKeyCount, true
	case iqKey{"encrypt", "set", "rotate"}:
		return rotateKey, true
	case iqKey{"encrypt", "get", "key"}:
		return giveKeys, true
	case iqKey{"encrypt", "get", "digest"}:
		return keyDigest, true
	case iqKey{"abt", "get", "props"}:
		return serverProps, true
	case iqKey{"encrypt", "set", "registration"}:
		return uploadKeys, true
	case iqKey{"passive", "set", "active"}:
		return goActive, true
	case iqKey{"passive", "set", "passive"}:
		return goPassive, true
	case iqKey{"usync", "get", "usync"}:
		return userSync, true
	case iqKey{"privacy", "set", "tokens"}:
		return giveTokens, true
	case iqKey{"urn:xmpp:whatsapp:dirty", "set", "clean"}:
		return emptyResult, true
	case iqKey{"status", "get", "privacy"}:
		return statusPrivacy, true
	case iqKey{"w:m", "set", "media_conn"}:
		return mediaConn, true
	case iqKey{"md", "set", "remove-companion-device"}:
		return removeCompanion, true
	}
	for _, more := range []func(iqKey) (iqHandler, bool){groupIQ, syncIQ, newsletterIQ, peopleIQ} {
		if handler, ok := more(key); ok {
			return handler, true
		}
	}
	return nil, false
}

// answer returns the response to a client's request.
func (s *Server) answer(c *conn, n *waBinary.Node) waBinary.Node {
	s.mu.Lock()
	d := c.device
	s.mu.Unlock()
	result, err := s.perform(c, d, n)
	answer := waBinary.Node{Tag: "iq", Attrs: waBinary.Attrs{"id": n.Attrs["id"], "type": "result", "from": types.ServerJID}}
	if to := wire.JID(n, "to"); !to.IsEmpty() {
		answer.Attrs["from"] = to
	}
	if err == nil {
		if result.Tag != "" {
			answer.Content = []waBinary.Node{result}
		}
		return answer
	}
	var refused errIQ
	if !errors.As(err, &refused) {
		c.log.Warn("request failed", "xmlns", wire.Attr(n, "xmlns"), "error", err)
		refused = errIQ{500, "internal-server-error"}
	}
	answer.Attrs["type"] = "error"
	answer.Content = []waBinary.Node{{Tag: "error", Attrs: waBinary.Attrs{
		"code": strconv.Itoa(refused.code), "text": refused.text,
	}}}
	return answer
}

func (s *Server) perform(c *conn, d *device, n *waBinary.Node) (waBinary.Node, error) {
	child := wire.FirstChild(n)
	key := iqKey{wire.Attr(n, "xmlns"), wire.Attr(n, "type"), child.Tag}
	if key == (iqKey{"md", "set", "link_code_companion_reg"}) {
		return s.linkCode(c, n)
	}
	if d == nil {
		if result, ok, err := s.passkeyRequest(c, n); ok {
			return result, err
		}
	}
	handler, ok := handlerOf(key)
	if !ok {
		c.log.Debug("request not implemented", "xmlns", key.xmlns, "type", key.kind, "child", key.child)
		return waBinary.Node{}, errUnknownIQ
	}
	if d == nil && key.xmlns != "w:p" {
		return waBinary.Node{}, errIQ{401, "not-authorized"}
	}
	return handler(s, c, d, n)
}

func emptyResult(*Server, *conn, *device, *waBinary.Node) (waBinary.Node, error) {
	return waBinary.Node{}, nil
}

func goActive(s *Server, c *conn, d *device, _ *waBinary.Node) (waBinary.Node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.conn == c {
		s.activate(d)
		if p, linked := s.phoneOf(d.account), d.stateDevice(); !s.reserved {
			c.tasks.Go(func() { s.greet(c, linked, p) })
		}
	}
	return waBinary.Node{}, nil
}

func goPassive(s *Server, c *conn, d *device, _ *waBinary.Node) (waBinary.Node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.conn == c {
		d.active = false
	}
	return waBinary.Node{}, nil
}

// serverProps returns the server's settings for clients: none, so that clients keep their own.
func serverProps(*Server, *conn, *device, *waBinary.Node) (waBinary.Node, error) {
	return waBinary.Node{Tag: "props", Attrs: waBinary.Attrs{
		"protocol": "1", "hash": "sandbox", "refresh": 86400, "refresh_id": 1, "delta_update": "false",
	}}, nil
}

func mediaConn(*Server, *conn, *device, *waBinary.Node) (waBinary.Node, error) {
	return waBinary.Node{
		Tag:     "media_conn",
		Attrs:   waBinary.Attrs{"auth": "sandbox", "ttl": 3600, "auth_ttl": 3600, "max_buckets": 12},
		Content: []waBinary.Node{{Tag: "host", Attrs: waBinary.Attrs{"hostname": mediahost.Name}}},
	}, nil
}

// removeCompanion is a client's logout. The client closes the connection by itself.
func removeCompanion(s *Server, _ *conn, d *device, n *waBinary.Node) (waBinary.Node, error) {
	child := wire.FirstChild(n)
	jid := wire.JID(&child, "jid")
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.accountOf(jid.ToNonAD())
	if a != d.account {
		return waBinary.Node{}, errIQ{403, "forbidden"}
	}
	target, ok := a.devices[jid.Device]
	if !ok {
		return waBinary.Node{}, errIQ{404, "item-not-found"}
	}
	s.removeDevice(target)
	if target != d && target.conn != nil {
		target.conn.goodbye(Conflict("device_removed"))
	}
	return waBinary.Node{}, nil
}
