package digest

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"

	"github.com/dchest/siphash"
	"github.com/google/uuid"

	"postern/store"
)

// hashKind stands before the key of the hashes. After a change of the hash function all hashes
// are rebuilt, as they are after hashBegun, which marks an unfinished rebuild.
const (
	hashKind  = 2
	hashBegun = 0
)

// KeyName is the key of the digest's row in Config.Keys, KeySize the size of its value.
const (
	KeyName = "hash key"
	KeySize = 1 + len(hashKey{})
)

// hashKey is a SipHash key of this file's own. Without it, those who send messages cannot
// make chats or ids that collide in the digest.
type hashKey [16]byte

// hash returns 0 for an empty text, and for no other.
func (k hashKey) hash(text string) uint32 {
	if text == "" {
		return 0
	}
	return max(uint32(k.hash64(text)>>32), 1)
}

// hashID returns the hash of an event's id.
func (k hashKey) hashID(id uuid.UUID) uint32 {
	return max(uint32(k.sum(id[:])>>32), 1)
}

func (k hashKey) hash64(text string) uint64 {
	var buf [128]byte
	return k.sum(append(buf[:0], text...))
}

func (k hashKey) sum(raw []byte) uint64 {
	return siphash.Hash(binary.LittleEndian.Uint64(k[:]), binary.LittleEndian.Uint64(k[8:]), raw)
}

// openKey reads the key of the hashes, or makes one; with a new key all rows have to be
// rebuilt.
func (d *Digest) openKey() (made bool, err error) {
	err = d.cfg.Store.Update(context.Background(), func(tx *store.Tx) error {
		raw, err := tx.Get(d.cfg.Keys, []byte(KeyName))
		if made = err == nil && (len(raw) != KeySize || raw[0] != hashKind) || errors.Is(err, store.ErrDamaged); !made && err == nil {
			copy(d.key[:], raw[1:])
		}
		if !made {
			return err
		}
		_, _ = rand.Read(d.key[:])
		return d.putKey(tx, hashBegun)
	})
	return made, err
}

func (d *Digest) putKey(tx *store.Tx, kind byte) error {
	return tx.Put(d.cfg.Keys, []byte(KeyName), append([]byte{kind}, d.key[:]...))
}

// AddName adds a further name to a record, by which [Query.Name] finds it.
func (d *Digest) AddName(tx *store.Tx, record uint64, name string) error {
	return tx.Put(d.cfg.Names, d.nameKey(name, record), nil)
}

// DropName removes a further name of a record.
func (d *Digest) DropName(tx *store.Tx, record uint64, name string) error {
	return tx.Delete(d.cfg.Names, d.nameKey(name, record))
}

func (d *Digest) nameKey(name string, record uint64) []byte {
	return store.Key(d.key.hash64(name), record)
}

// named returns the records that may have that further name.
func (d *Digest) named(tx *store.Tx, name string) (found []uint64, err error) {
	if name == "" {
		return nil, nil
	}
	err = tx.Walk(d.cfg.Names, store.Range{Prefix: store.Key(d.key.hash64(name))}, func(key []byte) (bool, error) {
		if len(key) == 16 {
			found = append(found, binary.BigEndian.Uint64(key[8:]))
		}
		return true, nil
	})
	return found, err
}
