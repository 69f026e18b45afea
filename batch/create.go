package batch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"postern/batch/mailing"
	"postern/batch/record"
	"postern/batch/table"
	"postern/event"
	"postern/internal/plural"
	"postern/store"
)

// MaxName is the longest name of a batch, in characters.
const MaxName = 255

const (
	maxPayload    = 1 << 20
	maxAttributes = 64 << 10
	// chunk is the number of items in one commit of a creation, so that other
	// writers are not delayed for long.
	chunk = 250
)

// Create stores a batch with all its items and lets a worker claim it. The
// batch appears atomically, however many commits its items take; what
// an error or the end of ctx leaves behind is never visible and is removed in
// the background. A large one waits for its turn, see creations. Errors are *InvalidError, ErrTooManyOpen, ErrCreating, store.ErrDiskFull and those of the
// store.
func (e *Engine) Create(ctx context.Context, owner uuid.UUID, r CreateRequest) (View, error) {
	if r.given().Len() > chunk {
		leave, err := e.creations.enter(ctx, owner, r.given().Size())
		if err != nil {
			return View{}, err
		}
		defer leave()
	}
	b, to, err := e.prepare(ctx, owner, r, nil)
	if err != nil {
		return View{}, err
	}
	if err := e.cfg.Store.Admit(); err != nil {
		return View{}, err
	}
	if err := e.open.add(owner, b.id, e.cfg.MaxOpen); err != nil {
		return View{}, err
	}
	on := table.OnCreate
	if r.AutoStart != nil && !*r.AutoStart {
		on = table.OnDraft
	}
	staged := to.Len() > chunk
	if staged {
		err = e.stage(ctx, b.id, to)
		to = mailing.Chosen{}
	}
	states := e.states(b.spec)
	if err == nil {
		err = e.appear(ctx, b, to, table.Input{On: on}, states, &r)
	}
	if err != nil {
		e.open.drop(owner, b.id)
		if staged {
			e.sweepLater(b.id)
		}
		return View{}, fmt.Errorf("batch %s: create: %w", b.id, err)
	}
	e.begin(b)
	e.cfg.Changed(owner, b.id, false)
	return b.view(states, e.now()), nil
}

