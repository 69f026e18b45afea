package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"postern/delivery"
	"postern/event"
	"postern/store"
)

// lane is the queue of one destination. Its feeder fills the board from the file, and
// senders take from the board what may be sent. The lane of the outbox is awake as long
// as the relay runs; any other only while a delivery waits for it.
type lane struct {
	r     *Relay
	is    delivery.Lane
	file  ledger
	board *board
	ticks atomic.Int64 // Unix nanoseconds of the feeder's last turn

	posting context.Context // ends when Stop gives up the flights, or the destination is removed
	hangUp  context.CancelCauseFunc

	nudges     chan struct{} // size 1: the feeder has something to do
	retries    chan row      // failed ones, for the feeder
	fresh      chan []row    // new ones, for the feeder
	passWanted atomic.Bool   // the due index must be read again
	changed    atomic.Bool   // the destination may have changed
	tasks      atomic.Int64  // handed over, and not on the board yet

	pool *pool
	// The lock of the pool guards these.
	to   string // host and port of the receiver; empty: not known yet
	asks bool   // it waits for a slot
}

// row is a pending delivery as the indexes hold it.
type row struct {
	At     time.Time
	Seq    uint64    // of the entry, or the record
	Record uint64    // of an entry
	Line   uuid.UUID // of rows with the same line, one is in flight at most
	Once   bool      // it has one attempt and does not wait for the breaker
	First  bool      // it is due, though At is ahead of the clock: see markFirst
}

// ledger is the part of the file that a lane reads and writes.
type ledger interface {
	// due returns rows in the order of time and number, beginning after the given one,
	// including those that are not due yet.
	due(tx *store.Tx, after row, limit int) ([]row, error)
	// pending returns rows in the order of their creation, beginning after a number; At
	// need not be set.
	pending(tx *store.Tx, after uint64, limit int) ([]row, error)
	// lined is pending for one line, of which the board has a part. last is the number up
	// to which lined has read; more says that it did not reach the end.
	lined(tx *store.Tx, line uuid.UUID, after uint64, limit int) (rows []row, last uint64, more bool, err error)
	// load reads the delivery to be sent.
	load(f flight) (parcel, error)
	// settle stores an attempt. A closure of the store calls it.
	settle(tx *store.Tx, r result) (settled, error)
	// cutOff stores an attempt that the stop of the program cut off. The delivery stays
	// pending.
	cutOff(tx *store.Tx, r result) error
	// behind finds the delivery that waits behind another in its line.
	behind(p parcel) (next row, found bool, err error)
	// lose removes a delivery that can never be sent, because its record or body is
	// missing.
	lose(f flight, why error) (follows *row, err error)
}

// parcel is a delivery as read from the file.
type parcel struct {
	kind     event.Kind
	line     uuid.UUID
	pending  bool
	due      time.Time
	expires  time.Time // zero: never
	attempts int       // so far
	id       uuid.UUID // of the event
	named    bool      // the id is sent, whatever the destination's current settings are
	headers  http.Header
	body     []byte
	inLine   bool            // others wait until it has ended
	record   delivery.Record // of package delivery
}

// settled is the effect of an attempt on its delivery.
type settled struct {
	ended   bool      // there will be no further attempt
	state   string    // in words, if it ended without being accepted
	next    time.Time // of the next attempt, as the file has it
	follows *row      // the delivery that may now leave
}

// Bounds of the deliveries that a lane, except that of the outbox, may have in flight.
const (
	laneFlights = 10
	// fewFlights is for a lane whose receiver has accepted nothing since it failed or since
	// the lane woke, and for one that answers within quick: more would not arrive sooner,
	// and would cost more than they gain.
	fewFlights = 2
	quick      = 2 * time.Millisecond
)

// laneSize bounds the board of a lane of package delivery: enough for the flights and the
// outcomes that wait to be stored.
const laneSize = 128

