package device

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"postern/store"
)

// A message that was decrypted has its session stored before it is told, and is
// told, stored and acknowledged after that: three commits, if each of these
// writes asked for its own. Who calls the library with [Riding] and then
// [Container.Settle] lets them share that of the message. Until it is on the disk
// they are read from memory, nothing is encrypted with such a session, and after a
// crash the message was not acknowledged: it comes again, to the old session.

// ride is a write that goes with the next commit of anybody.
type ride struct {
	*store.Submitted
	writes    map[string][]byte // by key, nil: removed; never changed
	decrypted bool              // the message must not be acknowledged before
}

type ridingKey struct{}

// Riding has what a decryption writes go with the next commit. The caller calls
// [Container.Settle] before the message is acknowledged.
func Riding(ctx context.Context) context.Context {
	return context.WithValue(ctx, ridingKey{}, true)
}

func rides(ctx context.Context) bool { return ctx.Value(ridingKey{}) != nil }

// Settle returns when what the decryptions of an instance's device wrote is on the
// disk. An error says that it is not, and that the message has to come again.
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

// board has writes go with the next commit.
func (f *flights) board(instance int64, writes map[string][]byte, decrypted bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over != nil {
		return f.over
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

// arrive returns when what decryptions wrote is in the file, or cannot be. It asks
// for a commit where nobody else did.
func (f *flights) arrive() {
	for _, r := range f.some(func(r ride) bool { return r.decrypted }) {
		f.store.Hurry(r.Submitted)
		_ = r.Wait() // lost has it
	}
}

// lost tells, once, why what a decryption wrote is not in the file.
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

// underway are those that are not on the disk yet.
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

// layer reads what is on its way to the file before the file.
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
