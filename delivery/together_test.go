package delivery

import (
	"maps"
	"testing"
	"time"

	"postern/delivery/digest"
	"postern/event"
	"postern/store"
)

// TestTogetherIsWhatEachWouldBe settles some deliveries of two events in one commit: accepted
// ones, one of them the first of a line, and one that fails. The file must have the same
// numbers, backlogs and rows of the digest as if each were settled in a commit of its own, and
// as if the rows were read in between.
func TestTogetherIsWhatEachWouldBe(t *testing.T) {
	type held struct {
		counts   Counts
		backlogs map[Lane]Backlog
		states   map[uint64]State
	}
	look := func(commits, reads bool) (h held) {
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
		settle := func(tx *store.Tx, i int) error {
			_, _, err := r.l.Settle(tx, made[i].Due.Record, Attempt{StartedAt: tx.Now(), Status: 200 + i}, i != 3, tx.Now().Add(time.Hour))
			return err
		}
		waits := 20
		ends := []int{7, 0, 3, 10}
		if commits {
			for _, i := range ends {
				r.update(func(tx *store.Tx) error { return settle(tx, i) })
			}
		} else {
			r.update(func(tx *store.Tx) error {
				for _, i := range ends {
					if err := settle(tx, i); err != nil {
						return err
					}
					if i != 3 {
						waits--
					}
					if !reads {
						continue
					}
					if sum, err := readBacklog(tx, allLanes); err != nil || sum.Pending != waits {
						t.Errorf("after %d it says that %d wait, not %d: %v", i, sum.Pending, waits, err)
					}
					if sum, err := ReadCounts(tx); err != nil || sum[stateNumber(Pending)] != uint64(waits) {
						t.Errorf("after %d the numbers are %v: %v", i, sum, err)
					}
				}
				return nil
			})
		}
		h.backlogs, h.states = map[Lane]Backlog{}, map[uint64]State{}
		r.view(func(tx *store.Tx) (err error) {
			if h.counts, err = ReadCounts(tx); err != nil {
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
			_, err = r.l.digest.Scan(tx, digest.All, 0, func(b digest.Block) (bool, error) {
				b.Rows(func(id uint64, w digest.Row) { h.states[id] = states[w.State()] })
				return true, nil
			})
			return err
		})
		return h
	}
	each := look(true, false)
	for _, reads := range []bool{false, true} {
		all := look(false, reads)
		if all.counts != each.counts || !maps.Equal(all.backlogs, each.backlogs) || !maps.Equal(all.states, each.states) {
			t.Errorf("together, with readers %v\n%v\neach\n%v", reads, all, each)
		}
	}
	if n := each.backlogs[Lane{}].Pending; n != 17 || len(each.states) != 20 {
		t.Errorf("%d wait of %d", n, len(each.states))
	}
}
