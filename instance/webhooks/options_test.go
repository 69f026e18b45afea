package webhooks

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"postern/delivery"
	"postern/event"
)

// everything is a change that sets every option, with a header of each kind.
func everything() OptionsChange {
	return OptionsChange{
		Durable: true, Order: new(event.OrderChat), MaxAge: new("90m"), Headers: map[string]string{"Authorization": "Bearer x y"}, Signed: true,
		Filter: &Filter{Groups: true},
		Endpoints: []EndpointChange{
			{ID: "crm", URL: "https://crm.example/in?key=1", Events: map[event.Flag]bool{"messagesUpsert": true}, Headers: map[string]string{"X-Api-Key": "of the crm"}, Signed: true},
			{ID: "b.I_2-", URL: "http://bi.example", Enabled: new(false)},
		},
	}
}

func (r *rig) options(id int64, c OptionsChange) Options {
	r.Helper()
	o, err := r.e.PutOptions(bg, id, c)
	if err != nil {
		r.Fatal(err)
	}
	return o
}

func (r *rig) shown(id int64) Options {
	r.Helper()
	o, err := r.e.Options(id)
	if err != nil {
		r.Fatal(err)
	}
	return o
}

func TestOptionsAreTheDefaultsBeforeAnyPut(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	want := Options{
		GlobalOptions: GlobalOptions{Order: "none", MaxAge: "72h", Headers: map[string]string{}},
		Filter:        Filter{Groups: true, Status: true, Newsletters: true, Broadcasts: true, FromMe: true}, Endpoints: []Endpoint{},
	}
	for _, id := range []int64{r.create(), Global} {
		if diff := cmp.Diff(want, r.shown(id)); diff != "" {
			t.Errorf("scope %d: %s", id, diff)
		}
	}
	if _, err := r.e.Options(9); !errors.Is(err, ErrNoInstance) {
		t.Errorf("of no instance: %v", err)
	}
}

func TestOptionsOutliveARestartAndShowNoSecret(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	id := r.create()
	made := r.options(id, everything())
	for _, secret := range []string{made.Signing.Secret, made.Endpoints[0].Signing.Secret} {
		if !strings.HasPrefix(secret, "whsec_") || len(secret) != len("whsec_")+44 {
			t.Errorf("the answer that made it shows %q", secret)
		}
	}
	made.Signing.Secret, made.Endpoints[0].Signing.Secret = "", ""
	if diff := cmp.Diff(made, r.shown(id)); diff != "" {
		t.Error(diff)
	}
	before, _ := r.e.Resolve(endpointLane(id, "crm"))
	r.reboot()
	if diff := cmp.Diff(made, r.shown(id)); diff != "" {
		t.Errorf("after a restart: %s", diff)
	}
	if after, state := r.e.Resolve(endpointLane(id, "crm")); state != delivery.Ready || !cmp.Equal(before, after) {
		t.Errorf("after a restart: %v", cmp.Diff(before, after))
	}
	if made.Headers["Authorization"] != "***" || made.Endpoints[0].Headers["X-Api-Key"] != "***" || made.MaxAge != "90m" {
		t.Errorf("shown: %+v", made)
	}
}

func TestEachDestinationIsJudgedAlone(t *testing.T) {
	r := newRig(t, withGlobal("http://global"))
	defer r.stop()
	id := r.create()
	e := r.e.scope(id)
	where := func(kind event.Kind) string {
		var all []string
		for _, d := range e.Destinations(kind, event.About{}) {
			all = append(all, string(d.Target)+":"+d.Endpoint)
		}
		return strings.Join(all, " ")
	}
	wants := func(flags ...event.Flag) map[event.Flag]bool {
		set := map[event.Flag]bool{}
		for _, f := range flags {
			set[f] = true
		}
		return set
	}
	r.options(id, OptionsChange{Endpoints: []EndpointChange{
		{ID: "one", URL: "http://one", Events: wants("messagesUpsert", "callUpsert")},
		{ID: "two", URL: "http://two", Events: wants("messagesUpsert"), Enabled: new(false)},
		{ID: "none", URL: "http://none"},
	}})
	if got := where(event.MessagesUpsert); got != "endpoint:one global:" {
		t.Errorf("without a webhook: %s", got)
	}
	r.hook(id, "http://own", "messagesUpsert")
	if got := where(event.MessagesUpsert); got != "webhook: endpoint:one global:" {
		t.Errorf("all that want it: %s", got)
	}
	if got := where(event.CallUpsert); got != "endpoint:one global:" {
		t.Errorf("the webhook does not want it: %s", got)
	}
	if _, err := r.e.PutWebhook(bg, id, WebhookChange{Enabled: new(false)}); err != nil {
		t.Fatal(err)
	}
	if got := where(event.MessagesUpsert); got != "endpoint:one global:" {
		t.Errorf("a disabled webhook silences more than its own URL, or not that: %s", got)
	}
	if got := where(event.PresenceUpdated); got != "global:" {
		t.Errorf("only the global webhook wants it: %s", got)
	}
}

func TestTheGlobalWebhookFollowsItsOptionsAlone(t *testing.T) {
	r := newRig(t, withGlobal("http://global"))
	defer r.stop()
	id := r.create()
	r.hook(id, "http://own", "callUpsert")
	r.options(id, everything())
	of := func(target event.Target) event.Destination {
		t.Helper()
		all := r.e.scope(id).Destinations(event.CallUpsert, event.About{})
		i := slices.IndexFunc(all, func(d event.Destination) bool { return d.Target == target })
		return all[i]
	}
	if d := of(event.TargetGlobal); !cmp.Equal(d, event.Destination{Target: event.TargetGlobal, URL: "http://global"}) {
		t.Errorf("the instance's options reach the global webhook: %+v", d)
	}
	own := of(event.TargetWebhook)
	if !own.Durable || own.Order != event.OrderChat || own.MaxAge.String() != "1h30m0s" || own.Headers["Authorization"] != "Bearer x y" || len(own.Secrets) != 1 || !own.WithID {
		t.Errorf("the webhook: %+v", own)
	}
	made := r.options(Global, OptionsChange{Durable: true, MaxAge: new("5s"), Order: new(event.OrderInstance), Headers: map[string]string{"A": "b"}, Signed: true})
	want := event.Destination{
		Target: event.TargetGlobal, URL: "http://global", Headers: map[string]string{"A": "b"}, Secrets: []string{made.Signing.Secret},
		WithID: true, Durable: true, Order: event.OrderInstance, MaxAge: 5e9,
	}
	if diff := cmp.Diff(want, of(event.TargetGlobal)); diff != "" {
		t.Error(diff)
	}
	if !cmp.Equal(own, of(event.TargetWebhook)) {
		t.Error("the global options reach the webhook of an instance")
	}
	want.Order, want.MaxAge = event.OrderNone, 0
	if d, state := r.e.Resolve(delivery.BatchLane); state != delivery.Ready || !cmp.Equal(want, d) {
		t.Errorf("batch events: %s", cmp.Diff(want, d))
	}
}
