package httpapi

import (
	"context"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"postern/access"
	"postern/batch"
	"postern/event"
)

func (a *api) showBatch(c *call) error {
	id, err := c.uuid("id")
	if err != nil {
		return err
	}
	view, err := a.shown(c).Batch(id)
	if err != nil {
		return err
	}
	return c.w.json(http.StatusOK, view)
}

func (a *api) showItem(c *call) error {
	id, err := c.uuid("id")
	if err != nil {
		return err
	}
	item, err := c.uuid("item")
	if err != nil {
		return err
	}
	view, err := a.shown(c).Item(id, item)
	if err != nil {
		return err
	}
	return c.w.json(http.StatusOK, view)
}

// startBatch starts no batch with a key that could not have made it: somebody else of
// the user may have. For its instances the key is: see keyBatch.
func (a *api) startBatch(c *call) error {
	return c.control(func(_ context.Context, id uuid.UUID) (batch.View, error) {
		if err := a.mayStart(c, id); err != nil {
			return batch.View{}, err
		}
		return a.Engine.StartWithKey(c.whileKey(), c.user, id, c.scopedKey())
	})
}

func (a *api) mayStart(c *call, id uuid.UUID) error {
	if c.key == nil || c.key.Everywhere() && c.key.Recipients == nil && c.key.Has(access.Media) {
		return nil
	}
	b, err := a.Engine.Batch(c.user, id)
	if err != nil {
		return err
	}
	if content, err := event.ParseContent(b.Message.Type, b.Message.Payload); err == nil {
		if err := a.mayUseUpload(c, content.Media); err != nil {
			return fmt.Errorf("message.payload: %w", err)
		}
	}
	if c.key.Recipients == nil {
		return nil
	}
	for page := (batch.Page{Limit: maxLimit}); ; {
		items, err := a.Engine.Items(c.user, id, batch.ItemFilter{}, page)
		if err != nil {
			return err
		}
		for _, item := range items.Records {
			if err := c.mayBatchTo(item.RecipientInput); err != nil {
				return err
			}
		}
		if items.NextCursor == nil {
			return nil
		}
		page.Next = *items.NextCursor
	}
}

func (a *api) pauseBatch(c *call) error { return c.control(c.owned(a.Engine.Pause)) }
func (a *api) stopBatch(c *call) error  { return c.control(c.owned(a.Engine.StopBatch)) }

func (a *api) pauseAnyBatch(c *call) error { return c.control(a.Engine.PauseAny) }
func (a *api) stopAnyBatch(c *call) error  { return c.control(a.Engine.StopAny) }

// owned is act for the batches of the caller.
func (c *call) owned(act func(ctx context.Context, owner, id uuid.UUID) (batch.View, error)) func(context.Context, uuid.UUID) (batch.View, error) {
	return func(ctx context.Context, id uuid.UUID) (batch.View, error) { return act(ctx, c.user, id) }
}

// control answers with the batch as act left it.
func (c *call) control(act func(ctx context.Context, id uuid.UUID) (batch.View, error)) error {
	if err := c.noBody(); err != nil {
		return err
	}
	id, err := c.uuid("id")
	if err != nil {
		return err
	}
	view, err := act(c.r.Context(), id)
	if err != nil {
		return err
	}
	return c.w.json(http.StatusOK, view)
}

// deleteBatch answers without a body. A repetition finds no batch.
func (a *api) deleteBatch(c *call) error {
	if err := c.noBody(); err != nil {
		return err
	}
	id, err := c.uuid("id")
	if err != nil {
		return err
	}
	if err := a.Engine.Delete(c.r.Context(), c.user, id); err != nil {
		return err
	}
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

// uuid returns a path parameter that names a batch or an item. What is not a
// UUID names nothing.
func (c *call) uuid(param string) (uuid.UUID, error) {
	text := c.params.ByName(param)
	id, err := uuid.Parse(text)
	if err != nil || len(text) != len(id.String()) {
		return uuid.UUID{}, batch.ErrNotFound
	}
	return id, nil
}
