package delivery

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestHostileReceiversDoNotAffectOthers sends one event to
// eight receivers, seven of which misbehave, each in another way. With durable they get it once
// they behave, under the same webhook-id; without, the only attempt is reported.
func TestHostileReceiversDoNotAffectOthers(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds")
	}
	t.Parallel() // it waits more than it works
	for _, durable := range []bool{true, false} {
		t.Run(fmt.Sprintf("durable %t", durable), func(t *testing.T) {
			s := newShop(t)
			elsewhere := newReceiver(t, nil)
			behaviours := hostile(elsewhere.URL)
			receivers, endpoints := map[string]*receiver{}, []string{}
			for id, b := range behaviours {
				receivers[id] = newReceiver(t, b.answer)
				endpoints = append(endpoints, endpoint(id, receivers[id].URL+"/hook?key=secret"))
			}
			is := s.options(fmt.Sprintf(`{"durable":%t,"endpoints":[%s]}`, durable, strings.Join(endpoints, ",")))
			secrets := map[string]string{}
			for _, e := range is.Endpoints {
				secrets[e.ID] = e.Signing.Secret
			}
			s.anneWrites("is it ready?")

			good := receivers["is-good"].await(s, 1)
			id := good.header.Get("webhook-id")
			after := map[bool]string{true: "PENDING", false: "FAILED"}[durable]
			for name, b := range behaviours {
				first := receivers[name].await(s, 1)
				if first.header.Get("webhook-id") != id || string(first.body) != string(good.body) {
					t.Errorf("%s: webhook-id %s, another endpoint got %s", name, first.header.Get("webhook-id"), id)
				}
				if err := first.signedWith(t, secrets[name]); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				var r record
				s.Await(name+" in the log", func() bool {
					found := s.deliveries(of(name, ""))
					if len(found) != 1 || found[0].AttemptCount == 0 {
						return false
					}
					r = s.delivery(found[0].ID)
					return true
				})
				if want := map[bool]string{true: "DELIVERED", false: after}[b.answer == nil]; r.State != want {
					t.Errorf("%s: %s, want %s", name, r.State, want)
				}
				at := r.Attempts[0]
				if value(at.Status) != b.status || !strings.Contains(value(at.Error), b.reason) || (at.Error == nil) != (b.answer == nil) || value(at.Answer) != b.text {
					t.Errorf("%s: status %d, error %q, answer %q; want %d, %q, %q", name, value(at.Status), value(at.Error), value(at.Answer), b.status, b.reason, b.text)
				}
				if r.EventID != id || value(at.RequestID) != first.header.Get("x-request-id") || at.Number != 1 || r.URL != receivers[name].URL+"/hook" {
					t.Errorf("%s: %+v", name, r)
				}
			}
			if n := len(elsewhere.arrivals()); n != 0 {
				t.Errorf("the redirect was followed %d times", n)
			}
			if durable {
				comesBack(t, s, receivers, id)
			}
		})
	}
}

// comesBack lets all receivers behave: each gets the event by itself.
func comesBack(t *testing.T, s *shop, receivers map[string]*receiver, id string) {
	t.Helper()
	for _, r := range receivers {
		r.behave(nil)
	}
	for name, r := range receivers {
		done := s.delivery(s.logged(of(name, "DELIVERED"), 1)[0].ID)
		all := r.arrivals()
		if len(all) != len(done.Attempts) || done.AttemptCount != len(all) {
			t.Errorf("%s: %d attempts arrived, the log has %d", name, len(all), len(done.Attempts))
			continue
		}
		seen := map[string]bool{}
		for i, a := range all {
			seen[a.header.Get("x-request-id")] = true
			if a.header.Get("webhook-id") != id || string(a.body) != string(all[0].body) {
				t.Errorf("%s: attempt %d has webhook-id %s", name, i+1, a.header.Get("webhook-id"))
			}
			if line := done.Attempts[i]; line.Number != i+1 || value(line.RequestID) != a.header.Get("x-request-id") {
				t.Errorf("%s: attempt %d is logged as %+v", name, i+1, line)
			}
		}
		if len(seen) != len(all) {
			t.Errorf("%s: %d x-request-ids for %d attempts", name, len(seen), len(all))
		}
	}
}

// TestRetryAfterIsKeptAndShown: no attempt before the time that the receiver named,
// but by a retry.
func TestRetryAfterIsKeptAndShown(t *testing.T) {
	s := newShop(t)
	busy := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "600")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	s.webhook(busy.URL)
	s.options(`{"durable":true}`)
	s.anneWrites("is it ready?")
	busy.await(s, 1)
	var r record
	s.Await("the first attempt in the log", func() bool {
		found := s.deliveries("?event=messages.upsert")
		if len(found) == 1 {
			r = found[0]
		}
		return r.AttemptCount == 1
	})
	if r.State != "PENDING" || value(r.LastStatus) != 429 || time.Until(value(r.NextAttemptAt)) < 9*time.Minute {
		t.Errorf("%+v", r)
	}
	busy.behave(nil)
	s.call(http.MethodPost, fmt.Sprintf("/deliveries/%d/retry", r.ID), nil, nil)
	busy.await(s, 2)
	s.logged("?event=messages.upsert&state=DELIVERED", 1)
	if n := len(busy.arrivals()); n != 2 {
		t.Errorf("%d attempts", n)
	}
}
