package settings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"postern/app"
	"postern/cli/consumer"
	"postern/delivery"
	"postern/delivery/logbook"
	"postern/e2e/rig"
	"postern/event"
	"postern/store"
)

// receiver is one destination of a scene.
type receiver struct {
	url string

	mu  sync.Mutex
	got []consumer.Webhook
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{}
	srv := httptest.NewServer(consumer.Receive(http.StatusOK, r.take))
	t.Cleanup(srv.Close)
	r.url = srv.URL
	return r
}

func (r *receiver) take(w consumer.Webhook) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, w)
}

// with returns the messages.upsert of a text that came.
func (r *receiver) with(text string) (all []consumer.Webhook) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.got {
		if w.Event == string(event.MessagesUpsert) && bytes.Contains(w.Body, []byte(text)) {
			all = append(all, w)
		}
	}
	return all
}

// await returns the one that has the text.
func (r *receiver) await(t *testing.T, s scene, text string) consumer.Webhook {
	t.Helper()
	s.Await(text, func() bool { return len(r.with(text)) > 0 })
	return r.with(text)[0]
}

func isSigned(t *testing.T, w consumer.Webhook, secret string) {
	t.Helper()
	key, err := consumer.ParseSecret(secret)
	if err != nil {
		t.Fatal(err)
	}
	if err := consumer.Verify(w, consumer.Tolerance, key); err != nil {
		t.Errorf("%s to %s: %v", w.Event, w.Header.Get("x-api-key"), err)
	}
}

// plain are the headers of a delivery without options.
var plain = []string{"Content-Length", "Content-Type", "User-Agent", "X-Instance-Id", "X-Instance-Name", "X-Owner-Jid", "X-Request-Id", "X-Webhook-Event"}

func headersOf(w consumer.Webhook) []string { return slices.Sorted(maps.Keys(w.Header)) }

// optionsAnswer is what options are answered with, as far as tests look at it.
type optionsAnswer struct {
	Signing   struct{ Secret string }
	Endpoints []struct {
		ID      string
		Signing struct{ Secret string }
	}
}

func (s scene) options(t *testing.T, body string) (o optionsAnswer) {
	t.Helper()
	s.Call(consumer.Bearer(s.Token), http.MethodPut, "/instance/"+rig.SceneName+"/webhook/options", json.RawMessage(body), &o)
	return o
}