// stage writes the items of a batch that is not visible yet, in commits of one
// chunk, under a mark by which they are swept if the creation does not reach
// its end. While a chunk is committed, the next one is encoded.
func (e *Engine) stage(ctx context.Context, id uuid.UUID, all mailing.Chosen) error {
	type encoded struct {
		items []newItem
		err   error
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	chunks := make(chan encoded)
	go func() {
		defer close(chunks)
		for from := 0; from < all.Len() && ctx.Err() == nil; from += chunk {
			items, err := encodeItems(id, all, from, min(from+chunk, all.Len()))
			select {
			case chunks <- encoded{items, err}:
			case <-ctx.Done():
			}
		}
	}()
	for next := range chunks {
		if next.err != nil {
			return next.err
		}
		err := e.cfg.Store.Update(ctx, func(tx *store.Tx) error {
			return errors.Join(tx.Put(record.BucketCreating, id[:], nil), putItems(tx, next.items))
		})
		if err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// appear commits the batch itself, with its items unless they are staged and
// whatever else the request wants in that commit, and leaves in b what was
// committed.
func (e *Engine) appear(ctx context.Context, b *full, to mailing.Chosen, in table.Input, states []event.State, r *CreateRequest) error {
	message, err := store.EncodeJSON(b.message)
	if err != nil {
		return fmt.Errorf("encode the message: %w", err)
	}
	items, err := encodeItems(b.id, to, 0, to.Len())
	if err != nil {
		return err
	}
	var made full
	err = e.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		s := *b.spec
		s.CreatedAt = tx.Now().UnixMilli()
		made = full{id: b.id, Header: b.Header, spec: &s, message: b.message}
		return errors.Join(
			putItems(tx, items),
			store.PutJSON(tx, record.BucketSpec, b.id[:], s),
			tx.Put(record.BucketMessage, b.id[:], message),
			tx.Put(record.BucketOwner, store.Key(s.Owner, b.id), record.EncodeRow(&s)),
			tx.Put(record.BucketOpen, b.id[:], runsFor{created: r.Key}.encode()),
			tx.Delete(record.BucketCreating, b.id[:]),
			e.putWords(tx, b.id, &s),
			e.step(tx, &made, in, states, nil),
			inCommit(tx, r.InCommit, &made, states),
		)
	})
	if err == nil {
		*b = made
	}
	return err
}

func inCommit(tx *store.Tx, also func(*store.Tx, View) error, made *full, states []event.State) error {
	if also == nil {
		return nil
	}
	return also(tx, made.view(states, tx.Now()))
}

// sweepLater removes the items of a creation that failed. While the engine
// does not run, that is left to its next start.
func (e *Engine) sweepLater(id uuid.UUID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running {
		e.work.Go(func() { e.sweepAll([]uuid.UUID{id}) })
	}
}

// newItem is an item to be put, with its details if it has any.
type newItem struct{ key, raw, details []byte }

// encodeItems returns the items of the recipients from one to before another.
func encodeItems(id uuid.UUID, all mailing.Chosen, from, before int) ([]newItem, error) {
	items := make([]newItem, 0, before-from)
	keys, raw := make([]byte, 0, record.ItemKeySize*(before-from)), make([]byte, 0, 32*(before-from))
	for i := from; i < before; i++ {
		input := all.Given.At(all.Index(i))
		to, err := mailing.Phone(input)
		if err != nil {
			return nil, err
		}
		if to == input {
			to = ""
		}
		details := all.Given.DetailsAt(all.Index(i))
		if parts := all.Given.Sent[all.Index(i)]; parts != nil {
			r := record.Item{Input: input, To: to, Detailed: len(details) > 0, Parts: parts}
			raw = append(raw, r.Encode()...)
		} else {
			raw = record.AppendWaiting(raw, len(details) > 0, false, input, to)
		}
		key := len(keys)
		keys = record.AppendItemKey(keys, id, all.Base+i)
		items = append(items, newItem{slices.Clip(keys[key:]), slices.Clip(raw), details})
		raw = raw[len(raw):]
	}
	return items, nil
}

func putItems(tx *store.Tx, items []newItem) error {
	for _, item := range items {
		if err := tx.Put(record.BucketItem, item.key, item.raw); err != nil {
			return err
		}
		if len(item.details) == 0 {
			continue
		}
		if err := tx.Put(record.BucketDetails, item.key, item.details); err != nil {
			return err
		}
	}
	return nil
}

// prepare checks the request and builds the batch and its recipients. Malformed ones refuse it, or
// are appended to bad unless that is nil.
func (e *Engine) prepare(ctx context.Context, owner uuid.UUID, r CreateRequest, bad *[]Malformed) (*full, mailing.Chosen, error) {
	var none mailing.Chosen
	if err := e.validate(&r); err != nil {
		return nil, none, err
	}
	window, err := e.checkSchedule(r.Schedule)
	if err != nil {
		return nil, none, err
	}
	given := r.given()
	to, duplicates, err := e.distinct(given, make(map[uint64]struct{}, min(given.Len(), e.cfg.MaxRecipients)), bad)
	if err != nil {
		return nil, none, err
	}
	id, err := e.newID()
	if err != nil {
		return nil, none, fmt.Errorf("batch: new id: %w", err)
	}
	core := table.Core{
		Counts:     table.Counts{Total: to.Len(), Pending: to.Len()},
		AutoResume: r.AutoResume == nil || *r.AutoResume,
	}
	s := &record.Spec{
		Owner: owner, Name: r.Name, Instances: r.Instances, Options: r.Options,
		Received: given.Len(), Duplicates: duplicates, Window: window,
	}
	if r.retryOf != uuid.Nil {
		s.RetryOf = &r.retryOf
	}
	if window != nil {
		s.Schedule, s.Zone = r.Schedule, e.cfg.Location.String()
	}
	b := &full{
		id: id, spec: s,
		Header: record.Header{Core: core, Shares: make([]record.Share, len(r.Instances))},
		message: &record.Message{
			Message: r.Message, Original: r.Original, More: r.More,
			Attributes: r.ExternalAttributes, Quoted: r.Quoted,
			Templated: given.Objects || r.Options.Spin, Variables: given.Names,
		},
	}
	return b, to, e.checkContent(ctx, b, to)
}

func invalid(code string, messages ...string) error {
	return &InvalidError{Code: code, Messages: messages}
}

// validate checks everything except schedule and recipients, and converts the request to
// the form that is stored.
func (e *Engine) validate(r *CreateRequest) (err error) {
	if err := CheckName(r.Name); err != nil {
		return err
	}
	if r.Instances, err = checkInstances(r.Instances); err != nil {
		return err
	}
	if err := validateParts(r); err != nil {
		return err
	}
	if err := e.checkDelay(r.Options.Delay); err != nil {
		return err
	}
	if p := r.Options.Presence; p != "" && p != "composing" && p != "recording" && p != "paused" {
		return invalid(InvalidOptions, fmt.Sprintf("options.presence: %.100q is not one of composing, recording, paused", p))
	}
	if w := r.Options.WhenRestricted; w != "" && w != event.RestrictedKnown && w != event.RestrictedWait {
		return invalid(InvalidOptions, fmt.Sprintf("options.whenRestricted: %.100q is not one of known, wait", w))
	}
	if broken := e.checkWords(r.Options.OptOutWords); broken != "" {
		return invalid(InvalidOptions, "options.optOutWords"+broken)
	}
	if n := len(r.Options.ExternalAttributes); n > maxAttributes {
		return invalid(InvalidOptions, fmt.Sprintf("options.externalAttributes has %d bytes, at most %d are allowed", n, maxAttributes))
	}
	return validateAttributes(r)
}

// validateParts checks the messages, except what they are for each recipient.
func validateParts(r *CreateRequest) error {
	if n := 1 + len(r.More); n > MaxParts {
		return invalid(InvalidMessage, fmt.Sprintf("message has %s, at most %d are allowed", plural.Of(n, "part"), MaxParts))
	}
	r.More = slices.Clone(r.More)
	payloads := []*json.RawMessage{&r.Message.Payload}
	for i := range r.More {
		payloads = append(payloads, &r.More[i].Payload)
	}
	size := 0
	for i, p := range payloads {
		if size += len(*p); size > maxPayload {
			return invalid(InvalidMessage, fmt.Sprintf("%s.payload has %d bytes, at most %d are allowed in all", mailing.PartName(i, len(r.More) > 0), len(*p), maxPayload))
		}
		*p = compact(*p)
	}
	return nil
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

// unique drops duplicate instances.
func unique(all []record.InstanceRef) []record.InstanceRef {
	seen := make(map[int64]bool, len(all))
	var kept []record.InstanceRef
	for _, ref := range all {
		if !seen[ref.ID] {
			seen[ref.ID] = true
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
