package wsbus

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"nhooyr.io/websocket"

	"postern/event"
)

// closing reads until the connection ends and returns the messages and the end.
func closing(t testing.TB, conn *websocket.Conn) (read []string, end websocket.CloseError) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for {
		_, body, err := conn.Read(ctx)
		if errors.As(err, &end) {
			return read, end
		}
		if err != nil {
			t.Fatal(err)
		}
		read = append(read, string(body))
	}
}

// wantSentBack wants the connection to end with 4008 and the position.
func wantSentBack(t testing.TB, conn *websocket.Conn, position string) {
	t.Helper()
	if got, end := closing(t, conn); len(got) > 0 || end.Code != CodeSlow || end.Reason != position {
		t.Errorf("read %.40q, closed with %d %q, want 4008 %q", got, end.Code, end.Reason, position)
	}
}

func TestUnnumberedEventSendsLiveCounterBack(t *testing.T) {
	w := newWorld(t, Config{})
	stored := w.kept.store(3)
	counting, plain := w.dial(t, "/durable?since=1"), w.dial(t, "/durable")
	wantEvents(t, counting, stored[1:])
	live := w.kept.store(2)
	w.tell(live...)
	wantEvents(t, counting, live)
	wantEvents(t, plain, live)
	w.tellUnstored("fallback")
	wantSentBack(t, counting, "5")
	if got := read(t, plain); got != "fallback" {
		t.Errorf("a client without since got %q", got)
	}
	after := w.kept.store(1)
	w.tell(after...)
	wantEvents(t, w.dial(t, "/durable?since=5"), after)
	wantEvents(t, plain, after)
	if _, slow := w.hub.Stats(); slow != 0 {
		t.Errorf("%d clients count as slow", slow)
	}
}

func TestUnnumberedEventAtOnceAfterUpgrade(t *testing.T) {
	w := newWorld(t, Config{})
	w.kept.store(4)
	conn := w.dial(t, "/durable?since=4")
	w.tellUnstored("first")
	w.tellUnstored("second")
	wantSentBack(t, conn, "4")
	wantSentBack(t, func() *websocket.Conn {
		again := w.dial(t, "/durable?since=4")
		w.tellUnstored("third")
		return again
	}(), "4")
}

func TestUnnumberedEventBeforeUpgradeCompletes(t *testing.T) {
	w := newWorld(t, Config{})
	stored := w.kept.store(4)
	w.check = sync.OnceValue(func() error { // the client is registered by now
		w.tellUnstored("in between")
		return nil
	})
	wantSentBack(t, w.dial(t, "/durable?since=2"), "2")
	wantEvents(t, w.dial(t, "/durable?since=2"), stored[2:])
}

func TestUnnumberedEventDuringReplayLeavesNoGap(t *testing.T) {
	w := newWorld(t, Config{})
	stored := w.kept.store(150)
	for i := range stored {
		stored[i].Body = []byte(strings.Repeat(strconv.Itoa(i%10), 256<<10))
	}
	conn := w.dial(t, "/durable?since=1")
	wantEvents(t, conn, stored[1:2])
	w.tellUnstored("fallback")
	got, end := closing(t, conn)
	position, err := strconv.Atoi(end.Reason)
	if err != nil || end.Code != CodeSlow || position != 2+len(got) {
		t.Fatalf("%d messages after position 2, then closed with %d %q", len(got), end.Code, end.Reason)
	}
	wantEvents(t, w.dial(t, "/durable?since="+end.Reason), stored[position:])
}

// What waits behind a message that the client has not taken yet is at or after the position.
func TestUnnumberedEventLeavesQueueAfterPosition(t *testing.T) {
	w := newWorld(t, Config{})
	w.kept.store(1)
	conn := w.dial(t, "/durable?since=1")
	waitFor(t, "a live client", w.live)
	stored := w.kept.store(3)
	for i := range stored {
		stored[i].Body = bytes.Repeat([]byte{'a' + byte(i)}, 16<<20) // more than the sockets hold
	}
	w.tell(stored...)
	w.tellUnstored("fallback")
	got, end := closing(t, conn)
	if len(got) == len(stored) || end.Code != CodeSlow || end.Reason != strconv.Itoa(1+len(got)) {
		t.Fatalf("%d messages after position 1, then closed with %d %q", len(got), end.Code, end.Reason)
	}
	wantEvents(t, w.dial(t, "/durable?since="+end.Reason), stored[len(got):])
}

func TestUnnumberedEventOfOtherKindLeavesClientAlone(t *testing.T) {
	w := newWorld(t, Config{})
	w.kinds = []event.Kind{event.CallUpsert}
	w.kept.store(3)
	conn := w.dial(t, "/durable?since=1")
	w.tellUnstored("a message")
	later := w.kept.store(3)
	later[2].Kind = event.CallUpsert
	w.tell(later...)
	wantEvents(t, conn, later[2:])
	w.hub.PublishInstance(event.Notice{Kind: event.CallUpsert, InstanceID: 7, Body: []byte("a call")})
	wantSentBack(t, conn, "6")
}

// Numbered events are published late and in groups, with fallbacks between them and
// several in a row. Each client comes back with the position it is given, or with
// its own count where the connection broke.
func TestCountersMissNothingThroughFallbacks(t *testing.T) {
	const total, clients = 400, 8
	w := newWorld(t, Config{SendBuffer: 2 * total})
	var work sync.WaitGroup
	for range clients {
		work.Go(func() { countThrough(t, w, total) })
	}
	for n := 0; n < total; {
		w.waitForClients(t, clients)
		fresh := w.kept.store(min(1+rand.IntN(6), total-n))
		n += len(fresh)
		early := rand.IntN(len(fresh) + 1)
		w.tell(fresh[:early]...)
		for range rand.IntN(3) {
			w.tellUnstored("fallback")
		}
		w.tell(fresh[early:]...)
	}
	work.Wait()
}

// countThrough reads all events up to total, coming back as often as it is sent back.
func countThrough(t *testing.T, w *world, total int) {
	var got []string
	for position := "0"; len(got) < total; {
		conn := w.dial(t, "/durable?since="+position)
		end := websocket.CloseError{Reason: strconv.Itoa(len(got))}
		for len(got) < total {
			_, body, err := conn.Read(t.Context())
			if err != nil {
				_ = errors.As(err, &end)
				break
			}
			got = append(got, string(body))
		}
		if _ = conn.CloseNow(); len(got) < total && end.Reason != strconv.Itoa(len(got)) {
			t.Errorf("sent back to %q after %d events", end.Reason, len(got))
			return
		}
		position = end.Reason
	}
	want := make([]string, total)
	for i := range want {
		want[i] = strconv.Itoa(i + 1)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
