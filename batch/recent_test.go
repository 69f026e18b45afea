package batch

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"

	"postern/batch/record"
	"postern/event"
	"postern/store"
)

// standing returns a fleet whose send to the recipient at position waits for
// the end of the test.
func standing(r CreateRequest, position int) *scripted {
	f := newFleet(1)
	f.send = func(ctx context.Context, _ int64, out event.Outgoing) error {
		if out.To != r.Recipients[position]+"@"+event.UserServer {
			return nil
		}
		<-ctx.Done()
		return event.ErrOutcomeUnknown
	}
	return f
}

// inFile returns how many items say SUCCESS in their own bucket, and how many
// the header holds.
func (r *rig) inFile() (settled, held int) {
	r.Helper()
	err := r.s.View(func(tx *store.Tx) error {
		h, err := record.LoadHeader(tx, r.batch)
		held = len(h.Recent)
		return errors.Join(err, tx.Scan(record.BucketItem, store.Range{Prefix: r.batch[:]}, func(_, raw []byte) (bool, error) {
			item, err := record.DecodeItem(raw)
			if item.Status == record.ItemSuccess {
				settled++
			}
			return true, err
		}))
	})
	if err != nil {
		r.Fatal(err)
	}
	return settled, held
}

func (r *rig) successes() int {
	r.Helper()
	n := 0
	for _, i := range r.items() {
		if i.Status == record.ItemSuccess {
			n++
		}
	}
	return n
}

func TestReadersSeeTheNewestItemRecords(t *testing.T) {
	const reached = 2*maxRecent + 3
	synctest.Test(t, func(t *testing.T) {
		req := request(30)
		r := newRig(t, standing(req, reached), nil)
		r.create(req)
		v := r.status(process)
		settled, held := r.inFile()
		since := (reached + int(r.batch[15])) % maxRecent // its last turn
		if held != since+1 || settled+held != reached+1 {
			t.Fatalf("%d items in their bucket, %d in the header; want %d, and %d together", settled, held, since+1, reached+1)
		}
		items := r.items()
		if got := r.successes(); got != reached || v.Counts.Success != reached || items[reached].Status != record.ItemSending {
			t.Errorf("%d items read SUCCESS, %d counted, want %d; the next is %s", got, v.Counts.Success, reached, items[reached].Status)
		}
		attempts, err := r.e.Attempts(owner, r.batch, ItemFilter{Status: []string{"SUCCESS"}}, Page{Limit: 200})
		if err != nil || len(attempts.Records) != reached {
			t.Errorf("%d attempts, %v", len(attempts.Records), err)
		}
		last, err := r.e.Item(owner, r.batch, items[reached-1].ID)
		if err != nil || last.Status != record.ItemSuccess || len(last.Attempts) != 1 {
			t.Errorf("the last item reads %+v, %v", last, err)
		}
		r.stop()
	})
}

func TestItemsInTheHeaderSurviveACrash(t *testing.T) {
	const reached = maxRecent + 4
	synctest.Test(t, func(t *testing.T) {
		req, no := request(20), false
		req.AutoResume = &no
		r := newRig(t, standing(req, reached), nil)
		r.create(req)
		r.status(process)
		r.crash()
		r.boot()
		r.status(event.BatchIsInterrupted)
		if got := r.successes(); got != reached || r.items()[reached].Status != record.ItemUnknown {
			t.Errorf("%d items are SUCCESS, want %d; the next is %s", got, reached, r.items()[reached].Status)
		}
		if settled, held := r.inFile(); settled != reached || held != 0 {
			t.Errorf("%d items in their bucket, %d in the header", settled, held)
		}
		r.stop()
	})
}

// TestHeaderItemsMoveAtDifferentTimes looks at each position of
// batches that share their commits.
func TestHeaderItemsMoveAtDifferentTimes(t *testing.T) {
	last := map[byte]int{}
	for position := range 3 * maxRecent {
		moving := 0
		for id := range byte(maxRecent) {
			b := full{id: uuid.UUID{15: id}, Header: record.Header{Current: position}}
			if !b.turn() {
				continue
			}
			moving++
			if before, ok := last[id]; ok && position-before != maxRecent {
				t.Errorf("batch %d has its turns at %d and %d", id, before, position)
			}
			last[id] = position
		}
		if moving != 1 {
			t.Errorf("at position %d, %d of %d batches move their items", position, moving, maxRecent)
		}
	}
}
