package device

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"

	"postern/store"
)

// Retention times. WhatsApp itself keeps undelivered messages for 14 days; no one
// requests a message again after a week.
const (
	keepBuffered = 14 * 24 * time.Hour
	keepOutgoing = 7 * 24 * time.Hour
	keepSecrets  = 90 * 24 * time.Hour
)

// ErrNoOutgoing is returned by GetOutgoingEvent for a message that is not in the retry
// buffer.
var ErrNoOutgoing = errors.New("device: the message is not in the retry buffer")

func bufferedKey(hash [32]byte) []byte { return store.Key(byte('B'), hash) }

// A buffered event is the time of storing in Unix milliseconds, the server's in Unix
// seconds, 1 if a plaintext follows, and the plaintext.
const bufferedHead = 8 + 8 + 1

// GetBufferedEvent returns nil if there is none.
func (a *account) GetBufferedEvent(ctx context.Context, hash [32]byte) (*wastore.BufferedEvent, error) {
	raw, err := a.get(ctx, bufferedKey(hash))
	if err != nil || raw == nil {
		return nil, err
	}
	if len(raw) < bufferedHead {
		return nil, fmt.Errorf("device: buffered event has %d bytes", len(raw))
	}
	e := &wastore.BufferedEvent{
		InsertTime: time.UnixMilli(int64(binary.BigEndian.Uint64(raw))),
		ServerTime: time.Unix(int64(binary.BigEndian.Uint64(raw[8:])), 0),
	}
	if raw[16] == 1 {
		e.Plaintext = raw[bufferedHead:]
	}
	return e, nil
}

// PutBufferedEvent implements [wastore.EventBuffer].
func (a *account) PutBufferedEvent(ctx context.Context, hash [32]byte, plaintext []byte, serverTimestamp time.Time) error {
	value := encodeBuffered(a.c.store.Now(), serverTimestamp, plaintext)
	return a.write(ctx, func(x access) error { return x.put(bufferedKey(hash), value) })
}

func encodeBuffered(at, server time.Time, plaintext []byte) []byte {
	has := byte(0)
	if plaintext != nil {
		has = 1
	}
	return store.Key(at.UnixMilli(), uint64(max(0, server.Unix())), has, plaintext)
}

// ClearBufferedEventPlaintext deletes the text and keeps the hash, so that a repeated
// message is recognised. Inside [Riding] it rides on the next commit: after a crash a
// message that comes again is handled twice.
func (a *account) ClearBufferedEventPlaintext(ctx context.Context, hash [32]byte) error {
	if rides(ctx) {
		return a.clearLater(ctx, bufferedKey(hash))
	}
	return a.write(ctx, func(x access) error {
		raw, err := x.get(bufferedKey(hash))
		if err != nil || len(raw) < bufferedHead {
			return err
		}
		raw[16] = 0
		return x.put(bufferedKey(hash), raw[:bufferedHead])
	})
}

func (a *account) clearLater(ctx context.Context, key []byte) error {
	if err := a.settle(ctx); err != nil {
		return err
	}
	raw, err := a.get(ctx, key)
	if err != nil || len(raw) < bufferedHead {
		return err
	}
	raw[16] = 0
	return a.flights.board(a.instance, map[string][]byte{string(key): raw[:bufferedHead]}, false)
}

// DeleteOldBufferedHashes implements [wastore.EventBuffer]. A clock that is far ahead
// removes nothing: a message that was decrypted and not yet handled cannot be decrypted
// again.
func (a *account) DeleteOldBufferedHashes(ctx context.Context) error {
	if !a.c.store.TrustsClock() {
		return nil
	}
	_, err := a.prune(ctx, []byte{'B'}, olderThan(a.c.store.Now().Add(-keepBuffered).UnixMilli()))
	return err
}

func outgoingKey(chat types.JID, id types.MessageID) []byte {
	return store.Key(byte('O'), sized(chat.String()), id)
}

