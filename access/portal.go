package access

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
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

// Pairing codes that one link asks for within linkCodesIn, and all links of an instance
// within instanceCodesIn: each rings at the phone of whoever is named.
const (
	maxLinkCodes     = 5
	linkCodesIn      = 15 * time.Minute
	maxInstanceCodes = 20
	instanceCodesIn  = 24 * time.Hour
)

// ErrNoLink says that a link ended.
var ErrNoLink = errors.New("there is no such portal link")

// Link leads somebody without a credential to the pairing of one instance.
type Link struct {
	Instance  int64     `json:"instance"`
	Key       uuid.UUID `json:"key,omitzero"`    // that made it
	Digest    []byte    `json:"digest,omitzero"` // of the token that made it, or what stands for the operator's key
	ExpiresAt time.Time `json:"expiresAt"`

	// Codes is when pairing codes were asked for by the link, the newest maxLinkCodes.
	Codes []time.Time `json:"codes,omitempty"`
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
	if _, err := all.passes.add(ctx, pass{owner: l.Instance, made: all.passes.store.Now(), ends: l.ExpiresAt, id: digest(secret)}, l); err != nil {
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
	return l, err == nil && found && all.passes.store.Now().Before(l.ExpiresAt)
}

// instanceCodes is when pairing codes were asked for by any link of an instance. It lies
// beside the links, ends like one, and outlives them.
type instanceCodes struct {
	Codes     []time.Time `json:"codes"`
	ExpiresAt time.Time   `json:"expiresAt"`
}

// codesKey is where the codes of an instance are. It has the size of a digest, and no
// secret has this one.
func codesKey(instance int64) []byte {
	return store.Key(make([]byte, sha256.Size-8), instance)
}

// TakeCode counts a pairing code that is asked for by the link with a secret. It returns
// how long to wait when the link or its instance has had as many as it may. The counts
// outlive a restart. Error: ErrNoLink.
func (all *Links) TakeCode(ctx context.Context, secret string) (wait time.Duration, err error) {
	id := digest(secret)
	err = all.passes.store.Update(ctx, func(tx *store.Tx) error {
		wait = 0
		l, found, err := store.GetJSON[Link](tx, bucketLinks, id[:])
		if err != nil {
			return err
		}
		now := tx.Now()
		if !found || !now.Before(l.ExpiresAt) {
			return ErrNoLink
		}
		key := codesKey(l.Instance)
		of, _, err := store.GetJSON[instanceCodes](tx, bucketLinks, key)
		if err != nil && !errors.Is(err, store.ErrDamaged) {
			return err
		}
		l.Codes, of.Codes = recent(l.Codes, linkCodesIn, now), recent(of.Codes, instanceCodesIn, now)
		wait = max(untilRoom(l.Codes, maxLinkCodes, linkCodesIn, now), untilRoom(of.Codes, maxInstanceCodes, instanceCodesIn, now))
		if wait > 0 {
			return nil
		}
		l.Codes, of.Codes, of.ExpiresAt = append(l.Codes, now), append(of.Codes, now), now.Add(instanceCodesIn)
		return errors.Join(store.PutJSON(tx, bucketLinks, id[:], l), store.PutJSON(tx, bucketLinks, key, of))
	})
	if err != nil {
		return 0, fmt.Errorf("count a pairing code: %w", err)
	}
	return wait, nil
}

// recent are the times that are within a span of now. One after now is of a clock that
// was set back since; it counts for no longer than the span either.
func recent(times []time.Time, within time.Duration, now time.Time) []time.Time {
	return slices.DeleteFunc(slices.Clone(times), func(t time.Time) bool { return now.Sub(t).Abs() >= within })
}

// untilRoom is how long it takes until there is room for one more of most.
func untilRoom(times []time.Time, most int, within time.Duration, now time.Time) time.Duration {
	if len(times) < most {
		return 0
	}
	return max(time.Second, within-now.Sub(times[len(times)-most]))
}
