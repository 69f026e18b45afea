package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"postern/batch"
	"postern/event"
	"postern/httpapi/strict"
	"postern/instance"
	"postern/messages"
)

// Size limits of the body of a batch creation: for the message and everything else,
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
	Recipients         batch.Packed     `json:"recipients" strict:"required"`
	Message            batchMessage     `json:"message" strict:"required"`
	Options            batchOptions     `json:"options"`
	AutoStart          *bool            `json:"autoStart"`
	AutoResume         *bool            `json:"autoResume"`
	Schedule           *json.RawMessage `json:"schedule"`
	ExternalAttributes *strict.Object   `json:"externalAttributes"`
}

type batchMessage struct {
	Type    string       `json:"type" strict:"required"`
	Payload batchPayload `json:"payload" strict:"required"`
}

// batchPayload is an object, or an array of contacts as older clients send them.
// It is kept as an object: of one contact, or with contacts in it.
type batchPayload []byte

// UnmarshalJSON implements json.Unmarshaler.
func (p *batchPayload) UnmarshalJSON(raw []byte) error {
	switch {
	case len(raw) > 0 && raw[0] == '{':
		*p = bytes.Clone(raw)
		return nil
	case len(raw) == 0 || raw[0] != '[':
		return errors.New("it must be an object, or an array of contacts")
	}
	var all []json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return err
	}
	if len(all) == 1 && len(all[0]) > 0 && all[0][0] == '{' {
		*p = bytes.Clone(all[0])
		return nil
	}
	*p = slices.Concat([]byte(`{"contacts":`), raw, []byte("}"))
	return nil
}

type batchOptions struct {
	Delay              event.BatchDelay `json:"delay"`
	Presence           string           `json:"presence"`
	SkipUnregistered   bool             `json:"skipUnregistered"`
	WhenRestricted     string           `json:"whenRestricted"`
	QuotedMessageID    quotedRef        `json:"quotedMessageId"`
	ExternalAttributes *strict.Object   `json:"externalAttributes"` // of each message
	Replicable         *bool            `json:"replicable"`         // of no effect
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
	payload, err := in.checkShapes()
	if err != nil {
		return err
	}
	if err := a.checkFile(c, payload); err != nil {
		return err
	}
	if err := a.Store.Admit(); err != nil {
		return err
	}
	refs, err := a.instanceRefs(c, in.Instances)
	if err != nil {
		return err
	}
	if err := c.mayBatch(&in.Recipients); err != nil {
		return err
	}
	create := in.request(refs)
	if err := a.quotedByBatch(c, &create, in.Options.QuotedMessageID, refs); err != nil {
		return err
	}
	create.Key = c.scopedKey()
	create.InCommit = keepInCommit[batch.View](c, http.StatusCreated)
	a.Relay.KeepPace(c.r.Context())
	view, err := a.Engine.Create(c.whileKey(), c.user, create)
	if err != nil {
		return err
	}
	return c.w.json(http.StatusCreated, view)
}

// checkFile refuses a message whose file was uploaded before, when there is no
// such upload: every item would fail. It may still expire before its turn.
func (a *api) checkFile(c *call, payload event.Payload) error {
	if payload == nil {
		return nil
	}
	content, err := payload.Content()
	if err != nil {
		return nil //nolint:nilerr // the engine names it among the values that break a rule
	}
	if content.Media == nil {
		return nil
	}
	content.Media.Shared = true // as every batch's, see event.ParseContent
	err = a.mayUseUpload(c, content.Media)
	if err == nil {
		err = a.checkUpload(c, 0, content.Media)
	}
	if err != nil {
		return fmt.Errorf("message.payload: %w", err)
	}
	return nil
}

// entriesKept is how many entries of a list in a creation are kept: enough to
// see that they are too many.
func (a *api) entriesKept() int { return max(a.MaxRecipients, maxInstances) + 1 }

// checkShapes decodes the parts that are kept as given, and returns the
// message's payload; nil when its type is unknown.
func (in *batchRequest) checkShapes() (event.Payload, error) {
	if in.Schedule != nil {
		if err := strict.Decode(bytes.NewReader(*in.Schedule), &batchSchedule{}, strict.Options{}); err != nil {
			return nil, strict.Under(err, "schedule")
		}
	}
	payload, err := event.NewPayload(in.Message.Type, in.Message.Payload)
	if err != nil {
		return payload, nil //nolint:nilerr // the engine names it among the values that break a rule
	}
	err = strict.Decode(bytes.NewReader(in.Message.Payload), payload, strict.Options{})
	if m, ok := payload.(*event.MediaContent); ok && err == nil {
		err = needKind(m)
	}
	return payload, strict.Under(strict.Under(err, "payload"), "message")
}

// quotedByBatch sets the message that each message of the batch quotes. Any of its
// instances may have it, and all of them send: so its author is set explicitly, which
// otherwise would be the sending account.
func (a *api) quotedByBatch(c *call, create *batch.CreateRequest, ref quotedRef, refs []batch.InstanceRef) error {
	if !ref.given() {
		return nil
	}
	for _, r := range refs {
		m, err := a.message(r.ID, ref.messageRef)
		if errors.Is(err, messages.ErrNoMessage) {
			continue
		}
		if err != nil {
			return err
		}
		o := originalOf(m)
		if rec, err := a.Registry.ByID(r.ID); err == nil && o.Key.FromMe && rec.OwnerJID != "" {
			o.Key.FromMe, o.Key.Participant = false, rec.OwnerJID
		}
		create.Quoted, create.Options.QuotedMessageID = o, m.ID
		return c.mayShow("options.quotedMessageId")
	}
	return refuse(http.StatusUnprocessableEntity, codeNoQuoted, "options.quotedMessageId names no stored message of the batch's instances")
}

func (in *batchRequest) request(refs []batch.InstanceRef) batch.CreateRequest {
	r := batch.CreateRequest{
		Name:      in.Name,
		Instances: refs,
		Packed:    in.Recipients,
		Message:   event.BatchMessage{Type: in.Message.Type, Payload: json.RawMessage(in.Message.Payload)},
		Options: event.BatchOptions{
			Delay:            in.Options.Delay,
			Presence:         in.Options.Presence,
			SkipUnregistered: in.Options.SkipUnregistered,
			WhenRestricted:   event.WhenRestricted(in.Options.WhenRestricted),
		},
		AutoStart:  in.AutoStart,
		AutoResume: in.AutoResume,
	}
	if in.Options.ExternalAttributes != nil {
		r.Options.ExternalAttributes = event.Attributes(*in.Options.ExternalAttributes)
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
func (a *api) instanceRefs(c *call, names []string) ([]batch.InstanceRef, error) {
	if len(names) > maxInstances {
		return nil, refuse(http.StatusUnprocessableEntity, batch.InvalidInstances, fmt.Sprintf("instances has more than %d entries", maxInstances))
	}
	var refs []batch.InstanceRef
	var unknown []string
	for i, name := range names {
		rec, err := a.Registry.ByName(name)
		known := err == nil
		switch {
		case c.key != nil && !c.key.Everywhere() && (known && !c.key.Opens(rec.ID) || errors.Is(err, instance.ErrNotFound)):
			return nil, errBatchElsewhere(i)
		case known:
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
