package migrate

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"postern/event"
	"postern/instance"
	"postern/instance/webhooks"
	"postern/migrate/migratetest"
)

// codechatSchema is that of its migrations, with what they make of two instances.
const codechatSchema = `
CREATE TYPE "InstanceConnectionStatus" AS ENUM ('ONLINE', 'OFFLINE');
CREATE TYPE "DeviceMessage" AS ENUM ('ios', 'android', 'web', 'unknown', 'desktop');
CREATE TABLE "Instance" ("id" serial PRIMARY KEY, "name" varchar(255) NOT NULL UNIQUE, "description" varchar(255), "connectionStatus" "InstanceConnectionStatus" DEFAULT 'ONLINE',
 "ownerJid" varchar(100), "profilePicUrl" varchar(500), "createdAt" timestamp DEFAULT now(), "updatedAt" timestamp, "externalAttributes" jsonb);
CREATE TABLE "Auth" ("id" serial PRIMARY KEY, "token" text NOT NULL, "createdAt" timestamp DEFAULT now(), "updatedAt" timestamp, "instanceId" integer NOT NULL);
CREATE TABLE "InstanceWhatsAppConnection" ("instanceId" integer PRIMARY KEY, "connectionStatus" varchar(64) NOT NULL DEFAULT 'offline', "whatsappDeviceJid" varchar(100) UNIQUE, "whatsappOwnerJid" varchar(100), "lastConnectedAt" timestamp);
CREATE TABLE "Webhook" ("id" serial PRIMARY KEY, "url" varchar(500) NOT NULL, "enabled" boolean DEFAULT true, "events" jsonb, "createdAt" timestamp, "updatedAt" timestamp, "instanceId" integer NOT NULL UNIQUE);
CREATE TABLE "Chat" ("id" serial PRIMARY KEY, "remoteJid" varchar(100) NOT NULL, "instanceId" integer NOT NULL);
CREATE TABLE "Contact" ("id" serial PRIMARY KEY, "remoteJid" varchar(100) NOT NULL, "pushName" varchar(100), "profilePicUrl" varchar(500), "instanceId" integer NOT NULL);
CREATE TABLE "Message" ("id" serial PRIMARY KEY, "keyId" varchar(100) NOT NULL, "keyRemoteJid" varchar(100), "keyLid" varchar(100), "keyFromMe" boolean NOT NULL, "keyParticipant" varchar(100), "keyParticipantLid" varchar(100),
 "pushName" varchar(100), "messageType" varchar(100) NOT NULL, "content" jsonb NOT NULL, "messageTimestamp" integer NOT NULL, "device" "DeviceMessage" NOT NULL, "isGroup" boolean, "instanceId" integer NOT NULL, "metadata" jsonb);
CREATE TABLE "MessageUpdate" ("id" serial PRIMARY KEY, "dateTime" timestamp NOT NULL, "status" varchar(100) NOT NULL, "messageId" integer NOT NULL);
INSERT INTO "Instance" ("name", "description", "ownerJid", "externalAttributes") VALUES ('anna', 'the first', '4915112345678@s.whatsapp.net', '{"tenant": "north"}'), ('bernd', NULL, NULL, 'null'), ('never', NULL, NULL, NULL);
INSERT INTO "Auth" ("token", "instanceId") VALUES ('good for anna', 1), ('expired', 2), ('x', 3);
INSERT INTO "InstanceWhatsAppConnection" ("instanceId", "whatsappDeviceJid") VALUES (2, '4915187654321:1@s.whatsapp.net');
INSERT INTO "Webhook" ("url", "enabled", "events", "instanceId") VALUES ('https://example.com/hook', false, '{"messagesUpsert": true, "sendMessage": false, "typebotChangeStatus": true}', 1), ('ftp://example.com', true, '{}', 2);
INSERT INTO "Chat" ("remoteJid", "instanceId") VALUES ('4915100000001@s.whatsapp.net', 1);
INSERT INTO "Contact" ("remoteJid", "pushName", "instanceId") VALUES ('4915100000001@s.whatsapp.net', 'Alice', 1), ('1203630@g.us', 'team', 1);
INSERT INTO "Message" ("keyId", "keyRemoteJid", "keyLid", "keyFromMe", "pushName", "messageType", "content", "messageTimestamp", "device", "isGroup", "instanceId", "metadata") VALUES
 ('3EB0', '4915100000001@s.whatsapp.net', '99@lid', false, 'Alice', 'conversation', E'{"text": "line\\nbreak \\"quoted\\""}', 1700000000, 'ios', false, 1, NULL),
 ('3EB1', '1203630@g.us', NULL, true, NULL, 'imageMessage', '{"url": "u"}', 1700000001, 'web', true, 1, '{"edited": true}'),
 ('', '1203630@g.us', NULL, true, NULL, 'imageMessage', '{"url": "u"}', 1700000001, 'web', true, 1, NULL);
INSERT INTO "MessageUpdate" ("dateTime", "status", "messageId") VALUES ('2026-01-02 03:04:05', 'read', 2), ('2026-01-02 03:04:06', 'DELIVERY_ACK', 2);
`