// TestOptionsReachTheReceivers sends what happens on the network to a webhook and
// two endpoints, each with what was chosen for it, before and after a kill.
func TestOptionsReachTheReceivers(t *testing.T) {
	s := newScene(t)
	own, crm, bi := newReceiver(t), newReceiver(t), newReceiver(t)
	s.Do(t, rig.Route(http.MethodPut, "/instance/$name/webhook", fmt.Sprintf(`{"url":%q,"events":{"messagesUpsert":true}}`, own.url)))
	o := s.options(t, fmt.Sprintf(`{"headers":{"X-Api-Key":"the webhook's","Authorization":"Bearer of mine"},"signing":{"enabled":true},"filter":{"groups":false,"fromMe":false},"endpoints":[
		{"id":"crm","url":%q,"events":{"messagesUpsert":true},"headers":{"X-Api-Key":"the crm's"},"signing":{"enabled":true}},
		{"id":"bi","url":%q,"events":{"messagesUpsert":true}}]}`, crm.url, bi.url))
	s.Do(t, rig.Act("$anne", `{"do":"group-create","subject":"Noise","participants":["$own","$bob"]}`).As("group"))
	s.AwaitEvent(t, 0, event.GroupsUpsert, `[{}]`)
	for round := 1; round <= 2; round++ {
		kept := []string{fmt.Sprintf("in the group %d", round), fmt.Sprintf("of mine %d", round)}
		s.Do(t, rig.Act("$anne", `{"do":"text","to":"$group.group","text":"`+kept[0]+`"}`))
		s.Do(t, rig.Act("$own", `{"do":"text","to":"$anne","text":"`+kept[1]+`"}`))
		for _, text := range kept { // sent to the global webhook: there is no filter for that one
			s.AwaitEvent(t, 0, event.MessagesUpsert, `{"content":{"text":"`+text+`"}}`)
		}
		text := fmt.Sprintf("to the shop %d", round)
		s.Do(t, rig.Act("$anne", `{"do":"text","to":"$own","text":"`+text+`"}`))
		w := own.await(t, s, text)
		isSigned(t, w, o.Signing.Secret)
		if w.Header.Get("X-Api-Key") != "the webhook's" || w.Header.Get("Authorization") != "Bearer of mine" {
			t.Errorf("the webhook got %v", w.Header)
		}
		c := crm.await(t, s, text)
		isSigned(t, c, o.Endpoints[0].Signing.Secret)
		if c.Header.Get("X-Api-Key") != "the crm's" || c.Header.Get("Authorization") != "" {
			t.Errorf("the crm got %v", c.Header)
		}
		if c.ID == "" || c.ID != w.ID || !bytes.Equal(c.Body, w.Body) {
			t.Errorf("the event is %s for one and %s for the other", w.ID, c.ID)
		}
		if b := bi.await(t, s, text); !slices.Equal(headersOf(b), plain) {
			t.Errorf("who chose nothing got %v", headersOf(b))
		}
		for _, r := range []*receiver{own, crm, bi} {
			for _, text := range kept {
				if len(r.with(text)) > 0 {
					t.Errorf("%q passed the filter", text)
				}
			}
		}
		s.restart(t)
	}
	// A webhook that is disabled silences its own URL only.
	s.Do(t, rig.Route(http.MethodPut, "/instance/$name/webhook", `{"enabled":false}`))
	s.Do(t, rig.Act("$anne", `{"do":"text","to":"$own","text":"while it is silent"}`))
	crm.await(t, s, "while it is silent")
	bi.await(t, s, "while it is silent")
	if len(own.with("while it is silent")) > 0 {
		t.Error("a disabled webhook got it")
	}
	s.Stop()
}

// TestTheGlobalWebhookIsSignedInBothFlows, by its own options.
func TestTheGlobalWebhookIsSignedInBothFlows(t *testing.T) {
	s := newScene(t)
	var o optionsAnswer
	s.Call(consumer.Key(s.Sec.GlobalAuthToken), http.MethodPut, "/webhook/options", json.RawMessage(`{"headers":{"X-Api-Key":"operator"},"signing":{"enabled":true}}`), &o)
	from := len(s.Webhooks())
	s.Do(t, rig.Act("$anne", `{"do":"text","to":"$own","text":"signed"}`))
	s.AwaitEvent(t, from, event.MessagesUpsert, `{"content":{"text":"signed"}}`)
	s.CreateBatch("signed", []string{rig.SceneName}, []string{rig.AnneNumber})
	s.AwaitEvent(t, from, event.BatchCreated, `{"batch":{"name":"signed"}}`)
	seen := map[string]bool{}
	for _, w := range s.Webhooks()[from:] {
		switch {
		case w.Event == string(event.MessagesUpsert) && bytes.Contains(w.Body, []byte(`"signed"`)), w.Event == string(event.BatchCreated):
			seen[w.Event] = true
			isSigned(t, w, o.Signing.Secret)
			if w.Header.Get("X-Api-Key") != "operator" {
				t.Errorf("%s: %v", w.Event, w.Header)
			}
		}
	}
	if len(seen) != 2 {
		t.Errorf("seen %v", seen)
	}
	s.Stop()
}

