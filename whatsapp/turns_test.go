package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"postern/event"
)

// crowd makes sends of each kind wait for their turns, in this order, behind a running
// one, and returns the order of their turns.
func crowd(t *testing.T, kinds ...event.Sender) string {
	t.Helper()
	var came []string
	synctest.Test(t, func(t *testing.T) {
		var ts turns
		var mu sync.Mutex
		if err := ts.take(t.Context(), event.ByCall); err != nil {
			t.Fatal(err)
		}
		numbers := map[event.Sender]int{}
		for _, by := range kinds {
			numbers[by]++
			name := fmt.Sprint([]string{"call", "queue", "batch"}[by], numbers[by])
			go func() {
				if ts.take(t.Context(), by) == nil {
					mu.Lock()
					came = append(came, name)
					mu.Unlock()
					time.Sleep(time.Second)
					ts.pass()
				}
			}()
			synctest.Wait()
		}
		ts.pass()
		time.Sleep(time.Minute)
	})
	return strings.Join(came, " ")
}

func TestTurnsAreFairAmongKinds(t *testing.T) {
	const c, q, b = event.ByCall, event.ByQueue, event.ByBatch
	for _, row := range []struct {
		kinds []event.Sender
		want  string
	}{
		{[]event.Sender{c, c, c}, "call1 call2 call3"},
		{[]event.Sender{b, b, b, b, c, c}, "batch1 call1 batch2 call2 batch3 batch4"},
		{[]event.Sender{c, c, c, c, b, q}, "queue1 batch1 call1 call2 call3 call4"},
		{[]event.Sender{b, b, q, q, c, c}, "queue1 batch1 call1 queue2 batch2 call2"},
	} {
		if got := crowd(t, row.kinds...); got != row.want {
			t.Errorf("%v came as %s, want %s", row.kinds, got, row.want)
		}
	}
}

func TestCancelledWaitLosesNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ts turns
		if err := ts.take(t.Context(), event.ByBatch); err != nil {
			t.Fatal(err)
		}
		gone := errors.New("gone")
		came := 0
		for i := range 100 {
			go func() {
				ctx, cancel := context.WithTimeoutCause(t.Context(), time.Duration(i)*time.Second, gone)
				defer cancel()
				if err := ts.take(ctx, event.Sender(i%int(event.Senders))); err != nil {
					if !errors.Is(err, gone) {
						t.Error(err)
					}
					return
				}
				came++
				time.Sleep(time.Second)
				ts.pass()
			}()
		}
		time.Sleep(50*time.Second + time.Millisecond)
		ts.pass()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		// One a second has its turn, and one a second leaves: 25 have one even when those
		// who could wait longest arrived first.
		if came < 25 || ts.taken {
			t.Errorf("%d had a turn; taken at the end: %t", came, ts.taken)
		}
	})
}

func TestTurnDuringCancellationIsPassedOn(t *testing.T) {
	for range 200 {
		var ts turns
		_ = ts.take(t.Context(), event.ByCall)
		ctx, cancel := context.WithCancel(t.Context())
		first := make(chan error, 1)
		go func() { first <- ts.take(ctx, event.ByCall) }()
		go cancel()
		ts.pass()
		if <-first == nil {
			ts.pass()
		}
		free, done := context.WithTimeout(t.Context(), 20*time.Second)
		if err := ts.take(free, event.ByBatch); err != nil {
			t.Fatal("the turn is lost")
		}
		done()
	}
}
