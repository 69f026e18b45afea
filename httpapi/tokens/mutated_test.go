package tokens

import (
	"encoding/base64"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"postern/httpapi/tokens/tokenstest"
)

// goodTokens returns one token of each kind, the same in every process, because a fuzz target runs in several.
func goodTokens(t testing.TB) []string {
	t.Helper()
	const far = 32503680000 // the year 3000
	return []string{
		tokenstest.Signed(t, algorithm, tokenstest.Secret(), jwt.MapClaims{"userId": "5a7c1d0e-3c39-4a55-9f57-0b1d2c3e4f50", "exp": far, "iat": 1, "jti": "a"}, nil),
		tokenstest.Signed(t, algorithm, tokenstest.Secret(), jwt.MapClaims{"instanceName": "shop", "iat": 1, "jti": "b"}, nil),
	}
}

const tokenAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."

// mutators change a token as an attacker could. A mutator may return the token unchanged; such a round does not count.
func mutators() map[string]func(r *rand.Rand, token string) string {
	return map[string]func(r *rand.Rand, token string) string{
		"a bit flipped": func(r *rand.Rand, s string) string {
			b := []byte(s)
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
			return string(b)
		},
		"a character replaced": func(r *rand.Rand, s string) string {
			b := []byte(s)
			b[r.IntN(len(b))] = tokenAlphabet[r.IntN(len(tokenAlphabet))]
			return string(b)
		},
		"the last character replaced": func(r *rand.Rand, s string) string {
			return s[:len(s)-1] + string(tokenAlphabet[r.IntN(len(tokenAlphabet))])
		},
		"a byte inserted": func(r *rand.Rand, s string) string {
			i := r.IntN(len(s) + 1)
			return s[:i] + string([]byte{byte(r.IntN(256))}) + s[i:]
		},
		"white space or padding inserted": func(r *rand.Rand, s string) string {
			i := r.IntN(len(s) + 1)
			return s[:i] + []string{"\n", "\r", "\r\n", " ", "\t", "=", "==", "\x00"}[r.IntN(8)] + s[i:]
		},
		"a piece removed": func(r *rand.Rand, s string) string {
			i := r.IntN(len(s))
			return s[:i] + s[min(len(s), i+1+r.IntN(4)):]
		},
		"two characters swapped": func(r *rand.Rand, s string) string {
			b := []byte(s)
			i, j := r.IntN(len(b)), r.IntN(len(b))
			b[i], b[j] = b[j], b[i]
			return string(b)
		},
		"parts in another order": func(r *rand.Rand, s string) string {
			parts := strings.Split(s, ".")
			r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
			return strings.Join(parts, ".")
		},
		"another header":         inPart(0, `"HS256"`, `"none"`, `"None"`, `"HS384"`, `"HS512"`, `"RS256"`, `"ES256"`, `""`, `null`),
		"another life":           inPart(1, `"exp":`, `"exp":9`, `"exp":1`, `"x":`, `"exp":null,"x":`),
		"another subject":        inPart(1, `"jti":"`, `"userId":"00000000-0000-4000-8000-000000000000","jti":"`, `"instanceName":"desk","jti":"`),
		"signed by another":      resigned(jwt.SigningMethodHS256),
		"signed by another, 512": resigned(jwt.SigningMethodHS512),
	}
}

// inPart replaces a text in the decoded header or claims and keeps the
// signature, or drops it.
func inPart(part int, old string, to ...string) func(*rand.Rand, string) string {
	return func(r *rand.Rand, s string) string {
		parts := strings.Split(s, ".")
		text, err := base64.RawURLEncoding.DecodeString(parts[part])
		if err != nil {
			return s
		}
		changed := strings.Replace(string(text), old, to[r.IntN(len(to))], 1)
		parts[part] = base64.RawURLEncoding.EncodeToString([]byte(changed))
		if changed != string(text) && r.IntN(4) == 0 {
			parts[2] = ""
		}
		return strings.Join(parts, ".")
	}
}

// resigned signs the same claims with a secret that differs in one bit.
func resigned(method jwt.SigningMethod) func(*rand.Rand, string) string {
	return func(r *rand.Rand, s string) string {
		secret := slices.Clone(tokenstest.Secret())
		secret[r.IntN(len(secret))] ^= 1 << r.IntN(8)
		signing := s[:strings.LastIndexByte(s, '.')]
		signature, err := method.Sign(signing, secret)
		if err != nil {
			return s
		}
		return signing + "." + base64.RawURLEncoding.EncodeToString(signature)
	}
}

// TestNoMutatedTokenIsAccepted makes MUTATIONS mutated tokens, 20 000 by default. Any that is accepted would allow impersonation, or
// would be a second encoding of a token that a list of revoked tokens would miss.
func TestNoMutatedTokenIsAccepted(t *testing.T) {
	rounds := 20_000
	if text := os.Getenv("MUTATIONS"); text != "" {
		var err error
		if rounds, err = strconv.Atoi(text); err != nil {
			t.Fatalf("MUTATIONS: %v", err)
		}
	}
	good, table := goodTokens(t), mutators()
	var names []string
	for name := range table {
		names = append(names, name)
	}
	slices.Sort(names)
	r := rand.New(rand.NewPCG(1, 2))
	refused := map[string]int{}
	for done := 0; done < rounds; {
		name, token := names[r.IntN(len(names))], good[r.IntN(len(good))]
		mutated := table[name](r, token)
		if slices.Contains(good, mutated) {
			continue
		}
		done++
		if _, err := read(mutated); err == nil {
			t.Fatalf("accepted after %d: %s: %q", done, name, mutated)
		}
		refused[name]++
	}
	for _, name := range names {
		if refused[name] == 0 {
			t.Errorf("%s: no token was made", name)
		}
	}
	t.Logf("%d mutated tokens, none accepted: %v", rounds, refused)
}

// FuzzNoOtherTokenIsAccepted checks that only the tokens that were made are accepted.
func FuzzNoOtherTokenIsAccepted(f *testing.F) {
	good := goodTokens(f)
	r := rand.New(rand.NewPCG(3, 4))
	for _, token := range good {
		f.Add(token)
		for _, mutate := range mutators() {
			f.Add(mutate(r, token))
		}
	}
	f.Fuzz(func(t *testing.T, token string) {
		if _, err := read(token); err == nil && !slices.Contains(good, token) {
			t.Errorf("accepted %q", token)
		}
	})
}
