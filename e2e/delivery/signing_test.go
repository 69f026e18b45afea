package delivery

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"postern/e2e/rig"
)

// next returns the first attempt for a message with that text, after the n-th arrival.
func (r *receiver) next(s *shop, text string) (found arrival) {
	r.t.Helper()
	s.Await(text+" at the receiver", func() bool {
		for _, a := range r.arrivals() {
			if has(a.body, text) {
				found = a
				return true
			}
		}
		return false
	})
	return found
}

// TestSignaturesAreThoseOfStandardWebhooks verifies with the library of its authors,
// from the first secret over two rotations to the end of signing.
func TestSignaturesAreThoseOfStandardWebhooks(t *testing.T) {
	s := newShop(t)
	hook, crm := newReceiver(t, nil), newReceiver(t, nil)
	s.webhook(hook.URL)
	on := fmt.Sprintf(`{"signing":{"enabled":true},"endpoints":[%s]}`, endpoint("crm", crm.URL))
	is := s.options(on)
	first, own := is.Signing.Secret, is.Endpoints[0].Signing.Secret
	if !strings.HasPrefix(first, "whsec_") || !strings.HasPrefix(own, "whsec_") || first == own {
		t.Fatalf("secrets %.10s and %.10s", first, own)
	}
	s.anneWrites("one")
	a, b := hook.next(s, "one"), crm.next(s, "one")
	if err := a.signedWith(t, first); err != nil {
		t.Error("the webhook:", err)
	}
	if err := b.signedWith(t, own); err != nil {
		t.Error("the endpoint:", err)
	}
	if a.signedWith(t, own) == nil || b.signedWith(t, first) == nil {
		t.Error("the secret of one destination signed for the other")
	}
	if a.header.Get("webhook-id") != b.header.Get("webhook-id") || len(a.header.Values("webhook-signature")) != 1 {
		t.Errorf("webhook-id %q and %q, signatures %q", a.header.Get("webhook-id"), b.header.Get("webhook-id"), a.header.Values("webhook-signature"))
	}

	rotate := func(query string) (secret string) {
		var is chosen
		s.call(http.MethodPost, "/options/rotate-secret"+query, nil, &is)
		return is.Signing.Secret + is.Endpoints[0].Signing.Secret // one of them is shown
	}
	second := rotate("")
	s.anneWrites("two")
	a, b = hook.next(s, "two"), crm.next(s, "two")
	for i, secret := range []string{first, second} {
		if err := a.signedWith(t, secret); err != nil {
			t.Errorf("after a rotation, secret %d: %v", i+1, err)
		}
	}
	if err := b.signedWith(t, own); err != nil || len(strings.Fields(b.header.Get("webhook-signature"))) != 1 {
		t.Errorf("the endpoint's was not rotated: %v, %s", err, b.header.Get("webhook-signature"))
	}
	third, crmSecond := rotate(""), rotate("?endpointId=crm")
	s.anneWrites("three")
	a, b = hook.next(s, "three"), crm.next(s, "three")
	if a.signedWith(t, first) == nil {
		t.Error("the oldest of three secrets still signs")
	}
	for i, err := range []error{a.signedWith(t, second), a.signedWith(t, third), b.signedWith(t, own), b.signedWith(t, crmSecond)} {
		if err != nil {
			t.Errorf("secret %d of the newest: %v", i, err)
		}
	}

	// The example is signed as an event is, and leaves no record.
	records := len(s.deliveries(""))
	s.call(http.MethodPost, "/test", map[string]string{"event": "groups.upsert"}, nil)
	example := hook.arrivals()[len(hook.arrivals())-1]
	if err := example.signedWith(t, third); err != nil || example.header.Get("x-webhook-event") != "groups.upsert" {
		t.Errorf("the example of %s: %v", example.header.Get("x-webhook-event"), err)
	}
	if n := len(s.deliveries("")); n != records {
		t.Errorf("the example left %d records", n-records)
	}

	// Without signing and durable no header is added, and the secret is gone for good.
	s.options(strings.ReplaceAll(on, `{"enabled":true}`, `{"enabled":false}`))
	s.anneWrites("four")
	for name := range hook.next(s, "four").header {
		if strings.HasPrefix(name, "Webhook-") {
			t.Errorf("header %s without signing", name)
		}
	}
	if again := s.options(on).Signing.Secret; again == first || again == second || again == third || !strings.HasPrefix(again, "whsec_") {
		t.Errorf("signing that was enabled again has the secret %.10s…", again)
	}
}

// TestTheGlobalWebhookIsSignedInBothFlows: events of instances and of batches alike, with
// a webhook-id that stays when an attempt is repeated.
func TestTheGlobalWebhookIsSignedInBothFlows(t *testing.T) {
	s := newShop(t)
	var is chosen
	s.operator(http.MethodPut, "/webhook/options", map[string]any{"durable": true, "signing": map[string]bool{"enabled": true}, "headers": map[string]string{"Authorization": "Bearer of the operator"}}, &is)
	from := len(s.Webhooks())
	s.anneWrites("hello operator")
	s.CreateBatch("signed", []string{rig.SceneName}, []string{rig.BobNumber})
	s.Await("both flows", func() bool { return s.Seen("message.batch.completed") > 0 && s.Seen("messages.upsert") > 0 })
	ids := map[string]string{}
	for _, w := range s.Webhooks()[from:] {
		a := arrival{time.Now(), "", w.Header, w.Body}
		if err := a.signedWith(t, is.Signing.Secret); err != nil {
			t.Errorf("%s: %v", w.Event, err)
		}
		if got := w.Header.Values("Authorization"); len(got) != 1 || got[0] != "Bearer of the operator" {
			t.Errorf("%s: Authorization %q", w.Event, got)
		}
		if body, seen := ids[w.ID]; seen && body != string(w.Body) {
			t.Errorf("two events have the webhook-id %s", w.ID)
		}
		ids[w.ID] = string(w.Body)
	}
	var page struct{ Records []record }
	s.Await("the batch in the log", func() bool {
		s.operator(http.MethodGet, "/webhook/deliveries?event=message.batch.completed&state=DELIVERED", nil, &page)
		return len(page.Records) == 1
	})
	r := page.Records[0]
	if r.Flow != "batch" || r.Target != "global" || r.BatchID == nil || r.InstanceID != nil || r.InstanceName != nil || ids[r.EventID] == "" {
		t.Errorf("%+v", r)
	}
}
