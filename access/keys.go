package access

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/time/rate"

	"postern/internal/budget"
	"postern/store"
	"postern/store/schema"
)

const (
	bucketKeys     = "access_key"
	bucketUses     = "access_use"
	bucketEnding   = "access_ending"
	bucketSessions = "access_session"
	bucketAudit    = "access_audit"
	bucketLinks    = "access_link"
)

// Buckets returns the buckets of this package.
func Buckets() []schema.Bucket {
	return []schema.Bucket{
		{Name: bucketKeys, Owner: "access", Key: "UUID", Value: "JSON: a key's rights and the SHA-256 of its text", Needs: schema.References(decodeKey, "an API key no longer works")},
		{Name: bucketUses, Owner: "access", Key: "UUID of a key", Value: "JSON: when and from where it was used last", Needs: schema.References(schema.Sized(0), "", schema.ToSameKey[[]byte](bucketKeys, "its key does not exist"))},
		{Name: bucketEnding, Owner: "access", Key: "UUID of a key that was deleted", Value: "JSON: the key, while what it left running is stopped", Needs: schema.References(schema.JSONOf[Key](len(uuid.UUID{})), "the work that a deleted key left running is not stopped: stop it manually")},
		{Name: bucketSessions, Owner: "access", Key: "SHA-256 of a cookie, or key + time + SHA-256", Value: "JSON: whom the session stands for and until when, or only its end", Needs: schema.References(decodePass, "a session ends")},
		{Name: bucketLinks, Owner: "access", Key: "SHA-256 of a link's secret, or instance + time + SHA-256, or zeros + instance", Value: "JSON: which instance a portal link leads to, what made it and until when, or only its end, or when codes were asked for", Needs: schema.References(decodePass, "a portal link ends")},
		{Name: bucketAudit, Owner: "access", Key: "number", Value: "JSON: what was changed, when, by whom and from where", Needs: schema.References(decode, "a change is missing from the audit log")},
	}
}

// keptKey is the stored form of a key.
type keptKey struct {
	Key
	Digest []byte `json:"digest"` // SHA-256 of the key's text
}

var errKey = errors.New("malformed key")

func decodeKey(id, raw []byte) (k keptKey, err error) {
	err = json.Unmarshal(raw, &k)
	if err == nil && (len(id) != len(uuid.UUID{}) || len(k.Digest) != sha256.Size) {
		err = errKey
	}
	return k, err
}

// use is the last use of a key.
type use struct {
	At   time.Time `json:"at"`
	From string    `json:"from"`
}

// held is a key in memory.
type held struct {
	key    *Key // immutable; replaced under Keys.mu
	digest [sha256.Size]byte
	budget budget.Minute
	calls  *rate.Limiter // audited calls of an agent; nil: none yet

	mu    sync.Mutex
	use   use
	dirty bool // use is not stored yet
}

// Keys holds all keys. It is safe for concurrent use.
type Keys struct {
	store *store.Store
	log   *slog.Logger

	changing sync.Mutex // serializes Create, Change and Delete

	mu       sync.RWMutex
	byID     map[uuid.UUID]*held
	byDigest map[[sha256.Size]byte]*held

	life   context.Context // ends with Stop
	cancel context.CancelFunc
	work   sync.WaitGroup
}

// OpenKeys reads all keys of the store. A nil logger discards its output.
func OpenKeys(s *store.Store, log *slog.Logger) (*Keys, error) {
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	all := &Keys{store: s, log: log.With("component", "access"), byID: map[uuid.UUID]*held{}, byDigest: map[[sha256.Size]byte]*held{}}
	all.life, all.cancel = context.WithCancel(context.Background())
	if err := s.View(all.load); err != nil {
		return nil, fmt.Errorf("access: read the keys: %w", err)
	}
	return all, nil
}

