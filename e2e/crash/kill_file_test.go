package crash

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"postern/app"
	"postern/delivery/outbox"
	"postern/event"
	"postern/store"
)

// checkWhole: whenever the program is killed, nothing in its file lacks what it needs.
func (s *siege) checkWhole() {
	report, err := store.Check(s.T.Context(), s.DataFile(), app.Buckets())
	if errors.Is(err, fs.ErrNotExist) {
		return // killed before it made one
	}
	if err != nil || len(report.Faults) > 0 {
		s.T.Errorf("the file of a program that was killed: %v, %q", err, report.Faults)
	}
}

// checkFile reads the data file of the program that ended.
func (s *siege) checkFile(batches []*listedBatch) {
	s.checkWhole()
	file, err := store.Open(store.Options{Path: s.DataFile(), Buckets: app.Buckets()})
	if err != nil {
		s.T.Fatal(err)
	}
	defer file.Close()
	err = file.View(func(tx *store.Tx) error {
		entries, err := outbox.After(tx, 0, 10_000_000)
		if err != nil {
			return err
		}
		if err := s.checkSequences(tx, entries); err != nil {
			return err
		}
		s.checkDeliveries(entries)
		s.checkHeard(entries)
		s.checkWalks(entries, batches)
		if err := s.checkLeftovers(tx, batches); err != nil {
			return err
		}
		if err := s.checkDurable(tx); err != nil {
			return err
		}
		return s.checkMessages(tx, batches)
	})
	if err != nil {
		s.T.Error(err)
	}
}

// checkSequences: each user's events are numbered from 1, and no number is
// missing but those of batches that were deleted, which the file knows.
func (s *siege) checkSequences(tx *store.Tx, entries []outbox.Entry) error {
	newest := map[uuid.UUID]uint64{}
	last := uint64(0)
	for _, e := range entries {
		if e.Seq <= last {
			s.T.Fatalf("event %d comes after %d", e.Seq, last)
		}
		last = e.Seq
		if err := s.checkHole(tx, e.Owner, newest[e.Owner], e.OwnerSeq); err != nil {
			return err
		}
		newest[e.Owner] = e.OwnerSeq
	}
	return nil
}

// checkHole: what is missing between two numbers of a user's events is one gap.
func (s *siege) checkHole(tx *store.Tx, owner uuid.UUID, before, after uint64) error {
	if after == before+1 {
		return nil
	}
	gaps, err := outbox.Gaps(tx, owner, before, 1)
	if err == nil && (len(gaps) != 1 || gaps[0] != outbox.Gap{First: before + 1, Last: after - 1}) {
		s.T.Fatalf("event %d of user %s follows %d, and the gap is %v", after, owner, before, gaps)
	}
	return err
}

// checkDeliveries: the receiver took every committed event, and never saw
// bytes that are not those of a committed event. Of a deleted batch it took all
// to the last.
func (s *siege) checkDeliveries(entries []outbox.Entry) {
	committed := map[string]bool{}
	for _, e := range entries {
		committed[string(e.Body)] = true
		s.reported[e.Kind]++
		if s.ledger.accepted[string(e.Body)] == 0 || e.State != outbox.Delivered {
			s.T.Errorf("event %d %s is %s, and the receiver took it %d times", e.Seq, e.Kind, e.State, s.ledger.accepted[string(e.Body)])
		}
	}
	final, heard := map[uuid.UUID]bool{}, map[uuid.UUID]bool{}
	for body := range s.ledger.offered {
		if committed[body] {
			continue
		}
		if !s.ofDeleted(body) {
			s.T.Errorf("the receiver was sent an event that was never committed: %s", body)
		}
		id := batchOfBody(body)
		heard[id] = true
		for _, kind := range []event.Kind{event.BatchCompleted, event.BatchCompletedWithErrors, event.BatchStopped} {
			final[id] = final[id] || s.ledger.accepted[body] > 0 && strings.Contains(body, `"`+string(kind)+`"`)
		}
	}
	for id := range heard {
		if !final[id] {
			s.T.Errorf("the receiver never heard of the end of batch %s, which was deleted", id)
		}
	}
}

