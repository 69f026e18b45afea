package access

import (
	"cmp"
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

// Record is one audited change.
type Record struct {
	ID      uint64    `json:"-"`
	At      time.Time `json:"at"`
	Actor   string    `json:"actor"`           // a key's UUID, global, instance:NAME or user:UUID
	Action  string    `json:"action"`          // such as instance.create
	Subject string    `json:"subject"`         // what was changed
	From    string    `json:"from"`            // the address
	Count   int       `json:"count,omitempty"` // with [MoreAction]: number of changes that the record stands for
}

// Book is the audit log. It is safe for concurrent use.
//
// An actor may write [rowsPerMinute] records a minute. Further changes are only counted;
// the count becomes one record at the end of the minute. A crash loses the counts since
// the last such record. The log holds at most the maximum given to [Book.Start]: a new
// record removes the oldest in the same commit.
type Book struct {
	store *store.Store
	log   *slog.Logger
	last  atomic.Uint64 // last number assigned
	most  atomic.Uint64 // maximum number of records

	paces paces

	cancel context.CancelFunc
	work   sync.WaitGroup
}

// DefaultMaxEntries is the maximum size of a log until [Book.Start] sets another.
const DefaultMaxEntries = 200_000

// OpenBook opens the log in s. A nil logger discards its output.
func OpenBook(s *store.Store, log *slog.Logger) (*Book, error) {
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
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

// Start begins removing records older than retention (0 keeps all) and records beyond the
// newest maxEntries, which must be at least 1. It also begins writing the counts of
// changes without records.
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

// Stop ends the pruning and writes the remaining counts.
func (b *Book) Stop(ctx context.Context) error {
	b.cancel()
	b.work.Wait()
	return b.writeCounts(ctx, b.paces.due(time.Now(), true))
}

// put stores a record and removes the oldest if the log is full.
func (b *Book) put(tx *store.Tx, rec Record) error {
	key := store.Key(rec.ID)
	if !tx.Has(bucketAudit, key) {
		if err := b.makeRoom(tx); err != nil {
			return err
		}
	}
	return store.PutJSON(tx, bucketAudit, key, rec)
}

// makeRoom removes the oldest records to make room for one, at most pruneStep of them.
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

// pruneStep is the number of records that one commit removes.
const pruneStep = 500

// prune removes records from before a time. Numbers and times rise together unless the
// clock was set; an older record behind a newer one is removed with the newer one.
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

// CallAction returns the action of an agent's tool call. outcome is done, refused or
// failed.
func CallAction(tool, outcome string) string {
	if outcome == "done" {
		return "mcp." + tool
	}
	return "mcp." + tool + "." + outcome
}

// Entry is the record of a change in progress.
type Entry struct {
	book    *Book
	counted bool // its actor has exceeded its records for this minute

	mu   sync.Mutex
	rec  Record
	over bool // no further writes
}

// Note begins a record of a change that is about to be made. [Entry.Along] stores it in
// the commit of the change. The caller ends it with Keep, Leave or Withdraw.
func (b *Book) Note(actor, action, subject, from string) *Entry {
	now := time.Now()
	e := &Entry{book: b, rec: Record{At: now.UTC().Truncate(time.Millisecond), Actor: actor, Action: action, Subject: subject, From: from}}
	if e.counted = !b.paces.take(actor, now); !e.counted {
		e.rec.ID = b.last.Add(1)
	}
	return e
}

// About sets the subject once it is known.
func (e *Entry) About(subject string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rec.Subject = subject
}

// Along returns a context whose commits include the record.
func (e *Entry) Along(ctx context.Context) context.Context { return Along(ctx, []*Entry{e}) }

// Along returns a context whose commits include the records.
func Along(ctx context.Context, entries []*Entry) context.Context {
	return store.WithUpdate(ctx, func(tx *store.Tx) error {
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

// end prevents later commits from writing the record.
func (e *Entry) end() Record {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = true
	return e.rec
}

// Keep ends the record. When Keep returns nil the record is stored; if the change made no
// commit, Keep makes one.
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

// Leave ends the record without a commit: it is stored only if the change committed.
func (e *Entry) Leave() {
	if rec := e.end(); e.counted {
		e.book.paces.count(rec, time.Now())
	}
}

// Withdraw ends the record of a change that was not made.
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

var errRecord = errors.New("unreadable audit record")
