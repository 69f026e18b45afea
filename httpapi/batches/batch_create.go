package batches

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"postern/batch"
	"postern/batch/mailing"
	"postern/batch/record"
	"postern/event"
	"postern/httpapi/ref"
	"postern/httpapi/rest"
	"postern/httpapi/strict"
	"postern/instance"
	"postern/messages"
)

// Size limits of the body of a batch creation: for the message and everything else,
// and for each recipient.
const (
	BatchBodyBase      = 2 << 20
	BatchBodyRecipient = 512
)

// MaxInstances bounds the names in a batch, repeated ones included.
const MaxInstances = 100_000

// BatchRequest is the body that creates a batch.
type BatchRequest struct {
	BatchPlan

	Recipients mailing.Recipients `json:"recipients" strict:"required" doc:"Phone numbers with their country codes, or objects with a number and what belongs to it; duplicates are ignored." example:"[\"4915112345678\"]" rules:"minItems=1"`
}

// BatchPlan is what a creation has besides its recipients.
type BatchPlan struct {
	Name               string           `json:"name" strict:"required"`
	Instances          []string         `json:"instances" strict:"required" doc:"The names of the instances that send; the items are shared among them." example:"$name" rules:"minItems=1"`
	Message            BatchMessages    `json:"message" strict:"required" doc:"The message to send, or up to five that each recipient gets in their order."`
	Options            BatchOptions     `json:"options" doc:"The send options."`
	AutoStart          *bool            `json:"autoStart" doc:"Whether it starts by itself; true when absent." example:"true"`
	AutoResume         *bool            `json:"autoResume" doc:"Whether it resumes by itself after a restart of the program; true when absent." example:"true"`
	Schedule           *json.RawMessage `json:"schedule"`
	ExternalAttributes *strict.Object   `json:"externalAttributes"`
	DryRun             bool             `json:"dryRun" doc:"Whether the batch is only checked: nothing is stored or sent." example:"false"`
}

// BatchMessage is what a batch sends: one message, or parts.
type BatchMessage struct {
	Type    string       `json:"type" strict:"required"`
	Payload batchPayload `json:"payload" strict:"required"`
}

// BatchMessages is one message or an array of them.
type BatchMessages struct {
	raw   []byte
	parts []BatchMessage // once they are decoded
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *BatchMessages) UnmarshalJSON(raw []byte) error {
	if len(raw) == 0 || raw[0] != '{' && raw[0] != '[' {
		return errors.New("it must be an object, or an array of objects")
	}
	m.raw = bytes.Clone(raw)
	return nil
}

// several reports whether the messages are an array.
func (m *BatchMessages) several() bool { return m.raw[0] == '[' }

// decode decodes the messages. Its error names the fields within them.
func (m *BatchMessages) decode() error {
	if !m.several() {
		m.parts = make([]BatchMessage, 1)
		return strict.Decode(bytes.NewReader(m.raw), &m.parts[0], strict.Options{})
	}
	var parts struct {
		Message []BatchMessage `json:"message"`
	}
	raw := slices.Concat([]byte(`{"message":`), m.raw, []byte("}"))
	err := strict.Decode(bytes.NewReader(raw), &parts, strict.Options{MaxEntries: batch.MaxParts + 1})
	m.parts = parts.Message
	return err
}

// place is where a part stands in the request.
func (m *BatchMessages) place(i int) string {
	if m.several() {
		return fmt.Sprintf("message[%d]", i)
	}
	return "message"
}

// batchPayload is an object, or an array of contacts as older clients send it. It is stored as an object: of one contact,
// or with contacts in it.
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

// BatchOptions are the options of a batch that is created.
type BatchOptions struct {
	Delay              event.BatchDelay `json:"delay"`
	Presence           string           `json:"presence"`
	SkipUnregistered   bool             `json:"skipUnregistered"`
	WhenRestricted     string           `json:"whenRestricted"`
	OptOutWords        []string         `json:"optOutWords"`
	Spin               bool             `json:"spin" doc:"Whether one of several alternatives in the texts is chosen for each recipient, as in {Hello|Hi}." example:"false"`
	QuotedMessageID    ref.Quoted       `json:"quotedMessageId" doc:"The stored message, of one of the instances, that each message quotes; 0: none." example:"42"`
	ExternalAttributes *strict.Object   `json:"externalAttributes"` // of each message
	Replicable         *bool            `json:"replicable" doc:"Accepted without effect." example:"true"`
}

