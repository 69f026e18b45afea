package logbook

import (
	"context"
	"errors"
	"slices"

	"postern/delivery"
	"postern/delivery/digest"
	"postern/store"
)

// Page is a part of a list, newest first.
type Page struct {
	Records  []delivery.Listed
	Total    int    // that the filter selects
	Next     string // cursor to older ones, empty when there are none
	Previous string // cursor to newer ones, empty when there are none
}

// List returns a page of the records that f selects. Cursors stay valid while records come
// and go; an invalid cursor is ErrCursor.
func (l *Log) List(ctx context.Context, f delivery.Filter, at string, limit int) (Page, error) {
	c, err := parseCursor(at)
	if err != nil {
		return Page{}, err
	}
	if err := l.catchUp(ctx); err != nil {
		return Page{}, err
	}
	sel, some := l.visible(f)
	page := lister{at: c}
	err = l.store.View(func(tx *store.Tx) error {
		page = lister{ledger: l.ledger, to: l.ledger.Destinations(), sel: sel, at: c, limit: limit}
		if !some {
			return nil
		}
		return page.read(tx)
	})
	l.mendLater(page.damaged)
	return page.page(), err
}

// visible restricts a list to what it may show: with the log off, pending deliveries in the
// file. some is false if that is nothing.
func (l *Log) visible(f delivery.Filter) (s delivery.Selection, some bool) {
	s.Filter = f
	if l.ledger.LogIsOn() {
		return s, true
	}
	s.Durable = true
	some = len(f.States) == 0 || slices.Contains(f.States, delivery.Pending)
	s.States = []delivery.State{delivery.Pending}
	return s, some
}

// lister reads one page. It scans the digest once: from the cursor on it reads records until
// the page is full, and counts the others on both sides.
type lister struct {
	ledger *delivery.Ledger
	to     delivery.Destinations
	sel    delivery.Selection
	at     cursor
	limit  int

	match   *digest.Match
	records []delivery.Listed
	total   int
	beyond  bool // there are more behind the page
	before  bool // there are some on the other side of the cursor
	damaged []uint64
}

func (p *lister) read(tx *store.Tx) (err error) {
	if p.match, err = p.ledger.Match(tx, p.sel); err != nil {
		return err
	}
	sum, err := delivery.ReadCounts(tx)
	if delivery.IgnoreDamage(err) != nil {
		return err
	}
	known := err == nil && countedByState(p.sel)
	ahead, behind := p.sides()
	if err := p.scan(tx, ahead, p.at.way(), known, p.show(tx)); err != nil {
		return err
	}
	n := p.total
	if err := p.scan(tx, behind, p.at.way()^digest.Reverse, known, nil); err != nil {
		return err
	}
	p.before = p.total > n
	if known {
		p.total = int(sum.Of(p.sel.States))
	}
	return nil
}

// sides returns the ids in the direction of the page and those on the other side of the
// cursor.
func (p *lister) sides() (ahead, behind digest.Range) {
	switch {
	case p.at.id == 0:
		return digest.All, digest.Range{}
	case p.at.newer:
		return digest.From(p.at.id + 1), digest.Range{Last: p.at.id + 1}
	default:
		return digest.Range{Last: p.at.id}, digest.From(p.at.id)
	}
}

// scan scans a side. If the total is known otherwise, it stops once it knows whether there
// are records beyond the page.
func (p *lister) scan(tx *store.Tx, side digest.Range, way digest.How, known bool, show func(uint64) (bool, error)) error {
	damaged, err := p.ledger.Digest().Scan(tx, side, way|digest.Quick, func(in digest.Block) (bool, error) {
		n, err := p.match.Rows(in, way, show)
		p.total += n
		enough := p.beyond
		if show == nil {
			enough = n > 0
		}
		return !known || !enough, err
	})
	p.damaged = append(p.damaged, damaged...)
	return err
}

