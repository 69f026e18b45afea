package device

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"go.mau.fi/util/random"
	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/util/keys"

	"postern/event"
	"postern/store"
	"postern/store/schema"
)

const (
	deviceBucket = "device"
	lidBucket    = "lid_map"
	runBucket    = "device_run"
)

// Buckets returns the buckets of this package.
func Buckets() []schema.Bucket {
	return []schema.Bucket{
		{Name: deviceBucket, Owner: "whatsapp/device", Key: "instance id + kind + rest", Value: "keys, sessions and settings of a paired device, by kind", Dense: isPreKey, Needs: schema.References(schema.Sized(0), "", toOthers), Of: schema.FirstID},
		{Name: runBucket, Owner: "whatsapp/device", Key: "run", Value: "JSON: crashes so far, whether the devices are in use", Needs: schema.References(schema.Sized(0), "", toRun), Instead: lostRun},
		{Name: lidBucket, Owner: "whatsapp/device", Key: "l + LID user, p + phone", Value: "the other one", Needs: schema.References(schema.Sized(0), "", toTwin)},
		{Name: answerBucket, Owner: "whatsapp/device", Key: "phone number that was looked up", Value: "JSON: the account that WhatsApp answered with, and when", Needs: schema.References(schema.JSONOf[keptAnswer](0), "")},
	}
}

// Container stores the devices of all instances. Its methods may be called from any
// goroutine.
type Container struct {
	store   *store.Store
	log     *slog.Logger
	lids    *lidMap
	answers *answers
	crashes uint32

	network atomic.Pointer[event.Network] // see Join
	keep    atomic.Int64                  // see KeepLoggedOut; a time.Duration

	dropping sync.Mutex // held while a device put aside is removed, or its trial begins

	trusting atomic.Pointer[func(instance int64)]

	mu      sync.Mutex
	flights map[int64]*flights // by instance
	closed  bool
	trials  map[int64]bool // instances that try a device put aside once more
}

// Open reads the LID map and marks the devices as in use, until Close. A nil log
// discards.
func Open(st *store.Store, log *slog.Logger) (*Container, error) {
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	lids, err := openLIDMap(st)
	if err != nil {
		return nil, fmt.Errorf("device: load LID map: %w", err)
	}
	kept, err := openAnswers(st)
	if err != nil {
		return nil, fmt.Errorf("device: load the answers to look-ups: %w", err)
	}
	c := &Container{store: st, log: log.With("component", "device"), lids: lids, answers: kept, flights: map[int64]*flights{}, trials: map[int64]bool{}}
	c.KeepLoggedOut(DefaultKeepLoggedOut)
	if err := c.begin(); err != nil {
		return nil, fmt.Errorf("device: begin a run: %w", err)
	}
	return c, nil
}

// New returns an unpaired device with new keys. The library saves it after pairing,
// under that instance; nothing is stored before.
func (c *Container) New(instance int64) *wastore.Device {
	d := &wastore.Device{
		Container:      view{c, instance},
		LIDs:           c.lids,
		NoiseKey:       keys.NewKeyPair(),
		IdentityKey:    keys.NewKeyPair(),
		RegistrationID: rand.Uint32(),
		AdvSecretKey:   random.Bytes(32),
	}
	d.SignedPreKey = d.IdentityKey.CreateSignedPreKey(1)
	return d
}

// Load returns the stored device of an instance, the zero Saved if there is none. The
// error for an unreadable record wraps store.ErrDamaged if the record is damaged.
func (c *Container) Load(_ context.Context, instance int64) (saved Saved, err error) {
	var rec record
	var found bool
	err = c.store.View(func(tx *store.Tx) (err error) {
		rec, found, err = store.GetJSON[record](tx, deviceBucket, recordKey(instance))
		return err
	})
	if err != nil {
		return saved, fmt.Errorf("device of instance %d: %w", instance, err)
	}
	if !found {
		return saved, nil
	}
	d, err := rec.device()
	if err != nil {
		return saved, fmt.Errorf("device of instance %d: %w", instance, err)
	}
	d.Container = view{c, instance}
	c.initialise(d, instance)
	return Saved{Device: d, Network: rec.Network, Aside: rec.Aside != 0}, nil
}

