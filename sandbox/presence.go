package sandbox

import (
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
)

// watchSet maps a watching device to the address that it used.
type watchSet map[*device]types.JID

func (s *Server) watch(d *device, target *account, as types.JID) {
	set := s.watchers[target]
	if set == nil {
		set = watchSet{}
		s.watchers[target] = set
	}
	set[d] = as
	if target.presence.known && d.conn != nil {
		d.conn.send(presenceNode(as, target.presence))
	}
}

func (s *Server) dropWatches(d *device) {
	for target, set := range s.watchers {
		delete(set, d)
		if len(set) == 0 {
			delete(s.watchers, target)
		}
	}
}

func (s *Server) setPresence(a *account, online bool) {
	s.showPresence(a, presence{known: true, online: online, last: time.Now()})
}

func (s *Server) showPresence(a *account, p presence) {
	a.presence = p
	for d, as := range s.watchers[a] {
		if d.conn != nil && d.active {
			d.conn.send(presenceNode(as, a.presence))
		}
	}
}

// Available tells whether the account of a phone shows itself as available, and
// whether it has shown anything yet.
func (s *Server) Available(p *Phone) (online, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.accountOf(p.pn)
	if a == nil {
		return false, false
	}
	return a.presence.online, a.presence.known
}

func presenceNode(from types.JID, p presence) waBinary.Node {
	n := waBinary.Node{Tag: "presence", Attrs: waBinary.Attrs{"from": from}}
	if !p.online {
		n.Attrs["type"] = "unavailable"
		n.Attrs["last"] = "deny"
		if !p.last.IsZero() {
			n.Attrs["last"] = p.last.Unix()
		}
	}
	return n
}
