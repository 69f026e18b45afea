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

// maxFlights is how many sent messages of an instance may have sessions that are not
// yet in the file. On a slow disk, that many messages share one commit.
const maxFlights = 8

// A message costs one commit, that of its result: its sessions ride on the next commit
// of any caller. They request one themselves after maxRide, or when maxRiders of the
// instance wait.
const (
	maxRide   = time.Second
	maxRiders = maxFlights / 2
)

// flights are the sessions of a device's last messages that may not be in the file yet,
// oldest first. All accounts of the device share them.
type flights struct {
	store *store.Store

	// ratchet is held while a decryption or a send advances sessions, from its first
	// read until its write has its place among the commits. Both write back what they
	// read: two at a time would use a key twice.
	ratchet sync.Mutex

	rides atomic.Pointer[[]ride] // oldest first; replaced with mu held
	known known

	mu     sync.Mutex // held over every write, so that they stay in order
	list   []flight
	closed error // why the sessions must not be used any more
	late   bool  // landLate is scheduled
}

type flight struct {
	*store.Submitted
	sessions map[string][]byte // in stored form, by address
	write    func(*store.Tx) error
}

// wait waits for the write of a flight and returns its result.
func (f *flights) wait(one flight) error {
	f.store.Hurry(one.Submitted)
	return one.Wait()
}

// launch schedules the write of the sessions of a message that is sent now.
func (f *flights) launch(ctx context.Context, sessions map[string][]byte, write func(*store.Tx) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed != nil {
		return f.closed
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

// landLate writes what no commit has taken, and forgets what is in the file: a device
// that is idle after messages to large groups would otherwise keep their sessions in
// memory. What fails is written before the next messages are sent.
func (f *flights) landLate() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.late = false
	if f.closed == nil {
		_ = f.landAll(context.Background())
	}
}

// land waits for the oldest flight, and for all if its write failed.
func (f *flights) land(ctx context.Context) error {
	if f.wait(f.list[0]) != nil {
		return f.landAll(ctx)
	}
	f.list[0] = flight{}
	f.list = f.list[1:]
	return nil
}

// clear forgets what is in the file, and repeats failed writes, which would otherwise
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

// landAll waits for all writes. If one failed, all are repeated in order: the messages
// have been sent, so the sessions must not be used before.
func (f *flights) landAll(ctx context.Context) error {
	if f.closed != nil {
		return f.closed
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
			return fmt.Errorf("sessions of a sent message: %w", err)
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

// sessions returns the newest session for each address that has one here.
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

// close is settle, after which no session is used. It ignores a device that was just
// deleted.
func (f *flights) close(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.landAll(ctx)
	if errors.Is(err, wastore.ErrDeviceDeleted) {
		err = nil
	}
	f.closed = store.ErrClosed
	return err
}

// flightsOf returns the flights of an instance's device.
func (c *Container) flightsOf(instance int64) *flights {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return &flights{store: c.store, closed: store.ErrClosed}
	}
	f := c.flights[instance]
	if f == nil {
		f = &flights{store: c.store}
		c.flights[instance] = f
	}
	return f
}

// replace commits fn, which deletes the device of an instance or replaces it, and
// reports whether it did. The sessions of the old device then end: what is not in the
// file is dropped, and no message of it is sent any more.
func (c *Container) replace(ctx context.Context, instance int64, fn func(*store.Tx) (bool, error)) error {
	f, replaced := c.flightsOf(instance), false
	f.mu.Lock()
	for errors.Is(f.closed, wastore.ErrDeviceDeleted) { // deleted concurrently
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
	f.list, f.closed = nil, wastore.ErrDeviceDeleted
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.flights, instance)
	return nil
}
