package device

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"

	"postern/store"
)

func TestWhatAnOperationCostsInCommits(t *testing.T) {
	f := newFile(t)
	s, ctx := f.stores(t, 1), t.Context()
	for _, step := range []struct {
		name string
		want uint64
		do   func() error
	}{
		{"a new identity", 1, func() error { return s.PutIdentity(ctx, "49151:0", [32]byte{1}) }},
		{"the same identity", 0, func() error { return s.PutIdentity(ctx, "49151:0", [32]byte{1}) }},
		{"a new session", 1, func() error { return s.PutSession(ctx, "49151:0", []byte("s")) }},
		{"the same session", 0, func() error { return s.PutSession(ctx, "49151:0", []byte("s")) }},
		{"many sessions", 1, func() error { return s.PutManySessions(ctx, map[string][]byte{"1:0": {1}, "2:0": {2}}) }},
		{"no sessions", 0, func() error { return s.PutManySessions(ctx, nil) }},
		{"a decryption", 1, func() error {
			return s.DoDecryptionTxn(ctx, func(ctx context.Context) error {
				return errors.Join(s.PutSession(ctx, "1:0", []byte("x")), s.PutIdentity(ctx, "1:0", [32]byte{2}),
					s.PutSenderKey(ctx, "g", "1:0", []byte("k")), s.PutBufferedEvent(ctx, [32]byte{1}, nil, jan1))
			})
		}},
		{"a decryption that only reads", 0, func() error {
			return s.DoDecryptionTxn(ctx, func(ctx context.Context) error {
				_, err := s.GetSession(ctx, "1:0")
				return errors.Join(err, s.PutIdentity(ctx, "1:0", [32]byte{2}))
			})
		}},
		{"a migration", 1, func() error { return s.MigratePNToLID(ctx, phone, lid) }},
		{"the same migration", 0, func() error { return s.MigratePNToLID(ctx, phone, lid) }},
		{"a migration of nothing", 0, func() error { return s.MigratePNToLID(ctx, types.JID{User: "5", Server: types.DefaultUserServer}, lid) }},
		{"many pre-keys", 1, func() error { _, err := s.GetOrGenPreKeys(ctx, 50); return err }},
		{"the same pre-keys", 0, func() error { _, err := s.GetOrGenPreKeys(ctx, 50); return err }},
		{"a name", 1, func() error { _, _, err := s.PutPushName(ctx, phone, "n"); return err }},
		{"the same name", 0, func() error { _, _, err := s.PutPushName(ctx, phone, "n"); return err }},
		{"a LID", 1, func() error { return s.PutLIDMapping(ctx, lid, phone) }},
		{"the same LID", 0, func() error { return s.PutLIDMapping(ctx, lid, phone) }},
		{"deleting what is not there", 0, func() error { return errors.Join(s.DeleteSession(ctx, "9:0"), s.RemovePreKey(ctx, 999)) }},
		{"pruning nothing", 0, func() error { _, err := f.container.Prune(ctx, 1); return err }},
	} {
		if got := f.commits(func() { check(t, step.do()) }); got != step.want {
			t.Errorf("%s costs %d commits, want %d", step.name, got, step.want)
		}
	}
}

func TestDevicesWorkAtTheSameTime(t *testing.T) {
	f := newFile(t)
	ctx := t.Context()
	const rounds = 20
	one := f.stores(t, 1)
	var wg sync.WaitGroup
	for worker := range 8 {
		s := one
		if worker >= 4 {
			s = f.stores(t, int64(worker))
		}
		wg.Go(func() {
			for i := range rounds {
				address := fmt.Sprintf("%d:%d", worker, i)
				err := s.DoDecryptionTxn(ctx, func(ctx context.Context) error {
					return errors.Join(s.PutSession(ctx, address, []byte(address)), s.MigratePNToLID(ctx, phone, lid))
				})
				_, kerr := s.GenOnePreKey(ctx)
				_, _, nerr := s.PutPushName(ctx, phone, address)
				merr := s.PutLIDMapping(ctx, types.JID{User: fmt.Sprint(i), Server: types.HiddenUserServer}, phone)
				if err := errors.Join(err, kerr, nerr, merr); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n, _ := one.UploadedPreKeyCount(ctx); n != 4*rounds {
		t.Errorf("%d pre-keys of instance 1, want %d: ids were given twice", n, 4*rounds)
	}
	for worker := range 4 {
		for i := range rounds {
			address := fmt.Sprintf("%d:%d", worker, i)
			got, err := one.GetSession(ctx, address)
			wantBytes(t, address, got, err, []byte(address))
		}
	}
}

func TestWritesOfManyDevicesShareOneCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFile(t)
		defer func() { check(t, f.Close()) }()
		const devices = 20
		var all []wastore.AllStores
		for i := range devices {
			all = append(all, f.stores(t, int64(i+1)))
		}
		hold, holding := make(chan struct{}), make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			var once sync.Once
			check(t, f.Update(t.Context(), func(*store.Tx) error {
				once.Do(func() { close(holding); <-hold })
				return nil
			}))
		})
		<-holding
		for _, s := range all {
			wg.Go(func() { check(t, s.PutSession(t.Context(), "1:0", []byte("s"))) })
		}
		synctest.Wait() // all of them wait for the writer
		cost := f.commits(func() {
			close(hold)
			wg.Wait()
		})
		if cost > 2 {
			t.Errorf("%d writes and the one before them cost %d commits, want 2", devices, cost)
		}
	})
}
