package instance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"postern/event"
	"postern/pace"
	"postern/store"
)

// Export is an instance on its way to another file of this program: its records as
// they are stored, null where there is none.
type Export struct {
	Record   json.RawMessage `json:"record"`
	Webhook  json.RawMessage `json:"webhook,omitempty"`
	Options  json.RawMessage `json:"options,omitempty"`
	Proxy    json.RawMessage `json:"proxy,omitempty"`
	Settings json.RawMessage `json:"settings,omitempty"`
	Limits   *pace.Limits    `json:"limits,omitempty"`
}

// ExportedMessage is a stored message with what became of it.
type ExportedMessage struct {
	Message json.RawMessage `json:"message"`
	Updates []storedUpdate  `json:"updates,omitempty"`
}

// ErrMoved refuses to connect an instance that lives elsewhere now: both would use the
// same keys.
var ErrMoved = errors.New("the instance has moved to another Postern")

// ErrNotMoved tells that there is no export to take back.
var ErrNotMoved = errors.New("the instance has not moved to another Postern, or was marked by another export")

// ErrAccountExists refuses a second instance with the keys of an account.
var ErrAccountExists = errors.New("an instance has the account already")

// movedText is what the status of such an instance says.
const movedText = "moved to another Postern; `postern instance export --undo` takes it back when it never connected there"

// HasMoved reports whether an instance lives elsewhere.
func (r Record) HasMoved() bool { return !r.MovedAt.IsZero() }

// Export reads an instance.
func (r *Registry) Export(id int64) (e Export, err error) {
	err = r.cfg.Store.View(func(tx *store.Tx) (err error) {
		for bucket, to := range map[string]*json.RawMessage{
			instances: &e.Record, webhooks: &e.Webhook, optionsBucket: &e.Options, proxies: &e.Proxy, settingsBucket: &e.Settings,
		} {
			raw, err := tx.Get(bucket, store.Key(id))
			if err != nil {
				return fmt.Errorf("%s of instance %d: %w", bucket, id, err)
			}
			*to = raw
		}
		e.Limits, err = pace.Stored(tx, id)
		return err
	})
	if err == nil && e.Record == nil {
		err = ErrNotFound
	}
	return e, err
}

// ExportContacts calls fn for each contact of an instance, and ExportMessages for each
// stored message, the oldest first, until fn returns an error. What is damaged is left
// out.
func (r *Registry) ExportContacts(id int64, fn func(Contact) error) error {
	return exportAll(r.cfg.Store, contacts, id, func(_ *store.Tx, _ int64, raw []byte) error {
		var c Contact
		if json.Unmarshal(raw, &c) != nil {
			return nil
		}
		return fn(c)
	})
}

// ExportMessages is explained at [Registry.ExportContacts].
func (r *Registry) ExportMessages(id int64, fn func(ExportedMessage) error) error {
	return exportAll(r.cfg.Store, messages, id, func(tx *store.Tx, message int64, raw []byte) error {
		updates, err := updatesOf(tx, id, message)
		if err != nil && !errors.Is(err, store.ErrDamaged) {
			return err
		}
		m := ExportedMessage{Message: raw}
		for _, u := range updates {
			m.Updates = append(m.Updates, storedUpdate(u))
		}
		return fn(m)
	})
}

const exportStep = 1000 // records that one read transaction looks at

// exportAll reads the records of an instance in steps.
func exportAll(s *store.Store, bucket string, id int64, fn func(tx *store.Tx, number int64, raw []byte) error) error {
	for from, more := []byte(nil), true; more; {
		n := 0
		err := s.View(func(tx *store.Tx) error {
			return tx.Scan(bucket, store.Range{Prefix: store.Key(id), From: from, Limit: exportStep}, func(k, raw []byte) (bool, error) {
				n++
				from = append(k, 0)
				return true, fn(tx, number(k[8:]), raw)
			})
		})
		if err != nil {
			return err
		}
		more = n == exportStep
	}
	return nil
}

// Move marks an instance as living elsewhere, for the request by: it never connects
// while the mark is there. Who listens is told that it is not connected. One that is
// marked already stays as it is. Errors: ErrNotFound.
func (r *Registry) Move(ctx context.Context, id int64, by string) error {
	t := r.telling(id)
	_, moved, err := r.changeAndTell(ctx, id, func(rec *Record) bool {
		if rec.HasMoved() {
			return false
		}
		rec.Status, rec.Reason, rec.LastError, rec.MovedAt, rec.MovedBy = event.Offline, 0, movedText, rec.UpdatedAt, by
		return true
	}, t, func(rec *Record) {
		if !rec.HasMoved() || r.cfg.Publish == nil {
			return
		}
		u := event.ConnectionUpdate{Type: event.TypeDisconnected, Connection: event.ConnectionClose, Message: movedText}
		t.add(event.ConnectionUpdated, r.withLast(id, rec, u), r.about(u), by)
	})
	if err == nil && moved && r.cfg.Publish != nil {
		r.publish(ctx, t)
	}
	return err
}

