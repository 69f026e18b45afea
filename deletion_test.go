package main

import (
	"net/http"
	"strings"
	"testing"

	"postern/event"
	"postern/store"
)

// TestOfADeletedInstanceNothingIsLeftInTheFile deletes the only instance of a
// file, after it has used every part of it, and looks into each bucket.
func TestOfADeletedInstanceNothingIsLeftInTheFile(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the program")
	}
	s := newScene(t)
	var connect struct{ Code string }
	s.call(bearer(s.token), http.MethodPost, "/instance/shop/connect", nil, &connect)
	s.do(t, step{method: http.MethodPost, path: "/sandbox/scan", body: `{"phone":"$own","code":"` + connect.Code + `"}`})
	s.awaitOnline(sceneName, s.token)
	s.call(bearer(s.token), http.MethodPut, "/instance/shop/webhook", map[string]any{"url": s.hook.URL}, nil)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.api.base+"/instance/shop/send/text",
		strings.NewReader(`{"number":"`+anneNumber+`","textMessage":{"text":"hello"}}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Header.Set("Idempotency-Key", "once")
	if res, err := http.DefaultClient.Do(req); err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res, err)
	} else {
		_ = res.Body.Close()
	}
	s.do(t, act("$anne", `{"do":"text","to":"$own","text":"hello too"}`))
	s.do(t, act("$own", `{"do":"contact","to":"$anne","fullName":"Anne Example"}`))
	s.await("what the phones did", func() bool {
		return s.seen(string(event.MessagesUpsert)) > 0 && s.seen(string(event.ContactsUpsert)) > 0 && s.seen(string(event.MessagesUpdate)) > 0
	})
	s.call(bearer(s.token), http.MethodDelete, "/instance/shop?force=true", nil, nil)
	s.stop()

	// What belongs to the program, to users, or to the network's people at large.
	others := map[string]bool{"meta": true, "device_run": true, "lid_map": true, "idempotency_time": true}
	st, err := store.Open(store.Options{Path: s.dataFile(), Buckets: buckets()})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for _, b := range append(store.Buckets(), buckets()...) {
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
