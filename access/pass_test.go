package access

import (
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"postern/store"
)

// inTime runs a test with a data file under the fake clock of synctest.
func inTime(t *testing.T, run func(t *testing.T, s *store.Store)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.db")
	synctest.Test(t, func(t *testing.T) {
		s, err := store.Open(store.Options{Path: path, Buckets: Buckets(), NoSync: true, MinFree: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		run(t, s)
	})
}

func rows(t *testing.T, s *store.Store, bucket string) int {
	t.Helper()
	n, err := s.Rows(bucket)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestExcessSessionDisplacesTheOldest of the same key, and no other session.
func TestExcessSessionDisplacesTheOldest(t *testing.T) {
	inTime(t, func(t *testing.T, s *store.Store) {
		all, key := NewSessions(s), uuid.New()
		begin := func(key uuid.UUID) string {
			t.Helper()
			time.Sleep(time.Microsecond) // within a millisecond, too
			_, cookie, err := all.Begin(t.Context(), key, nil, time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			return cookie
		}
		operators := begin(uuid.UUID{})
		var mine []string
		for range maxSessions + 1 {
			mine = append(mine, begin(key))
		}
		if _, found := all.Find(mine[0], nil); found {
			t.Error("sessions are not limited")
		}
		for _, cookie := range append(mine[1:], operators) {
			if _, found := all.Find(cookie, nil); !found {
				t.Fatal("more than the oldest session ended")
			}
		}
		for _, cookie := range mine[1:] { // signing out makes room
			session, _ := all.Find(cookie, nil)
			if err := all.End(t.Context(), session); err != nil {
				t.Fatal(err)
			}
		}
		if n := rows(t, s, bucketSessions); n != 2 {
			t.Errorf("one session left %d records", n)
		}
	})
}

// TestLinkLimitPerInstance: a link is rejected at the limit, until another one expires.
func TestLinkLimitPerInstance(t *testing.T) {
	inTime(t, func(t *testing.T, s *store.Store) {
		all := NewLinks(s)
		lead := func(instance int64) error {
			time.Sleep(time.Millisecond)
			_, err := all.Make(t.Context(), Link{Instance: instance, ExpiresAt: time.Now().Add(time.Hour)})
			return err
		}
		for range maxLinks {
			if err := lead(1); err != nil {
				t.Fatal(err)
			}
		}
		if err := lead(1); !errors.Is(err, ErrTooManyLinks) {
			t.Errorf("one more: %v", err)
		}
		if err := lead(2); err != nil {
			t.Errorf("to another instance: %v", err)
		}
		time.Sleep(time.Hour - 100*time.Millisecond) // the first expires
		if err := lead(1); err != nil {
			t.Errorf("after one expired: %v", err)
		}
	})
}

// TestExpiredPassesOfIdleOwnersAreSwept, including unreadable ones and those of a former
// release.
func TestExpiredPassesOfIdleOwnersAreSwept(t *testing.T) {
	inTime(t, func(t *testing.T, s *store.Store) {
		all := NewSessions(s)
		const strangers = 1000
		for range strangers {
			if _, _, err := all.Begin(t.Context(), uuid.New(), nil, time.Time{}); err != nil {
				t.Fatal(err)
			}
		}
		former := Session{Token: digest("former"), ExpiresAt: time.Now().Add(time.Minute)}
		if err := s.Update(t.Context(), func(tx *store.Tx) error {
			unreadable := digest("unreadable")
			return errors.Join(store.PutJSON(tx, bucketSessions, former.Token[:], former), tx.Put(bucketSessions, unreadable[:], []byte("{")), tx.Put(bucketSessions, []byte("short"), nil))
		}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(SessionLife)
		comes := 0
		for ; rows(t, s, bucketSessions) > 2*comes; comes++ {
			if comes > 2*(2*strangers/sweepStep) {
				t.Fatalf("%d records remain after %d more sessions", rows(t, s, bucketSessions), comes)
			}
			if _, _, err := all.Begin(t.Context(), uuid.UUID{}, nil, time.Time{}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestSignInCostIsIndependentOfSessionCount: 10 000 other sessions add no reads and no
// allocations.
func TestSignInCostIsIndependentOfSessionCount(t *testing.T) {
	inTime(t, func(t *testing.T, s *store.Store) {
		sessions, links := NewSessions(s), NewLinks(s)
		cost := func() float64 {
			return testing.AllocsPerRun(50, func() {
				_, _, err := sessions.Begin(t.Context(), uuid.UUID{}, nil, time.Time{})
				_, made := links.Make(t.Context(), Link{Instance: 1, ExpiresAt: time.Now().Add(time.Second)})
				if err := errors.Join(err, made); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute) // the link expires
			})
		}
		fill := func(n int) {
			for at := range n {
				err := s.Update(t.Context(), func(tx *store.Tx) error {
					id := digest(time.Now().String() + string(rune(at)))
					p := pass{owner: uuid.New(), made: time.Now(), ends: time.Now().Add(SessionLife), id: id}
					l := pass{owner: int64(2 + at), made: p.made, ends: p.ends, id: id}
					return errors.Join(
						store.PutJSON(tx, bucketSessions, id[:], Session{ExpiresAt: p.ends}), tx.Put(bucketSessions, p.entry(), store.Key(p.ends)),
						store.PutJSON(tx, bucketLinks, id[:], Link{ExpiresAt: p.ends}), tx.Put(bucketLinks, l.entry(), store.Key(p.ends)))
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		fill(200) // each sweep has a full step to check
		few := cost()
		fill(10_000)
		many := cost()
		t.Logf("%.0f allocations among 200 of others, %.0f among 10 200", few, many)
		if many > 2*few {
			t.Errorf("a session and a link take %.0f allocations among 10 000 of others, and %.0f among 200", many, few)
		}
	})
}
