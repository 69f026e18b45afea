package access

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"postern/store"
)

// ErrTooManyLinks says that as many links lead to an instance as may.
var ErrTooManyLinks = errors.New("too many portal links")

// MaxLinkLife is how long a link lasts at most, maxLinks how many of an instance there
// may be at a time.
const (
	MaxLinkLife = 24 * time.Hour
	maxLinks    = 100
)

// Link leads somebody without a credential to the pairing of one instance.
type Link struct {
	Instance  int64     `json:"instance"`
	Key       uuid.UUID `json:"key,omitzero"`    // that made it
	Digest    []byte    `json:"digest,omitzero"` // of the token that made it, or what stands for the operator's key
	ExpiresAt time.Time `json:"expiresAt"`
}

// MadeBy reports whether the link was made with a credential that has this digest.
func (l *Link) MadeBy(digest []byte) bool {
	return len(l.Digest) > 0 && bytes.Equal(l.Digest, digest)
}

// Links are those that lead to pairings. Its methods may be called from any goroutine.
type Links struct{ store *store.Store }

// NewLinks returns those in s.
func NewLinks(s *store.Store) *Links { return &Links{s} }

// Make stores a link and returns its secret, of which the file has the digest only.
// Error: ErrTooManyLinks.
func (all *Links) Make(ctx context.Context, l Link) (secret string, err error) {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // it never fails
	secret = base64.RawURLEncoding.EncodeToString(raw)
	id := digest(secret)
	err = all.store.Update(ctx, func(tx *store.Tx) error {
		var gone [][]byte
		live := 0
		err := tx.Scan(bucketLinks, store.Range{}, func(k, raw []byte) (bool, error) {
			var known Link
			switch {
			case json.Unmarshal(raw, &known) != nil, !tx.Now().Before(known.ExpiresAt):
				gone = append(gone, slices.Clone(k))
			case known.Instance == l.Instance:
				live++
			}
			return true, nil
		})
		if live >= maxLinks {
			return fmt.Errorf("%w: %d lead to this instance; they end by themselves", ErrTooManyLinks, live)
		}
		for _, k := range gone {
			err = errors.Join(err, tx.Delete(bucketLinks, k))
		}
		return errors.Join(err, store.PutJSON(tx, bucketLinks, id[:], l))
	})
	if err != nil {
		return "", fmt.Errorf("make a portal link: %w", err)
	}
	return secret, nil
}

// Find returns the link with a secret, unless its time is over.
func (all *Links) Find(secret string) (l Link, found bool) {
	id := sha256.Sum256([]byte(secret))
	err := all.store.View(func(tx *store.Tx) (err error) {
		l, found, err = store.GetJSON[Link](tx, bucketLinks, id[:])
		return err
	})
	return l, err == nil && found && time.Now().Before(l.ExpiresAt)
}
