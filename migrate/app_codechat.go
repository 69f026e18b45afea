package migrate

import (
	"context"
	"encoding/json"
	"strings"

	"postern/event"
	"postern/messages"
	"postern/migrate/table"
)

// codechat is codechat-go, whose API this program follows: its event flags
// and contents of messages are ours.
type codechat struct{}

func (codechat) recognises(_ context.Context, s *sources) (bool, error) {
	return s.has("Instance") && s.has("Auth") && (s.has("InstanceWhatsAppConnection") || s.has("Webhook")), nil
}

func (codechat) tables() []string {
	return []string{"Instance", "Auth", "InstanceWhatsAppConnection", "Webhook", "Contact", "Message", "MessageUpdate", "schema_migrations"}
}

func (codechat) messages() (name, owner string) { return "Message", "instanceId" }

func (codechat) instances(ctx context.Context, s *sources, o *Options, fn func(*belonging) error) error {
	all, order := map[string]*belonging{}, []*belonging(nil)
	of := func(r *table.Row) *belonging {
		if b := all[r.Text("instanceId")]; b != nil {
			return b
		}
		return &belonging{} // of an instance that is gone
	}
	err := s.rows(ctx, "Instance", func(r *table.Row) error {
		b := &belonging{id: r.Text("id"), name: r.Text("name"), jid: r.Text("ownerJid")}
		if b.parts.Description = r.Text("description"); o.Rules.Description(b.parts.Description) != nil {
			b.leave("the description: %v", o.Rules.Description(b.parts.Description))
			b.parts.Description = ""
		}
		if b.parts.ProfilePicURL = r.Text("profilePicUrl"); o.Rules.Picture(b.parts.ProfilePicURL) != nil {
			b.leave("the profile picture: %v", o.Rules.Picture(b.parts.ProfilePicURL))
			b.parts.ProfilePicURL = ""
		}
		if raw := r.Text("externalAttributes"); !isNothing(raw) {
			if err := o.Rules.Attributes(json.RawMessage(raw)); err != nil {
				b.leave("the external attributes: %v", err)
			} else {
				b.parts.ExternalAttributes = json.RawMessage(raw)
				b.keep("external attributes")
			}
		}
		b.rest(r, "id", "name", "description", "ownerJid", "profilePicUrl", "externalAttributes", "connectionStatus", "createdAt", "updatedAt")
		all[b.id], order = b, append(order, b)
		return r.Err()
	})
	if err != nil {
		return err
	}
	for _, read := range []struct {
		table string
		row   func(*table.Row)
	}{
		{"Auth", func(r *table.Row) { of(r).token = r.Text("token") }},
		{"InstanceWhatsAppConnection", func(r *table.Row) {
			if jid := r.Text("whatsappDeviceJid"); jid != "" {
				of(r).jid = jid
			}
		}},
		{"Webhook", func(r *table.Row) { codechatWebhook(of(r), o, r) }},
	} {
		if err := s.rows(ctx, read.table, func(r *table.Row) error {
			read.row(r)
			return r.Err()
		}); err != nil {
			return err
		}
	}
	for _, b := range order {
		if err := fn(b); err != nil {
			return err
		}
	}
	return nil
}

func codechatWebhook(b *belonging, o *Options, r *table.Row) {
	events := map[event.Flag]bool{}
	if raw := r.Text("events"); !isNothing(raw) {
		var listed map[string]bool
		if err := json.Unmarshal([]byte(raw), &listed); err != nil {
			b.leave("Webhook.events: they are not a JSON object of true and false")
		}
		for name, on := range listed {
			if !event.KnownFlag(event.Flag(name)) {
				b.leave("the webhook's event %s", cut(name, shownValue))
				continue
			}
			events[event.Flag(name)] = on
		}
	}
	b.webhook(o, r.Text("url"), r.Null("enabled") || r.Bool("enabled"), events)
	b.headers(o, r.Text("headers"))
	b.rest(r, "id", "url", "enabled", "events", "headers", "instanceId", "createdAt", "updatedAt")
}

func (codechat) fill(ctx context.Context, s *sources, o *Options, group map[string]*Account) error {
	err := s.rows(ctx, "Contact", func(r *table.Row) error {
		a := group[r.Text("instanceId")]
		if a == nil {
			return nil
		}
		c := event.ContactChange{JID: r.Text("remoteJid"), LID: r.Text("lid"), PushName: event.OrNull(r.Text("pushName"))}
		if strings.HasSuffix(c.JID, "@g.us") || !o.Rules.Contact(&c) {
			a.leave("Contact", r.Fail("%.100q is not the address of a person", c.JID))
			return nil
		}
		a.Import.Contacts = append(a.Import.Contacts, c)
		return r.Err()
	})
	if err != nil {
		return err
	}
	at := map[string]place{} // of messages, by their ids
	err = s.rows(ctx, "Message", func(r *table.Row) error {
		a := group[r.Text("instanceId")]
		if a == nil {
			return nil
		}
		m := event.Message{
			KeyID: r.Text("keyId"), KeyRemoteJID: event.OrNull(r.Text("keyRemoteJid")), KeyLID: event.OrNull(r.Text("keyLid")), KeyFromMe: r.Bool("keyFromMe"),
			KeyParticipant: event.OrNull(r.Text("keyParticipant")), KeyParticipantLID: event.OrNull(r.Text("keyParticipantLid")), PushName: event.OrNull(r.Text("pushName")),
			MessageType: r.Text("messageType"), Content: object(r.Text("content")), MessageTimestamp: r.Int("messageTimestamp"),
			Device: event.OrNull(r.Text("device")), IsGroup: r.Bool("isGroup"), Metadata: object(r.Text("metadata")),
		}
		if a.addMessage(o, r, m) {
			at[r.Text("id")] = place{a, len(a.Import.Messages) - 1}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.rows(ctx, "MessageUpdate", func(r *table.Row) error {
		of, known := at[r.Text("messageId")]
		if !known {
			return nil // of a message that is left out, or of another group
		}
		m := &of.account.Import.Messages[of.message]
		m.Updates = append(m.Updates, messages.StoredUpdate{Status: updateStatus(r.Text("status")), At: event.At(r.Time("dateTime"))})
		return r.Err()
	})
}

// place is the location of a message.
type place struct {
	account *Account
	message int
}

// updateStatus maps a status to ours.
func updateStatus(word string) event.UpdateStatus {
	switch s := event.UpdateStatus(strings.ToLower(word)); s {
	case event.StatusDelivered, event.StatusSent, event.StatusRead, event.StatusPlayed, event.StatusServerError, event.StatusRetry:
		return s
	case "delivery_ack":
		return event.StatusDelivered
	case "server_ack":
		return event.StatusSent
	default:
		return event.StatusUnknown
	}
}

// object is raw when it is a JSON object, else nil.
func object(raw string) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(raw), &fields) != nil || fields == nil {
		return nil
	}
	return json.RawMessage(raw)
}

// addMessage adds a message that can be stored, and reports whether it did.
func (a *Account) addMessage(o *Options, r *table.Row, m event.Message) bool {
	switch {
	case r.Err() != nil:
		a.leave(r.Table, r.Err())
	case m.MessageType == "" || m.Content == nil:
		a.leave(r.Table, r.Fail("the message has no content"))
	default:
		if err := o.Rules.Message(&m); err != nil {
			a.leave(r.Table, r.Fail("the message: %w", err))
			return false
		}
		a.Import.Messages = append(a.Import.Messages, messages.Imported{Message: m})
		return true
	}
	return false
}
