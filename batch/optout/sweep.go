package optout

import (
	"bytes"
	"context"
	"time"

	"github.com/google/uuid"

	"postern/internal/prune"
	"postern/store"
)

// sweepRead is how many contacts one read transaction looks at.
const sweepRead = 5000

// Start begins to remove old contacts and campaigns.
func (b *Book) Start() {
	b.work.Go(func() {
		prune.Loop(b.life, b.cfg.Store, Answers, b.sweep, func(err error) {
			b.cfg.Logger.Warn("old contacts of batches with opt-out words not removed; the next look tries again", "error", err)
		})
	})
}

// Stop ends what Start began. The book answers further.
func (b *Book) Stop(context.Context) error {
	b.end()
	b.work.Wait()
	return nil
}

// sweep removes the contacts from before a time, and the campaigns of final batches that
// have none left.
func (b *Book) sweep(before time.Time) (oldest time.Time, err error) {
	over, err := b.over() // first: what is final now makes no more contacts
	if err != nil {
		return oldest, err
	}
	r := store.Range{Limit: sweepRead}
	for more := true; more && b.life.Err() == nil; {
		var old [][]byte
		n := 0
		err := b.cfg.Store.View(func(tx *store.Tx) error {
			old, n = nil, 0
			return tx.Scan(bucketContacted, r, func(k, raw []byte) (bool, error) {
				n++
				r.From = append(bytes.Clone(k), 0)
				at, err := decodeContact(raw)
				if err != nil || len(k) != contactKey {
					return true, tx.Unreadable(bucketContacted, k, errShape)
				}
				if at.Before(before) {
					old = append(old, k)
					return true, nil
				}
				delete(over, uuid.UUID(k[8:]))
				if oldest.IsZero() || at.Before(oldest) {
					oldest = at
				}
				return true, nil
			})
		})
		if err != nil {
			return oldest, err
		}
		if err := b.removeContacts(old, before); err != nil {
			return oldest, err
		}
		more = n == sweepRead
	}
	if b.life.Err() != nil {
		return oldest, b.life.Err()
	}
	return oldest, b.removeCampaigns(over)
}

// over returns the campaigns whose batch is final or deleted.
func (b *Book) over() (map[uuid.UUID]bool, error) {
	over := map[uuid.UUID]bool{}
	err := b.cfg.Store.View(func(tx *store.Tx) error {
		for _, id := range b.known() {
			if !b.cfg.Open(tx, id) {
				over[id] = true
			}
		}
		return nil
	})
	return over, err
}

func (b *Book) removeContacts(old [][]byte, before time.Time) error {
	for len(old) > 0 {
		some := old[:min(len(old), step)]
		err := b.cfg.Store.Update(b.life, func(tx *store.Tx) error {
			for _, k := range some {
				raw, err := tx.Get(bucketContacted, k)
				if at, bad := decodeContact(raw); err == nil && bad == nil && !at.Before(before) {
					continue // it was contacted again
				}
				if err := tx.Delete(bucketContacted, k); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		old = old[len(some):]
	}
	return nil
}

func (b *Book) removeCampaigns(over map[uuid.UUID]bool) error {
	if len(over) == 0 {
		return nil
	}
	var gone []uuid.UUID
	err := b.cfg.Store.Update(b.life, func(tx *store.Tx) error {
		gone = nil
		for id := range over {
			if err := tx.Delete(bucketCampaign, id[:]); err != nil {
				return err
			}
			gone = append(gone, id)
		}
		return nil
	})
	if err == nil {
		b.forget(gone)
	}
	return err
}
