package access

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/store"
)

// TestClockFarBehindKeepsSessionsAndLinks begins sessions and makes links under a clock
// that starts in the past: they work at once, are kept when others are added, and survive
// the correction. An expired key stays expired.
func TestClockFarBehindKeepsSessionsAndLinks(t *testing.T) {
	r := newRig(t)
	expired, text, err := r.keys().Create(t.Context(), Key{Name: "old", Scopes: []Scope{Read}, ExpiresAt: time.Now().Add(time.Second)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	put := func() {
		t.Helper()
		if err := r.s.Update(t.Context(), func(tx *store.Tx) error { _, err := tx.NextID(bucketAudit); return err }); err != nil {
			t.Fatal(err)
		}
	}
	put()
	off := time.Duration(0)
	r.now = func() time.Time { return time.Now().Add(off) }
	off = 3 * time.Second // the key expires
	r.again()
	put()
	off = -10 * 365 * 24 * time.Hour
	r.again()
	if _, err := r.keys().ByText(text, "10.0.0.1"); err == nil {
		t.Errorf("the key that expired at %v is valid again", expired.ExpiresAt)
	}
	sessions, links := NewSessions(r.s), NewLinks(r.s)
	var cookies, secrets []string
	for range 3 {
		_, cookie, err := sessions.Begin(t.Context(), uuid.UUID{}, []byte("operator"), time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		secret, err := links.Make(t.Context(), Link{Instance: 1, ExpiresAt: r.s.Now().Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		cookies, secrets = append(cookies, cookie), append(secrets, secret)
	}
	look := func(when string) {
		t.Helper()
		for i := range cookies {
			if _, found := sessions.Find(cookies[i], []byte("operator")); !found {
				t.Errorf("%s: session %d has ended", when, i)
			}
			if _, found := links.Find(secrets[i]); !found {
				t.Errorf("%s: link %d has ended", when, i)
			}
			if _, err := links.TakeCode(t.Context(), secrets[i]); err != nil {
				t.Errorf("%s: link %d got no code: %v", when, i, err)
			}
		}
	}
	look("behind")
	off = 0
	r.again()
	sessions, links = NewSessions(r.s), NewLinks(r.s)
	look("corrected")
}