// TestInstancesOfCodechatAreTakenOver has its PostgreSQL as it runs and as a text, and the
// library's store in SQLite beside it, as it can be configured.
func TestInstancesOfCodechatAreTakenOver(t *testing.T) {
	server := migratetest.StartPostgreSQL(t)
	server.Exec(t, codechatSchema)
	for _, from := range []string{server.URL(), server.Dump(t, "--data-only")} {
		codechatIsTakenOver(t, from)
	}
}

func codechatIsTakenOver(t *testing.T, from string) {
	t.Helper()
	o := options(from, whatsmeowStore(t, annaDevice, berndJID))
	o.Messages = true
	all, p := accounts(t, o)
	anna, bernd := all["anna"], all["bernd"]
	if p.App != "codechat-go" || len(all) != 2 || anna == nil || bernd == nil {
		t.Fatalf("%s: %v", p.App, all)
	}
	in := anna.Import
	if in.Token != "good for anna" || anna.NewToken != "" || in.Description != "the first" || string(in.ExternalAttributes) != `{"tenant": "north"}` || in.OwnerJID != annaJID {
		t.Errorf("%+v", in)
	}
	if w := in.Webhook; w == nil || *w.URL != "https://example.com/hook" || *w.Enabled || !reflect.DeepEqual(w.Events, map[event.Flag]bool{"messagesUpsert": true, "sendMessage": false}) {
		t.Errorf("webhook %+v", w)
	}
	says(t, anna.Left, "the webhook's event typebotChangeStatus", "1 row of Contact", "1 row of Message", "keyId must be a message id")
	if bernd.Import.Token != "" || bernd.NewToken == "" || bernd.Import.Webhook != nil {
		t.Errorf("%+v", bernd.Import)
	}
	says(t, bernd.Left, "the webhook: url must have the scheme http or https")
	says(t, p.Left, "the instance never, which was never paired", "the tables Chat")
	if len(in.Contacts) != 1 || *in.Contacts[0].PushName != "Alice" {
		t.Errorf("contacts %+v", in.Contacts)
	}
	if len(in.Messages) != 2 {
		t.Fatalf("%d messages", len(in.Messages))
	}
	first, second := in.Messages[0].Message, in.Messages[1]
	if first.KeyID != "3EB0" || *first.KeyLID != "99@lid" || first.KeyFromMe || string(first.Content) != `{"text": "line\nbreak \"quoted\""}` || first.MessageTimestamp != 1700000000 || *first.Device != "ios" || first.Metadata != nil {
		t.Errorf("%+v", first)
	}
	if !second.Message.KeyFromMe || !second.Message.IsGroup || string(second.Message.Metadata) != `{"edited": true}` || len(second.Updates) != 2 ||
		second.Updates[0].Status != event.StatusRead || second.Updates[1].Status != event.StatusDelivered || second.Updates[0].At.Unix() != 1767323045 {
		t.Errorf("%+v", second)
	}

	o.Messages = false
	all, p = accounts(t, o)
	if len(all["anna"].Import.Messages)+len(all["anna"].Import.Contacts) != 0 {
		t.Error("messages without --messages")
	}
	says(t, p.Left, "--messages imports them")
}

