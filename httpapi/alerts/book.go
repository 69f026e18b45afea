package alerts

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"postern/internal/prune"
	"postern/store"
	"postern/store/schema"
)

const (
	bucket = "notify"

	// Life is how long an alert is not sent again after it was sent.
	Life = 24 * time.Hour
	// MaxKept is the maximum number of alerts that are kept for a recipient of an instance.
	MaxKept = 50_000

	pruneStep = 200 // rows that one commit removes
)

// Buckets returns the buckets of this package.
func Buckets() []schema.Bucket {
	return []schema.Bucket{{
		Name: bucket, Owner: "notify", Key: "instance id + hash of a recipient + number of a text",
		Value: "whether it was sent, when, and hashes of its alerts", Of: schema.FirstID,
		Needs: schema.References(schema.Decoded(0, decode), "the record of sent alerts is unreadable: an alert may be sent again"),
	}}
}

// Book records which alerts were sent. Its methods may be called from any goroutine.
type Book struct {
	store *store.Store
	log   *slog.Logger

	mu    sync.Mutex
	turns map[string]*turn

	life context.Context // ends with Stop
	end  context.CancelFunc
	work sync.WaitGroup
}

// NewBook returns the book in s; a nil logger discards.
func NewBook(s *store.Store, log *slog.Logger) *Book {
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	b := &Book{store: s, log: log.With("component", "notify"), turns: map[string]*turn{}}
	b.life, b.end = context.WithCancel(context.Background())
	return b
}

// Start begins to remove expired rows in the background.
func (b *Book) Start() {
	b.work.Go(func() {
		prune.Loop(b.life, b.store, Life, b.pruneOld, func(err error) { b.log.Warn("expired alerts were not removed", "error", err) })
	})
}

// Stop ends that, and waits for the current commit.
func (b *Book) Stop(context.Context) error {
	b.end()
	b.work.Wait()
	return nil
}

// turn serializes the posts to a recipient.
type turn struct {
	taken chan struct{} // has an element while the turn is taken
	users int           // that have it or wait for it
}