// batchSchedule is the shape of a schedule. The engine checks its values.
type batchSchedule struct {
	WindowStartAt string `json:"windowStartAt" strict:"required" doc:"The start of the first window, as local time of the zone or RFC 3339." example:"2026-03-01T09:00:00"`
	WindowEndAt   string `json:"windowEndAt" strict:"required" doc:"The end of the first window." example:"2026-03-01T17:00:00"`
	Recurrence    string `json:"recurrence" strict:"required" doc:"Whether the window occurs once or daily." example:"DAILY" rules:"enum=NONE|DAILY"`
	Timezone      string `json:"timezone" doc:"An IANA time zone; that of the program when absent." example:"Europe/Berlin"`
}

// createBatch decodes the body while it reads: the recipients of a large batch are in memory once.
func (a *API) createBatch(c *rest.Call) error {
	var in BatchRequest
	if err := c.DecodeKeeping(&in, a.maxBody(), a.entriesKept()); err != nil {
		return err
	}
	return a.create(c, &in)
}

// maxBody is the longest body of a creation, in bytes.
func (a *API) maxBody() int64 { return int64(BatchBodyBase + BatchBodyRecipient*a.MaxRecipients) }

// create creates the batch of a body that was read.
func (a *API) create(c *rest.Call, in *BatchRequest) error {
	payloads, err := in.checkShapes()
	if err != nil {
		return err
	}
	for i, payload := range payloads {
		if err := a.checkFile(c, payload); err != nil {
			return fmt.Errorf("%s.payload: %w", in.Message.place(i), err)
		}
	}
	if err := a.Store.Admit(); err != nil {
		return err
	}
	refs, err := a.instanceRefs(c, in.Instances)
	if err != nil {
		return err
	}
	if err := mayBatch(c, &in.Recipients); err != nil {
		return err
	}
	create := in.request(refs)
	if err := a.quotedByBatch(c, &create, in.Options.QuotedMessageID, refs); err != nil {
		return err
	}
	if err := a.forwardedByBatch(c, *in, &create, refs); err != nil {
		return err
	}
	if in.DryRun {
		return a.dryRun(c, create)
	}
	create.Key = c.ScopedKey()
	create.InCommit = rest.KeepInCommit[batch.View](c, http.StatusCreated)
	a.Relay.KeepPace(c.Request.Context())
	view, err := a.Engine.Create(c.KeyContext(), c.User, create)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusCreated, view)
}

// checkFile refuses a message with an earlier upload that does not exist, because every item would fail. The upload may
// still expire before its turn.
func (a *API) checkFile(c *rest.Call, payload event.Payload) error {
	if payload == nil {
		return nil
	}
	content, err := payload.Content()
	if err != nil {
		return nil //nolint:nilerr // the engine names it among the values that break a rule
	}
	for _, file := range content.Files() {
		file.Shared = true // as every batch's, see event.ParseContent
	}
	return a.checkMedia(c, content)
}

func (a *API) checkMedia(c *rest.Call, content event.Content) error {
	for _, file := range content.Files() {
		if err := ref.MayUseUpload(c, a.Media, file); err != nil {
			return err
		}
		if err := ref.CheckUpload(c, a.Media, 0, file); err != nil {
			return err
		}
	}
	return nil
}

// entriesKept is the number of entries of a list in a creation that are kept: enough to see that there are too many.
func (a *API) entriesKept() int { return max(a.MaxRecipients, MaxInstances) + 1 }

// checkShapes decodes what is kept as sent, and returns the payloads of the messages, nil for one whose type is unknown.
func (in *BatchPlan) checkShapes() ([]event.Payload, error) {
	if in.Schedule != nil {
		if err := checkSchedule(*in.Schedule); err != nil {
			return nil, err
		}
	}
	if err := in.Message.decode(); err != nil {
		if in.Message.several() {
			return nil, err // it names the message
		}
		return nil, strict.Under(err, "message")
	}
	if len(in.Message.parts) == 0 {
		return nil, rest.Refuse(http.StatusUnprocessableEntity, batch.InvalidMessage, fmt.Sprintf("message must have 1 to %d messages", batch.MaxParts))
	}
	payloads := make([]event.Payload, len(in.Message.parts))
	for i, m := range in.Message.parts {
		payload, err := event.NewPayload(m.Type, m.Payload)
		if err != nil {
			continue // the engine names it among the values that break a rule
		}
		err = strict.Decode(bytes.NewReader(m.Payload), payload, strict.Options{})
		if media, ok := payload.(*event.MediaContent); ok && err == nil {
			err = rest.NeedKind(media)
		}
		if err != nil {
			return nil, strict.Under(strict.Under(err, "payload"), in.Message.place(i))
		}
		payloads[i] = payload
	}
	return payloads, nil
}

