package batches

import (
	"bytes"
	"encoding/json"
	"net/http"

	"postern/batch"
	"postern/batch/mailing"
	"postern/batch/record"
	"postern/event"
	"postern/httpapi/rest"
	"postern/httpapi/strict"
)

// BatchChange is the body that changes a batch that waits. A field that is absent changes nothing.
type BatchChange struct {
	Name      *string            `json:"name"`
	Instances *[]string          `json:"instances" doc:"The names of the instances that send from now on, instead of those before." example:"$name" rules:"minItems=1"`
	Options   batchChangeOptions `json:"options" doc:"The send options that can be changed."`
	Schedule  *json.RawMessage   `json:"schedule"`
}

type batchChangeOptions struct {
	Delay *event.BatchDelay `json:"delay" doc:"The random pause after each message."`
}

// changeBatch asks of a key what a start asks: what it changes may be sent by itself.
func (a *API) changeBatch(c *rest.Call) error {
	var in BatchChange
	if err := c.DecodeKeeping(&in, rest.MaxBody, MaxInstances+1); err != nil {
		return err
	}
	id, err := c.UUID("id", batch.ErrNotFound)
	if err != nil {
		return err
	}
	to := batch.Changes{Name: in.Name, Delay: in.Options.Delay}
	if in.Schedule != nil {
		if to.Schedule, err = newSchedule(*in.Schedule); err != nil {
			return err
		}
	}
	if in.Instances != nil {
		to.Instances = []record.InstanceRef{}
		refs, err := a.instanceRefs(c, *in.Instances)
		if err != nil {
			return err
		}
		to.Instances = append(to.Instances, refs...)
	}
	if err := a.mayStart(c, id); err != nil {
		return err
	}
	view, err := a.Engine.Change(c.KeyContext(), c.User, id, to)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, view)
}

// newSchedule returns null for an empty object: no schedule any more.
func newSchedule(raw json.RawMessage) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) == nil && len(fields) == 0 {
		return json.RawMessage("null"), nil
	}
	return raw, checkSchedule(raw)
}

// checkSchedule checks the shape of a schedule.
func checkSchedule(raw json.RawMessage) error {
	return strict.Under(strict.Decode(bytes.NewReader(raw), &batchSchedule{}, strict.Options{}), "schedule")
}

// BatchRecipients is the body that appends recipients to a draft.
type BatchRecipients struct {
	Recipients mailing.Recipients `json:"recipients" strict:"required" doc:"As at a creation; those that the batch has already are ignored." example:"[\"4915112345678\"]" rules:"minItems=1"`
}

func (a *API) appendRecipients(c *rest.Call) error {
	var in BatchRecipients
	if err := c.DecodeKeeping(&in, int64(BatchBodyBase+BatchBodyRecipient*a.MaxRecipients), a.entriesKept()); err != nil {
		return err
	}
	id, err := c.UUID("id", batch.ErrNotFound)
	if err != nil {
		return err
	}
	if c.Key != nil {
		b, err := a.Engine.Batch(c.User, id)
		if err == nil {
			err = a.mayUse(c, &b)
		}
		if err != nil {
			return err
		}
	}
	if err := mayBatch(c, &in.Recipients); err != nil {
		return err
	}
	a.Relay.KeepPace(c.Request.Context())
	view, err := a.Engine.Append(c.KeyContext(), c.User, id, batch.AppendRequest{
		List: &in.Recipients, InCommit: rest.KeepInCommit[batch.View](c, http.StatusOK),
	})
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, view)
}