// TestInstancesOfWuzapiAreTakenOver has its two files in one folder, with and without
// the name of the program.
func TestInstancesOfWuzapiAreTakenOver(t *testing.T) {
	folder := t.TempDir()
	store, err := os.ReadFile(whatsmeowStore(t, annaDevice, berndJID))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "main.db"), store, 0o600); err != nil {
		t.Fatal(err)
	}
	run(
		t, filepath.Join(folder, "users.db"),
		`CREATE TABLE users (id TEXT PRIMARY KEY, name TEXT NOT NULL, token TEXT NOT NULL, webhook TEXT NOT NULL DEFAULT '', jid TEXT NOT NULL DEFAULT '', qrcode TEXT NOT NULL DEFAULT '', connected INTEGER, expiration INTEGER, events TEXT NOT NULL DEFAULT '', proxy_url TEXT DEFAULT '')`,
		`ALTER TABLE users ADD COLUMN s3_enabled BOOLEAN DEFAULT 0`, `ALTER TABLE users ADD COLUMN s3_bucket TEXT DEFAULT ''`, `ALTER TABLE users ADD COLUMN s3_path_style BOOLEAN DEFAULT 1`,
		`ALTER TABLE users ADD COLUMN history INTEGER DEFAULT 0`, `ALTER TABLE users ADD COLUMN hmac_key BLOB`,
		`CREATE TABLE message_history (id INTEGER PRIMARY KEY AUTOINCREMENT, user_id TEXT NOT NULL, chat_jid TEXT NOT NULL, sender_jid TEXT NOT NULL, message_id TEXT NOT NULL, timestamp DATETIME NOT NULL, message_type TEXT NOT NULL, text_content TEXT, media_link TEXT)`,
		`CREATE TABLE migrations (id INTEGER PRIMARY KEY, name TEXT)`, `INSERT INTO migrations VALUES (1, 'x')`,
		`INSERT INTO users (id, name, token, webhook, jid, events, proxy_url, s3_enabled, s3_bucket, hmac_key) VALUES ('a1', 'anna', 'plain', 'https://example.com/w', '`+annaDevice+`', 'Message, ReadReceipt,CATRefreshError', 'socks5://u:p@proxy.example.com:1080', 1, 'media', X'00ff')`,
		`INSERT INTO users (id, name, token, webhook, jid, events, proxy_url) VALUES ('b2', 'bernd', 'plain', 'https://example.com/all', '`+berndJID+`', 'All', 'gopher://x')`,
		`INSERT INTO message_history (user_id, chat_jid, sender_jid, message_id, timestamp, message_type, text_content, media_link) VALUES
		 ('a1', '4915100000001@s.whatsapp.net', '4915100000001:3@s.whatsapp.net', '3EB0', '2026-01-02 03:04:05.5+00:00', 'text', 'hello', NULL), ('a1', '1203630@g.us', '`+annaDevice+`', '3EB1', '2026-01-02 03:04:06', 'text', 'mine', ''),
		 ('a1', '1203630@g.us', '99@lid', '3EB2', '2026-01-02 03:04:07', 'image', '', 'https://s3/x'), ('gone', 'x@s.whatsapp.net', 'x', '3EB3', '2026-01-02 03:04:07', 'text', 'x', NULL)`,
	)
	for _, named := range []string{"", "wuzapi"} {
		o := options(folder)
		o.App, o.Messages = named, true
		all, p := accounts(t, o)
		anna, bernd := all["anna"], all["bernd"]
		if p.App != "wuzapi" || len(all) != 2 || anna == nil || bernd == nil {
			t.Fatalf("%s: %v", p.App, all)
		}
		in := anna.Import
		if w := in.Webhook; w == nil || *w.URL != "https://example.com/w" || !*w.Enabled || !reflect.DeepEqual(w.Events, map[event.Flag]bool{"messagesUpsert": true, "messagesUpdated": true}) {
			t.Errorf("webhook %+v", w)
		}
		if in.Proxy == nil || in.Proxy.URL != "socks5://u:p@proxy.example.com:1080" || in.Token != "" {
			t.Errorf("%+v", in)
		}
		says(t, anna.Left, "CATRefreshError", "users.s3_enabled = 1", "users.s3_bucket = media", "users.hmac_key", "bodies", "1 row of message_history", "has no content")
		if text := fmt.Sprint(anna.Left, anna.Kept, bernd.Left); strings.Contains(text, "u:p@") || strings.Contains(text, "plain") {
			t.Errorf("a secret is in %s", text)
		}
		says(t, bernd.Left, "the proxy: ")
		if w := bernd.Import.Webhook; w == nil || !maps.Equal(w.Events, every()) {
			t.Errorf("all events are %+v", w)
		}
		if len(in.Messages) != 2 {
			t.Fatalf("messages %+v", in.Messages)
		}
		first, second := in.Messages[0].Message, in.Messages[1].Message
		if first.KeyFromMe || *first.KeyRemoteJID != "4915100000001@s.whatsapp.net" || string(first.Content) != `{"text":"hello"}` || first.MessageType != "conversation" || first.MessageTimestamp != 1767323045 {
			t.Errorf("%+v", first)
		}
		if !second.KeyFromMe || !second.IsGroup || second.KeyParticipant != nil {
			t.Errorf("%+v", second)
		}
	}
}

