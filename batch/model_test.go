package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"postern/event"
)

// life is a random sequence of calls, outcomes, outages and restarts.
type life struct {
	*rig
	rng     *rand.Rand
	batches []uuid.UUID
}

// TestNoLifeBreaksTheRules runs random lives and then checks what must hold
// whatever happened: nothing left twice, the counts are those of the items,
// every FAILED and UNKNOWN item was told once, progress only rises, and every
// batch can be brought to its end.
func TestNoLifeBreaksTheRules(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &life{rng: rand.New(rand.NewPCG(seed, 1))}
				f := newFleet(1, 2)
				f.send = l.send(rand.New(rand.NewPCG(seed, 2)), f)
				l.rig = newRig(t, f, nil)
				for range 60 {
					l.act()
				}
				l.finish()
				f.leftOnce(t)
				for _, l.batch = range l.batches {
					l.check()
				}
				l.stop()
			})
		})
	}
}

// send ends in any way, at once or after a while.
func (l *life) send(rng *rand.Rand, f *scripted) func(context.Context, int64, event.Outgoing) error {
	return func(ctx context.Context, _ int64, _ event.Outgoing) error {
		f.mu.Lock()
		n, pause := rng.IntN(20), time.Duration(rng.IntN(3))*10*time.Second
		f.mu.Unlock()
		if pause > 0 {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return event.ErrOutcomeUnknown
			}
		}
		switch n {
		case 0:
			return event.ErrSendRefused
		case 1:
			return event.ErrOutcomeUnknown
		case 2:
			return event.ErrNotConnected
		}
		return nil
	}
}

func (l *life) act() {
	l.Helper()
	switch n := l.rng.IntN(12); {
	case n == 0 || len(l.batches) == 0:
		req := request(1 + l.rng.IntN(12))
		req.Options.Delay.MaxMs = int64(l.rng.IntN(2) * l.rng.IntN(60_000))
		auto := l.rng.IntN(4) > 0
		req.AutoResume = &auto
		for i, to := range req.Recipients {
			req.Recipients[i] = fmt.Sprintf("%s%03d", to[:4]+to[10:], len(l.batches))
		}
		l.create(req)
		l.batches = append(l.batches, l.batch)
	case n < 6:
		id := l.batches[l.rng.IntN(len(l.batches))]
		call := []func(context.Context, uuid.UUID, uuid.UUID) (View, error){l.e.Pause, l.e.StartBatch, l.e.Pause, l.e.StartBatch, l.e.StopBatch}[l.rng.IntN(5)]
		if _, err := call(l.Context(), owner, id); err != nil && !errors.Is(err, ErrInvalidTransition) {
			l.Fatal(err)
		}
	case n < 8:
		states := []event.State{event.Online, event.Online, event.Reconnecting}
		l.f.set(l.e, int64(1+l.rng.IntN(2)), states[l.rng.IntN(3)])
	case n == 8:
		l.crash()
		l.boot()
	case n == 9:
		l.stop()
		l.boot()
	default:
		time.Sleep(time.Duration(l.rng.IntN(40)) * time.Second)
	}
}

// finish brings all instances back and starts whatever needs a call.
func (l *life) finish() {
	l.Helper()
	for range 3 {
		l.f.set(l.e, 1, event.Online)
		l.f.set(l.e, 2, event.Online)
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		for _, l.batch = range l.batches {
			if s := l.view().Status; s == paused || s == interr {
				l.do(l.e.StartBatch)
			}
		}
	}
	for _, l.batch = range l.batches {
		if v := l.view(); !Final(v.Status) {
			l.Errorf("a batch ends as %s with %+v", v.Status, v.Counts)
		}
	}
}

func (l *life) check() {
	l.Helper()
	var c Counts
	bad := 0
	for _, i := range l.items() {
		c.Total++
		switch i.Status {
		case ItemPending:
			c.Pending++
		case ItemSending:
			c.Sending++
		case ItemSuccess:
			c.Success++
		case ItemFailed:
			c.Failed++
			bad++
		case ItemSkipped:
			c.Skipped++
		case ItemUnknown:
			c.Unknown++
			bad++
		}
		if n := l.f.sent[i.NormalizedRecipient+"@"+event.UserServer]; i.Status == ItemSuccess && n != 1 || i.Status == ItemPending && n != 0 {
			l.Errorf("item %d is %s and left %d times", i.Position, i.Status, n)
		}
	}
	v := l.view()
	if want := counts(c); v.Counts.Total != want.Total || v.Counts.Pending != want.Pending || v.Counts.Sending != want.Sending ||
		v.Counts.Success != want.Success || v.Counts.Failed != want.Failed || v.Counts.Unknown != want.Unknown {
		l.Errorf("counts %+v, items %+v", v.Counts, c)
	}
	percent := 0
	for _, e := range l.entries() {
		var body struct {
			Data struct{ Batch struct{ Progress int } }
		}
		switch e.Kind {
		case event.BatchItemFailed, event.BatchItemUnknown:
			bad--
		case event.BatchProgress:
			if err := json.Unmarshal(e.Body, &body); err != nil || body.Data.Batch.Progress <= percent {
				l.Errorf("progress %d after %d (%v)", body.Data.Batch.Progress, percent, err)
			}
			percent = body.Data.Batch.Progress
		default:
		}
	}
	if bad != 0 {
		l.Errorf("%d failed or unknown items were not told", bad)
	}
}