// show reads the records of the page, and looks for one more match to learn whether more follow.
func (p *lister) show(tx *store.Tx) func(uint64) (bool, error) {
	return func(id uint64) (bool, error) {
		if p.beyond = len(p.records) == p.limit; p.beyond {
			return false, nil
		}
		r, found, err := delivery.Find(tx, id)
		if errors.Is(err, store.ErrDamaged) || err == nil && (!found || !p.sel.Holds(tx, r)) {
			p.total--
			return true, nil
		}
		if err == nil {
			p.records = append(p.records, delivery.Listed{Record: r, Replayable: p.to.Replayable(tx, r)})
		}
		return true, err
	}
}

func (p *lister) page() Page {
	page := Page{Records: p.records, Total: p.total}
	older, newer := p.beyond, p.before
	if p.at.newer {
		slices.Reverse(page.Records)
		older, newer = newer, older
	}
	// An empty page still has cursors: there may be records on either side.
	oldest, newest := p.at.id, max(p.at.id, 1)-1
	if p.at.newer {
		oldest, newest = p.at.id+1, p.at.id
	}
	if n := len(page.Records); n > 0 {
		oldest, newest = page.Records[n-1].ID, page.Records[0].ID
	}
	if older {
		page.Next = cursor{id: oldest}.String()
	}
	if newer {
		page.Previous = cursor{newer: true, id: newest}.String()
	}
	return page
}

// countedByState reports whether the numbers by state give the total.
func countedByState(s delivery.Selection) bool {
	f := s.Filter
	return !s.Durable && !s.Fresh && !s.Again && len(s.Events) == 0 && f.Instance == 0 && !f.NoGlobal && f.Event == "" && f.Target == "" &&
		f.Endpoint == nil && f.From.IsZero() && f.To.IsZero() && f.MinDuration == 0 && f.Query == ""
}

// Record returns one record with all its attempts in order, and its body, nil if it was not
// kept. The error is ErrNotFound if there is no such record.
func (l *Log) Record(ctx context.Context, id uint64) (r delivery.Listed, all []delivery.Attempt, body []byte, err error) {
	if err := l.catchUp(ctx); err != nil {
		return r, nil, nil, err
	}
	err = l.store.View(func(tx *store.Tx) error {
		rec, found, err := delivery.Find(tx, id)
		if err != nil {
			return err
		}
		if !found || !l.ledger.LogIsOn() && (rec.State != delivery.Pending || rec.InMemory()) {
			return delivery.ErrNotFound
		}
		e, kept, err := delivery.BodyOf(tx, rec)
		if err = delivery.IgnoreDamage(err); err != nil {
			return err
		}
		if r = (delivery.Listed{Record: rec, Replayable: l.ledger.Destinations().Replayable(tx, rec)}); kept {
			body = e.Body
		}
		if r.WaitsFor, err = delivery.WaitsFor(tx, rec); err != nil {
			return err
		}
		all, err = delivery.AttemptsOf(tx, rec)
		return err
	})
	return r, all, body, err
}

// Rows returns the records with these ids as in lists, in that order and with their current
// contents. It leaves out records that do not exist or cannot be read.
func (l *Log) Rows(ids []uint64) (rows []delivery.Listed, err error) {
	to := l.ledger.Destinations()
	err = l.store.View(func(tx *store.Tx) error {
		for _, id := range ids {
			r, found, err := delivery.Find(tx, id)
			if delivery.IgnoreDamage(err) != nil {
				return err
			}
			if err == nil && found && (l.ledger.LogIsOn() || r.State == delivery.Pending && !r.InMemory()) {
				rows = append(rows, delivery.Listed{Record: r, Replayable: to.Replayable(tx, r)})
			}
		}
		return nil
	})
	return rows, err
}

// Counts returns the number of records in each state, without reading them.
func (l *Log) Counts(ctx context.Context) (map[delivery.State]int, error) {
	if err := l.catchUp(ctx); err != nil {
		return nil, err
	}
	byState := map[delivery.State]int{}
	err := l.store.View(func(tx *store.Tx) error {
		sum, err := delivery.ReadCounts(tx)
		for _, state := range delivery.States() {
			byState[state] = int(sum.Of([]delivery.State{state}))
		}
		return err
	})
	return byState, err
}
