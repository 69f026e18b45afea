package pace

import (
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"postern/store"
)

// TestCountsMoveWithTheInstance moves an instance whose messages left over two days, and the last just now, to a running
// program, which restarts. Another one has no counts, as an archive of before.
func TestCountsMoveWithTheInstance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := Limits{PerHour: number(1000), PerDay: number(5000), NewContactsPerDay: number(1000)}
		there, here := openStore(t, filepath.Join(t.TempDir(), "a.db")), openStore(t, filepath.Join(t.TempDir(), "b.db"))
		defer func() { _, _ = there.Close(), here.Close() }()
		persons := func(c *Config) {
			c.Person = func(jid string) string { return jid }
			c.IsNew = func(_ int64, jid string) bool { return jid != "known" }
		}
		open := func(s *store.Store) *Pacer {
			t.Helper()
			c := Config{Store: s}
			persons(&c)
			p, err := Open(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		exists := func(*store.Tx) bool { return true }
		p := open(there)
		if _, err := p.Set(t.Context(), 1, limits, exists); err != nil {
			t.Fatal(err)
		}
		send := func(to ...string) {
			t.Helper()
			for _, jid := range to {
				pass, err := p.Begin(1, jid, "")
				if err != nil || pass.Leave() != nil {
					t.Fatal(err)
				}
				pass.End(true)
			}
		}
		for range 100 { // forgotten
			send("known")
		}
		time.Sleep(40 * time.Hour) // it is four in the afternoon
		for range 100 {
			send("known")
		}
		send("ann", "bob", "ann")
		time.Sleep(2 * time.Hour)
		for range 70 {
			send("known", "carl")
		}
		if err := p.Settle(1); err != nil {
			t.Fatal(err)
		}
		var moved [][]byte
		err := there.View(func(tx *store.Tx) (err error) {
			moved, err = Departures(tx, 1)
			return err
		})
		if err != nil || len(moved) != 4 {
			t.Fatalf("%d chunks, %v", len(moved), err)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}

		p = open(here)
		err = here.Update(t.Context(), func(tx *store.Tx) error {
			if err := Keep(tx, 9, limits, [][]byte{{0, 0xff}}); !errors.Is(err, ErrInvalid) {
				t.Errorf("what is no list: %v", err)
			}
			return errors.Join(Keep(tx, 7, limits, moved), Keep(tx, 8, limits, nil))
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []int64{7, 8} {
			if _, err := p.Set(t.Context(), id, limits, exists); err != nil {
				t.Fatal(err)
			}
		}
		counted := func(when string) {
			t.Helper()
			s := p.Status(7)
			if s.PerHour.Used != 140 || s.PerDay.Used != 243 || s.NewContactsPerDay.Used != 3 {
				t.Errorf("%s: %d an hour, %d a day, %d new", when, s.PerHour.Used, s.PerDay.Used, s.NewContactsPerDay.Used)
			}
			if s := p.Status(8); s.PerHour.Used != 0 || s.PerDay.Used != 0 {
				t.Errorf("%s: without counts: %+v", when, s)
			}
		}
		counted("after the import")
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		p = open(here)
		counted("after a start")
		time.Sleep(time.Hour)
		if used := p.Status(7).PerHour.Used; used != 0 {
			t.Errorf("%d an hour later", used)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
