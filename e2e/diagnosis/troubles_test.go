package diagnosis

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"postern/cli/consumer"
	"postern/console/trouble"
	"postern/e2e/rig"
)

// troubles asks what is wrong, with a credential.
func troubles(s *rig.Scene, auth consumer.Credential) (items []trouble.Item) {
	s.T.Helper()
	var is struct{ Items []trouble.Item }
	s.Call(auth, http.MethodGet, "/troubles", nil, &is)
	return is.Items
}

func find(items []trouble.Item, k trouble.Kind) *trouble.Item {
	for i := range items {
		if items[i].Kind == k {
			return &items[i]
		}
	}
	return nil
}

// TestDeadReceiverAndLostAccountAreTroubles from their beginning to their end, over a restart.
func TestDeadReceiverAndLostAccountAreTroubles(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real process")
	}
	s := rig.NewScene(t)
	s.Online(t)
	operator := consumer.Key(s.Sec.GlobalAuthToken)
	if items := troubles(s, operator); len(items) != 0 {
		t.Fatalf("of a program that works: %+v", items)
	}
	path := s.Fill("/instance/$name/webhook")
	s.Call(consumer.Bearer(s.Token), http.MethodPut, path, map[string]any{"url": "http://127.0.0.1:1/in?key=secret", "events": map[string]bool{"messagesUpsert": true}}, nil)
	s.Call(consumer.Bearer(s.Token), http.MethodPut, path+"/options", map[string]any{"durable": true}, nil)
	first := time.Now()
	for n := range 3 {
		s.Do(t, rig.Act("$anne", fmt.Sprintf(`{"do":"text","to":"$own","text":"event %d"}`, n)))
	}
	var is *trouble.Item
	s.Await("the failing receiver", func() bool {
		is = find(troubles(s, operator), trouble.ReceiverFailing)
		return is != nil
	})
	if took := time.Since(first); took > 90*time.Second {
		t.Errorf("the receiver was reported after %v", took)
	}
	if is.Origin == nil || *is.Origin != "http://127.0.0.1:1" || is.Count != 1 || is.Subjects[0].Name != "shop" || strings.Contains(is.Text+is.Link, "secret") || is.Since.Before(first.Add(-time.Second)) {
		t.Errorf("%+v", is)
	}
	s.Await("what waits", func() bool {
		is := find(troubles(s, operator), trouble.ReceiverFailing)
		return is != nil && is.Waiting == 3
	})
	s.Kill()
	s.Start()
	after := find(troubles(s, operator), trouble.ReceiverFailing)
	s.Await("the same after a restart", func() bool {
		after = find(troubles(s, operator), trouble.ReceiverFailing)
		return after != nil
	})
	if after.ID != is.ID {
		t.Errorf("after a restart it is %s, before %s", after.ID, is.ID)
	}
	s.Online(t)
	s.Do(t, rig.Act("$own", `{"do":"logout"}`))
	s.Await("the lost account", func() bool { return find(troubles(s, operator), trouble.InstanceLoggedOut) != nil })
	lost := *find(troubles(s, operator), trouble.InstanceLoggedOut)
	s.Kill()
	s.Start()
	s.Await("the same after a restart", func() bool { return find(troubles(s, operator), trouble.InstanceLoggedOut) != nil })
	if now := *find(troubles(s, operator), trouble.InstanceLoggedOut); !now.Since.Equal(lost.Since.Time) || now.Severity != trouble.Broken {
		t.Errorf("after a restart: %+v, before: %+v", now, lost)
	}
	var read, deliveries struct{ Key string }
	s.Call(operator, http.MethodPost, "/keys", map[string]any{"name": "read", "instances": []string{"shop"}, "scopes": []string{"read"}}, &read)
	s.Call(operator, http.MethodPost, "/keys", map[string]any{"name": "both", "instances": []string{"shop"}, "scopes": []string{"read", "deliveries"}}, &deliveries)
	if items := troubles(s, consumer.Bearer(read.Key)); len(items) != 1 || items[0].Kind != trouble.InstanceLoggedOut {
		t.Errorf("a key with read: %+v", items)
	}
	s.Await("the failing receiver, for a key with deliveries", func() bool { return find(troubles(s, consumer.Bearer(deliveries.Key)), trouble.ReceiverFailing) != nil })
	if status, _ := s.Raw(consumer.Bearer(s.Token), http.MethodGet, "/troubles", ""); status != http.StatusForbidden && status != http.StatusUnauthorized {
		t.Errorf("an instance token: %d", status)
	}
	status, metrics := s.Raw(operator, http.MethodGet, "/metrics", "")
	for _, row := range []string{`postern_troubles{kind="INSTANCE_LOGGED_OUT",severity="broken"} 1`, `postern_troubles{kind="BATCH_STUCK",severity="attention"} 0`} {
		if status != http.StatusOK || !strings.Contains(metrics, row) {
			t.Errorf("the metrics lack %s", row)
		}
	}
	s.Call(consumer.Bearer(s.Token), http.MethodDelete, s.Fill("/instance/$name/logout"), nil, nil)
	s.Await("the end of the lost account", func() bool { return find(troubles(s, operator), trouble.InstanceLoggedOut) == nil })
	s.Call(consumer.Bearer(s.Token), http.MethodPut, path, map[string]any{"url": s.Hook.URL, "events": map[string]bool{"messagesUpsert": true}}, nil)
	s.Await("the end of the failing receiver", func() bool { return len(troubles(s, operator)) == 0 })
}

// TestUnchangedTroublesAreNotModified for a client that has them.
func TestUnchangedTroublesAreNotModified(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real process")
	}
	s := rig.NewScene(t)
	ask := func(tag string) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.API.Base+"/troubles", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("apikey", s.Sec.GlobalAuthToken)
		if tag != "" {
			req.Header.Set("If-None-Match", tag)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = res.Body.Close() })
		return res
	}
	first := ask("")
	var is struct {
		At    time.Time
		Items []json.RawMessage
	}
	if err := json.NewDecoder(first.Body).Decode(&is); err != nil || is.Items == nil || is.At.IsZero() || first.Header.Get("ETag") == "" {
		t.Fatalf("%+v %v", is, err)
	}
	if again := ask(first.Header.Get("ETag")); again.StatusCode != http.StatusNotModified {
		t.Errorf("asked again: %d", again.StatusCode)
	}
	if other := ask(`W/"other"`); other.StatusCode != http.StatusOK {
		t.Errorf("with another tag: %d", other.StatusCode)
	}
}
