package delivery

import (
	"maps"
	"testing"
	"time"

	"postern/event"
	"postern/store"
)

// TestTogetherIsWhatEachWouldBe settles some deliveries of two events in one
// transaction: accepted ones, one of them the first of a line, and one that fails.
// The file has to have the same numbers, backlogs and rows of the digest as when
// each is settled on its own.
func TestTogetherIsWhatEachWouldBe(t *testing.T) {
	type held struct {
		counts   counts
		backlogs map[Lane]Backlog
		states   map[uint64]State
	}
	look := func(together bool) (h held) {
		r := newRig(t, Config{Log: true})
		var made []Addressee
		r.update(func(tx *store.Tx) error {
			for range 2 {
				e, err := r.l.Emit(tx, testEvent(1, event.About{Chat: "c"}), true, tenDestinations(event.OrderChat))
				if err != nil {
					return err
				}
				made = append(made, e.To...)
			}
			return nil
		})
		r.update(func(tx *store.Tx) error {
			settle := func() error {
				for _, i := range []int{7, 0, 3, 10} {
					_, _, err := r.l.Settle(tx, made[i].Due.Record, Attempt{StartedAt: tx.Now(), Status: 200 + i}, i != 3, tx.Now().Add(time.Hour))
					if err != nil {
						return err
					}
				}
				return nil
			}
			if together {
				return r.l.Together(tx, func() error { return r.l.Together(tx, settle) })
			}
			return settle()
		})
		h.backlogs, h.states = map[Lane]Backlog{}, map[uint64]State{}
		r.view(func(tx *store.Tx) (err error) {
			if h.counts, err = readCounts(tx); err != nil {
				return err
			}
			all, err := Backlogs(tx)
			for _, b := range all {
				h.backlogs[b.Lane] = b
			}
			if err != nil {
				return err
			}
			whole, err := readBacklog(tx, allLanes)
			h.backlogs[Lane{}] = whole
			if err != nil {
				return err
			}
			_, err = r.l.key.scan(tx, allIDs, false, true, func(s stretch) (bool, error) {
				for i := s.i; i < s.j; i++ {
					if w := s.row(i); w.exists() {
						h.states[s.first+uint64(i)] = w.state()
					}
				}
				return true, nil
			})
			return err
		})
		return h
	}
	each, all := look(false), look(true)
	if all.counts != each.counts || !maps.Equal(all.backlogs, each.backlogs) || !maps.Equal(all.states, each.states) {
		t.Errorf("together\n%v\neach\n%v", all, each)
	}
	if n := each.backlogs[Lane{}].Pending; n != 17 || len(each.states) != 20 {
		t.Errorf("%d wait of %d", n, len(each.states))
	}
}
