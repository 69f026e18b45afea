package peers

import (
	"container/list"
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
	counted bool
	streams int       // requests over HTTP/2 that are served
	resting time.Time // since when
	inAll   *list.Element
	inHeld  *list.Element // both nil while a request is served
}

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

	open    int
	resting list.List // of *conn, the one that has rested longest first
	holders map[netip.Prefix]*holder
}

// holder is what one address holds.
type holder struct {
	open    int
	resting list.List // as the table's
}

func newTable(total, perAddress int, spare time.Duration) table {
	return table{total: total, perAddress: perAddress, spare: spare, holders: map[netip.Prefix]*holder{}}
}

// placing is what becomes of a newcomer. When it is neither admitted nor refused
// it has to wait.
type placing struct {
	admitted bool
	refused  bool
	full     bool          // there is no room for anybody
	evicted  *conn         // in whose place it is; to be closed
	again    time.Duration // when one will have rested long enough; 0: nobody knows
}

// place counts a newcomer if there is room for it or somebody rests.
func (t *table) place(c *conn, now time.Time) placing {
	h := t.holders[c.network]
	atLimit := h != nil && !c.exempt && t.perAddress > 0 && h.open >= t.perAddress
	if !atLimit && t.open < t.total {
		t.add(c, now)
		return placing{admitted: true}
	}
	among := &t.resting
	if atLimit {
		among = &h.resting
	}
	if among.Len() == 0 {
		return placing{refused: atLimit, full: !atLimit}
	}
	longest := among.Front().Value.(*conn)
	if left := t.spare - now.Sub(longest.resting); left > 0 {
		return placing{refused: atLimit, full: !atLimit, again: left}
	}
	t.remove(longest)
	t.add(c, now)
	return placing{admitted: true, evicted: longest, full: !atLimit}
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
	if !c.counted || c.inAll != nil || c.streams > 0 {
		return
	}
	c.resting = now
	c.inAll = t.resting.PushBack(c)
	c.inHeld = t.holders[c.network].resting.PushBack(c)
}

func (t *table) work(c *conn) {
	if c.inAll == nil {
		return
	}
	t.resting.Remove(c.inAll)
	t.holders[c.network].resting.Remove(c.inHeld)
	c.inAll, c.inHeld = nil, nil
}

// begin counts a request of HTTP/2 and reports whether there is room for it: the
// first has the place of its connection, each beside it needs another.
func (t *table) begin(c *conn) bool {
	if !c.counted { // it is closed, and so will be the request
		return true
	}
	h := t.holders[c.network]
	if c.streams > 0 {
		if t.open >= t.total || !c.exempt && t.perAddress > 0 && h.open >= t.perAddress {
			return false
		}
		t.open++
		h.open++
	}
	c.streams++
	t.work(c)
	return true
}

// end is the end of a request that begin took.
func (t *table) end(c *conn, now time.Time) {
	if !c.counted || c.streams == 0 {
		return
	}
	if c.streams--; c.streams == 0 {
		t.rest(c, now)
		return
	}
	t.open--
	t.holders[c.network].open--
}

func (t *table) remove(c *conn) {
	if !c.counted {
		return
	}
	t.work(c)
	c.counted = false
	places := max(1, c.streams)
	t.open -= places
	h := t.holders[c.network]
	if h.open -= places; h.open == 0 {
		delete(t.holders, c.network)
	}
}