// Turn waits until no other post to the recipient by that instance is in progress, or
// returns the cause of the end of ctx. The caller calls release at the end.
func (b *Book) Turn(ctx context.Context, instance int64, to string) (release func(), err error) {
	key := string(prefix(instance, to))
	b.mu.Lock()
	t := b.turns[key]
	if t == nil {
		t = &turn{taken: make(chan struct{}, 1)}
		b.turns[key] = t
	}
	t.users++
	b.mu.Unlock()
	leave := func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(b.turns, key)
		}
	}
	select {
	case t.taken <- struct{}{}:
		return func() { <-t.taken; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}

// Known says which alerts of a post were already sent.
type Known struct {
	New     []int  // indexes of the marks that were not
	Marks   []Mark // those
	Unknown int    // the number of the others with an unknown outcome
}

// Known looks marks up. A duplicate mark is new only once. Known is called in the recipient's turn.
func (b *Book) Known(instance int64, to string, marks []Mark) (k Known, err error) {
	sure := map[Mark]bool{} // whether it was sent for certain
	err = b.store.View(func(tx *store.Tx) error {
		return eachRow(tx, prefix(instance, to), func(_ []byte, r row) {
			for _, m := range r.marks {
				if r.counts(tx.Now()) {
					sure[m] = sure[m] || r.sent
				}
			}
		})
	})
	for i, m := range marks {
		sent, known := sure[m]
		switch {
		case !known:
			sure[m] = true
			k.New, k.Marks = append(k.New, i), append(k.Marks, m)
		case !sent:
			k.Unknown++
		}
	}
	return k, err
}

// Note is the record of a text that is about to be sent. A nil Note records nothing.
type Note struct {
	book *Book
	key  []byte
	row  row
}

// Begin stores a Note before the send. In its commit, there checks that the instance
// still exists. It is called in the recipient's turn. Without marks the Note is nil.
func (b *Book) Begin(ctx context.Context, instance int64, to string, marks []Mark, there func(tx *store.Tx, instance int64) error) (*Note, error) {
	if len(marks) == 0 {
		return nil, nil //nolint:nilnil // as documented
	}
	n := &Note{book: b}
	err := b.store.Update(ctx, func(tx *store.Tx) error {
		if err := there(tx, instance); err != nil {
			return err
		}
		if err := makeRoom(tx, prefix(instance, to), len(marks)); err != nil {
			return err
		}
		id, err := tx.NextID(bucket)
		if err != nil {
			return err
		}
		n.key, n.row = store.Key(prefix(instance, to), id), row{at: tx.Now(), marks: marks}
		return tx.Put(bucket, n.key, n.row.encode())
	})
	if err != nil {
		return nil, fmt.Errorf("note alerts: %w", err)
	}
	return n, nil
}

// Sent stores, in the commit that stores the message, that it was sent.
func (n *Note) Sent(tx *store.Tx) error {
	if n == nil {
		return nil
	}
	sent := n.row
	sent.sent = true
	return tx.Put(bucket, n.key, sent.encode())
}

// Undo removes the note of a text that was definitely not sent.
func (n *Note) Undo(ctx context.Context) error {
	if n == nil {
		return nil
	}
	return n.book.store.Update(ctx, func(tx *store.Tx) error { return tx.Delete(bucket, n.key) })
}

// Forget removes the records of an instance, in the commit that deletes it.
func Forget(tx *store.Tx, instance int64) error {
	_, err := tx.DeletePrefix(bucket, store.Key(instance))
	return err
}

// makeRoom removes the expired rows of a recipient, and the oldest ones if there would be too many.
func makeRoom(tx *store.Tx, of []byte, more int) error {
	type old struct {
		key   []byte
		marks int
		over  bool
	}
	var all []old
	kept := more
	err := eachRow(tx, of, func(key []byte, r row) {
		one := old{key, len(r.marks), !r.counts(tx.Now())}
		if !one.over {
			kept += one.marks
		}
		all = append(all, one)
	})
	for _, one := range all { // the oldest first
		if !one.over && kept > MaxKept {
			one.over = true
			kept -= one.marks
		}
		if one.over && err == nil {
			err = tx.Delete(bucket, one.key)
		}
	}
	return err
}

// pruneOld removes expired rows, and rows from a clock that was ahead, and returns the
// time of the oldest remaining row.
func (b *Book) pruneOld(time.Time) (oldest time.Time, err error) {
	for from := []byte(nil); b.life.Err() == nil; {
		var over [][]byte
		next := []byte(nil)
		err := b.store.View(func(tx *store.Tx) error {
			return tx.Scan(bucket, store.Range{From: from}, func(k, v []byte) (bool, error) {
				r, err := decode(v)
				switch {
				case err != nil || !r.counts(tx.Now()):
					over = append(over, k)
				case oldest.IsZero() || r.at.Before(oldest):
					oldest = r.at
				}
				if len(over) == pruneStep {
					next = k
				}
				return next == nil, nil
			})
		})
		if err != nil {
			return oldest, err
		}
		if len(over) > 0 {
			err = b.store.Update(b.life, func(tx *store.Tx) (err error) {
				for _, k := range over {
					err = errors.Join(err, tx.Delete(bucket, k))
				}
				return err
			})
		}
		if err != nil || next == nil {
			return oldest, err
		}
		from = next
	}
	return oldest, nil
}

// row is the record of one text.
type row struct {
	sent  bool
	at    time.Time
	marks []Mark
}

// counts reports whether the row has not expired. A clock that was set back extends its
// life by a day at most.
func (r *row) counts(now time.Time) bool {
	since := now.Sub(r.at)
	return since < Life && since > -Life
}

func (r *row) encode() []byte {
	raw := make([]byte, 1, 9+len(r.marks)*len(Mark{}))
	if r.sent {
		raw[0] = 1
	}
	raw = binary.BigEndian.AppendUint64(raw, uint64(max(0, r.at.UnixMilli())))
	for _, m := range r.marks {
		raw = append(raw, m[:]...)
	}
	return raw
}

var errMalformed = errors.New("notify: malformed record")

func decode(raw []byte) (r row, err error) {
	const head, size = 9, len(Mark{})
	if len(raw) < head || raw[0] > 1 || (len(raw)-head)%size != 0 {
		return r, errMalformed
	}
	r.sent, r.at = raw[0] == 1, time.UnixMilli(int64(binary.BigEndian.Uint64(raw[1:]))) //nolint:gosec // as it was written
	for raw = raw[head:]; len(raw) > 0; raw = raw[size:] {
		r.marks = append(r.marks, Mark(raw))
	}
	return r, nil
}

// prefix is the prefix of the keys of a recipient's rows.
func prefix(instance int64, to string) []byte {
	sum := digest(to)
	return store.Key(instance, sum[:8])
}

// eachRow calls fn for the readable rows of a recipient, the oldest first.
func eachRow(tx *store.Tx, of []byte, fn func(key []byte, r row)) error {
	return tx.Scan(bucket, store.Range{Prefix: of}, func(k, v []byte) (bool, error) {
		r, err := decode(v)
		if err != nil {
			return true, tx.Unreadable(bucket, k, err)
		}
		fn(k, r)
		return true, nil
	})
}
