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

// ErrTooManyLinks reports that the instance has the maximum number of links.
var ErrTooManyLinks = errors.New("too many portal links for this instance")

// MaxLinkLife is the longest lifetime of a link, maxLinks the maximum number of links of
// an instance.
const (
	MaxLinkLife = 24 * time.Hour
	maxLinks    = 100
)

// Limits on pairing codes: per link within linkCodesIn, and per instance within
// instanceCodesIn. Each code notifies the phone of the given number.
const (
	maxLinkCodes     = 5
	linkCodesIn      = 15 * time.Minute
	maxInstanceCodes = 20
	instanceCodesIn  = 24 * time.Hour
)

// ErrNoLink reports that a link has expired or was removed.
var ErrNoLink = errors.New("portal link not found")

// Link grants access to the pairing of one instance without another credential.
type Link struct {
	Instance  int64     `json:"instance"`
	Key       uuid.UUID `json:"key,omitzero"`    // that created it
	Digest    []byte    `json:"digest,omitzero"` // of the token that created it, or what stands for the operator's key
	ExpiresAt time.Time `json:"expiresAt"`

	// Codes are the times of the last maxLinkCodes pairing codes requested with the link.
	Codes []time.Time `json:"codes,omitempty"`
}

// MadeBy reports whether the link was created with the credential that has this digest.
func (l *Link) MadeBy(digest []byte) bool {
	return len(l.Digest) > 0 && bytes.Equal(l.Digest, digest)
}

// Links holds the portal links. It is safe for concurrent use.
type Links struct{ passes passes }

// NewLinks returns the links in s.
func NewLinks(s *store.Store) *Links {
	return &Links{passes{store: s, bucket: bucketLinks, most: maxLinks, full: ErrTooManyLinks}}
}

// Make stores a link and returns its secret, of which the store keeps only the digest.
// Error: ErrTooManyLinks.
func (all *Links) Make(ctx context.Context, l Link) (secret string, err error) {
	secret = newSecret()
	if _, err := all.passes.add(ctx, pass{owner: l.Instance, made: all.passes.store.Now(), ends: l.ExpiresAt, id: digest(secret)}, l); err != nil {
		return "", fmt.Errorf("make a portal link: %w", err)
	}
	return secret, nil
}

// Find returns the link with a secret unless it has expired.
func (all *Links) Find(secret string) (l Link, found bool) {
	id := digest(secret)
	err := all.passes.store.View(func(tx *store.Tx) (err error) {
		l, found, err = store.GetJSON[Link](tx, bucketLinks, id[:])
		return err
	})
	return l, err == nil && found && all.passes.store.Now().Before(l.ExpiresAt)
}

// instanceCodes are the times of pairing codes requested with any link of an instance.
// The record is stored beside the links, expires like one, and outlives them.
type instanceCodes struct {
	Codes     []time.Time `json:"codes"`
	ExpiresAt time.Time   `json:"expiresAt"`
}

// codesKey returns the key of an instance's codes. It has the size of a digest but cannot
// collide with one.
func codesKey(instance int64) []byte {
	return store.Key(make([]byte, sha256.Size-8), instance)
}

// TakeCode counts a pairing code requested with the link that has a secret. If the limit
// of the link or of its instance is reached, it returns how long to wait. The counts
// survive a restart. Error: ErrNoLink.
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

// recent returns the times within a span before or after now. Times after now come from a
// clock that was set back since; they too count no longer than the span.
func recent(times []time.Time, within time.Duration, now time.Time) []time.Time {
	return slices.DeleteFunc(slices.Clone(times), func(t time.Time) bool { return now.Sub(t).Abs() >= within })
}

// untilRoom returns how long it takes until fewer than most times count.
func untilRoom(times []time.Time, most int, within time.Duration, now time.Time) time.Duration {
	if len(times) < most {
		return 0
	}
	return max(time.Second, within-now.Sub(times[len(times)-most]))
}