// Delete removes everything that belongs to the instance's device. It returns no error
// if there is none.
func (c *Container) Delete(ctx context.Context, instance int64) error {
	err := c.replace(ctx, instance, func(tx *store.Tx) (bool, error) { return true, c.DeleteTx(tx, instance) })
	if err != nil {
		return fmt.Errorf("delete device of instance %d: %w", instance, err)
	}
	c.trial(instance, false)
	return nil
}

// DeleteTx is Delete in the caller's transaction. The device must no longer be in use.
func (c *Container) DeleteTx(tx *store.Tx, instance int64) error {
	_, err := tx.DeletePrefix(deviceBucket, store.Key(instance))
	return err
}

func (c *Container) initialise(d *wastore.Device, instance int64) {
	d.SetAllStores(newAccount(c, instance))
	d.LIDs = c.lids
	d.Initialized = true
}

// view is the container for one instance's device: the library passes a device back
// without its instance.
type view struct {
	c        *Container
	instance int64
}

var _ wastore.DeviceContainer = view{}

// PutDevice stores a device after pairing, with its network, and later its changed
// names and settings; keys never change. A newly paired device replaces the previous
// one with all its data, unless that belongs to another network. For a device that was
// deleted or replaced in the meantime it returns the library's ErrDeviceDeleted.
func (v view) PutDevice(ctx context.Context, d *wastore.Device) error {
	if d.ID == nil {
		return errors.New("device: a device without JID cannot be stored")
	}
	fresh, stored := newRecord(d), d.Initialized
	fresh.Network = v.c.joined()
	var err error
	if stored {
		err = v.c.store.Update(ctx, func(tx *store.Tx) error { return v.change(tx, fresh) })
	} else {
		err = v.c.replace(ctx, v.instance, func(tx *store.Tx) (bool, error) { return v.pair(tx, fresh) })
	}
	if err != nil {
		return fmt.Errorf("store device of instance %d: %w", v.instance, err)
	}
	if !stored {
		v.c.initialise(d, v.instance)
	}
	return nil
}

// pair stores a new device, and reports whether it replaces a different one.
func (v view) pair(tx *store.Tx, fresh record) (another bool, err error) {
	known, found, err := v.record(tx)
	if err != nil {
		return false, err
	}
	another = !found || !known.same(fresh)
	if another {
		if err := event.Between(known.Network, fresh.Network); found && err != nil {
			return false, err
		}
		known = fresh
		if err := v.c.DeleteTx(tx, v.instance); err != nil {
			return false, err
		}
	}
	known.update(fresh)
	known.Network, known.Aside = fresh.Network, 0
	return another, store.PutJSON(tx, deviceBucket, recordKey(v.instance), known)
}

// change stores the changes of a stored device.
func (v view) change(tx *store.Tx, fresh record) error {
	if !tx.Has(deviceBucket, recordKey(v.instance)) {
		return wastore.ErrDeviceDeleted
	}
	known, found, err := v.record(tx)
	if err != nil {
		return err
	}
	if !found { // damaged: the device in memory repairs it
		known = fresh
	}
	if !known.same(fresh) {
		return wastore.ErrDeviceDeleted
	}
	known.update(fresh)
	return store.PutJSON(tx, deviceBucket, recordKey(v.instance), known)
}

// record reads the instance's record; a damaged one counts as missing.
func (v view) record(tx *store.Tx) (known record, found bool, err error) {
	known, found, err = store.GetJSON[record](tx, deviceBucket, recordKey(v.instance))
	if errors.Is(err, store.ErrDamaged) {
		err = nil
	}
	return known, found, err
}

// decode decodes JSON written by this package.
func decode(raw []byte, v any) error {
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("device: %w", err)
	}
	return nil
}