// quotedByBatch sets the message that each message of the batch quotes. Any of its instances may have the quoted message,
// and all of them send; so its author is set explicitly, and does not default to the sending account.
func (a *API) quotedByBatch(c *rest.Call, create *batch.CreateRequest, named ref.Quoted, refs []record.InstanceRef) error {
	if !named.Given() {
		return nil
	}
	if err := c.MayShow("options.quotedMessageId"); err != nil { // before the answer says whether it is there
		return err
	}
	m, of, err := a.ofInstances(named.Message, refs)
	if errors.Is(err, messages.ErrNoMessage) {
		return rest.Refuse(http.StatusUnprocessableEntity, ref.CodeNoQuoted, "options.quotedMessageId names no stored message of the batch's instances")
	}
	if err != nil {
		return err
	}
	o := ref.Original(m)
	if rec, err := a.Registry.ByID(of); err == nil && o.Key.FromMe && rec.OwnerJID != "" {
		o.Key.FromMe, o.Key.Participant = false, rec.OwnerJID
	}
	create.Quoted, create.Options.QuotedMessageID = o, m.ID
	return nil
}

// ofInstances returns the stored message that is named, of the first of some instances that has it. Its error is
// messages.ErrNoMessage if none has.
func (a *API) ofInstances(named ref.Message, refs []record.InstanceRef) (m event.Message, instance int64, err error) {
	for _, r := range refs {
		if m, err = ref.Find(a.Messages, r.ID, named); !errors.Is(err, messages.ErrNoMessage) {
			return m, r.ID, err
		}
	}
	return m, 0, messages.ErrNoMessage
}

// forwardedByBatch sets the messages that the batch forwards.
func (a *API) forwardedByBatch(c *rest.Call, in BatchRequest, create *batch.CreateRequest, refs []record.InstanceRef) error {
	for i, part := range in.Message.parts {
		if part.Type != event.TypeForward {
			continue
		}
		var payload struct {
			MessageID ref.Message `json:"messageId"`
		}
		place := in.Message.place(i) + ".payload.messageId"
		if err := c.MayShow(place); err != nil { // before the answer says whether it is there
			return err
		}
		if err := json.Unmarshal(part.Payload, &payload); err != nil {
			return rest.Refuse(http.StatusBadRequest, strict.CodeInvalidType, place+" "+err.Error())
		}
		m, _, err := a.ofInstances(payload.MessageID, refs)
		if errors.Is(err, messages.ErrNoMessage) {
			return rest.Refuse(http.StatusUnprocessableEntity, batch.InvalidMessage, place+" names no stored message of the batch's instances")
		}
		if err != nil {
			return err
		}
		if i == 0 {
			create.Original = ref.Original(m)
		} else {
			create.More[i-1].Original = ref.Original(m)
		}
	}
	return nil
}

func (in *BatchRequest) request(refs []record.InstanceRef) batch.CreateRequest {
	r := batch.CreateRequest{
		Name:      in.Name,
		Instances: refs,
		List:      &in.Recipients,
		Options: event.BatchOptions{
			Delay:            in.Options.Delay,
			Presence:         in.Options.Presence,
			SkipUnregistered: in.Options.SkipUnregistered,
			WhenRestricted:   event.WhenRestricted(in.Options.WhenRestricted),
			OptOutWords:      in.Options.OptOutWords,
			Spin:             in.Options.Spin,
		},
		AutoStart:  in.AutoStart,
		AutoResume: in.AutoResume,
	}
	for i, m := range in.Message.parts {
		part := record.Part{BatchMessage: event.BatchMessage{Type: m.Type, Payload: json.RawMessage(m.Payload)}}
		if i == 0 {
			r.Message = part.BatchMessage
		} else {
			r.More = append(r.More, part)
		}
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

// instanceRefs resolves the names; the refusal names each unknown one.
func (a *API) instanceRefs(c *rest.Call, names []string) ([]record.InstanceRef, error) {
	if len(names) > MaxInstances {
		return nil, rest.Refuse(http.StatusUnprocessableEntity, batch.InvalidInstances, fmt.Sprintf("instances has more than %d entries", MaxInstances))
	}
	var refs []record.InstanceRef
	var unknown []string
	for i, name := range names {
		rec, err := a.Registry.ByName(name)
		known := err == nil
		switch {
		case c.Key != nil && !c.Key.Everywhere() && (known && !c.Key.Opens(rec.ID) || errors.Is(err, instance.ErrNotFound)):
			return nil, errBatchElsewhere(i)
		case known:
			refs = append(refs, record.InstanceRef{ID: rec.ID, Name: rec.Name})
		case errors.Is(err, instance.ErrNotFound):
			if len(unknown) < rest.MaxMessages {
				unknown = append(unknown, fmt.Sprintf("instances[%d] is not a known instance", i))
			}
		default:
			return nil, err
		}
	}
	if len(unknown) > 0 {
		return nil, rest.Refuse(http.StatusUnprocessableEntity, batch.InvalidInstances, unknown...)
	}
	return refs, nil
}
