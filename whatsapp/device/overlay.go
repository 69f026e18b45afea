package device

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"postern/store"
)

// access is what the stores read and write through: a transaction of the file,
// or the overlay of a decryption. Keys are without the instance.
type access interface {
	get(key []byte) ([]byte, error) // nil when there is none
	put(key, value []byte) error
	remove(key []byte) error
	// list returns up to limit records with that prefix in order of their keys;
	// 0 is no limit. The slices are the caller's.
	list(prefix []byte, limit int) ([]pair, error)
}

type pair struct{ key, value []byte }

// sized is a part of a key with its length before it, so that no part can be
// taken for another's beginning whatever bytes it has.
func sized(part string) []byte { return store.Key(uint16(len(part)), part) }

// direct is access to the file in a transaction.
type direct struct {
	tx       *store.Tx
	instance int64
}

func (d direct) key(k []byte) []byte   { return store.Key(d.instance, k) }
func (d direct) put(k, v []byte) error { return d.tx.Put(deviceBucket, d.key(k), v) }
func (d direct) remove(k []byte) error { return d.tx.Delete(deviceBucket, d.key(k)) }

// get treats a damaged record as none: the library begins anew without it, be
// it a session, a key or a state, and asks its peers for what it misses. The
// device itself is not read this way.
func (d direct) get(k []byte) ([]byte, error) {
	v, err := d.tx.Get(deviceBucket, d.key(k))
	if errors.Is(err, store.ErrDamaged) {
		return nil, nil
	}
	return v, err
}

func (d direct) list(prefix []byte, limit int) (pairs []pair, err error) {
	r := store.Range{Prefix: d.key(prefix), Limit: limit}
	err = d.tx.Scan(deviceBucket, r, func(k, v []byte) (bool, error) {
		pairs = append(pairs, pair{k[8:], v})
		return true, nil
	})
	return pairs, err
}

// overlay holds the writes of one decryption until they are committed. It is
// used by one goroutine.
type overlay struct {
	account  *account
	writes   map[string][]byte  // nil: removed
	migrated map[[2]string]bool // becomes the account's with the commit
	ended    atomic.Bool        // its context says nothing any more
}

type overlayKey struct{}

// overlayOf returns the overlay that travels in ctx for this account, or nil.
// A context that outlived its decryption writes to the file: what went into a
// finished overlay would be lost.
func (a *account) overlayOf(ctx context.Context) *overlay {
	o, _ := ctx.Value(overlayKey{}).(*overlay)
	if o == nil || o.account != a || o.ended.Load() {
		return nil
	}
	return o
}

func (o *overlay) get(k []byte) (v []byte, err error) {
	if v, pending := o.writes[string(k)]; pending {
		return slices.Clone(v), nil
	}
	err = o.account.file(func(d direct) (err error) {
		v, err = d.get(k)
		return err
	})
	return v, err
}

func (o *overlay) put(k, v []byte) error {
	o.writes[string(k)] = append([]byte{}, v...)
	return nil
}

func (o *overlay) remove(k []byte) error {
	o.writes[string(k)] = nil
	return nil
}

func (o *overlay) list(prefix []byte, limit int) (pairs []pair, err error) {
	err = o.account.file(func(d direct) (err error) {
		pairs, err = d.list(prefix, 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	pairs = slices.DeleteFunc(pairs, func(p pair) bool {
		_, pending := o.writes[string(p.key)]
		return pending
	})
	for k, v := range o.writes {
		if v != nil && bytes.HasPrefix([]byte(k), prefix) {
			pairs = append(pairs, pair{[]byte(k), slices.Clone(v)})
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int { return bytes.Compare(a.key, b.key) })
	if limit > 0 && len(pairs) > limit {
		pairs = pairs[:limit]
	}
	return pairs, nil
}

// commit writes the overlay in one transaction.
func (o *overlay) commit(ctx context.Context) error {
	if len(o.writes) == 0 {
		return nil
	}
	return o.account.c.store.Update(ctx, func(tx *store.Tx) error {
		d := direct{tx, o.account.instance}
		for k, v := range o.writes {
			var err error
			if v == nil {
				err = d.remove([]byte(k))
			} else {
				err = d.put([]byte(k), v)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// DoDecryptionTxn runs fn with a context in which this account's reads and
// writes use an overlay, and commits that when fn succeeds. When fn fails or
// panics nothing is written. Inside another one it joins that.
func (a *account) DoDecryptionTxn(ctx context.Context, fn func(context.Context) error) error {
	if a.overlayOf(ctx) != nil {
		return fn(ctx)
	}
	a.flights.ratchet.Lock()
	defer a.flights.ratchet.Unlock()
	if err := a.settle(ctx); err != nil {
		return err
	}
	o := &overlay{account: a, writes: map[string][]byte{}, migrated: map[[2]string]bool{}}
	defer o.ended.Store(true)
	if err := fn(context.WithValue(ctx, overlayKey{}, o)); err != nil {
		return err
	}
	if err := o.commit(ctx); err != nil {
		return fmt.Errorf("device of instance %d: commit a decryption: %w", a.instance, err)
	}
	a.markMigrated(o.migrated)
	return nil
}
