package batch

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"postern/event"
)

// spacing is a fleet that leaves time between two messages of an instance, and
// counts the places that batches have.
type spacing struct {
	*scripted
	place sync.Mutex
	gap   time.Duration
	next  map[int64]time.Time
	sends []time.Time
	held  map[uuid.UUID]int64
}

func (f *spacing) Gate(q Question) Gate {
	f.place.Lock()
	defer f.place.Unlock()
	f.held[q.Batch] = q.Instance
	return Gate{After: f.next[q.Instance]}
}

func (f *spacing) letGo(id uuid.UUID) {
	f.place.Lock()
	defer f.place.Unlock()
	delete(f.held, id)
}

func newSpacing(gap time.Duration, instances ...int64) *spacing {
	f := &spacing{scripted: newFleet(instances...), gap: gap, next: map[int64]time.Time{}, held: map[uuid.UUID]int64{}}
	return f
}

func (f *spacing) left(instance int64) {
	f.place.Lock()
	defer f.place.Unlock()
	f.sends = append(f.sends, time.Now())
	f.next[instance] = time.Now().Add(f.gap)
}

// TestBatchRespectsTheInstanceJitter and takes another one that
// is ready: it waits for no instance meanwhile, nothing is SENDING that does not
// leave, and no place stays taken at the end.
func TestBatchRespectsTheInstanceJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newSpacing(10*time.Second, 1, 2)
		r := newSpacedRig(t, f)
		begin := time.Now()
		r.create(request(6))
		time.Sleep(5 * time.Second)
		v := r.status(event.BatchProcessing)
		if v.Counts.Success != 2 || v.Counts.Sending != 0 {
			t.Errorf("between two messages: %+v", v.Counts)
		}
		time.Sleep(time.Minute)
		r.status(event.BatchIsCompleted)
		for i, at := range f.sends {
			if want := time.Duration(i/2) * f.gap; at.Sub(begin).Round(time.Second) != want {
				t.Errorf("message %d left after %s, not %s", i, at.Sub(begin), want)
			}
		}
		f.place.Lock()
		defer f.place.Unlock()
		if len(f.held) > 0 {
			t.Errorf("places are held: %v", f.held)
		}
		r.stop()
	})
}

// TestAPauseEndsTheTimeBetweenTwoMessages at once.
func TestAPauseEndsTheTimeBetweenTwoMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newSpacing(time.Hour, 1)
		r := newSpacedRig(t, f)
		r.create(request(3))
		synctest.Wait()
		r.do(r.e.Pause)
		r.status(event.BatchIsPaused)
		r.stop()
	})
}

func newSpacedRig(t *testing.T, f *spacing) *rig {
	t.Helper()
	f.send = func(_ context.Context, instance int64, _ event.Outgoing) error {
		f.left(instance)
		return nil
	}
	return newRig(t, f.scripted, func(c *Config) { c.Fleet, c.LetGo = f, f.letGo })
}
