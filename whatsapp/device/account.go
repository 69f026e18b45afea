package device

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"sync"

	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"

	"postern/store"
)

// account implements the stores of one instance's device.
type account struct {
	c        *Container
	instance int64
	flights  *flights

	preKeys sync.Mutex // one generation of pre-keys at a time

	mu       sync.Mutex
	migrated map[[2]string]bool // phone and LID whose sessions were moved
}

var _ wastore.AllSessionSpecificStores = (*account)(nil)

func newAccount(c *Container, instance int64) *account {
	return &account{c: c, instance: instance, flights: c.flightsOf(instance), migrated: map[[2]string]bool{}}
}

// file reads from the file, and before that what rides on a later commit.
func (a *account) file(fn func(reader) error) error {
	underway := a.flights.underway() // before the file: what is committed in between is in both
	return a.c.store.View(func(tx *store.Tx) error {
		var r reader = direct{tx, a.instance}
		for _, one := range underway {
			r = layer{one.writes, r}
		}
		return fn(r)
	})
}

// read runs fn on the overlay in ctx, or on the file.
func (a *account) read(ctx context.Context, fn func(reader) error) error {
	if o := a.overlayOf(ctx); o != nil {
		return fn(o)
	}
	return a.file(fn)
}

// write runs fn on the overlay in ctx, or in a commit together with the waiting writes
// of the send in ctx. fn may run twice.
func (a *account) write(ctx context.Context, fn func(access) error) error {
	if o := a.overlayOf(ctx); o != nil {
		return fn(o)
	}
	s := sendingOf(ctx)
	defer a.flights.known.change()()
	err := a.c.store.Update(ctx, s.with(a.inTx(fn)))
	if err != nil {
		return fmt.Errorf("device of instance %d: %w", a.instance, err)
	}
	s.done()
	return nil
}

func (a *account) inTx(fn func(access) error) func(*store.Tx) error {
	return func(tx *store.Tx) error {
		d := direct{tx, a.instance}
		if d.gone() {
			return nil
		}
		return fn(d)
	}
}

// writeLater is write for data that need not be on disk before the next write of the
// same send.
func (a *account) writeLater(ctx context.Context, fn func(access) error) error {
	s := sendingOf(ctx)
	if s == nil || a.overlayOf(ctx) != nil {
		return a.write(ctx, fn)
	}
	s.waiting = append(s.waiting, a.inTx(fn))
	return nil
}

func (a *account) get(ctx context.Context, key []byte) (v []byte, err error) {
	err = a.read(ctx, func(x reader) (err error) {
		v, err = x.get(key)
		return err
	})
	return v, err
}

// putChanged writes the value unless it is stored already.
func (a *account) putChanged(ctx context.Context, key, value []byte) error {
	known, err := a.get(ctx, key)
	if err == nil && known != nil && bytes.Equal(known, value) {
		return nil
	}
	return a.write(ctx, func(x access) error { return x.put(key, value) })
}

func (a *account) remove(ctx context.Context, key []byte) error {
	known, err := a.get(ctx, key)
	if err == nil && known == nil {
		return nil
	}
	return a.write(ctx, func(x access) error { return x.remove(key) })
}

func identityKey(address string) []byte { return store.Key(byte('I'), address) }

// PutIdentity implements [wastore.IdentityStore].
func (a *account) PutIdentity(ctx context.Context, address string, key [32]byte) error {
	known, err := a.recall(ctx, identityKey(address))
	if err == nil && bytes.Equal(known, key[:]) {
		return nil
	}
	return a.putChanged(ctx, identityKey(address), key[:])
}

// IsTrustedIdentity trusts the first key of an address, and afterwards only that.
func (a *account) IsTrustedIdentity(ctx context.Context, address string, key [32]byte) (bool, error) {
	known, err := a.recall(ctx, identityKey(address))
	if err != nil {
		return false, err
	}
	return known == nil || bytes.Equal(known, key[:]), nil
}

// DeleteIdentity implements [wastore.IdentityStore].
func (a *account) DeleteIdentity(ctx context.Context, address string) error {
	return a.remove(ctx, identityKey(address))
}

// DeleteAllIdentities removes the identities of all devices of a user, in both
// forms of the address.
func (a *account) DeleteAllIdentities(ctx context.Context, phone string) error {
	return a.deleteUser(ctx, 'I', phone)
}

func (a *account) deleteUser(ctx context.Context, kind byte, user string) error {
	return a.write(ctx, func(x access) error {
		for _, prefix := range []string{user + ":", user + "_1:"} {
			pairs, err := x.list(store.Key(kind, prefix), 0)
			if err != nil {
				return err
			}
			for _, p := range pairs {
				if err := x.remove(p.key); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// MigratePNToLID moves what is stored under a phone number to its LID: sessions,
// identities and sender keys. The library calls it for nearly every message, so that
// nothing was left to move is remembered.
func (a *account) MigratePNToLID(ctx context.Context, pn, lid types.JID) error {
	from, to := pn.SignalAddressUser()+":", lid.SignalAddressUser()+":"
	done := [2]string{from, to}
	if from == to || a.isMigrated(ctx, done) {
		return nil
	}
	err := a.exclusively(ctx, func() error { return a.migrate(ctx, from, to) })
	if err != nil {
		return err
	}
	if o := a.overlayOf(ctx); o != nil {
		o.migrated[done] = true // a dropped overlay moves nothing
		return nil
	}
	a.markMigrated(map[[2]string]bool{done: true})
	return nil
}

func (a *account) isMigrated(ctx context.Context, done [2]string) bool {
	if o := a.overlayOf(ctx); o != nil && o.migrated[done] {
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.migrated[done]
}

func (a *account) markMigrated(done map[[2]string]bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.Copy(a.migrated, done)
}

func (a *account) migrate(ctx context.Context, from, to string) error {
	found := false
	err := a.read(ctx, func(x reader) error {
		for _, kind := range []byte{'S', 'I', 'g'} {
			pairs, err := x.list(store.Key(kind, from), 1)
			if err != nil {
				return err
			}
			found = found || len(pairs) > 0
		}
		return nil
	})
	if err != nil || !found {
		return err
	}
	return a.write(ctx, func(x access) error { return migrate(x, from, to) })
}

func migrate(x access, from, to string) error {
	for _, kind := range []byte{'S', 'I'} {
		pairs, err := x.list(store.Key(kind, from), 0)
		if err != nil {
			return err
		}
		for _, p := range pairs {
			device := p.key[1+len(from):]
			if err := move(x, p, store.Key(kind, to, device)); err != nil {
				return err
			}
		}
	}
	pairs, err := x.list(store.Key(byte('g'), from), 0)
	if err != nil {
		return err
	}
	for _, p := range pairs {
		user, group, _ := bytes.Cut(p.key[1:], []byte{0})
		moved := append([]byte(to), user[len(from):]...)
		if err := moveSenderKey(x, string(group), string(user), string(moved)); err != nil {
			return err
		}
	}
	return nil
}

func move(x access, p pair, to []byte) error {
	if err := x.put(to, p.value); err != nil {
		return err
	}
	return x.remove(p.key)
}
