package device

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"postern/store"
)

// decrypt receives a message like the library: it advances the session and stores the
// plaintext.
func decrypt(ctx context.Context, t *testing.T, s *account, session, plaintext string) {
	t.Helper()
	check(t, s.DoDecryptionTxn(ctx, func(ctx context.Context) error {
		return errors.Join(s.PutSession(ctx, "1:0", []byte(session)), s.PutBufferedEvent(ctx, [32]byte{1}, []byte(plaintext), jan1))
	}))
}

// killed is the file after a kill at this moment.
func killed(t *testing.T, f *file) *file {
	t.Helper()
	raw, err := os.ReadFile(f.path)
	check(t, err)
	k := &file{path: filepath.Join(t.TempDir(), "data.db")}
	check(t, os.WriteFile(k.path, raw, 0o600))
	k.open(t)
	t.Cleanup(func() { _ = k.Close() })
	return k
}

func (f *file) account(t *testing.T) *account { return f.stores(t, 1).(both).account }

// A received message costs one commit, that of the message. It includes the decryption;
// its text is deleted by the next one.
func TestAReceivedMessageCostsOneCommit(t *testing.T) {
	f := newFile(t)
	s, ctx := f.account(t), Riding(t.Context())
	for _, step := range []struct {
		name string
		want uint64
		do   func() error
	}{
		{"decrypted", 0, func() error { decrypt(ctx, t, s, "new", "hello"); return nil }},
		{"its secret", 0, func() error { return s.PutMessageSecret(ctx, phone, phone, "m", []byte("secret")) }},
		{"stored", 1, func() error { return f.Update(t.Context(), func(*store.Tx) error { return nil }) }},
		{"settled", 0, func() error { return f.container.Settle(1) }},
		{"forgotten", 0, func() error { return s.ClearBufferedEventPlaintext(ctx, [32]byte{1}) }},
	} {
		if got := f.commits(func() { check(t, step.do()) }); got != step.want {
			t.Errorf("%s: %d commits, want %d", step.name, got, step.want)
		}
		got, err := s.sessions(t.Context(), []string{"1:0"}) // read from memory until it is in the file
		wantBytes(t, step.name, got["1:0"], err, []byte("new"))
	}
	if e, err := s.GetBufferedEvent(t.Context(), [32]byte{1}); err != nil || e == nil || e.Plaintext != nil {
		t.Errorf("the message is buffered as %+v, %v", e, err)
	}
	f.reopen(t)
	s = f.account(t)
	if secret, _, err := s.GetMessageSecret(t.Context(), phone, phone, "m"); string(secret) != "secret" || err != nil {
		t.Errorf("the secret is %q, %v", secret, err)
	}
	if e, err := s.GetBufferedEvent(t.Context(), [32]byte{1}); err != nil || e == nil || e.Plaintext != nil {
		t.Errorf("after a stop the message is buffered as %+v, %v", e, err)
	}
}

// A message that stores nothing is acknowledged after Settle.
func TestSettleCommitsUnattachedWrites(t *testing.T) {
	f := newFile(t)
	s := f.account(t)
	decrypt(Riding(t.Context()), t, s, "new", "hello")
	if got := f.commits(func() { check(t, f.container.Settle(1)) }); got != 1 {
		t.Errorf("it costs %d commits, want 1", got)
	}
	got, err := killed(t, f).account(t).get(t.Context(), sessionKey("1:0"))
	wantBytes(t, "session after a kill", got, err, s.c.encodeSession([]byte("new")))
}

// A kill before the commit leaves the previous session: the message was not
// acknowledged and comes again.
func TestKillBeforeTheCommitLeavesNothing(t *testing.T) {
	f := newFile(t)
	s := f.account(t)
	check(t, s.PutSession(t.Context(), "1:0", []byte("old")))
	decrypt(Riding(t.Context()), t, s, "new", "hello")
	after := killed(t, f).account(t)
	got, err := after.get(t.Context(), sessionKey("1:0"))
	wantBytes(t, "session", got, err, s.c.encodeSession([]byte("old")))
	if e, err := after.GetBufferedEvent(t.Context(), [32]byte{1}); e != nil || err != nil {
		t.Errorf("the message is buffered: %+v, %v", e, err)
	}
}

