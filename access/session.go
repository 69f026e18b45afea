package access

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"postern/store"
)

// SessionLife is how long a session lasts.
const SessionLife = 12 * time.Hour

// maxSessions bounds those of one credential: the oldest ends when there is another.
const maxSessions = 100

// Session is a browser that was signed in.
type Session struct {
	Token     [sha256.Size]byte `json:"-"`                 // of its cookie: stands for the session without being it
	Key       uuid.UUID         `json:"key,omitzero"`      // zero: the operator's
	Operator  []byte            `json:"operator,omitzero"` // what the operator's key was bound to, see [Sessions.Begin]
	CSRF      string            `json:"csrf"`              // what a page sends along with what it changes: random, and of no use without the cookie
	CreatedAt time.Time         `json:"createdAt"`
	ExpiresAt time.Time         `json:"expiresAt"`

	// Displaced are the tokens of the sessions that ended for this one, told by Begin.
	Displaced [][sha256.Size]byte `json:"-"`
}

// Sessions are those of the browsers that were signed in. Its methods may be called
// from any goroutine.
type Sessions struct{ passes passes }

// NewSessions returns those in s.
func NewSessions(s *store.Store) *Sessions {
	return &Sessions{passes{store: s, bucket: bucketSessions, most: maxSessions}}
}

// Begin makes a session for a key or, with the zero UUID, for the operator's key,
// which operator stands for: a value that is another one when that key is replaced,
// and from which it cannot be found. It ends at expires, when that comes before
// the end of [SessionLife]. cookie is what a browser shows from then on.
func (all *Sessions) Begin(ctx context.Context, key uuid.UUID, operator []byte, expires time.Time) (s Session, cookie string, err error) {
	cookie = newSecret()
	now := all.passes.store.Now().UTC() // not rounded: of two in a millisecond the older one ends first
	s = Session{Token: digest(cookie), Key: key, Operator: operator, CSRF: newSecret(), CreatedAt: now, ExpiresAt: now.Add(SessionLife)}
	if !expires.IsZero() && expires.Before(s.ExpiresAt) {
		s.ExpiresAt = expires
	}
	if s.Displaced, err = all.passes.add(ctx, s.pass(), s); err != nil {
		return s, "", fmt.Errorf("begin a session: %w", err)
	}
	return s, cookie, nil
}

func (s *Session) pass() pass {
	return pass{owner: s.Key, made: s.CreatedAt, ends: s.ExpiresAt, id: s.Token}
}

// Find returns the session of a cookie, unless it is over, or stands for an
// operator's key that was replaced, or is from a release whose CSRF value was made of the
// cookie. Any error of the store's is one of these.
func (all *Sessions) Find(cookie string, operator []byte) (s Session, found bool) {
	token := digest(cookie)
	err := all.passes.store.View(func(tx *store.Tx) (err error) {
		s, found, err = store.GetJSON[Session](tx, bucketSessions, token[:])
		return err
	})
	s.Token = token
	if err != nil || !found || !all.passes.store.Now().Before(s.ExpiresAt) || s.CSRF == "" {
		return Session{}, false
	}
	if s.Key == (uuid.UUID{}) && !bytes.Equal(s.Operator, operator) {
		return Session{}, false
	}
	return s, true
}

// End ends a session.
func (all *Sessions) End(ctx context.Context, s Session) error {
	return all.passes.end(ctx, s.pass())
}

// EndAll ends all sessions of a key or, with the zero UUID, of the operator, and returns
// their tokens.
func (all *Sessions) EndAll(ctx context.Context, key uuid.UUID) (ended [][sha256.Size]byte, err error) {
	err = all.passes.store.Update(ctx, func(tx *store.Tx) error {
		ended = nil
		entries, err := all.passes.entries(tx, key)
		for _, entry := range entries {
			id := idOf(entry)
			ended = append(ended, id)
			err = errors.Join(err, tx.Delete(bucketSessions, entry), tx.Delete(bucketSessions, id[:]))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("end all sessions: %w", err)
	}
	return ended, nil
}
