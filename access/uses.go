package access

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"postern/store"
)

// behind is the longest delay before the last use of a key is stored.
const behind = time.Minute

// Start begins storing the uses of keys in the background.
func (all *Keys) Start() {
	all.work.Go(func() {
		t := time.NewTicker(behind)
		defer t.Stop()
		for {
			select {
			case <-t.C:
			case <-all.life.Done():
				return
			}
			if err := all.noteUses(all.life); err != nil && all.life.Err() == nil {
				all.log.Warn("the last use of keys was not stored; retrying in a minute", "error", err)
			}
		}
	})
}

// Stop stores the remaining uses.
func (all *Keys) Stop(ctx context.Context) error {
	all.cancel()
	all.work.Wait()
	return all.noteUses(ctx)
}

// noteUses stores the uses since the last commit, if any, in one commit.
func (all *Keys) noteUses(ctx context.Context) error {
	uses := map[uuid.UUID]use{}
	all.mu.RLock()
	for id, h := range all.byID {
		h.mu.Lock()
		if h.dirty {
			uses[id], h.dirty = h.use, false
		}
		h.mu.Unlock()
	}
	all.mu.RUnlock()
	if len(uses) == 0 {
		return nil
	}
	err := all.store.Update(ctx, func(tx *store.Tx) error {
		for id, u := range uses {
			if !tx.Has(bucketKeys, id[:]) {
				continue // deleted meanwhile
			}
			if err := store.PutJSON(tx, bucketUses, id[:], u); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		return nil
	}
	for id := range uses {
		if h := all.find(id); h != nil {
			h.mu.Lock()
			h.dirty = true
			h.mu.Unlock()
		}
	}
	return fmt.Errorf("access: %w", err)
}
