package device

import (
	"context"
	"slices"
	"sync"
)

// With each message the library asks for the identity of every device that it goes to,
// twice, for the recipient's privacy token and for a salt. They hardly ever change, so
// what was read of them is remembered: a read of the file is the dearest that is left
// of a send beside the encryption.

// maxKnown bounds how many values of one device are remembered, in all some ten KB.
const maxKnown = 128

// known are values of a device as they are in the file, by key. All accounts of the
// device share them. The zero value is ready.
type known struct {
	mu      sync.Mutex
	values  map[string][]byte // nil: there is none with that key; never changed
	changes int               // so far
	writers int               // who may be changing the file
}

// value returns what is remembered of a key. Where that is nothing, keep takes what the
// file has then, with the same since.
func (n *known) value(key []byte) (v []byte, remembered bool, since int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	v, remembered = n.values[string(key)]
	return v, remembered, n.changes
}

// keep remembers what was read of the file, unless that may have changed meanwhile.
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

// change forgets all until the end of a write, which done tells.
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

// drop forgets what writes change that are on their way to the file.
func (n *known) drop(writes map[string][]byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.changes++
	for key := range writes {
		delete(n.values, key)
	}
}

// recall is get for what is asked for with each message. What it returns must not be
// changed.
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
	riding := len(a.flights.underway()) > 0 // what is read may never be in the file
	err = a.file(func(r reader) (err error) {
		v, err = r.get(key)
		return err
	})
	if err == nil && !riding {
		a.flights.known.keep(key, v, since)
	}
	return v, err
}
