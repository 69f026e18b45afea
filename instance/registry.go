package instance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"postern/delivery"
	"postern/delivery/publish"
	"postern/event"
	"postern/instance/automatic"
	"postern/instance/traffic"
	"postern/instance/webhooks"
	"postern/messages"
	"postern/store"
	"postern/store/schema"
)

const (
	instances    = "instance"
	instanceName = "instance_name"
	proxies      = "proxy"
)

// Buckets returns the buckets of this package and of package automatic.
func Buckets() []schema.Bucket {
	return append(automatic.Buckets(), []schema.Bucket{
		{Name: instances, Owner: "instance", Key: "id", Value: "JSON: name, status, owner, token, attributes", Needs: schema.References(decodeInstance, "an instance is lost", toName)},
		{Name: instanceName, Owner: "instance", Key: "name", Value: "id", Needs: schema.References(schema.Sized(0), "", nameToInstance)},
		{Name: proxies, Owner: "instance", Key: "instance id", Value: "JSON: url with its password, for what", Needs: schema.References(schema.Sized(0), "", readableProxy), Of: schema.FirstID, Instead: unknownProxy},
		{Name: settingsBucket, Owner: "instance", Key: "instance id", Value: "JSON: what the instance does by itself", Needs: schema.References(schema.JSONOf[Settings](0), "an instance has the default settings: set them again"), Of: schema.FirstID},
	}...)
}

// Config configures a Registry.
type Config struct {
	Store *store.Store
	// Messages stores the messages and contacts of all instances, and publishes their
	// events. Its Config.Owner is There.
	Messages *messages.Archive

	// Publish receives each event after its commit. It must not block.
	Publish func(event.Notice)
	// Watched reports whether Publish uses events of an instance that have no
	// destination; if not, such events are not made. nil: it does.
	Watched func(id int64) bool
	// OnStatus is called after the commit of every change of a connection state. It is
	// called again with the same state when the account's restrictions change, or when a
	// stranger writes while writing to strangers is restricted. It must not block nor
	// change the instance. It may be nil.
	OnStatus func(id int64, s event.State)
	// OnChange is called after the commit for each instance that was created or deleted,
	// or whose record or webhook changed. It must not block nor change the instance. It
	// may be nil.
	OnChange func(id int64, name string, gone bool)
	// KeepsStrangers reports whether a limit currently prevents the instance from writing
	// to strangers. nil: none does.
	KeepsStrangers func(id int64) bool
	// Webhooks is where the events of instances go. The registry adds the instances to it.
	// nil: a directory without a global webhook.
	Webhooks *webhooks.Directory
	// CheckURL rejects forbidden webhook hosts; nil allows all.
	CheckURL func(*url.URL) error

	// OptOuts finds opt-outs in received messages. nil: it is not looked for any.
	OptOuts OptOuts

	// Twin returns the other address of a person, the LID of a phone JID or vice versa,
	// "" if unknown. nil: none is known.
	Twin func(jid string) string
	// Link returns the link to the file of a stored message: see
	// [publish.PublisherConfig]. It may be nil.
	Link func(tx *store.Tx, instance int64, m *event.Message) *event.MediaLink
	// Linked is called in the commit of a stored event with such a link. It may be nil.
	Linked func(tx *store.Tx, instance, message int64, seq uint64) error
	// NoteLost and Lost are as in [publish.PublisherConfig]. They may be nil.
	NoteLost func(tx *store.Tx, instance int64, n int, own, all bool) error
	Lost     func(instance int64)
	// CheckProxy rejects forbidden proxy hosts; nil allows all.
	CheckProxy func(*url.URL) error
	// Proxy is the URL of the global proxy, for instances without one of their own, see
	// proxy.ParseFor. Empty: none.
	Proxy string

	// Ledger receives durable events. nil: no event is durable, regardless of options.
	Ledger *delivery.Ledger
	// DropNotice deletes what the connector keeps about a Fact.Notice, in the commit of
	// its event or after that was published. nil: nothing is kept.
	DropNotice func(tx *store.Tx, id int64, notice string) error

	// Standings returns the networks of devices by instance. nil: unknown.
	Standings func() (map[int64]Standing, error)
	// Account returns the account of an instance's device. It is called for devices of
	// Standings whose instances are not linked: the program ended between the two commits
	// of a pairing. nil: such instances stay offline.
	Account func(id int64) (*event.Link, error)

	// Forget deletes what the connector keeps of an instance, in the commit that deletes
	// the instance. nil: it keeps nothing.
	Forget func(tx *store.Tx, id int64) error

	// OnLanes and ClearLanes are those of webhooks.EditorConfig.
	OnLanes    func([]delivery.Lane)
	ClearLanes func(context.Context, []delivery.Lane) error

	Logger *slog.Logger // nil discards
}

