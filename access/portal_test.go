package access

import (
	"errors"
	"testing"
	"time"

	"postern/store"
)

func TestPairingCodeRateLimits(t *testing.T) {
	inTime(t, func(t *testing.T, s *store.Store) {
		all := NewLinks(s)
		link := func() string {
			secret, err := all.Make(t.Context(), Link{Instance: 7, ExpiresAt: time.Now().Add(MaxLinkLife)})
			if err != nil {
				t.Fatal(err)
			}
			return secret
		}
		take := func(secret string) time.Duration {
			t.Helper()
			wait, err := all.TakeCode(t.Context(), secret)
			if err != nil {
				t.Fatal(err)
			}
			return wait
		}
		first := link()
		for range 5 {
			if take(first) != 0 {
				t.Fatal("rejected")
			}
		}
		if wait := take(first); wait <= 0 || wait > 15*time.Minute {
			t.Errorf("the sixth waits %v", wait)
		} else {
			time.Sleep(wait)
		}
		for range 3 {
			for range 5 {
				if wait := take(first); wait != 0 {
					t.Fatalf("rejected for %v", wait)
				}
			}
			time.Sleep(15 * time.Minute)
		}
		second := link()
		for _, secret := range []string{first, second} {
			if wait := take(secret); wait < 22*time.Hour || wait > 24*time.Hour {
				t.Errorf("the 21st of the day waits %v", wait)
			}
		}
		time.Sleep(24 * time.Hour)
		if wait := take(link()); wait != 0 {
			t.Errorf("a day later it waits %v", wait)
		}
		if _, err := all.TakeCode(t.Context(), first); !errors.Is(err, ErrNoLink) {
			t.Errorf("an expired link: %v", err)
		}
	})
}