// load reads the keys. It skips damaged ones, which the store reports.
func (all *Keys) load(tx *store.Tx) error {
	return tx.Scan(bucketKeys, store.Range{}, func(id, raw []byte) (bool, error) {
		k, err := decodeKey(id, raw)
		if err != nil {
			return true, nil //nolint:nilerr // see above
		}
		h := &held{key: &k.Key, digest: [sha256.Size]byte(k.Digest)}
		if h.use, _, err = store.GetJSON[use](tx, bucketUses, id); errors.Is(err, store.ErrDamaged) {
			err = nil
		}
		all.add(h)
		return true, err
	})
}

func (all *Keys) add(h *held) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.byID[h.key.ID], all.byDigest[h.digest] = h, h
}

// Create stores a new key and returns it with its text, which cannot be recovered later.
// It sets the fields of k that the caller does not choose. If fill is not nil, Create
// calls it with the key's id before storing the key. Errors: an InvalidError, ErrTooMany.
func (all *Keys) Create(ctx context.Context, k Key, fill func(uuid.UUID)) (_ Key, text string, err error) {
	now := all.store.Now().UTC().Truncate(time.Millisecond)
	if err := k.check(now); err != nil {
		return Key{}, "", err
	}
	all.changing.Lock()
	defer all.changing.Unlock()
	if all.count() >= MaxKeys {
		return Key{}, "", fmt.Errorf("%w: the limit is %d; delete some", ErrTooMany, MaxKeys)
	}
	if k.ID, err = uuid.NewV7(); err != nil {
		return Key{}, "", fmt.Errorf("access: %w", err)
	}
	if fill != nil {
		fill(k.ID)
	}
	k.CreatedAt, k.UpdatedAt = now, now
	text = newText()
	h := &held{key: &k, digest: digest(text)}
	if err := all.put(ctx, h, &k); err != nil {
		return Key{}, "", err
	}
	all.add(h)
	return k, text, nil
}

func (all *Keys) put(ctx context.Context, h *held, k *Key) error {
	err := all.store.Update(ctx, func(tx *store.Tx) error {
		return store.PutJSON(tx, bucketKeys, k.ID[:], keptKey{*k, h.digest[:]})
	})
	if err != nil {
		return fmt.Errorf("store the key %s: %w", k.ID, err)
	}
	return nil
}

// Change applies fn to a key and stores the result. It reports whether the key has fewer
// rights than before, or expires sooner. Errors: ErrNotFound, fn's, an InvalidError.
func (all *Keys) Change(ctx context.Context, id uuid.UUID, fn func(*Key) error) (k Key, narrower bool, err error) {
	all.changing.Lock()
	defer all.changing.Unlock()
	h := all.find(id)
	if h == nil {
		return Key{}, false, ErrNotFound
	}
	before := all.now(h)
	k = before.clone()
	if err := fn(&k); err != nil {
		return Key{}, false, err
	}
	now := all.store.Now().UTC().Truncate(time.Millisecond)
	checkAt := now
	if k.ExpiresAt.Equal(before.ExpiresAt) {
		checkAt = time.Time{} // an expired key may still be renamed
	}
	if err := k.check(checkAt); err != nil {
		return Key{}, false, err
	}
	k.UpdatedAt = now
	if err := all.put(ctx, h, &k); err != nil {
		return Key{}, false, err
	}
	all.mu.Lock()
	h.key = &k
	all.mu.Unlock()
	return h.shown(&k), before.Narrower(&k), nil
}

// Delete invalidates a key and returns it as it was. With stop, the key is listed by
// Ending from that commit until Ended is called; the caller stops the work that it left
// running. Error: ErrNotFound.
func (all *Keys) Delete(ctx context.Context, id uuid.UUID, stop bool) (Key, error) {
	all.changing.Lock()
	defer all.changing.Unlock()
	h := all.find(id)
	if h == nil {
		return Key{}, ErrNotFound
	}
	k := h.shown(all.now(h))
	err := all.store.Update(ctx, func(tx *store.Tx) error {
		err := errors.Join(tx.Delete(bucketKeys, id[:]), tx.Delete(bucketUses, id[:]))
		if stop && err == nil {
			err = store.PutJSON(tx, bucketEnding, id[:], k)
		}
		return err
	})
	if err != nil {
		return Key{}, fmt.Errorf("delete the key %s: %w", id, err)
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.byID, id)
	delete(all.byDigest, h.digest)
	return k, nil
}

