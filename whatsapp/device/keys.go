package device

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"go.mau.fi/whatsmeow/util/keys"

	"postern/store"
)

// maxPreKeyID is the largest pre-key id: 24 bits on the wire.
const maxPreKeyID = 1<<24 - 1

func preKeyKey(id uint32) []byte { return store.Key(byte('P'), id) }

// isPreKey reports whether a key is of a pre-key record. They are most of a device's
// records: a pairing creates 812.
func isPreKey(key []byte) bool { return len(key) > 8 && key[8] == 'P' }

var nextPreKeyKey = []byte{'p'}

// singlesKey holds the ids of the last pre-keys that were made one at a time, for requests to send a
// message again. The sender of a message that cannot be decrypted causes one; who sends many
// must not fill the file. A recipient uses such a key within minutes.
var singlesKey = []byte{'q'}

const maxSingles = 500

func encodePreKey(k *keys.PreKey, uploaded bool) []byte {
	b := make([]byte, 1, 33)
	if uploaded {
		b[0] = 1
	}
	return append(b, k.Priv[:]...)
}

func isUploaded(raw []byte) bool { return len(raw) > 0 && raw[0] == 1 }

func decodePreKey(id uint32, raw []byte) (*keys.PreKey, error) {
	if len(raw) != 33 {
		return nil, fmt.Errorf("device: pre-key %d has %d bytes", id, len(raw))
	}
	pair := keys.NewKeyPairFromPrivateKey([32]byte(raw[1:]))
	return &keys.PreKey{KeyPair: *pair, KeyID: id}, nil
}

// GetOrGenPreKeys returns count pre-keys that were not uploaded, creating missing ones
// in one commit. They are in the order of their ids: the library marks all up to the
// last one as uploaded, also if the ids wrap in between.
func (a *account) GetOrGenPreKeys(ctx context.Context, count uint32) ([]*keys.PreKey, error) {
	a.preKeys.Lock()
	defer a.preKeys.Unlock()
	waiting, err := a.waitingPreKeys(ctx, int(count))
	if err != nil || len(waiting) == int(count) {
		return waiting, err
	}
	fresh, err := a.generate(ctx, int(count)-len(waiting), false)
	if err != nil {
		return nil, err
	}
	all := append(waiting, fresh...)
	slices.SortFunc(all, func(a, b *keys.PreKey) int { return cmp.Compare(a.KeyID, b.KeyID) })
	return all, nil
}

// waitingPreKeys returns the first pre-keys that were not uploaded, up to limit.
func (a *account) waitingPreKeys(ctx context.Context, limit int) (waiting []*keys.PreKey, err error) {
	err = a.eachPreKey(ctx, func(id uint32, raw []byte) error {
		if len(waiting) == limit || isUploaded(raw) {
			return nil
		}
		k, err := decodePreKey(id, raw)
		waiting = append(waiting, k)
		return err
	})
	return waiting, err
}

// GenOnePreKey creates a pre-key marked as uploaded: the library sends it at once.
func (a *account) GenOnePreKey(ctx context.Context) (*keys.PreKey, error) {
	a.preKeys.Lock()
	defer a.preKeys.Unlock()
	fresh, err := a.generate(ctx, 1, true)
	if err != nil {
		return nil, err
	}
	return fresh[0], nil
}

// generate creates n pre-keys with unused ids, as far as 24 bits allow. The caller
// holds a.preKeys.
func (a *account) generate(ctx context.Context, n int, uploaded bool) ([]*keys.PreKey, error) {
	fresh := make([]*keys.PreKey, n)
	for i := range fresh {
		fresh[i] = keys.NewPreKey(1)
	}
	err := a.write(ctx, func(x access) error {
		next, err := nextPreKeyID(x)
		if err != nil {
			return err
		}
		for _, k := range fresh {
			k.KeyID = next
			if err := x.put(preKeyKey(next), encodePreKey(k, uploaded)); err != nil {
				return err
			}
			if next++; next > maxPreKeyID {
				next = 1
			}
		}
		if uploaded {
			if err := keepSingles(x, fresh); err != nil {
				return err
			}
		}
		return x.put(nextPreKeyKey, store.Key(next))
	})
	return fresh, err
}

