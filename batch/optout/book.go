package optout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"postern/batch/paging"
	"postern/event"
	"postern/store"
)

// step is the number of opt-outs that one commit adds or removes, so that other writers
// are not delayed for long.
const step = 500

// Config is what a Book needs. Store is required.
type Config struct {
	Store *store.Store
	// Addresses returns all known JIDs of the person at a JID, LIDs and phones, those included
	// whose look-up was answered with another. It is called in transactions and must not
	// use the store. nil: none is known.
	Addresses func(jid string) []string
	// Open reports whether a batch may still send, in a transaction. nil: all may.
	Open   func(tx *store.Tx, batch uuid.UUID) bool
	Logger *slog.Logger // nil discards
}

// Book holds the opt-outs of all users. Its methods are safe for concurrent use.
type Book struct {
	cfg  Config
	life context.Context // ends when Stop begins
	end  context.CancelFunc
	work sync.WaitGroup

	mu        sync.RWMutex
	campaigns map[uuid.UUID][]string // the folded words of each
	words     map[string]int         // of how many campaigns
}

// Open reads the words of all campaigns.
func Open(cfg Config) (*Book, error) {
	if cfg.Addresses == nil {
		cfg.Addresses = func(string) []string { return nil }
	}
	if cfg.Open == nil {
		cfg.Open = func(*store.Tx, uuid.UUID) bool { return true }
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	cfg.Logger = cfg.Logger.With("component", "optout")
	b := &Book{cfg: cfg, campaigns: map[uuid.UUID][]string{}, words: map[string]int{}}
	b.life, b.end = context.WithCancel(context.Background())
	err := cfg.Store.View(func(tx *store.Tx) error {
		return tx.Scan(bucketCampaign, store.Range{}, func(k, raw []byte) (bool, error) {
			c, err := decodeCampaign(raw)
			if err != nil || len(k) != len(uuid.UUID{}) {
				return true, tx.Unreadable(bucketCampaign, k, errors.Join(err, errShape))
			}
			b.learn(uuid.UUID(k), c.Words)
			return true, nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("opt-outs: read the campaigns: %w", err)
	}
	return b, nil
}

// Entry is one opt-out.
type Entry struct {
	Number    string     `json:"number" doc:"The phone number in digits, or the LID of a person whose number is unknown." example:"$phone"`
	Reason    *string    `json:"reason" doc:"Why, in words; null when none was given. Of an answer to a batch, its text." example:"asked by phone"`
	Source    *string    `json:"source" doc:"Where it comes from; null when not given. Of an answer to a batch: batch: and its id." example:"crm"`
	CreatedAt event.Time `json:"createdAt" doc:"When it was added." example:"$time"`
}

// Addition is somebody to be added.
type Addition struct {
	To             event.Recipient // a phone number or a LID
	Reason, Source string
}

// OptedOut reports whether the person at a phone number opted out of the batches of a user,
// by any of their known addresses.
func (b *Book) OptedOut(tx *store.Tx, owner uuid.UUID, number string) bool {
	p := b.person(event.Recipient{User: number, Server: event.UserServer})
	return p.optedOut(tx, owner)
}

// Add adds people to the book of owner and returns how many were not in it. It keeps the
// entries of the others. After an error some are added, which a repeated call finds.
func (b *Book) Add(ctx context.Context, owner uuid.UUID, all []Addition) (added int, err error) {
	err = b.inSteps(ctx, len(all), func(tx *store.Tx, i int) (bool, error) {
		p := b.person(all[i].To)
		return put(tx, owner, &p, all[i].Reason, all[i].Source)
	}, &added)
	if err != nil {
		return added, fmt.Errorf("add opt-outs: %w", err)
	}
	return added, nil
}

// Remove removes people from the book of owner and returns how many were in it. After an
// error some are removed, which a repeated call does not find.
func (b *Book) Remove(ctx context.Context, owner uuid.UUID, all []event.Recipient) (removed int, err error) {
	err = b.inSteps(ctx, len(all), func(tx *store.Tx, i int) (bool, error) {
		p := b.person(all[i])
		return remove(tx, owner, &p)
	}, &removed)
	if err != nil {
		return removed, fmt.Errorf("remove opt-outs: %w", err)
	}
	return removed, nil
}

// inSteps calls fn for each of n people, in commits of step. It counts in changed for how
// many fn returned true. A step without a change makes no commit.
func (b *Book) inSteps(ctx context.Context, n int, fn func(tx *store.Tx, i int) (bool, error), changed *int) error {
	for from := 0; from < n; from += step {
		var done int
		err := b.cfg.Store.Update(ctx, func(tx *store.Tx) error {
			done = 0
			for i := from; i < min(from+step, n); i++ {
				did, err := fn(tx, i)
				if err != nil {
					return err
				}
				if did {
					done++
				}
			}
			if done == 0 {
				return errUnchanged
			}
			return nil
		})
		if err != nil && !errors.Is(err, errUnchanged) {
			return err
		}
		*changed += done
	}
	return nil
}

var errUnchanged = errors.New("optout: nothing to change")

// entry is the record of an opt-out.
type entry struct {
	Number string   `json:"number"`
	Reason string   `json:"reason,omitempty"`
	Source string   `json:"source,omitempty"`
	At     int64    `json:"at"`
	LIDs   []string `json:"lids,omitempty"` // that lead to it
}

// put adds a person who is not in the book.
func put(tx *store.Tx, owner uuid.UUID, p *person, reason, source string) (added bool, err error) {
	if p.optedOut(tx, owner) {
		return false, nil
	}
	e := entry{Number: p.shown, Reason: reason, Source: source, At: tx.Now().UnixMilli()}
	if len(p.numbers) == 0 {
		return true, store.PutJSON(tx, bucketEntry, key(owner, byLID, p.lids[0]), e)
	}
	e.LIDs = p.lids
	err = store.PutJSON(tx, bucketEntry, key(owner, byNumber, p.numbers[0]), e)
	for _, lid := range p.lids {
		err = errors.Join(err, tx.Put(bucketEntry, key(owner, alsoLID, lid), []byte(p.numbers[0])))
	}
	return true, err
}

// remove removes all entries of a person, with what leads to them.
func remove(tx *store.Tx, owner uuid.UUID, p *person) (removed bool, err error) {
	for _, k := range p.keys(owner) {
		if !tx.Has(bucketEntry, k) {
			continue
		}
		removed = true
		if k[len(owner)] == alsoLID {
			number, err := tx.Get(bucketEntry, k)
			if err == nil {
				err = removeEntry(tx, owner, key(owner, byNumber, string(number)))
			}
			if err := ignoreDamage(err); err != nil {
				return false, err
			}
		}
		if err := removeEntry(tx, owner, k); err != nil {
			return false, err
		}
	}
	return removed, nil
}

// removeEntry removes an entry and what leads to it. Of a damaged one, that is unknown.
func removeEntry(tx *store.Tx, owner uuid.UUID, k []byte) error {
	e, _, err := store.GetJSON[entry](tx, bucketEntry, k)
	if k[len(owner)] == alsoLID {
		e, err = entry{}, nil
	}
	if err := ignoreDamage(err); err != nil {
		return err
	}
	for _, lid := range e.LIDs {
		if err := tx.Delete(bucketEntry, key(owner, alsoLID, lid)); err != nil {
			return err
		}
	}
	return tx.Delete(bucketEntry, k)
}

func ignoreDamage(err error) error {
	if errors.Is(err, store.ErrDamaged) {
		return nil
	}
	return err
}

// List returns a page of the opt-outs of owner, by number; those without a number are at
// the end. Its error is paging.ErrInvalidCursor, or one of the store.
func (b *Book) List(owner uuid.UUID, p paging.Page) (list paging.List[Entry], err error) {
	err = b.cfg.Store.View(func(tx *store.Tx) error {
		q := paging.Query[Entry]{List: "optouts", Prefix: owner[:], Rows: entries(owner)}
		for _, kind := range []byte{byNumber, byLID} {
			n, err := tx.CountSome(bucketEntry, store.Key(owner, kind), paging.MaxExamined)
			if err != nil {
				return err
			}
			q.Total, q.AtLeast = q.Total+n, q.AtLeast || n == paging.MaxExamined
		}
		list, err = q.Page(tx, p)
		return err
	})
	if err != nil {
		return list, fmt.Errorf("list opt-outs: %w", err)
	}
	return list, nil
}

// entries goes through the entries of owner.
func entries(owner uuid.UUID) func(*store.Tx, []byte, bool, func(paging.Row[Entry]) (bool, error)) error {
	return func(tx *store.Tx, at []byte, back bool, fn func(paging.Row[Entry]) (bool, error)) error {
		r := store.Range{Prefix: owner[:], Before: store.Key(owner, alsoLID), Reverse: back}
		switch {
		case at == nil:
		case back:
			r.Before = store.Key(owner, at)
		default:
			r.From = store.Key(owner, at, byte(0))
		}
		return tx.Scan(bucketEntry, r, func(k, raw []byte) (bool, error) {
			e, err := decodeEntry(raw)
			if err != nil {
				return true, tx.Unreadable(bucketEntry, k, err)
			}
			own := k[len(owner):]
			return fn(paging.Row[Entry]{First: own, Last: own, Lines: []paging.Line[Entry]{{At: own, Value: e.shown()}}, Cost: 1})
		})
	}
}

func (e *entry) shown() Entry {
	return Entry{Number: e.Number, Reason: event.OrNull(e.Reason), Source: event.OrNull(e.Source), CreatedAt: event.At(time.UnixMilli(e.At))}
}

// learn has the words of a campaign be looked for.
func (b *Book) learn(batch uuid.UUID, words []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop(batch)
	b.campaigns[batch] = words
	for _, w := range words {
		b.words[w]++
	}
}

// forget undoes learn.
func (b *Book) forget(batches []uuid.UUID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, batch := range batches {
		b.drop(batch)
	}
}

// drop removes a campaign from memory. b.mu is held.
func (b *Book) drop(batch uuid.UUID) {
	for _, w := range b.campaigns[batch] {
		b.words[w]--
	}
	maps.DeleteFunc(b.words, func(_ string, n int) bool { return n == 0 })
	delete(b.campaigns, batch)
}

// known returns the campaigns that are in memory.
func (b *Book) known() []uuid.UUID {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return slices.Collect(maps.Keys(b.campaigns))
}
