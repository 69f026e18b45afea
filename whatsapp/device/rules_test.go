package device

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"

	"postern/store"
)

func TestPreKeyIDsWrapAt24Bits(t *testing.T) {
	f := newFile(t)
	s := f.stores(t, 1)
	check(t, f.Update(t.Context(), func(tx *store.Tx) error {
		return direct{tx, 1}.put(nextPreKeyKey, store.Key(uint32(maxPreKeyID-1)))
	}))
	ks, err := s.GetOrGenPreKeys(t.Context(), 4)
	check(t, err)
	for i, want := range []uint32{1, 2, maxPreKeyID - 1, maxPreKeyID} {
		if ks[i].KeyID != want {
			t.Errorf("key %d has id %d, want %d", i, ks[i].KeyID, want)
		}
	}
	check(t, s.MarkPreKeysAsUploaded(t.Context(), ks[len(ks)-1].KeyID))
	if n, _ := s.UploadedPreKeyCount(t.Context()); n != 4 {
		t.Errorf("%d uploaded, want 4", n)
	}
}

// TestPreKeysForRetriesAreBounded makes more of them than are kept, beside keys of an upload.
func TestPreKeysForRetriesAreBounded(t *testing.T) {
	f := newFile(t)
	s := f.stores(t, 1)
	uploaded, err := s.GetOrGenPreKeys(t.Context(), 3)
	check(t, err)
	var singles []uint32
	for range maxSingles + 5 {
		k, err := s.GenOnePreKey(t.Context())
		check(t, err)
		singles = append(singles, k.KeyID)
	}
	for i, id := range singles {
		if k, err := s.GetPreKey(t.Context(), id); err != nil || (k != nil) != (i >= 5) {
			t.Fatalf("key %d of %d: %v, %v", i, len(singles), k, err)
		}
	}
	for _, k := range uploaded {
		if kept, err := s.GetPreKey(t.Context(), k.KeyID); err != nil || kept == nil {
			t.Errorf("key %d of an upload: %v, %v", k.KeyID, kept, err)
		}
	}
}

