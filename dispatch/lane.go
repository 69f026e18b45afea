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

// lane is one destination at work: what may go out is on its board, which its
// feeder fills from the file, and senders take it from there. The lane of the
// outbox is awake as long as the relay is; another one only while something
// waits for it.
type lane struct {
	r     *Relay
	is    delivery.Lane
	file  ledger
	board *board
	ticks atomic.Int64 // Unix nanoseconds of the feeder's last turn

	posting context.Context // ends when Stop gives up on what is in flight, or the destination is gone
	hangUp  context.CancelCauseFunc

	nudges     chan struct{} // size 1: the feeder has something to do
	retries    chan row      // those that failed, on their way to the feeder
	fresh      chan []row    // new ones, on their way to the feeder
	passWanted atomic.Bool   // the due index must be read again
	changed    atomic.Bool   // the destination may be another one
	tasks      atomic.Int64  // what was handed over and is not on the board yet

	to atomic.Pointer[string] // host and port where it leads; nil: not known yet
	// Of the budget, whose lock guards them: the receiver for which the lane waits,
	// and the one that has called it since.
	waitsFor, calledBy *origin
}

// row is a pending delivery as the indexes have it.
type row struct {
	At     time.Time
	Seq    uint64    // of the entry, or the record
	Record uint64    // of an entry
	Line   uuid.UUID // of those with the same one only one is in flight
	Once   bool      // it has one attempt and does not wait for the breaker
}

// ledger is what a lane reads and writes of the file.
type ledger interface {
	// due returns rows in the order of time and number, beginning after the given
	// one; those whose time is yet to come are included.
	due(tx *store.Tx, after row, limit int) ([]row, error)
	// pending returns rows in the order in which they were made, beginning after a
	// number; At need not be set.
	pending(tx *store.Tx, after uint64, limit int) ([]row, error)
	// lined is pending for one line, of which the board has a part. last is the
	// number up to which it looked, more tells that it did not come to the end.
	lined(tx *store.Tx, line uuid.UUID, after uint64, limit int) (rows []row, last uint64, more bool, err error)
	// load reads what is to be sent.
	load(f flight) (parcel, error)
	// settle notes an attempt. A closure of the store calls it.
	settle(tx *store.Tx, r result) (settled, error)
	// cutOff notes an attempt that the stop of the program cut off. The delivery waits on.
	cutOff(tx *store.Tx, r result) error
	// behind finds what waits behind a delivery in its line.
	behind(p parcel) (next row, found bool, err error)
	// lose takes out what can never be sent, for want of its record or body.
	lose(f flight, why error) (follows *row, err error)
}

// parcel is a delivery as the file has it.
type parcel struct {
	kind     event.Kind
	line     uuid.UUID
	pending  bool
	due      time.Time
	expires  time.Time // zero: never
	attempts int       // so far
	id       uuid.UUID // of the event
	named    bool      // the id is sent, whatever the destination says by now
	headers  http.Header
	body     []byte
	inLine   bool            // others wait until it has ended
	record   delivery.Record // of package delivery
}

// settled is what became of a delivery by an attempt.
type settled struct {
	ended   bool      // there will be no other attempt
	state   string    // in words, when it ended without being accepted
	next    time.Time // of the next attempt, as the file has it
	follows *row      // what may leave in its place
}

// flying is what a lane may have in flight.
const (
	laneFlights = 10
	// trialFlights is for a lane whose receiver accepted nothing since it failed,
	// or since the lane woke.
	trialFlights = 2
	// quickFlights is for one whose receiver answers within quick: more would not
	// arrive sooner, and cost more than they carry.
	quickFlights = 2
	quick        = 2 * time.Millisecond
)

// laneSize bounds what a lane of package delivery has on its board: enough for
// what is in flight and what waits to be stored.
const laneSize = 128

// outboxLane is the lane of the outbox. Its senders wait at the board, and who
// hands something to its feeder waits until it is taken.
func (r *Relay) outboxLane() *lane {
	l := r.newLane(delivery.BatchLane, entries{r.cfg.Store, r.cfg.Outbox, r.cfg.Ledger, &r.newBatch}, newBoard())
	l.fresh, l.retries = make(chan []row), make(chan row)
	return l
}

// durableLane is a lane of package delivery. Its feeder starts senders as they
// are wanted, and whoever has something for it never waits: what there is no
// room for is found by another pass.
func (r *Relay) durableLane(is delivery.Lane) *lane {
	b := newBoard()
	l := r.newLane(is, records{r.cfg.Store, r.cfg.Ledger, is, &r.newEvents}, b)
	b.size, b.most, b.wanted, b.sweep = laneSize, laneFlights, l.nudge, r.anew
	l.fresh, l.retries = make(chan []row, 16), make(chan row, laneSize)
	l.tick()
	return l
}