// TestInstancesOfGowaAreTakenOver has further webhooks, with headers.
func TestInstancesOfGowaAreTakenOver(t *testing.T) {
	chats := database(
		t, "chatstorage.db",
		`CREATE TABLE devices (device_id TEXT PRIMARY KEY, display_name TEXT, jid TEXT, created_at DATETIME, updated_at DATETIME)`, `ALTER TABLE devices ADD COLUMN ad_jid TEXT`,
		`CREATE TABLE device_webhook_configs (id INTEGER PRIMARY KEY AUTOINCREMENT, device_id TEXT NOT NULL, webhook_url TEXT NOT NULL, secret TEXT NOT NULL DEFAULT '', events TEXT NOT NULL DEFAULT '', enabled BOOLEAN NOT NULL DEFAULT 1, headers TEXT NOT NULL DEFAULT '')`,
		`CREATE TABLE chats (device_id TEXT, jid TEXT, name TEXT, last_message_time TIMESTAMP)`,
		`CREATE TABLE messages (id TEXT, chat_jid TEXT, device_id TEXT, sender TEXT, content TEXT, timestamp TIMESTAMP, is_from_me BOOLEAN, media_type TEXT)`,
		`INSERT INTO devices VALUES ('anna', 'Anna''s shop', '`+annaJID+`', NULL, NULL, '`+annaDevice+`'), ('bernd', '', '4915187654321@s.whatsapp.net', NULL, NULL, NULL)`,
		`INSERT INTO device_webhook_configs (device_id, webhook_url, secret, events, enabled, headers) VALUES ('anna', 'https://example.com/1', 's', '', 1, '{"X-Key":"v"}'), ('anna', 'https://example.com/2', '', 'message,message.ack', 0, ''), ('gone', 'https://example.com/3', '', '', 1, '')`,
		`INSERT INTO chats VALUES ('`+annaJID+`', '4915100000001@s.whatsapp.net', 'Alice', NULL), ('anna', '1203630@g.us', 'team', NULL)`,
		`INSERT INTO messages VALUES ('3EB0', '4915100000001@s.whatsapp.net', '`+annaJID+`', '4915100000001@s.whatsapp.net', 'hello', '2026-01-02 03:04:05 +0000 UTC', 0, ''), ('3EB1', '4915100000001@s.whatsapp.net', 'anna', '', '', '2026-01-02 03:04:05', 1, 'image')`,
	)
	o := options(whatsmeowStore(t, annaDevice, berndJID), chats)
	o.Messages = true
	all, p := accounts(t, o)
	anna := all["anna"]
	if p.App != "gowa" || anna == nil || all["bernd"] == nil {
		t.Fatalf("%s: %v", p.App, all)
	}
	in := anna.Import
	if w := in.Webhook; w == nil || *w.URL != "https://example.com/1" || !maps.Equal(w.Events, every()) || in.Description != "Anna's shop" {
		t.Errorf("%+v", in)
	}
	off := false
	want := &webhooks.OptionsChange{Headers: map[string]string{"X-Key": "v"}, Endpoints: []webhooks.EndpointChange{{
		ID: "webhook-2", URL: "https://example.com/2", Enabled: &off, Events: map[event.Flag]bool{"messagesUpsert": true, "messagesUpdated": true},
	}}}
	if !reflect.DeepEqual(in.Options, want) {
		t.Errorf("options %+v", in.Options)
	}
	says(t, anna.Left, "device_webhook_configs.secret", "1 row of messages")
	if len(in.Messages) != 1 || len(in.Contacts) != 1 || *in.Contacts[0].FullName != "Alice" {
		t.Errorf("%+v %+v", in.Messages, in.Contacts)
	}
}