// AddOutgoingEvent stores a message for a recipient that cannot decrypt it and requests
// it again. Inside [Container.Sending] it waits for the sessions.
func (a *account) AddOutgoingEvent(ctx context.Context, chat types.JID, id types.MessageID, format string, plaintext []byte) error {
	if err := sendingOf(ctx).leave(); err != nil {
		return err
	}
	value := store.Key(a.c.store.Now().UnixMilli(), format, byte(0), plaintext)
	return a.writeLater(ctx, func(x access) error { return x.put(outgoingKey(chat, id), value) })
}

// GetOutgoingEvent returns ErrNoOutgoing if there is none: the library takes a nil
// error for success.
func (a *account) GetOutgoingEvent(ctx context.Context, chat, altChat types.JID, id types.MessageID) (format string, plaintext []byte, err error) {
	if err := a.settle(ctx); err != nil {
		return "", nil, err
	}
	err = a.read(ctx, func(x reader) error {
		for _, c := range []types.JID{chat, altChat} {
			raw, err := x.get(outgoingKey(c, id))
			if err != nil {
				return err
			}
			if len(raw) < 8 {
				continue
			}
			name, text, ok := bytes.Cut(raw[8:], []byte{0})
			if ok {
				format, plaintext = string(name), text
				return nil
			}
		}
		return fmt.Errorf("%w: %s", ErrNoOutgoing, id)
	})
	return format, plaintext, err
}

// DeleteOldOutgoingEvents does nothing: the library calls it in every send, and would
// scan a week of sent messages each time. See [Container.Prune].
func (a *account) DeleteOldOutgoingEvents(context.Context) error { return nil }

// Prune removes expired data from the device of an instance: message secrets and sent
// messages, which nothing else removes, and received ones, which the library removes
// only while others arrive. It reads all of them and returns when the next one expires,
// zero if none is left.
func (c *Container) Prune(ctx context.Context, instance int64) (next time.Time, err error) {
	a, now := newAccount(c, instance), c.store.Now()
	for _, kind := range []struct {
		prefix byte
		keep   time.Duration
		made   func(n int64) time.Time // from the number that a value begins with
	}{
		{'X', keepSecrets, madeSeconds},
		{'O', keepOutgoing, time.UnixMilli},
		{'B', keepBuffered, time.UnixMilli},
	} {
		_, failed := a.prune(ctx, []byte{kind.prefix}, func(v []byte) bool {
			if len(v) < 8 {
				return false
			}
			ends := kind.made(int64(binary.BigEndian.Uint64(v))).Add(kind.keep)
			if ends.Before(now) {
				return true
			}
			if next.IsZero() || ends.Before(next) {
				next = ends
			}
			return false
		})
		err = errors.Join(err, failed)
	}
	return next, err
}

// ForgetPerson removes what the device of an instance keeps of a person with these JIDs,
// beside keys and sessions: the messages of the direct chat that it might have to send
// again, and the secrets of all messages there, if they were stored before a time; the
// names in the address book; and, for all instances, the kept answers to look-ups. It may
// be repeated.
func (c *Container) ForgetPerson(ctx context.Context, instance int64, jids []string, before time.Time) error {
	a := newAccount(c, instance)
	if err := a.settle(ctx); err != nil {
		return err
	}
	for _, name := range jids {
		jid, err := types.ParseJID(name)
		if err != nil {
			return fmt.Errorf("device of instance %d: forget a person: %w", instance, err)
		}
		chat := sized(jid.ToNonAD().String())
		for prefix, made := range map[byte]func(n int64) time.Time{'X': madeSeconds, 'O': time.UnixMilli} {
			_, err := a.prune(ctx, store.Key(prefix, chat), func(v []byte) bool {
				return len(v) >= 8 && !made(int64(binary.BigEndian.Uint64(v))).After(before) //nolint:gosec // a time
			})
			if err != nil {
				return err
			}
		}
		if err := a.remove(ctx, contactKey(jid)); err != nil {
			return err
		}
	}
	return c.ForgetAnswers(ctx, jids)
}

func madeSeconds(n int64) time.Time { return time.Unix(n, 0) }
