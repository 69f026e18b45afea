package pace

import (
	"path/filepath"
	"strings"
	"testing"

	"postern/store"
)

// TestCheckReportsUnreadableLimits: each unreadable record of an instance's limits is a fault, and
// no readable one is.
func TestCheckReportsUnreadableLimits(t *testing.T) {
	s, err := store.Open(store.Options{Path: filepath.Join(t.TempDir(), "t.db"), Buckets: Buckets(), NoSync: true, MinFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	put := func(bucket string, key []byte, value string) {
		t.Helper()
		if err := s.Update(t.Context(), func(tx *store.Tx) error { return tx.Put(bucket, key, []byte(value)) }); err != nil {
			t.Fatal(err)
		}
	}
	faults := func() []string {
		t.Helper()
		r, err := s.Check(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return r.Faults
	}
	put(bucket, limitsKey(1), `{"perMinute":5}`)
	if f := faults(); len(f) > 0 {
		t.Errorf("of limits that are: %q", f)
	}
	put(bucket, limitsKey(2), `{"perMinute":-5}`)
	put(bucket, limitsKey(3), `{`)
	if f := strings.Join(faults(), "\n"); strings.Count(f, "the limits of an instance are not enforced") != 2 {
		t.Errorf("of limits that are none: %s", f)
	}
	put(bucket, store.Key(int64(4), byte('D'), uint64(1)), "\xff")
	put(heads, headKey(5), "x")
	if f := strings.Join(faults(), "\n"); strings.Count(f, "count as sent at the start") != 2 {
		t.Errorf("of what left: %s", f)
	}
}
