package access

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"postern/internal/prune"
	"postern/store"
)

// Record is one change, and who made it.
type Record struct {
	ID      uint64    `json:"-"`
	At      time.Time `json:"at"`
	Actor   string    `json:"actor"`           // a key's UUID, global, instance:NAME or user:UUID
	Action  string    `json:"action"`          // such as instance.create
	Subject string    `json:"subject"`         // what was changed
	From    string    `json:"from"`            // the address
	Count   int       `json:"count,omitempty"` // of a [MoreAction] record: how many changes it stands for
}

// Book is the log of what was changed by whom. Its methods may be called from any
// goroutine.
//
// One actor leaves [rowsPerMinute] records in any minute. Further changes are counted,
// and the count is one record by the end of the minute; what was counted since the last
// such record is lost in a crash. The log has [Book.Start]'s maximum of records at most:
// a new one removes the oldest in the same commit.
type Book struct {
	store *store.Store
	log   *slog.Logger
	last  atomic.Uint64 // number given last
	most  atomic.Uint64 // records that are kept

	paces paces

	cancel context.CancelFunc
	work   sync.WaitGroup
}

// DefaultMaxEntries is how many records a log keeps until [Book.Start] says otherwise.
const DefaultMaxEntries = 200_000

// OpenBook finds where the log in s ends. A nil logger is silent.
func OpenBook(s *store.Store, log *slog.Logger) (*Book, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	b := &Book{store: s, log: log.With("component", "access"), paces: newPaces(), cancel: func() {}}
	b.most.Store(DefaultMaxEntries)
	err := s.View(func(tx *store.Tx) error {
		return tx.Scan(bucketAudit, store.Range{Reverse: true}, func(k, _ []byte) (bool, error) {
			if len(k) != 8 {
				return true, nil
			}
			b.last.Store(binary.BigEndian.Uint64(k))
			return false, nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("access: read the audit log: %w", err)
	}
	return b, nil
}

// Start removes what is older than the retention from now on, 0 keeps all, and what is
// beyond the newest maxEntries, which is 1 or more. It also writes the counts of changes
// that have no record of their own.
func (b *Book) Start(retention time.Duration, maxEntries int) {
	b.most.Store(uint64(max(1, maxEntries)))
	var life context.Context
	life, b.cancel = context.WithCancel(context.Background())
	if retention > 0 {
		b.work.Go(func() {
			prune.Loop(life, b.store, retention, func(before time.Time) (time.Time, error) { return b.prune(life, before) },
				func(err error) { b.log.Warn("the audit log was not pruned", "error", err) })
		})
	}
	b.work.Go(func() { b.count(life) })
}

// Stop ends the pruning and writes the last counts.
func (b *Book) Stop(ctx context.Context) error {
	b.cancel()
	b.work.Wait()
	return b.writeCounts(ctx, b.paces.due(time.Now(), true))
}

// put stores a record, and makes room for it.
func (b *Book) put(tx *store.Tx, rec Record) error {
	key := store.Key(rec.ID)
	if !tx.Has(bucketAudit, key) {
		if err := b.makeRoom(tx); err != nil {
			return err
		}
	}
	return store.PutJSON(tx, bucketAudit, key, rec)
}

// makeRoom removes the oldest records for one more, in steps of pruneStep when many are
// beyond the maximum.
func (b *Book) makeRoom(tx *store.Tx) error {
	rows, err := tx.Rows(bucketAudit)
	if err != nil {
		return err
	}
	most := b.most.Load()
	if rows < most {
		return nil
	}
	var old [][]byte
	err = tx.Scan(bucketAudit, store.Range{Limit: int(min(rows-most+1, pruneStep))}, func(k, _ []byte) (bool, error) { //nolint:gosec // at most pruneStep
		old = append(old, slices.Clone(k))
		return true, nil
	})
	for _, k := range old {
		err = errors.Join(err, tx.Delete(bucketAudit, k))
	}
	return err
}

// pruneStep is how many records one commit removes.
const pruneStep = 500

// prune removes what was noted before a time. Numbers and times go up together,
// unless the clock was set: what comes behind a younger record goes with that.
func (b *Book) prune(ctx context.Context, before time.Time) (oldest time.Time, err error) {
	for {
		var old [][]byte
		err := b.store.View(func(tx *store.Tx) error {
			old, oldest = nil, time.Time{}
			return tx.Scan(bucketAudit, store.Range{Limit: pruneStep}, func(k, raw []byte) (bool, error) {
				r, err := decode(k, raw)
				if err == nil && !r.At.Before(before) {
					oldest = r.At
					return false, nil
				}
				old = append(old, slices.Clone(k))
				return true, nil
			})
		})
		if err != nil || len(old) == 0 {
			return oldest, err
		}
		err = b.store.Update(ctx, func(tx *store.Tx) error {
			for _, k := range old {
				if err := tx.Delete(bucketAudit, k); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return oldest, err
		}
	}
}

func decode(key, raw []byte) (r Record, err error) {
	if len(key) != 8 {
		return r, errRecord
	}
	err = json.Unmarshal(raw, &r)
	r.ID = binary.BigEndian.Uint64(key)
	return r, err
}

// CallAction is the action of an agent's call of a tool, which ended as outcome says:
// done, refused or failed.
func CallAction(tool, outcome string) string {
	if outcome == "done" {
		return "mcp." + tool
	}
	return "mcp." + tool + "." + outcome
}

// Entry is a record of something that is being done.
type Entry struct {
	book    *Book
	counted bool // it has no record of its own: its actor has had all of this minute

	mu   sync.Mutex
	rec  Record
	over bool // nothing is written any more
}

// Note begins a record of a change that is about to be made. [Entry.Along] has it
// stored with that; in the end it is kept or withdrawn.
func (b *Book) Note(actor, action, subject, from string) *Entry {
	now := time.Now()
	e := &Entry{book: b, rec: Record{At: now.UTC().Truncate(time.Millisecond), Actor: actor, Action: action, Subject: subject, From: from}}
	if e.counted = !b.paces.take(actor, now); !e.counted {
		e.rec.ID = b.last.Add(1)
	}
	return e
}

// About sets the subject, once it is known.
func (e *Entry) About(subject string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rec.Subject = subject
}

// Along returns a context whose commits have the record in them.
func (e *Entry) Along(ctx context.Context) context.Context { return Along(ctx, []*Entry{e}) }

// Along returns a context whose commits have some records in them.
func Along(ctx context.Context, entries []*Entry) context.Context {
	return store.Along(ctx, func(tx *store.Tx) error {
		for _, e := range entries {
			if err := e.put(tx); err != nil {
				return err
			}
		}
		return nil
	})
}

func (e *Entry) put(tx *store.Tx) error {
	e.mu.Lock()
	rec, over := e.rec, e.over
	e.mu.Unlock()
	if over || e.counted {
		return nil
	}
	return e.book.put(tx, rec)
}

// end has no later commit write the record.
func (e *Entry) end() Record {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = true
	return e.rec
}

// Keep ends the record. It is in the file when Keep returns without an error, by a
// commit of its own when what was done had none.
func (e *Entry) Keep(ctx context.Context) error {
	rec := e.end()
	if e.counted {
		e.book.paces.count(rec, time.Now())
		return nil
	}
	stored, found, err := e.stored(rec.ID)
	if err == nil && found && stored == rec {
		return nil
	}
	return e.book.store.Update(context.WithoutCancel(ctx), func(tx *store.Tx) error { return e.book.put(tx, rec) })
}

// Leave ends the record as it is: in the file, when something of what it tells of is.
func (e *Entry) Leave() {
	if rec := e.end(); e.counted {
		e.book.paces.count(rec, time.Now())
	}
}

// Withdraw ends the record of something that was not done after all.
func (e *Entry) Withdraw(ctx context.Context) error {
	rec := e.end()
	if e.counted {
		return nil
	}
	e.book.paces.giveBack(rec.Actor)
	if _, found, err := e.stored(rec.ID); err == nil && !found {
		return nil
	}
	return e.book.store.Update(context.WithoutCancel(ctx), func(tx *store.Tx) error { return tx.Delete(bucketAudit, store.Key(rec.ID)) })
}

func (e *Entry) stored(id uint64) (rec Record, found bool, err error) {
	err = e.book.store.View(func(tx *store.Tx) (err error) {
		rec, found, err = store.GetJSON[Record](tx, bucketAudit, store.Key(id))
		rec.ID = id
		return err
	})
	return rec, found, err
}

var errRecord = errors.New("a record of the audit log cannot be read")
