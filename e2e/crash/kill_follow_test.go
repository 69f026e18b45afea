package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"nhooyr.io/websocket"

	"postern/delivery/outbox"
)

// follow listens to a user's events over one WebSocket after the other. Each
// continues where the one before it ended, by a kill or as it pleased.
func (u *user) follow(ctx context.Context, rng *rand.Rand) {
	for rest(ctx, rng, 30*time.Millisecond) {
		conn, _ := u.listen(ctx)
		if conn == nil {
			continue
		}
		while, cancel := context.WithTimeout(ctx, time.Duration(rng.Int64N(int64(3*time.Second))))
		for u.hear(while, conn) {
		}
		cancel()
		_ = conn.CloseNow()
	}
}

// listen opens a WebSocket after the last event that was heard. It returns the
// sequence of the user's newest event too, and no connection when the program
// is not there.
func (u *user) listen(ctx context.Context) (conn *websocket.Conn, newest uint64) {
	url := fmt.Sprintf("%s/ws/global/events?event=*&since=%d", strings.Replace(u.API.Base, "http", "ws", 1), u.at)
	conn, resp, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + u.token}}})
	if err != nil {
		if resp != nil && resp.StatusCode != http.StatusServiceUnavailable {
			u.T.Errorf("a WebSocket since %d: %s", u.at, resp.Status)
		}
		return nil, 0
	}
	conn.SetReadLimit(1 << 20)
	header := func(name string) (n uint64) {
		if n, err = strconv.ParseUint(resp.Header.Get(name), 10, 64); err != nil {
			u.T.Errorf("%s: %v", name, err)
		}
		return n
	}
	if newest = header("X-Event-Sequence"); newest < u.at {
		u.T.Errorf("the position is %d, and the newest event %d", u.at, newest)
	}
	since := header("X-Event-Since")
	if since != u.at && u.at != 0 {
		u.T.Errorf("asked for the events since %d, reported %d", u.at, since)
	}
	u.at, u.gaps = since, map[uint64]uint64{}
	for text := range strings.SplitSeq(resp.Header.Get("X-Event-Gaps"), ",") {
		var first, last uint64
		if _, err := fmt.Sscanf(text, "%d-%d", &first, &last); err == nil {
			u.gaps[first] = last
		}
	}
	u.skip()
	return conn, newest
}

// skip passes over the gap that begins at the position, if there is one.
func (u *user) skip() {
	if last, ok := u.gaps[u.at+1]; ok {
		u.at = last
	}
}

func (u *user) hear(ctx context.Context, conn *websocket.Conn) bool {
	_, body, err := conn.Read(ctx)
	if err != nil {
		return false
	}
	u.at++
	u.heard = append(u.heard, heardEvent{u.at, string(body)})
	u.skip()
	return true
}

// catchUp hears what is left, after the actors have ended. Batches may have been
// removed while it listened, so it may have to come back.
func (u *user) catchUp() {
	ctx, cancel := context.WithTimeout(u.T.Context(), time.Minute)
	defer cancel()
	for {
		conn, newest := u.listen(ctx)
		if conn == nil {
			u.T.Error("no WebSocket at the end")
			return
		}
		before := u.at
		for u.at < newest && u.hear(ctx, conn) {
		}
		_ = conn.CloseNow()
		if u.at >= newest || u.at == before {
			return
		}
	}
}

// checkHeard: over all its WebSockets each user heard every event that is kept
// once, in order, in the bytes that are stored, and nothing else but events of
// batches that it deleted.
func (s *siege) checkHeard(entries []outbox.Entry) {
	own := map[uuid.UUID]map[uint64]string{}
	for _, e := range entries {
		if own[e.Owner] == nil {
			own[e.Owner] = map[uint64]string{}
		}
		own[e.Owner][e.OwnerSeq] = string(e.Body)
	}
	for _, u := range s.users {
		kept, last := own[u.id], uint64(0)
		for _, h := range u.heard {
			if h.sequence <= last {
				s.T.Errorf("user %s heard event %d after %d", u.id, h.sequence, last)
			}
			last = h.sequence
			body, ok := kept[h.sequence]
			if ok && body != h.body || !ok && !s.ofDeleted(h.body) {
				s.T.Errorf("user %s: event %d is\n%s\nand what was heard in its place is\n%s", u.id, h.sequence, body, h.body)
				break
			}
			delete(kept, h.sequence)
		}
		if len(kept) > 0 {
			s.T.Errorf("user %s has not heard %d events", u.id, len(kept))
		}
	}
}

// ofDeleted reports whether an event is one of a batch that its owner deleted.
func (s *siege) ofDeleted(body string) bool {
	id := batchOfBody(body)
	for _, in := range s.ledger.batches {
		if in.deleting && in.id == id {
			return true
		}
	}
	return false
}

// batchOfBody returns the batch that an event is about.
func batchOfBody(body string) uuid.UUID {
	var e struct {
		Data struct {
			BatchID uuid.UUID
			Batch   struct{ ID uuid.UUID }
		}
	}
	if json.Unmarshal([]byte(body), &e) != nil {
		return uuid.Nil
	}
	if e.Data.BatchID != uuid.Nil {
		return e.Data.BatchID
	}
	return e.Data.Batch.ID
}
