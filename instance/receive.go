package instance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"postern/event"
	"postern/instance/pace"
	"postern/instance/webhooks"
	"postern/messages"
	"postern/store"
)

// Received is an exported instance with its data. The records come from a file and are
// untrusted.
type Received struct {
	Export
	Name     string // empty: its former name
	Token    string // empty: its former token
	Contacts []messages.Contact
	Messages []messages.Exported
}

// Receive stores an exported instance in one commit, together with what also writes for
// its id, and adds it to the running program.
//
// No record is stored as is. Each part becomes the request that would have created it,
// and is processed by the code for such requests under the same rules; only times,
// restrictions and signing secrets, which no request carries, are added. Errors are those
// of [Registry.Import] and of these requests, prefixed with the part.
func (r *Registry) Receive(ctx context.Context, in *Received, also func(tx *store.Tx, id int64) error) (rec Record, err error) {
	var had Record
	if err := json.Unmarshal(in.Record, &had); err != nil {
		return rec, fmt.Errorf("%w: its record: %w", ErrInvalid, err)
	}
	if err := had.checkReceived(); err != nil {
		return rec, err
	}
	name, token := had.Name, had.Token.Value
	if in.Name != "" {
		name = in.Name
	}
	if in.Token != "" {
		token = in.Token
	}
	made := Import{
		New:   New{Name: name, Description: had.Description, ExternalAttributes: json.RawMessage(had.ExternalAttributes)},
		Token: token, OwnerJID: had.OwnerJID, OwnerLID: had.OwnerLID, PushName: had.PushName, ProfilePicURL: had.ProfilePicURL, Tags: had.Tags,
	}
	return r.Import(ctx, &made, func(tx *store.Tx, id int64) error {
		if err := r.receive(tx, in, had, id); err != nil {
			return err
		}
		return also(tx, id)
	})
}

// checkPicture checks the URL of a profile picture, which otherwise comes from WhatsApp.
func checkPicture(text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return invalid("profilePicUrl", "must be an http or https URL")
	}
	return nil
}

// maxRefused bounds the numbers of one restriction. The program itself stores fewer.
const maxRefused = 1000

// checkReceived validates the fields of a record that no request can set.
func (r *Record) checkReceived() error {
	if !messages.Plausible(r.OwnerLID) {
		return invalid("ownerLid", "must be the LID of an account")
	}
	for i, one := range r.Restrictions {
		at := fmt.Sprintf("restrictions[%d].", i)
		switch {
		case one.Type != event.StatusTemporaryBan && one.Type != event.StatusAccountReachoutTimelock && one.Type != event.StatusAccountRestricted:
			return invalid(at+"type", "is not the type of a restriction")
		case !messages.Plausible(one.Account):
			return invalid(at+"account", "must be the JID of an account")
		case len(one.Refused) > maxRefused || slices.ContainsFunc(one.Refused, func(n string) bool { return !messages.Plausible(n) }):
			return invalid(at+"refused", fmt.Sprintf("must have at most %d phone numbers", maxRefused))
		}
	}
	return nil
}

func (r *Registry) receive(tx *store.Tx, in *Received, had Record, id int64) error {
	rec, _, err := store.GetJSON[Record](tx, instances, store.Key(id))
	if err != nil {
		return err
	}
	rec.Restrictions = had.Restrictions
	if !had.CreatedAt.IsZero() {
		rec.CreatedAt = had.CreatedAt
	}
	if err := store.PutJSON(tx, instances, store.Key(id), rec); err != nil {
		return err
	}
	if in.Limits != nil {
		if err := pace.Keep(tx, id, *in.Limits, in.Departures); err != nil {
			return part("limits", err)
		}
	}
	if err := r.hooks.Receive(tx, id, in.Webhook, in.Options); errors.Is(err, webhooks.ErrUnreadable) {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	} else if err != nil {
		return err
	}
	for _, one := range []struct {
		name, bucket string
		raw          json.RawMessage
		build        func(tx *store.Tx, id int64, raw json.RawMessage) (any, error)
	}{
		{"proxy", proxies, in.Proxy, r.receiveProxy}, {"settings", settingsBucket, in.Settings, receiveSettings},
	} {
		if len(one.raw) == 0 || string(one.raw) == "null" {
			continue
		}
		record, err := one.build(tx, id, one.raw)
		if err != nil {
			return part(one.name, err)
		}
		if err := store.PutJSON(tx, one.bucket, store.Key(id), record); err != nil {
			return err
		}
	}
	for i, c := range in.Contacts {
		change := event.ContactChange{JID: c.JID, LID: c.LID, PushName: event.OrNull(c.PushName), BusinessName: event.OrNull(c.BusinessName), FullName: event.OrNull(c.FullName)}
		if messages.CheckContact(&change) != nil {
			return invalid(fmt.Sprintf("contacts[%d].jid", i), "must be the JID of a person")
		}
		if err := messages.ImportContact(tx, id, &change); err != nil {
			return err
		}
	}
	for i, m := range in.Messages {
		if err := messages.Take(tx, id, m); err != nil {
			return part(fmt.Sprintf("messages[%d]", i), err)
		}
	}
	return nil
}

// part prefixes an error with the part of the file.
func part(name string, err error) error { return fmt.Errorf("%s: %w", name, err) }

// decoded decodes a stored record of a file.
func decoded[T any](raw json.RawMessage) (v T, err error) {
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("%w: unreadable: %w", ErrInvalid, err)
	}
	return v, nil
}

func (r *Registry) receiveProxy(tx *store.Tx, _ int64, raw json.RawMessage) (any, error) {
	had, err := decoded[storedProxy](raw)
	if err != nil {
		return nil, err
	}
	made, err := ProxyChange{URL: had.URL, For: had.For}.check(r.cfg.CheckProxy)
	if had.CreatedAt.IsZero() {
		had.CreatedAt = event.At(tx.Now())
	}
	return storedProxy{had.URL, made.For, had.CreatedAt, event.At(tx.Now())}, err
}

func receiveSettings(_ *store.Tx, _ int64, raw json.RawMessage) (any, error) {
	had, err := decoded[Settings](raw)
	if err != nil {
		return nil, err
	}
	had = had.clone()
	return had, had.check()
}
