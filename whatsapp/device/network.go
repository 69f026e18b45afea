package device

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	wastore "go.mau.fi/whatsmeow/store"

	"postern/event"
	"postern/store"
	"postern/store/schema"
)

// A device belongs to the network that paired it, and only that network can log it out.
// A logout deletes nothing: it sets a time in the record of the device, which puts the
// device aside. The device stays in the file with all its keys and sessions, and is not
// loaded for a connection until it is tried once more, replaced or removed.

// DefaultKeepLoggedOut is how long a device is kept after its network logged it out, if
// KeepLoggedOut is not called.
const DefaultKeepLoggedOut = 7 * 24 * time.Hour

// Saved is a stored device.
type Saved struct {
	Device  *wastore.Device // nil: none
	Network event.Network   // empty: unknown
	Aside   bool            // its network logged it out
}

// Join sets the network that devices connect to and are paired with from now on.
func (c *Container) Join(n event.Network) { c.network.Store(&n) }

// joined returns the network set by Join, empty before it.
func (c *Container) joined() event.Network {
	if n := c.network.Load(); n != nil {
		return *n
	}
	return ""
}

// KeepLoggedOut sets how long a device is kept after its network logged it out; 0: it
// is removed at once.
func (c *Container) KeepLoggedOut(d time.Duration) { c.keep.Store(int64(d)) }

// Standing is the state of a device on its network.
type Standing struct {
	Network event.Network // empty: unknown
	Aside   bool          // its network logged it out
}

// Standings returns the state of all devices by instance, without damaged records.
func (c *Container) Standings() (map[int64]Standing, error) {
	records, err := allDevices(c.store)
	if err != nil {
		return nil, fmt.Errorf("device: networks: %w", err)
	}
	all := make(map[int64]Standing, len(records))
	for instance, r := range records {
		all[instance] = Standing{r.Network, r.Aside != 0}
	}
	return all, nil
}

// StandingsIn is Standings for a data file that no program has open. buckets and errors
// are those of store.ScanFile.
func StandingsIn(path string, buckets []schema.Bucket) (map[int64]Standing, error) {
	all := map[int64]Standing{}
	err := store.ScanFile(path, buckets, deviceBucket, func(k, v []byte) error {
		var r record
		if len(k) == 9 && k[8] == 'D' && json.Unmarshal(v, &r) == nil {
			all[int64(binary.BigEndian.Uint64(k))] = Standing{r.Network, r.Aside != 0} //nolint:gosec // as it was written
		}
		return nil
	})
	return all, err
}

// Accepted records that the network of Join accepted a login of an instance's device. A
// device without a network gets this one, and one put aside is in use again.
func (c *Container) Accepted(ctx context.Context, instance int64) error {
	err := c.store.Update(ctx, func(tx *store.Tx) error {
		r, found, err := store.GetJSON[record](tx, deviceBucket, recordKey(instance))
		if err != nil {
			return err
		}
		if !found {
			return wastore.ErrDeviceDeleted
		}
		if r.Network == "" {
			r.Network = c.joined()
		}
		r.Aside = 0
		return store.PutJSON(tx, deviceBucket, recordKey(instance), r)
	})
	if err != nil {
		return fmt.Errorf("network of the device of instance %d: %w", instance, err)
	}
	c.trial(instance, false)
	return nil
}

// Recall is Load for one more login: a device put aside is not removed before the end
// of the trial, by Accepted, a refusal or Delete.
func (c *Container) Recall(ctx context.Context, instance int64) (Saved, error) {
	c.dropping.Lock()
	c.trial(instance, true)
	c.dropping.Unlock()
	saved, err := c.Load(ctx, instance)
	if err != nil || !saved.Aside {
		c.trial(instance, false)
	}
	return saved, err
}

func (c *Container) trial(instance int64, begins bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if begins {
		c.trials[instance] = true
	} else {
		delete(c.trials, instance)
	}
}