// No message is sent that was encrypted with a session only in memory, and the next
// decryption starts with one that is on the disk.
func TestEncryptionWaitsForDecryptionsOnDisk(t *testing.T) {
	for name, use := range map[string]func(*testing.T, *file, *account) error{
		"a send": func(t *testing.T, f *file, s *account) error {
			return f.container.Sending(t.Context(), nil, func(ctx context.Context) error {
				got, err := s.GetManySessions(ctx, []string{"1:0"})
				wantBytes(t, "session of a send", got["1:0"], err, []byte("new"))
				return err
			})
		},
		"a message sent again": func(t *testing.T, _ *file, s *account) error {
			_, err := s.GetSession(t.Context(), "1:0")
			return err
		},
		"another message": func(t *testing.T, _ *file, s *account) error {
			return s.DoDecryptionTxn(Riding(t.Context()), func(context.Context) error { return nil })
		},
	} {
		f := newFile(t)
		s := f.account(t)
		decrypt(Riding(t.Context()), t, s, "new", "hello")
		if got := f.commits(func() { check(t, use(t, f, s)) }); got != 1 {
			t.Errorf("%s: %d commits, want 1", name, got)
		}
	}
}

// A failed write is reported, once, to the caller that would acknowledge the message.
func TestUnstoredDecryptionIsReported(t *testing.T) {
	f := newFile(t)
	s := f.account(t)
	tooLong := map[string][]byte{string(make([]byte, 1<<16)): []byte("v")}
	check(t, s.flights.board(1, tooLong, true))
	if got, err := s.GetManySessions(context.WithValue(t.Context(), sendingKey{}, &sending{}), []string{"1:0"}); err != nil || got["1:0"] != nil {
		t.Errorf("a send has the session %q, %v", got["1:0"], err)
	}
	s.flights.ratchet.Unlock() // of that send
	if err := f.container.Settle(1); err == nil {
		t.Error("the message would be acknowledged")
	}
	check(t, f.container.Settle(1))
}

// A message during a stop is acknowledged like any other.
func TestDecryptionSettlesAfterClose(t *testing.T) {
	f := newFile(t)
	s := f.account(t)
	tooLong := map[string][]byte{string(make([]byte, 1<<16)): []byte("v")}
	check(t, s.flights.board(1, tooLong, true))
	check(t, f.container.Close(t.Context()))
	if err := f.container.Settle(1); err == nil {
		t.Error("the message would be acknowledged")
	}
}

// A caller that waits for the write of sent messages' sessions does not read the file:
// the commit waits for all readers when the file outgrows its mapping.
func TestNoCommitIsAwaitedInsideARead(t *testing.T) {
	f := newFile(t)
	s := f.account(t)
	s.flights.mu.Lock() // as who waits for a commit
	var asking sync.WaitGroup
	asking.Go(func() { _, _ = s.HasSession(t.Context(), ada) })
	for waits := false; !waits; {
		all := make([]byte, 1<<20)
		all = all[:runtime.Stack(all, true)]
		for one := range strings.SplitSeq(string(all), "\n\n") {
			waits = waits || strings.Contains(one, "HasSession") && strings.Contains(one, "sync.(*Mutex).Lock")
		}
	}
	closed := make(chan struct{})
	go func() { _ = f.Close(); close(closed) }() // it waits for all readers too
	select {
	case <-closed:
	case <-time.After(5 * time.Second):
		t.Error("a reader of the file waits for who waits for a commit")
	}
	s.flights.mu.Unlock()
	asking.Wait()
	<-closed
}

// Nothing is written for a device after its deletion.
func TestADeletedDeviceTakesNoRides(t *testing.T) {
	f := newFile(t)
	s := f.account(t)
	decrypt(Riding(t.Context()), t, s, "new", "hello")
	check(t, f.container.Delete(t.Context(), 1))
	if err := s.ClearBufferedEventPlaintext(Riding(t.Context()), [32]byte{1}); err == nil {
		t.Error("it writes on")
	}
	check(t, f.Update(t.Context(), func(tx *store.Tx) error {
		return tx.Scan(deviceBucket, store.Range{}, func(k, _ []byte) (bool, error) {
			t.Errorf("left: %x", k)
			return true, nil
		})
	}))
}
