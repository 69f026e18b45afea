package batches

import (
	"errors"
	"fmt"
	"net/http"

	"postern/batch"
	"postern/batch/mailing"
	"postern/batch/record"
	"postern/event"
	"postern/httpapi/rest"
	"postern/instance"
	"postern/store"
)

// BatchRetry is the body that selects the items of a batch for another one.
type BatchRetry struct {
	Status         []record.ItemStatus `json:"status" doc:"The statuses of the items: FAILED, SKIPPED, PENDING, UNKNOWN; FAILED when absent." example:"FAILED"`
	Codes          []string            `json:"codes" doc:"Only items with one of these error codes." example:"SEND_MESSAGE_FAILED"`
	IncludeUnknown bool                `json:"includeUnknown" doc:"Whether status may have UNKNOWN: the message may reach these recipients twice." example:"false"`
	Name           *string             `json:"name"`
}

// RetriedBatch is the answer to a retry.
type RetriedBatch struct {
	batch.View

	Warnings []string `json:"warnings,omitempty" doc:"What may go wrong although the batch was created." example:"status has UNKNOWN: some recipients may get the message twice"`
}

const warnTwice = "status has UNKNOWN: recipients who got the message although its result is unknown get it twice"

func (a *API) retryBatch(c *rest.Call) error {
	var in BatchRetry
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	if in.Name != nil {
		if err := batch.CheckName(*in.Name); err != nil {
			return err
		}
	}
	id, err := c.UUID("id", batch.ErrNotFound)
	if err != nil {
		return err
	}
	b, err := a.Engine.Batch(c.User, id)
	if err == nil {
		err = a.mayUse(c, &b)
	}
	if err != nil {
		return err
	}
	for _, m := range b.Message {
		content, err := event.ParseContent(m.Type, m.Payload)
		if err != nil {
			continue
		}
		if err := a.checkMedia(c, content); err != nil {
			return fmt.Errorf("message.payload: %w", err)
		}
	}
	if err := a.Store.Admit(); err != nil {
		return err
	}
	answer := func(v batch.View) RetriedBatch {
		out := RetriedBatch{View: v}
		for _, s := range in.Status {
			if s == record.ItemUnknown {
				out.Warnings = []string{warnTwice}
			}
		}
		return out
	}
	retry := batch.RetryRequest{
		Status: in.Status, Codes: in.Codes, MayUnknown: in.IncludeUnknown, Name: b.Name, Key: c.ScopedKey(),
		Check: func(to *mailing.Recipients) error { return mayBatch(c, to) },
	}
	if in.Name != nil {
		retry.Name = *in.Name
	}
	for _, i := range b.Instances {
		switch _, err := a.Registry.ByID(i.ID); {
		case err == nil:
			retry.Instances = append(retry.Instances, record.InstanceRef{ID: i.ID, Name: i.Name})
		case !errors.Is(err, instance.ErrNotFound):
			return err
		}
	}
	if len(retry.Instances) == 0 {
		return rest.Refuse(http.StatusUnprocessableEntity, batch.InvalidInstances, "instances: none of those of the batch exists any more")
	}
	if keep := rest.KeepInCommit[RetriedBatch](c, http.StatusCreated); keep != nil {
		retry.InCommit = func(tx *store.Tx, v batch.View) error { return keep(tx, answer(v)) }
	}
	a.Relay.KeepPace(c.Request.Context())
	view, err := a.Engine.Retry(c.KeyContext(), c.User, id, retry)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusCreated, answer(view))
}
