package crash

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"postern/cli/consumer"
	"postern/delivery"
	"postern/event"
	"postern/store"
)

// durableEndpoints are the further endpoints of the accounts that make their
// events durable; both get all that durableKinds names, in the order of chats.
var durableEndpoints = []string{"a", "b"}

var durableKinds = map[event.Kind]string{
	event.MessagesUpsert: "messagesUpsert", event.SendMessage: "sendMessage", event.MessagesUpdate: "messagesUpdated",
	event.ConnectionUpdated: "connectionUpdated", event.ContactsUpdate: "contactsUpdated",
}

// keeps reports whether an account makes its events durable; the others continue in
// the old way beside it.
func (l *account) keeps() bool { return l.name != "line-1" }

// makeDurable sets the options of the accounts that keep their events.
func (s *siege) makeDurable() {
	flags := map[string]bool{}
	for _, flag := range durableKinds {
		flags[flag] = true
	}
	for _, l := range s.accounts {
		if !l.keeps() {
			continue
		}
		var endpoints []any
		for _, id := range durableEndpoints {
			url := "http://" + s.site.addr + "/durable/" + l.name + "/" + id
			endpoints = append(endpoints, map[string]any{"id": id, "url": url, "events": flags, "signing": map[string]any{"enabled": id == "b"}})
		}
		s.Call(consumer.Bearer(l.token), http.MethodPut, "/instance/"+l.name+"/webhook/options", map[string]any{
			"durable": true, "order": "chat", "endpoints": endpoints,
		}, nil)
	}
}

// arrivals are what durable endpoints took.
type arrivals struct {
	mu    sync.Mutex
	order map[string][]string          // webhook-ids by endpoint, as they were taken first
	body  map[string]map[string]string // bodies by endpoint and webhook-id
	wrong []string
	ids   []replayOf // replays that were answered
}

type replayOf struct {
	line *account
	id   json.RawMessage
}

// take notes a delivery to path, "line-2/a", that is accepted.
func (a *arrivals) take(path, id, body string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.body == nil {
		a.order, a.body = map[string][]string{}, map[string]map[string]string{}
	}
	if a.body[path] == nil {
		a.body[path] = map[string]string{}
	}
	before, known := a.body[path][id]
	switch {
	case id == "":
		a.wrong = append(a.wrong, path+" got an event without a webhook-id: "+body)
	case known && before != body:
		a.wrong = append(a.wrong, path+" got "+id+" with two bodies")
	case !known:
		a.body[path][id] = body
		a.order[path] = append(a.order[path], id)
	}
}

// replaySome repeats a few events of an account now and then, while everything
// else continues.
func (s *siege) replaySome(ctx context.Context, rng *rand.Rand, l *account) {
	path := "/instance/" + l.name + "/webhook/deliveries/replay"
	for l.keeps() && rest(ctx, rng, 600*time.Millisecond) {
		body := map[string]any{"state": []string{"DELIVERED"}, "endpointId": durableEndpoints[rng.IntN(2)], "limit": 1 + rng.IntN(40)}
		status, answer := s.ask(l.token, http.MethodPost, path, jsonBody(body))
		var made struct{ ReplayID json.RawMessage }
		switch status {
		case http.StatusAccepted:
			if json.Unmarshal(answer, &made) != nil || len(made.ReplayID) == 0 {
				s.T.Errorf("replay of %s: %s", l.name, answer)
				continue
			}
			s.arrived.mu.Lock()
			s.arrived.ids = append(s.arrived.ids, replayOf{l, made.ReplayID})
			s.arrived.mu.Unlock()
		case 0, http.StatusConflict, http.StatusServiceUnavailable:
		default:
			s.T.Errorf("replay of %s: %d %s", l.name, status, answer)
		}
	}
}

// nothingWaits reports whether every replay has ended and nothing is pending.
func (s *siege) nothingWaits() bool {
	if s.retryLater() > 0 { // a replay may wait for one
		return false
	}
	for len(s.arrived.ids) > 0 {
		r := s.arrived.ids[0]
		status, answer := s.ask(r.line.token, http.MethodGet, "/instance/"+r.line.name+"/webhook/replays/"+strings.Trim(string(r.id), `"`), nil)
		var now struct{ State string }
		if status != http.StatusOK || json.Unmarshal(answer, &now) != nil {
			s.T.Errorf("replay %s of %s was answered 202, and is %d %s", r.id, r.line.name, status, answer)
		} else if now.State == "RUNNING" {
			return false
		}
		s.arrived.ids = s.arrived.ids[1:]
	}
	return s.retryLater() == 0
}

