package batches

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"postern/batch"
	"postern/httpapi/rest"
)

func (a *API) showBatch(c *rest.Call) error {
	id, err := c.UUID("id", batch.ErrNotFound)
	if err != nil {
		return err
	}
	view, err := a.shown(c).Batch(id)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, view)
}

func (a *API) showItem(c *rest.Call) error {
	id, err := c.UUID("id", batch.ErrNotFound)
	if err != nil {
		return err
	}
	item, err := c.UUID("item", batch.ErrNotFound)
	if err != nil {
		return err
	}
	view, err := a.shown(c).Item(id, item)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, view)
}

// startBatch refuses to start a batch with a key that could not have made it, because another caller of the same user
// may have made it. keyBatch has already checked that the key is for its instances.
func (a *API) startBatch(c *rest.Call) error {
	return control(c, func(_ context.Context, id uuid.UUID) (batch.View, error) {
		if err := a.mayStart(c, id); err != nil {
			return batch.View{}, err
		}
		return a.Engine.StartWithKey(c.KeyContext(), c.User, id, c.ScopedKey())
	})
}

func (a *API) mayStart(c *rest.Call, id uuid.UUID) error {
	if c.Key == nil {
		return nil
	}
	b, err := a.Engine.Batch(c.User, id)
	if err == nil {
		err = a.mayUse(c, &b)
	}
	if err != nil || c.Key.Recipients == nil {
		return err
	}
	for page := (batch.Page{Limit: rest.MaxLimit}); ; {
		items, err := a.Engine.Items(c.User, id, batch.ItemFilter{}, page)
		if err != nil {
			return err
		}
		for _, item := range items.Records {
			if err := mayBatchTo(c, item.RecipientInput); err != nil {
				return err
			}
		}
		if items.NextCursor == nil {
			return nil
		}
		page.Next = *items.NextCursor
	}
}

func (a *API) pauseBatch(c *rest.Call) error { return control(c, owned(c, a.Engine.Pause)) }
func (a *API) stopBatch(c *rest.Call) error  { return control(c, owned(c, a.Engine.StopBatch)) }

func (a *API) pauseAnyBatch(c *rest.Call) error { return control(c, a.Engine.PauseAny) }
func (a *API) stopAnyBatch(c *rest.Call) error  { return control(c, a.Engine.StopAny) }

// owned is act for the batches of the caller.
func owned(c *rest.Call, act func(ctx context.Context, owner, id uuid.UUID) (batch.View, error)) func(context.Context, uuid.UUID) (batch.View, error) {
	return func(ctx context.Context, id uuid.UUID) (batch.View, error) { return act(ctx, c.User, id) }
}

// control answers with the batch after act.
func control(c *rest.Call, act func(ctx context.Context, id uuid.UUID) (batch.View, error)) error {
	if err := c.NoBody(); err != nil {
		return err
	}
	id, err := c.UUID("id", batch.ErrNotFound)
	if err != nil {
		return err
	}
	view, err := act(c.Request.Context(), id)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, view)
}

// deleteBatch answers without a body. A repeated call finds no batch.
func (a *API) deleteBatch(c *rest.Call) error {
	if err := c.NoBody(); err != nil {
		return err
	}
	id, err := c.UUID("id", batch.ErrNotFound)
	if err != nil {
		return err
	}
	if err := a.Engine.Delete(c.Request.Context(), c.User, id); err != nil {
		return err
	}
	c.Response.WriteHeader(http.StatusNoContent)
	return nil
}
