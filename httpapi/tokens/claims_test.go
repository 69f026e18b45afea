package tokens

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/httpapi/tokens/tokenstest"
)

// signedRaw makes a token of claims given as text.
func signedRaw(t *testing.T, claims string) string {
	t.Helper()
	text := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + base64.RawURLEncoding.EncodeToString([]byte(claims))
	signature, err := algorithm.Sign(text, tokenstest.Secret())
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// TestTheClaimsOfATokenAreReadExactly signs claims that other programs could write, with the right secret.
func TestTheClaimsOfATokenAreReadExactly(t *testing.T) {
	const user = "5a7c1d0e-3c39-4a55-9f57-0b1d2c3e4f50"
	now := time.Now().Unix()
	good := map[string]any{"userId": user, "exp": now + 3600, "iat": now}
	for name, c := range map[string]struct {
		change map[string]any // a nil value removes the claim
		want   bool
	}{
		"as it should be":                  {nil, true},
		"with claims that mean nothing":    {map[string]any{"aud": []string{"x"}, "roles": map[string]any{"a": 1}, "sub": 5}, true},
		"a fraction of a second":           {map[string]any{"exp": float64(now) + 3600.5}, true},
		"issued by a clock a bit ahead":    {map[string]any{"iat": now + 50}, true},
		"no time of issue":                 {map[string]any{"iat": nil}, true},
		"issued in two minutes":            {map[string]any{"iat": now + 120}, false},
		"an expiry as text":                {map[string]any{"exp": "4102444800"}, false},
		"a time of issue as text":          {map[string]any{"iat": "1"}, false},
		"a time of issue that is true":     {map[string]any{"iat": true}, false},
		"a beginning as text":              {map[string]any{"nbf": "1"}, false},
		"an expiry that is null":           {map[string]any{"exp": json.RawMessage("null")}, false},
		"an expiry beyond all years":       {map[string]any{"exp": json.RawMessage("1e300")}, false},
		"an expiry beyond all numbers":     {map[string]any{"exp": json.RawMessage("1e999")}, false},
		"an expiry in a list":              {map[string]any{"exp": []int64{now + 3600}}, false},
		"an expiry in other letters":       {map[string]any{"exp": nil, "EXP": now + 3600}, false},
		"a user in other letters":          {map[string]any{"userId": nil, "userID": user}, false},
		"a user in other letters too":      {map[string]any{"UserId": uuid.NewString()}, true},
		"an instance in other letters too": {map[string]any{"instancename": "a"}, true},
		"a user that is a number":          {map[string]any{"userId": 5}, false},
		"both kinds":                       {map[string]any{"instanceName": "a"}, false},
		"deeper than JSON may be":          {map[string]any{"x": json.RawMessage(strings.Repeat("[", 64) + strings.Repeat("]", 64))}, false},
	} {
		claims := maps.Clone(good)
		for key, v := range c.change {
			if claims[key] = v; v == nil {
				delete(claims, key)
			}
		}
		raw, err := json.Marshal(claims)
		if err != nil {
			t.Fatal(err)
		}
		read, err := read(signedRaw(t, string(raw)))
		if err == nil {
			_, err = read.User()
		}
		if (err == nil) != c.want || err != nil && !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, claims := range map[string]string{
		"a claim twice":     `{"userId":"` + user + `","exp":1,"exp":4102444800}`,
		"no object":         `["` + user + `"]`,
		"null":              `null`,
		"something after":   `{"userId":"` + user + `","exp":4102444800}{}`,
		"nothing":           ``,
		"10 000 deep":       strings.Repeat(`{"a":`, 10_000) + `1` + strings.Repeat(`}`, 10_000),
		"not in UTF-8":      "{\"userId\":\"" + user + "\",\"exp\":4102444800,\"x\":\"\xff\"}",
		"a negative expiry": `{"userId":"` + user + `","exp":-4102444800}`,
	} {
		read, err := read(signedRaw(t, claims))
		if err == nil {
			_, err = read.User()
		}
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