// checkWalks: the events of each batch are a way through the state machine
// that ends where the batch is, with one event for each item that ended badly.
func (s *siege) checkWalks(entries []outbox.Entry, batches []*listedBatch) {
	events := map[uuid.UUID][]outbox.Entry{}
	for _, e := range entries {
		events[e.Batch] = append(events[e.Batch], e)
	}
	for _, b := range batches {
		own := events[b.ID]
		delete(events, b.ID)
		var listed []listedEvent
		for _, e := range own {
			listed = append(listed, listedEvent{e.OwnerSeq, e.Kind, outbox.Delivered})
		}
		if !slices.Equal(b.events, listed) {
			s.T.Errorf("batch %s: its events are listed as %v and are %v", b.Name, b.events, listed)
		}
		if at, err := walk(own); err != nil || len(own) > 0 && !slices.Contains(at, b.Status) {
			s.T.Errorf("batch %s is %s, its events lead to %v: %v; %v", b.Name, b.Status, at, err, kindsOf(own))
		}
		s.checkReported(b, own)
	}
	for id := range events {
		s.T.Errorf("events of batch %s, which does not exist", id)
	}
}

// checkReported: each item that ended badly was reported once, as what it is.
func (s *siege) checkReported(b *listedBatch, own []outbox.Entry) {
	reported := map[string]string{}
	for _, e := range own {
		var body struct{ Data struct{ ItemID string } }
		if json.Unmarshal(e.Body, &body) != nil || body.Data.ItemID == "" {
			continue
		}
		if reported[body.Data.ItemID] != "" {
			s.T.Errorf("batch %s: item %s is reported twice", b.Name, body.Data.ItemID)
		}
		reported[body.Data.ItemID] = strings.ToUpper(strings.TrimPrefix(string(e.Kind), "message.batch.item."))
	}
	for _, item := range b.items {
		if bad := item.Status == "FAILED" || item.Status == "UNKNOWN"; bad && reported[item.ID] != item.Status || !bad && reported[item.ID] != "" {
			s.T.Errorf("batch %s: item %s is %s, and was reported as %q", b.Name, item.ID, item.Status, reported[item.ID])
		}
	}
}

func kindsOf(entries []outbox.Entry) (all []event.Kind) {
	for _, e := range entries {
		all = append(all, e.Kind)
	}
	return all
}

// checkLeftovers: a creation that was cut off left no items.
func (s *siege) checkLeftovers(tx *store.Tx, batches []*listedBatch) error {
	known := map[string]bool{}
	for _, b := range batches {
		known[string(b.ID[:])] = true
	}
	for _, bucket := range []string{"batch", "batch_spec", "batch_message", "batch_item", "batch_attempt"} {
		lost := map[string]bool{}
		err := tx.Scan(bucket, store.Range{}, func(key, _ []byte) (bool, error) {
			if id := string(key[:16]); !known[id] {
				lost[id] = true
			}
			return true, nil
		})
		if err != nil || len(lost) > 0 {
			s.T.Errorf("%s holds records of %d batches that do not exist (%v)", bucket, len(lost), err)
		}
	}
	for _, bucket := range []string{"batch_creating", "batch_open", "batch_removing", "outbox_forget"} {
		err := tx.Scan(bucket, store.Range{}, func(key, _ []byte) (bool, error) {
			s.T.Errorf("%s still holds %x", bucket, key)
			return true, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// checkMessages: every message that a phone sent to an instance is stored
// once, and so is every message that was sent and answered.
func (s *siege) checkMessages(tx *store.Tx, batches []*listedBatch) error {
	stored := map[string]int{}
	err := tx.Scan("message", store.Range{}, func(_, value []byte) (bool, error) {
		var m struct {
			Message struct {
				Content struct{ Text, Caption string }
			}
		}
		err := json.Unmarshal(value, &m)
		stored[m.Message.Content.Text+m.Message.Content.Caption]++
		return true, err
	})
	if err != nil {
		return err
	}
	for _, in := range s.ledger.inbound {
		if stored[in.text] != 1 {
			s.T.Errorf("%s (%s) to %s is stored %d times", in.text, in.id, in.line.name, stored[in.text])
		}
	}
	for _, t := range s.ledger.texts {
		s.checkStored(t, stored[t.text])
	}
	if err := tx.Scan("processing", store.Range{}, func(key, _ []byte) (bool, error) {
		s.T.Errorf("the asynchronous send %x has not ended", key)
		return true, nil
	}); err != nil {
		return err
	}
	for _, b := range batches {
		if stored[b.Name] != b.Counts.Success {
			s.T.Errorf("batch %s sent %d messages, %d are stored", b.Name, b.Counts.Success, stored[b.Name])
		}
	}
	return nil
}

// checkStored: an edit is stored as a message, and changes the one that it is of.
func (s *siege) checkStored(t *sentText, stored int) {
	want := 1
	if strings.HasSuffix(t.asked.path, "/edit-message") {
		want = 2
	}
	reported := t.status == http.StatusOK || t.status == http.StatusAccepted && s.endOf(t) == "sent"
	if reported && stored != want && !t.changed {
		s.T.Errorf("%s was answered %d, and is stored %d times", t.text, t.status, stored)
	}
}
