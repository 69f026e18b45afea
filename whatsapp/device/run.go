package device

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	signal "go.mau.fi/libsignal/state/record"
	wastore "go.mau.fi/whatsmeow/store"

	"postern/store"
)

// run records whether the devices are in use, and how often they still were when the
// process ended.
type run struct {
	Crashes uint32 `json:"crashes"`
	Open    bool   `json:"open"`
}

var runKey = []byte("run")

func (c *Container) begin() error {
	return c.store.Update(context.Background(), func(tx *store.Tx) error {
		r, _, err := store.GetJSON[run](tx, runBucket, runKey)
		switch {
		case errors.Is(err, store.ErrDamaged):
			if err := decode(lostRun(nil), &r); err != nil {
				return err
			}
		case err != nil:
			return err
		case r.Open:
			r.Crashes++
		}
		r.Open, c.crashes = true, r.Crashes
		return store.PutJSON(tx, runBucket, runKey, r)
	})
}

// Close waits until the sessions of the last sends are in the file and records that.
// Without it, or if it fails, the sessions are treated as after a crash. From then on
// messages and sessions fail with [store.ErrClosed].
func (c *Container) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	all := slices.Collect(maps.Values(c.flights))
	c.mu.Unlock()
	var err error
	for _, f := range all {
		err = errors.Join(err, f.close(ctx))
	}
	if err == nil {
		err = c.store.Update(ctx, func(tx *store.Tx) error {
			return store.PutJSON(tx, runBucket, runKey, run{Crashes: c.crashes})
		})
	}
	if err != nil {
		return fmt.Errorf("device: end the run: %w", err)
	}
	return nil
}

// A session's record is the number of crashes before it was written, and the library's
// bytes.

func (c *Container) encodeSession(session []byte) []byte {
	return store.Key(c.crashes&^restoredMark, session)
}

// encodeRestored is encodeSession for a session that has, or had, spent states.
func (c *Container) encodeRestored(session []byte) []byte {
	raw := c.encodeSession(session)
	if hasSpent(session) {
		binary.BigEndian.PutUint32(raw, binary.BigEndian.Uint32(raw)|restoredMark)
	}
	return raw
}

// isRestored reports whether a stored session may have spent states.
func isRestored(raw []byte) bool {
	return len(raw) >= 4 && binary.BigEndian.Uint32(raw)&restoredMark != 0
}

// How far a session is moved ahead for each crash since it was written: as many
// messages may have been sent before it was on disk. One message encrypts up to twice
// for one device, if that is both the recipient's and the sender's own, or if a
// recipient is listed by phone number and by LID. Recipients tolerate two thousand
// skipped messages: a session close to that is not used again, and the library begins a
// new one.
const (
	keysPerMessage = 2
	stepsPerCrash  = keysPerMessage * maxFlights
	maxSteps       = 1000
)

// decodeSession returns the library's bytes, nil if there is no session. A session from
// before a crash is moved past the keys that may have been used: a key that encrypts
// two messages reveals both.
func (c *Container) decodeSession(raw []byte) ([]byte, error) {
	if raw == nil {
		return nil, nil
	}
	if len(raw) < 4 {
		return nil, fmt.Errorf("device: a session has %d bytes", len(raw))
	}
	crashes := (c.crashes - binary.BigEndian.Uint32(raw)) &^ restoredMark
	switch {
	case crashes == 0, isRestored(raw) && !sends(raw[4:]):
		return raw[4:], nil
	case crashes > maxSteps/stepsPerCrash:
		return nil, nil
	}
	return moveAhead(raw[4:], int(crashes)*stepsPerCrash)
}

var errNoSession = errors.New("device: no session")

func newSession() *signal.Session {
	serializer := wastore.SignalProtobufSerializer
	return signal.NewSession(serializer.Session, serializer.State)
}

func parseSession(session []byte) (*signal.Session, error) {
	serializer := wastore.SignalProtobufSerializer
	if session == nil {
		return nil, errNoSession
	}
	rec, err := signal.NewSessionFromBytes(session, serializer.Session, serializer.State)
	if err != nil {
		return nil, fmt.Errorf("device: read a session: %w", err)
	}
	return rec, nil
}

// joined merges a session that encrypted with reserved keys into the stored one, which
// may have advanced; nil: nothing to store. A new session goes before the stored one.
func joined(stored, session []byte) []byte {
	rec, err := parseSession(session)
	if err != nil || !rec.SessionState().HasSenderChain() {
		return session
	}
	state := rec.SessionState()
	if state.SenderChainKey().Index() > 0 {
		return nil
	}
	if rec, err = parseSession(stored); err == nil {
		rec.PromoteState(state)
	} else { // none, or deleted since it was read, with its former states
		rec = newSession()
		rec.SetState(state)
	}
	return rec.Serialize()
}

// moveAhead skips the keys of the next messages that the session would send.
func moveAhead(session []byte, messages int) ([]byte, error) {
	rec, err := parseSession(session)
	if err != nil {
		return nil, err
	}
	state := rec.SessionState()
	if !state.HasSenderChain() {
		return session, nil
	}
	key := state.SenderChainKey()
	for range messages {
		key = key.NextKey()
	}
	state.SetSenderChainKey(key)
	return rec.Serialize(), nil
}
