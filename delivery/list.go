package delivery

import (
	"context"
	"errors"
	"slices"
	"time"

	"postern/delivery/digest"
	"postern/event"
	"postern/store"
)

// Filter selects records of a list. The zero value selects all.
type Filter struct {
	Instance    int64 // 0: all, and batch events
	NoGlobal    bool  // without what went to the global webhook
	States      []State
	Event       event.Kind
	Target      event.Target
	Endpoint    *string
	From, To    time.Time // when they were made, both inclusive
	MinDuration time.Duration
	Query       string // a request id, an event id, or a JID
}

// Listed is a record of a list.
type Listed struct {
	Record
	Replayable bool // its body is still in the file, and its destination exists

	// WaitsFor is the first of its line, which has to end before it leaves; 0 when it
	// is that itself, and in lists, which do not look.
	WaitsFor uint64
}

// Page is a part of a list, newest first.
type Page struct {
	Records  []Listed
	Total    int    // that the filter selects
	Next     string // cursor to older ones, empty when there are none
	Previous string // cursor to newer ones, empty when there are none
}

// List returns a page of the records that f selects. Cursors stay valid while records come
// and go; an invalid cursor is ErrCursor.
func (l *Ledger) List(ctx context.Context, f Filter, at string, limit int) (Page, error) {
	c, err := parseCursor(at)
	if err != nil {
		return Page{}, err
	}
	if err := l.catchUp(ctx); err != nil {
		return Page{}, err
	}
	var page lister
	err = l.store.View(func(tx *store.Tx) error {
		page = lister{from: l.digest, to: l.destinations(), sel: l.visible(f), at: c, limit: limit}
		return page.read(tx)
	})
	l.mendLater(page.damaged)
	return page.page(), err
}

// visible restricts a list to what it may show: with the log off, pending deliveries in the file.
func (l *Ledger) visible(f Filter) selection {
	s := selection{Filter: f}
	if l.cfg.Log {
		return s
	}
	s.durable = true
	if len(f.States) > 0 && !slices.Contains(f.States, Pending) {
		s.nothing = true
	}
	s.States = []State{Pending}
	return s
}

// lister reads one page. It scans the digest once: from the cursor on it reads records until
// the page is full, and counts the others on both sides.
type lister struct {
	from  *digest.Digest
	to    destinations
	sel   selection
	at    cursor
	limit int

	match   *digest.Match
	records []Listed
	total   int
	beyond  bool // there are more behind the page
	before  bool // there are some on the other side of the cursor
	damaged []uint64
}

func (p *lister) read(tx *store.Tx) (err error) {
	if p.sel.nothing {
		return nil
	}
	if p.match, err = p.from.Match(tx, p.sel.query()); err != nil {
		return err
	}
	sum, err := readCounts(tx)
	if ignoreDamage(err) != nil {
		return err
	}
	known := err == nil && p.sel.countedByState()
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
		p.total = int(sum.of(p.sel.States))
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
	damaged, err := p.from.Scan(tx, side, way|digest.Quick, func(in digest.Block) (bool, error) {
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
		r, found, err := getRecord(tx, id)
		if errors.Is(err, store.ErrDamaged) || err == nil && (!found || !p.sel.holds(tx, r)) {
			p.total--
			return true, nil
		}
		if err == nil {
			p.records = append(p.records, Listed{Record: r, Replayable: p.to.replayable(tx, r)})
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
func (s selection) countedByState() bool {
	f := s.Filter
	return !s.durable && !s.fresh && len(s.events) == 0 && f.Instance == 0 && !f.NoGlobal && f.Event == "" && f.Target == "" &&
		f.Endpoint == nil && f.From.IsZero() && f.To.IsZero() && f.MinDuration == 0 && f.Query == ""
}

// of sums the numbers of some states, of all if none is given.
func (c counts) of(some []State) (n uint64) {
	for code, count := range c {
		if code > 0 && (len(some) == 0 || slices.Contains(some, states[code])) {
			n += count
		}
	}
	return n
}

// Record returns one record with all its attempts in order, and its body, nil if it was not
// kept. The error is ErrNotFound if there is no such record.
func (l *Ledger) Record(ctx context.Context, id uint64) (r Listed, all []Attempt, body []byte, err error) {
	if err := l.catchUp(ctx); err != nil {
		return r, nil, nil, err
	}
	err = l.store.View(func(tx *store.Tx) error {
		rec, found, err := getRecord(tx, id)
		if err != nil {
			return err
		}
		if !found || !l.cfg.Log && (rec.State != Pending || rec.inMemory()) {
			return ErrNotFound
		}
		e, kept, err := bodyOf(tx, rec)
		if err = ignoreDamage(err); err != nil {
			return err
		}
		if r = (Listed{Record: rec, Replayable: l.destinations().replayable(tx, rec)}); kept {
			body = e.Body
		}
		first, err := headOf(tx, rec)
		if err != nil {
			return err
		}
		if first.record != rec.ID {
			r.WaitsFor = first.record
		}
		all, err = attemptsOf(tx, rec)
		return err
	})
	return r, all, body, err
}

// Rows returns the records with these ids as in lists, in that order and with their current
// contents. It leaves out records that do not exist or cannot be read.
func (l *Ledger) Rows(ids []uint64) (rows []Listed, err error) {
	to := l.destinations()
	err = l.store.View(func(tx *store.Tx) error {
		for _, id := range ids {
			r, found, err := getRecord(tx, id)
			if ignoreDamage(err) != nil {
				return err
			}
			if err == nil && found && (l.cfg.Log || r.State == Pending && !r.inMemory()) {
				rows = append(rows, Listed{Record: r, Replayable: to.replayable(tx, r)})
			}
		}
		return nil
	})
	return rows, err
}

// Counts returns the number of records in each state, without reading them.
func (l *Ledger) Counts(ctx context.Context) (map[State]int, error) {
	if err := l.catchUp(ctx); err != nil {
		return nil, err
	}
	byState := make(map[State]int, len(states)-1)
	err := l.store.View(func(tx *store.Tx) error {
		sum, err := readCounts(tx)
		for code, state := range states[1:] {
			byState[state] = int(sum[code+1])
		}
		return err
	})
	return byState, err
}
