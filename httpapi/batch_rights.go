package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"postern/access"
	"postern/batch"
	"postern/event"
)

// mayBatch refuses a batch that goes out to other people than the key of c is for. What is
// no recipient is the engine's to name.
func (c *call) mayBatch(recipients *batch.Packed) error {
	if c.key == nil || c.key.Recipients == nil {
		return nil
	}
	for i := range recipients.Len() {
		if err := c.mayBatchTo(recipients.At(i)); err != nil {
			return err
		}
	}
	return nil
}

// mayBatchTo is mayBatch for one recipient.
func (c *call) mayBatchTo(recipient string) error {
	who, err := event.ParseRecipient(recipient)
	if err != nil {
		return nil //nolint:nilerr // the engine's to name
	}
	return c.mayWriteTo(who.JID())
}

// keyBatch refuses the batch in the path, if there is one, when it goes out by an instance
// that the key of c is not for, just as if there were no such batch.
func (a *api) keyBatch(c *call) error {
	if c.key.Everywhere() || c.params.ByName("id") == "" {
		return nil
	}
	id, err := c.uuid("id")
	if err != nil {
		return err
	}
	elsewhere, err := a.elsewhere(c.key, id)
	if err == nil && elsewhere {
		err = batch.ErrNotFound
	}
	return err
}

// elsewhere reports whether a batch goes out by an instance that a key is not for.
func (a *api) elsewhere(k *access.Key, id uuid.UUID) (bool, error) {
	b, err := a.Engine.Batch(k.User, id)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(b.Instances, func(in event.BatchInstance) bool { return !k.Opens(in.ID) }), nil
}

// maySee reports whether a key is for all instances of a batch of its user. One that is
// gone is nobody's secret: that it went is all that is told of it.
func (a *api) maySee(k *access.Key, id uuid.UUID) bool {
	if k.Everywhere() {
		return true
	}
	elsewhere, err := a.elsewhere(k, id)
	return errors.Is(err, batch.ErrNotFound) || err == nil && !elsewhere
}

// hears reports of a message about a batch whether a key that listens to those of its user
// is told it, for one goroutine; nil: it is told all.
func (a *api) hears(k *access.Key) func(body []byte) bool {
	if k == nil || k.Everywhere() {
		return nil
	}
	var last uuid.UUID // messages about a batch come in rows
	var told bool
	return func(body []byte) bool {
		id := batchOf(body)
		if id == last {
			return told
		}
		elsewhere, err := a.elsewhere(k, id)
		if err != nil { // it was deleted meanwhile
			return false
		}
		last, told = id, !elsewhere
		return told
	}
}

// batchOf is the batch that an event is about.
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

// errBatchElsewhere is the one refusal of an instance that a key is not for and of one that
// does not exist.
func errBatchElsewhere(at int) error {
	return errScope(fmt.Sprintf("the key needs the scope batch for instances[%d], and is for others", at))
}
