// Package tokenstest makes tokens for tests: valid ones with any claims, and forged
// ones, which no part of the program may accept.
package tokenstest

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Secret signs the valid tokens.
func Secret() []byte { return []byte("0123456789abcdef0123456789abcdef") }

// Signed makes a token with any claims, also one that the program would not make.
func Signed(t testing.TB, method jwt.SigningMethod, key any, c jwt.MapClaims, header map[string]any) string {
	t.Helper()
	tok := jwt.NewWithClaims(method, c)
	maps.Copy(tok.Header, header)
	s, err := tok.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Forged returns tokens with the given claims that no scheme may accept.
func Forged(t testing.TB, good jwt.MapClaims) map[string]string {
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
	valid := Signed(t, jwt.SigningMethodHS256, Secret(), good, nil)
	part := strings.Split(valid, ".")
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`))
	hour := time.Now().Add(time.Hour).Unix()
	return map[string]string{
		"no token":                   "",
		"not a token":                "abc",
		"alg none, no signature":     none + "." + part[1] + ".",
		"alg none, old signature":    none + "." + part[1] + "." + part[2],
		"alg none by the library":    Signed(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, good, nil),
		"RS256":                      Signed(t, jwt.SigningMethodRS256, key, good, nil),
		"HS384 with the same secret": Signed(t, jwt.SigningMethodHS384, Secret(), good, nil),
		"HS512 with the same secret": Signed(t, jwt.SigningMethodHS512, Secret(), good, nil),
		"another secret":             Signed(t, jwt.SigningMethodHS256, []byte("another secret of thirty-two bytes"), good, nil),
		"the empty secret":           Signed(t, jwt.SigningMethodHS256, []byte{}, good, nil),
		"expired":                    Signed(t, jwt.SigningMethodHS256, Secret(), with("exp", time.Now().Add(-time.Second).Unix()), nil),
		"not valid yet":              Signed(t, jwt.SigningMethodHS256, Secret(), with("nbf", hour), nil),
		"exp that is no number":      Signed(t, jwt.SigningMethodHS256, Secret(), with("exp", "tomorrow"), nil),
		"a critical header":          Signed(t, jwt.SigningMethodHS256, Secret(), good, map[string]any{"crit": []string{"x"}}),
		"signature cut":              valid[:len(valid)-2],
		"claims changed":             part[0] + "." + part[1] + "x." + part[2],
		"four parts":                 valid + "." + part[2],
		"white space inside":         part[0] + ". " + part[1] + "." + part[2],
	}
}
