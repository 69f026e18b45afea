package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"postern/sandbox/handset"
	"postern/store"
)

const (
	bucketAuthority = "sandbox_authority"
	bucketAccount   = "sandbox_account"
	bucketHandset   = "sandbox_handset"
	bucketDevice    = "sandbox_device"
	bucketPreKey    = "sandbox_prekey"
	bucketQueue     = "sandbox_queue"
	bucketPicture   = "sandbox_picture"
)

// Buckets describes the data file. A device's key is its LID, a zero byte and its id.
func Buckets() []store.Bucket {
	return []store.Bucket{
		{Name: bucketAuthority, Owner: "sandbox", Key: "\"authority\"", Value: "CA, root key and Noise identity, JSON"},
		{Name: bucketAccount, Owner: "sandbox", Key: "phone number", Value: "LID, names, device counter, profile and settings, JSON"},
		{Name: bucketHandset, Owner: "sandbox", Key: "phone number", Value: "keys and sessions of the phone"},
		{Name: bucketDevice, Owner: "sandbox", Key: "device", Value: "public keys of a linked device, JSON"},
		{Name: bucketPreKey, Owner: "sandbox", Key: "device, uint32 id", Value: "unused one-time pre-key, 32 bytes"},
		{Name: bucketAppState, Owner: "sandbox", Key: "phone number, zero byte, kind, rest by kind", Value: "synchronised settings and their key"},
		{Name: bucketPicture, Owner: "sandbox", Key: "phone number", Value: "the account's picture, a JPEG"},
		{Name: bucketGroup, Owner: "sandbox", Key: "user part of the group's address", Value: "the group, JSON"},
		{Name: bucketQueue, Owner: "sandbox", Key: "device, uint64 sequence", Value: "unacknowledged stanza, as on the wire"},
	}
}

type record struct{ bucket, key string }

// persistence writes behind: changes are collected and committed by one goroutine, so that
// no stanza waits for the disk. A crash loses what the commit in hand would have saved;
// flush and close lose nothing. Without a file every method does nothing.
type persistence struct {
	file *store.Store // nil: memory only
	log  *slog.Logger
	wake chan struct{} // capacity 1: something changed
	done chan struct{}

	mu      sync.Mutex        // guards everything below
	changes map[record][]byte // nil deletes
	phones  map[*Phone]struct{}
	flushes []chan error
	closed  bool
}

func openPersistence(path string, log *slog.Logger) (*persistence, error) {
	p := &persistence{
		log: log, wake: make(chan struct{}, 1), done: make(chan struct{}),
		changes: map[record][]byte{}, phones: map[*Phone]struct{}{},
	}
	if path == "" {
		close(p.done)
		return p, nil
	}
	file, err := store.Open(store.Options{Path: path, Buckets: Buckets(), Logger: log})
	if err != nil {
		return nil, err
	}
	p.file = file
	go p.run()
	return p, nil
}

func (p *persistence) change(bucket string, key, value []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changes[record{bucket, string(key)}] = value
	p.kick()
}

func (p *persistence) kick() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *persistence) run() {
	defer close(p.done)
	for range p.wake {
		for p.commit() {
		}
		p.mu.Lock()
		closed := p.closed
		p.mu.Unlock()
		if closed {
			return
		}
	}
}

// commit writes what was collected; false when there was nothing.
func (p *persistence) commit() bool {
	p.mu.Lock()
	changes, phones, flushes := p.changes, p.phones, p.flushes
	p.changes, p.phones, p.flushes = map[record][]byte{}, map[*Phone]struct{}{}, nil
	p.mu.Unlock()
	if len(changes)+len(phones)+len(flushes) == 0 {
		return false
	}
	p.addHandsets(changes, phones)
	err := p.file.Update(context.Background(), func(tx *store.Tx) error { return write(tx, changes) })
	if err != nil {
		p.log.Error("the sandbox's state was not saved; a restart forgets these changes",
			"records", len(changes), "error", err)
	}
	for _, flush := range flushes {
		flush <- err
	}
	return true
}

func (p *persistence) addHandsets(changes map[record][]byte, phones map[*Phone]struct{}) {
	for phone := range phones {
		state, err := phone.state()
		if err != nil {
			p.log.Error("the keys of a phone cannot be saved", "number", phone.Number(), "error", err)
			continue
		}
		if state != nil {
			changes[record{bucketHandset, phone.Number()}] = state
		}
	}
}

