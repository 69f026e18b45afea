package batch

import (
	"time"

	"postern/event"
)

// passCost bounds how often a batch is searched for recipients to whom an instance
// may write although it may not write to strangers: the next pass begins so
// many times later as the one before took.
// One that took less than passFree may begin at once.
const (
	passCost = 100
	passFree = time.Millisecond
)

// pass is how far an instance that may not write to strangers has searched
// the pending items: it may not send those before at. It is kept in memory
// only, so a restart costs one more pass.
type pass struct {
	at    int
	shelf shelf
	gates uint64        // how often the gate's answers had changed when the pass began
	until time.Time     // the first moment at which one of those before at may be sent
	took  time.Duration // looking, not sending
	ended bool
	next  time.Time // of one that ended: when another may begin
}

// stale reports whether another pass may find more.
func (p *pass) stale(gates uint64, now time.Time) bool {
	return p.gates != gates || !p.until.IsZero() && !p.until.After(now)
}

// keep records when a recipient that the pass has skipped may be sent to.
func (p *pass) keep(until time.Time) { p.until = earlier(p.until, until) }

// search is the result of a search for an item that an instance may send.
type search struct {
	item  unsent
	after time.Time // when it may leave; zero: at once
	first int       // no item before this one waits
	ok    bool
	again time.Time // of nothing: when that may change; zero: with a change
	cut   bool      // it was given up, for the batch has something else to do
}

// seek returns the first item that the instance may send now. back is the item
// that is on its way in the file and about to wait again; it may be nil.
//
// A recipient who may not be written to is looked up once a pass, not once for each item that
// is sent: a hundred thousand strangers are looked up once, and again only
// when the instance has changed meanwhile, as it does when a stranger becomes
// known to it. The first pending item is looked up each time, and shows
// that strangers may be written to again.
func (w *worker) seek(id int64, back *unsent) (found search, err error) {
	var opens time.Time // for the one that goes back, which no pass finds
	if back != nil {
		gate := w.gate(id, *back)
		if !gate.Shut(w.e.now()) {
			return search{item: *back, after: gate.After, first: min(w.b.Cursor, back.position), ok: true}, nil
		}
		if opens = gate.Until; w.passes[id] != nil {
			w.passes[id].keep(opens)
		}
	}
	first, ok, err := w.next(&w.front, w.b.Cursor)
	if err != nil {
		return search{}, err
	}
	if !ok {
		if back == nil {
			return search{}, nil
		}
		return search{again: opens}, nil
	}
	found.first = first.position
	if back != nil {
		found.first = min(found.first, back.position)
	}
	gate := w.gate(id, first)
	switch {
	case !gate.Shut(w.e.now()):
		delete(w.passes, id)
		found.item, found.after, found.ok = first, gate.After, true
		return found, nil
	case !gate.Strangers:
		return search{again: gate.Until}, nil
	}
	until := earlier(gate.Until, opens)
	more, err := w.continuePass(id, first, until, found)
	if err == nil && !more.ok && !more.cut && w.due(id) {
		return w.continuePass(id, first, until, found) // what it went by may be sent by now
	}
	return more, err
}

// due reports whether another pass may find more, and may begin.
func (w *worker) due(id int64) bool {
	p, now := w.passes[id], w.e.now()
	return p == nil || p.ended && p.stale(w.e.gatesOf(id), now) && !p.next.After(now)
}

// passOf returns the pass of an instance; a finished one is followed
// by another if there is a reason and it is due.
func (w *worker) passOf(id int64) *pass {
	if w.due(id) {
		if w.passes == nil {
			w.passes = map[int64]*pass{}
		}
		w.passes[id] = &pass{gates: w.e.gatesOf(id)}
	}
	return w.passes[id]
}

// continuePass continues the pass of an instance, behind the first item that
// waits; that one, or one that goes back, may be sent at until.
func (w *worker) continuePass(id int64, first unsent, until time.Time, found search) (search, error) {
	p := w.passOf(id)
	p.keep(until)
	p.at = max(p.at, first.position+1)
	begin := w.e.now()
	defer func() { p.took += w.e.now().Sub(begin) }()
	for n := 1; !p.ended; n++ {
		if n%shelfSize == 0 && w.distracted() {
			return search{cut: true}, nil
		}
		item, ok, err := w.next(&p.shelf, p.at)
		if err != nil {
			return search{}, err
		}
		if !ok {
			p.ended, p.shelf = true, shelf{}
			p.next = w.e.now()
			if took := p.took + p.next.Sub(begin); took > passFree {
				p.next = p.next.Add(passCost * took)
			}
			break
		}
		p.at = item.position
		gate := w.gate(id, item)
		switch {
		case !gate.Shut(w.e.now()):
			found.item, found.after, found.ok = item, gate.After, true
			return found, nil
		case !gate.Strangers:
			return search{again: gate.Until}, nil
		}
		p.keep(gate.Until)
		p.at++
	}
	again, now := p.until, w.e.now()
	if next := asOf(now, p.next); p.stale(w.e.gatesOf(id), now) || again.Before(next) {
		again = next
	}
	return search{again: again}, nil
}

// gate asks whether the instance may send an item. Nothing is sent for an item whose
// record is damaged.
func (w *worker) gate(id int64, item unsent) Gate {
	if item.recipient == "" {
		return Gate{}
	}
	return w.e.cfg.Fleet.Gate(Question{
		Instance: id, Batch: w.id, Recipient: item.recipient, Wait: w.b.spec.Options.WhenRestricted == event.RestrictedWait,
	})
}

// distracted reports whether the batch has other work than to search
// for an item.
func (w *worker) distracted() bool { return w.e.stopping() || w.changed() }

// gave removes an item that is SENDING from the pending ones.
func (w *worker) gave(position int) {
	w.front.drop(position)
	for _, p := range w.passes {
		p.shelf.drop(position)
	}
}

// reread makes the pending items be read again: one of them was returned. Passes
// continue, for it was looked up then.
func (w *worker) reread() {
	w.front = shelf{}
	for _, p := range w.passes {
		p.shelf = shelf{}
	}
}