// outboxLane returns the lane of the outbox. Handing rows to its feeder blocks until they
// are taken.
func (r *Relay) outboxLane() *lane {
	l := r.newLane(delivery.BatchLane, entries{r.cfg.Store, r.cfg.Outbox, r.cfg.Ledger, &r.newBatch}, newPool(outboxBounds(r.cfg.Workers), &r.senders))
	l.board = newBoard(boardSize, r.cfg.Workers, r.cfg.Workers, l.nudge)
	l.fresh, l.retries = make(chan []row), make(chan row)
	return l
}

// durableLane returns a lane of package delivery. Handing rows to its feeder never
// blocks: another pass finds the rows that had no room.
func (r *Relay) durableLane(is delivery.Lane) *lane {
	l := r.newLane(is, records{r.cfg.Store, r.cfg.Ledger, is, &r.newEvents}, r.pool)
	l.board = newBoard(laneSize, laneFlights, fewFlights, l.nudge)
	l.board.sweep = r.anew
	l.fresh, l.retries = make(chan []row, 16), make(chan row, laneSize)
	l.tick()
	return l
}

func (r *Relay) newLane(is delivery.Lane, file ledger, p *pool) *lane {
	l := &lane{r: r, is: is, file: file, pool: p, nudges: make(chan struct{}, 1)}
	l.posting, l.hangUp = context.WithCancelCause(r.sending)
	l.tasks.Store(1) // to read the file
	return l
}

func (l *lane) tick() { l.ticks.Store(time.Now().UnixNano()) }

// outbox reports whether this is the lane of the outbox.
func (l *lane) outbox() bool { return l == l.r.batch }

// hand gives new rows to the feeder.
func (l *lane) hand(rows []row) {
	l.tasks.Add(1)
	if !give(l, l.fresh, rows) {
		l.tasks.Add(-1)
	}
}

// handBack gives the feeder a row that must be sent at another time.
func (l *lane) handBack(back row) { give(l, l.retries, back) }

func give[T any](l *lane, to chan T, what T) (given bool) {
	if l.outbox() {
		select {
		case to <- what:
			return true
		case <-l.r.reading.Done():
			return false
		}
	}
	select {
	case to <- what:
		return true
	default:
		l.askForPass()
		return false
	}
}

// askForPass makes the feeder read the due index again.
func (l *lane) askForPass() {
	l.passWanted.Store(true)
	l.nudge()
}

func (l *lane) nudge() {
	select {
	case l.nudges <- struct{}{}:
	default:
	}
}

// deliver makes one attempt. next is the entry to be sent at once in its place.
func (l *lane) deliver(s *laneSlot) (next flight, more bool) {
	f := s.what.flight
	p, to, ready := l.load(f)
	if !ready {
		if f.ahead > 0 {
			l.askForPass() // it may have become the first meanwhile, and been passed over because it was in flight
		}
		return next, false
	}
	at := time.Now()
	if l.outbox() && p.attempts == 0 {
		l.r.pressure.began(p.due, at)
	}
	o := l.r.cfg.Sender.Send(l.posting, to, p.id, p.headers, p.body)
	if l.outbox() {
		l.r.pressure.ended(time.Since(at), o.Delivered())
	}
	l.pool.judge(s, o)
	if l.r.cfg.Observe != nil {
		l.r.cfg.Observe(l.is, to.URL, o)
	}
	removed := errors.Is(context.Cause(l.posting), errRemoved)
	switch {
	case l.posting.Err() == nil || o.Delivered():
	case !removed:
		l.r.noteCutOff(result{lane: l, flight: f, parcel: p, outcome: o, at: at, url: to.URL})
		l.skip(f) // it stays due
		return next, false
	case errors.Is(o.Err, errCutOff):
		o.Err = errRemoved
	}
	if opened, closed := l.board.answered(f, o); opened || closed {
		l.nudge() // to fill the board again
		if !removed {
			l.tellBreaker(to, o, opened)
		}
	}
	if o.Delivered() {
		next, more = l.ahead(s, p)
	}
	l.r.report(result{lane: l, flight: f, parcel: p, outcome: o, at: at, url: to.URL, followed: more})
	return next, more
}

