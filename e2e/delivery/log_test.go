package delivery

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"postern/cli/consumer"
	"postern/e2e/rig"
)

// TestLogExplainsMissingMessages: the instance is connected, WhatsApp has the
// message, and each of the receivers missed it for a reason of its own.
func TestLogExplainsMissingMessages(t *testing.T) {
	t.Parallel() // it waits more than it works
	s := newShop(t)
	unlisted := newReceiver(t, nil)
	forbids := newReceiver(t, status(http.StatusForbidden, "<h1>Blocked by the firewall</h1>"))
	hangs := newReceiver(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	s.webhook(newReceiver(t, nil).URL)
	s.options(fmt.Sprintf(`{"endpoints":[
		{"id":"no-flag","url":%q,"events":{"sendMessage":true}},
		{"id":"switched-off","url":%q,"enabled":false,"events":{"messagesUpsert":true}},
		%s, %s, %s, %s]}`, unlisted.URL, unlisted.URL,
		endpoint("forbids", forbids.URL), endpoint("hangs", hangs.URL), endpoint("unreachable", "http://127.0.0.1:9/"),
		endpoint("no-such-name", "http://receiver.invalid/hook")))
	s.anneWrites("is it ready?")

	for id, want := range map[string]struct {
		status        int
		errors        []string
		answer        string
		atLeast, most time.Duration
	}{
		"forbids":      {403, []string{"receiver answered 403"}, "<h1>Blocked by the firewall</h1>", 0, time.Minute},
		"hangs":        {0, []string{"no answer in time"}, "", 900 * time.Millisecond, time.Minute},
		"unreachable":  {0, []string{"the connection was refused"}, "", 0, time.Minute},
		"no-such-name": {0, []string{"its host was not found", "its host could not be looked up", "no answer in time"}, "", 0, time.Minute},
	} {
		// By the chat's JID alone, as a support engineer would look.
		var r record
		s.Await(id, func() bool {
			found := s.deliveries("?endpointId=" + id + "&state=FAILED&query=" + url.QueryEscape(rig.AnneNumber+"@s.whatsapp.net"))
			if len(found) == 1 {
				r = s.delivery(found[0].ID)
			}
			return len(found) == 1
		})
		took := time.Duration(value(r.DurationMs)) * time.Millisecond
		known := false
		for _, reason := range want.errors {
			known = known || reason == value(r.LastError)
		}
		if value(r.LastStatus) != want.status || !known || value(r.Attempts[0].Answer) != want.answer || took < want.atLeast || took > want.most {
			t.Errorf("%s: status %d, error %q, answer %q after %v", id, value(r.LastStatus), value(r.LastError), value(r.Attempts[0].Answer), took)
		}
		if r.Body == nil || !has([]byte(*r.Body), "is it ready?") || !r.Replayable {
			t.Errorf("%s: the body is %q", id, value(r.Body))
		}
	}
	// By the LID, too; and the one that has it.
	all := s.deliveries("?event=messages.upsert&query=" + url.QueryEscape(s.Vars["anneLID"]))
	done := s.logged("?event=messages.upsert&target=webhook&state=DELIVERED", 1)
	if len(all) != 5 || value(done[0].LastStatus) != 200 || done[0].Body != nil || done[0].Replayable {
		t.Errorf("%d deliveries about the LID; the webhook's is %+v", len(all), done[0])
	}
	// What no flag asked for, and what is switched off, leave no record.
	for _, id := range []string{"no-flag", "switched-off"} {
		if found := s.deliveries("?endpointId=" + id); len(found) != 0 {
			t.Errorf("%s: %+v", id, found)
		}
	}
	if n := len(unlisted.arrivals()); n != 0 {
		t.Errorf("%d unexpected arrivals", n)
	}
}

// TestDroppedEventsAreLogged: without durable there is no second attempt, but the log shows it.
func TestDroppedEventsAreLogged(t *testing.T) {
	s := newShop(t, "WEBHOOK_WORKERS=1", "WEBHOOK_QUEUE_SIZE=1", "WEBHOOK_GLOBAL_ENABLED=false", "WEBHOOK_TIMEOUT=15s")
	hook := newReceiver(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	s.webhook(hook.URL)
	s.anneWrites("one")
	hook.await(s, 1)
	for _, text := range []string{"two", "three", "four"} {
		s.anneWrites(text)
	}
	for _, r := range s.logged("?event=messages.upsert&state=DROPPED", 2) {
		if r.AttemptCount != 0 || !strings.Contains(value(r.LastError), "queue is full") || r.DurationMs != nil || r.LastStatus != nil || !r.Replayable {
			t.Errorf("%q: %+v", value(r.LastError), r)
		}
	}
	// With room again, a replay brings them.
	hook.CloseClientConnections()
	hook.behave(nil)
	if is := s.replay(`{"state":["DROPPED"]}`); is.Delivered != 2 || is.Matched != 2 {
		t.Errorf("%+v", is)
	}
	for _, text := range []string{"three", "four"} {
		hook.next(s, text)
	}
}

// TestUnacceptedDurableEventExpires and frees what waited behind
// it, which has seconds left of its own.
func TestUnacceptedDurableEventExpires(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds")
	}
	t.Parallel() // it waits more than it works
	s := newShop(t)
	hook := newReceiver(t, nil)
	hook.behave(func(w http.ResponseWriter, _ *http.Request) {
		if all := hook.arrivals(); has(all[len(all)-1].body, "one") { // one at a time, for there is an order
			http.Error(w, "never", http.StatusTeapot)
		}
	})
	s.webhook(hook.URL)
	s.options(`{"durable":true,"order":"chat","maxAge":"8s"}`)
	s.anneWrites("one")
	hook.await(s, 3) // some 6 seconds after the first
	s.anneWrites("two")
	waits := s.logged("?event=messages.upsert", 2)[0]
	if waits.State != "PENDING" || waits.AttemptCount != 0 {
		t.Errorf("what is behind the first of its chat: %+v", waits)
	}
	gone := s.logged("?event=messages.upsert&state=EXPIRED", 1)[0]
	if gone.AttemptCount != 3 || value(gone.LastStatus) != 418 || gone.NextAttemptAt != nil {
		t.Errorf("%+v", gone)
	}
	hook.next(s, "two")
	s.logged("?event=messages.upsert&state=DELIVERED", 1)
	for i, at := range s.delivery(gone.ID).Attempts {
		if at.Number != i+1 || value(at.Status) != 418 || strings.TrimSpace(value(at.Answer)) != "never" {
			t.Errorf("%+v", at)
		}
	}
}

// TestBodiesAreKeptAsTheOperatorChose.
func TestBodiesAreKeptAsTheOperatorChose(t *testing.T) {
	for _, c := range []struct {
		bodies            string
		failed, delivered bool
	}{{"none", false, false}, {"all", true, true}} {
		t.Run(c.bodies, func(t *testing.T) {
			s := newShop(t, "WEBHOOK_LOG_BODIES="+c.bodies)
			s.webhook(newReceiver(t, nil).URL)
			s.options(fmt.Sprintf(`{"endpoints":[%s]}`, endpoint("refuses", newReceiver(t, status(http.StatusTeapot, "")).URL)))
			s.anneWrites("is it ready?")
			for query, kept := range map[string]bool{"?event=messages.upsert&state=FAILED": c.failed, "?event=messages.upsert&state=DELIVERED": c.delivered} {
				r := s.delivery(s.logged(query, 1)[0].ID)
				if (r.Body != nil) != kept || r.Replayable != kept || r.Bytes == 0 {
					t.Errorf("%s: body %q, replayable %t, %d bytes", query, value(r.Body), r.Replayable, r.Bytes)
				}
				if !kept {
					if code := s.refused(http.MethodPost, fmt.Sprintf("/deliveries/%d/retry", r.ID), ""); code != "BODY_GONE" {
						t.Errorf("%s: %s", query, code)
					}
				}
			}
		})
	}
}

// TestWithoutLogOnlyPendingDeliveriesAreListed.
func TestWithoutLogOnlyPendingDeliveriesAreListed(t *testing.T) {
	s := newShop(t, "WEBHOOK_LOG=false")
	hook := newReceiver(t, nil)
	down := newReceiver(t, status(http.StatusServiceUnavailable, ""))
	s.webhook(hook.URL)
	s.anneWrites("one")
	hook.next(s, "one")
	s.options(fmt.Sprintf(`{"durable":true,"endpoints":[%s]}`, endpoint("down", down.URL)))
	s.anneWrites("two")
	hook.next(s, "two")
	down.await(s, 1)
	waits := s.logged("", 1)[0]
	if waits.State != "PENDING" || value(waits.EndpointID) != "down" {
		t.Errorf("%+v", waits)
	}
	if code := s.refused(http.MethodPost, "/deliveries/replay", ""); code != "LOG_OFF" {
		t.Error(code)
	}
	down.behave(nil)
	s.call(http.MethodPost, fmt.Sprintf("/deliveries/%d/retry", waits.ID), nil, nil)
	s.logged("", 0)
	if code := s.refused(http.MethodPost, fmt.Sprintf("/deliveries/%d/retry", waits.ID), ""); code != "LOG_OFF" {
		t.Error(code)
	}
}

// TestDurableEventsKeepTheirIDAfterAKill: what waits for a receiver that is down is there
// after kill -9, in the order of its chat, and arrives once the receiver is back.
func TestDurableEventsKeepTheirIDAfterAKill(t *testing.T) {
	s := newShop(t)
	hook := newReceiver(t, status(http.StatusServiceUnavailable, ""))
	s.webhook(hook.URL)
	s.options(`{"durable":true,"order":"chat"}`)
	texts := []string{"one", "two", "three"}
	for _, text := range texts {
		s.anneWrites(text)
	}
	before := s.logged("?event=messages.upsert", len(texts))
	first := hook.await(s, 1)
	s.Kill()
	s.Start()
	hook.behave(nil)
	s.Await("all of them", func() bool {
		var page struct{ TotalRecords int }
		s.call(http.MethodGet, "/deliveries?event=messages.upsert&state=DELIVERED", nil, &page)
		return page.TotalRecords == len(texts)
	})
	var order []string
	for _, a := range hook.arrivals() {
		id := a.header.Get("webhook-id")
		if len(order) == 0 || order[len(order)-1] != id {
			order = append(order, id)
		}
	}
	want := []string{before[2].EventID, before[1].EventID, before[0].EventID}
	if fmt.Sprint(order) != fmt.Sprint(want) || order[0] != first.header.Get("webhook-id") {
		t.Errorf("arrived %v, want %v", order, want)
	}
}

// TestForbiddenAddressesAreNoEndpoints: none of 300 spellings is taken.
func TestForbiddenAddressesAreNoEndpoints(t *testing.T) {
	s := newShop(t, "WEBHOOK_DENY_PRIVATE=true", "WEBHOOK_GLOBAL_ENABLED=false")
	refused := 0
	for _, host := range forbidden() {
		body := fmt.Sprintf(`{"endpoints":[{"id":"crm","url":"http://%s/hook","events":{"messagesUpsert":true}}]}`, host)
		status, answer := s.Raw(consumer.Bearer(s.Token), http.MethodPut, "/instance/shop/webhook/options", body)
		if status != http.StatusBadRequest || !strings.Contains(answer, "INVALID_WEBHOOK") || !strings.Contains(answer, "endpoints[0].url") {
			t.Errorf("%s: %d %s", host, status, answer)
			continue
		}
		refused++
	}
	if refused < 300 {
		t.Errorf("only %d addresses", refused)
	}
	if is := s.chosen(); len(is.Endpoints) != 0 {
		t.Errorf("%+v", is)
	}
	s.options(fmt.Sprintf(`{"endpoints":[%s]}`, endpoint("by-name", "http://localhost:9/")))
	s.anneWrites("is it ready?")
	if r := s.logged(of("by-name", "FAILED"), 1)[0]; value(r.LastError) != "its address is not allowed" {
		t.Errorf("a name that leads to one: %q", value(r.LastError))
	}
}

func (s *shop) chosen() (is chosen) {
	s.t.Helper()
	s.call(http.MethodGet, "/options", nil, &is)
	return is
}

// forbidden are addresses of this machine, of private networks and of metadata services, each
// in many forms.
func forbidden() (all []string) {
	for _, a := range [][4]uint32{
		{127, 0, 0, 1},
		{127, 1, 2, 3},
		{10, 0, 0, 1},
		{10, 255, 0, 7},
		{172, 16, 0, 1},
		{172, 31, 255, 254},
		{192, 168, 0, 1},
		{192, 168, 178, 1},
		{169, 254, 169, 254},
		{169, 254, 0, 1},
		{100, 100, 100, 200},
		{168, 63, 129, 16},
		{192, 0, 0, 192},
		{0, 0, 0, 0},
		{0, 0, 0, 1},
		{100, 64, 0, 1},
		{198, 18, 0, 1},
		{224, 0, 0, 1},
		{240, 0, 0, 1},
		{255, 255, 255, 255},
		{192, 0, 2, 1},
		{203, 0, 113, 9},
	} {
		n := a[0]<<24 | a[1]<<16 | a[2]<<8 | a[3]
		high, low := n>>16, n&0xffff
		all = append(all,
			fmt.Sprintf("%d.%d.%d.%d", a[0], a[1], a[2], a[3]), fmt.Sprint(n), fmt.Sprintf("0x%x", n), fmt.Sprintf("0%o", n),
			fmt.Sprintf("0x%x.0x%x.0x%x.0x%x", a[0], a[1], a[2], a[3]), fmt.Sprintf("0%o.0%o.0%o.0%o", a[0], a[1], a[2], a[3]),
			fmt.Sprintf("%d.%d", a[0], n&0xffffff), fmt.Sprintf("%d.%d.%d", a[0], a[1], low), fmt.Sprintf("0x%x.%d.0%o.%d", a[0], a[1], a[2], a[3]),
			fmt.Sprintf("[::ffff:%d.%d.%d.%d]", a[0], a[1], a[2], a[3]), fmt.Sprintf("[::ffff:%x:%x]", high, low), fmt.Sprintf("[64:ff9b::%x:%x]", high, low),
			fmt.Sprintf("[2002:%x:%x::1]", high, low), fmt.Sprintf("[0:0:0:0:0:ffff:%x:%x]", high, low))
	}
	return append(all, "[::1]", "[::]", "[fe80::1]", "[fe80::1%25eth0]", "[fd00::1]", "[fc00::1]", "[fd00:ec2::254]", "[fd20:ce::254]", "[fd00:42::42]", "[ff02::1]",
		"[2001:db8::1]", "[fec0::1]", "[100::1]", "[0:0:0:0:0:0:0:1]", "127.0.0.1:80", "①②⑦.0.0.1", "[::1]:8080")
}