// retryLater has pending deliveries sent now whose next attempt is far away: every PUT of a
// webhook causes an attempt, and after the fourth that fails the pause is a minute. It
// returns how many are pending.
func (s *siege) retryLater() (pending int) {
	key := consumer.Key(s.Sec.GlobalAuthToken)
	var page struct {
		TotalRecords int
		Records      []struct {
			ID            uint64
			NextAttemptAt time.Time
		}
	}
	s.Call(key, http.MethodGet, "/webhook/deliveries?state=PENDING", nil, &page)
	for _, r := range page.Records {
		if time.Until(r.NextAttemptAt) > 20*time.Second {
			s.Call(key, http.MethodPost, fmt.Sprintf("/webhook/deliveries/%d/retry", r.ID), nil, nil)
		}
	}
	return page.TotalRecords
}

// checkDurable: every event of an account that keeps them, whose cause is
// stored, was taken by both endpoints under its id and in its bytes, those of a
// chat in the order of their commits; and nothing that is not stored was.
func (s *siege) checkDurable(tx *store.Tx) error {
	for _, wrong := range s.arrived.wrong {
		s.T.Error(wrong)
	}
	all, err := delivery.EventsAfter(tx, 0, 0)
	if err != nil {
		return err
	}
	for _, l := range s.accounts {
		var own []delivery.Event
		for _, e := range all {
			if e.Name == l.name && durableKinds[e.Kind] != "" {
				own = append(own, e)
			}
		}
		if !l.keeps() {
			if len(own) > 0 {
				s.T.Errorf("%s keeps %d events, and was not asked to", l.name, len(own))
			}
			continue
		}
		if len(own) == 0 {
			s.T.Errorf("%s keeps no events", l.name)
			continue
		}
		for _, id := range durableEndpoints {
			s.checkTaken(l.name+"/"+id, own)
		}
		if err := s.checkCauses(tx, l, own); err != nil {
			return err
		}
		s.durableEvents += len(own)
	}
	return nil
}

func (s *siege) checkTaken(path string, own []delivery.Event) {
	taken := s.arrived.body[path]
	byID := map[string]delivery.Event{}
	for _, e := range own {
		byID[e.ID.String()] = e
		if body, ok := taken[e.ID.String()]; !ok || body != string(e.Body) {
			s.T.Errorf("%s did not take event %d, %s, as it is stored: %q", path, e.Seq, e.Kind, body)
		}
	}
	newest := map[string]uint64{} // by chat
	for _, id := range s.arrived.order[path] {
		e, stored := byID[id]
		if !stored {
			s.T.Errorf("%s took an event that was never stored: %s", path, taken[id])
			continue
		}
		if e.Seq < newest[e.About.Chat] {
			s.T.Errorf("%s took event %d of chat %q after %d", path, e.Seq, e.About.Chat, newest[e.About.Chat])
		}
		newest[e.About.Chat] = e.Seq
	}
}

// checkCauses: of each message that is stored an event tells.
func (s *siege) checkCauses(tx *store.Tx, l *account, own []delivery.Event) error {
	reported := map[string]bool{}
	for _, e := range own {
		var body struct {
			Data struct {
				KeyID string
				Data  struct{ MessageID string }
			}
		}
		if e.Kind == event.MessagesUpsert || e.Kind == event.SendMessage {
			if err := json.Unmarshal(e.Body, &body); err != nil {
				return err
			}
			reported[body.Data.KeyID], reported[body.Data.Data.MessageID] = true, true
		}
	}
	instance := own[0].Instance
	return tx.Scan("message", store.Range{Prefix: store.Key(instance)}, func(key, value []byte) (bool, error) {
		var m struct{ Message struct{ KeyID string } }
		if err := json.Unmarshal(value, &m); err != nil {
			return false, err
		}
		if !reported[m.Message.KeyID] {
			s.T.Errorf("message %d of %s is stored, and no event tells of it: %s", binary.BigEndian.Uint64(key[8:]), l.name, value)
		}
		return true, nil
	})
}

// kinds that are seen at an endpoint, for the report.
func (s *siege) takenKinds() (kinds []string) {
	for path, bodies := range s.arrived.body {
		kinds = append(kinds, path+" "+strconv.Itoa(len(bodies)))
	}
	slices.Sort(kinds)
	return kinds
}
