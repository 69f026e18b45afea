package tokens

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Reader reads the tokens that one secret signed. It is safe for concurrent use.
//
// The validity of a signature depends only on secret and token, so a Reader caches the
// claims of the last tokens by their digest. It checks the times on every read; the
// caller checks whether the token is the current one.
type Reader struct {
	secret []byte
	most   int // tokens to remember
	parser *jwt.Parser
	now    func() time.Time

	mu    sync.RWMutex
	known map[[sha256.Size]byte]*Claims // each is never changed
}

// mostKnown is the number of cached tokens, of some 400 bytes each.
const mostKnown = 4096

// NewReader returns a reader of the tokens that secret signs; now is the clock for their times.
func NewReader(secret []byte, now func() time.Time) *Reader {
	return &Reader{
		secret: secret, most: mostKnown, now: now, known: map[[sha256.Size]byte]*Claims{},
		parser: jwt.NewParser(jwt.WithValidMethods([]string{algorithm.Alg()}), jwt.WithStrictDecoding(), jwt.WithoutClaimsValidation()),
	}
}

// Read checks signature, algorithm and times of a token of either kind. Its
// error wraps ErrInvalid.
func (r *Reader) Read(token string) (Claims, error) {
	c, err := r.verified(token)
	if err != nil {
		return Claims{}, err
	}
	if err := c.inTime(r.now()); err != nil {
		return Claims{}, err
	}
	return *c, nil
}

// verified returns the claims of a token with a valid signature, regardless of their times.
func (r *Reader) verified(token string) (*Claims, error) {
	var room [512]byte // on the stack, for nearly all tokens
	digest := sha256.Sum256(append(room[:0], token...))
	r.mu.RLock()
	c := r.known[digest]
	r.mu.RUnlock()
	if c != nil {
		return c, nil
	}
	c, err := r.verify(token)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.known) >= r.most {
		clear(r.known)
	}
	r.known[digest] = c
	return c, nil
}

func (r *Reader) verify(token string) (*Claims, error) {
	// Even a strict base64 decoder skips line breaks, so a token would have several encodings.
	if strings.ContainsAny(token, "\r\n") {
		return nil, errors.New("line break")
	}
	var c Claims
	t, err := r.parser.ParseWithClaims(token, &c, func(*jwt.Token) (any, error) { return r.secret, nil })
	if err != nil {
		return nil, err
	}
	// RFC 7515: a reader that does not know a critical header must refuse the token.
	if _, critical := t.Header["crit"]; critical {
		return nil, errors.New("critical header")
	}
	return &c, nil
}