// TestInstancesOfEvolutionAreTakenOver has its two databases as texts with INSERTs,
// and settings.
func TestInstancesOfEvolutionAreTakenOver(t *testing.T) {
	users := database(
		t, "users.db",
		`CREATE TABLE instances (id uuid, name text, token text, webhook text, rabbitmq_enable text, jid text, qrcode text, connected boolean, expiration bigint, events text, os_name text, proxy text, client_name text, created_at datetime, always_online boolean, reject_call boolean, msg_reject_call text, read_messages boolean, ignore_groups boolean, ignore_status boolean)`,
		`CREATE TABLE labels (id text)`, `INSERT INTO labels VALUES ('1')`, `CREATE TABLE messages (id text, message_id text)`, `INSERT INTO messages VALUES ('1', '2')`,
		`INSERT INTO instances VALUES ('u1', 'anna', 'tok', 'https://example.com/e', 'enabled', '`+annaDevice+`', 'data:image', 1, 0, 'MESSAGE,CALL', 'Linux', '{"protocol":"http","host":"proxy.example.com","port":"3128","username":"u","password":"p"}', 'evo', NULL, 1, 1, 'call later', 0, 1, 0)`,
		`INSERT INTO instances (id, name, token, jid, proxy) VALUES ('u2', 'my shop', 'tok2', '`+berndJID+`', '')`,
	)
	from := []string{migratetest.SQLiteDump(t, whatsmeowStore(t, annaDevice, berndJID)), migratetest.SQLiteDump(t, users)}
	if _, err := Whatsmeow(t.Context(), options(from...)); err == nil || !strings.Contains(err.Error(), `the instance "my shop"`) || !strings.Contains(err.Error(), "--name "+berndJID+"=NAME") {
		t.Fatalf("a name with a space: %v", err)
	}
	o := options(from...)
	o.Names = []Naming{{berndJID, "shop"}}
	all, p := accounts(t, o)
	anna := all["anna"]
	if p.App != "evolution-go" || anna == nil || all["shop"] == nil {
		t.Fatalf("%s: %v", p.App, all)
	}
	in := anna.Import
	if in.Proxy == nil || in.Proxy.URL != "http://u:p@proxy.example.com:3128" {
		t.Errorf("proxy %+v", in.Proxy)
	}
	want := &instance.Settings{AlwaysOnline: true, RejectCalls: instance.RejectCalls{Enabled: true, Message: "call later"}, Ignore: instance.Ignore{Groups: true}}
	if !reflect.DeepEqual(in.Settings, want) || all["shop"].Import.Settings != nil {
		t.Errorf("settings %+v", in.Settings)
	}
	if w := in.Webhook; w == nil || !reflect.DeepEqual(w.Events, map[event.Flag]bool{"messagesUpsert": true, "callUpsert": true}) {
		t.Errorf("webhook %+v", w)
	}
	says(t, anna.Left, "instances.rabbitmq_enable = enabled")
	says(t, p.Left, "the tables labels, messages")
}

// TestTheProgramIsNamedOrFound has names that are wrong, and devices that belong to
// none.
func TestTheProgramIsNamedOrFound(t *testing.T) {
	store := whatsmeowStore(t, annaDevice, berndJID)
	o := options(store)
	for named, want := range map[string]string{"whatsapp-web.js": "--app must be one of codechat-go, wuzapi, gowa, evolution-go", "wuzapi": "the tables of wuzapi are missing"} {
		o.App = named
		if _, err := Whatsmeow(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want it to say %q", err, want)
		}
	}
	users := database(
		t, "users.db", `CREATE TABLE users (id TEXT, name TEXT, token TEXT, webhook TEXT, jid TEXT, events TEXT)`,
		`INSERT INTO users VALUES ('1', 'anna', 't', '', '`+annaDevice+`', ''), ('2', 'moved', 't', '', '4915111111111:1@s.whatsapp.net', '')`,
	)
	all, p := accounts(t, options(store, users))
	if len(all) != 1 {
		t.Errorf("%v", all)
	}
	says(t, p.Left, "the device "+berndJID+", which belongs to no instance of the program; --name", "the instance moved, whose device 4915111111111:1@s.whatsapp.net is not in the store")
	o = options(store, users)
	o.Names = []Naming{{berndJID, "bernd"}}
	if all, _ := accounts(t, o); all["bernd"] == nil {
		t.Errorf("%v", all)
	}
	run(t, users, `UPDATE users SET jid = '`+annaDevice+`'`)
	if _, err := Whatsmeow(t.Context(), options(store, users)); err == nil || !strings.Contains(err.Error(), "both have the device") {
		t.Errorf("one device of two instances: %v", err)
	}
}

// TestFoldersAndFilesThatAreNone says what is wrong with a --from.
func TestFoldersAndFilesThatAreNone(t *testing.T) {
	empty := t.TempDir()
	store := whatsmeowStore(t, annaDevice)
	for name, c := range map[string]struct {
		from []string
		want string
	}{
		"nothing there":      {[]string{filepath.Join(empty, "none.db")}, "no such file"},
		"an empty folder":    {[]string{empty}, "has no SQLite file"},
		"one store twice":    {[]string{store, store}, "both have the table whatsmeow_"},
		"something else":     {[]string{filepath.Join("app.go")}, "app.go: malformed"},
		"no whatsmeow in it": {[]string{database(t, "x.db", "CREATE TABLE a (b)", "INSERT INTO a VALUES (1)")}, "there is no table whatsmeow_device"},
	} {
		if _, err := Whatsmeow(t.Context(), options(c.from...)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want it to say %q", name, err, c.want)
		}
	}
}
