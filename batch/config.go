package batch

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"postern/batch/optout"
	"postern/delivery/outbox"
	"postern/event"
	"postern/store"
)

// Fleet is the set of instances that batches use. Its methods are called
// from many goroutines.
type Fleet interface {
	// Instance returns the name and the state of an instance from memory; ok is
	// false when it was deleted.
	Instance(id int64) (name string, state event.State, ok bool)
	// Gate reports whether an instance may send to a recipient now, and if not, until
	// when and why. It is asked before each send, and about each item that waits
	// while the answer is that only strangers are kept back: it should answer
	// from memory when nothing does. Whenever it may have opened before the time
	// that it reported, or a stranger may be written to,
	// Engine.GateChanged is called.
	Gate(Question) Gate
	// Send sends one message and returns once its outcome is known. Its error
	// wraps event.ErrNotConnected, ErrBusy, ErrNotNow, ErrNotOnWhatsApp,
	// ErrSendRefused or ErrOutcomeUnknown; any other error counts as the last one. It calls
	// out.Leaving when the message's turn has come, before a byte of it leaves:
	// a message that never left is not uncertain, and its timeout has not begun.
	Send(ctx context.Context, instance int64, out event.Outgoing) (Receipt, error)
}

// Receipt is the result of a successful send.
type Receipt struct {
	WhatsAppID   string // the message id that WhatsApp acknowledged
	RecipientJID string // where it went

	// Record stores the sent message in the commit of the item's result and
	// returns its id. Like every store closure it may run twice. When it
	// fails, the item ends UNKNOWN. It may be nil.
	Record func(tx *store.Tx) (messageID int64, err error)
	// Committed is called after that commit. It may be nil.
	Committed func()
}

// Config is what an Engine needs. Store, Outbox, Fleet and NewMessageID are required.
type Config struct {
	Store  *store.Store
	Outbox *outbox.Outbox // of Store; takes the events
	Fleet  Fleet
	Logger *slog.Logger // nil: silent

	// OptOuts has the people who want no batches, and the opt-out words of batches. nil: there
	// are none, and no batch has words.
	OptOuts *optout.Book

	// AccountOf returns the number of the account that answers for a phone number, as far as an
	// earlier look-up has shown, and another text if that account's number is unknown. NumbersOf
	// returns all numbers of the person at a JID. Both answer from memory. nil: each number is
	// another person's.
	AccountOf func(number string) string
	NumbersOf func(jid string) []string

	// LetGo releases the reservation that a batch may have at a gate: it does not send
	// next. It may call GateChanged. nil: there are no reservations.
	LetGo func(batch uuid.UUID)

	// Changed is called for each batch that is new, changed, or deleted by
	// a call, after the commit that made it so. It must not block. nil: no calls.
	Changed func(owner, batch uuid.UUID, gone bool)

	// NewMessageID returns a new WhatsApp message id.
	NewMessageID func() string

	// Restored means that the file came from a backup: its unfinished batches may
	// have sent since. They resume only by a call.
	Restored bool

	Enabled       bool          // false: batches are kept but none is claimed
	MaxDelay      time.Duration // bound of options.delay; 0 means 24 h
	MaxRecipients int           // per batch; 0 means 100 000
	MaxOpen       int           // unfinished batches of one user; 0 sets no limit

	// ShutdownTimeout is how long Stop waits for a send in flight before its
	// item ends UNKNOWN; 0 means 15 s.
	ShutdownTimeout time.Duration
	// SendTimeout bounds the preparation of a send, and again the send itself
	// once its turn has come; 0 means 30 s.
	SendTimeout time.Duration
	// TurnTimeout is how long a send may wait for its turn on the instance, on
	// top of its preparation; 0 means 60 s.
	TurnTimeout time.Duration
	// MediaTimeout is added to SendTimeout and to Lease when the message has
	// something to be fetched or uploaded first, so that a slow server of the
	// file is distinguished from a send without an answer; 0 means no more time.
	MediaTimeout time.Duration
	// Lease is how long a send may go unanswered, from its turn on, before its
	// batch is taken from it; 0 means 60 s. It is raised to twice SendTimeout when it is not
	// longer than SendTimeout, so that only a send that ignores its context
	// can lose it.
	Lease time.Duration
	// Retention is how long a final batch is kept, from the moment in which it
	// became so; 0 keeps it until it is deleted.
	Retention time.Duration
	// Location is the zone of schedules that name none; nil means UTC.
	Location *time.Location
}

func (c Config) withDefaults() (Config, error) {
	if c.Store == nil || c.Outbox == nil || c.Fleet == nil || c.NewMessageID == nil {
		return c, errors.New("batch: Config needs Store, Outbox, Fleet and NewMessageID")
	}
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	c.Logger = c.Logger.With("component", "batch")
	if c.LetGo == nil {
		c.LetGo = func(uuid.UUID) {}
	}
	if c.Changed == nil {
		c.Changed = func(uuid.UUID, uuid.UUID, bool) {}
	}
	c.MaxDelay = orDefault(c.MaxDelay, 24*time.Hour)
	c.MaxRecipients = orDefault(c.MaxRecipients, 100_000)
	c.ShutdownTimeout = orDefault(c.ShutdownTimeout, 15*time.Second)
	c.SendTimeout = orDefault(c.SendTimeout, 30*time.Second)
	c.TurnTimeout = orDefault(c.TurnTimeout, time.Minute)
	c.Lease = orDefault(c.Lease, time.Minute)
	if c.Lease <= c.SendTimeout {
		c.Lease = 2 * c.SendTimeout
	}
	if c.Location == nil {
		c.Location = time.UTC
	}
	return c, nil
}

func orDefault[T ~int | ~int64](v, def T) T {
	if v <= 0 {
		return def
	}
	return v
}
