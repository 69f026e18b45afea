package access

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"postern/store"
)

// ErrTooManyLinks says that as many links lead to an instance as may.
var ErrTooManyLinks = errors.New("too many portal links lead to this instance")

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
type Links struct{ passes passes }

// NewLinks returns those in s.
func NewLinks(s *store.Store) *Links {
	return &Links{passes{store: s, bucket: bucketLinks, most: maxLinks, full: ErrTooManyLinks}}
}

// Make stores a link and returns its secret, of which the file has the digest only.
// Error: ErrTooManyLinks.
func (all *Links) Make(ctx context.Context, l Link) (secret string, err error) {
	secret = newSecret()
	if _, err := all.passes.add(ctx, pass{owner: l.Instance, made: time.Now(), ends: l.ExpiresAt, id: digest(secret)}, l); err != nil {
		return "", fmt.Errorf("make a portal link: %w", err)
	}
	return secret, nil
}

// Find returns the link with a secret, unless its time is over.
func (all *Links) Find(secret string) (l Link, found bool) {
	id := digest(secret)
	err := all.passes.store.View(func(tx *store.Tx) (err error) {
		l, found, err = store.GetJSON[Link](tx, bucketLinks, id[:])
		return err
	})
	return l, err == nil && found && time.Now().Before(l.ExpiresAt)
}
