package device

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"go.mau.fi/libsignal/kdf"
	"go.mau.fi/libsignal/keys/chain"
	signal "go.mau.fi/libsignal/state/record"
	"go.mau.fi/whatsmeow/types"

	"postern/store"
)

// A file restored from a backup does not contain which keys were used since. A key that
// encrypts twice reveals both messages, so no key in the file may encrypt: each state
// of a session is spent, that is, its sending chain key is zeros, and a session whose
// current state is spent does not exist for senders. The library then creates a new
// session, placed before the old one, with a new pre-key of the recipient. All states
// continue to decrypt messages that were sent before the sender uses the new session,
// and a state becomes usable again with the first answer from the other side, for which
// the library creates a new chain.

// restoredMark is set in the crash count of a session that has spent states.
const restoredMark = 1 << 31

// preKeysSkipped is how many pre-key ids are skipped after a restore: so many may have
// been created since the backup and be known to WhatsApp.
const preKeysSkipped = 1 << 17

// Restoration is the result of [Restored].
type Restoration struct{ Devices, Sessions int }

const restoreStep = 500 // records that one commit changes

// Restored makes the devices of a restored file safe to send with. It may be repeated,
// on a file that no [Container] has open.
func Restored(ctx context.Context, s *store.Store) (done Restoration, err error) {
	devices, err := allDevices(s)
	if err != nil {
		return done, fmt.Errorf("device: restored: %w", err)
	}
	for instance, r := range devices {
		n, err := restored(ctx, s, instance, r)
		if err != nil {
			return done, fmt.Errorf("device of instance %d: restored: %w", instance, err)
		}
		done.Devices, done.Sessions = done.Devices+1, done.Sessions+n
	}
	return done, nil
}

// allDevices returns the devices of a file by instance, without unreadable ones, which
// cannot send.
func allDevices(s *store.Store) (all map[int64]record, err error) {
	all = map[int64]record{}
	err = s.View(func(tx *store.Tx) error {
		for from := []byte(nil); ; {
			var instance int64 = -1
			err := tx.Scan(deviceBucket, store.Range{From: from, Limit: 1}, func(k, _ []byte) (bool, error) {
				instance = int64(binary.BigEndian.Uint64(k))
				return false, nil
			})
			if err != nil || instance < 0 {
				return err
			}
			r, found, err := store.GetJSON[record](tx, deviceBucket, recordKey(instance))
			if err != nil && !errors.Is(err, store.ErrDamaged) {
				return err
			}
			if found && err == nil {
				all[instance] = r
			}
			from = store.Key(instance + 1)
		}
	})
	return all, err
}

func restored(ctx context.Context, s *store.Store, instance int64, r record) (sessions int, err error) {
	for after := []byte(nil); ; {
		var part []pair
		err := s.Update(ctx, func(tx *store.Tx) (err error) {
			d := direct{tx, instance}
			if part, err = sessionsAfter(tx, instance, after); err != nil {
				return err
			}
			for _, p := range part {
				spent, unreadable := spend(p.value)
				if unreadable != nil {
					err = d.remove(p.key) // it is unusable
				} else {
					err = d.put(p.key, spent)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return sessions, err
		}
		if len(part) == 0 {
			break
		}
		sessions, after = sessions+len(part), part[len(part)-1].key
	}
	return sessions, s.Update(ctx, func(tx *store.Tx) error {
		d := direct{tx, instance}
		return errors.Join(dropOwnSenderKeys(d, r), skipPreKeys(d))
	})
}

func sessionsAfter(tx *store.Tx, instance int64, after []byte) (part []pair, err error) {
	r := store.Range{Prefix: store.Key(instance, byte('S')), Limit: restoreStep}
	if after != nil {
		r.From = append(store.Key(instance, after), 0)
	}
	err = tx.Scan(deviceBucket, r, func(k, v []byte) (bool, error) {
		part = append(part, pair{k[8:], v})
		return true, nil
	})
	return part, err
}

// spend removes the sending keys from a stored session.
func spend(raw []byte) ([]byte, error) {
	if len(raw) < 4 {
		return nil, errNoSession
	}
	rec, err := parseSession(raw[4:])
	if err != nil {
		return nil, err
	}
	for _, state := range states(rec) {
		if state.HasSenderChain() {
			state.SetSenderChainKey(chain.NewKey(kdf.DeriveSecrets, make([]byte, chainKeySize), state.SenderChainKey().Index()))
		}
	}
	return store.Key(binary.BigEndian.Uint32(raw)|restoredMark, rec.Serialize()), nil
}

const chainKeySize = 32

// isSpent reports whether a state has no sending key.
func isSpent(state *signal.State) bool {
	if !state.HasSenderChain() {
		return true
	}
	for _, b := range state.SenderChainKey().Key() {
		if b != 0 {
			return false
		}
	}
	return true
}

// sends reports whether a session has a sending key.
func sends(session []byte) bool {
	rec, err := parseSession(session)
	return err == nil && !isSpent(rec.SessionState())
}

// hasSpent reports whether any state of a session is spent.
func hasSpent(session []byte) bool {
	rec, err := parseSession(session)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(states(rec), func(s *signal.State) bool { return s.HasSenderChain() && isSpent(s) })
}

func states(rec *signal.Session) []*signal.State {
	return append(slices.Clip(rec.PreviousSessionStates()), rec.SessionState())
}

// atop places the new session of a send before the states of a spent one.
func atop(spent, session []byte) []byte {
	old, err := parseSession(spent)
	made, err2 := parseSession(session)
	if errors.Join(err, err2) != nil {
		return session
	}
	old.PromoteState(made.SessionState())
	return old.Serialize()
}

// dropOwnSenderKeys removes the keys with which the device writes to groups: the
// library creates new ones and sends them to the members with the next message.
func dropOwnSenderKeys(d direct, r record) error {
	for _, jid := range []types.JID{r.JID, r.LID} {
		if jid.IsEmpty() {
			continue
		}
		user := jid.SignalAddress().String()
		prefix := senderKeyUser("", user)
		groups, err := d.list(prefix, 0)
		if err != nil {
			return err
		}
		for _, g := range groups {
			if err := errors.Join(d.remove(g.key), d.remove(senderKeyKey(string(g.key[len(prefix):]), user))); err != nil {
				return err
			}
		}
	}
	return nil
}

// skipPreKeys ensures that no pre-key is uploaded that WhatsApp may know.
func skipPreKeys(d direct) error {
	err := eachPreKey(d, func(id uint32, raw []byte) error {
		if len(raw) == 0 || isUploaded(raw) {
			return nil
		}
		raw[0] = 1
		return d.put(preKeyKey(id), raw)
	})
	if err != nil {
		return err
	}
	next, err := nextPreKeyID(d)
	if err != nil {
		return err
	}
	return d.put(nextPreKeyKey, store.Key((next+preKeysSkipped-1)%maxPreKeyID+1))
}
