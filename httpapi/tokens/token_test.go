package tokens

import (
	"errors"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"postern/httpapi/tokens/tokenstest"
)

func TestForgedTokensAreRefused(t *testing.T) {
	good := jwt.MapClaims{"instanceName": "a", "userId": uuid.NewString(), "exp": time.Now().Add(time.Hour).Unix()}
	if _, err := read(tokenstest.Signed(t, jwt.SigningMethodHS256, tokenstest.Secret(), good, nil)); err != nil {
		t.Fatalf("the good token is refused: %v", err)
	}
	for name, token := range tokenstest.Forged(t, good) {
		if _, err := read(token); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestMintedTokensAreReadBack(t *testing.T) {
	now := time.Now()
	token, err := ForInstance(tokenstest.Secret(), "shop", 0, now)
	if err != nil {
		t.Fatal(err)
	}
	c, err := read(token)
	if err != nil || c.ExpiresAt != nil {
		t.Fatalf("got %+v, %v", c, err)
	}
	if name, err := c.Instance(); err != nil || name != "shop" {
		t.Errorf("got %q, %v", name, err)
	}
	if _, err := c.User(); !errors.Is(err, ErrInvalid) {
		t.Errorf("an instance token speaks for a user: %v", err)
	}
	again, _ := ForInstance(tokenstest.Secret(), "shop", 0, now)
	if again == token {
		t.Error("two issues of a token are the same")
	}

	id := uuid.New()
	token, err = ForUser(tokenstest.Secret(), id, time.Hour, now)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = read(token); err != nil {
		t.Fatal(err)
	}
	if got, err := c.User(); err != nil || got != id {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := c.Instance(); !errors.Is(err, ErrInvalid) {
		t.Errorf("a user token speaks for an instance: %v", err)
	}
}

func TestInstanceTokenLivesAsLongAsConfigured(t *testing.T) {
	token, err := ForInstance(tokenstest.Secret(), "a", time.Minute, time.Now().Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := read(token); !errors.Is(err, ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

// TestTokensOutliveClockCorrections: the clock that issued them was hours or years ahead or behind.
func TestTokensOutliveClockCorrections(t *testing.T) {
	for _, off := range []time.Duration{5 * time.Minute, 24 * time.Hour, 10 * 365 * 24 * time.Hour, -time.Hour, -10 * 365 * 24 * time.Hour} {
		then := time.Now().Add(off)
		instance, err := ForInstance(tokenstest.Secret(), "shop", 0, then)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := read(instance); err != nil {
			t.Errorf("instance token of a clock off by %v: %v", off, err)
		}
		if off < 0 {
			continue // its expiry is a time of that clock
		}
		user, err := ForUser(tokenstest.Secret(), uuid.New(), time.Hour, then)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := read(user); err != nil {
			t.Errorf("user token of a clock off by %v: %v", off, err)
		}
	}
}

func TestUserTokenMustExpireAndNameAUUID(t *testing.T) {
	hour := time.Now().Add(time.Hour).Unix()
	for name, c := range map[string]jwt.MapClaims{
		"no exp":        {"userId": uuid.NewString()},
		"no user":       {"exp": hour},
		"not a UUID":    {"userId": "42", "exp": hour},
		"a UUID in URN": {"userId": "urn:uuid:" + uuid.NewString(), "exp": hour},
	} {
		claims, err := read(tokenstest.Signed(t, jwt.SigningMethodHS256, tokenstest.Secret(), c, nil))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := claims.User(); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