// TestAnExampleIsSignedAndLeavesNoRecord, whatever the filter is.
func TestAnExampleIsSignedAndLeavesNoRecord(t *testing.T) {
	s := newScene(t)
	own := newReceiver(t)
	s.Do(t, rig.Route(http.MethodPut, "/instance/$name/webhook", fmt.Sprintf(`{"url":%q,"enabled":false}`, own.url)))
	o := s.options(t, `{"durable":true,"headers":{"X-Api-Key":"k"},"signing":{"enabled":true},"filter":{"fromMe":false,"groups":false}}`)
	var answer struct{ Delivered bool }
	s.Call(consumer.Bearer(s.Token), http.MethodPost, "/instance/"+rig.SceneName+"/webhook/test", map[string]any{"event": "messages.upsert"}, &answer)
	own.mu.Lock()
	got := slices.Clone(own.got)
	own.mu.Unlock()
	if !answer.Delivered || len(got) != 1 {
		t.Fatalf("%+v, %d came", answer, len(got))
	}
	isSigned(t, got[0], o.Signing.Secret)
	if got[0].Header.Get("X-Api-Key") != "k" {
		t.Errorf("it came with %v", got[0].Header)
	}
	s.Stop()
	if records := s.deliveries(t, delivery.Filter{NoGlobal: true}); len(records) != 0 {
		t.Errorf("it left %+v", records)
	}
}

// TestOutputContainsNoOptionSecrets: not in its log at the level
// debug, with a receiver that refuses and one that is not there, in no list, no
// metric, and not in what check says of a damaged record.
func TestOutputContainsNoOptionSecrets(t *testing.T) {
	s := newScene(t, "LOG_LEVEL=debug")
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) }))
	t.Cleanup(refuses.Close)
	s.Do(t, rig.Route(http.MethodPut, "/instance/$name/webhook", fmt.Sprintf(`{"url":%q,"events":{"messagesUpsert":true}}`, refuses.URL)))
	o := s.options(t, fmt.Sprintf(`{"headers":{"X-Api-Key":"sentinel of the webhook"},"signing":{"enabled":true},"endpoints":[
		{"id":"off","url":"http://127.0.0.1:1/","events":{"messagesUpsert":true},"headers":{"X-Api-Key":"sentinel of the endpoint"},"signing":{"enabled":true}},
		{"id":"no","url":%q,"events":{"messagesUpsert":true},"headers":{"X-Api-Key":"sentinel of the endpoint"}}]}`, refuses.URL))
	var global optionsAnswer
	s.Call(consumer.Key(s.Sec.GlobalAuthToken), http.MethodPut, "/webhook/options", json.RawMessage(`{"headers":{"A":"sentinel of the operator"},"signing":{"enabled":true}}`), &global)
	s.Do(t, rig.Act("$anne", `{"do":"text","to":"$own","text":"refused"}`))
	s.Await("refusals", func() bool { return strings.Count(s.Output.String(), "webhook not delivered") >= 2 })
	secrets := []string{"sentinel", o.Signing.Secret, o.Endpoints[0].Signing.Secret, global.Signing.Secret}
	outputs := map[string]string{}
	for _, path := range []string{"/instance", "/metrics", "/outbox", "/webhook/options", "/ready"} {
		_, outputs[path] = s.Raw(consumer.Key(s.Sec.GlobalAuthToken), http.MethodGet, path, "")
	}
	for _, path := range []string{"", "/webhook", "/webhook/options", "/settings"} {
		_, outputs["instance"+path] = s.Raw(consumer.Bearer(s.Token), http.MethodGet, "/instance/"+rig.SceneName+path, "")
	}
	s.Stop()
	outputs["log"] = s.Output.String()
	outputs["check"] = s.check(t)
	damage(t, s.DataFile(), "sentinel of the webhook")
	if outputs["check of damage"] = s.check(t); !strings.Contains(outputs["check of damage"], "webhook_options") {
		t.Errorf("check does not name the record: %s", outputs["check of damage"])
	}
	for where, text := range outputs {
		if text == "" {
			t.Errorf("%s is empty", where)
		}
		for _, secret := range secrets {
			if strings.Contains(strings.ToLower(text), strings.ToLower(secret)) {
				t.Errorf("%s has %q", where, secret)
			}
		}
	}
}

