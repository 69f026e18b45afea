package device

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"go.mau.fi/libsignal/ecc"
	"go.mau.fi/libsignal/kdf"
	"go.mau.fi/libsignal/keys/chain"
	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"

	"postern/store"
)

// answered is the session after an answer was read: its next messages have keys of
// their own.
func answered(t *testing.T, session []byte) []byte {
	t.Helper()
	rec, err := parseSession(session)
	check(t, err)
	pair, err := ecc.GenerateKeyPair()
	check(t, err)
	rec.SessionState().SetSenderChain(pair, chain.NewKey(kdf.DeriveSecrets, bytes.Repeat([]byte{1}, 32), 0))
	return rec.Serialize()
}

// renewed is a new session, with the former one behind it.
func renewed(t *testing.T, session []byte) []byte {
	t.Helper()
	rec, err := parseSession(session)
	check(t, err)
	next, err := parseSession(ratchet(t, 0))
	check(t, err)
	rec.PromoteState(next.SessionState())
	return rec.Serialize()
}

// received stores a session like a decryption.
func received(t *testing.T, s wastore.AllStores, session []byte) {
	t.Helper()
	check(t, s.DoDecryptionTxn(t.Context(), func(ctx context.Context) error { return s.PutSession(ctx, ada, session) }))
}

// stored is the session that a decryption reads.
func stored(t *testing.T, s wastore.AllStores) (session []byte) {
	t.Helper()
	check(t, s.DoDecryptionTxn(t.Context(), func(ctx context.Context) (err error) {
		session, err = s.GetSession(ctx, ada)
		return err
	}))
	return session
}

// A message that is sent again is encrypted outside of sends and decryptions, which
// continue at the same time.
func TestResentMessageUsesANewKey(t *testing.T) {
	f := newFile(t)
	s := f.stores(t, 1)
	received(t, s, ratchet(t, 5))
	read, err := s.GetSession(t.Context(), ada)
	check(t, err)
	again, err := s.GetSession(t.Context(), ada)
	check(t, err)
	leave(t, f, s, "A")
	check(t, s.PutSession(t.Context(), ada, encrypted(t, read, 1)))
	check(t, s.PutSession(t.Context(), ada, encrypted(t, again, 1)))
	for i, session := range [][]byte{read, again} {
		if n := sent(t, session); n != 5+i {
			t.Errorf("message %d that is sent again has key %d", i, n)
		}
	}
	if n := sentWith(t, s); n != 8 {
		t.Errorf("the next message has key %d, want 8", n)
	}
	f.reopen(t)
	if n := sentWith(t, f.stores(t, 1)); n != 8 {
		t.Errorf("after a restart the next message has key %d, want 8", n)
	}
}

func TestResendKeepsDecryptions(t *testing.T) {
	f := newFile(t)
	s := f.stores(t, 1)
	received(t, s, ratchet(t, 5))
	read, err := s.GetSession(t.Context(), ada)
	check(t, err)
	leave(t, f, s, "A")
	answer := answered(t, stored(t, s))
	received(t, s, answer)
	check(t, s.PutSession(t.Context(), ada, encrypted(t, read, 1)))
	wantBytes(t, "session", stored(t, s), nil, answer)
}

func TestNewSessionKeepsTheOldCounters(t *testing.T) {
	f := newFile(t)
	s := f.stores(t, 1)
	received(t, s, ratchet(t, 5))
	read, err := s.GetSession(t.Context(), ada)
	check(t, err)
	leave(t, f, s, "A")
	at := sentWith(t, s)
	check(t, s.PutSession(t.Context(), ada, renewed(t, read)))
	if n := sentWith(t, s); n != 0 {
		t.Errorf("the new session has sent %d", n)
	}
	rec, err := parseSession(stored(t, s))
	check(t, err)
	if n := int(rec.PreviousSessionStates()[0].SenderChainKey().Index()); n != at {
		t.Errorf("the former session goes on with key %d, want %d", n, at)
	}
}

func TestNewDeviceUsesNoOldSessions(t *testing.T) {
	one, two := types.JID{User: "49151", Device: 1, Server: types.DefaultUserServer}, types.JID{User: "49151", Device: 2, Server: types.DefaultUserServer}
	for name, end := range map[string]func(f *file, d *wastore.Device) error{
		"deleted":    func(f *file, _ *wastore.Device) error { return f.container.Delete(t.Context(), 1) },
		"logged out": func(_ *file, d *wastore.Device) error { return d.Delete(t.Context()) },
		"replaced":   func(*file, *wastore.Device) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFile(t)
			former := f.pair(t, 1, one)
			old := both{former.Sessions.(*account), f.container.lids}
			received(t, old, ratchet(t, 5))
			leave(t, f, old, "A")
			check(t, end(f, former))
			if n := len(f.container.flights); name != "replaced" && n != 0 {
				t.Error("the deleted device is kept in memory")
			}
			fresh := f.pair(t, 1, two)
			s := both{fresh.Sessions.(*account), f.container.lids}
			check(t, f.container.Sending(t.Context(), nil, func(ctx context.Context) error {
				sessions, err := s.GetManySessions(ctx, []string{ada})
				if sessions[ada] != nil {
					t.Error("the new device has a session of the former")
				}
				return err
			}))
			err := f.container.Sending(t.Context(), nil, func(ctx context.Context) error {
				return old.PutManySessions(ctx, map[string][]byte{ada: ratchet(t, 7)})
			})
			if !errors.Is(err, wastore.ErrDeviceDeleted) {
				t.Errorf("a message of the former device leaves: %v", err)
			}
			if stored(t, s) != nil {
				t.Error("the former device wrote a session")
			}
		})
	}
}

func TestNoSendAfterStop(t *testing.T) {
	f := newFile(t)
	s, late := f.stores(t, 1), f.stores
	received(t, s, ratchet(t, 5))
	check(t, f.container.Close(t.Context()))
	for name, s := range map[string]wastore.AllStores{"in use before": s, "new": late(t, 2)} {
		err := f.container.Sending(t.Context(), nil, func(ctx context.Context) error {
			return s.PutManySessions(ctx, map[string][]byte{ada: ratchet(t, 6)})
		})
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSendLeavesNoSessionsInMemory(t *testing.T) {
	f := newFile(t)
	s := f.stores(t, 1).(both)
	failures := 1
	asLongAsAMessageTakes := func() error {
		none := func(*store.Tx) error { return nil }
		// Those that fail in a commit hear of it after the others, and before the next commit.
		return errors.Join(f.Update(t.Context(), none), f.Update(t.Context(), none))
	}
	check(t, f.container.Sending(t.Context(), nil, func(ctx context.Context) error {
		check(t, s.PutManySessions(ctx, map[string][]byte{ada: []byte("a")}))
		return asLongAsAMessageTakes()
	}))
	check(t, f.container.Sending(t.Context(), nil, func(ctx context.Context) error {
		sendingOf(ctx).waiting = append(sendingOf(ctx).waiting, func(*store.Tx) error {
			if failures--; failures >= 0 {
				return store.ErrDiskFull
			}
			return nil
		})
		check(t, s.PutManySessions(ctx, map[string][]byte{ada: []byte("b")}))
		return asLongAsAMessageTakes()
	}))
	if n := len(s.flights.list); n != 0 {
		t.Errorf("the sessions of %d messages are kept", n)
	}
	wantBytes(t, "session", stored(t, s), nil, []byte("b"))
}
