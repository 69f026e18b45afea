package device

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"postern/store"
)

// The session of a decrypted message is stored before the message is reported, and the
// message is then stored and acknowledged: three commits, if each write requested its
// own. With [Riding] and [Container.Settle] they share the commit of the message. Until
// it is on the disk they are read from memory, and nothing is encrypted with such a
// session. After a crash the message was not acknowledged: it comes again, to the old
// session.

// ride is a write that rides on the next commit of any caller.
type ride struct {
	*store.Submitted
	writes    map[string][]byte // by key, nil: removed; never modified
	decrypted bool              // the message must not be acknowledged before it
}

type ridingKey struct{}

// Riding makes the writes of a decryption ride on the next commit. The caller calls
// [Container.Settle] before the message is acknowledged.
func Riding(ctx context.Context) context.Context {
	return context.WithValue(ctx, ridingKey{}, true)
}

func rides(ctx context.Context) bool { return ctx.Value(ridingKey{}) != nil }

// Settle returns when the writes of the decryptions of an instance's device are on the
// disk. After an error they are not, and the message must come again.
func (c *Container) Settle(instance int64) error {
	c.mu.Lock()
	f := c.flights[instance] // also once the container is closed
	c.mu.Unlock()
	if f == nil {
		return nil
	}
	f.arrive()
	return f.lost()
}

// board lets writes ride on the next commit.
func (f *flights) board(instance int64, writes map[string][]byte, decrypted bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed != nil {
		return f.closed
	}
	submitted, err := f.store.Attach(func(tx *store.Tx) error {
		return putAll(direct{tx, instance}, writes)
	})
	if err != nil {
		return err
	}
	all := f.some(func(r ride) bool { return !r.Done() || r.decrypted && r.Wait() != nil })
	all = append(all, ride{submitted, writes, decrypted})
	f.rides.Store(&all)
	f.known.drop(writes)
	return nil
}

func putAll(d direct, writes map[string][]byte) error {
	if d.gone() {
		return nil
	}
	for k, v := range writes {
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
}

// arrive returns when the writes of decryptions are in the file, or have failed. It
// requests a commit if there is none.
func (f *flights) arrive() {
	for _, r := range f.some(func(r ride) bool { return r.decrypted }) {
		f.store.Hurry(r.Submitted)
		_ = r.Wait() // lost has it
	}
}

// lost returns, once, why a write of a decryption is not in the file.
func (f *flights) lost() (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	rest := f.some(func(r ride) bool {
		if r.decrypted && r.Done() {
			err = errors.Join(err, r.Wait())
		}
		return !r.Done()
	})
	f.rides.Store(&rest)
	return err
}

// underway returns the rides that are not on the disk yet.
func (f *flights) underway() []ride { return f.some(func(r ride) bool { return !r.Done() }) }

func (f *flights) some(of func(ride) bool) (some []ride) {
	all := f.rides.Load()
	if all == nil {
		return nil
	}
	for _, r := range *all {
		if of(r) {
			some = append(some, r)
		}
	}
	return some
}

// layer reads pending writes before the file.
type layer struct {
	over  map[string][]byte
	under reader
}

func (l layer) get(k []byte) ([]byte, error) {
	if v, pending := l.over[string(k)]; pending {
		return slices.Clone(v), nil
	}
	return l.under.get(k)
}

func (l layer) list(prefix []byte, limit int) (pairs []pair, err error) {
	if pairs, err = l.under.list(prefix, 0); err != nil {
		return nil, err
	}
	pairs = slices.DeleteFunc(pairs, func(p pair) bool {
		_, pending := l.over[string(p.key)]
		return pending
	})
	for k, v := range l.over {
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