// TestWhatWaitsFollowsTheOptionsOfNow: to the new URL of an endpoint, and nowhere
// when its endpoint was removed, also when the program is killed right after the
// answer; an endpoint that takes the id of a removed one gets nothing of it.
func TestWhatWaitsFollowsTheOptionsOfNow(t *testing.T) {
	s := newScene(t)
	refuses, crm, other := newRefusing(t), newReceiver(t), newReceiver(t)
	options := func(durable bool, endpoints ...string) {
		t.Helper()
		var all []string
		for i := 0; i < len(endpoints); i += 2 {
			all = append(all, fmt.Sprintf(`{"id":%q,"url":%q,"events":{"messagesUpsert":true}}`, endpoints[i], endpoints[i+1]))
		}
		s.options(t, fmt.Sprintf(`{"durable":%t,"endpoints":[%s]}`, durable, strings.Join(all, ",")))
	}
	options(true, "crm", refuses.url+"/crm", "old", refuses.url+"/old")
	s.Do(t, rig.Act("$anne", `{"do":"text","to":"$own","text":"the first"}`))
	s.Await("refusals of both", func() bool { return len(refuses.with("the first")) >= 2 })
	options(true, "crm", crm.url)
	s.restart(t)
	w := crm.await(t, s, "the first")
	for _, earlier := range refuses.with("the first") {
		if earlier.ID == "" || earlier.ID != w.ID {
			t.Errorf("the event was %q and is %q", earlier.ID, w.ID)
		}
	}
	options(true, "crm", refuses.url, "old", other.url)
	s.Do(t, rig.Act("$anne", `{"do":"text","to":"$own","text":"the second"}`))
	other.await(t, s, "the second")
	if len(other.with("the first")) > 0 {
		t.Error("what waited for a removed endpoint went to another of its id")
	}
	s.Await("a refusal of the second", func() bool { return len(refuses.with("the second")) > 0 })
	options(false, "crm", crm.url, "old", other.url) // what is pending is delivered to its end
	if w := crm.await(t, s, "the second"); w.ID == "" {
		t.Error("a durable event lost its id when durable was switched off")
	}
	s.Do(t, rig.Act("$anne", `{"do":"text","to":"$own","text":"the third"}`))
	if w := crm.await(t, s, "the third"); w.ID != "" || !slices.Equal(headersOf(w), plain) {
		t.Errorf("an event of the old way has %v", w.Header)
	}
	s.Stop()
	got := map[string]bool{}
	for _, r := range s.deliveries(t, delivery.Filter{Target: event.TargetEndpoint}) {
		got[fmt.Sprint(r.Lane.Endpoint, " ", r.State, " ", r.LastError)] = true
	}
	want := map[string]bool{"crm DELIVERED ": true, "old CANCELLED REMOVED": true, "old DELIVERED ": true}
	if !maps.Equal(got, want) {
		t.Errorf("the log has %v, want %v", got, want)
	}
}

// newRefusing returns a receiver that keeps nothing for good.
func newRefusing(t *testing.T) *receiver {
	r := &receiver{}
	srv := httptest.NewServer(consumer.Receive(http.StatusServiceUnavailable, r.take))
	t.Cleanup(srv.Close)
	r.url = srv.URL
	return r
}

// deliveries returns what the log of a program that has ended has.
func (s scene) deliveries(t *testing.T, f delivery.Filter) (all []delivery.Listed) {
	t.Helper()
	file, err := store.Open(store.Options{Path: s.DataFile(), Buckets: app.Buckets()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	ledger, err := delivery.Open(file, delivery.Config{Log: true})
	if err != nil {
		t.Fatal(err)
	}
	page, err := logbook.New(ledger, logbook.Config{}).List(t.Context(), f, "", 100)
	if err != nil {
		t.Fatal(err)
	}
	return page.Records
}

// check returns what postern check says of the data file.
func (s scene) check(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), s.Cmd.Path, "check", s.DataFile())
	cmd.Dir, cmd.Env = s.Folder, append(slices.Clone(s.Cmd.Env), rig.AsProgram+"=1")
	out, _ := cmd.CombinedOutput() // it fails when there is damage
	return string(out)
}

// damage changes a letter of every copy of a text in a file.
func damage(t *testing.T, path, text string) {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(file, []byte(text)) {
		t.Fatalf("%q is not in the file (%v)", text, err)
	}
	broken := strings.ToUpper(text[:1]) + text[1:]
	if err := os.WriteFile(path, bytes.ReplaceAll(file, []byte(text), []byte(broken)), 0o600); err != nil {
		t.Fatal(err)
	}
}
