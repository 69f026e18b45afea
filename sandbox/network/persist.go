package network

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"postern/sandbox/network/appstate"
	"postern/sandbox/network/posts"
	"postern/sandbox/phone"
	"postern/store"
	"postern/store/schema"
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
func Buckets() []schema.Bucket {
	return []schema.Bucket{
		{Name: bucketAuthority, Owner: "sandbox", Key: "\"authority\"", Value: "CA, root key and Noise identity, JSON"},
		{Name: bucketAccount, Owner: "sandbox", Key: "phone number", Value: "LID, names, device counter, profile and settings, JSON"},
		{Name: bucketHandset, Owner: "sandbox", Key: "phone number", Value: "keys and sessions of the phone"},
		{Name: bucketDevice, Owner: "sandbox", Key: "device", Value: "public keys of a linked device, JSON"},
		{Name: bucketPreKey, Owner: "sandbox", Key: "device, uint32 id", Value: "unused one-time pre-key, 32 bytes"},
		{Name: appstate.Bucket, Owner: "sandbox", Key: "phone number, zero byte, kind, rest by kind", Value: "synchronised settings and their key"},
		{Name: bucketPicture, Owner: "sandbox", Key: "phone number", Value: "the account's picture, a JPEG"},
		{Name: bucketGroup, Owner: "sandbox", Key: "user part of the group's address", Value: "the group, JSON"},
		{Name: posts.Bucket, Owner: "sandbox", Key: "channel's number, zero byte, uint64 number of the post", Value: "the post, JSON"},
		{Name: bucketQueue, Owner: "sandbox", Key: "device, uint64 sequence", Value: "unacknowledged stanza, as on the wire"},
	}
}

type record struct{ bucket, key string }

// persistence writes in the background: one goroutine collects and commits changes, so
// that no stanza waits for the disk. A crash loses the changes of the running commit;
// flush and close lose nothing. Without a file every method does nothing.
type persistence struct {
	file *store.Store // nil: memory only
	log  *slog.Logger
	wake chan struct{} // capacity 1: there are changes
	done chan struct{}

	mu      sync.Mutex        // guards everything below
	changes map[record][]byte // nil deletes
	phones  map[*phone.Phone]struct{}
	flushes []chan error
	closed  bool
}

func openPersistence(path string, log *slog.Logger) (*persistence, error) {
	p := &persistence{
		log: log, wake: make(chan struct{}, 1), done: make(chan struct{}),
		changes: map[record][]byte{}, phones: map[*phone.Phone]struct{}{},
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

// appStateKeeper stores app state; nil without a file.
func (p *persistence) appStateKeeper() appstate.Keeper {
	if p.file == nil {
		return nil
	}
	return func(changes map[string][]byte) {
		p.mu.Lock()
		defer p.mu.Unlock()
		for key, value := range changes {
			p.changes[record{appstate.Bucket, key}] = value
		}
		p.kick()
	}
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

// commit writes the collected changes; false if there are none.
func (p *persistence) commit() bool {
	p.mu.Lock()
	changes, phones, flushes := p.changes, p.phones, p.flushes
	p.changes, p.phones, p.flushes = map[record][]byte{}, map[*phone.Phone]struct{}{}, nil
	p.mu.Unlock()
	if len(changes)+len(phones)+len(flushes) == 0 {
		return false
	}
	p.addHandsets(changes, phones)
	err := p.file.Update(context.Background(), func(tx *store.Tx) error { return write(tx, changes) })
	if err != nil {
		p.log.Error("sandbox state not saved, a restart loses these changes; free some space, or give the program's user the folder of sandbox.path",
			"records", len(changes), "error", err)
	}
	for _, flush := range flushes {
		flush <- err
	}
	return true
}

func (p *persistence) addHandsets(changes map[record][]byte, phones map[*phone.Phone]struct{}) {
	for phone := range phones {
		state, err := phone.State()
		if err != nil {
			p.log.Error("keys of a phone not saved", "number", phone.Number(), "error", err)
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

// flush waits until all changes so far are on disk.
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
