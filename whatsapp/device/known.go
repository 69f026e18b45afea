package device

import (
	"context"
	"slices"
	"sync"
)

// With each message the library reads the identity of every recipient device twice, the
// recipient's privacy token and a salt. They rarely change, so they are cached: besides
// the encryption, reading the file is the most expensive part of a send.

// maxKnown is how many values of one device are cached, some ten KB in all.
const maxKnown = 128

// known caches values of a device by key. All accounts of the device share it. The zero
// value is ready to use.
type known struct {
	mu      sync.Mutex
	values  map[string][]byte // nil: no record; slices never change
	changes int               // so far
	writers int               // writes under way
}

// value returns the cached value of a key. If there is none, the caller passes what it
// then reads, and since, to keep.
func (n *known) value(key []byte) (v []byte, remembered bool, since int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	v, remembered = n.values[string(key)]
	return v, remembered, n.changes
}

// keep caches a value read from the file, unless it may have changed since.
func (n *known) keep(key, v []byte, since int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.writers > 0 || n.changes != since {
		return
	}
	if n.values == nil || len(n.values) == maxKnown {
		n.values = map[string][]byte{}
	}
	n.values[string(key)] = v
}

// change empties the cache and disables it until done is called after the write.
func (n *known) change() (done func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.values = nil
	n.writers++
	n.changes++
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.writers--
		n.changes++
	}
}

// drop forgets the keys of writes that are not in the file yet.
func (n *known) drop(writes map[string][]byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.changes++
	for key := range writes {
		delete(n.values, key)
	}
}

// recall is get with the cache, for values that every message needs. The result must
// not be changed.
func (a *account) recall(ctx context.Context, key []byte) (v []byte, err error) {
	if o := a.overlayOf(ctx); o != nil {
		if v, written := o.writes[string(key)]; written {
			return slices.Clone(v), nil
		}
	}
	v, remembered, since := a.flights.known.value(key)
	if remembered {
		return v, nil
	}
	riding := len(a.flights.underway()) > 0 // values read now may never be in the file
	err = a.file(func(r reader) (err error) {
		v, err = r.get(key)
		return err
	})
	if err == nil && !riding {
		a.flights.known.keep(key, v, since)
	}
	return v, err
}
