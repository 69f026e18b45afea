package webhooks

import (
	"errors"
	"sync"
	"sync/atomic"

	"postern/store"
	"postern/store/schema"
)

const (
	webhooks      = "webhook"
	optionsBucket = "webhook_options"
)

// Buckets returns the buckets of this package. Their records belong to instances: see
// [schema.OwnedBy].
func Buckets() []schema.Bucket {
	return []schema.Bucket{
		{Name: webhooks, Owner: "webhooks", Key: "instance id", Value: "JSON: url, enabled, events, the scoped key that changed it last", Needs: schema.References(schema.JSONOf[keptWebhook](0), "a webhook is not called: set it again"), Of: owner},
		{Name: optionsBucket, Owner: "webhooks", Key: "instance id, 0: the global webhook", Value: "JSON: how deliveries go out, with headers and secrets, the scoped key that changed them last", Needs: schema.References(schema.JSONOf[keptOptions](0), "headers, secrets and endpoints are lost: set the options again"), Of: owner},
	}
}

// owner is [schema.Bucket.Of]; the global webhook belongs to no instance.
func owner(look *schema.Lookup, key, value []byte) []byte {
	if string(key) == string(store.Key(Global)) {
		return nil
	}
	return schema.FirstID(look, key, value)
}

// Forget deletes the webhook and the options of an instance, in the commit that deletes
// the instance.
func Forget(tx *store.Tx, id int64) error {
	return errors.Join(tx.Delete(webhooks, store.Key(id)), tx.Delete(optionsBucket, store.Key(id)))
}

// Config configures a Directory. Store is required.
type Config struct {
	Store     *store.Store
	GlobalURL string // the global webhook; empty if disabled. See Editor.SetGlobalURL
	// DurableDefault is the default of durable for new instances and after options are
	// deleted.
	DurableDefault bool
}

// Directory has in memory where the events of each instance go, as the file has it. An
// [Editor] changes it. It is safe for concurrent use.
type Directory struct {
	cfg       Config
	globalURL atomic.Pointer[string]
	global    *Scope

	mu     sync.RWMutex
	scopes map[int64]*Scope
}

// New returns a directory without instances. Package instance adds them.
func New(cfg Config) *Directory {
	d := &Directory{cfg: cfg, scopes: map[int64]*Scope{}}
	d.global = &Scope{d: d, id: Global}
	d.globalURL.Store(&cfg.GlobalURL)
	return d
}

// Scope has the webhook and the options of one instance, or the options of the global
// webhook. change is held from reading them until replacing them after the commit, so
// that the memory never goes back.
type Scope struct {
	d  *Directory
	id int64

	change   sync.Mutex
	gone     bool // deleted; guarded by change
	webhook  atomic.Pointer[keptWebhook]
	options  atomic.Pointer[heldOptions] // nil: none stored
	changing atomic.Pointer[heldOptions] // what replaces the options: the file may be newer; nil: nothing
}

// LoadGlobal reads the options of the global webhook.
func (d *Directory) LoadGlobal(tx *store.Tx) error { return loadOptions(tx, &d.global.options, Global) }

// Load adds a stored instance. A damaged webhook, already counted and logged by the
// store, is treated as absent; with damaged options nothing is delivered, see Resolve.
func (d *Directory) Load(tx *store.Tx, id int64) (*Scope, error) {
	s := &Scope{d: d, id: id}
	hook, found, err := store.GetJSON[keptWebhook](tx, webhooks, store.Key(id))
	if err != nil && !errors.Is(err, store.ErrDamaged) {
		return nil, err
	}
	if found && err == nil {
		s.webhook.Store(&hook)
	}
	if err := loadOptions(tx, &s.options, id); err != nil {
		return nil, err
	}
	d.add(s)
	return s, nil
}

// Create stores the options of a new instance in its commit, and returns what Add takes
// after it.
func (d *Directory) Create(tx *store.Tx, id int64) (*Scope, error) {
	s := &Scope{d: d, id: id}
	if !d.cfg.DurableDefault {
		return s, nil
	}
	o := hold(d.firstOptions())
	s.options.Store(o)
	return s, store.PutJSON(tx, optionsBucket, store.Key(id), o.keptOptions)
}

// Add adds a created instance after its commit.
func (d *Directory) Add(s *Scope) { d.add(s) }

func (d *Directory) add(s *Scope) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.scopes[s.id] = s
}

// scope returns the scope of an instance or the global one, nil if there is no such
// instance.
func (d *Directory) scope(id int64) *Scope {
	if id == Global {
		return d.global
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.scopes[id]
}

// Durable reports whether any destination of the instance has durable events, or is about
// to: see [publish.Origin].
func (s *Scope) Durable() bool {
	return s.wantsDurable() || s.d.global.wantsDurable()
}

func (s *Scope) wantsDurable() bool { return s.chosen().Durable || s.changing.Load() != nil }
