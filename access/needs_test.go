package access

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/store"
)

// TestCheckReportsUnreadablePassesAndAuditRecords and no readable ones.
func TestCheckReportsUnreadablePassesAndAuditRecords(t *testing.T) {
	r := newRig(t)
	if _, _, err := NewSessions(r.s).Begin(t.Context(), uuid.New(), nil, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, err := NewLinks(r.s).Make(t.Context(), Link{Instance: 7, ExpiresAt: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if err := r.book().Note("global", "webhook.change", "a", "").Keep(t.Context()); err != nil {
		t.Fatal(err)
	}
	faults := func() string {
		t.Helper()
		report, err := r.s.Check(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(report.Faults, "\n")
	}
	if f := faults(); f != "" {
		t.Errorf("undamaged file: %s", f)
	}
	err := r.s.Update(t.Context(), func(tx *store.Tx) error {
		for _, bucket := range []string{bucketSessions, bucketLinks, bucketAudit} {
			for _, key := range []string{"x", strings.Repeat("x", 32), strings.Repeat("x", 56), strings.Repeat("x", 8)} {
				if err := tx.Put(bucket, []byte(key), []byte("{")); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	f := faults()
	for why, want := range map[string]int{"a session ends": 4, "a portal link ends": 4, "a change is missing from the audit log": 4} {
		if n := strings.Count(f, why); n != want {
			t.Errorf("%q %d times, not %d, in\n%s", why, n, want, f)
		}
	}
}
