package erasure

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"postern/delivery"
	"postern/delivery/outbox"
	"postern/delivery/stream"
	"postern/messages"
	"postern/store"
)

const (
	look = 2000 // records that one search looks at
	some = 100  // records that one commit changes
)

// part is a kind of records with ascending ids.
type part struct {
	// newest returns the id given last.
	newest func(b *Book, tx *store.Tx) (uint64, error)
	// find searches from an id on, up to another.
	find func(j *job, tx *store.Tx, from, upTo uint64) (delivery.Found, error)
	// erase removes some of what find found, the first ones; done is how many of the ids need no further step.
	erase func(j *job, tx *store.Tx, ids []uint64) (done int, err error)
}

var parts = []part{
	{
		newest: func(_ *Book, tx *store.Tx) (uint64, error) { return messages.Newest(tx) },
		find: func(j *job, tx *store.Tx, from, upTo uint64) (found delivery.Found, err error) {
			found.IDs, found.Next, err = messages.OfPerson(tx, j.instance, j.r.Names, from, upTo, look, some)
			return found, err
		},
		erase: (*job).messages,
	},
	{newest: once, find: findOnce, erase: (*job).person},
	{
		newest: func(_ *Book, tx *store.Tx) (uint64, error) { return delivery.NewestEvent(tx) },
		find: func(j *job, tx *store.Tx, from, upTo uint64) (delivery.Found, error) {
			return j.eraser().Events(tx, from, upTo, look, some)
		},
		erase: func(j *job, tx *store.Tx, ids []uint64) (int, error) { return j.each(tx, ids, j.eraser().Event) },
	},
	{
		newest: func(b *Book, _ *store.Tx) (uint64, error) { return b.cfg.Ledger.NextID(), nil },
		find: func(j *job, tx *store.Tx, from, upTo uint64) (delivery.Found, error) {
			return j.eraser().Records(tx, from, upTo, look)
		},
		erase: func(j *job, tx *store.Tx, ids []uint64) (int, error) { return j.each(tx, ids, j.eraser().Record) },
	},
	{
		newest: func(_ *Book, tx *store.Tx) (uint64, error) { return outbox.Newest(tx) },
		find: func(j *job, tx *store.Tx, from, upTo uint64) (delivery.Found, error) {
			return j.eraser().Entries(tx, from, upTo, look, some)
		},
		erase: func(j *job, tx *store.Tx, ids []uint64) (int, error) { return j.each(tx, ids, j.eraser().Entry) },
	},
	{
		newest: func(_ *Book, tx *store.Tx) (uint64, error) { return stream.Newest(tx) },
		find:   (*job).findStreamed,
		erase: func(j *job, tx *store.Tx, ids []uint64) (int, error) {
			return len(ids), stream.Clear(tx, ids)
		},
	},
}

// job is an erasure that runs.
type job struct {
	b        *Book
	instance int64
	id       uuid.UUID
	r        record

	name  string // of the instance
	ended []delivery.Ended
}

func (j *job) eraser() *delivery.Eraser {
	return &delivery.Eraser{Ledger: j.b.cfg.Ledger, Instance: j.instance, Name: j.name, Names: func(text []byte) bool { return names(text, j.r.Names) }}
}

// step searches once and removes what it finds. A search that finds nothing continues without a commit up to the end
// of the part.
func (j *job) step(ctx context.Context) (err error) {
	if j.name, _, err = j.b.cfg.Account(j.instance); err != nil {
		return j.abandon(ctx)
	}
	if j.r.Part >= len(parts) || len(j.r.UpTo) != len(parts) {
		return j.finish(ctx)
	}
	p, found := parts[j.r.Part], delivery.Found{Next: j.r.From}
	for first := true; (first || found.Next != 0) && len(found.IDs) == 0; first = false {
		err := j.b.cfg.Store.View(func(tx *store.Tx) (err error) {
			found, err = p.find(j, tx, found.Next, j.r.UpTo[j.r.Part])
			return err
		})
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
	}
	if j.r.Part == partPerson {
		if err := j.b.cfg.Forget(ctx, j.instance, j.r.Names, j.r.At.Time); err != nil {
			return err
		}
	}
	return j.commit(ctx, p, found)
}