// MoveBack takes the mark of Move away. With by it does so only when that request
// made it. Errors: ErrNotFound, or ErrNotMoved when there is no such mark.
func (r *Registry) MoveBack(ctx context.Context, id int64, by string) error {
	_, changed, err := r.change(ctx, id, func(rec *Record) bool {
		if !rec.HasMoved() || by != "" && rec.MovedBy != by {
			return false
		}
		rec.Status, rec.Reason, rec.LastError, rec.MovedAt, rec.MovedBy = event.Offline, 0, "", event.Time{}, ""
		return true
	})
	if err == nil && !changed {
		err = ErrNotMoved
	}
	return err
}

// Received is an exported instance with what belongs to it.
type Received struct {
	Export
	Name     string // empty: the one that it had
	Token    string // empty: the one that it had
	Contacts []Contact
	Messages []ExportedMessage
}

// Receive stores an exported instance in one commit, together with what also writes for
// its id, and counts it among the instances: a running program knows it from then on.
// Errors are those of [Registry.Import].
func (r *Registry) Receive(ctx context.Context, in *Received, also func(tx *store.Tx, id int64) error) (rec Record, err error) {
	var had Record
	if err := json.Unmarshal(in.Record, &had); err != nil {
		return rec, fmt.Errorf("%w: its record: %w", ErrInvalid, err)
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
		Token: token, OwnerJID: had.OwnerJID, OwnerLID: had.OwnerLID, PushName: had.PushName, ProfilePicURL: had.ProfilePicURL,
	}
	return r.Import(ctx, &made, func(tx *store.Tx, id int64) error {
		if err := r.receive(tx, in, had, id); err != nil {
			return err
		}
		return also(tx, id)
	})
}

func (r *Registry) receive(tx *store.Tx, in *Received, had Record, id int64) error {
	rec, _, err := store.GetJSON[Record](tx, instances, store.Key(id))
	if err == nil {
		rec.Restrictions, rec.CreatedAt = had.Restrictions, had.CreatedAt
		err = store.PutJSON(tx, instances, store.Key(id), rec)
	}
	if err == nil && in.Limits != nil {
		err = pace.Keep(tx, id, *in.Limits)
	}
	var hook Webhook
	for _, part := range []struct {
		bucket string
		raw    json.RawMessage
		as     any
	}{
		{webhooks, in.Webhook, &hook}, {optionsBucket, in.Options, &keptOptions{}}, {proxies, in.Proxy, &storedProxy{}}, {settingsBucket, in.Settings, &Settings{}},
	} {
		if err != nil || len(part.raw) == 0 || string(part.raw) == "null" {
			continue
		}
		if err = json.Unmarshal(part.raw, part.as); err != nil {
			return fmt.Errorf("%w: its %s: %w", ErrInvalid, part.bucket, err)
		}
		if err = r.mayHave(part.as); err != nil {
			return err
		}
		if part.bucket == webhooks {
			var n uint64
			n, err = tx.NextID(webhooks)
			hook.ID, hook.InstanceID = int64(n), id //nolint:gosec // counts from 1
		}
		err = errors.Join(err, store.PutJSON(tx, part.bucket, store.Key(id), part.as))
	}
	for i := 0; err == nil && i < len(in.Contacts); i++ {
		c := in.Contacts[i]
		err = importContact(tx, id, &event.ContactChange{JID: c.JID, LID: c.LID, PushName: given(c.PushName), BusinessName: given(c.BusinessName), FullName: given(c.FullName)})
	}
	for i := 0; err == nil && i < len(in.Messages); i++ {
		err = receiveMessage(tx, id, in.Messages[i])
	}
	return err
}

// mayHave holds a part of an instance that comes from elsewhere against the rules here.
func (r *Registry) mayHave(part any) error {
	rules := Rules{r}
	switch p := part.(type) {
	case *Webhook:
		return rules.Webhook(WebhookChange{URL: &p.URL})
	case *storedProxy:
		return rules.Proxy(ProxyChange{URL: p.URL, For: p.For})
	case *Settings:
		return rules.Settings(*p)
	}
	return nil
}

func given(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// receiveMessage stores a message as it was, under a new id.
func receiveMessage(tx *store.Tx, id int64, m ExportedMessage) error {
	var stored storedMessage
	if err := json.Unmarshal(m.Message, &stored); err != nil {
		return fmt.Errorf("%w: a message: %w", ErrInvalid, err)
	}
	message := (*event.Message)(&stored.Message)
	if !storable(message) {
		return nil
	}
	n, err := tx.NextID(messages)
	if err != nil {
		return err
	}
	stored.Event, stored.Message.ID = uuid.Nil, int64(n) //nolint:gosec // counts from 1
	err = errors.Join(
		store.PutJSON(tx, messages, store.Key(id, n), stored),
		indexChat(tx, id, message),
		tx.Put(messageKeys, messageKey(id, message), store.Key(n)),
	)
	for i := 0; err == nil && i < len(m.Updates); i++ {
		var u uint64
		if u, err = tx.NextID(messageUpdates); err == nil {
			err = store.PutJSON(tx, messageUpdates, store.Key(id, int64(n), u), m.Updates[i]) //nolint:gosec // as above
		}
	}
	return err
}