func (all *Keys) count() int {
	all.mu.RLock()
	defer all.mu.RUnlock()
	return len(all.byID)
}

func (all *Keys) find(id uuid.UUID) *held {
	all.mu.RLock()
	defer all.mu.RUnlock()
	return all.byID[id]
}

func (all *Keys) now(h *held) *Key {
	all.mu.RLock()
	defer all.mu.RUnlock()
	return h.key
}

// Get returns a key. Error: ErrNotFound.
func (all *Keys) Get(id uuid.UUID) (Key, error) {
	h := all.find(id)
	if h == nil {
		return Key{}, ErrNotFound
	}
	return h.shown(all.now(h)), nil
}

// List returns all keys, newest first.
func (all *Keys) List() []Key {
	all.mu.RLock()
	defer all.mu.RUnlock()
	list := make([]Key, 0, len(all.byID))
	for _, h := range all.byID {
		list = append(list, h.shown(h.key))
	}
	slices.SortFunc(list, func(a, b Key) int { return slices.Compare(b.ID[:], a.ID[:]) }) // UUIDs of version 7 begin with the time
	return list
}

// shown returns k with its last use.
func (h *held) shown(k *Key) Key {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := *k
	out.LastUsedAt, out.LastUsedFrom = h.use.At, h.use.From
	return out
}

// clone returns a deep copy of the key.
func (k *Key) clone() Key {
	c := *k
	c.Instances, c.Scopes, c.Recipients = slices.Clone(k.Instances), slices.Clone(k.Scopes), slices.Clone(k.Recipients)
	return c
}

// ByText returns the key with a text and records its use from an address. The caller must
// not modify the key. The error is ErrUnknown for any text that is not that of a valid
// key.
func (all *Keys) ByText(text, from string) (*Key, error) {
	all.mu.RLock()
	h := all.byDigest[digest(text)]
	all.mu.RUnlock()
	return all.open(h, from)
}

// ByID is ByText for a holder of a session, who presented the text before.
func (all *Keys) ByID(id uuid.UUID, from string) (*Key, error) { return all.open(all.find(id), from) }

func (all *Keys) open(h *held, from string) (*Key, error) {
	if h == nil {
		return nil, ErrUnknown
	}
	k, now := all.now(h), all.store.Now()
	if k.Expired(now) {
		return nil, ErrUnknown
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.use, h.dirty = use{now.UTC().Truncate(time.Millisecond), from}, true
	return k, nil
}

// Take counts a request against the key's rate limit. If the limit is reached, it returns
// how long to wait.
func (all *Keys) Take(k *Key) (wait time.Duration) {
	h := all.find(k.ID)
	if h == nil || k.PerMinute == 0 {
		return 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.budget.Take(k.PerMinute, time.Now())
}

// TakeCall counts an audited call of an agent. It allows a burst of atOnce, then
// perMinute a minute; beyond that it returns how long to wait. The numbers are the same
// in every call.
func (all *Keys) TakeCall(k *Key, perMinute, atOnce int) (wait time.Duration) {
	h := all.find(k.ID)
	if h == nil {
		return 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.calls == nil {
		h.calls = rate.NewLimiter(rate.Limit(perMinute)/60, atOnce)
	}
	return takeToken(h.calls, time.Now())
}

// takeToken takes one token, or returns how long to wait for one and takes none. A clock
// that is set back adds no tokens.
func takeToken(l *rate.Limiter, now time.Time) (wait time.Duration) {
	r := l.ReserveN(now, 1)
	if wait = r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
		wait++ // the limiter rounds down
	}
	return wait
}
