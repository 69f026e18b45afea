package batch

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"

	"postern/event"
)

// limited returns a rig that takes most unfinished batches of a user, and whose
// instance is offline, so that a batch ends only by being stopped.
func limited(t *testing.T, most int) *rig {
	f := newFleet(1)
	f.states[1] = event.Offline
	return newRig(t, f, func(c *Config) { c.MaxOpen = most })
}

// created tries to create a batch of a user.
func (r *rig) created(owner uuid.UUID, change func(*CreateRequest)) (View, error) {
	req := request(1)
	if change != nil {
		change(&req)
	}
	return r.e.Create(r.Context(), owner, req)
}

func TestMaxOpenLimitsUnfinishedBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := limited(t, 3)
		no := false
		r.create(request(1))
		draft, err := r.created(owner, func(c *CreateRequest) { c.AutoStart = &no })
		if err != nil {
			t.Fatal(err)
		}
		// Of these none counts: they were never created.
		for _, change := range []func(*CreateRequest){
			func(c *CreateRequest) { c.Name = "" },
			func(c *CreateRequest) { c.Recipients = nil },
		} {
			if _, err := r.created(owner, change); errors.Is(err, ErrTooManyOpen) || err == nil {
				t.Errorf("a bad one: %v", err)
			}
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := r.e.Create(gone, owner, request(chunk+1)); err == nil || errors.Is(err, ErrTooManyOpen) {
			t.Errorf("one that was given up: %v", err)
		}
		paused, err := r.created(owner, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.e.Pause(t.Context(), owner, paused.ID); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, err := r.created(owner, nil); !errors.Is(err, ErrTooManyOpen) {
			t.Errorf("the fourth beside one that waits, a draft and a paused one: %v", err)
		}
		if _, err := r.created(uuid.New(), nil); err != nil {
			t.Errorf("another user: %v", err)
		}
		if _, err := r.e.StopBatch(t.Context(), owner, draft.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := r.created(owner, nil); err != nil {
			t.Errorf("after one was stopped: %v", err)
		}
		if _, err := r.created(owner, nil); !errors.Is(err, ErrTooManyOpen) {
			t.Errorf("and one more: %v", err)
		}
		r.f.set(r.e, 1, event.Online)
		synctest.Wait() // two complete, one is paused
		for i, want := range []bool{true, true, false} {
			no := false // drafts stay
			if _, err := r.created(owner, func(c *CreateRequest) { c.AutoStart = &no }); (err == nil) != want {
				t.Errorf("draft %d after two completed: %v", i+1, err)
			}
		}
		r.stop()
	})
}

// TestUnfinishedBatchesCountAfterARestart also those that were found finished.
func TestUnfinishedBatchesCountAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := limited(t, 2)
		first := r.create(request(1))
		r.create(request(1))
		synctest.Wait()
		r.crash()
		r.boot()
		synctest.Wait()
		if _, err := r.created(owner, nil); !errors.Is(err, ErrTooManyOpen) {
			t.Errorf("after a crash: %v", err)
		}
		if _, err := r.e.StopBatch(t.Context(), owner, first.ID); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, err := r.created(owner, nil); err != nil {
			t.Errorf("after one ended: %v", err)
		}
		r.stop()
	})
}

func TestConcurrentCreationsRespectTheLimit(t *testing.T) {
	r := limited(t, 10)
	var made atomic.Int64
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if _, err := r.created(owner, nil); err == nil {
				made.Add(1)
			} else if !errors.Is(err, ErrTooManyOpen) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if made.Load() != 10 {
		t.Errorf("%d were created", made.Load())
	}
	r.stop()
}
