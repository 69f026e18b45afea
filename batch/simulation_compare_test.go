package batch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"postern/batch/record"
	"postern/delivery/outbox"
	"postern/event"
	"postern/store"
)

// compare reports how a batch differs from its model: its view, its items with
// their attempts, its fencing number and the events that it reported since.
func (s *sim) compare(m *modelBatch) error {
	if m.wrong != "" {
		return errors.New(m.wrong)
	}
	if err := s.compareEvents(m, s.entries[m.id]); err != nil {
		return err
	}
	if m.gone {
		return s.compareGone(m)
	}
	seen := s.see(m)
	if want := m.view(); !reflect.DeepEqual(seen.view, want) {
		return fmt.Errorf("it reads %s", difference(seen.view, want))
	}
	if len(seen.items) != len(m.items) {
		return fmt.Errorf("it has %d items, want %d", len(seen.items), len(m.items))
	}
	for at, item := range seen.items {
		if err := withoutTexts(&item); err != nil {
			return fmt.Errorf("item %d: %w", at, err)
		}
		if want := m.item(at); !reflect.DeepEqual(item, want) {
			return fmt.Errorf("item %d reads %s", at, difference(item, want))
		}
	}
	return s.compareHeader(m)
}

// withoutTexts removes the texts of errors, which are free, but must be there
// where there is a code.
func withoutTexts(item *ItemWithAttempts) error {
	if item.LastErrorCode != nil && item.LastErrorMessage == nil {
		return errors.New("an error code without a message")
	}
	item.LastErrorMessage = nil
	for n := range item.Attempts {
		item.Attempts[n].ErrorMessage = nil
	}
	return nil
}

// compareHeader looks at what no reader is shown: the fencing number, and
// whether the batch is still in the list of open ones.
func (s *sim) compareHeader(m *modelBatch) error {
	return s.proc.store.View(func(tx *store.Tx) error {
		h, err := record.LoadHeader(tx, m.id)
		if err != nil {
			return err
		}
		if h.Fence != m.fence {
			return fmt.Errorf("fencing number %d, want %d", h.Fence, m.fence)
		}
		final := slices.Contains(in(stopped, complete, witherr), m.status)
		if tx.Has(record.BucketOpen, m.id[:]) == final {
			return fmt.Errorf("%s and listed as open: %t", m.status, !final)
		}
		return nil
	})
}

func (s *sim) compareEvents(m *modelBatch, got []outbox.Entry) error {
	var reported, owed []event.Kind
	for _, e := range got {
		reported = append(reported, e.Kind)
	}
	for _, e := range m.events {
		owed = append(owed, e.kind)
	}
	if !slices.Equal(reported, owed) {
		return fmt.Errorf("it reported %q, want %q", names(reported), names(owed))
	}
	for n, e := range m.events {
		err := schemas.Check(got[n].Kind, got[n].Body)
		if err == nil {
			err = e.compare(got[n])
		}
		if err != nil {
			return fmt.Errorf("%s: %w", e.kind, err)
		}
		if got[n].Owner != m.spec.owner {
			return fmt.Errorf("%s belongs to %s", e.kind, got[n].Owner)
		}
	}
	return nil
}

// compare holds an entry against the event that the rules ask for, byte for
// byte.
func (e modelEvent) compare(got outbox.Entry) error {
	data := e.data
	if data == nil {
		var body struct{ Data event.BatchItemData }
		if err := json.Unmarshal(got.Body, &body); err != nil {
			return err
		}
		if body.Data.Error.Message == "" {
			return errors.New("no text of the error")
		}
		item := e.item
		item.Error.Message = body.Data.Error.Message
		data = item
	}
	want, err := event.MarshalBatch(e.kind, data, e.at)
	if err == nil && !bytes.Equal(got.Body, want) {
		err = fmt.Errorf("body\n got %s\nwant %s", got.Body, want)
	}
	return err
}

// difference shows two values in JSON.
func difference(got, want any) string {
	g, _ := json.Marshal(got)
	w, _ := json.Marshal(want)
	return fmt.Sprintf("\n got %s\nwant %s", g, w)
}

// compareSends reports whether the network waits for exactly those sends that
// the models have in flight, and whether it saw a send that may not be.
func (s *sim) compareSends() {
	s.net.change(func() { s.must(s.net.broken, "a send") })
	calls := s.net.live(s.proc)
	flights := 0
	for _, m := range s.batches {
		if m.flight == nil {
			continue
		}
		flights++
		at := slices.IndexFunc(calls, func(c *simCall) bool { return c.out.ID == m.flight.id })
		if at < 0 {
			s.fail("batch %d: item %d is SENDING and no send is on its way", m.spec.number, m.current)
		}
		s.compareSend(m, calls[at])
	}
	if len(calls) != flights {
		s.fail("%d sends are on their way, the models have %d", len(calls), flights)
	}
}

// compareSend reports whether a send is what its batch asked for.
func (s *sim) compareSend(m *modelBatch, c *simCall) {
	tries := m.items[m.current].tries
	if c.out.To != m.spec.recipients[m.current]+"@"+event.UserServer || c.instance != tries[len(tries)-1].instance ||
		!c.began.Equal(m.flight.began) {
		s.fail("batch %d: item %d is sent from %d to %s at %s", m.spec.number, m.current, c.instance, c.out.To, c.began)
	}
	if text := c.out.Content.Text; text == nil || text.Text != m.spec.textOf(m.current, len(m.items[m.current].sent)) || string(c.out.Presence) != m.spec.request.Options.Presence {
		s.fail("batch %d sends %+v", m.spec.number, c.out)
	}
}

// compareAll compares every batch, also those that must not have changed.
func (s *sim) compareAll() {
	s.observe()
	for _, m := range s.all {
		s.must(s.compare(m), fmt.Sprintf("batch %d, at the end", m.spec.number))
		s.tally.Comparisons++
	}
}
