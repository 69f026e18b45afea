package network

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/handset"
	"postern/sandbox/network/wire"
	"postern/sandbox/phone"
)

// maxHellos is how many link codes may wait to be typed; beyond it the oldest is
// dropped.
const maxHellos = 1000

// displayPattern is how a client names itself to the phone's user: browser and system.
var displayPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9 .]* \([A-Za-z][A-Za-z0-9 .]*\)$`)

// companionHello is a link code that waits to be typed on its phone.
type companionHello struct {
	conn     *conn
	number   string
	ref      string
	wrapped  []byte
	finished chan waBinary.Node // capacity 1: companion_finish
}

// linkCode answers the client's two requests of a pairing by code.
func (s *Server) linkCode(c *conn, request *waBinary.Node) (waBinary.Node, error) {
	reg := wire.FirstChild(request)
	switch wire.Attr(&reg, "stage") {
	case "companion_hello":
		return s.hello(c, reg)
	case "companion_finish":
		ref := reg.GetChildByTag("link_code_pairing_ref")
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, h := range s.hellos {
			if h.conn == c && h.ref == string(wire.Content(ref)) {
				select {
				case h.finished <- reg:
				default: // there is no waiter for a second one
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
	number := wire.JID(&reg, "jid").User
	wrapped := wire.Content(reg.GetChildByTag("link_code_pairing_wrapped_companion_ephemeral_pub"))
	s.mu.Lock()
	defer s.mu.Unlock()
	display := string(wire.Content(reg.GetChildByTag("companion_platform_display")))
	if c.registered == nil || len(wrapped) == 0 || s.accountByNumber(number) == nil || !displayPattern.MatchString(display) {
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

// TypeCode completes a pairing by link code. The request does not show whether the code
// belongs to it, so a phone with several requests tries them, newest first.
func (s *Server) TypeCode(p *phone.Phone, code string) error {
	hellos := s.waitingHellos(p.Number())
	err := fmt.Errorf("type code on %s: %w", p.Number(), ErrNoPairing)
	for _, h := range hellos {
		if err = s.tryCode(p, h, code); err == nil || !errors.Is(err, handset.ErrCode) {
			return err
		}
	}
	return err
}

// waitingHellos lists requests for a number, newest first; for any number if it is
// empty.
func (s *Server) waitingHellos(number string) []*companionHello {
	s.mu.Lock()
	defer s.mu.Unlock()
	hellos := slices.DeleteFunc(slices.Clone(s.hellos), func(h *companionHello) bool {
		return number != "" && h.number != number
	})
	slices.Reverse(hellos)
	return hellos
}

func (s *Server) tryCode(p *phone.Phone, hello *companionHello, code string) error {
	h, err := p.Keys()
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
	companion, secret, err := exchange.Finish(wire.Content(finish.GetChildByTag("link_code_pairing_wrapped_key_bundle")))
	if err != nil {
		return fmt.Errorf("type code on %s: %w", p.Number(), err)
	}
	if companion != hello.conn.registered.Identity {
		return fmt.Errorf("type code on %s: the identity is not the one registered: %w", p.Number(), ErrPairing)
	}
	return s.link(p, hello.conn, secret)
}
