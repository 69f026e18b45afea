package httpapi

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
)

var testSecret = []byte("0123456789abcdef0123456789abcdef")

// signed makes a token that Mint… would not make.
func signed(t testing.TB, method jwt.SigningMethod, key any, c jwt.MapClaims, header map[string]any) string {
	t.Helper()
	tok := jwt.NewWithClaims(method, c)
	maps.Copy(tok.Header, header)
	s, err := tok.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// forged returns tokens with the given claims that no scheme may accept.
func forged(t *testing.T, good jwt.MapClaims) map[string]string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	with := func(name string, v any) jwt.MapClaims {
		c := jwt.MapClaims{}
		maps.Copy(c, good)
		c[name] = v
		return c
	}
	valid := signed(t, jwt.SigningMethodHS256, testSecret, good, nil)
	part := strings.Split(valid, ".")
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`))
	hour := time.Now().Add(time.Hour).Unix()
	return map[string]string{
		"no token":                   "",
		"not a token":                "abc",
		"alg none, no signature":     none + "." + part[1] + ".",
		"alg none, old signature":    none + "." + part[1] + "." + part[2],
		"alg none by the library":    signed(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, good, nil),
		"RS256":                      signed(t, jwt.SigningMethodRS256, key, good, nil),
		"HS384 with the same secret": signed(t, jwt.SigningMethodHS384, testSecret, good, nil),
		"HS512 with the same secret": signed(t, jwt.SigningMethodHS512, testSecret, good, nil),
		"another secret":             signed(t, jwt.SigningMethodHS256, []byte("another secret of thirty-two bytes"), good, nil),
		"the empty secret":           signed(t, jwt.SigningMethodHS256, []byte{}, good, nil),
		"expired":                    signed(t, jwt.SigningMethodHS256, testSecret, with("exp", time.Now().Add(-time.Second).Unix()), nil),
		"not valid yet":              signed(t, jwt.SigningMethodHS256, testSecret, with("nbf", hour), nil),
		"exp that is no number":      signed(t, jwt.SigningMethodHS256, testSecret, with("exp", "tomorrow"), nil),
		"a critical header":          signed(t, jwt.SigningMethodHS256, testSecret, good, map[string]any{"crit": []string{"x"}}),
		"signature cut":              valid[:len(valid)-2],
		"claims changed":             part[0] + "." + part[1] + "x." + part[2],
		"four parts":                 valid + "." + part[2],
		"white space inside":         part[0] + ". " + part[1] + "." + part[2],
	}
}

func TestForgedTokensAreRefused(t *testing.T) {
	good := jwt.MapClaims{"instanceName": "a", "userId": uuid.NewString(), "exp": time.Now().Add(time.Hour).Unix()}
	if _, err := readToken(testSecret, signed(t, jwt.SigningMethodHS256, testSecret, good, nil)); err != nil {
		t.Fatalf("the good token is refused: %v", err)
	}
	for name, token := range forged(t, good) {
		if _, err := readToken(testSecret, token); !errors.Is(err, errToken) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestMintedTokensAreReadBack(t *testing.T) {
	now := time.Now()
	token, err := MintInstanceToken(testSecret, "shop", 0, now)
	if err != nil {
		t.Fatal(err)
	}
	c, err := readToken(testSecret, token)
	if err != nil || c.ExpiresAt != nil {
		t.Fatalf("got %+v, %v", c, err)
	}
	if name, err := c.instanceName(); err != nil || name != "shop" {
		t.Errorf("got %q, %v", name, err)
	}
	if _, err := c.userID(); !errors.Is(err, errToken) {
		t.Errorf("an instance token speaks for a user: %v", err)
	}
	again, _ := MintInstanceToken(testSecret, "shop", 0, now)
	if again == token {
		t.Error("two issues of a token are the same")
	}

	id := uuid.New()
	token, err = MintUserToken(testSecret, id, time.Hour, now)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = readToken(testSecret, token); err != nil {
		t.Fatal(err)
	}
	if got, err := c.userID(); err != nil || got != id {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := c.instanceName(); !errors.Is(err, errToken) {
		t.Errorf("a user token speaks for an instance: %v", err)
	}
}

func TestInstanceTokenLivesAsLongAsConfigured(t *testing.T) {
	token, err := MintInstanceToken(testSecret, "a", time.Minute, time.Now().Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readToken(testSecret, token); !errors.Is(err, errToken) {
		t.Errorf("got %v", err)
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
		claims, err := readToken(testSecret, signed(t, jwt.SigningMethodHS256, testSecret, c, nil))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := claims.userID(); !errors.Is(err, errToken) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
