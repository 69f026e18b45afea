package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"nhooyr.io/websocket"

	"postern/store"
)

// follow listens to a user's events over one WebSocket after the other. Each
// goes on where the one before it ended, by a kill or as it pleased.
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
func (u *user) listen(ctx context.Context) (conn *websocket.Conn, newest int) {
	url := fmt.Sprintf("%s/ws/global/events?event=*&since=%d", strings.Replace(u.api.base, "http", "ws", 1), len(u.heard))
	conn, resp, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + u.token}}})
	if err != nil {
		if resp != nil && resp.StatusCode != http.StatusServiceUnavailable {
			u.t.Errorf("a WebSocket since %d: %s", len(u.heard), resp.Status)
		}
		return nil, 0
	}
	conn.SetReadLimit(1 << 20)
	if newest, err = strconv.Atoi(resp.Header.Get("X-Event-Sequence")); err != nil || newest < len(u.heard) {
		u.t.Errorf("%d events were heard, and the newest is %d (%v)", len(u.heard), newest, err)
	}
	return conn, newest
}

func (u *user) hear(ctx context.Context, conn *websocket.Conn) bool {
	_, body, err := conn.Read(ctx)
	if err == nil {
		u.heard = append(u.heard, string(body))
	}
	return err == nil
}

// catchUp hears what is left, after the actors have ended.
func (u *user) catchUp() {
	ctx, cancel := context.WithTimeout(u.t.Context(), time.Minute)
	defer cancel()
	conn, newest := u.listen(ctx)
	if conn == nil {
		u.t.Error("no WebSocket at the end")
		return
	}
	for len(u.heard) < newest && u.hear(ctx, conn) {
	}
	_ = conn.CloseNow()
}

// checkHeard: over all its WebSockets each user heard every committed event
// once, in order, in the bytes that are stored.
func (s *siege) checkHeard(entries []store.OutboxEntry) {
	own := map[uuid.UUID][]store.OutboxEntry{}
	for _, e := range entries {
		own[e.Owner] = append(own[e.Owner], e)
	}
	for _, u := range s.users {
		if len(u.heard) != len(own[u.id]) {
			s.t.Errorf("user %s has %d events and heard %d", u.id, len(own[u.id]), len(u.heard))
		}
		for i, e := range own[u.id] {
			if i < len(u.heard) && u.heard[i] != string(e.Body) {
				s.t.Errorf("user %s: event %d is\n%s\nand what was heard in its place is\n%s", u.id, e.OwnerSeq, e.Body, u.heard[i])
				break
			}
		}
	}
}
