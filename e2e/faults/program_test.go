package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nhooyr.io/websocket"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
)

func TestDemoRunsToItsEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	t.Parallel() // it waits more than it works
	begin := time.Now()
	temp, real := t.TempDir(), t.TempDir()
	for _, name := range []string{"postern.db", "secrets.json", "sandbox.db"} { // of accounts that are someone's
		if err := os.WriteFile(filepath.Join(real, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	status, output := rig.Program(t, real, []string{
		"TMPDIR=" + temp, "STORE_PATH=" + filepath.Join(real, "postern.db"), "SANDBOX_PATH=" + filepath.Join(real, "sandbox.db"),
	}, "demo")
	if status != 0 {
		t.Fatalf("exit status %d:\n%s", status, output)
	}
	for _, want := range []string{
		"40 sent, 0 failed, 0 unknown", "40 of 40 decrypted the text, 0 of them more than once", "100 %",
		"qrcode.updated", "connection.update", "messages.upsert", "send.message", "messages.update", "message.batch.completed",
	} {
		if !strings.Contains(output, want) {
			t.Errorf("the demo does not show %q", want)
		}
	}
	if took := time.Since(begin); took > 15*time.Second {
		t.Errorf("the demo took %v", took)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("the demo left %v (%v)", left, err)
	}
	for _, name := range []string{"postern.db", "secrets.json", "sandbox.db"} {
		if raw, err := os.ReadFile(filepath.Join(real, name)); err != nil || string(raw) != name {
			t.Errorf("the demo touched %s of the configured folder: %q, %v", name, raw, err)
		}
	}
	if all, err := os.ReadDir(real); err != nil || len(all) != 3 {
		t.Errorf("the demo left %v in the configured folder (%v)", all, err)
	}
}

// TestWebSocketAndWebhookBodiesAreEqual listens to a batch on the
// WebSocket and compares with what the webhook received.
func TestWebSocketAndWebhookBodiesAreEqual(t *testing.T) {
	w := rig.NewWorld(t)
	w.Start()
	w.Pair("red")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	url := strings.Replace(w.API.Base, "http", "ws", 1) + "/ws/global/events?event=*&token=" + w.User
	conn, _, err := websocket.Dial(ctx, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	w.CreateBatch("socket", []string{"red"}, []string{"4917400000001", "4917400000002", "4917400000003"})
	var kinds []string
	for last := ""; last != string(event.BatchCompleted); {
		_, body, err := conn.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var e struct{ Event string }
		if err := json.Unmarshal(body, &e); err != nil {
			t.Fatal(err)
		}
		last = e.Event
		kinds = append(kinds, strings.TrimPrefix(last, "message.batch."))
		w.Await("the webhook of "+last, func() bool {
			return w.Times(body) == 1
		})
	}
	if got, want := strings.Join(kinds, " "), "created started progress progress progress completed"; got != want {
		t.Errorf("events %q, want %q", got, want)
	}
	w.Stop()
}

// TestEventCarriesTheRequestIDOfItsCall also looks at the other
// headers of a delivery as they arrive.
func TestEventCarriesTheRequestIDOfItsCall(t *testing.T) {
	w := rig.NewWorld(t)
	headers := make(chan http.Header, 1000)
	next := w.Hook.Config.Handler
	w.Hook.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		headers <- r.Header.Clone()
		next.ServeHTTP(rw, r)
	})
	w.Start()
	token := w.Pair("red")
	w.Call(consumer.Bearer(token), http.MethodPut, "/webhook/set/red", map[string]any{
		"url": w.Hook.URL, "events": map[string]bool{"sendMessage": true},
	}, nil)
	var hook struct{ Events map[string]bool }
	w.Call(consumer.Bearer(token), http.MethodGet, "/webhook/find/red", nil, &hook)
	if len(hook.Events) != 1 || !hook.Events["sendMessage"] {
		t.Errorf("the aliases give %v", hook.Events)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.API.Base+"/message/sendText/red",
		strings.NewReader(`{"number":"+49 174 0000-009","textMessage":{"text":"hi"}}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("x-request-id", "trace-42")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.Header.Get("x-request-id") != "trace-42" {
		t.Fatalf("send: %s, x-request-id %q", resp.Status, resp.Header.Get("x-request-id"))
	}
	// One delivery for the instance's webhook, one for the global webhook.
	w.Await("both deliveries", func() bool { return w.Seen(string(event.SendMessage)) == 2 })
	w.Stop()
	close(headers)
	found := 0
	for h := range headers {
		if h.Get("x-webhook-event") != string(event.SendMessage) {
			continue
		}
		found++
		owner := h.Get("x-owner-jid")
		got := fmt.Sprint(h.Get("x-request-id"), " ", h.Get("x-instance-name"), " ", h.Get("x-instance-id"), " ", h.Get("User-Agent"), " ", h.Get("Content-Type"))
		if got != "trace-42 red 1 Service-Webhook/1.0 application/json" || !strings.HasSuffix(owner, "@"+event.UserServer) {
			t.Errorf("headers %q, owner %q", got, owner)
		}
	}
	if found != 2 {
		t.Errorf("%d deliveries of send.message", found)
	}
}

func TestSchemaPrintsEveryBucketWithItsOwner(t *testing.T) {
	status, output := rig.Program(t, t.TempDir(), nil, "schema")
	if status != 0 {
		t.Fatal(output)
	}
	for _, bucket := range []string{"meta", "outbox", "delivery_due", "instance_name", "webhook", "message_key", "device", "lid_map", "batch_item"} {
		if !strings.Contains(output, "\n"+bucket+" ") && !strings.HasPrefix(output, bucket+" ") {
			t.Errorf("%s is missing:\n%s", bucket, output)
		}
	}
}

func TestATokenOfTheCommandLineIsAccepted(t *testing.T) {
	w := rig.NewWorld(t)
	w.Start()
	status, output := rig.Program(t, w.Folder, []string{
		"AUTHENTICATION_GLOBAL_AUTH_TOKEN=" + w.Sec.GlobalAuthToken, "AUTHENTICATION_JWT_SECRET=" + w.Sec.JWTSecret,
	}, "token", "user", "--id", w.Owner.String(), "--ttl", "1h")
	if status != 0 {
		t.Fatal(output)
	}
	var list struct{ TotalRecords *int }
	w.Call(consumer.Bearer(strings.TrimSpace(output)), http.MethodGet, "/message/batches", nil, &list)
	if list.TotalRecords == nil || *list.TotalRecords != 0 {
		t.Errorf("batches of the new user: %v", list)
	}
	w.Stop()
}
