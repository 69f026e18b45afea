package moving

import (
	"database/sql"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/httpapi/tokens"
)

// TestImportedSettingsAreInTheAPI takes a webhook, headers, a
// further endpoint, stored messages, contacts and a token over, and asks for them.
func TestImportedSettingsAreInTheAPI(t *testing.T) {
	w := rig.NewWorld(t)
	path := storeOf(t, 1, 1)
	const own = "4915100000000@s.whatsapp.net"
	token, err := tokens.ForInstance([]byte(w.Sec.JWTSecret), "shop", 0, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	tables := filepath.Join(t.TempDir(), "codechat.db")
	db, err := sql.Open("sqlite", tables)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{
		`CREATE TABLE "Instance" (id INTEGER PRIMARY KEY, name TEXT, description TEXT, "ownerJid" TEXT, "externalAttributes" TEXT)`,
		`CREATE TABLE "Auth" (id INTEGER PRIMARY KEY, token TEXT, "instanceId" INTEGER)`,
		`CREATE TABLE "Webhook" (id INTEGER PRIMARY KEY, url TEXT, enabled BOOLEAN, events TEXT, headers TEXT, "instanceId" INTEGER)`,
		`CREATE TABLE "Contact" (id INTEGER PRIMARY KEY, "remoteJid" TEXT, "pushName" TEXT, "instanceId" INTEGER)`,
		`CREATE TABLE "Message" (id INTEGER PRIMARY KEY, "keyId" TEXT, "keyRemoteJid" TEXT, "keyFromMe" BOOLEAN, "messageType" TEXT, content TEXT, "messageTimestamp" INTEGER, device TEXT, "isGroup" BOOLEAN, "instanceId" INTEGER)`,
		`CREATE TABLE "MessageUpdate" (id INTEGER PRIMARY KEY, "dateTime" TEXT, status TEXT, "messageId" INTEGER)`,
		`INSERT INTO "Instance" VALUES (7, 'shop', 'the shop', '` + own + `', '{"tenant":"north"}')`, `INSERT INTO "Auth" VALUES (1, '` + token + `', 7)`,
		`INSERT INTO "Webhook" VALUES (1, '` + w.Hook.URL + `', 1, '{"connectionUpdated":true}', '{"X-Tenant":"north"}', 7)`,
		`INSERT INTO "Contact" VALUES (1, '4915200000001@s.whatsapp.net', 'Alice', 7)`,
		`INSERT INTO "Message" VALUES (3, '3EB01', '4915200000001@s.whatsapp.net', 1, 'conversation', '{"text":"the second"}', 1700000002, 'web', 0, 7), (2, '3EB00', '4915200000001@s.whatsapp.net', 0, 'conversation', '{"text":"the first"}', 1700000001, 'ios', 0, 7)`,
		`INSERT INTO "MessageUpdate" VALUES (1, '2026-01-02 03:04:05', 'read', 3)`,
	} {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	report := takeOver(w, 0, "whatsmeow", "--from", path, "--from", tables, "--messages")
	for _, want := range []string{"The source is of codechat-go", "token: the old one stays valid", "webhook with 1 event", "1 header", "stored messages: 2, stored contacts: 1", "external attributes"} {
		if !strings.Contains(report, want) {
			t.Errorf("the report does not say %q:\n%s", want, report)
		}
	}
	if strings.Contains(report, token) {
		t.Error("the token is in the report")
	}
	w.Keep = true
	w.Start()
	call := func(method, path string, in any) string {
		t.Helper()
		var out any
		w.Call(consumer.Bearer(token), method, path, in, &out)
		return fmt.Sprint(out)
	}
	for path, want := range map[string][]string{
		"/instance/shop":                 {"description:the shop", "tenant:north"},
		"/instance/shop/webhook":         {"enabled:true", "connectionUpdated:true", w.Hook.URL},
		"/instance/shop/webhook/options": {"X-Tenant:***"},
	} {
		have := call(http.MethodGet, path, nil)
		for _, text := range want {
			if !strings.Contains(have, text) {
				t.Errorf("%s has no %s: %s", path, text, have)
			}
		}
	}
	messages := call(http.MethodPost, "/chat/findMessages/shop", map[string]any{"where": map[string]any{"keyRemoteJid": "4915200000001@s.whatsapp.net"}})
	for _, want := range []string{"text:the first", "text:the second", "status:read", "total:2"} {
		if !strings.Contains(messages, want) {
			t.Errorf("no %s in %s", want, messages)
		}
	}
	if contacts := call(http.MethodGet, "/instance/shop/contacts", nil); !strings.Contains(contacts, "Alice") {
		t.Errorf("contacts: %s", contacts)
	}
	// The network does not know the device, which is reported; to the global webhook, too.
	w.Await("a webhook with the header", func() bool {
		return slices.ContainsFunc(w.Webhooks(), func(h consumer.Webhook) bool {
			return h.Event == "connection.update" && h.Header.Get("X-Tenant") == "north"
		})
	})
	w.Stop()
}