// Registry holds the instances. It is safe for concurrent use; callers own the values it
// returns.
type Registry struct {
	cfg Config
	log *slog.Logger

	events  *publish.Publisher
	ignored ignoreCounts

	hooks *webhooks.Editor

	mu     sync.RWMutex
	byID   map[int64]*entry
	byName map[string]*entry
	open   bool // Open has returned: changes are reported

	departed Flow // of instances that were deleted
	started  time.Time
}

// entry is the cached state of one instance. change is held from reading the record until
// replacing it after the commit, so that the cache never goes back.
type entry struct {
	*webhooks.Scope

	reg      *Registry
	change   sync.Mutex
	gone     bool // deleted; guarded by change
	record   atomic.Pointer[Record]
	settings atomic.Pointer[Settings] // nil: none stored
	proxy    atomic.Pointer[heldProxy]
	traffic  traffic.Counts
}

// Open reads all instances and webhooks. It first corrects states that need a running
// connection: a paired instance becomes disconnected, an unpaired one offline, as does
// one whose device belongs to another network.
func Open(ctx context.Context, cfg Config) (*Registry, error) {
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	r := &Registry{
		cfg: cfg, log: cfg.Logger.With("component", "instance"),
		byID: map[int64]*entry{}, byName: map[string]*entry{}, started: time.Now(),
	}
	r.events = cfg.publisher()
	if cfg.Webhooks == nil {
		r.cfg.Webhooks = webhooks.New(webhooks.Config{Store: cfg.Store})
	}
	if err := cfg.Store.View(r.load); err != nil {
		return nil, fmt.Errorf("instance: load: %w", err)
	}
	if err := r.correct(ctx); err != nil {
		return nil, err
	}
	r.hooks = webhooks.NewEditor(ctx, r.editorConfig())
	r.open = true
	return r, nil
}

// editorConfig is the configuration of what changes webhooks.
func (r *Registry) editorConfig() webhooks.EditorConfig {
	return webhooks.EditorConfig{
		Directory: r.cfg.Webhooks, Owner: There, Rules: webhooks.Rules{CheckURL: r.cfg.CheckURL}, Ledger: r.cfg.Ledger,
		OnChange: r.webhookChanged, OnLanes: r.cfg.OnLanes, ClearLanes: r.cfg.ClearLanes, Logger: r.cfg.Logger,
	}
}

// Webhooks changes and shows where the events of instances go. Its errors about an
// instance that does not exist are ErrNotFound.
func (r *Registry) Webhooks() *webhooks.Editor { return r.hooks }

func (r *Registry) webhookChanged(id int64) {
	if e := r.entry(id); e != nil {
		r.tellChange(id, e.record.Load().Name, false)
	}
}

func (cfg Config) publisher() *publish.Publisher {
	return publish.NewPublisher(publish.PublisherConfig{
		Store: cfg.Store, Ledger: cfg.Ledger, Publish: cfg.Publish, Watched: cfg.Watched, Twin: cfg.Twin, Link: cfg.Link, Linked: cfg.Linked, NoteLost: cfg.NoteLost, Lost: cfg.Lost, Logger: cfg.Logger,
	})
}

func (r *Registry) load(tx *store.Tx) error {
	err := tx.Scan(instances, store.Range{}, func(k, _ []byte) (bool, error) {
		rec, found, err := store.GetJSON[Record](tx, instances, k)
		if err == nil && found {
			r.add(rec, nil)
		}
		return true, err
	})
	if err != nil {
		return err
	}
	if err := r.tellLost(tx); err != nil {
		return err
	}
	if err := r.cfg.Webhooks.LoadGlobal(tx); err != nil {
		return err
	}
	for id, e := range r.byID {
		if err := e.loadParts(tx, id); err != nil {
			return err
		}
	}
	return nil
}