func (l *lane) tellBreaker(to event.Destination, o Outcome, opened bool) {
	switch {
	case l.outbox() && opened:
		l.r.log.Warn("the global webhook is down; trying it now and then; see to the receiver at webhook.global.url", "status", o.Status, "reason", o.Reason(), "cause", o.cause())
	case l.outbox():
		l.r.log.Info("the global webhook is back")
	case opened:
		level, times := l.r.outages.Count(l.name())
		l.r.log.Log(l.r.reading, level, "a webhook is down; trying it now and then; see to its receiver", l.attrs(to.URL,
			"status", o.Status, "reason", o.Reason(), "cause", o.cause(), "count", times)...)
	default:
		level, times := l.r.returns.Count(l.name())
		l.r.log.Log(l.r.reading, min(level, slog.LevelInfo), "a webhook is back", l.attrs(to.URL, "count", times)...)
	}
}

// load reads a delivery and its destination. ready is false if it must not be sent now:
// it ended meanwhile, it is not due after all, or the destination accepts no deliveries.
// load has then released the flight.
func (l *lane) load(f flight) (p parcel, to event.Destination, ready bool) {
	p, err := l.file.load(f)
	if err != nil {
		l.unreadable(f, err)
		return p, to, false
	}
	now := time.Now()
	to, status := l.r.resolve(l.is)
	switch {
	case !p.pending:
		l.skip(f)
		l.nudge()
	case status != delivery.Ready:
		l.skip(f)
		l.change()
	case !p.record.MadeFor(to):
		l.withhold(f)
	case !p.expires.IsZero() && !l.r.cfg.Store.Steady().Before(p.expires):
		l.skip(f)
		l.r.expiry.look()
	case f.ahead > 0 && !isDue(p.due, now):
		l.skip(f) // the file will show when it has become the first
	case !f.anyway && !isDue(p.due, now):
		// This happens when the clock went back: nothing else would remember the entry.
		l.skip(f)
		l.handBack(row{At: p.due, Seq: f.seq, Line: p.line})
	default:
		to.WithID = to.WithID || p.named
		return p, to, true
	}
	return p, to, false
}

// skip returns an entry that was not attempted.
func (l *lane) skip(f flight) { l.board.skipped(f, false) }

// unreadable drops an entry that cannot be read.
func (l *lane) unreadable(f flight, err error) {
	if l.outbox() {
		l.r.log.Error("outbox entry cannot be read and is left out; run postern check", "sequence", f.seq, "error", err)
	} else {
		l.r.log.Error("a delivery cannot be read and is left out; run postern check", l.attrs("", "delivery_id", f.seq, "error", err)...)
	}
	lost := errors.Is(err, store.ErrDamaged) || errors.Is(err, delivery.ErrBodyGone)
	if lost {
		follows, lose := l.file.lose(f, err)
		if lose != nil {
			l.r.log.Error("a delivery that cannot be read is not cancelled", l.attrs("", "delivery_id", f.seq, "error", lose)...)
		}
		l.follow(follows)
	}
	l.board.skipped(f, lost)
	l.nudge()
}

// withhold drops a credential that was made for another destination.
func (l *lane) withhold(f flight) {
	follows, err := l.file.lose(f, errChanged)
	if err != nil {
		l.r.log.Error("a pairing code for a former destination is not cancelled", l.attrs("", "delivery_id", f.seq, "error", err)...)
	}
	l.follow(follows)
	l.skip(f)
	l.nudge()
}

// follow releases the delivery that waited for another to end.
func (l *lane) follow(next *row) {
	if next != nil {
		l.r.wake(l.is, []row{*next})
	}
}

// change makes the feeder look up the destination again.
func (l *lane) change() {
	l.changed.Store(true)
	l.nudge()
}

// name identifies the lane in logs and throttles.
func (l *lane) name() string { return laneName(l.is) }

// attrs returns the attributes of a log line about the lane.
func (l *lane) attrs(url string, more ...any) []any {
	all := []any{"flow", string(l.is.Flow), "target", string(l.is.Target)}
	if l.is.Instance != 0 {
		all = append(all, "instance_id", l.is.Instance)
	}
	if l.is.Endpoint != "" {
		all = append(all, "endpoint", l.is.Endpoint)
	}
	if url != "" {
		all = append(all, "destination", destination(url))
	}
	return append(all, more...)
}