func write(tx *store.Tx, changes map[record][]byte) error {
	for r, value := range changes {
		var err error
		if value == nil {
			err = tx.Delete(r.bucket, []byte(r.key))
		} else {
			err = tx.Put(r.bucket, []byte(r.key), value)
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", r.bucket, err)
		}
	}
	return nil
}

// flush waits until everything that changed so far is on disk.
func (p *persistence) flush() error {
	if p.file == nil {
		return nil
	}
	flushed := make(chan error, 1)
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return ErrClosed
	}
	p.flushes = append(p.flushes, flushed)
	p.kick()
	p.mu.Unlock()
	return <-flushed
}

func (p *persistence) close() error {
	if p.file == nil {
		return nil
	}
	p.mu.Lock()
	p.closed = true
	p.kick()
	p.mu.Unlock()
	<-p.done
	return p.file.Close()
}

// savedAccount is an account as it is stored.
type savedAccount struct {
	LID      string `json:"lid"`
	PushName string `json:"push_name,omitempty"`
	Added    bool   `json:"added,omitempty"`
	Last     uint16 `json:"last_device,omitempty"`
	profile
}

// savedDevice is a linked device as it is stored.
type savedDevice struct {
	Noise        []byte    `json:"noise"`
	Identity     []byte    `json:"identity"`
	Registration uint32    `json:"registration_id"`
	SignedID     uint32    `json:"signed_pre_key_id"`
	Signed       []byte    `json:"signed_pre_key"`
	Signature    []byte    `json:"signature"`
	Linked       time.Time `json:"linked"`
}

func deviceKey(d *device) []byte { return store.Key(d.account.lid.User, byte(0), byte(d.id)) }

func (p *persistence) putJSON(bucket string, key []byte, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		p.log.Error("a record cannot be encoded", "bucket", bucket, "error", err)
		return
	}
	p.change(bucket, key, raw)
}

func (p *persistence) account(a *account) {
	if p.file != nil {
		p.putJSON(bucketAccount, []byte(a.pn.User), savedAccount{a.lid.User, a.pushName, a.added, a.last, a.profile})
	}
}

func (p *persistence) device(d *device) {
	if p.file == nil {
		return
	}
	k := d.keys
	p.putJSON(bucketDevice, deviceKey(d), savedDevice{
		k.Noise[:], k.Identity[:], k.Registration, k.SignedPreKey.ID, k.SignedPreKey.Pub[:], k.Signature[:], d.linked,
	})
	p.preKeys(d, d.preKeys)
}

func (p *persistence) removeDevice(d *device) {
	if p.file == nil {
		return
	}
	p.change(bucketDevice, deviceKey(d), nil)
	for _, key := range d.preKeys {
		p.usedPreKey(d, key.ID)
	}
	for _, q := range d.queue {
		p.dequeue(d, q)
	}
}

func (p *persistence) preKeys(d *device, added []handset.PreKey) {
	if p.file == nil {
		return
	}
	for _, key := range added {
		p.change(bucketPreKey, store.Key(deviceKey(d), key.ID), key.Pub[:])
	}
}

func (p *persistence) usedPreKey(d *device, id uint32) {
	if p.file != nil {
		p.change(bucketPreKey, store.Key(deviceKey(d), id), nil)
	}
}

func (p *persistence) enqueue(d *device, q *queued) {
	if p.file == nil {
		return
	}
	raw, err := encodeStanza(q.node)
	if err != nil {
		p.log.Error("a stanza cannot be saved", "device", d.lid(), "error", err)
		return
	}
	p.change(bucketQueue, store.Key(deviceKey(d), q.seq), raw)
}

func (p *persistence) dequeue(d *device, q *queued) {
	if p.file != nil {
		p.change(bucketQueue, store.Key(deviceKey(d), q.seq), nil)
	}
}

// phone notes that a phone's keys changed; they are read when the commit is made.
func (p *persistence) phone(phone *Phone) {
	if p.file == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.phones[phone] = struct{}{}
	p.kick()
}

// handset reads the state of a phone that was not made yet in this process.
func (p *persistence) handset(number string) (state []byte) {
	if p.file == nil {
		return nil
	}
	err := p.file.View(func(tx *store.Tx) (err error) {
		state, err = tx.Get(bucketHandset, []byte(number))
		return err
	})
	if err != nil {
		p.log.Error("the keys of a phone cannot be read, it starts with new ones", "number", number, "error", err)
		return nil
	}
	return state
}
