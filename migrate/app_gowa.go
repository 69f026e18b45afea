package migrate

import (
	"context"
	"fmt"
	"slices"

	"postern/event"
	"postern/instance/webhooks"
	"postern/internal/plural"
	"postern/migrate/table"
)

// gowa is go-whatsapp-web-multidevice, in releases with several devices. It
// has them in one file, chatstorage.db, and the library's store in another, whatsapp.db.
type gowa struct{}

func (gowa) recognises(ctx context.Context, s *sources) (bool, error) {
	columns, err := s.columns(ctx, "devices")
	return slices.Contains(columns, "device_id") && slices.Contains(columns, "jid"), err
}

func (gowa) tables() []string {
	return []string{"devices", "device_webhook_configs", "messages", "chats", "schema_info", "sqlite_sequence"}
}

func (gowa) messages() (name, owner string) { return "messages", "device_id" }

// gowaEvents are its names of events.
var gowaEvents = map[string][]event.Flag{
	"message": {"messagesUpsert"}, "message.reaction": {"messagesUpsert"}, "message.edited": {"messagesUpsert"}, "message.ack": {"messagesUpdated"},
	"message.revoked": {"messagesDeleted"}, "message.deleted": {"messagesDeleted"}, "group.participants": {"groupsParticipantsUpdated"}, "group.joined": {"groupsUpsert"},
	"newsletter.joined": {"newsLetter"}, "newsletter.left": {"newsLetter"}, "newsletter.message": {"newsLetter"}, "newsletter.mute": {"newsLetter"},
	"call.offer": {"callUpsert"}, "chat_presence": {"presenceUpdated"}, "connection.update": {"connectionUpdated"},
}

func (gowa) instances(ctx context.Context, s *sources, o *Options, fn func(*belonging) error) error {
	var all []*belonging
	err := s.rows(ctx, "devices", func(r *table.Row) error {
		b := &belonging{id: r.Text("device_id"), name: r.Text("device_id"), jid: r.Text("ad_jid"), bodies: true}
		if b.jid == "" {
			b.jid = r.Text("jid")
		}
		b.parts.Description = r.Text("display_name")
		b.rest(r, "device_id", "display_name", "jid", "ad_jid", "created_at", "updated_at")
		all = append(all, b)
		return r.Err()
	})
	if err != nil {
		return err
	}
	err = s.rows(ctx, "device_webhook_configs", func(r *table.Row) error {
		i := slices.IndexFunc(all, func(b *belonging) bool { return b.id == r.Text("device_id") })
		if i < 0 {
			return nil // of a device that is gone
		}
		gowaWebhook(all[i], o, r)
		return r.Err()
	})
	for _, b := range all {
		if err == nil {
			err = fn(b)
		}
	}
	return err
}

// gowaWebhook imports one of the webhooks of a device: the first is the instance's,
// those after it are further endpoints.
func gowaWebhook(b *belonging, o *Options, r *table.Row) {
	names := r.Text("events")
	if names == "" {
		names = "*"
	}
	url, enabled, events := r.Text("webhook_url"), r.Bool("enabled"), b.flags(names, "*", gowaEvents)
	if r.Text("secret") != "" {
		b.leave("device_webhook_configs.secret: signatures are others here; turn them on with PUT /instance/{i}/webhook/options")
	}
	b.rest(r, "id", "device_id", "webhook_url", "secret", "events", "enabled", "headers", "created_at", "updated_at")
	if b.parts.Webhook == nil {
		b.webhook(o, url, enabled, events)
		b.headers(o, r.Text("headers"))
		return
	}
	c := webhooks.OptionsChange{}
	if b.parts.Options != nil {
		c = *b.parts.Options
	}
	c.Endpoints = append(slices.Clone(c.Endpoints), webhooks.EndpointChange{ID: fmt.Sprintf("webhook-%d", len(c.Endpoints)+2), URL: url, Enabled: &enabled, Events: events})
	if err := o.Rules.Options(c); err != nil {
		b.leave("a further webhook: %v", err)
		return
	}
	if !isNothing(r.Text("headers")) {
		b.leave("the headers of a further webhook")
	}
	b.parts.Options = &c
	b.keep("a further webhook with %s", plural.Of(len(events), "event"))
}

func (gowa) fill(ctx context.Context, s *sources, o *Options, group map[string]*Account) error {
	// Older rows name the account in place of the device's id.
	of := func(r *table.Row) *Account {
		id := r.Text("device_id")
		if a := group[id]; a != nil {
			return a
		}
		for _, a := range group {
			if id == a.Import.OwnerJID || withoutDevice(id) == a.Import.OwnerJID {
				return a
			}
		}
		return nil
	}
	err := s.rows(ctx, "chats", func(r *table.Row) error {
		a, jid, name := of(r), r.Text("jid"), r.Text("name")
		c := event.ContactChange{JID: jid, FullName: event.OrNull(name)}
		if a == nil || name == "" || !isPerson(jid) || !o.Rules.Contact(&c) {
			return nil // chats are known by their messages
		}
		a.Import.Contacts = append(a.Import.Contacts, c)
		return r.Err()
	})
	if err != nil {
		return err
	}
	return s.rows(ctx, "messages", func(r *table.Row) error {
		a := of(r)
		if a == nil {
			return nil
		}
		m := event.Message{KeyID: r.Text("id"), KeyFromMe: r.Bool("is_from_me"), MessageTimestamp: r.Time("timestamp").Unix()}
		plainText(a, &m, r.Text("chat_jid"), r.Text("sender"))
		if r.Text("media_type") == "" && r.Text("content") != "" {
			m.MessageType, m.Content = text("", r.Text("content"))
		}
		a.addMessage(o, r, m)
		return nil
	})
}
