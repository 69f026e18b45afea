package link

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"postern/store"
)

func open(t *testing.T, secret string) (*store.Store, *Links) {
	t.Helper()
	s, err := store.Open(store.Options{Path: filepath.Join(t.TempDir(), "t.db"), Buckets: Buckets(), NoSync: true, MinFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	l, err := Open(s, []byte(secret), func(*store.Tx, int64) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return s, l
}

func TestTokensSayWhatWasClaimed(t *testing.T) {
	_, l := open(t, strings.Repeat("s", 32))
	want := Claim{7, 42, time.Unix(1_900_000_000, 0).UTC()}
	token, err := l.New(want)
	if err != nil || len(token) > 80 {
		t.Fatal(token, err)
	}
	if got, err := l.Read(token); err != nil || got != want {
		t.Errorf("%+v %v", got, err)
	}
}

func TestRevocationEndsLinksOfOneInstance(t *testing.T) {
	_, l := open(t, strings.Repeat("s", 32))
	one, _ := l.New(Claim{1, 42, time.Unix(1_900_000_000, 0)})
	other, _ := l.New(Claim{2, 42, time.Unix(1_900_000_000, 0)})
	for range 2 { // also within a millisecond
		if _, err := l.Revoke(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Read(one); !errors.Is(err, ErrInvalid) {
			t.Errorf("revoked: %v", err)
		}
		var err error
		if one, err = l.New(Claim{1, 42, time.Unix(1_900_000_000, 0)}); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Read(one); err != nil {
			t.Errorf("a new one: %v", err)
		}
	}
	if _, err := l.Read(other); err != nil {
		t.Errorf("of another instance: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("")
	f.Add("AQAAAAAAAAABAAAAAAAAACo")
	f.Fuzz(func(t *testing.T, token string) {
		_, l := open(t, strings.Repeat("s", 32))
		if _, err := l.Read(token); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %v", token, err)
		}
	})
}
