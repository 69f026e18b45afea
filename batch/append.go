package batch

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/google/uuid"

	"postern/batch/mailing"
	"postern/batch/record"
	"postern/batch/table"
	"postern/event"
	"postern/internal/plural"
	"postern/store"
)

// AppendRequest has recipients for a draft.
type AppendRequest struct {
	List *mailing.Recipients

	// InCommit is called with the batch in the commit that appends, see CreateRequest.
	InCommit func(tx *store.Tx, appended View) error
}

// Append appends recipients to a draft, by the rules of a creation with all recipients
// that there are then. They appear atomically, as those of a creation do: until then they
// are in places behind the last item, under the mark of a creation. Errors are those of
// Create, ErrNotFound and *table.TransitionError.
func (e *Engine) Append(ctx context.Context, owner, id uuid.UUID, r AppendRequest) (View, error) {
	if r.List.Len() == 0 {
		return View{}, errNoRecipients
	}
	release, err := e.appends.enter(ctx, id)
	if err != nil {
		return View{}, err
	}
	defer release()
	if r.List.Len() > chunk {
		leave, err := e.creations.enter(ctx, owner, r.List.Size())
		if err != nil {
			return View{}, err
		}
		defer leave()
	}
	if err := e.cfg.Store.Admit(); err != nil {
		return View{}, err
	}
	b, to, duplicates, err := e.prepareAppend(ctx, owner, id, r.List)
	if err != nil {
		return View{}, err
	}
	staged := to.Len() > chunk
	if staged {
		err = e.stage(ctx, id, to)
	}
	var v View
	if err == nil {
		v, err = e.act(ctx, owner, id, table.OnAppend, nil, func(tx *store.Tx, now *full, states []event.State) error {
			s := *now.spec
			s.Received, s.Duplicates = s.Received+r.List.Len(), s.Duplicates+duplicates
			now.spec, now.message = &s, b.message
			now.Edition++
			if !staged {
				items, err := encodeItems(id, to, 0, to.Len())
				if err = errors.Join(err, putItems(tx, items)); err != nil {
					return err
				}
			}
			return errors.Join(
				e.step(tx, now, table.Input{On: table.OnAppend, More: to.Len()}, states, nil),
				store.PutJSON(tx, record.BucketSpec, id[:], s),
				store.PutJSON(tx, record.BucketMessage, id[:], b.message),
				tx.Delete(record.BucketCreating, id[:]),
				inCommit(tx, r.InCommit, now, states),
			)
		})
	}
	if err != nil && staged {
		e.sweepLater(id)
	}
	return v, err
}

// prepareAppend checks the recipients, and returns the batch with the message record that
// it has with them. What an earlier append left behind is removed.
func (e *Engine) prepareAppend(ctx context.Context, owner, id uuid.UUID, given *mailing.Recipients) (b *full, to mailing.Chosen, duplicates int, err error) {
	seen, left := map[uint64]struct{}{}, false
	err = e.cfg.Store.View(func(tx *store.Tx) (err error) {
		if b, err = e.Shown(owner, nil).load(tx, id); err != nil {
			return err
		}
		left = tx.Has(record.BucketCreating, id[:])
		return tx.Scan(record.BucketItem, b.itemRange(), func(key, raw []byte) (bool, error) {
			if _, r, err := b.readItem(key, raw); err == nil {
				seen[e.account(r.Recipient())] = struct{}{}
			}
			return true, nil
		})
	})
	if err == nil && left {
		err = e.sweepLocked(id)
	}
	if err != nil {
		return nil, to, 0, err
	}
	if b.Status != event.BatchDraft {
		return nil, to, 0, &table.TransitionError{Status: b.Status, Trigger: table.OnAppend}
	}
	if to, duplicates, err = e.distinct(given, seen, nil); err != nil {
		return nil, to, 0, err
	}
	if most := e.cfg.MaxRecipients; b.Counts.Total+to.Len() > most {
		return nil, to, 0, invalid(TooManyRecipients, fmt.Sprintf("the batch would have %s, at most %d are allowed", plural.Of(b.Counts.Total+to.Len(), "recipient"), most))
	}
	to.Base = b.Counts.Total
	plain := !b.message.Templated
	m := *b.message
	m.Templated = m.Templated || given.Objects
	if m.Variables, err = given.Rename(m.Variables); err != nil {
		return nil, to, 0, invalid(InvalidRecipient, err.Error())
	}
	b.message = &m
	if plain && m.Templated {
		if err := b.checkPlain(); err != nil {
			return nil, to, 0, err
		}
	}
	return b, to, duplicates, e.checkContent(ctx, b, to)
}

// checkPlain refuses recipients with variables for a batch whose earlier ones have none, but
// need some.
func (b *full) checkPlain() error {
	c, err := mailing.ParseContent(b.message, b.spec.Options.Spin)
	if err != nil {
		return invalid(InvalidMessage, err.Error())
	}
	if name := c.Missing(c.Required(), record.Details{}); name != "" {
		return invalid(MissingVariable, fmt.Sprintf("the recipients that the batch has already have no variable %q; give the text a fallback: {{%s|…}}", name, name))
	}
	for part := range c.Parts {
		if _, err := c.Render(part, b.id, record.Details{}); err != nil {
			return invalid(InvalidMessage, mailing.PartName(part, len(c.Parts) > 1)+", for the recipients that the batch has already: "+err.Error())
		}
	}
	return nil
}

// itemRange selects the items of a batch, without those that an append has not finished.
func (b *full) itemRange() store.Range {
	return store.Range{Prefix: b.id[:], Before: record.ItemKey(b.id, b.Counts.Total)}
}

// appends lets one append at a time, or the removal of what one left behind, write behind the
// items of a batch. The zero value is ready.
type appends struct {
	mu   sync.Mutex
	busy map[uuid.UUID]chan struct{} // closed when the one at work ends
}

// enter waits for the turn, which ends with a call of release. Its error is the cause of
// ctx's end.
func (a *appends) enter(ctx context.Context, id uuid.UUID) (release func(), err error) {
	for {
		a.mu.Lock()
		other := a.busy[id]
		if other == nil {
			break
		}
		a.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	defer a.mu.Unlock()
	if a.busy == nil {
		a.busy = map[uuid.UUID]chan struct{}{}
	}
	done := make(chan struct{})
	a.busy[id] = done
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.busy, id)
		close(done)
	}, nil
}
