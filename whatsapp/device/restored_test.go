package device

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"testing"

	"go.mau.fi/whatsmeow/types"

	"postern/internal/nightly"
	"postern/store"
)

// image is the file in a backup.
func (f *file) image(t *testing.T) []byte {
	t.Helper()
	n, err := f.Snapshot(t.Context())
	check(t, err)
	var image bytes.Buffer
	_, err = n.WriteTo(&image)
	check(t, err)
	check(t, n.Close())
	return image.Bytes()
}

// restore continues with a backup.
func (f *file) restore(t *testing.T, image []byte) {
	t.Helper()
	check(t, f.Close())
	check(t, os.WriteFile(f.path, image, 0o600))
	s, err := store.Open(store.Options{Path: f.path, Buckets: Buckets(), NoSync: true})
	check(t, err)
	for range 2 { // a restore that was interrupted starts again
		_, err = Restored(t.Context(), s)
		check(t, err)
	}
	check(t, s.Close())
	f.open(t)
}

func TestNoKeyEncryptsTwoMessagesWhateverIsRestored(t *testing.T) {
	for seed := range nightly.Or[uint64](1, 4) {
		f := newFile(t)
		f.pair(t, 1, phone.ToNonAD())
		m := &messenger{Rand: rand.New(rand.NewPCG(seed, 4)), t: t, f: f, s: f.stores(t, 1), used: map[string]bool{}}
		backups, restores := [][]byte{f.image(t)}, 0
		for range 900 {
			switch m.IntN(60) {
			case 0:
				backups = append(backups, f.image(t))
			case 1: // mostly the newest
				restores++
				f.restore(t, backups[len(backups)-1-m.IntN(min(3, len(backups)))])
				m.s = f.stores(t, 1)
			default:
				m.step(0)
			}
		}
		if len(m.used) < 300 || restores < 5 {
			t.Errorf("seed %d: only %d messages left, with %d restores", seed, len(m.used), restores)
		}
	}
}

// restoredAda is a device with one restored session that has sent five messages.
func restoredAda(t *testing.T) (*file, both) {
	f := newFile(t)
	f.pair(t, 1, phone.ToNonAD())
	s := f.stores(t, 1).(both)
	check(t, s.PutSession(t.Context(), ada, ratchet(t, 0)))
	received(t, s, encrypted(t, stored(t, s), 5))
	f.restore(t, f.image(t))
	return f, f.stores(t, 1).(both)
}

func TestRestoredSessionOnlyDecrypts(t *testing.T) {
	_, s := restoredAda(t)
	if is, err := s.HasSession(t.Context(), ada); err != nil || is {
		t.Errorf("there is a session to send with (%v)", err)
	}
	session, err := s.GetSession(t.Context(), ada)
	wantBytes(t, "session for one message", session, err, nil)
	check(t, s.c.Sending(t.Context(), nil, func(ctx context.Context) error {
		many, err := s.GetManySessions(ctx, []string{ada})
		check(t, err)
		if session, asked := many[ada]; session != nil || !asked {
			t.Errorf("sessions for a send: %v", many)
		}
		return nil
	}))
	check(t, s.DoDecryptionTxn(t.Context(), func(ctx context.Context) error {
		is, err := s.HasSession(ctx, ada)
		if !is {
			t.Error("there is no session to decrypt with")
		}
		return err
	}))
	if rec, err := parseSession(stored(t, s)); err != nil || rec.SessionState().SenderChainKey().Index() != 5 || !rec.SessionState().HasSenderChain() {
		t.Errorf("the session to decrypt with: %v", err)
	}
}

// The new session of a send is placed before the restored states, which continue to
// decrypt.
func TestSendAfterARestoreKeepsOldStates(t *testing.T) {
	f, s := restoredAda(t)
	fresh := ratchet(t, 1)
	check(t, f.container.Sending(t.Context(), nil, func(ctx context.Context) error {
		if _, err := s.GetManySessions(ctx, []string{ada}); err != nil {
			return err
		}
		return s.PutManySessions(ctx, map[string][]byte{ada: fresh})
	}))
	for range 2 {
		rec, err := parseSession(stored(t, s))
		check(t, err)
		if n := len(rec.PreviousSessionStates()); n != 1 || rec.SessionState().SenderChainKey().Index() != 1 || !isSpent(rec.PreviousSessionStates()[0]) {
			t.Errorf("%d former states, the present one has sent %d", n, rec.SessionState().SenderChainKey().Index())
		}
		if is, err := s.HasSession(t.Context(), ada); err != nil || !is {
			t.Errorf("the new session is none (%v)", err)
		}
		f.reopen(t)
		s = f.stores(t, 1).(both)
	}
	// A late message to the restored state has it come to the front: it sends nothing.
	received(t, s, promoted(t, stored(t, s), 0))
	if is, err := s.HasSession(t.Context(), ada); err != nil || is {
		t.Errorf("a spent state that came to the front sends (%v)", err)
	}
	// Its answer brings a new chain.
	received(t, s, answered(t, stored(t, s)))
	if is, err := s.HasSession(t.Context(), ada); err != nil || !is {
		t.Errorf("a state with a new chain does not send (%v)", err)
	}
}

func TestRestoredDeviceReusesNoPreKey(t *testing.T) {
	f := newFile(t)
	f.pair(t, 1, phone.ToNonAD())
	s := f.stores(t, 1)
	first, err := s.GetOrGenPreKeys(t.Context(), 30)
	check(t, err)
	check(t, s.MarkPreKeysAsUploaded(t.Context(), first[9].KeyID))
	image := f.image(t)
	unknown, err := s.GetOrGenPreKeys(t.Context(), 100)
	check(t, err)
	f.restore(t, image)
	s = f.stores(t, 1)
	given := map[uint32]bool{}
	for _, k := range append(first, unknown...) {
		given[k.KeyID] = true
	}
	again, err := s.GetOrGenPreKeys(t.Context(), 100)
	check(t, err)
	for _, k := range again {
		if given[k.KeyID] || k.KeyID > maxPreKeyID || k.KeyID == 0 {
			t.Fatalf("pre-key %d is given a second time", k.KeyID)
		}
	}
	for _, k := range first { // a message to one of them is still read
		if known, err := s.GetPreKey(t.Context(), k.KeyID); err != nil || known == nil || *known.Pub != *k.Pub {
			t.Errorf("pre-key %d: %v %v", k.KeyID, known, err)
		}
	}
}

func TestRestoredDeviceHasNoOwnSenderKeys(t *testing.T) {
	f := newFile(t)
	own := types.JID{User: "4915155500001", Device: 7, Server: types.DefaultUserServer}
	ownLID := types.JID{User: "100000000000001", Device: 7, Server: types.HiddenUserServer}
	d := f.pair(t, 1, own)
	d.LID = ownLID
	check(t, d.Save(t.Context()))
	s := f.stores(t, 1)
	const group = "1203630@g.us"
	theirs := "77_1:0"
	for _, user := range []string{own.SignalAddress().String(), ownLID.SignalAddress().String(), theirs} {
		check(t, s.PutSenderKey(t.Context(), group, user, []byte(user)))
	}
	f.restore(t, f.image(t))
	s = f.stores(t, 1)
	for _, user := range []string{own.SignalAddress().String(), ownLID.SignalAddress().String()} {
		key, err := s.GetSenderKey(t.Context(), group, user)
		wantBytes(t, "own sender key of "+user, key, err, nil)
	}
	key, err := s.GetSenderKey(t.Context(), group, theirs)
	wantBytes(t, "sender key of another", key, err, []byte(theirs))
}
