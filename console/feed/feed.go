package feed

import (
	"cmp"
	"errors"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

const (
	// Pause is the interval between two groups of messages.
	Pause = 200 * time.Millisecond
	// AtOnce is the maximum number of rows sent after a pause.
	AtOnce = 200
	// FiguresEvery is the interval between two messages with figures.
	FiguresEvery = 5 * time.Second
	// MostDeliveries is the maximum number of deliveries sent as rows after a pause.
	MostDeliveries = 100
	// MostWaiting is the maximum number of pending instance and batch rows of a stream.
	MostWaiting = 50_000
)

// ErrBehind ends a stream whose client is too slow.
var ErrBehind = errors.New("the client is too slow: too many changes are pending")

// Config configures a Feed. All fields but Opened and Logger are required. [Stream.Next] calls the
// functions and encodes their results as JSON immediately.
type Config struct {
	// Instance reads the row of an instance, with its webhook if webhooks is set; ok is
	// false if there is none.
	Instance func(id int64, webhooks bool) (name string, row any, ok bool)
	// Batch reads the row of a batch, limited to the instances that opens accepts, nil for
	// all; ok is false if there is none.
	Batch func(id uuid.UUID, opens func(instance int64) bool) (owner uuid.UUID, row any, ok bool)
	// Deliveries reads the rows of deliveries and omits deleted ones.
	Deliveries func(ids []uint64) []any
	// Figures returns the current figures.
	Figures func() any
	// Troubles returns what is wrong, as far as the viewer may see it.
	Troubles func(viewer any) any

	Opened func()       // called after a stream was opened; nil: nothing
	Logger *slog.Logger // nil discards
}

// Viewer holds the permissions of a client. A nil function allows nothing. The functions
// must not block.
type Viewer struct {
	Instance func(name string) bool
	Batch    func(owner, id uuid.UUID) bool
	Opens    func(instance int64) bool // instances visible in batch rows; nil: all
	Delivery func(Delivery) bool
	Webhooks bool // of the instances
	Figures  bool
	Troubles any // passed to Config.Troubles; nil: none are sent
}

// Operator returns a viewer with all permissions.
func Operator() Viewer {
	return Viewer{
		Instance: func(string) bool { return true },
		Batch:    func(uuid.UUID, uuid.UUID) bool { return true },
		Delivery: func(Delivery) bool { return true },
		Webhooks: true,
		Figures:  true,
	}
}

// Delivery identifies a changed delivery record.
type Delivery struct {
	ID       uint64
	Instance string // owner of the event, empty for a batch event
	Global   bool   // the receiver is the global webhook
}

// Feed distributes changes to streams. Its methods are safe for concurrent use and never
// block.
type Feed struct {
	cfg  Config
	log  *slog.Logger
	open atomic.Int64 // number of streams

	mu      sync.RWMutex
	streams map[*Stream]struct{}
}

// New returns a feed without streams.
func New(cfg Config) *Feed {
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	return &Feed{cfg: cfg, log: cfg.Logger.With("component", "console"), streams: map[*Stream]struct{}{}}
}

// InstanceChanged reports that the row of an instance changed.
func (f *Feed) InstanceChanged(id int64) {
	f.each(func(s *Stream) { s.note(key{kind: anInstance, instance: id}, deleted{}) })
}

// InstanceDeleted reports that an instance was deleted.
func (f *Feed) InstanceDeleted(id int64, name string) {
	f.each(func(s *Stream) {
		if s.viewer.Instance != nil && s.viewer.Instance(name) {
			s.note(key{kind: noInstance, instance: id}, deleted{name: name})
		}
	})
}

// BatchChanged reports that the row of a batch changed.
func (f *Feed) BatchChanged(id uuid.UUID) {
	f.each(func(s *Stream) { s.note(key{kind: aBatch, batch: id}, deleted{}) })
}

// BatchDeleted reports that a batch was deleted.
func (f *Feed) BatchDeleted(id, owner uuid.UUID) {
	f.each(func(s *Stream) {
		if s.viewer.Batch != nil && s.viewer.Batch(owner, id) {
			s.note(key{kind: noBatch, batch: id}, deleted{})
		}
	})
}

// TroublesChanged reports that the list of troubles changed.
func (f *Feed) TroublesChanged() { f.each((*Stream).noteTroubles) }

// Watched reports whether anybody is connected.
func (f *Feed) Watched() bool { return f.open.Load() > 0 }

// DeliveriesChanged reports that the rows of deliveries changed.
func (f *Feed) DeliveriesChanged(all iter.Seq[Delivery]) {
	f.each(func(s *Stream) { s.noteDeliveries(all) })
}

// each calls fn for every stream.
func (f *Feed) each(fn func(*Stream)) {
	if f.open.Load() == 0 {
		return
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	for s := range f.streams {
		fn(s)
	}
}

// Open opens a stream for a client. wake is called from any goroutine when Next may have
// a message; it must not block. The caller must close the stream.
func (f *Feed) Open(v Viewer, wake func()) *Stream {
	s := &Stream{feed: f, viewer: v, wake: wake, waiting: map[key]deleted{}, crowd: map[uint64]struct{}{}}
	s.begin()
	f.mu.Lock()
	f.streams[s] = struct{}{}
	f.open.Add(1)
	f.mu.Unlock()
	if f.cfg.Opened != nil {
		f.cfg.Opened()
	}
	return s
}

func (f *Feed) leave(s *Stream) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, there := f.streams[s]; there {
		delete(f.streams, s)
		f.open.Add(-1)
	}
}
