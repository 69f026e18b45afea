package peers

import (
	"container/list"
	"io"
	"net"
	"net/netip"
	"time"
)

// conn is a connection that counts until it is closed.
type conn struct {
	net.Conn
	listener *Listener
	network  netip.Prefix
	exempt   bool // from the limit of its address

	// Guarded by the listener's mu. A connection rests until its first request,
	// and between two. For a moment it is spared: the request may be under way.
	// One whose requests are all of strangers is in the lists of those.
	counted  bool
	met      bool      // its first request was looked at, see forwarded
	proved   bool      // it had a proven request
	stranger bool      // it is in the lists of strangers
	streams  int       // requests over HTTP/2 that are served
	proven   int       // requests that are served and were proven
	resting  time.Time // since when it is in its lists
	inAll    *list.Element
	inHeld   *list.Element // both nil while a proven request is served
}

// ReadFrom implements io.ReaderFrom: the kernel copies files to a TCP connection.
func (c *conn) ReadFrom(r io.Reader) (int64, error) { return io.Copy(c.Conn, r) }

// Close implements net.Conn.
func (c *conn) Close() error {
	err := c.Conn.Close()
	c.listener.ended(c)
	return err
}

// table is who holds which connections. Its lists are ordered by time, so that
// each step costs the same however many there are.
type table struct {
	total, perAddress int
	spare             time.Duration
	strangers         bool // a request is a stranger's until it is proven

	open    int
	idle    idle
	holders map[netip.Prefix]*holder
}

// holder is what one address holds.
type holder struct {
	open int
	idle idle
}

// idle are the connections that a newcomer may displace.
type idle struct {
	resting   list.List // of *conn without a request, the one that has rested longest first
	strangers list.List // of *conn with unproven requests only, the oldest first
}

// list returns the one that c belongs to.
func (i *idle) list(c *conn) *list.List {
	if c.stranger {
		return &i.strangers
	}
	return &i.resting
}

// victim is who is displaced first: the oldest stranger at once, then who has rested
// longest, once it has rested for spare; again says how long that takes. With hurry, a
// connection that never had a proven request is not spared, and gives way before the only
// stranger, whose request may be about to be proven.
func (i *idle) victim(spare time.Duration, hurry bool, now time.Time) (c *conn, again time.Duration) {
	var unknown *conn
	for e := i.resting.Front(); hurry && e != nil && unknown == nil; e = e.Next() {
		if c := e.Value.(*conn); !c.proved {
			unknown = c
		}
	}
	if oldest := i.strangers.Front(); oldest != nil && (i.strangers.Len() > 1 || unknown == nil) {
		return oldest.Value.(*conn), 0
	}
	front := i.resting.Front()
	if front == nil {
		return nil, 0
	}
	longest := front.Value.(*conn)
	left := spare - now.Sub(longest.resting)
	switch {
	case left <= 0:
		return longest, 0
	case unknown != nil:
		return unknown, 0
	}
	return nil, left
}

func newTable(l Limits) table {
	return table{total: l.Total, perAddress: l.PerAddress, spare: l.spare, strangers: l.Strangers, holders: map[netip.Prefix]*holder{}}
}

// placing is the result for a new connection. When it is neither admitted nor refused
// it has to wait.
type placing struct {
	admitted bool
	refused  bool
	full     bool          // there is no room for anyone
	evicted  *conn         // in whose place it is; to be closed
	again    time.Duration // when one will have rested long enough; 0: unknown
}

// place counts a newcomer if there is room for it or someone rests.
func (t *table) place(c *conn, now time.Time) placing {
	h := t.holders[c.network]
	atLimit := h != nil && !c.exempt && t.perAddress > 0 && h.open >= t.perAddress
	if !atLimit && t.open < t.total {
		t.add(c, now)
		return placing{admitted: true}
	}
	among := &t.idle
	if atLimit {
		among = &h.idle
	}
	victim, again := among.victim(t.spare, atLimit, now)
	if victim == nil {
		return placing{refused: atLimit, full: !atLimit, again: again}
	}
	t.remove(victim)
	t.add(c, now)
	return placing{admitted: true, evicted: victim, full: !atLimit}
}

