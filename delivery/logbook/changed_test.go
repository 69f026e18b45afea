package logbook

import (
	"context"
	"sync"
	"testing"
	"time"

	"postern/delivery"
	"postern/event"
	"postern/store"
)

// TestChangedRecordsArePublishedAfterTheCommit covers both flows. By then the
// row of the record is in the file.
func TestChangedRecordsArePublishedAfterTheCommit(t *testing.T) {
	var mu sync.Mutex
	var told []delivery.Changed
	var r *rig
	r = newRig(t, options{Log: true, Changed: func(all []delivery.Changed) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, all...)
		for _, c := range all { // Changed must not read the store; the test does, to see that the commit is over
			if rows, err := r.log.Rows([]uint64{c.ID}); err != nil || len(rows) != 1 {
				t.Errorf("told of %d, which is not in the file: %v", c.ID, err)
			}
		}
	}})
	news := func() (all []delivery.Changed) {
		mu.Lock()
		defer mu.Unlock()
		all, told = told, nil
		return all
	}
	e := r.emit(event.About{}, hook(event.OrderNone))
	first := news()
	if len(first) != 1 || first[0] != (delivery.Changed{ID: e.To[0].Due.Record, Instance: "shop"}) {
		t.Fatalf("a new one is told as %+v", first)
	}
	r.update(func(tx *store.Tx) error {
		_, _, err := r.l.Settle(tx, first[0].ID, delivery.Attempt{StartedAt: time.Now(), Status: 200}, true, time.Time{})
		return err
	})
	if again := news(); len(again) != 1 || again[0].ID != first[0].ID {
		t.Errorf("its end is told as %+v", again)
	}
	n := event.Notice{Kind: event.MessagesUpsert, InstanceID: 1, InstanceName: "shop", Body: []byte("{}")}
	for range 3 {
		r.log.Queued(n, event.Destination{Target: event.TargetGlobal, URL: "http://a.example"}).Done(delivery.Delivered, delivery.Attempt{StartedAt: time.Now(), Status: 200})
	}
	if early := news(); len(early) != 0 {
		t.Errorf("told before it is in the file: %+v", early)
	}
	if err := r.log.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	three := news()
	var ids []uint64
	for _, c := range three {
		if !c.Global || c.Instance != "shop" {
			t.Errorf("one to the global webhook is told as %+v", c)
		}
		ids = append(ids, c.ID)
	}
	rows, err := r.log.Rows(append(ids, 999_999))
	if err != nil || len(ids) != 3 || len(rows) != 3 || rows[2].ID != ids[2] || rows[2].State != delivery.Delivered {
		t.Errorf("the rows of %v are %+v, %v", ids, rows, err)
	}
}
