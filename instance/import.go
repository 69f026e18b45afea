package instance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"postern/event"
	"postern/instance/webhooks"
	"postern/messages"
	"postern/store"
	"postern/store/schema"
)

// Import is an instance of another program with its data. Nil and empty parts are absent.
type Import struct {
	New
	Token string // kept as is; empty: Mint makes one

	OwnerJID, OwnerLID, PushName, ProfilePicURL string
	Tags                                        []string

	Webhook  *webhooks.WebhookChange
	Options  *webhooks.OptionsChange
	Proxy    *ProxyChange
	Settings *Settings
	Contacts []event.ContactChange
	Messages []messages.Imported // oldest first
}

// Rules validates imported data by the rules of the API.
type Rules struct {
	webhooks.Rules // for webhooks and options

	CheckProxy func(*url.URL) error // rejects forbidden proxy hosts; nil allows all
}

// Attributes returns the rule that external attributes violate, nil if they are valid.
func (r Rules) Attributes(raw json.RawMessage) error {
	n := New{Name: "x", ExternalAttributes: raw}
	return n.check()
}

// Description is Attributes for a description.
func (r Rules) Description(text string) error {
	n := New{Name: "x", Description: text}
	return n.check()
}

// Picture is Attributes for the URL of a profile picture.
func (r Rules) Picture(text string) error { return checkPicture(text) }

// Proxy is Attributes for a proxy.
func (r Rules) Proxy(c ProxyChange) error {
	_, err := c.check(r.CheckProxy)
	return err
}

// Settings is Attributes for settings.
func (r Rules) Settings(s Settings) error {
	s = s.clone()
	return s.check()
}

// Message returns the rule that a message violates, nil if it can be stored.
func (r Rules) Message(m *event.Message) error { return messages.Check(m) }

// Contact reports whether a contact can be stored.
func (r Rules) Contact(c *event.ContactChange) bool { return messages.CheckContact(c) == nil }

// Import stores an instance with all its data in one commit, together with what also
// writes for its id, and returns it. It publishes no event. Data that violates a rule of
// Rules fails as in single requests. Errors: an event.RuleError, ErrExists, or that of also.
func (r *Registry) Import(ctx context.Context, in *Import, also func(tx *store.Tx, id int64) error) (Record, error) {
	if err := errors.Join(in.check(), checkPicture(in.ProfilePicURL)); err != nil {
		return Record{}, err
	}
	token := in.Token
	if token == "" {
		minted, err := in.Mint(in.Name)
		if err != nil {
			return Record{}, fmt.Errorf("instance: mint token: %w", err)
		}
		token = minted
	}
	var rec Record
	err := r.cfg.Store.Update(ctx, func(tx *store.Tx) (err error) {
		if rec, err = r.importTx(tx, in, token); err != nil {
			return err
		}
		return also(tx, rec.ID)
	})
	if err == nil {
		rec, err = r.takeUp(rec.ID)
	}
	if err != nil {
		return Record{}, fmt.Errorf("import instance %q: %w", in.Name, err)
	}
	return rec, nil
}

// takeUp loads a stored instance into the registry.
func (r *Registry) takeUp(id int64) (rec Record, err error) {
	e := &entry{reg: r}
	err = r.cfg.Store.View(func(tx *store.Tx) (err error) {
		if rec, _, err = store.GetJSON[Record](tx, instances, store.Key(id)); err != nil {
			return err
		}
		return e.loadParts(tx, id)
	})
	if err != nil {
		return rec, err
	}
	e.record.Store(&rec)
	r.mu.Lock()
	r.byID[rec.ID], r.byName[rec.Name] = e, e
	r.mu.Unlock()
	r.tellChange(rec.ID, rec.Name, false)
	r.hooks.Added(e.Scope)
	r.log.Info("instance imported", "instance", rec.Name, "instance_id", rec.ID)
	return rec, nil
}

// importTx writes everything that belongs to this package.
func (r *Registry) importTx(tx *store.Tx, in *Import, token string) (rec Record, err error) {
	if tx.Has(instanceName, []byte(in.Name)) {
		return rec, ErrExists
	}
	id, err := tx.NextID(instances)
	if err != nil {
		return rec, err
	}
	now := event.At(tx.Now())
	rec = Record{
		ID: int64(id), Name: in.Name, Description: in.Description, Status: event.Disconnected, //nolint:gosec // counts from 1
		OwnerJID: in.OwnerJID, OwnerLID: in.OwnerLID, PushName: in.PushName, ProfilePicURL: in.ProfilePicURL, Tags: in.Tags,
		ExternalAttributes: event.Attributes(in.ExternalAttributes), CreatedAt: now, UpdatedAt: now, Token: Token{token, now, now},
	}
	err = errors.Join(store.PutJSON(tx, instances, store.Key(id), rec), tx.Put(instanceName, []byte(in.Name), store.Key(id)))
	if err == nil {
		err = r.importSettings(tx, in, rec.ID)
	}
	if err == nil {
		err = messages.ImportContacts(tx, rec.ID, in.Contacts)
	}
	if err == nil {
		err = messages.Import(tx, rec.ID, in.Messages)
	}
	return rec, err
}

func (r *Registry) importSettings(tx *store.Tx, in *Import, id int64) error {
	key := store.Key(id)
	if err := r.hooks.Import(tx, id, in.Webhook, in.Options); err != nil {
		return err
	}
	if in.Settings != nil {
		s := in.Settings.clone()
		if err := s.check(); err != nil {
			return err
		}
		if err := store.PutJSON(tx, settingsBucket, key, s); err != nil {
			return err
		}
	}
	if in.Proxy == nil {
		return nil
	}
	p, err := in.Proxy.check(r.cfg.CheckProxy)
	if err != nil {
		return err
	}
	p.CreatedAt = event.At(tx.Now())
	p.UpdatedAt = p.CreatedAt
	return store.PutJSON(tx, proxies, key, storedProxy{in.Proxy.URL, p.For, p.CreatedAt, p.UpdatedAt})
}

// Names returns the ids of the instances in a data file that no program has open, by
// name. buckets and errors are those of store.ScanFile.
func Names(path string, buckets []schema.Bucket) (map[string]int64, error) {
	names := map[string]int64{}
	err := store.ScanFile(path, buckets, instanceName, func(k, v []byte) error {
		names[string(k)] = store.Number(v)
		return nil
	})
	return names, err
}
