package device

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"testing"
	"time"

	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
)

// recalled reads everything that each message needs, by the library's interfaces.
func recalled(ctx context.Context, t *testing.T, s *account) (seen [4]string) {
	t.Helper()
	for i, address := range []string{"1:0", "2_1:0"} {
		for _, key := range [][32]byte{{1}, {2}} {
			trusted, err := s.IsTrustedIdentity(ctx, address, key)
			check(t, err)
			if trusted {
				seen[i] += string('a' + key[0])
			}
		}
	}
	token, err := s.GetPrivacyToken(ctx, types.NewJID("1", types.DefaultUserServer))
	check(t, err)
	if token != nil {
		seen[2] = string(token.Token)
	}
	salt, err := s.GetNCTSalt(ctx)
	check(t, err)
	seen[3] = string(salt)
	return seen
}

// TestWhatIsRememberedIsWhatTheFileHas: no change of any kind leaves an old value in
// the cache.
func TestWhatIsRememberedIsWhatTheFileHas(t *testing.T) {
	phone, lid := types.NewJID("1", types.DefaultUserServer), types.NewJID("2", types.HiddenUserServer)
	token := func(text string, at time.Time) wastore.PrivacyToken {
		return wastore.PrivacyToken{User: phone, Token: []byte(text), Timestamp: at}
	}
	now := time.Now()
	failed := errors.New("a failure")
	for name, change := range map[string]func(context.Context, *file, *account) error{
		"another identity":       func(ctx context.Context, _ *file, s *account) error { return s.PutIdentity(ctx, "1:0", [32]byte{2}) },
		"an identity less":       func(ctx context.Context, _ *file, s *account) error { return s.DeleteIdentity(ctx, "1:0") },
		"all identities less":    func(ctx context.Context, _ *file, s *account) error { return s.DeleteAllIdentities(ctx, "1") },
		"a number that is a LID": func(ctx context.Context, _ *file, s *account) error { return s.MigratePNToLID(ctx, phone, lid) },
		"a newer token": func(ctx context.Context, _ *file, s *account) error {
			return s.PutPrivacyTokens(ctx, token("newer", now))
		},
		"tokens that expired": func(ctx context.Context, _ *file, s *account) error {
			_, err := s.DeleteExpiredPrivacyTokens(ctx, now)
			return err
		},
		"another salt": func(ctx context.Context, _ *file, s *account) error { return s.PutNCTSalt(ctx, []byte("other")) },
		"no salt":      func(ctx context.Context, _ *file, s *account) error { return s.DeleteNCTSalt(ctx) },
		"a decryption": func(ctx context.Context, _ *file, s *account) error {
			return s.DoDecryptionTxn(ctx, func(ctx context.Context) error {
				recalled(ctx, t, s)
				return errors.Join(s.PutIdentity(ctx, "1:0", [32]byte{2}), s.PutNCTSalt(ctx, []byte("other")))
			})
		},
		"a decryption that rides": func(ctx context.Context, f *file, s *account) error {
			err := s.DoDecryptionTxn(Riding(ctx), func(ctx context.Context) error {
				return errors.Join(s.PutIdentity(ctx, "1:0", [32]byte{2}), s.DeleteNCTSalt(ctx))
			})
			recalled(ctx, t, s) // before it is in the file
			return errors.Join(err, f.container.Settle(1))
		},
		"a decryption that fails": func(ctx context.Context, _ *file, s *account) error {
			err := s.DoDecryptionTxn(ctx, func(ctx context.Context) error {
				err := errors.Join(s.PutIdentity(ctx, "1:0", [32]byte{2}), s.DeleteNCTSalt(ctx))
				if got := recalled(ctx, t, s); got[0] != "b" && got[3] != "" {
					t.Errorf("the decryption sees %q", got)
				}
				return errors.Join(err, failed)
			})
			if !errors.Is(err, failed) {
				return errors.New("it did not fail")
			}
			return nil
		},
		"the device deleted": func(ctx context.Context, f *file, _ *account) error { return f.container.Delete(ctx, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFile(t)
			s, ctx := f.account(t), t.Context()
			check(t, errors.Join(s.PutIdentity(ctx, "1:0", [32]byte{1}), s.PutNCTSalt(ctx, []byte("salt")), s.PutPrivacyTokens(ctx, token("old", now.Add(-time.Hour)))))
			recalled(ctx, t, s)
			check(t, change(ctx, f, s))
			got := recalled(ctx, t, s)
			s.flights.known.change()() // forgets
			if want := recalled(ctx, t, s); got != want {
				t.Errorf("remembered %q, the file has %q", got, want)
			}
		})
	}
}

// TestAWriteThatReturnedIsNotForgotten, despite concurrent reads.
func TestAWriteThatReturnedIsNotForgotten(t *testing.T) {
	f := newFile(t)
	s, ctx := f.account(t), t.Context()
	end := make(chan struct{})
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
					_, _ = s.GetNCTSalt(ctx)
				}
			}
		})
	}
	for n := range uint64(300) {
		salt := binary.BigEndian.AppendUint64(nil, n)
		put := func(ctx context.Context) error { return s.PutNCTSalt(ctx, salt) }
		switch n % 3 {
		case 0:
			check(t, put(ctx))
		case 1:
			check(t, s.DoDecryptionTxn(ctx, put))
		default:
			check(t, s.DoDecryptionTxn(Riding(ctx), put))
		}
		if got, err := s.GetNCTSalt(ctx); err != nil || !bytes.Equal(got, salt) {
			t.Errorf("after write %d: %x, %v", n, got, err)
		}
	}
	close(end)
	readers.Wait()
}

// TestAReadBesideAWriteIsNotRemembered: it may have read the state before the write.
func TestAReadBesideAWriteIsNotRemembered(t *testing.T) {
	var n known
	key := []byte("key")
	keep := func(since int) (kept bool) {
		n.keep(key, []byte("value"), since)
		_, kept, _ = n.value(key)
		return kept
	}
	_, _, before := n.value(key)
	done := n.change()
	_, _, during := n.value(key)
	if keep(before) || keep(during) {
		t.Error("remembered during the write")
	}
	done()
	if keep(before) || keep(during) {
		t.Error("remembered after the write")
	}
	if _, _, after := n.value(key); !keep(after) {
		t.Error("not remembered")
	}
	_, _, before = n.value(key)
	n.drop(map[string][]byte{"key": nil})
	if keep(before) {
		t.Error("remembered although it is about to change")
	}
}

// TestWhatIsRememberedIsBounded: an account may write to any number of people.
func TestWhatIsRememberedIsBounded(t *testing.T) {
	s := newFile(t).account(t)
	for n := range 10 * maxKnown {
		_, err := s.IsTrustedIdentity(t.Context(), types.NewADJID("1", 0, uint8(n)).String()+string(rune('a'+n)), [32]byte{})
		check(t, err)
	}
	if n := len(s.flights.known.values); n == 0 || n > maxKnown {
		t.Errorf("%d values are remembered", n)
	}
}
