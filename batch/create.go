package batch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

const (
	maxName       = 255
	maxPayload    = 1 << 20
	maxAttributes = 64 << 10
	maxComplaints = 100
	// chunk is how many items one commit of a creation holds, so that other
	// writers are not held up for long.
	chunk = 1000
)

// Create stores a batch with all its items and lets a worker claim it. The
// batch appears at once and whole, however many commits its items take. Errors
// are *InvalidError, store.ErrDiskFull and those of the store.
func (e *Engine) Create(ctx context.Context, owner uuid.UUID, r CreateRequest) (View, error) {
	b, recipients, err := e.prepare(owner, r)
	if err != nil {
		return View{}, err
	}
	if err := e.cfg.Store.Admit(); err != nil {
		return View{}, err
	}
	states := e.states(b.spec)
	last := recipients
	if len(recipients) > chunk {
		if err := e.writeItems(ctx, b.id, recipients); err != nil {
			err = fmt.Errorf("batch %s: create: %w", b.id, err)
			return View{}, errors.Join(err, e.sweep(b.id))
		}
		last = nil
	}
	on := OnCreate
	if r.AutoStart != nil && !*r.AutoStart {
		on = OnDraft
	}
	var made full
	err = e.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		s := *b.spec
		s.CreatedAt = tx.Now().UnixMilli()
		made = full{id: b.id, header: b.header, spec: &s, message: b.message}
		return errors.Join(
			putItems(tx, b.id, 0, last),
			store.PutJSON(tx, bucketSpec, b.id[:], s),
			store.PutJSON(tx, bucketMessage, b.id[:], b.message),
			tx.Put(bucketOwner, store.Key(owner, b.id), nil),
			tx.Put(bucketOpen, b.id[:], nil),
			tx.Delete(bucketCreating, b.id[:]),
			step(tx, &made, Input{On: on}, states, nil),
			inCommit(tx, r, &made, states),
		)
	})
	if err != nil {
		return View{}, fmt.Errorf("batch %s: create: %w", b.id, err)
	}
	e.wake(b.id)
	return made.view(states), nil
}

func inCommit(tx *store.Tx, r CreateRequest, made *full, states []event.State) error {
	if r.InCommit == nil {
		return nil
	}
	return r.InCommit(tx, made.view(states))
}

