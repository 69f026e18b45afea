package wsbus

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"nhooyr.io/websocket"

	"postern/event"
)

// Errors of a position.
var (
	// ErrAhead: since is a sequence that no event has yet.
	ErrAhead = errors.New("since is ahead of the newest event")
	// ErrGone: the event after since was pruned.
	ErrGone = errors.New("the events after since are no longer kept")
)

// Event is a stored event.
type Event struct {
	Seq  uint64 // among the events of its owner
	Kind event.Kind
	Body []byte // as published
}

// Replayer reads the stored events of an owner: the batch events of a user, or the
// events of an instance. An event can be read here before it is published. Its
// methods may be called from any goroutine.
type Replayer[Owner comparable] interface {
	// Newest returns the sequence of the owner's newest event, 0 when there
	// never was one.
	Newest(owner Owner) (uint64, error)
	// EventsAfter returns up to limit of the owner's events after a sequence, in
	// order and, except for removed ones, without gaps. It returns fewer when
	// they are large, and none only when there is none. The caller may keep
	// them; the store holds no lock for them.
	EventsAfter(owner Owner, seq uint64, limit int) ([]Event, error)
	// Gaps returns up to limit of the owner's gaps that end after a sequence, in
	// order. A removed event outside all gaps is older than the retention.
	Gaps(owner Owner, seq uint64, limit int) ([]Gap, error)
}

// past is a Replayer of one owner.
type past interface {
	newest() (uint64, error)
	after(seq uint64, limit int) ([]Event, error)
	gaps(seq uint64, limit int) ([]Gap, error)
	String() string // whose it is, for errors and the log
}

type pastOf[Owner comparable] struct {
	events Replayer[Owner]
	owner  Owner
	what   string
}

func (p pastOf[Owner]) newest() (uint64, error) { return p.events.Newest(p.owner) }

func (p pastOf[Owner]) after(seq uint64, limit int) ([]Event, error) {
	return p.events.EventsAfter(p.owner, seq, limit)
}

func (p pastOf[Owner]) gaps(seq uint64, limit int) ([]Gap, error) {
	return p.events.Gaps(p.owner, seq, limit)
}

func (p pastOf[Owner]) String() string { return fmt.Sprint(p.what, " ", p.owner) }

// Headers of the answer to the handshake of a client with a past.
const (
	newestHeader = "X-Event-Sequence" // the newest sequence when the client was registered
	sinceHeader  = "X-Event-Since"    // with since only: the sequence that the client starts from
)

// pageEvents is how many events are read at once for a client that is behind.
const pageEvents = 64

// begin fixes the start of the registered client c, and sets it in the headers of the
// answer.
func (c *client) begin(answer http.Header, since *uint64) error {
	newest, err := c.past.newest()
	if err != nil {
		return fmt.Errorf("newest event of %s: %w", c.past, err)
	}
	c.reach(newest)
	c.position = newest
	if since != nil {
		if c.position, err = c.start(*since, newest); err != nil {
			return err
		}
		if err := c.learnGaps(); err != nil {
			return err
		}
		c.lenient = *since == 0
		answer.Set(sinceHeader, strconv.FormatUint(c.position, 10))
		if len(c.known) > 0 {
			answer.Set(gapsHeader, writeGaps(c.known))
		}
	}
	answer.Set(newestHeader, strconv.FormatUint(newest, 10))
	return nil
}

// start returns the sequence that a client with since starts from. That is
// since, except for 0, which selects all kept events.
func (c *client) start(since, newest uint64) (uint64, error) {
	if since > newest {
		return 0, fmt.Errorf("%w, which is %d", ErrAhead, newest)
	}
	if since == newest {
		return since, nil
	}
	first, err := c.past.after(since, 1)
	switch {
	case err != nil:
		return 0, fmt.Errorf("first event of %s after %d: %w", c.past, since, err)
	case since == 0 && len(first) == 0:
		return newest, nil
	case since == 0:
		return first[0].Seq - 1, nil
	case len(first) > 0 && first[0].Seq == since+1:
		return since, nil
	}
	last := newest
	if len(first) > 0 {
		last = first[0].Seq - 1
	}
	gaps, err := c.past.gaps(since, 1)
	if err != nil {
		return 0, fmt.Errorf("gaps in the events of %s after %d: %w", c.past, since, err)
	}
	if !covered(gaps, since, last) {
		return 0, ErrGone
	}
	return since, nil
}

// catchUp writes the stored events after the client's position until the
// client is live. No transaction is open while it writes. It reports false when
// the connection has ended.
func (c *client) catchUp(ctx context.Context, conn *websocket.Conn) bool {
	for !c.goLive() {
		page, err := c.past.after(c.position, pageEvents)
		if err != nil {
			c.hub.log.Error("events cannot be replayed", "owner", c.past.String(), "sequence", c.position, "error", err)
			c.kick(websocket.StatusInternalError, "the events cannot be read")
			return false
		}
		if len(page) == 0 && !c.pass(c.published()) {
			return false
		}
		for _, e := range page {
			if !c.sendStored(ctx, conn, e) {
				return false
			}
		}
	}
	return true
}

// sendStored writes one stored event, if the client wants it.
func (c *client) sendStored(ctx context.Context, conn *websocket.Conn, e Event) bool {
	if c.over() || !c.pass(e.Seq-1) {
		return false
	}
	if c.wants(e.Kind) && !c.send(ctx, conn, e.Body) {
		return false
	}
	c.position = e.Seq
	return true
}

// pass moves the position over events that are not kept, if there are any. A
// client that counts has them listed, or asked only for kept events; another is
// closed, because it would continue to count without them.
func (c *client) pass(to uint64) bool {
	if to != c.position && !c.lenient && !covered(c.known, c.position, to) {
		c.kick(CodeSlow, fmt.Sprintf("the next event is no longer kept; reconnect with since=%d", c.position))
		return false
	}
	c.position = to
	return true
}