// loadParts reads the data of an instance besides its record.
func (e *entry) loadParts(tx *store.Tx, id int64) (err error) {
	e.Scope, err = e.reg.cfg.Webhooks.Load(tx, id)
	return errors.Join(err, e.loadProxy(tx, id), loadInto(tx, &e.settings, settingsBucket, id))
}

// loadInto reads data of an instance into the cache. Damaged data, already counted and
// logged by the store, is treated as absent.
func loadInto[T any](tx *store.Tx, cache *atomic.Pointer[T], bucket string, id int64) error {
	v, found, err := store.GetJSON[T](tx, bucket, store.Key(id))
	if errors.Is(err, store.ErrDamaged) {
		return nil
	}
	if found {
		cache.Store(&v)
	}
	return err
}

// add adds an instance to the registry; scope may be set later, by loadParts.
func (r *Registry) add(rec Record, scope *webhooks.Scope) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := &entry{Scope: scope, reg: r}
	e.record.Store(&rec)
	r.byID[rec.ID], r.byName[rec.Name] = e, e
}

// correctedAtOnce is how many instances share the commits of a start. One commit for each
// would delay the first answer after a crash, with a thousand instances by seconds.
const correctedAtOnce = 256

// correct replaces stored states that require a connection, and those that depend on the
// program's network.
func (r *Registry) correct(ctx context.Context) error {
	standings := map[int64]Standing{}
	if r.cfg.Standings != nil {
		var err error
		if standings, err = r.cfg.Standings(); err != nil {
			return fmt.Errorf("instance: networks: %w", err)
		}
	}
	links := r.unknownLinks(standings)
	for some := range slices.Chunk(r.List(), correctedAtOnce) {
		var corrected []Record
		err := r.cfg.Store.Update(ctx, func(tx *store.Tx) error {
			corrected = corrected[:0]
			for _, rec := range some {
				before := rec.Status
				linked := rec.take(links[rec.ID])
				if !rec.correct(standings[rec.ID]) && !linked {
					continue
				}
				if rec.UpdatedAt = event.At(tx.Now()); rec.Status != before {
					rec.StatusAt = rec.UpdatedAt
				}
				if err := store.PutJSON(tx, instances, store.Key(rec.ID), rec); err != nil {
					return err
				}
				corrected = append(corrected, rec)
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, rec := range corrected {
			r.byID[rec.ID].record.Store(&rec)
			r.tellChange(rec.ID, rec.Name, false)
		}
	}
	return nil
}

// Create stores a new instance. Errors: an event.RuleError wrapping ErrInvalid, or
// ErrExists.
func (r *Registry) Create(ctx context.Context, n New) (Record, error) {
	if err := n.check(); err != nil {
		return Record{}, err
	}
	token, err := n.Mint(n.Name)
	if err != nil {
		return Record{}, fmt.Errorf("instance: mint token: %w", err)
	}
	var rec Record
	var scope *webhooks.Scope
	err = r.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		if tx.Has(instanceName, []byte(n.Name)) {
			return ErrExists
		}
		id, err := tx.NextID(instances)
		if err != nil {
			return err
		}
		now := event.At(tx.Now())
		rec = Record{
			ID: int64(id), Name: n.Name, Description: n.Description, Status: event.Offline,
			ExternalAttributes: event.Attributes(n.ExternalAttributes), CreatedAt: now, UpdatedAt: now,
			Token: Token{token, now, now},
		}
		if scope, err = r.cfg.Webhooks.Create(tx, rec.ID); err != nil {
			return err
		}
		return errors.Join(store.PutJSON(tx, instances, store.Key(id), rec), tx.Put(instanceName, []byte(n.Name), store.Key(id)))
	})
	if err != nil {
		return Record{}, fmt.Errorf("create instance %q: %w", n.Name, err)
	}
	r.cfg.Webhooks.Add(scope)
	r.add(rec, scope)
	r.tellChange(rec.ID, rec.Name, false)
	r.log.Info("instance created", "instance", rec.Name, "instance_id", rec.ID)
	return rec, nil
}

// ByName returns the instance with that name, or ErrNotFound.
func (r *Registry) ByName(name string) (Record, error) {
	r.mu.RLock()
	e := r.byName[name]
	r.mu.RUnlock()
	if e == nil {
		return Record{}, ErrNotFound
	}
	return *e.record.Load(), nil
}

// Now returns the store's time, by which restrictions and everything else of an instance
// expire.
func (r *Registry) Now() time.Time { return r.cfg.Store.Now() }

// ByID returns the instance with that id, or ErrNotFound.
func (r *Registry) ByID(id int64) (Record, error) {
	e := r.entry(id)
	if e == nil {
		return Record{}, ErrNotFound
	}
	return *e.record.Load(), nil
}

// List returns all instances by id.
func (r *Registry) List() []Record {
	r.mu.RLock()
	all := make([]Record, 0, len(r.byID))
	for _, id := range slices.Sorted(maps.Keys(r.byID)) {
		all = append(all, *r.byID[id].record.Load())
	}
	r.mu.RUnlock()
	return all
}

// SetToken replaces the token of an instance and invalidates the former one. A non-empty
// old must equal the stored token, so that only one of two concurrent renewals succeeds;
// otherwise the error is ErrNotFound.
func (r *Registry) SetToken(ctx context.Context, id int64, old, token string) (Record, error) {
	rec, changed, err := r.change(ctx, id, func(rec *Record) bool {
		if old != "" && rec.Token.Value != old {
			return false
		}
		rec.Token.Value = token
		rec.Token.UpdatedAt = rec.UpdatedAt
		return true
	})
	if err == nil && !changed {
		err = ErrNotFound
	}
	return rec, err
}

func (r *Registry) entry(id int64) *entry {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.byID[id]
}

// change applies fn to the record of id and stores it unless fn returns false. fn sees
// UpdatedAt as it will be stored, and may run twice.
func (r *Registry) change(ctx context.Context, id int64, fn func(*Record) bool) (rec Record, changed bool, err error) {
	return r.changeAndTell(ctx, id, fn, r.events.Source(id, absent{}).Writer(), func(*Record) {})
}

// changeAndTell is change that also writes the events which tell adds to t, given the
// record at that point. Durable events are in the commit of the change, even if nothing
// else is. The caller publishes them.
func (r *Registry) changeAndTell(ctx context.Context, id int64, fn func(*Record) bool, t *publish.Writer, tell func(*Record)) (rec Record, changed bool, err error) {
	e := r.entry(id)
	if e == nil {
		return rec, false, ErrNotFound
	}
	e.change.Lock()
	defer e.change.Unlock()
	if e.gone {
		return rec, false, ErrNotFound
	}
	before := *e.record.Load()
	rec = before
	if changed = fn(&rec); !changed {
		tell(&before) // stored by publish, if durable
		return before, false, nil
	}
	err = t.Commit(ctx, func(tx *store.Tx) error {
		rec = before
		rec.UpdatedAt = event.At(tx.Now())
		fn(&rec)
		if rec.Status != before.Status {
			rec.StatusAt = rec.UpdatedAt
		}
		tell(&rec)
		return store.PutJSON(tx, instances, store.Key(id), rec)
	})
	if err != nil {
		return before, false, fmt.Errorf("change instance %d: %w", id, err)
	}
	e.record.Store(&rec)
	r.tellChange(rec.ID, rec.Name, false)
	if rec.Status != before.Status || !sameRestrictions(rec.Restrictions, before.Restrictions) {
		r.tellStatus(before, rec)
	}
	return rec, true, nil
}

// tellStatus runs under the entry's lock, so that states are reported in commit order.
func (r *Registry) tellStatus(before, rec Record) {
	if !r.open {
		return
	}
	if rec.Status != before.Status {
		r.log.Info("connection state", "instance", rec.Name, "instance_id", rec.ID, "status", string(rec.Status), "reason", rec.Reason, "error", rec.LastError)
	}
	r.tellRestrictions(before, rec)
	if r.cfg.OnStatus != nil {
		r.cfg.OnStatus(rec.ID, rec.Status)
	}
}

func (r *Registry) tellChange(id int64, name string, gone bool) {
	if r.open && r.cfg.OnChange != nil {
		r.cfg.OnChange(id, name, gone)
	}
}
