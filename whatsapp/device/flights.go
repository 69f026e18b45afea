package device

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"postern/store"
)

// maxFlights is how many messages of an instance may have left whose sessions
// are still on their way to the file. With a disk that takes long for a
// commit, that many messages share one.
const maxFlights = 8

// flights are the sessions of an instance's last messages that are on their
// way to the file, or may be, oldest first.
type flights struct {
	store *store.Store

	mu   sync.Mutex // held over every write, so that they stay in order
	list []flight
}

type flight struct {
	sessions map[string][]byte // as stored, by address
	write    func(*store.Tx) error
	wait     func() error
}

// launch submits the write of the sessions of a message that leaves now.
func (f *flights) launch(ctx context.Context, sessions map[string][]byte, write func(*store.Tx) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.list) == maxFlights {
		if err := f.land(ctx); err != nil {
			return err
		}
	}
	wait, err := f.store.Submit(write)
	if err != nil {
		return err
	}
	f.list = append(f.list, flight{sessions, write, wait})
	return nil
}

// land waits for the oldest, and for all when its write has failed.
func (f *flights) land(ctx context.Context) error {
	if f.list[0].wait() != nil {
		return f.landAll(ctx)
	}
	f.list[0] = flight{}
	f.list = f.list[1:]
	return nil
}

// landAll waits for all writes. When one failed, all are done again, in their
// order: the messages have left, so nobody may use the sessions before.
func (f *flights) landAll(ctx context.Context) error {
	failed := false
	for _, one := range f.list {
		failed = one.wait() != nil || failed
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
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.landAll(ctx)
}

// session returns the newest session with an address, nil when none is known
// here.
func (f *flights) session(address string) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := len(f.list) - 1; i >= 0; i-- {
		if v := f.list[i].sessions[address]; v != nil {
			return bytes.Clone(v)
		}
	}
	return nil
}

// flightsOf returns those of an instance.
func (c *Container) flightsOf(instance int64) *flights {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.flights[instance]
	if f == nil {
		f = &flights{store: c.store}
		c.flights[instance] = f
	}
	return f
}