func (r *Relay) newLane(is delivery.Lane, file ledger, b *board) *lane {
	l := &lane{r: r, is: is, file: file, board: b, nudges: make(chan struct{}, 1)}
	l.posting, l.hangUp = context.WithCancelCause(r.sending)
	l.tasks.Store(1) // to read what is in the file
	return l
}

func (l *lane) tick() { l.ticks.Store(time.Now().UnixNano()) }

// outbox tells that this is the lane of the outbox.
func (l *lane) outbox() bool { return l == l.r.batch }

// hand gives new rows to the feeder.
func (l *lane) hand(rows []row) {
	l.tasks.Add(1)
	if !give(l, l.fresh, rows) {
		l.tasks.Add(-1)
	}
}

// handBack gives the feeder a row that is to be sent at another time.
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

// askForPass has the feeder read the due index again.
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

// send is a sender of the outbox: it takes entries from the board and posts them.
func (l *lane) send() {
	for f, ok := l.board.next(); ok; f, ok = l.board.next() {
		l.deliver(f)
	}
}

// launch starts senders for what may go out now.
func (l *lane) launch() {
	for f, ok := l.begin(); ok; f, ok = l.begin() {
		l.r.senders.Go(func() { l.sendOn(f) })
	}
}

// sendOn is a sender that ends when nothing may go out.
func (l *lane) sendOn(f flight) {
	for ok := true; ok; f, ok = l.begin() {
		if _, more := l.board.place(); more {
			l.nudge() // the feeder starts others
		}
		l.run(f)
	}
}

// run delivers, and what follows in the line, and gives the place back.
func (l *lane) run(f flight) {
	for on := true; on; {
		late := l.r.budget.watch(f.seat)
		next, more := l.deliver(f)
		lent := late()
		if on = more; !on {
			l.r.budget.leave(f.seat, lent)
			return
		}
		l.r.budget.returned(f.seat, lent)
		f = next
	}
}

// begin takes what goes out next off the board, when there is a place for it.
func (l *lane) begin() (f flight, ok bool) {
	p, ok := l.board.place()
	if !ok {
		return flight{}, false
	}
	s, ok := l.r.budget.enter(p, *l.to.Load(), l)
	if !ok {
		return flight{}, false
	}
	if f, ok = l.board.take(); !ok {
		l.r.budget.leave(s, false)
		return f, false
	}
	f.seat = s
	return f, true
}

// deliver makes one attempt. next is what is to go out at once in its place.
func (l *lane) deliver(f flight) (next flight, more bool) {
	p, to, ready := l.load(f)
	if !ready {
		if f.ahead > 0 {
			l.askForPass() // it may have become the first meanwhile, and been passed over for being under way
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
	l.r.budget.answered(f.seat, o.Duration)
	if l.r.cfg.Observe != nil {
		l.r.cfg.Observe(l.is, o)
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
		l.nudge() // to fill the board anew
		if !removed {
			l.tellBreaker(to, o, opened)
		}
	}
	if o.Delivered() {
		next, more = l.ahead(f, p)
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

// load reads what is to be sent, and where to. ready is false when it is not to
// be sent now: it came to its end meanwhile, its time has not come after all, or
// the destination takes nothing. Then nothing of the flight is left.
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
		l.skip(f) // the file will say when it has become the first
	case !f.anyway && !isDue(p.due, now):
		// As happens when the clock went back: nothing else would remember it.
		l.skip(f)
		l.handBack(row{At: p.due, Seq: f.seq, Line: p.line})
	default:
		to.WithID = to.WithID || p.named
		return p, to, true
	}
	return p, to, false
}

// skip takes back what was not attempted.
func (l *lane) skip(f flight) { l.board.skipped(f, false) }

// unreadable leaves out what cannot be read.
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

// withhold leaves out a credential that was made for another destination.
func (l *lane) withhold(f flight) {
	follows, err := l.file.lose(f, errChanged)
	if err != nil {
		l.r.log.Error("a pairing code for a former destination is not cancelled", l.attrs("", "delivery_id", f.seq, "error", err)...)
	}
	l.follow(follows)
	l.skip(f)
	l.nudge()
}

// follow lets out what waited for another to end.
func (l *lane) follow(next *row) {
	if next != nil {
		l.r.wake(l.is, []row{*next})
	}
}

// change has the feeder look where the lane leads.
func (l *lane) change() {
	l.changed.Store(true)
	l.nudge()
}

// name stands for the lane where things are told apart.
func (l *lane) name() string { return laneName(l.is) }

// attrs are the attributes of a log line about the lane.
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
