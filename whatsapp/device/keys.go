package device

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"go.mau.fi/whatsmeow/util/keys"

	"postern/store"
)

// maxPreKeyID is the largest id: it has 24 bits on the wire.
const maxPreKeyID = 1<<24 - 1

func preKeyKey(id uint32) []byte { return store.Key(byte('P'), id) }

var nextPreKeyKey = []byte{'p'}

func encodePreKey(k *keys.PreKey, uploaded bool) []byte {
	b := make([]byte, 1, 33)
	if uploaded {
		b[0] = 1
	}
	return append(b, k.Priv[:]...)
}

func decodePreKey(id uint32, raw []byte) (k *keys.PreKey, uploaded bool, err error) {
	if len(raw) != 33 {
		return nil, false, fmt.Errorf("device: pre-key %d has %d bytes", id, len(raw))
	}
	pair := keys.NewKeyPairFromPrivateKey([32]byte(raw[1:]))
	return &keys.PreKey{KeyPair: *pair, KeyID: id}, raw[0] == 1, nil
}

// GetOrGenPreKeys returns count pre-keys that were not uploaded, making what is
// missing in one commit.
func (a *account) GetOrGenPreKeys(ctx context.Context, count uint32) ([]*keys.PreKey, error) {
	a.preKeys.Lock()
	defer a.preKeys.Unlock()
	var waiting []*keys.PreKey
	err := a.eachPreKey(ctx, func(k *keys.PreKey, uploaded bool) bool {
		if !uploaded {
			waiting = append(waiting, k)
		}
		return len(waiting) < int(count)
	})
	if err != nil || len(waiting) >= int(count) {
		return waiting, err
	}
	fresh, err := a.generate(ctx, int(count)-len(waiting), false)
	return append(waiting, fresh...), err
}

// GenOnePreKey makes a pre-key that counts as uploaded: the library sends it
// at once.
func (a *account) GenOnePreKey(ctx context.Context) (*keys.PreKey, error) {
	a.preKeys.Lock()
	defer a.preKeys.Unlock()
	fresh, err := a.generate(ctx, 1, true)
	if err != nil {
		return nil, err
	}
	return fresh[0], nil
}

// generate makes n pre-keys with ids that were never used before, as far as 24
// bits allow. The caller holds a.preKeys.
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
		return x.put(nextPreKeyKey, store.Key(next))
	})
	return fresh, err
}

func nextPreKeyID(x access) (uint32, error) {
	raw, err := x.get(nextPreKeyKey)
	if err != nil {
		return 0, err
	}
	if len(raw) != 4 {
		return 1, nil
	}
	return binary.BigEndian.Uint32(raw), nil
}

// GetPreKey implements [wastore.PreKeyStore].
func (a *account) GetPreKey(ctx context.Context, id uint32) (*keys.PreKey, error) {
	raw, err := a.get(ctx, preKeyKey(id))
	if err != nil || raw == nil {
		return nil, err
	}
	k, _, err := decodePreKey(id, raw)
	return k, err
}

// RemovePreKey implements [wastore.PreKeyStore].
func (a *account) RemovePreKey(ctx context.Context, id uint32) error {
	return a.remove(ctx, preKeyKey(id))
}

// MarkPreKeysAsUploaded implements [wastore.PreKeyStore].
func (a *account) MarkPreKeysAsUploaded(ctx context.Context, upToID uint32) error {
	return a.write(ctx, func(x access) error {
		pairs, err := x.list([]byte{'P'}, 0)
		if err != nil {
			return err
		}
		for _, p := range pairs {
			if binary.BigEndian.Uint32(p.key[1:]) > upToID || p.value[0] == 1 {
				continue
			}
			p.value[0] = 1
			if err := x.put(p.key, p.value); err != nil {
				return err
			}
		}
		return nil
	})
}

// UploadedPreKeyCount counts the pre-keys that were uploaded and not used yet.
func (a *account) UploadedPreKeyCount(ctx context.Context) (n int, err error) {
	err = a.eachPreKey(ctx, func(_ *keys.PreKey, uploaded bool) bool {
		if uploaded {
			n++
		}
		return true
	})
	return n, err
}

func (a *account) eachPreKey(ctx context.Context, fn func(k *keys.PreKey, uploaded bool) bool) error {
	return a.read(ctx, func(x access) error {
		pairs, err := x.list([]byte{'P'}, 0)
		if err != nil {
			return err
		}
		for _, p := range pairs {
			k, uploaded, err := decodePreKey(binary.BigEndian.Uint32(p.key[1:]), p.value)
			if err != nil {
				return err
			}
			if !fn(k, uploaded) {
				return nil
			}
		}
		return nil
	})
}

func senderKeyKey(group, user string) []byte { return store.Key(byte('G'), group, byte(0), user) }
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