// keepSingles notes pre-keys that were made one at a time, and removes the oldest beyond maxSingles.
func keepSingles(x access, fresh []*keys.PreKey) error {
	ids, err := x.get(singlesKey)
	if err != nil || len(ids)%4 != 0 {
		ids = nil // those are kept
	}
	ids = slices.Clone(ids)
	for _, k := range fresh {
		ids = binary.BigEndian.AppendUint32(ids, k.KeyID)
	}
	for ; len(ids) > 4*maxSingles; ids = ids[4:] {
		if err := x.remove(preKeyKey(nextOf(ids))); err != nil {
			return err
		}
	}
	return x.put(singlesKey, ids)
}

func nextPreKeyID(x access) (uint32, error) {
	raw, err := x.get(nextPreKeyKey)
	if err != nil {
		return 0, err
	}
	if len(raw) != 4 {
		return 1, nil
	}
	return nextOf(raw), nil
}

// nextOf decodes the next id, of four bytes.
func nextOf(raw []byte) uint32 { return binary.BigEndian.Uint32(raw) }

// GetPreKey implements [wastore.PreKeyStore].
func (a *account) GetPreKey(ctx context.Context, id uint32) (*keys.PreKey, error) {
	raw, err := a.get(ctx, preKeyKey(id))
	if err != nil || raw == nil {
		return nil, err
	}
	return decodePreKey(id, raw)
}

// RemovePreKey implements [wastore.PreKeyStore].
func (a *account) RemovePreKey(ctx context.Context, id uint32) error {
	return a.remove(ctx, preKeyKey(id))
}

// MarkPreKeysAsUploaded implements [wastore.PreKeyStore].
func (a *account) MarkPreKeysAsUploaded(ctx context.Context, upToID uint32) error {
	return a.write(ctx, func(x access) error {
		return eachPreKey(x, func(id uint32, raw []byte) error {
			if id > upToID || len(raw) == 0 || isUploaded(raw) {
				return nil
			}
			raw[0] = 1
			return x.put(preKeyKey(id), raw)
		})
	})
}

// UploadedPreKeyCount counts the pre-keys that were uploaded and are unused.
func (a *account) UploadedPreKeyCount(ctx context.Context) (n int, err error) {
	err = a.eachPreKey(ctx, func(_ uint32, raw []byte) error {
		if isUploaded(raw) {
			n++
		}
		return nil
	})
	return n, err
}

func (a *account) eachPreKey(ctx context.Context, fn func(id uint32, raw []byte) error) error {
	return a.read(ctx, func(x reader) error { return eachPreKey(x, fn) })
}

// eachPreKey leaves the decoding to fn: computing a public key costs more than
// reading hundreds of records.
func eachPreKey(x reader, fn func(id uint32, raw []byte) error) error {
	pairs, err := x.list([]byte{'P'}, 0)
	if err != nil {
		return err
	}
	for _, p := range pairs {
		if err := fn(binary.BigEndian.Uint32(p.key[1:]), p.value); err != nil {
			return err
		}
	}
	return nil
}

func senderKeyKey(group, user string) []byte { return store.Key(byte('G'), sized(group), user) }
func senderKeyUser(group, user string) []byte {
	return store.Key(byte('g'), user, byte(0), group)
}

// PutSenderKey implements [wastore.SenderKeyStore].
func (a *account) PutSenderKey(ctx context.Context, group, user string, session []byte) error {
	return a.write(ctx, func(x access) error { return putSenderKey(x, group, user, session) })
}

func putSenderKey(x access, group, user string, session []byte) error {
	return errors.Join(x.put(senderKeyKey(group, user), session), x.put(senderKeyUser(group, user), nil))
}

func moveSenderKey(x access, group, from, to string) error {
	session, err := x.get(senderKeyKey(group, from))
	if err != nil {
		return err
	}
	if session != nil {
		err = putSenderKey(x, group, to, session)
	}
	return errors.Join(err, x.remove(senderKeyKey(group, from)), x.remove(senderKeyUser(group, from)))
}

// GetSenderKey implements [wastore.SenderKeyStore].
func (a *account) GetSenderKey(ctx context.Context, group, user string) ([]byte, error) {
	return a.get(ctx, senderKeyKey(group, user))
}