// partPerson is the index of the part that is no list of records.
const partPerson = 1

// commit removes what was found, and stores how far the erasure is.
func (j *job) commit(ctx context.Context, p part, found delivery.Found) error {
	before := j.r
	err := j.b.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		j.r, j.ended = before, nil
		if _, err := get(tx, j.instance, j.id); err != nil {
			return err
		}
		done, err := len(found.IDs), error(nil)
		if done > 0 {
			done, err = p.erase(j, tx, found.IDs)
		}
		if err != nil {
			return err
		}
		switch {
		case done < len(found.IDs):
			j.r.From = found.IDs[done]
		case found.Next != 0:
			j.r.From = found.Next
		default:
			j.r.Part, j.r.From = j.r.Part+1, 0
		}
		return store.PutJSON(tx, erasures, key(j.instance, j.id), j.r)
	})
	if errors.Is(err, ErrNotFound) {
		return nil // its instance was deleted
	}
	if err == nil {
		j.b.cfg.Ledger.Freed(j.ended)
	}
	return err
}

// finish notes that the erasure is done, and forgets whose it was.
func (j *job) finish(ctx context.Context) error {
	err := j.b.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		r, err := get(tx, j.instance, j.id)
		if err != nil {
			return err
		}
		r.State, r.Names, r.UpTo, r.Part, r.From = Done, nil, nil, 0, 0
		return store.PutJSON(tx, erasures, key(j.instance, j.id), r)
	})
	if err == nil {
		j.b.log.Info("the data of a person was erased", "instance_id", j.instance, "erasure_id", j.id, "messages", j.r.Messages, "files", j.r.Files, "contacts", j.r.Contacts, "deliveries", j.r.Deliveries)
	}
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// abandon removes an erasure of an instance that is not there.
func (j *job) abandon(ctx context.Context) error {
	return j.b.cfg.Store.Update(ctx, func(tx *store.Tx) error { return tx.Delete(erasures, key(j.instance, j.id)) })
}

// messages removes messages with their files.
func (j *job) messages(tx *store.Tx, found []uint64) (done int, err error) {
	ids, files := make([]int64, len(found)), make([]bool, len(found))
	for i, id := range found {
		ids[i] = int64(id) //nolint:gosec // an id
		files[i] = j.b.cfg.KeepsFile(tx, j.instance, ids[i])
	}
	done, err = j.b.cfg.Messages.RemoveSome(tx, j.instance, ids)
	for _, kept := range files[:done] {
		if kept {
			j.r.Files++
		}
	}
	j.r.Messages += done
	return done, err
}

// once is newest of the part that is done in one step, and findOnce its search.
func once(*Book, *store.Tx) (uint64, error) { return 1, nil }

func findOnce(*job, *store.Tx, uint64, uint64) (delivery.Found, error) {
	return delivery.Found{IDs: []uint64{1}}, nil
}

// person removes what is kept of the person beside messages.
func (j *job) person(tx *store.Tx, _ []uint64) (done int, err error) {
	n, err := messages.ForgetPerson(tx, j.instance, j.r.Names)
	j.r.Contacts += n
	return 1, err
}

// each erases records one by one.
func (j *job) each(tx *store.Tx, ids []uint64, erase func(*store.Tx, uint64) (int, []delivery.Ended, error)) (done int, err error) {
	for _, id := range ids {
		n, ended, err := erase(tx, id)
		if err != nil {
			return done, err
		}
		done++
		j.r.Deliveries += n
		j.ended = append(j.ended, ended...)
	}
	return done, nil
}

// findStreamed searches the stream of all events.
func (j *job) findStreamed(tx *store.Tx, from, upTo uint64) (found delivery.Found, err error) {
	looked := 0
	err = stream.Bodies(tx, from, upTo, func(number uint64, instance int64, body []byte) bool {
		if looked == look || len(found.IDs) == some {
			found.Next = number
			return false
		}
		looked++
		if instance == j.instance && len(body) > 0 && names(body, j.r.Names) {
			found.IDs = append(found.IDs, number)
		}
		return true
	})
	return found, err
}
