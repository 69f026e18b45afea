package access

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/time/rate"
)

func TestKeyTextFormat(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		text := newText()
		if len(text) != 52 || !strings.HasPrefix(text, "pk_") || strings.Trim(text[3:], digits) != "" || !WellFormed(text) || seen[text] {
			t.Fatalf("text %q", text)
		}
		seen[text] = true
		for i := range text { // any single error is detected
			wrong := []byte(text)
			wrong[i] = digits[(strings.IndexByte(digits, text[i])+1+len(digits))%len(digits)]
			if string(wrong) != text && WellFormed(string(wrong)) {
				t.Fatalf("%q is accepted as %q", wrong, text)
			}
		}
		if WellFormed(text[:51]) || WellFormed(text+"0") {
			t.Fatalf("a part of %q is accepted", text)
		}
	}
}

func TestKeyIsStoredAsDigestAndSurvivesRestart(t *testing.T) {
	r := newRig(t)
	k := Key{Name: "k", Scopes: []Scope{Send, Read}, Instances: []Instance{{2, "b"}, {1, "a"}}, Recipients: []string{"+49 151 12345678"}, PerMinute: 7, ExpiresAt: later(time.Hour)}
	made, text, err := r.keys().Create(t.Context(), k, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.again()
	raw, err := os.ReadFile(r.path)
	if err != nil || strings.Contains(string(raw), text) || strings.Contains(string(raw), text[3:40]) {
		t.Errorf("the file contains the text, or error: %v", err)
	}
	got, err := r.keys().ByText(text, "192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	if got.ID != made.ID || !slices.Equal(got.Scopes, []Scope{Read, Send}) || !got.Opens(1) || !got.Opens(2) || got.Opens(3) || got.Everywhere() ||
		!got.MayWriteTo("4915112345678@s.whatsapp.net") || got.MayWriteTo("4915112345679@s.whatsapp.net") || got.PerMinute != 7 {
		t.Errorf("%+v", got)
	}
}

func TestDeletedKeyIsInvalidAfterRestart(t *testing.T) {
	r := newRig(t)
	all := r.keys()
	k, text, err := all.Create(t.Context(), sound(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := all.Delete(t.Context(), k.ID, false); err != nil {
		t.Fatal(err)
	}
	if _, err := all.ByText(text, ""); !errors.Is(err, ErrUnknown) {
		t.Errorf("%v", err)
	}
	if _, err := all.ByID(k.ID, ""); !errors.Is(err, ErrUnknown) {
		t.Errorf("%v", err)
	}
	r.again()
	if _, err := r.keys().ByText(text, ""); !errors.Is(err, ErrUnknown) {
		t.Errorf("after a restart: %v", err)
	}
	if _, err := r.keys().Delete(t.Context(), k.ID, false); !errors.Is(err, ErrNotFound) {
		t.Errorf("twice: %v", err)
	}
}

func TestLastUseOfKeyIsStoredAsynchronously(t *testing.T) {
	r := newRig(t)
	all := r.keys()
	k, text, err := all.Create(t.Context(), sound(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := all.Get(k.ID); !got.LastUsedAt.IsZero() {
		t.Errorf("%+v", got)
	}
	if _, err := all.ByText(text, "192.0.2.7"); err != nil {
		t.Fatal(err)
	}
	if got, _ := all.Get(k.ID); got.LastUsedFrom != "192.0.2.7" || time.Since(got.LastUsedAt) > time.Minute {
		t.Errorf("%+v", got)
	}
	all.Start()
	if err := all.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.again()
	if got, _ := r.keys().Get(k.ID); got.LastUsedFrom != "192.0.2.7" || got.LastUsedAt.IsZero() {
		t.Errorf("after a restart: %+v", got)
	}
}

func TestChangeReportsNarrowing(t *testing.T) {
	r := newRig(t)
	all := r.keys()
	k, _, err := all.Create(t.Context(), Key{Name: "k", Scopes: []Scope{Send}, Instances: []Instance{{1, "a"}, {2, "b"}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	soon := time.Now().Add(time.Hour)
	for i, c := range []struct {
		change  func(*Key)
		narrows bool
	}{
		{func(k *Key) { k.Name = "other" }, false},
		{func(k *Key) { k.Instances = []Instance{{1, "a"}, {2, "b"}, {3, "c"}} }, false},
		{func(k *Key) { k.Instances = []Instance{{1, "a"}, {3, "c"}} }, true},
		{func(k *Key) { k.Instances = nil }, false},
		{func(k *Key) { k.Instances = []Instance{{1, "a"}} }, true},
		{func(k *Key) { k.Recipients = []string{"4915112345678"} }, true},
		{func(k *Key) { k.Recipients = []string{"4915112345678", "4915112345679"} }, false},
		{func(k *Key) { k.Recipients = nil }, false},
		{func(k *Key) { k.ExpiresAt = soon.Add(time.Hour) }, true},
		{func(k *Key) { k.ExpiresAt = soon }, true},
		{func(k *Key) { k.ExpiresAt = soon.Add(time.Minute) }, false},
		{func(k *Key) { k.ExpiresAt = time.Time{} }, false},
	} {
		_, narrower, err := all.Change(t.Context(), k.ID, func(k *Key) error { c.change(k); return nil })
		if err != nil || narrower != c.narrows {
			t.Errorf("change %d narrows: %v, %v", i, narrower, err)
		}
	}
	if _, _, err := all.Change(t.Context(), k.ID, func(k *Key) error { k.Name = ""; return nil }); !errors.Is(err, ErrInvalid) {
		t.Errorf("%v", err)
	}
	if got, _ := all.Get(k.ID); got.Name != "other" {
		t.Errorf("a rejected change modified %+v", got)
	}
}

// TestEveryAcceptedAgentCallIsAudited, even with two servers of 120 calls a minute each,
// or with one that sends two minutes' calls at once; no key fills the log.
func TestEveryAcceptedAgentCallIsAudited(t *testing.T) {
	const perMinute, atOnce = 120, 256
	l := rate.NewLimiter(rate.Limit(perMinute)/60, atOnce)
	for minute := range 60 {
		at := time.Unix(int64(60*minute), 0)
		if minute%2 == 0 {
			at = at.Add(59 * time.Second)
		}
		for i := range perMinute {
			if wait := takeToken(l, at); wait != 0 {
				t.Fatalf("call %d of minute %d is not audited", i, minute)
			}
		}
	}
	noted, begin := 0, time.Unix(100_000, 0)
	for at := time.Duration(0); at < time.Hour; at += 100 * time.Millisecond {
		if wait := takeToken(l, begin.Add(at)); wait == 0 {
			noted++
		} else if wait > time.Second {
			t.Fatalf("waits %s", wait)
		}
	}
	if noted > 60*perMinute+atOnce || noted < 60*perMinute {
		t.Errorf("%d calls audited in an hour", noted)
	}
	if wait := takeToken(l, begin.Add(-time.Hour)); wait > time.Minute {
		t.Errorf("with a clock that was set back: %s", wait)
	}
}

func TestSessionSurvivesRestartAndExpires(t *testing.T) {
	r := newRig(t)
	operator := []byte("the operator's")
	_, mine, err := NewSessions(r.s).Begin(t.Context(), uuid.UUID{}, operator, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	_, short, err := NewSessions(r.s).Begin(t.Context(), uuid.New(), nil, later(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	r.again()
	all := NewSessions(r.s)
	if s, found := all.Find(mine, operator); !found || time.Until(s.ExpiresAt) > SessionLife || time.Until(s.ExpiresAt) < SessionLife-time.Minute {
		t.Errorf("%+v, %v", s, found)
	}
	if _, found := all.Find(mine, []byte("another key's")); found {
		t.Error("the session survives replacement of the operator's key")
	}
	<-time.After(30 * time.Millisecond)
	if _, found := all.Find(short, nil); found {
		t.Error("the session survives its key")
	}
}