func TestLIDMapIsSharedAndPersistent(t *testing.T) {
	f := newFile(t)
	check(t, f.stores(t, 1).PutLIDMapping(t.Context(), lid, phone))
	f.reopen(t)
	if got, err := f.stores(t, 2).GetPNForLID(t.Context(), lid); got != phone || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

func TestPruneRemovesOnlyExpiredRecords(t *testing.T) {
	f := newFile(t)
	ctx, s := t.Context(), f.stores(t, 1)
	write := func(instance int64, n byte, age time.Duration) {
		at, id := time.Now().Add(-age), fmt.Sprint(n)
		check(t, f.Update(ctx, func(tx *store.Tx) error {
			d := direct{tx, instance}
			return errors.Join(d.put(bufferedKey([32]byte{n}), encodeBuffered(at, at, []byte("v"))),
				d.put(outgoingKey(group, id), store.Key(at.UnixMilli(), "f", byte(0), "v")),
				d.put(store.Key(secretPrefix(group, id), phone.String()), store.Key(at.Unix(), "v")))
		}))
	}
	ages := []time.Duration{0, keepOutgoing - time.Hour, keepOutgoing + time.Hour, keepBuffered + time.Hour, keepSecrets + time.Hour}
	for n, age := range ages {
		write(1, byte(n), age)
	}
	write(256, 9, keepSecrets+time.Hour)
	next, err := f.container.Prune(ctx, 1)
	check(t, err)
	if left := time.Until(next); left <= 59*time.Minute || left > time.Hour {
		t.Errorf("the next thing is past its time in %s, want an hour", left)
	}
	for n, age := range ages {
		e, err := s.GetBufferedEvent(ctx, [32]byte{byte(n)})
		check(t, err)
		_, _, noText := s.GetOutgoingEvent(ctx, group, group, fmt.Sprint(n))
		secret, _, err := s.GetMessageSecret(ctx, group, phone, fmt.Sprint(n))
		check(t, err)
		if (e != nil) != (age < keepBuffered) || (noText == nil) != (age < keepOutgoing) || (secret != nil) != (age < keepSecrets) {
			t.Errorf("age %v: buffered %v, outgoing %v, secret %v", age, e != nil, noText == nil, secret != nil)
		}
	}
	if n := f.records(t, 256); n != 3 {
		t.Errorf("another instance has %d records, want 3", n)
	}
}

func TestForgottenPersonKeepsWhatCameLater(t *testing.T) {
	f := newFile(t)
	f.stores(t, 1)
	ctx, before := t.Context(), time.Now()
	check(t, f.Update(ctx, func(tx *store.Tx) error {
		var err error
		for _, instance := range []int64{1, 2} {
			d := direct{tx, instance}
			for _, chat := range []types.JID{phone, lid, group} {
				for id, at := range map[string]time.Time{"before": before, "later": before.Add(time.Minute)} {
					err = errors.Join(err, d.put(outgoingKey(chat, id), store.Key(at.UnixMilli(), "f", byte(0), "v")), d.put(store.Key(secretPrefix(chat, id), phone.String()), store.Key(at.Unix(), "v")))
				}
			}
			err = errors.Join(err, d.put(contactKey(phone), []byte("{}")), d.put(contactKey(lid), []byte("{}")))
		}
		return err
	}))
	all := f.records(t, 1)
	for range 2 {
		check(t, f.container.ForgetPerson(ctx, 1, []string{phone.String(), lid.String()}, before))
		if n := all - f.records(t, 1); n != 6 {
			t.Errorf("%d records are gone, want the messages and secrets of before and the names, of both addresses", n)
		}
	}
	if n := f.records(t, 2); n != 14 {
		t.Errorf("another instance has %d records, want 14", n)
	}
}

func TestPruneGoesThroughMoreThanOneStep(t *testing.T) {
	f := newFile(t)
	s := f.stores(t, 1)
	tokens := make([]wastore.PrivacyToken, 2*pruneStep+1)
	for i := range tokens {
		tokens[i] = wastore.PrivacyToken{User: types.JID{User: fmt.Sprint(i), Server: types.DefaultUserServer}, Timestamp: time.Unix(int64(i), 0)}
	}
	check(t, s.PutPrivacyTokens(t.Context(), tokens...))
	if n, err := s.DeleteExpiredPrivacyTokens(t.Context(), time.Unix(2*pruneStep, 0)); n != 2*pruneStep || err != nil {
		t.Errorf("%d removed, %v; want %d", n, err, 2*pruneStep)
	}
	if n := f.records(t, 1); n != 2 { // it and the device's own
		t.Errorf("%d are left, want 2", n)
	}
}

// TestWritesForADeletedDeviceAreDropped: those of a received message, of a sent one,
// and single ones.
func TestWritesForADeletedDeviceAreDropped(t *testing.T) {
	f := newFile(t)
	s := f.stores(t, 1)
	check(t, s.PutSession(t.Context(), "1:0", []byte("s")))
	check(t, s.DoDecryptionTxn(Riding(t.Context()), func(ctx context.Context) error {
		check(t, f.Update(context.Background(), func(tx *store.Tx) error { return f.container.DeleteTx(tx, 1) }))
		return s.PutSession(ctx, "2:0", []byte("s"))
	}))
	check(t, f.container.Settle(1))
	check(t, f.container.Sending(t.Context(), nil, func(ctx context.Context) error {
		return s.PutManySessions(ctx, map[string][]byte{"3:0": []byte("s")})
	}))
	check(t, s.PutSession(t.Context(), "4:0", []byte("s")))
	check(t, f.container.Close(t.Context()))
	if n := f.records(t, 1); n != 0 {
		t.Errorf("%d records came after the deletion", n)
	}
}

func TestContextAfterItsDecryptionWritesDirectly(t *testing.T) {
	s := newFile(t).stores(t, 1)
	var late context.Context
	check(t, s.DoDecryptionTxn(t.Context(), func(ctx context.Context) error { late = ctx; return nil }))
	check(t, s.PutSession(late, "1:0", []byte("late")))
	got, err := s.GetSession(t.Context(), "1:0")
	wantBytes(t, "session", got, err, []byte("late"))
}

func TestADecryptionInsideAnotherJoinsIt(t *testing.T) {
	f := newFile(t)
	s := f.stores(t, 1)
	failed := errors.New("outer")
	err := s.DoDecryptionTxn(t.Context(), func(ctx context.Context) error {
		check(t, s.DoDecryptionTxn(ctx, func(ctx context.Context) error { return s.PutSession(ctx, "1:0", []byte("x")) }))
		return failed
	})
	if has, _ := s.HasSession(t.Context(), "1:0"); has || !errors.Is(err, failed) {
		t.Errorf("the inner one was stored: %v, %v", has, err)
	}
}

func TestAnotherInstanceDoesNotSeeADecryption(t *testing.T) {
	f := newFile(t)
	one, two := f.stores(t, 1), f.stores(t, 2)
	check(t, one.DoDecryptionTxn(t.Context(), func(ctx context.Context) error {
		check(t, one.PutSession(ctx, "1:0", []byte("one")))
		got, err := two.GetSession(ctx, "1:0")
		wantBytes(t, "instance 2", got, err, nil)
		return two.PutSession(ctx, "1:0", []byte("two"))
	}))
	got, err := two.GetSession(t.Context(), "1:0")
	wantBytes(t, "instance 2 after", got, err, []byte("two"))
}

func TestDroppedMigrationIsRepeated(t *testing.T) {
	s := newFile(t).stores(t, 1)
	check(t, s.PutSession(t.Context(), "49151:0", []byte("x")))
	_ = s.DoDecryptionTxn(t.Context(), func(ctx context.Context) error {
		check(t, errors.Join(s.MigratePNToLID(ctx, phone, lid), s.MigratePNToLID(ctx, phone, lid)))
		return errDecrypt
	})
	check(t, s.MigratePNToLID(t.Context(), phone, lid))
	got, err := s.GetSession(t.Context(), "77_1:0")
	wantBytes(t, "session", got, err, []byte("x"))
}

func TestPruneKeepsRenewedRecords(t *testing.T) {
	f := newFile(t)
	s := f.stores(t, 1).(both)
	token := wastore.PrivacyToken{User: phone, Token: []byte("t"), Timestamp: time.Unix(10, 0)}
	check(t, s.PutPrivacyTokens(t.Context(), token))
	seen := [][]byte{store.Key(int64(1), tokenKey(phone))}
	renewed := func([]byte) bool { return false }
	if n, err := s.removeOld(t.Context(), seen, renewed); n != 0 || err != nil {
		t.Errorf("%d removed, %v; want none", n, err)
	}
	if got, err := s.GetPrivacyToken(t.Context(), phone); got == nil || err != nil {
		t.Errorf("token %v, %v", got, err)
	}
}
