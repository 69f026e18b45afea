package access

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"postern/store"
)

// MoreAction is the action of a record that stands for several changes of an actor that
// exceeded its records for a minute.
const MoreAction = "audit.more"

// rowsPerMinute is the number of records that one actor may write a minute. Changes
// beyond it are counted for at most gatherFor, so that the count is written by the end of
// the minute that began with the first record.
const (
	rowsPerMinute = 60
	gatherFor     = 55 * time.Second
	retryAfter    = 5 * time.Second // retry delay of a failed count
)

// paces holds the record rate of each actor.
type paces struct {
	wake chan struct{} // size 1: a new count may be due before all others

	mu      sync.Mutex
	actors  map[string]*pace
	sweepAt int // size of actors at which idle ones are removed
}

// pace is the record rate of one actor.
type pace struct {
	rows    []time.Time    // of the last minute, oldest first
	more    map[string]int // by action: changes without a record
	from    string         // address of the newest such change
	due     time.Time      // when more is to be written
	written time.Time      // when more was last written
}

func newPaces() paces {
	return paces{wake: make(chan struct{}, 1), actors: map[string]*pace{}, sweepAt: 64}
}

func (p *pace) forget(now time.Time) {
	for len(p.rows) > 0 && now.Sub(p.rows[0]) >= time.Minute {
		p.rows = p.rows[1:]
	}
}

// take reports whether an actor may write one more record.
func (all *paces) take(actor string, now time.Time) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	p := all.actors[actor]
	if p == nil {
		all.sweep(now)
		p = &pace{}
		all.actors[actor] = p
	}
	p.forget(now)
	if len(p.rows) >= rowsPerMinute {
		return false
	}
	p.rows = append(p.rows, now)
	return true
}

// giveBack returns what take took for a record that was not written.
func (all *paces) giveBack(actor string) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if p := all.actors[actor]; p != nil && len(p.rows) > 0 {
		p.rows = p.rows[:len(p.rows)-1]
	}
}

// sweep removes actors without records for a minute. It runs only when the map has grown.
func (all *paces) sweep(now time.Time) {
	if len(all.actors) < all.sweepAt {
		return
	}
	for actor, p := range all.actors {
		if p.forget(now); len(p.rows) == 0 && p.more == nil {
			delete(all.actors, actor)
		}
	}
	all.sweepAt = max(64, 2*len(all.actors))
}

// count counts a change that gets no record.
func (all *paces) count(rec Record, now time.Time) {
	all.mu.Lock()
	p := all.actors[rec.Actor]
	if p == nil {
		p = &pace{}
		all.actors[rec.Actor] = p
	}
	if p.more == nil {
		p.more = map[string]int{}
		p.due = now
		if len(p.rows) > 0 {
			p.due = p.rows[0].Add(gatherFor)
		}
		if soonest := p.written.Add(gatherFor); p.due.Before(soonest) {
			p.due = soonest
		}
	}
	p.more[rec.Action]++
	p.from = rec.From
	all.mu.Unlock()
	select {
	case all.wake <- struct{}{}:
	default:
	}
}

// due removes and returns the counts that are due or, with force, all of them.
func (all *paces) due(now time.Time, force bool) (records []Record) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for actor, p := range all.actors {
		if p.more == nil || !force && now.Before(p.due) {
			continue
		}
		n, parts := 0, []string{}
		for _, action := range slices.Sorted(maps.Keys(p.more)) {
			n += p.more[action]
			parts = append(parts, fmt.Sprintf("%s %d", action, p.more[action]))
		}
		records = append(records, Record{
			At: now.UTC().Truncate(time.Millisecond), Actor: actor, Action: MoreAction,
			Subject: fmt.Sprintf("%d more: %s", n, strings.Join(parts, ", ")), From: p.from, Count: n,
		})
		p.more, p.written = nil, now
	}
	return records
}

// next returns when the next count is due, zero if there is none.
func (all *paces) next() (at time.Time) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, p := range all.actors {
		if p.more != nil && (at.IsZero() || p.due.Before(at)) {
			at = p.due
		}
	}
	return at
}

// count writes counts as they become due until life ends.
func (b *Book) count(life context.Context) {
	var failed []Record
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		switch next := b.paces.next(); {
		case len(failed) > 0:
			timer.Reset(retryAfter)
		case !next.IsZero():
			timer.Reset(max(0, time.Until(next)))
		default:
			timer.Stop()
		}
		select {
		case <-b.paces.wake:
			continue
		case <-timer.C:
		case <-life.Done():
			if err := b.writeCounts(context.WithoutCancel(life), failed); err != nil {
				b.log.Error("the count of further changes was not written to the audit log", "error", err)
			}
			return
		}
		failed = append(failed, b.paces.due(time.Now(), false)...)
		if err := b.writeCounts(life, failed); err != nil {
			if life.Err() == nil {
				b.log.Warn("the count of further changes was not written to the audit log; retrying", "error", err)
			}
			continue
		}
		failed = nil
	}
}

// writeCounts stores the records of counts in one commit.
func (b *Book) writeCounts(ctx context.Context, records []Record) error {
	if len(records) == 0 {
		return nil
	}
	for i := range records {
		if records[i].ID == 0 {
			records[i].ID = b.last.Add(1)
		}
	}
	err := b.store.Update(ctx, func(tx *store.Tx) error {
		for _, rec := range records {
			if err := b.put(tx, rec); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("access: count further changes: %w", err)
	}
	return nil
}
