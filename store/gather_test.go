package store

import (
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestOwnerGathersCallersItAnswered: callers that return within an eighth of a commit share the next one, and
// one that does not return delays the others by no more.
func TestOwnerGathersCallersItAnswered(t *testing.T) {
	const took, rounds = 8 * time.Millisecond, 20
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		s := d.owner(t, filepath.Join(t.TempDir(), "data.db"))
		defer func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		d.commit = func(Change) error { time.Sleep(took); return nil }
		before, began := d.version(), time.Now()
		var callers sync.WaitGroup
		for i := range 4 {
			callers.Go(func() {
				for range rounds {
					if err := s.Update(t.Context(), func(tx *Tx) error { return tx.Put("thing", Key(uint64(i)), []byte("x")) }); err != nil {
						t.Error(err)
					}
					time.Sleep(time.Duration(i+1) * took / 40)
				}
			})
		}
		callers.Wait()
		if n := d.version() - before; n > rounds+2 {
			t.Errorf("%d commits for %d rounds of 4 callers", n, rounds)
		}
		if least, lasted := rounds*took, time.Since(began); lasted > least+least/4 {
			t.Errorf("%d rounds took %s, their commits %s", rounds, lasted, least)
		}
	})
}

// TestOwnerSeldomWaitsInVain: callers that return in the middle of the next commit form two groups, whatever the
// owner waits. It tries again after ever more commits.
func TestOwnerSeldomWaitsInVain(t *testing.T) {
	const took, rounds = 8 * time.Millisecond, 100
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		s := d.owner(t, filepath.Join(t.TempDir(), "data.db"))
		defer func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		d.commit = func(Change) error { time.Sleep(took); return nil }
		before, began := d.version(), time.Now()
		var callers sync.WaitGroup
		for i := range 2 {
			callers.Go(func() {
				time.Sleep(time.Duration(i) * took / 2)
				for range rounds {
					if err := s.Update(t.Context(), func(tx *Tx) error { return tx.Put("thing", Key(uint64(i)), []byte("x")) }); err != nil {
						t.Error(err)
					}
					time.Sleep(took / 2)
				}
			})
		}
		callers.Wait()
		commits, lasted := int(d.version()-before), time.Since(began)
		if most := time.Duration(commits) * took * 103 / 100; lasted > most {
			t.Errorf("%d commits took %s, more than %s", commits, lasted, most)
		}
	})
}
