package tokens

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"postern/httpapi/tokens/tokenstest"
)

// read reads a token twice, so that every test of this package also tests the cache.
func read(token string) (Claims, error) {
	r := NewReader(tokenstest.Secret(), time.Now)
	first, err := r.Read(token)
	second, again := r.Read(token)
	if fmt.Sprint(again) != fmt.Sprint(err) || !cmp.Equal(first, second) {
		return second, fmt.Errorf("read again: %v and %w, at first %v and %w", second, again, first, err)
	}
	return first, err
}

// TestCachedTokenTimesAreCheckedEachTime: a cached token is valid from its beginning to its end, whenever it was read
// before.
func TestCachedTokenTimesAreCheckedEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		token := tokenstest.Signed(t, algorithm, tokenstest.Secret(), jwt.MapClaims{
			"userId": uuid.NewString(), "iat": now.Add(2 * time.Minute).Unix(), "nbf": now.Add(2 * time.Minute).Unix(), "exp": now.Add(4 * time.Minute).Unix(),
		}, nil)
		r := NewReader(tokenstest.Secret(), time.Now)
		for minute, want := range []bool{false, false, true, true, false, false} {
			if _, err := r.Read(token); (err == nil) != want || err != nil && !errors.Is(err, ErrInvalid) {
				t.Errorf("after %d minutes: %v", minute, err)
			}
			time.Sleep(time.Minute)
		}
		if len(r.known) != 1 {
			t.Errorf("%d tokens are remembered", len(r.known))
		}
	})
}

func TestOnlyTokensThatTheSecretSignedAreRemembered(t *testing.T) {
	good := jwt.MapClaims{"instanceName": "a"}
	r := NewReader(tokenstest.Secret(), time.Now)
	for name, token := range tokenstest.Forged(t, good) {
		if name == "expired" || name == "not valid yet" {
			continue // signed as it should be
		}
		if _, err := r.Read(token); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if len(r.known) != 0 {
		t.Errorf("%d forged tokens are remembered", len(r.known))
	}
	token := tokenstest.Signed(t, algorithm, tokenstest.Secret(), good, nil)
	if _, err := r.Read(token); err != nil || len(r.known) != 1 {
		t.Errorf("a good one: %v, %d are remembered", err, len(r.known))
	}
	if _, err := NewReader([]byte("another secret of 32 bytes, or so"), time.Now).Read(token); !errors.Is(err, ErrInvalid) {
		t.Errorf("a reader of another secret: %v", err)
	}
}

func TestAReaderRemembersNoMoreThanItsBound(t *testing.T) {
	r := NewReader(tokenstest.Secret(), time.Now)
	r.most = 3
	for round := range 2 {
		for i := range 10 {
			name := fmt.Sprint("i", i)
			c, err := r.Read(tokenstest.Signed(t, algorithm, tokenstest.Secret(), jwt.MapClaims{"instanceName": name}, nil))
			if err != nil || c.InstanceName != name {
				t.Errorf("round %d: %q, %v", round, c.InstanceName, err)
			}
			if len(r.known) > 3 {
				t.Fatalf("%d tokens are remembered", len(r.known))
			}
		}
	}
}
