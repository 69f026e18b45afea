package httpapi

import (
	"encoding/json"
	"errors"

	"github.com/google/uuid"

	"postern/access"
	"postern/batch"
	"postern/event"
)

// mayBatch refuses a batch that goes out by other instances, or to other people, than
// the key of c is for. What is no recipient is the engine's to name.
func (c *call) mayBatch(refs []batch.InstanceRef, recipients []string) error {
	if c.key == nil {
		return nil
	}
	for _, r := range refs {
		if !c.key.Opens(r.ID) {
			return errBatchElsewhere(r.Name)
		}
	}
	if c.key.Recipients == nil {
		return nil
	}
	for _, text := range recipients {
		who, err := event.ParseRecipient(text)
		if err != nil {
			continue
		}
		if err := c.mayWriteTo(who.JID()); err != nil {
			return err
		}
	}
	return nil
}

// keyBatch refuses the batch in the path, if there is one, when it goes out by an instance
// that the key of c is not for. Whoever else of the user made it, made it for others.
func (a *api) keyBatch(c *call) error {
	if c.key.Everywhere() || c.params.ByName("id") == "" {
		return nil
	}
	id, err := c.uuid("id")
	if err != nil {
		return err
	}
	elsewhere, err := a.elsewhere(c.key, id)
	if err == nil && elsewhere != "" {
		err = errBatchElsewhere(elsewhere)
	}
	return err
}

// elsewhere is the first instance of a batch that a key is not for, empty when there is
// none.
func (a *api) elsewhere(k *access.Key, id uuid.UUID) (instance string, err error) {
	b, err := a.Engine.Batch(k.User, id)
	if err != nil {
		return "", err
	}
	for _, in := range b.Instances {
		if !k.Opens(in.ID) {
			return in.Name, nil
		}
	}
	return "", nil
}

// maySee reports whether a key is for all instances of a batch of its user. One that is
// gone is nobody's secret: that it went is all that is told of it.
func (a *api) maySee(k *access.Key, id uuid.UUID) bool {
	if k.Everywhere() {
		return true
	}
	elsewhere, err := a.elsewhere(k, id)
	return errors.Is(err, batch.ErrNotFound) || err == nil && elsewhere == ""
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
		last, told = id, elsewhere == ""
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

func errBatchElsewhere(instance string) error {
	return errScope("the key needs the scope batch for " + instance + ", and is for other instances")
}
