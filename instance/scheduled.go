package instance

import (
	"context"
	"encoding/json"

	"postern/event"
	"postern/store"
)

// withMetadata returns the metadata of a message with one more field.
func withMetadata(metadata json.RawMessage, name, value string) json.RawMessage {
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(metadata, &fields) != nil || fields == nil {
		fields = map[string]json.RawMessage{}
	}
	fields[name], _ = json.Marshal(value)
	raw, err := json.Marshal(fields)
	if err != nil {
		return metadata
	}
	return raw
}

// Unsent is a scheduled send that failed.
type Unsent struct {
	Scheduled  string           // its id
	To         string           // JID of the chat; empty: unknown
	Attributes event.Attributes // nil: {}
	RequestID  string           // of the call that scheduled it
	Err        error            // why; event.ErrOutcomeUnknown: it may have been sent
}

func (u Unsent) data() event.ScheduledFailure {
	f := event.ScheduledFailure{
		ScheduledID: u.Scheduled, Status: event.AsyncFailed, ExternalAttributes: u.Attributes,
		Error: &event.AsyncSendFail{Code: failureCode(u.Err), Message: u.Err.Error()},
	}
	if f.ExternalAttributes == nil {
		f.ExternalAttributes = event.Attributes("{}")
	}
	return f
}

// ReportUnsent publishes send.message for scheduled sends of an instance. remove removes
// them in the commit that stores those of the events that are durable, possibly twice, and
// returns which of them it found; the others are not reported.
func (r *Registry) ReportUnsent(ctx context.Context, id int64, all []Unsent, remove func(tx *store.Tx) (found []int, err error)) error {
	w := r.source(id).Writer()
	about := make([]event.About, len(all))
	for i, u := range all {
		about[i] = event.About{Chat: u.To, FromMe: true}.With(r.cfg.Twin)
	}
	err := w.Commit(ctx, func(tx *store.Tx) error {
		found, err := remove(tx)
		if err != nil {
			return err
		}
		for _, i := range found {
			w.Add(event.SendMessage, all[i].data(), about[i], all[i].RequestID)
		}
		return nil
	})
	if err != nil {
		return err
	}
	w.PublishStored(ctx)
	return nil
}
