package idempotency

import (
	"crypto/sha256"
	"sync"

	"github.com/google/uuid"

	"postern/store"
)

// Keys holds the keys of a data file, and those in use now. It is safe for concurrent use. A file has only one.
type Keys struct {
	store *store.Store
	busy  busyKeys
}

// New returns the keys in s.
func New(s *store.Store) *Keys { return &Keys{store: s} }

// Request returns a request with the key id, one of [OfInstance], [OfUser] or [OfOperator]. route distinguishes
// requests with the same key and body. requestID is reported to retries of a request whose answer was lost.
func (k *Keys) Request(id []byte, route, requestID string) *Request {
	return &Request{keys: k, id: id, route: route, requestID: requestID, body: sha256.New()}
}

// Owners of keys, the first byte of a record's key.
const (
	ownedByInstance = byte('i')
	ownedByUser     = byte('u')
	ownedByOperator = byte('o')
)

// OfInstance returns the id of the caller's key under an instance's token. Ids of instances are not reused; names
// may be.
func OfInstance(id int64, key string) []byte { return store.Key(ownedByInstance, id, key) }

// OfUser returns the id of the caller's key under a user's token.
func OfUser(id uuid.UUID, key string) []byte { return store.Key(ownedByUser, id, key) }

// OfOperator returns the id of the caller's key under the GlobalApiKey.
func OfOperator(key string) []byte { return store.Key(ownedByOperator, key) }

// busyKeys are the keys whose handlers are running. A record in the file that is in flight, but not here, was left
// by a handler that did not finish. The zero value is ready to use.
type busyKeys struct {
	mu   sync.Mutex
	keys map[string]struct{}
}

func (b *busyKeys) take(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, taken := b.keys[id]; taken {
		return false
	}
	if b.keys == nil {
		b.keys = map[string]struct{}{}
	}
	b.keys[id] = struct{}{}
	return true
}

func (b *busyKeys) release(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.keys, id)
}
