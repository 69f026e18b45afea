package wsbus

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"nhooyr.io/websocket"
)

func batchOf(n int) uuid.UUID { return uuid.UUID{9, byte(n >> 8), byte(n)} }

func wantGaps(t *testing.T, h http.Header, want string) {
	t.Helper()
	if got := h.Get("x-event-gaps"); got != want {
		t.Errorf("x-event-gaps %q, want %q", got, want)
	}
}

func TestReplayReportsGapsOfRemovedBatches(t *testing.T) {
	w := newWorld(t, Config{})
	var events []Event
	for n := range 5 {
		events = append(events, w.log.emitOf(t, batchOf(n), 10, "one")...)
	}
	events = append(events, w.log.emitOf(t, batchOf(1), 1, "two")...)
	w.log.forget(t, batchOf(1)) // 11 to 20, and 51
	w.log.forget(t, batchOf(2)) // 21 to 30

	conn, answer := w.dialAnswered(t, "/global?since=5")
	wantHeaders(t, answer, "51", "5")
	wantGaps(t, answer, "11-30,51-51")
	wantEvents(t, conn, slices.Concat(events[5:10], events[30:50]))

	// From within a gap, and from its edges.
	for since, gaps := range map[string]string{"10": "11-30,51-51", "11": "12-30,51-51", "25": "26-30,51-51", "30": "51-51", "50": "51-51"} {
		conn, answer := w.dialAnswered(t, "/global?since="+since)
		wantHeaders(t, answer, "51", since)
		wantGaps(t, answer, gaps)
		var from int
		_, _ = fmt.Sscan(since, &from)
		wantEvents(t, conn, events[max(from, 30):50])
	}
	// The newest of all was removed: what comes live has the next number.
	conn, answer = w.dialAnswered(t, "/global?since=51")
	wantHeaders(t, answer, "51", "51")
	wantGaps(t, answer, "")
	live := w.log.emitOf(t, batchOf(6), 2, "three")
	w.publish(live...)
	wantEvents(t, conn, live)

	conn, answer = w.dialAnswered(t, "/global?since=0")
	wantHeaders(t, answer, "53", "0")
	wantGaps(t, answer, "11-30,51-51")
	wantEvents(t, conn, slices.Concat(events[:10], events[30:50], live))
}

// What the retention removed is another matter: it is missed, and not skipped.
func TestGapDoesNotHideExpiredEvents(t *testing.T) {
	w := newWorld(t, Config{})
	for n := range 3 {
		w.log.emitOf(t, batchOf(n), 3, "one")
	}
	w.log.forget(t, batchOf(1)) // 4 to 6
	w.log.prune(t, 1, 2, 3)
	for _, since := range []string{"1", "2"} {
		if err := w.refusal(t, "/global?since="+since); !errors.Is(err, ErrGone) {
			t.Errorf("since=%s: %v", since, err)
		}
	}
	_, answer := w.dialAnswered(t, "/global?since=3")
	wantGaps(t, answer, "4-6")
	w.log.prune(t, 7)
	for _, since := range []string{"3", "5", "6"} {
		if err := w.refusal(t, "/global?since="+since); !errors.Is(err, ErrGone) {
			t.Errorf("since=%s: %v", since, err)
		}
	}
}

// A batch that is removed while a replay is on its way leaves a gap that the
// client does not know. It is closed with its position, from which it gets
// of it.
func TestGapDuringReplayClosesTheClient(t *testing.T) {
	w := newWorld(t, Config{})
	events := w.log.emitOf(t, batchOf(0), 150, large)
	events = append(events, w.log.emitOf(t, batchOf(1), 10, "gone")...)
	events = append(events, w.log.emitOf(t, batchOf(2), 10, "kept")...)
	conn := w.dial(t, "/global?since=1")
	wantEvents(t, conn, events[1:2])
	w.log.forget(t, batchOf(1))
	wantEvents(t, conn, events[2:150])
	_, _, err := conn.Read(t.Context())
	var closed websocket.CloseError
	if !errors.As(err, &closed) || closed.Code != CodeSlow || !strings.HasSuffix(closed.Reason, "since=150") {
		t.Errorf("ended with %v", err)
	}
	conn, answer := w.dialAnswered(t, "/global?since=150")
	wantGaps(t, answer, "151-160")
	wantEvents(t, conn, events[160:])
}

// However many gaps there are, a client that counts them and comes back when it
// is sent away gets every event that is kept once, and knows its position.
func TestGapsKeepSequencesContiguous(t *testing.T) {
	w := newWorld(t, Config{})
	const total = 3*maxGaps + 50
	var kept []Event
	for n := range 2 * total {
		e := w.log.emitOf(t, batchOf(n), 1, fmt.Sprint(n))
		if n%2 == 0 || rand.IntN(5) > 0 {
			kept = append(kept, e...)
			continue
		}
		w.log.forget(t, batchOf(n))
	}
	for n := 1; n < 2*total; n += 4 { // most of them gone
		if i := slices.IndexFunc(kept, func(e Event) bool { return e.Seq == uint64(n+1) }); i >= 0 {
			w.log.forget(t, batchOf(n))
			kept = slices.Delete(kept, i, i+1)
		}
	}
	position, visits := uint64(1), 0 // 0 would ask for all stored events
	kept = kept[1:]
	for ; len(kept) > 0 && visits < 100; visits++ {
		position, kept = w.countOn(t, position, kept)
	}
	newest, err := w.log.Newest(user)
	if err != nil || visits < 2 || len(kept) > 0 {
		t.Errorf("%d visits, %d events are left (%v)", visits, len(kept), err)
	}
	_, answer := w.dialAnswered(t, fmt.Sprintf("/global?since=%d", position))
	wantHeaders(t, answer, fmt.Sprint(newest), fmt.Sprint(position))
}

// countOn is one visit of a client that counts. It returns its position and
// what it has not got yet.
func (w *world) countOn(t *testing.T, position uint64, kept []Event) (uint64, []Event) {
	t.Helper()
	conn, answer := w.dialAnswered(t, fmt.Sprintf("/global?since=%d", position))
	defer conn.CloseNow()
	gaps := map[uint64]uint64{}
	for text := range strings.SplitSeq(answer.Get("x-event-gaps"), ",") {
		var first, last uint64
		if _, err := fmt.Sscanf(text, "%d-%d", &first, &last); err == nil {
			gaps[first] = last
		}
	}
	for {
		if last, ok := gaps[position+1]; ok {
			position = last
		}
		if len(kept) == 0 {
			return position, nil
		}
		_, body, err := conn.Read(t.Context())
		if err != nil {
			return position, kept
		}
		if position++; string(body) != string(kept[0].Body) || kept[0].Seq != position {
			t.Fatalf("at position %d came %s, want event %d", position, body, kept[0].Seq)
		}
		kept = kept[1:]
	}
}
