package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"postern/batch"
	"postern/event"
	"postern/instance"
)

// Room in the body of a batch creation: for the message and everything else,
// and for each recipient.
const (
	batchBodyBase      = 2 << 20
	batchBodyRecipient = 128
)

// maxInstances bounds the names in a batch, repeated ones included.
const maxInstances = 100_000

// batchRequest is the body that creates a batch.
type batchRequest struct {
	Name               string           `json:"name" strict:"required"`
	Instances          []string         `json:"instances" strict:"required"`
	Recipients         []string         `json:"recipients" strict:"required"`
	Message            batchMessage     `json:"message" strict:"required"`
	Options            batchOptions     `json:"options"`
	AutoStart          *bool            `json:"autoStart"`
	AutoResume         *bool            `json:"autoResume"`
	Schedule           *json.RawMessage `json:"schedule"`
	ExternalAttributes *jsonObject      `json:"externalAttributes"`
}

type batchMessage struct {
	Type    string     `json:"type" strict:"required"`
	Payload jsonObject `json:"payload" strict:"required"`
}

type batchOptions struct {
	Delay            event.BatchDelay `json:"delay"`
	Presence         string           `json:"presence"`
	SkipUnregistered bool             `json:"skipUnregistered"`
}

// batchSchedule is the shape of a schedule. The engine reads its values.
type batchSchedule struct {
	WindowStartAt string `json:"windowStartAt" strict:"required"`
	WindowEndAt   string `json:"windowEndAt" strict:"required"`
	Recurrence    string `json:"recurrence" strict:"required"`
	Timezone      string `json:"timezone"`
}

// createBatch decodes as it reads: the recipients of a large batch are in
// memory once.
func (a *api) createBatch(c *call) error {
	var in batchRequest
	limit := int64(batchBodyBase + batchBodyRecipient*a.MaxRecipients)
	if err := c.decodeKeeping(&in, limit, a.entriesKept()); err != nil {
		return err
	}
	if err := in.checkShapes(); err != nil {
		return err
	}
	if err := a.checkFile(c.r.Context(), in.Message); err != nil {
		return err
	}
	if err := a.Store.Admit(); err != nil {
		return err
	}
	refs, err := a.instanceRefs(in.Instances)
	if err != nil {
		return err
	}
	create := in.request(refs)
	create.InCommit = keepInCommit[batch.View](c, http.StatusCreated)
	view, err := a.Engine.Create(c.r.Context(), c.user, create)
	if err != nil {
		return err
	}
	return c.w.json(http.StatusCreated, view)
}

// checkFile refuses a message whose file was uploaded before, when there is no
// such upload: every item would fail. It may still expire before its turn.
func (a *api) checkFile(ctx context.Context, m batchMessage) error {
	content, err := event.ParseContent(m.Type, m.Payload)
	if err != nil {
		return nil //nolint:nilerr // the engine names it among the values that break a rule
	}
	if err := a.checkUpload(ctx, 0, content.Media); err != nil {
		return fmt.Errorf("message.payload: %w", err)
	}
	return nil
}

// entriesKept is how many entries of a list in a creation are kept: enough to
// see that they are too many.
func (a *api) entriesKept() int { return max(a.MaxRecipients, maxInstances) + 1 }

// checkShapes decodes the parts that are kept as they were given.
func (in *batchRequest) checkShapes() error {
	if in.Schedule != nil {
		if err := decodeStrict(bytes.NewReader(*in.Schedule), &batchSchedule{}); err != nil {
			return under(err, "schedule")
		}
	}
	payload, err := event.NewPayload(in.Message.Type)
	if err != nil {
		return nil //nolint:nilerr // the engine names it among the values that break a rule
	}
	if err := decodeStrict(bytes.NewReader(in.Message.Payload), payload); err != nil {
		return under(under(err, "payload"), "message")
	}
	return nil
}

func (in *batchRequest) request(refs []batch.InstanceRef) batch.CreateRequest {
	r := batch.CreateRequest{
		Name:       in.Name,
		Instances:  refs,
		Recipients: in.Recipients,
		Message:    event.BatchMessage{Type: in.Message.Type, Payload: json.RawMessage(in.Message.Payload)},
		Options: event.BatchOptions{
			Delay:            in.Options.Delay,
			Presence:         in.Options.Presence,
			SkipUnregistered: in.Options.SkipUnregistered,
		},
		AutoStart:  in.AutoStart,
		AutoResume: in.AutoResume,
	}
	if in.Schedule != nil {
		r.Schedule = *in.Schedule
	}
	if in.ExternalAttributes != nil {
		r.ExternalAttributes = json.RawMessage(*in.ExternalAttributes)
	}
	return r
}

// instanceRefs resolves the names; each unknown one is named in the refusal.
func (a *api) instanceRefs(names []string) ([]batch.InstanceRef, error) {
	if len(names) > maxInstances {
		return nil, refuse(http.StatusUnprocessableEntity, batch.InvalidInstances, fmt.Sprintf("instances has more than the %d entries that are allowed", maxInstances))
	}
	var refs []batch.InstanceRef
	var unknown []string
	for i, name := range names {
		rec, err := a.Registry.ByName(name)
		switch {
		case err == nil:
			refs = append(refs, batch.InstanceRef{ID: rec.ID, Name: rec.Name})
		case errors.Is(err, instance.ErrNotFound):
			if len(unknown) < maxMessages {
				unknown = append(unknown, fmt.Sprintf("instances[%d] is not a known instance", i))
			}
		default:
			return nil, err
		}
	}
	if len(unknown) > 0 {
		return nil, refuse(http.StatusUnprocessableEntity, batch.InvalidInstances, unknown...)
	}
	return refs, nil
}

// maxMessages bounds the list of what is wrong with one request.
const maxMessages = 100

func (a *api) showBatch(c *call) error {
	id, err := c.uuid("id")
	if err != nil {
		return err
	}
	view, err := a.Engine.Batch(c.user, id)
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
	view, err := a.Engine.Item(c.user, id, item)
	if err != nil {
		return err
	}
	return c.w.json(http.StatusOK, view)
}

func (a *api) startBatch(c *call) error { return c.control(c.owned(a.Engine.StartBatch)) }
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
