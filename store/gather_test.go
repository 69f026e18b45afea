package store

import (
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// commitsOf returns how many commits callers cause that each begin after a delay, and update in rounds with a pause
// after each answer, and how long that lasts. A commit takes the given time.
func commitsOf(t *testing.T, took time.Duration, callers, rounds int, delay, pause func(caller int) time.Duration) (commits int, lasted time.Duration) {
	t.Helper()
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
		var all sync.WaitGroup
		for i := range callers {
			all.Go(func() {
				time.Sleep(delay(i))
				for range rounds {
					if err := s.Update(t.Context(), func(tx *Tx) error { return tx.Put("thing", Key(uint64(i)), []byte("x")) }); err != nil {
						t.Error(err)
					}
					time.Sleep(pause(i))
				}
			})
		}
		all.Wait()
		commits, lasted = int(d.version()-before), time.Since(began)
	})
	return commits, lasted
}

// TestOwnerGathersCallersItAnswered: callers that return within an eighth of a commit share the next one, and
// one that does not return delays the others by no more.
func TestOwnerGathersCallersItAnswered(t *testing.T) {
	const took, rounds = 8 * time.Millisecond, 20
	n, lasted := commitsOf(t, took, 4, rounds, func(int) time.Duration { return 0 }, func(i int) time.Duration { return time.Duration(i+1) * took / 40 })
	if n > rounds+2 {
		t.Errorf("%d commits for %d rounds of 4 callers", n, rounds)
	}
	if least := rounds * took; lasted > least+least/4 {
		t.Errorf("%d rounds took %s, their commits %s", rounds, lasted, least)
	}
}

// TestOwnerSeldomWaitsInVain: callers that return in the middle of the next commit form two groups, whatever the
// owner waits. It tries again after ever more commits.
func TestOwnerSeldomWaitsInVain(t *testing.T) {
	const took = 8 * time.Millisecond
	n, lasted := commitsOf(t, took, 2, 100, func(i int) time.Duration { return time.Duration(i) * took / 2 }, func(int) time.Duration { return took / 2 })
	if most := time.Duration(n) * took * 103 / 100; lasted > most {
		t.Errorf("%d commits took %s, more than %s", n, lasted, most)
	}
}