func (c *Container) onTrial(instance int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.trials[instance]
}

// DeleteDevice is called by the library when the network logged a device out, and at
// the end of a logout by this side, which then calls Delete. The device is put aside,
// or removed if logged-out devices are not kept. Nothing changes if another or an
// unknown network paired it, or if the instance was paired again in the meantime.
func (v view) DeleteDevice(ctx context.Context, d *wastore.Device) error {
	if d.ID == nil {
		return errors.New("device: a device without JID cannot be deleted")
	}
	// Only fields that never change: the library deletes while others may set names.
	gone := record{JID: *d.ID, Identity: d.IdentityKey.Priv[:]}
	defer v.c.trial(v.instance, false)
	var err error
	if v.c.keep.Load() > 0 {
		err = v.c.store.Update(ctx, func(tx *store.Tx) error { return v.putAside(tx, gone) })
	} else {
		err = v.c.replace(ctx, v.instance, func(tx *store.Tx) (bool, error) {
			known, found, err := v.record(tx)
			if err != nil || !found || !v.loggedOut(known, gone) {
				return false, err
			}
			return true, v.c.DeleteTx(tx, v.instance)
		})
	}
	if err != nil {
		return fmt.Errorf("log out the device of instance %d: %w", v.instance, err)
	}
	return nil
}

// loggedOut reports whether a logout of the device gone applies to the stored one, by
// its own network.
func (v view) loggedOut(known, gone record) bool {
	return known.same(gone) && known.Network != "" && known.Network.Is(v.c.joined())
}

// putAside stores the time of a logout in the record of a device, unless it has one.
func (v view) putAside(tx *store.Tx, gone record) error {
	known, found, err := v.record(tx)
	if err != nil || !found || known.Aside != 0 || !v.loggedOut(known, gone) {
		return err
	}
	known.Aside = tx.Steady().UnixMilli()
	return store.PutJSON(tx, deviceBucket, recordKey(v.instance), known)
}

// DropAside removes the devices put aside before a time, with all their data, and
// returns the time of the oldest remaining one, zero for none. A device on trial stays.
// Times in the file are steady times: setting the clock does not make a device older.
func (c *Container) DropAside(ctx context.Context, before time.Time) (oldest time.Time, err error) {
	records, err := allDevices(c.store)
	if err != nil {
		return oldest, fmt.Errorf("device: put aside: %w", err)
	}
	off := time.Now().Round(0).Sub(c.store.Steady()).Round(time.Second)
	for instance, r := range records {
		if r.Aside == 0 {
			continue
		}
		at, dropped := time.UnixMilli(r.Aside).Add(off), false
		if at.Before(before) {
			if dropped, err = c.dropAside(ctx, instance, r, at); err != nil {
				return oldest, err
			}
		}
		if !dropped && (oldest.IsZero() || at.Before(oldest)) {
			oldest = at
		}
	}
	return oldest, nil
}

// dropAside removes a device if its record is still r, and reports whether it did.
func (c *Container) dropAside(ctx context.Context, instance int64, r record, at time.Time) (dropped bool, err error) {
	c.dropping.Lock()
	defer c.dropping.Unlock()
	if c.onTrial(instance) {
		return false, nil
	}
	err = c.replace(ctx, instance, func(tx *store.Tx) (bool, error) {
		known, found, err := store.GetJSON[record](tx, deviceBucket, recordKey(instance))
		dropped = err == nil && found && known.same(r) && known.Aside == r.Aside
		if err != nil || !dropped {
			return false, err
		}
		return true, c.DeleteTx(tx, instance)
	})
	if err != nil {
		return false, fmt.Errorf("remove the logged out device of instance %d: %w", instance, err)
	}
	if dropped {
		c.log.Info("keys of a logged out account removed; it must be paired again", "instance_id", instance, "logged_out", at.UTC().Format(time.RFC3339))
	}
	return dropped, nil
}
