package device

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	wastore "go.mau.fi/whatsmeow/store"

	"postern/store"
)

// maxFlights is how many messages of an instance may have left whose sessions
// are still on their way to the file. With a disk that takes long for a
// commit, that many messages share one.
const maxFlights = 8

// What a message costs is one commit, that of its result: its sessions go with
// the next one that anybody asks for. They ask for one themselves when none came
// for maxRide, or when maxRiders of the instance wait.
const (
	maxRide   = time.Second
	maxRiders = maxFlights / 2
)

// flights are the sessions of a device's last messages that are on their way
// to the file, or may be, oldest first. All accounts of the device share them.
type flights struct {
	store *store.Store

	// ratchet is held while a decryption or a send moves sessions on, from the
	// first that it reads to the place of its write among the commits. Both
	// write back all of what they read: two at a time would use a key twice.
	ratchet sync.Mutex

	rides atomic.Pointer[[]ride] // oldest first; replaced with mu held
	known known

	mu   sync.Mutex // held over every write, so that they stay in order
	list []flight
	over error // why the sessions must not be used any more
	late bool  // landLate is going to look
}

type flight struct {
	*store.Submitted
	sessions map[string][]byte // as stored, by address
	write    func(*store.Tx) error
}

// wait has a flight written, and returns what became of it.
func (f *flights) wait(one flight) error {
	f.store.Hurry(one.Submitted)
	return one.Wait()
}

// launch has the sessions of a message written that leaves now.
func (f *flights) launch(ctx context.Context, sessions map[string][]byte, write func(*store.Tx) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over != nil {
		return f.over
	}
	if len(f.list) == maxFlights {
		if err := f.land(ctx); err != nil {
			return err
		}
	}
	attached, err := f.store.Attach(write)
	if err != nil {
		return err
	}
	f.list = append(f.list, flight{attached, sessions, write})
	if len(f.list) >= maxRiders {
		f.store.Hurry(attached)
	}
	if !f.late {
		f.late = true
		time.AfterFunc(maxRide, f.landLate)
	}
	return nil
}

// landLate writes what no commit has taken along, and forgets all that is in the
// file: a device that is silent after messages to large groups would keep their
// sessions in memory. What fails is written before the next messages leave.
func (f *flights) landLate() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.late = false
	if f.over == nil {
		_ = f.landAll(context.Background())
	}
}

// land waits for the oldest, and for all when its write has failed.
func (f *flights) land(ctx context.Context) error {
	if f.wait(f.list[0]) != nil {
		return f.landAll(ctx)
	}
	f.list[0] = flight{}
	f.list = f.list[1:]
	return nil
}

// clear forgets what is in the file, and writes again what failed, which would
// wait for the next message.
func (f *flights) clear(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.list) > 0 && f.list[0].Done() {
		if err := f.land(ctx); err != nil {
			return err
		}
	}
	return nil
}

// landAll waits for all writes. When one failed, all are done again, in their
// order: the messages have left, so nobody may use the sessions before.
func (f *flights) landAll(ctx context.Context) error {
	if f.over != nil {
		return f.over
	}
	failed := false
	for _, one := range f.list {
		failed = f.wait(one) != nil || failed
	}
	if failed {
		err := f.store.Update(ctx, func(tx *store.Tx) error {
			for _, one := range f.list {
				if err := one.write(tx); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("the sessions of a message that left: %w", err)
		}
	}
	f.list = nil
	return nil
}

// settle returns when all sessions are in the file.
func (f *flights) settle(ctx context.Context) error {
	f.arrive()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.landAll(ctx)
}

// sessions returns the newest session with each address that is known here.
func (f *flights) sessions(addresses []string) map[string][]byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := map[string][]byte{}
	for _, address := range addresses {
		for _, one := range slices.Backward(f.list) {
			if v := one.sessions[address]; v != nil {
				known[address] = bytes.Clone(v)
				break
			}
		}
	}
	return known
}

// close is settle, after which no session is used. A device that was deleted just now has
// none left.
func (f *flights) close(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.landAll(ctx)
	if errors.Is(err, wastore.ErrDeviceDeleted) {
		err = nil
	}
	f.over = store.ErrClosed
	return err
}

// flightsOf returns those of an instance's device.
func (c *Container) flightsOf(instance int64) *flights {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return &flights{store: c.store, over: store.ErrClosed}
	}
	f := c.flights[instance]
	if f == nil {
		f = &flights{store: c.store}
		c.flights[instance] = f
	}
	return f
}

// replace commits fn, which deletes the device of an instance or puts another
// in its place, and says whether it did. The sessions of the former are then
// over: what is on its way belongs to nobody, and its messages leave no more.
func (c *Container) replace(ctx context.Context, instance int64, fn func(*store.Tx) (bool, error)) error {
	f, replaced := c.flightsOf(instance), false
	f.mu.Lock()
	for errors.Is(f.over, wastore.ErrDeviceDeleted) { // by somebody else just now
		f.mu.Unlock()
		f = c.flightsOf(instance)
		f.mu.Lock()
	}
	defer f.mu.Unlock()
	defer f.known.change()()
	err := c.store.Update(ctx, func(tx *store.Tx) (err error) {
		replaced, err = fn(tx)
		return err
	})
	if err != nil || !replaced {
		return err
	}
	f.list, f.over = nil, wastore.ErrDeviceDeleted
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.flights, instance)
	return nil
}
