package messages

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"postern/event"
	"postern/internal/prune"
	"postern/store"
	"postern/store/schema"
)

// Names of the buckets, which are drawn in doc.go.
const (
	messages       = "message"
	messageKeys    = "message_key"
	messageUpdates = "message_update"
	messageChats   = "message_chat"
	contacts       = "contact"
	contactJIDs    = "contact_jid"

	chatNamesBucket = "message_chat_name"
	chatTimers      = "chat_timer"
	pollVotes       = "poll_vote"

	awaitedReceipts = "message_awaited"
)

// Buckets returns the buckets of this package. Their records belong to instances: see
// [schema.OwnedBy].
func Buckets() []schema.Bucket {
	return []schema.Bucket{
		{Name: messages, Owner: "messages", Key: "instance id + message id", Value: "JSON: the message, when it was stored, whether it was deleted", Append: true, Series: 8, Guards: true, When: messageStored, Needs: messageNeeds, Of: schema.FirstID},
		{Name: messageKeys, Owner: "messages", Key: "instance id + key id, 0, chat", Value: "message id", Needs: schema.References(schema.Sized(0), "", keyToMessage)},
		{Name: messageChats, Owner: "messages", Key: "instance id + chat, 0, message id; of history 0 and its time before that id", Value: "1: the account's own, 2: not; empty in older files", Needs: schema.References(schema.Sized(0), "", chatToMessage)},
		{Name: chatNamesBucket, Owner: "messages", Key: "instance id + a name of a chat, 0, its other name", Value: "empty", Of: ownerOfName},
		{Name: chatTimers, Owner: "messages", Key: "instance id + an address of a chat", Value: "JSON: the newest setting of its disappearing timer", Needs: schema.References(schema.JSONOf[timerRecord](0), ""), Of: schema.FirstID},
		{Name: pollVotes, Owner: "messages", Key: "instance id + key id of a poll, 0, message id of a vote", Value: "empty", Needs: schema.References(schema.Sized(0), "", voteToMessage), Of: schema.FirstID},
		{Name: awaitedReceipts, Owner: "messages", Key: "instance id + message id", Value: "when WhatsApp took a message to a person, in Unix milliseconds; 1 once it has a receipt, else 0", Append: true, Series: 8, Needs: schema.References(schema.Sized(16), "", awaitedToMessage), Of: schema.FirstID},
		{Name: messageUpdates, Owner: "messages", Key: "instance id + message id + n", Value: "JSON: status and time", Fill: 0.75, Needs: schema.References(schema.Sized(0), "", updateToMessage)},
		{Name: contacts, Owner: "messages", Key: "instance id + contact id", Value: "JSON: JIDs and names", Needs: schema.References(schema.JSONOf[Contact](16), "a contact is lost", toAddress(0), toAddress(1)), Of: schema.FirstID},
		{Name: contactJIDs, Owner: "messages", Key: "instance id + phone JID or LID", Value: "contact id", Needs: schema.References(schema.Sized(0), "", addressToContact)},
	}
}

// Config configures an Archive. Store and Owner are required.
type Config struct {
	Store *store.Store
	// Owner returns an error if an instance does not exist. Calls about such an instance
	// return it.
	Owner func(tx *store.Tx, instance int64) error

	SaveMessages bool // store received messages and history; see Receive
	SaveUpdates  bool // store receipts
	SaveContacts bool

	Retention time.Duration // of messages; 0: forever

	// Stored is called in the commit that stores a received or sent message, Deleted in the
	// one that deletes a message for its age. Both may be nil.
	Stored  func(tx *store.Tx, instance int64, m *event.Message) error
	Deleted func(tx *store.Tx, instance, id int64) error

	Logger *slog.Logger // nil discards
}

// Archive holds the messages, contacts and chats of all instances. It is safe for
// concurrent use.
type Archive struct {
	cfg Config
	log *slog.Logger

	life       context.Context // ends with Close
	end        context.CancelFunc
	mu         sync.Mutex // of the end of life
	background sync.WaitGroup
	looking    chan struct{} // a slot per receipt that waits for its message
	departures departures

	undelivered undeliveredCounts

	recovered, repeated atomic.Uint64 // see Copies
}

// Open returns the archive of a file. It first builds the index of messages by chat, in
// files written before it existed.
func Open(ctx context.Context, cfg Config) (*Archive, error) {
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	a := &Archive{cfg: cfg, log: cfg.Logger.With("component", "messages"), looking: make(chan struct{}, receiptsWaiting)}
	a.life, a.end = context.WithCancel(context.WithoutCancel(ctx))
	if err := a.indexChats(ctx); err != nil {
		return nil, err
	}
	return a, nil
}

// Start begins to remove old messages, if the configuration has a retention.
func (a *Archive) Start() {
	if a.cfg.Retention > 0 {
		a.spawn(func() {
			prune.Loop(a.life, a.cfg.Store, a.cfg.Retention, a.pruneAll, func(err error) { a.log.Warn("messages not pruned", "error", err) })
		})
	}
}

// Close ends the archive's own goroutines and waits for them.
func (a *Archive) Close() {
	a.mu.Lock()
	a.end()
	a.mu.Unlock()
	a.background.Wait()
}

// spawn runs fn in a goroutine that Close waits for; after Close it does nothing.
func (a *Archive) spawn(fn func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.life.Err() == nil {
		a.background.Go(fn)
	}
}

// owner returns an error if an instance does not exist.
func (a *Archive) owner(instance int64) error {
	return a.cfg.Store.View(func(tx *store.Tx) error { return a.cfg.Owner(tx, instance) })
}

// Any reports whether messages of an instance are stored.
func Any(tx *store.Tx, instance int64) (found bool, err error) {
	err = tx.Scan(messages, store.Range{Prefix: store.Key(instance), Limit: 1}, func(_, _ []byte) (bool, error) {
		found = true
		return false, nil
	})
	return found, err
}

// Forget removes everything of an instance, in the commit that deletes the instance.
func Forget(tx *store.Tx, instance int64) (err error) {
	for _, bucket := range []string{messages, messageKeys, messageChats, chatNamesBucket, chatTimers, pollVotes, awaitedReceipts, messageUpdates, contacts, contactJIDs} {
		_, e := tx.DeletePrefix(bucket, store.Key(instance))
		err = errors.Join(err, e)
	}
	return err
}