// writeItems writes the items in chunks, under a mark that has them swept when
// the creation does not get to its end.
func (e *Engine) writeItems(ctx context.Context, id uuid.UUID, all []itemRecord) error {
	for from := 0; from < len(all); from += chunk {
		part := all[from:min(from+chunk, len(all))]
		err := e.cfg.Store.Update(ctx, func(tx *store.Tx) error {
			return errors.Join(tx.Put(bucketCreating, id[:], nil), putItems(tx, id, from, part))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func putItems(tx *store.Tx, id uuid.UUID, from int, items []itemRecord) error {
	for i, r := range items {
		if err := tx.Put(bucketItem, itemKey(id, from+i), r.encode()); err != nil {
			return err
		}
	}
	return nil
}

// prepare checks the request and builds the records of the batch.
func (e *Engine) prepare(owner uuid.UUID, r CreateRequest) (*full, []itemRecord, error) {
	if err := e.validate(&r); err != nil {
		return nil, nil, err
	}
	window, err := ParseSchedule(r.Schedule, e.cfg.Location)
	if err != nil {
		return nil, nil, invalid(InvalidSchedule, err.Error())
	}
	if w, _ := window.At(time.Now()); w == WindowSpent {
		return nil, nil, invalid(InvalidSchedule, "schedule: the window is wholly in the past")
	}
	items, duplicates, err := e.items(r.Recipients)
	if err != nil {
		return nil, nil, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return nil, nil, fmt.Errorf("batch: new id: %w", err)
	}
	b := &full{
		id: id,
		header: header{
			Core: Core{
				Counts:     Counts{Total: len(items), Pending: len(items)},
				AutoResume: r.AutoResume == nil || *r.AutoResume,
			},
			Shares: make([]share, len(r.Instances)),
		},
		spec: &spec{
			Owner: owner, Name: r.Name, Instances: r.Instances, Options: r.Options,
			Received: len(r.Recipients), Duplicates: duplicates, window: window,
		},
		message: &messageRecord{Message: r.Message, Attributes: r.ExternalAttributes},
	}
	if window != nil {
		b.spec.Schedule, b.spec.Zone = r.Schedule, e.cfg.Location.String()
	}
	return b, items, nil
}

func invalid(code string, messages ...string) error {
	return &InvalidError{Code: code, Messages: messages}
}

// validate checks all but schedule and recipients, and puts the request into
// the form that is stored.
func (e *Engine) validate(r *CreateRequest) error {
	if n := utf8.RuneCountInString(r.Name); n < 1 || n > maxName {
		return invalid(InvalidName, fmt.Sprintf("name has %d characters, 1 to %d are allowed", n, maxName))
	}
	r.Instances = unique(r.Instances)
	if len(r.Instances) == 0 {
		return invalid(InvalidInstances, "instances must name at least one instance")
	}
	if len(r.Message.Payload) > maxPayload {
		return invalid(InvalidMessage, fmt.Sprintf("message.payload has %d bytes, at most %d are allowed", len(r.Message.Payload), maxPayload))
	}
	if _, err := event.ParseContent(r.Message.Type, r.Message.Payload); err != nil {
		return invalid(InvalidMessage, "message: "+err.Error())
	}
	r.Message.Payload = compact(r.Message.Payload)
	d := r.Options.Delay
	if most := e.cfg.MaxDelay.Milliseconds(); d.MinMs < 0 || d.MaxMs < d.MinMs || d.MaxMs > most {
		return invalid(InvalidOptions, fmt.Sprintf("options.delay needs 0 <= minMs <= maxMs <= %d", most))
	}
	if p := r.Options.Presence; p != "" && p != "composing" && p != "recording" && p != "paused" {
		return invalid(InvalidOptions, fmt.Sprintf("options.presence: %q is not one of composing, recording, paused", p))
	}
	return validateAttributes(r)
}

func validateAttributes(r *CreateRequest) error {
	a := bytes.TrimSpace(r.ExternalAttributes)
	if len(a) == 0 || string(a) == "null" {
		r.ExternalAttributes = nil
		return nil
	}
	if len(a) > maxAttributes || a[0] != '{' || !json.Valid(a) {
		return invalid(InvalidAttributes, fmt.Sprintf("externalAttributes must be an object of at most %d bytes", maxAttributes))
	}
	r.ExternalAttributes = compact(a)
	return nil
}

// unique drops instances that are named again.
func unique(all []InstanceRef) []InstanceRef {
	var kept []InstanceRef
	for _, ref := range all {
		if !slices.ContainsFunc(kept, func(k InstanceRef) bool { return k.ID == ref.ID }) {
			kept = append(kept, ref)
		}
	}
	return kept
}

func compact(raw json.RawMessage) json.RawMessage {
	var buf bytes.Buffer
	if err := json.Compact(&buf, raw); err != nil {
		return raw
	}
	return buf.Bytes()
}

// items normalises the recipients and drops those that come again. One that is
// wrong refuses all.
func (e *Engine) items(recipients []string) (items []itemRecord, duplicates int, err error) {
	if len(recipients) == 0 {
		return nil, 0, invalid(InvalidRecipient, "recipients must not be empty")
	}
	if len(recipients) > e.cfg.MaxRecipients {
		return nil, 0, invalid(TooManyRecipients, fmt.Sprintf("recipients has %d entries, at most %d are allowed", len(recipients), e.cfg.MaxRecipients))
	}
	seen := make(map[string]struct{}, len(recipients))
	items = make([]itemRecord, 0, len(recipients))
	var complaints []string
	for i, input := range recipients {
		to, err := event.ParseRecipient(input)
		if err == nil && !to.IsPhone() {
			err = errors.New("a batch sends to phone numbers only")
		}
		if err != nil {
			if complaints = append(complaints, fmt.Sprintf("recipients[%d] %v", i, err)); len(complaints) == maxComplaints {
				break
			}
			continue
		}
		if _, again := seen[to.User]; again {
			duplicates++
			continue
		}
		seen[to.User] = struct{}{}
		r := itemRecord{Input: input}
		if to.User != input {
			r.To = strings.Clone(to.User)
		}
		items = append(items, r)
	}
	if complaints != nil {
		return nil, 0, invalid(InvalidRecipient, complaints...)
	}
	return items, duplicates, nil
}
