package idempotency

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"postern/store"
)

// TestClockThatIsAheadExpiresNoKey repeats a request under wrong clocks: it must not be executed again.
func TestClockThatIsAheadExpiresNoKey(t *testing.T) {
	const year = 365 * 24 * time.Hour
	path := filepath.Join(t.TempDir(), "k.db")
	id := OfInstance(1, "order-1")
	off := time.Duration(0)
	start := func(ahead time.Duration, do func(s *store.Store)) {
		t.Helper()
		off = ahead
		s, err := store.Open(store.Options{Path: path, Buckets: Buckets(), NoSync: true, MinFree: 1, Now: func() time.Time { return time.Now().Add(off) }})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		do(s)
	}
	start(0, func(s *store.Store) {
		err := s.Update(t.Context(), func(tx *store.Tx) error {
			rec := (&Request{route: "POST /x", requestID: "r"}).record(tx)
			rec.Status, rec.body = 200, []byte("{}")
			return put(tx, id, rec)
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	for _, ahead := range []time.Duration{10 * year, -10 * year, 0} {
		start(ahead, func(s *store.Store) {
			if err := pruneOld(context.Background(), s); err != nil {
				t.Fatal(err)
			}
			if _, found, err := find(s, id); !found || err != nil {
				t.Errorf("with the clock %v ahead the request would be carried out again (%v)", ahead, err)
			}
		})
	}
}
