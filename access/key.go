package access

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"postern/event"
)

// Errors of this package.
var (
	ErrNotFound = errors.New("key not found")
	ErrInvalid  = errors.New("invalid key")
	ErrTooMany  = errors.New("too many keys")
	// ErrUnknown is the error of every text that is not that of a valid key: unknown,
	// expired or deleted.
	ErrUnknown = errors.New("unknown key")
)

// Limits of a key.
const (
	MaxKeys       = 10_000
	maxName       = 255 // characters
	maxInstances  = 10_000
	maxRecipients = 1_000
	maxPerMinute  = 1_000_000
)

// Key describes the rights of an API key.
type Key struct {
	ID         uuid.UUID  `json:"id"`
	Name       string     `json:"name"`
	Instances  []Instance `json:"instances"` // nil: all, including future ones
	Scopes     []Scope    `json:"scopes"`
	User       uuid.UUID  `json:"user,omitzero"`       // whose batches it may access
	Recipients []string   `json:"recipients,omitzero"` // addresses that it may send to; nil: all
	PerMinute  int        `json:"perMinute,omitzero"`  // requests; 0: no limit
	ExpiresAt  time.Time  `json:"expiresAt,omitzero"`  // zero: never
	CreatedAt  time.Time  `json:"createdAt"`
	UpdatedAt  time.Time  `json:"updatedAt"`

	LastUsedAt   time.Time `json:"-"` // zero: never
	LastUsedFrom string    `json:"-"` // an address
}

// Instance is an instance that a key may access. Name is as of the key's creation; the id
// decides.
type Instance struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// Has reports whether the key has one of the scopes.
func (k *Key) Has(any ...Scope) bool {
	return slices.ContainsFunc(any, func(s Scope) bool { return slices.Contains(k.Scopes, s) })
}

// Everywhere reports whether the key may access all instances.
func (k *Key) Everywhere() bool { return k.Instances == nil }

// Opens reports whether the key may access an instance.
func (k *Key) Opens(instance int64) bool {
	return k.Everywhere() || slices.ContainsFunc(k.Instances, func(i Instance) bool { return i.ID == instance })
}

// MayWriteTo reports whether the key may send to an address.
func (k *Key) MayWriteTo(jid string) bool {
	return k.Recipients == nil || slices.Contains(k.Recipients, jid)
}

// Expired reports whether the key has expired at a time.
func (k *Key) Expired(now time.Time) bool { return !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt) }

// check validates a key and sorts its lists.
func (k *Key) check(now time.Time) error {
	var wrong []string
	rule := func(broken bool, format string, args ...any) {
		if broken {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	name := strings.TrimSpace(k.Name)
	rule(name == "" || utf8.RuneCountInString(k.Name) > maxName || strings.ContainsFunc(k.Name, func(r rune) bool { return r < ' ' || r == 0x7f }),
		"name must have 1 to %d characters, all of them printable", maxName)
	rule(len(k.Scopes) == 0, "scopes must not be empty")
	for i, s := range k.Scopes {
		rule(!slices.Contains(Scopes(), s), "scopes[%d] %.40q is not one of %s", i, string(s), Listed())
	}
	rule(k.Instances != nil && len(k.Instances) == 0 || len(k.Instances) > maxInstances, "instances must be [\"*\"], or list 1 to %d instances", maxInstances)
	rule(k.Has(Batch) && k.User == uuid.UUID{}, "userId is required with scope batch")
	rule(k.Recipients != nil && len(k.Recipients) == 0 || len(k.Recipients) > maxRecipients, "recipients must have 1 to %d entries, or be left out", maxRecipients)
	rule(k.PerMinute < 0 || k.PerMinute > maxPerMinute, "rateLimit.perMinute must be 1 to %d", maxPerMinute)
	rule(k.Expired(now), "expiresAt must be in the future")
	for i, given := range k.Recipients {
		r, err := event.ParseDestination(given)
		if err != nil {
			rule(true, "recipients[%d]: %v", i, err)
			continue
		}
		k.Recipients[i] = r.JID()
	}
	if len(wrong) > 0 {
		return &InvalidError{wrong}
	}
	k.Scopes = sorted(k.Scopes)
	slices.SortFunc(k.Instances, func(a, b Instance) int { return strings.Compare(a.Name, b.Name) })
	k.Instances = slices.Compact(k.Instances)
	if k.Recipients != nil {
		slices.Sort(k.Recipients)
		k.Recipients = slices.Compact(k.Recipients)
	}
	return nil
}

// Listed returns the names of all scopes as text.
func Listed() string {
	var names []string
	for _, s := range Scopes() {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

// Narrower reports whether next has fewer rights than k, or expires sooner.
func (k *Key) Narrower(next *Key) bool {
	if !next.ExpiresAt.IsZero() && (k.ExpiresAt.IsZero() || next.ExpiresAt.Before(k.ExpiresAt)) {
		return true
	}
	if !next.Everywhere() && (k.Everywhere() || slices.ContainsFunc(k.Instances, func(i Instance) bool { return !next.Opens(i.ID) })) {
		return true
	}
	return next.Recipients != nil && (k.Recipients == nil || slices.ContainsFunc(k.Recipients, func(jid string) bool { return !next.MayWriteTo(jid) }))
}

// InvalidError lists the rules that a key violates. It wraps ErrInvalid.
type InvalidError struct{ Messages []string }

// Error implements error.
func (e *InvalidError) Error() string { return strings.Join(e.Messages, "; ") }

// Unwrap lets errors.Is find ErrInvalid.
func (*InvalidError) Unwrap() error { return ErrInvalid }