func (t *table) add(c *conn, now time.Time) {
	h := t.holders[c.network]
	if h == nil {
		h = &holder{}
		t.holders[c.network] = h
	}
	c.counted = true
	t.open++
	h.open++
	t.rest(c, now)
}

// rest notes that a connection has no request. Of one of HTTP/2 only its requests
// tell that: what the server says of it may be older than the next of them.
func (t *table) rest(c *conn, now time.Time) {
	if c.streams > 0 || c.inAll != nil && !c.stranger {
		return
	}
	c.proven = 0
	t.list(c, false, now)
}

// list puts a connection into the lists of strangers or of those that rest.
func (t *table) list(c *conn, stranger bool, now time.Time) {
	if !c.counted {
		return
	}
	t.unlist(c)
	c.stranger, c.resting = stranger, now
	c.inAll = t.idle.list(c).PushBack(c)
	c.inHeld = t.holders[c.network].idle.list(c).PushBack(c)
}

func (t *table) unlist(c *conn) {
	if c.inAll == nil {
		return
	}
	t.idle.list(c).Remove(c.inAll)
	t.holders[c.network].idle.list(c).Remove(c.inHeld)
	c.inAll, c.inHeld = nil, nil
}

// work notes that a connection has a request.
func (t *table) work(c *conn, now time.Time) {
	switch {
	case !t.strangers:
		c.proved = true
		t.unlist(c)
	case c.proven == 0 && (c.inAll == nil || !c.stranger):
		t.list(c, true, now)
	}
}

// prove notes that a request of a connection is no stranger's. It reports false when
// the connection has no request any more.
func (t *table) prove(c *conn) bool {
	if !c.counted || c.inAll != nil && !c.stranger {
		return false
	}
	c.proven++
	c.proved = true
	t.unlist(c)
	return true
}

// begin counts a request of HTTP/2: the first has the place of its connection, each
// beside it needs another. It reports whether there is one; evicted, if not nil, made
// room for it and is to be closed.
func (t *table) begin(c *conn, now time.Time) (evicted *conn, ok bool) {
	if !c.counted { // it is closed, and so will be the request
		return nil, true
	}
	h := t.holders[c.network]
	if c.streams > 0 {
		if evicted, ok = t.room(c, h, now); !ok {
			return nil, false
		}
		t.open++
		h.open++
	}
	c.streams++
	t.work(c, now)
	return evicted, true
}

// room finds a place for a further request of c, by displacing another connection if it
// has to.
func (t *table) room(c *conn, h *holder, now time.Time) (evicted *conn, ok bool) {
	var among *idle
	switch {
	case !c.exempt && t.perAddress > 0 && h.open >= t.perAddress:
		among = &h.idle
	case t.open >= t.total:
		among = &t.idle
	default:
		return nil, true
	}
	if evicted, _ = among.victim(t.spare, false, now); evicted == nil || evicted == c {
		return nil, false
	}
	t.remove(evicted)
	return evicted, true
}

// end is the end of a request that begin took; proven says whether it was proven.
func (t *table) end(c *conn, proven bool, now time.Time) {
	if !c.counted || c.streams == 0 {
		return
	}
	if proven {
		c.proven--
	}
	if c.streams--; c.streams == 0 {
		t.rest(c, now)
		return
	}
	t.open--
	t.holders[c.network].open--
	t.work(c, now)
}

func (t *table) remove(c *conn) {
	if !c.counted {
		return
	}
	t.unlist(c)
	c.counted = false
	places := max(1, c.streams)
	t.open -= places
	h := t.holders[c.network]
	if h.open -= places; h.open == 0 {
		delete(t.holders, c.network)
	}
}
