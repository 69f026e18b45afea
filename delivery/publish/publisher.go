package publish

import (
	"cmp"
	"log/slog"
	"time"

	"postern/delivery"
	"postern/event"
	"postern/store"
)

// Origin is an instance as the origin of events, or the place of one that does not exist.
// Its calls must not block. Package instance implements it.
type Origin interface {
	// Durable reports whether any destination of the instance has durable events, or is
	// about to.
	Durable() bool
	// RoutesIn returns the routes of events as of a commit.
	RoutesIn(tx *store.Tx) (Routes, error)
	// SnapshotIn returns the instance as the commit leaves it, or an error if it was
	// deleted.
	SnapshotIn(tx *store.Tx) (event.Snapshot, error)

	// MediaLinks reports whether events of messages with a file have its link: those of
	// the instance's own destinations, and those for the global webhook.
	MediaLinks() (own, global bool)
	// Destinations returns where an event goes now. It leaves out destinations whose
	// options are unreadable.
	Destinations(kind event.Kind, about event.About) []event.Destination
	// Snapshot returns the instance as it is now, or an error if it does not exist.
	Snapshot() (event.Snapshot, error)
}

// Routes say where the events of an instance go.
type Routes interface {
	// Durable reports whether any destination has durable events.
	Durable() bool
	// Own reports whether the instance's own events are durable, and for how long at
	// least they are kept. Such events are numbered, and stored without a destination too.
	Own() (durable bool, maxAge time.Duration)
	// Global reports whether the events of all instances are stored in the stream, and for how long.
	Global() (durable bool, maxAge time.Duration)
	// MediaLinks is [Origin.MediaLinks] as of the commit.
	MediaLinks() (own, global bool)
	// To returns the destinations of an event.
	To(kind event.Kind, about event.About) []event.Destination
}

// PublisherConfig configures a Publisher. Store and Publish are required.
type PublisherConfig struct {
	Store  *store.Store
	Ledger *delivery.Ledger // receives durable events; nil: no event is durable, regardless of routes

	// Publish receives each event after its commit. It must not block.
	Publish func(event.Notice)
	// Watched reports whether Publish uses events of an instance that have no
	// destination; if not, such events are not made. nil: it does.
	Watched func(id int64) bool
	// Link returns the link to the file of a stored message, in the transaction that reads
	// or stores it; nil: the message has no file. It may be nil.
	Link func(tx *store.Tx, instance int64, m *event.Message) *event.MediaLink
	// Linked is called in the commit of a stored event with the link of a message's file. It
	// may be nil.
	Linked func(tx *store.Tx, instance, message int64, seq uint64) error
	// NoteLost notes in the commit of their cause that n events are delivered from memory that should have been stored:
	// among the events of the instance, and in the stream of all. It may be nil.
	NoteLost func(tx *store.Tx, instance int64, n int, own, all bool) error
	// Lost notes one such event that has no cause in the file, or that NoteLost failed for. It may be nil.
	Lost func(instance int64)
	// Twin returns the other address of a person, the LID of a phone JID or vice versa,
	// "" if unknown. nil: none is known.
	Twin func(jid string) string

	Logger *slog.Logger // nil discards
}

// Publisher publishes the events of instances. It is safe for concurrent use.
type Publisher struct {
	cfg      PublisherConfig
	log      *slog.Logger
	scarcity scarcity
}

// NewPublisher returns a publisher.
func NewPublisher(cfg PublisherConfig) *Publisher {
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	return &Publisher{cfg: cfg, log: cfg.Logger.With("component", "delivery")}
}

// About returns the people and the chat of a payload, by both addresses where known. It
// must not be called in a transaction.
func (p *Publisher) About(data any) event.About { return event.AboutOf(data).With(p.cfg.Twin) }

// Source returns an instance as the source of events.
func (p *Publisher) Source(id int64, origin Origin) Source { return Source{p, id, origin} }

// Source is an instance whose events are published.
type Source struct {
	publisher *Publisher

	ID     int64
	origin Origin
}

// About is Publisher.About.
func (s Source) About(data any) event.About { return s.publisher.About(data) }

// Writer returns a writer for the events of one commit.
func (s Source) Writer() *Writer {
	w := &Writer{src: s}
	w.pending = w.one[:0]
	return w
}
