package batches

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"postern/access"
	"postern/batch"
	"postern/batch/mailing"
	"postern/event"
	"postern/httpapi/ref"
	"postern/httpapi/rest"
)

// mayBatch refuses a batch to people who are not recipients of the key of c. The engine reports invalid recipients.
func mayBatch(c *rest.Call, recipients *mailing.Recipients) error {
	if c.Key == nil || c.Key.Recipients == nil {
		return nil
	}
	for i := range recipients.Len() {
		if err := mayBatchTo(c, recipients.At(i)); err != nil {
			return err
		}
	}
	return nil
}

// mayBatchTo is mayBatch for one recipient.
func mayBatchTo(c *rest.Call, recipient string) error {
	who, err := event.ParseRecipient(recipient)
	if err != nil {
		return nil //nolint:nilerr // the engine's to name
	}
	return c.MayWriteTo(who.JID())
}

// mayUse refuses the messages of a batch for a key that could not have made it: the uploads and the stored messages
// that it sends may be closed to the key.
func (a *API) mayUse(c *rest.Call, b *batch.View) error {
	if b.Options.QuotedMessageID != 0 {
		if err := c.MayShow("options.quotedMessageId"); err != nil {
			return err
		}
	}
	for _, m := range b.Message {
		if m.Type == event.TypeForward {
			if err := c.MayShow("message.payload.messageId"); err != nil {
				return err
			}
		}
		content, err := event.ParseContent(m.Type, m.Payload)
		if err != nil {
			continue
		}
		for _, file := range content.Files() {
			if err := ref.MayUseUpload(c, a.Media, file); err != nil {
				return fmt.Errorf("message.payload: %w", err)
			}
		}
	}
	return nil
}

// shown returns the view of the user's batches that the key of c may see.
func (a *API) shown(c *rest.Call) batch.Shown { return a.Engine.Shown(c.User, c.Opens()) }

// KeyBatch answers not found for the batch in the path, if there is one, if none of its instances is one of the key's.
// Changing a batch needs a key for all of its instances.
func (a *API) KeyBatch(c *rest.Call) error {
	if c.Key.Everywhere() || c.Params.ByName("id") == "" {
		return nil
	}
	id, err := c.UUID("id", batch.ErrNotFound)
	if err != nil {
		return err
	}
	some, all, err := a.Engine.Opens(c.Key.User, id, c.Key.Opens)
	switch {
	case err != nil:
		return err
	case !some:
		return batch.ErrNotFound
	case !all && c.Request.Method != http.MethodGet && c.Request.Method != http.MethodHead:
		return rest.MissingScope("the key needs the scope batch for all instances of the batch; with some of them it may only read it")
	}
	return nil
}

// MaySee reports whether a key is for an instance of a batch of its user. A
// deleted batch needs no protection: the only event about it is its deletion.
func (a *API) MaySee(k *access.Key, id uuid.UUID) bool {
	if k.Everywhere() {
		return true
	}
	some, _, err := a.Engine.Opens(k.User, id, k.Opens)
	return errors.Is(err, batch.ErrNotFound) || some
}

// Tells returns a filter for the batch messages sent to a client with this key: it
// returns the body to send, or nil to skip it. nil means no filter. It looks up the
// instances for each message: they may change while a batch rests.
func (a *API) Tells(k *access.Key) func(body []byte) []byte {
	if k == nil || k.Everywhere() {
		return nil
	}
	return func(body []byte) []byte {
		some, all, err := a.Engine.Opens(k.User, batchOf(body), k.Opens)
		switch {
		case err != nil, !some: // or it was deleted meanwhile
			return nil
		case all:
			return body
		}
		return narrowed(body, k.Opens)
	}
}

// batchOf returns the batch that an event is about.
func batchOf(body []byte) uuid.UUID {
	var e struct {
		Data struct {
			BatchID uuid.UUID `json:"batchId"` // of an event about an item
			Batch   struct {
				ID uuid.UUID `json:"id"`
			} `json:"batch"`
		} `json:"data"`
	}
	if json.Unmarshal(body, &e) != nil {
		return uuid.UUID{}
	}
	if e.Data.BatchID != (uuid.UUID{}) {
		return e.Data.BatchID
	}
	return e.Data.Batch.ID
}

// narrowed returns an event about a batch without the instances that opens excludes, nil for an event about an item of such
// an instance.
func narrowed(body []byte, opens func(instance int64) bool) []byte {
	var envelope, data, about map[string]json.RawMessage
	if json.Unmarshal(body, &envelope) != nil || json.Unmarshal(envelope["data"], &data) != nil {
		return nil
	}
	type sender struct {
		ID   int64  `json:"id"`
		Name string `json:"name"`
	}
	var by sender
	if raw := data["instance"]; raw != nil && (json.Unmarshal(raw, &by) != nil || !opens(by.ID)) {
		return nil
	}
	if data["batch"] == nil {
		return body
	}
	if json.Unmarshal(data["batch"], &about) != nil {
		return nil
	}
	var all []json.RawMessage
	kept, shown := []json.RawMessage{}, map[string]bool{}
	if raw := about["instances"]; raw != nil && json.Unmarshal(raw, &all) != nil {
		return nil
	}
	for _, raw := range all {
		if json.Unmarshal(raw, &by) == nil && opens(by.ID) {
			kept, shown[by.Name] = append(kept, raw), true
		}
	}
	var item map[string]any
	if raw := about["currentItem"]; raw != nil && json.Unmarshal(raw, &item) != nil {
		return nil
	}
	if name, is := item["instanceName"].(string); is && !shown[name] {
		item["instanceName"] = ""
	}
	set := func(in map[string]json.RawMessage, name string, v any) {
		if in[name] != nil {
			in[name], _ = event.Marshal(v) // of what was JSON
		}
	}
	set(about, "instances", kept)
	set(about, "currentItem", item)
	set(data, "batch", about)
	set(envelope, "data", data)
	out, err := event.Marshal(envelope)
	if err != nil {
		return nil
	}
	return out
}

// errBatchElsewhere is the same for an instance that a key is not for and for one that does not exist.
func errBatchElsewhere(at int) error {
	return rest.MissingScope(fmt.Sprintf("the key needs the scope batch for instances[%d]", at))
}
