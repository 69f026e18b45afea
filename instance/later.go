package instance

import (
	"context"
	"encoding/json"
	"errors"
	"time"

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

// Ended is the end of a send that was answered before it left.
type Ended struct {
	Process    string // its id
	To         string // JID of the chat
	MentionAll bool
	Attributes event.Attributes // nil: {}
	RequestID  string           // of the call that asked for it
	Sent       *event.Sent      // what was sent, if Err is nil
	Err        error            // why it failed; event.ErrOutcomeUnknown: it may have been sent
}

func (e *Ended) data(id int64) event.SendResult {
	result := event.SendResult{ProcessID: e.Process, Status: event.AsyncSent, MentionAll: e.MentionAll, ExternalAttributes: e.Attributes}
	if result.ExternalAttributes == nil {
		result.ExternalAttributes = event.Attributes("{}")
	}
	if e.Err != nil {
		result.Status, result.Error = event.AsyncFailed, &event.AsyncSendFail{Code: failureCode(e.Err), Message: e.Err.Error()}
		return result
	}
	m := e.Sent.Message
	m.InstanceID, m.ExternalAttributes = id, result.ExternalAttributes
	result.Data = &event.AsyncMessage{
		MessageID: m.KeyID, RemoteJID: *m.KeyRemoteJID, ParticipantCount: e.Sent.Participants, Timestamp: event.At(time.Unix(m.MessageTimestamp, 0)),
	}
	return result
}

// ReportEnd stores the message of an asynchronous send, and publishes its end by
// send.message. remove removes the send in that commit, possibly twice.
func (r *Registry) ReportEnd(ctx context.Context, id int64, e Ended, remove func(tx *store.Tx) error) error {
	result := e.data(id)
	about := event.About{Chat: e.To, FromMe: true}.With(r.cfg.Twin) // also if nothing was sent
	if result.Data != nil {
		about = r.events.About(result)
	}
	w := r.source(id).Writer()
	err := w.Commit(ctx, func(tx *store.Tx) error {
		if e.Err == nil {
			if _, err := r.cfg.Messages.StoreMessage(tx, id, e.Sent.Message); err != nil {
				return err
			}
		}
		w.Add(event.SendMessage, result, about, e.RequestID)
		return remove(tx)
	})
	if err != nil {
		return err
	}
	w.PublishStored(ctx)
	return nil
}

// failureCode returns the API's error code of a send error.
func failureCode(err error) string {
	if code := event.NotNowCode(err); code != "" {
		return code
	}
	for _, c := range []struct {
		err  error
		code string
	}{
		{event.ErrTooLate, event.TooLate},
		{store.ErrDamaged, "RECORD_DAMAGED"},
		{event.ErrMediaType, "MEDIA_TYPE_UNSUPPORTED"},
		{event.ErrMedia, "INVALID_MEDIA"}, // also on timeout, whose cause is ErrBusy
		{event.ErrWrongNetwork, "WRONG_NETWORK"},
		{event.ErrNotConnected, "INSTANCE_NOT_CONNECTED"},
		{event.ErrBusy, "INSTANCE_BUSY"},
		{event.ErrOutcomeUnknown, event.SendResultUnknown},
		{store.ErrDiskFull, "DISK_FULL"},
		{event.ErrNotOnWhatsApp, "RECIPIENT_NOT_ON_WHATSAPP"},
		{event.ErrNotAMember, "NOT_A_MEMBER"},
		{event.ErrNotChannelAdmin, "NOT_NEWSLETTER_ADMIN"},
		{event.ErrPollNotReadable, "POLL_NOT_READABLE"},
		{event.ErrAudienceEmpty, "AUDIENCE_EMPTY"},
		{event.ErrAudienceNotPossible, "AUDIENCE_NOT_POSSIBLE"},
	} {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	return event.SendMessageFailed
}
