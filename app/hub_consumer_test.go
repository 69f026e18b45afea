package app

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nhooyr.io/websocket"

	"postern/event"
	"postern/wsbus"
)

// follower reads a user's events as the documentation advises: with event=*,
// counting, and asking again for what comes after its count.
type follower struct {
	s        *socketRig
	position uint64
	got      []string
}

// session connects, reads up to n messages, not all of them at once, and goes
// away without a word or with one. It may be sent away for being slow, as happens
// to anyone on a busy machine.
func (c *follower) session(ctx context.Context, n int) error {
	conn, _, err := c.s.dial(fmt.Sprintf("/ws/global/events?event=*&since=%d", c.position), c.s.user)
	if err != nil {
		return err
	}
	defer conn.CloseNow()
	for range n {
		_, body, err := conn.Read(ctx)
		if ctx.Err() != nil {
			return nil // no more for the moment
		}
		if websocket.CloseStatus(err) == wsbus.CodeSlow {
			return nil
		}
		if err != nil {
			return fmt.Errorf("after %d: %w", c.position, err)
		}
		c.position++
		c.got = append(c.got, string(body))
	}
	if rand.IntN(2) == 0 {
		_ = conn.Close(websocket.StatusNormalClosure, "")
	}
	return nil
}

// TestReconnectingConsumerGetsEachEventOnce offers events
// in commits of any size and any rhythm, while consumers come and go at random.
func TestReconnectingConsumerGetsEachEventOnce(t *testing.T) {
	s := newSockets(t)
	kinds := []event.Kind{event.BatchCreated, event.BatchStarted, event.BatchProgress, event.BatchItemFailed, event.BatchPaused, event.BatchCompleted}
	var made atomic.Bool
	var work sync.WaitGroup
	defer work.Wait()
	work.Go(func() {
		defer made.Store(true)
		for range 300 {
			burst := make([]event.Kind, 1+rand.IntN(1<<rand.IntN(6)))
			for i := range burst {
				burst[i] = kinds[rand.IntN(len(kinds))]
			}
			s.emit(burst...)
		}
	})
	consumers := make([]*follower, 6)
	var reading sync.WaitGroup
	for i := range consumers {
		c := &follower{s: s}
		consumers[i] = c
		reading.Go(func() {
			for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
				pause, n := time.Duration(1+rand.IntN(100))*time.Millisecond, rand.IntN(200)
				if made.Load() { // all that is left, as far as it comes
					pause, n = 20*time.Second, len(s.bodies())-int(c.position)
					if n == 0 {
						return
					}
				}
				ctx, cancel := context.WithTimeout(t.Context(), pause)
				err := c.session(ctx, n)
				cancel()
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	reading.Wait()
	want := s.bodies()
	for i, c := range consumers {
		if len(c.got) != len(want) {
			t.Errorf("consumer %d got %d of %d events", i, len(c.got), len(want))
			continue
		}
		for n := range want {
			if c.got[n] != want[n] {
				t.Errorf("consumer %d, event %d: got %s, want %s", i, n+1, c.got[n], want[n])
				break
			}
		}
	}
}

func TestAPositionOutlivesTheProgram(t *testing.T) {
	s := newSockets(t)
	s.emit(event.BatchCreated, event.BatchStarted, event.BatchProgress)
	c := &follower{s: s}
	if err := c.session(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.run(s.cfg, s.sec)
	s.emit(event.BatchProgress, event.BatchCompleted)
	if err := c.session(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	if want := s.bodies(); !slices.Equal(c.got, want) {
		t.Errorf("got %q, want %q", c.got, want)
	}
}
