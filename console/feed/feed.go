package feed

import (
	"errors"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

const (
	// Pause is the time between what is told and what is told next.
	Pause = 200 * time.Millisecond
	// AtOnce is how many rows are told after a pause.
	AtOnce = 200
	// FiguresEvery is how often figures are told.
	FiguresEvery = 5 * time.Second
	// MostDeliveries is how many deliveries are told one by one after a pause.
	MostDeliveries = 100
	// MostWaiting is how many rows of instances and batches may wait for a client.
	MostWaiting = 50_000
)

// ErrBehind ends a stream whose client does not keep up.
var ErrBehind = errors.New("too much changed that the client did not take")

// Config is what a Feed needs. All fields are required but Logger. The functions are
// called by whoever takes messages; what they return is turned into JSON at once.
type Config struct {
	// Instance reads the row of an instance, its webhook only with webhooks; ok is false
	// when there is none.
	Instance func(id int64, webhooks bool) (name string, row any, ok bool)
	// Batch reads the row of a batch, by the instances that opens reports, nil for all; ok is
	// false when there is none.
	Batch func(id uuid.UUID, opens func(instance int64) bool) (owner uuid.UUID, row any, ok bool)
	// Deliveries reads the rows of deliveries; those that are gone are left out.
	Deliveries func(ids []uint64) []any
	// Figures are those of now.
	Figures func() any

	Logger *slog.Logger // nil discards
}

// Viewer says what a client may be told. A function that is nil allows nothing; they
// must not block.
type Viewer struct {
	Instance func(name string) bool
	Batch    func(owner, id uuid.UUID) bool
	Opens    func(instance int64) bool // of which rows of batches tell; nil: of all
	Delivery func(Delivery) bool
	Webhooks bool // of the instances
	Figures  bool
}

// Operator is a viewer who may be told everything.
func Operator() Viewer {
	return Viewer{
		Instance: func(string) bool { return true },
		Batch:    func(uuid.UUID, uuid.UUID) bool { return true },
		Delivery: func(Delivery) bool { return true },
		Webhooks: true,
		Figures:  true,
	}
}

// Delivery is one whose record changed.
type Delivery struct {
	ID       uint64
	Instance string // whose event it is, empty for a batch event
	Global   bool   // it goes to the webhook of the operator
}

// Feed hands on what changed. Its methods may be called from any goroutine, and none
// blocks.
type Feed struct {
	cfg       Config
	log       *slog.Logger
	listening atomic.Int64

	mu      sync.RWMutex
	streams map[*Stream]struct{}
}

// New returns a feed that nobody listens to.
func New(cfg Config) *Feed {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Feed{cfg: cfg, log: cfg.Logger.With("component", "console"), streams: map[*Stream]struct{}{}}
}

// InstanceChanged tells that an instance has another row than before.
func (f *Feed) InstanceChanged(id int64) {
	f.each(func(s *Stream) { s.note(key{kind: anInstance, instance: id}, told{}) })
}

// InstanceDeleted tells that there is no such instance any more.
func (f *Feed) InstanceDeleted(id int64, name string) {
	f.each(func(s *Stream) {
		if s.viewer.Instance != nil && s.viewer.Instance(name) {
			s.note(key{kind: noInstance, instance: id}, told{name: name})
		}
	})
}

// BatchChanged tells that a batch has another row than before.
func (f *Feed) BatchChanged(id uuid.UUID) {
	f.each(func(s *Stream) { s.note(key{kind: aBatch, batch: id}, told{}) })
}

// BatchDeleted tells that there is no such batch any more.
func (f *Feed) BatchDeleted(id, owner uuid.UUID) {
	f.each(func(s *Stream) {
		if s.viewer.Batch != nil && s.viewer.Batch(owner, id) {
			s.note(key{kind: noBatch, batch: id}, told{})
		}
	})
}

// DeliveriesChanged tells of deliveries that have other rows than before.
func (f *Feed) DeliveriesChanged(all iter.Seq[Delivery]) {
	f.each(func(s *Stream) { s.noteDeliveries(all) })
}

// each calls fn for every stream.
func (f *Feed) each(fn func(*Stream)) {
	if f.listening.Load() == 0 {
		return
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	for s := range f.streams {
		fn(s)
	}
}

// Open begins to keep what a client is to be told. wake is called, from any goroutine,
// when Next may have something; it must not block. The caller closes the stream.
func (f *Feed) Open(v Viewer, wake func()) *Stream {
	s := &Stream{feed: f, viewer: v, wake: wake, waiting: map[key]told{}, crowd: map[uint64]struct{}{}}
	s.begin()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.streams[s] = struct{}{}
	f.listening.Add(1)
	return s
}

func (f *Feed) leave(s *Stream) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, there := f.streams[s]; there {
		delete(f.streams, s)
		f.listening.Add(-1)
	}
}
