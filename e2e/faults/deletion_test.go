package faults

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"postern/app"
	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
	"postern/store"
)

// TestDeletedInstanceLeavesNothingInTheFile deletes the only instance of a
// file, after it has used every part of it, and looks into each bucket.
func TestDeletedInstanceLeavesNothingInTheFile(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the program")
	}
	s := rig.NewScene(t)
	var connect struct{ Code string }
	s.Call(consumer.Bearer(s.Token), http.MethodPost, "/instance/shop/connect", nil, &connect)
	s.Do(t, rig.Step{Method: http.MethodPost, Path: "/sandbox/scan", Body: `{"phone":"$own","code":"` + connect.Code + `"}`})
	s.AwaitOnline(rig.SceneName, s.Token)
	s.Call(consumer.Bearer(s.Token), http.MethodPut, "/instance/shop/webhook", map[string]any{"url": s.Hook.URL}, nil)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.API.Base+"/instance/shop/send/text",
		strings.NewReader(`{"number":"`+rig.AnneNumber+`","textMessage":{"text":"hello"}}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Token)
	req.Header.Set("Idempotency-Key", "once")
	if res, err := http.DefaultClient.Do(req); err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res, err)
	} else {
		_ = res.Body.Close()
	}
	s.Do(t, rig.Act("$anne", `{"do":"text","to":"$own","text":"hello too"}`))
	s.Do(t, rig.Act("$own", `{"do":"contact","to":"$anne","fullName":"Anne Example"}`))
	s.Await("what the phones did", func() bool {
		return s.Seen(string(event.MessagesUpsert)) > 0 && s.Seen(string(event.ContactsUpsert)) > 0 && s.Seen(string(event.MessagesUpdate)) > 0
	})
	s.Call(consumer.Bearer(s.Token), http.MethodPost, "/instance/shop/send/text", map[string]any{
		"number": rig.AnneNumber, "textMessage": map[string]any{"text": "later"}, "options": map[string]any{"sendAt": time.Now().Add(time.Hour).Format(time.RFC3339)},
	}, nil)
	s.Call(consumer.Bearer(s.Token), http.MethodDelete, "/instance/shop?force=true", nil, nil)
	s.Stop()

	// What belongs to the program, to users, or to the network's people at large.
	others := map[string]bool{"meta": true, "device_run": true, "lid_map": true, "idempotency_time": true, "delivery_log": true, "access_audit": true, "sample_minute": true, "sample_hour": true}
	st, err := store.Open(store.Options{Path: s.DataFile(), Buckets: app.Buckets()})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for _, b := range append(store.Buckets(), app.Buckets()...) {
		n, err := st.Rows(b.Name)
		if err != nil {
			t.Fatal(err)
		}
		if b.Name == "message_chat_name" {
			n-- // one record tells that the index is complete, for all instances
		}
		if n > 0 && !others[b.Name] {
			t.Errorf("%s still has %d records: %s", b.Name, n, b.Key)
		}
	}
}
