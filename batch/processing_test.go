package batch

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"postern/batch/record"
	"postern/event"
	"postern/store"
)

func TestProcessingListsItemsWithAttemptsInOrder(t *testing.T) {
	const n = 2*partSize + 30
	f := newFleet(1, 2)
	f.send = func(_ context.Context, _ int64, out event.Outgoing) error {
		if out.To == request(n).Recipients[partSize]+"@"+event.UserServer {
			return event.ErrSendRefused
		}
		return nil
	}
	bubble(t, f, func(r *rig) {
		r.create(request(n))
		v := r.status(event.BatchIsWithErrors)
		seen, parts, err := r.e.Processing(owner, r.batch)
		if err != nil || seen.ID != v.ID || seen.Counts.Total != n {
			t.Fatalf("got %+v, %v", seen, err)
		}
		next := 0
		for part, err := range parts {
			if err != nil || len(part) > partSize {
				t.Fatalf("a part of %d, %v", len(part), err)
			}
			for _, item := range part {
				single, err := r.e.Item(owner, r.batch, item.ID)
				if err != nil || item.Position != next || len(item.Attempts) != 1 || single.Attempts[0].Status != item.Attempts[0].Status {
					t.Fatalf("item %d is %+v, alone %+v, %v", next, item, single, err)
				}
				next++
			}
		}
		if next != n {
			t.Errorf("%d items of %d", next, n)
		}
	})
}

// TestProcessingShowsTheStateWhenRead holds the batch in
// its second part while a reader has the first, and lets it go on before the
// reader asks for more.
func TestProcessingShowsTheStateWhenRead(t *testing.T) {
	const n, stuck = 2*partSize + 30, partSize + 10
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		f := newFleet(1)
		f.send = func(ctx context.Context, _ int64, out event.Outgoing) error {
			if out.To == request(n).Recipients[stuck]+"@"+event.UserServer {
				<-release
			}
			return nil
		}
		r := newRig(t, f, nil)
		r.create(request(n))
		r.status(process)
		v, parts, err := r.e.Processing(owner, r.batch)
		if err != nil || v.Counts.Success != stuck {
			t.Fatalf("%+v, %v", v.Counts, err)
		}
		sent := 0
		for part, err := range parts {
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range part {
				if item.Status == record.ItemSuccess {
					sent++
				}
			}
			if part[0].Position == 0 {
				close(release)
				r.status(event.BatchIsCompleted)
			}
		}
		if sent != n {
			t.Errorf("%d of %d items are sent; the later parts are as old as the first", sent, n)
		}
		r.stop()
	})
}

func TestSlowProcessingReaderHoldsNoTransaction(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "b.db"))
	e, err := New(Config{Store: s, Outbox: openOutbox(t, s), Fleet: newFleet(), NewMessageID: uuid.NewString})
	if err != nil {
		t.Fatal(err)
	}
	v, err := e.Create(t.Context(), owner, request(2*partSize))
	if err != nil {
		t.Fatal(err)
	}
	_, parts, err := e.Processing(owner, v.ID)
	if err != nil {
		t.Fatal(err)
	}
	var last error
	for part, err := range parts {
		if last = err; len(part) == 0 {
			continue
		}
		closed := make(chan error)
		go func() { closed <- s.Close() }() // waits for every open transaction
		select {
		case err := <-closed:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("the file cannot be closed while a reader has a part")
		}
	}
	if !errors.Is(last, store.ErrClosed) {
		t.Errorf("the sequence ended with %v", last)
	}
}

func TestProcessingOfAnothersBatchIsNotFound(t *testing.T) {
	bubble(t, newFleet(), func(r *rig) {
		r.create(request(1))
		if _, _, err := r.e.Processing(uuid.New(), r.batch); !errors.Is(err, ErrNotFound) {
			t.Errorf("got %v", err)
		}
	})
}
