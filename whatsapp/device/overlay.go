package device

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"postern/store"
)

// reader is what the stores read from: a transaction of the file with the writes that
// are not in it yet, or the overlay of a decryption. Keys are without the instance.
type reader interface {
	get(key []byte) ([]byte, error) // nil: none
	// list returns up to limit records with that prefix in key order; 0: no limit. The slices are the caller's.
	list(prefix []byte, limit int) ([]pair, error)
}

// access is what the stores write to: a transaction of the file, or the overlay of a
// decryption.
type access interface {
	reader
	put(key, value []byte) error
	remove(key []byte) error
}

type pair struct{ key, value []byte }

// sized is a part of a key preceded by its length, so that no part is a prefix of
// another one.
func sized(part string) []byte { return store.Key(uint16(len(part)), part) }

// direct accesses the file in a transaction.
type direct struct {
	tx       *store.Tx
	instance int64
}

// gone reports that there is no device any more: its pending writes are dropped,
// because nothing would ever delete them.
func (d direct) gone() bool { return !d.tx.Has(deviceBucket, recordKey(d.instance)) }

func (d direct) key(k []byte) []byte   { return store.Key(d.instance, k) }
func (d direct) put(k, v []byte) error { return d.tx.Put(deviceBucket, d.key(k), v) }
func (d direct) remove(k []byte) error { return d.tx.Delete(deviceBucket, d.key(k)) }

// get treats a damaged record as missing: the library recovers without it, be it a
// session, a key or a state, by requests to its peers. The device record itself is not
// read this way.
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

// overlay holds the writes of one decryption until they are committed. It must not be
// used concurrently.
type overlay struct {
	account  *account
	writes   map[string][]byte  // nil: removed
	migrated map[[2]string]bool // added to the account's with the commit
	ended    atomic.Bool        // its context is no longer in use
}

type overlayKey struct{}

// overlayOf returns the overlay that ctx carries for this account, or nil. A context
// that outlives its decryption writes to the file: writes to a finished overlay would
// be lost.
func (a *account) overlayOf(ctx context.Context) *overlay {
	o, _ := ctx.Value(overlayKey{}).(*overlay)
	if o == nil || o.account != a || o.ended.Load() {
		return nil
	}
	return o
}

func (o *overlay) get(k []byte) (v []byte, err error) {
	err = o.account.file(func(r reader) (err error) {
		v, err = layer{o.writes, r}.get(k)
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
	err = o.account.file(func(r reader) (err error) {
		pairs, err = layer{o.writes, r}.list(prefix, limit)
		return err
	})
	return pairs, err
}

// commit writes the overlay in one transaction, or has it ride on the next one.
func (o *overlay) commit(ctx context.Context) error {
	o.ended.Store(true)
	if len(o.writes) == 0 {
		return nil
	}
	a := o.account
	if rides(ctx) && len(o.migrated) == 0 {
		return a.flights.board(a.instance, o.writes, true)
	}
	defer a.flights.known.change()()
	return a.c.store.Update(ctx, func(tx *store.Tx) error { return putAll(direct{tx, a.instance}, o.writes) })
}

// DoDecryptionTxn runs fn with a context in which this account's reads and writes use
// an overlay, and commits that if fn succeeds; inside [Riding] it rides on the next
// commit. If fn fails or panics, nothing is written. Nested calls join the outer one.
func (a *account) DoDecryptionTxn(ctx context.Context, fn func(context.Context) error) error {
	if a.overlayOf(ctx) != nil {
		return fn(ctx)
	}
	a.flights.ratchet.Lock()
	defer a.flights.ratchet.Unlock()
	if err := a.settle(ctx); err != nil {
		return err
	}
	_ = a.flights.lost() // of a message that failed, and comes again
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
