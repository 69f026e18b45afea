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

// SessionLife is the longest lifetime of a session.
const SessionLife = 12 * time.Hour

// maxSessions is the maximum number of sessions of one credential; a new one displaces
// the oldest.
const maxSessions = 100

// Session is a signed-in browser.
type Session struct {
	Token     [sha256.Size]byte `json:"-"`                 // digest of its cookie: identifies the session but cannot replace the cookie
	Key       uuid.UUID         `json:"key,omitzero"`      // zero: the operator's
	Operator  []byte            `json:"operator,omitzero"` // the value that stood for the operator's key, see [Sessions.Begin]
	CSRF      string            `json:"csrf"`              // random token that pages send with changes; useless without the cookie
	CreatedAt time.Time         `json:"createdAt"`
	ExpiresAt time.Time         `json:"expiresAt"`

	// Displaced are the tokens of the sessions that this one displaced, set by Begin.
	Displaced [][sha256.Size]byte `json:"-"`
}

// Sessions holds the browser sessions. It is safe for concurrent use.
type Sessions struct{ passes passes }

// NewSessions returns the sessions in s.
func NewSessions(s *store.Store) *Sessions {
	return &Sessions{passes{store: s, bucket: bucketSessions, most: maxSessions}}
}

// Begin creates a session for a key or, with the zero UUID, for the operator's key.
// operator stands for the operator's key: it changes when that key is replaced, and does
// not reveal it. The session expires at expires or after [SessionLife], whichever is
// earlier. The browser presents cookie from then on.
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

// Find returns the session of a cookie. It finds none that has expired, that belongs to a
// replaced operator's key, or whose CSRF token a former release derived from the cookie.
// An error of the store counts as not found.
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
