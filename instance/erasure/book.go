package erasure

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"postern/delivery"
	"postern/event"
	"postern/messages"
	"postern/store"
)

const (
	// maxKept is the number of erasures that an instance has, running or done. The oldest that is done goes first.
	maxKept = 1000
	// rest is the pause after a step, so that others commit, and retryAfter that after a failed step.
	rest       = 5 * time.Millisecond
	retryAfter = 10 * time.Second
)

// Errors of the calls.
var (
	ErrNotFound = errors.New("there is no such erasure")
	ErrFull     = fmt.Errorf("%d erasures of the instance are running; ask again when one is done", maxKept)
	ErrOwn      = errors.New("this is the account of the instance itself; delete the instance to remove its data")
)

// Config configures a Book. All fields are required.
type Config struct {
	Store    *store.Store
	Messages *messages.Archive
	Ledger   *delivery.Ledger

	// Account returns the name of an instance and the addresses of its account, or an error if there is no such
	// instance.
	Account func(instance int64) (name string, own []string, err error)
	// Person returns the addresses of a person that the devices know.
	Person func(jid string) []string
	// Forget removes what the linked device keeps of a person: copies of sent messages and
	// secrets from before a time, the names in the address book, and answers to look-ups.
	Forget func(ctx context.Context, instance int64, jids []string, before time.Time) error
	// KeepsFile reports whether the file of a message is kept.
	KeepsFile func(tx *store.Tx, instance, message int64) bool

	Logger *slog.Logger
}

// Book has the erasures of a data file. It is safe for concurrent use.
type Book struct {
	cfg  Config
	log  *slog.Logger
	work chan struct{} // an erasure was accepted
	life context.Context
	end  context.CancelFunc
	done sync.WaitGroup
}

// New returns the erasures of a data file. Start carries them out.
func New(cfg Config) *Book {
	b := &Book{cfg: cfg, log: cfg.Logger.With("component", "erasure"), work: make(chan struct{}, 1)}
	b.life, b.end = context.WithCancel(context.Background())
	return b
}

// Start carries out what was accepted, by an earlier process too.
func (b *Book) Start() { b.done.Go(b.loop) }

// Stop ends after the current step; the next start continues.
func (b *Book) Stop(context.Context) error {
	b.end()
	b.done.Wait()
	return nil
}

// Accept stores the erasure of a person, by phone JID or LID. Errors: ErrOwn, ErrFull, that of Config.Account.
func (b *Book) Accept(ctx context.Context, instance int64, jid string) (id uuid.UUID, err error) {
	_, own, err := b.cfg.Account(instance)
	if err != nil {
		return id, err
	}
	known := b.cfg.Person(jid)
	if id, err = uuid.NewV7(); err != nil {
		return id, err
	}
	err = b.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		r := record{At: event.At(tx.Now()), Names: allNames(tx, instance, jid, known), State: Running}
		for _, name := range r.Names {
			if slices.Contains(own, name) {
				return ErrOwn
			}
		}
		for _, p := range parts {
			newest, err := p.newest(b, tx)
			if err != nil {
				return err
			}
			r.UpTo = append(r.UpTo, newest)
		}
		if err := makeRoom(tx, instance); err != nil {
			return err
		}
		return store.PutJSON(tx, erasures, key(instance, id), r)
	})
	if err != nil {
		return id, fmt.Errorf("erasure of a person of instance %d: %w", instance, err)
	}
	b.wake()
	return id, nil
}

// allNames returns all addresses of a person, each once.
func allNames(tx *store.Tx, instance int64, jid string, known []string) []string {
	all := []string{jid}
	for _, name := range append(known, jid) {
		all = append(append(all, name), messages.Names(tx, instance, name)...)
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(name string) bool { return !event.IsPerson(name) })
}

// makeRoom removes the oldest erasure that is done when there are too many.
func makeRoom(tx *store.Tx, instance int64) error {
	n, err := tx.CountSome(erasures, store.Key(instance), maxKept)
	if err != nil || n < maxKept {
		return err
	}
	var oldest []byte
	err = tx.Scan(erasures, store.Range{Prefix: store.Key(instance)}, func(k, _ []byte) (bool, error) {
		r, found, err := store.GetJSON[record](tx, erasures, k)
		if err == nil && (!found || r.State == Done) || errors.Is(err, store.ErrDamaged) {
			oldest = slices.Clone(k)
			return false, nil
		}
		return true, err
	})
	if err == nil && oldest == nil {
		err = ErrFull
	}
	if err != nil {
		return err
	}
	return tx.Delete(erasures, oldest)
}

// Status returns the state of an erasure and what it has removed. Errors: ErrNotFound.
func (b *Book) Status(instance int64, id uuid.UUID) (s State, n Removed, err error) {
	err = b.cfg.Store.View(func(tx *store.Tx) error {
		r, err := get(tx, instance, id)
		s, n = r.State, r.Removed
		return err
	})
	return s, n, err
}

func (b *Book) wake() {
	select {
	case b.work <- struct{}{}:
	default:
	}
}

// loop carries out erasures in the order of their keys.
func (b *Book) loop() {
	for b.life.Err() == nil {
		pause := time.Duration(0)
		more, err := b.next()
		switch {
		case err != nil && b.life.Err() == nil:
			b.log.Warn("an erasure did not continue; trying again", "error", err)
			pause = retryAfter
		case more:
			pause = rest
		}
		var over <-chan time.Time
		if pause > 0 {
			over = time.After(pause)
		}
		select {
		case <-b.work:
			if pause == rest {
				b.wake() // after the pause
				<-over
			}
		case <-over:
		case <-b.life.Done():
		}
	}
}

// next carries out one step of the first running erasure; more is false if none is running.
func (b *Book) next() (more bool, err error) {
	var j *job
	err = b.cfg.Store.View(func(tx *store.Tx) error {
		return tx.Scan(erasures, store.Range{}, func(k, _ []byte) (bool, error) {
			r, found, err := store.GetJSON[record](tx, erasures, k)
			if found && len(k) == 24 && r.State == Running {
				j = &job{b: b, instance: int64(binary.BigEndian.Uint64(k)), id: uuid.UUID(k[8:]), r: r} //nolint:gosec // an id
			}
			return j == nil, delivery.IgnoreDamage(err)
		})
	})
	if err != nil || j == nil {
		return false, err
	}
	return true, j.step(b.life)
}
