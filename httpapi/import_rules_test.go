package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"postern/dispatch"
	"postern/httpapi/instances"
	"postern/instance"
	"postern/instance/pace"
	"postern/messages"
	"postern/store"
)

// exported returns an account as an export writes it.
func exported() *instance.Received {
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	return &instance.Received{
		Export: instance.Export{
			Record:   raw(`{"name":"in","description":"d","externalAttributes":{"a":[1]},"token":{"value":"t"},"ownerJid":"1@s.whatsapp.net","profilePicUrl":"https://pps.whatsapp.net/x","restrictions":[{"type":"temporary.ban","account":"1@s.whatsapp.net","until":"2030-01-01T00:00:00Z"}]}`),
			Webhook:  raw(`{"id":7,"url":"https://crm.example.org/in","enabled":false,"events":{"messagesUpsert":true},"createdAt":"2020-01-01T00:00:00Z","updatedAt":"2020-01-01T00:00:00Z","instanceId":9}`),
			Options:  raw(`{"headers":{"X-Key":"k"},"secrets":[{"text":"whsec_` + strings.Repeat("A", 43) + `="}],"durable":true,"order":"chat","maxAge":"1h","filter":{"groups":true},"endpoints":[{"id":"crm","url":"https://b.example.org/","enabled":true,"events":{"messagesUpsert":true},"headers":{"X-B":"v"}}]}`),
			Proxy:    raw(`{"url":"http://proxy.example.org:3128","for":["socket"]}`),
			Settings: raw(`{"alwaysOnline":true}`),
			Limits:   &pace.Limits{},
		},
		Contacts: []messages.Contact{{JID: "2@s.whatsapp.net", PushName: "B"}},
		Messages: []messages.Exported{message(`{"storedAt":1,"message":{"keyId":"K","keyRemoteJid":"2@s.whatsapp.net","messageType":"conversation","content":{"text":"x"},"messageTimestamp":1}}`)},
	}
}

func message(text string) (m messages.Exported) {
	err := json.Unmarshal([]byte(`{"message":`+text+`,"updates":[{"status":"read","dateTime":"2020-01-01T00:00:00Z"}]}`), &m)
	if err != nil {
		panic(err)
	}
	return m
}

// nested returns an object with that many levels.
func nested(levels int) string {
	return strings.Repeat(`{"a":`, levels-1) + "{}" + strings.Repeat("}", levels-1)
}

// TestImportedAccountMeetsRequestRules changes one part of an account at a time to a value that the API refuses. The import must
// name the field and leave nothing of the account.
func TestImportedAccountMeetsRequestRules(t *testing.T) {
	r := newRig(t)
	registry, err := instance.Open(t.Context(), instance.Config{Store: r.store, Messages: r.messages, CheckURL: dispatch.Guard{}.CheckURL, CheckProxy: dispatch.Guard{}.CheckURL})
	if err != nil {
		t.Fatal(err)
	}
	var in *instance.Received
	r.api.instances.Transfers.Import = func(ctx context.Context, _ io.Reader, _ string, _ func(string)) (made instances.Imported, err error) {
		made.Record, err = registry.Receive(ctx, in, func(*store.Tx, int64) error { return nil })
		return made, err
	}
	bring := func() (status int, said string) {
		res := r.bring(t, part{"attachment", "a.account", "x"})
		return res.StatusCode, text(t, res)
	}
	set := func(to *json.RawMessage, old, changed string) {
		if !strings.Contains(string(*to), old) {
			t.Fatalf("%s is not in %s", old, *to)
		}
		*to = json.RawMessage(strings.Replace(string(*to), old, changed, 1))
	}
	record := func(old, changed string) func() { return func() { set(&in.Record, old, changed) } }
	webhook := func(old, changed string) func() { return func() { set(&in.Webhook, old, changed) } }
	options := func(old, changed string) func() { return func() { set(&in.Options, old, changed) } }
	contents := func(text string) func() { return func() { in.Messages[0] = message(text) } }
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprintf(`"X-%d":"%s"`, i, strings.Repeat("v", 600)))
	}
	const key, stored = `"headers":{"X-Key":"k"}`, `{"message":{"keyId":"K","keyRemoteJid":"2@s.whatsapp.net","messageType":"conversation","messageTimestamp":1,`
	for name, c := range map[string]struct {
		change func()
		want   string
	}{
		"deep attributes":               {record(`{"a":[1]}`, nested(65)), "externalAttributes nests"},
		"very deep attributes":          {record(`{"a":[1]}`, nested(9996)), "externalAttributes nests"},
		"large attributes":              {record(`{"a":[1]}`, `{"a":"`+strings.Repeat("x", 65536)+`"}`), "externalAttributes must have"},
		"attributes that are no object": {record(`{"a":[1]}`, `[1]`), "externalAttributes must be"},
		"long description":              {record(`"d"`, `"`+strings.Repeat("d", 256)+`"`), "description must have"},
		"name":                          {record(`"in"`, `"create"`), "instanceName must not"},
		"picture":                       {record("https://pps", "javascript:pps"), "profilePicUrl must be"},
		"restriction":                   {record("temporary.ban", "any"), "restrictions[0].type is not"},
		"metadata address":              {webhook("https://crm.example.org/in", "http://169.254.169.254/latest"), "webhook: url"},
		"webhook scheme":                {webhook("https://crm", "file://crm"), "webhook: url must have"},
		"webhook user":                  {webhook("https://crm", "https://a:b@crm"), "webhook: url must not"},
		"webhook flag":                  {webhook("messagesUpsert", "anything"), "webhook: events.anything"},
		"no webhook URL":                {webhook(`"url":"https://crm.example.org/in",`, ""), "webhook: url"},
		"webhook that is no object":     {func() { in.Webhook = json.RawMessage(`[]`) }, "webhook: "},
		"line break":                    {options(`"k"`, `"k\r\nX-Evil: 1"`), "webhook options: headers.X-Key must"},
		"host":                          {options("X-Key", "Host"), "webhook options: headers.Host must"},
		"header twice":                  {options(key, `"headers":{"X-Key":"k","x-key":"k"}`), "is a duplicate"},
		"many headers":                  {options(key, `"headers":{`+strings.Join(many, ",")+`}`), "webhook options: headers must have at most 16"},
		"hidden header":                 {options(`"k"`, `"***"`), "webhook options: headers.X-Key needs a value"},
		"order":                         {options(`"chat"`, `"any"`), "webhook options: order must"},
		"maximum age":                   {options(`"1h"`, `"1ns"`), "webhook options: maxAge must"},
		"secret":                        {options("whsec_A", "whsec_"), "webhook options: signing.secret must"},
		"secrets":                       {options(`"secrets":[`, `"secrets":[{"text":"whsec_`+strings.Repeat("A", 43)+`="},`), "webhook options: signing.secret must"},
		"endpoint address":              {options("https://b.example.org/", "http://[fd00:ec2::254]/"), "webhook options: endpoints[0].url"},
		"endpoint header":               {options(`"X-B":"v"`, `"Content-Length":"0"`), "webhook options: endpoints[0].headers.Content-Length must"},
		"endpoint flag":                 {options(`{"messagesUpsert":true},"headers":{"X-B`, `{"any":true},"headers":{"X-B`), "webhook options: endpoints[0].events.any"},
		"endpoint id":                   {options(`"crm"`, `"c r m"`), "webhook options: endpoints[0].id must"},
		"endpoint secret":               {options(`"headers":{"X-B":"v"}`, `"headers":{},"secrets":[{"text":"x"}]`), "webhook options: endpoints[0].signing.secret must"},
		"proxy":                         {func() { set(&in.Proxy, "http:", "ftp:") }, "proxy: url"},
		"proxy address":                 {func() { set(&in.Proxy, "proxy.example.org", "169.254.169.254") }, "proxy: url"},
		"proxy use":                     {func() { set(&in.Proxy, "socket", "all") }, "proxy: for"},
		"settings":                      {func() { in.Settings = json.RawMessage(`{"history":{"days":366}}`) }, "settings: "},
		"ignored chat":                  {func() { in.Settings = json.RawMessage(`{"ignore":{"jids":["nobody at all"]}}`) }, "ignore.jids[0]"},
		"limits":                        {func() { set := json.Unmarshal([]byte(`{"perMinute":-1}`), in.Limits); _ = set }, "limits: perMinute"},
		"contact":                       {func() { in.Contacts[0].JID = "" }, "contacts[0].jid must"},
		"zero byte of a contact":        {func() { in.Contacts[0].JID = "2\x00@s.whatsapp.net" }, "contacts[0].jid must"},
		"long LID":                      {record(`"ownerJid"`, `"ownerLid":"`+strings.Repeat("1", 256)+`","ownerJid"`), "ownerLid must"},
		"zero byte of an id":            {contents(strings.Replace(stored, `"K"`, `"K\u00002"`, 1) + `"content":{}}}`), "messages[0]: keyId must"},
		"zero byte of a chat":           {contents(strings.Replace(stored, `"2@`, `"2\u0000@`, 1) + `"content":{}}}`), "messages[0]: keyId must"},
		"deep content":                  {contents(stored + `"content":` + nested(65) + `}}`), "messages[0]: content nests"},
		"content that is no object":     {contents(stored + `"content":"x"}}`), "messages[0]: content must"},
		"deep metadata":                 {contents(stored + `"metadata":` + nested(65) + `}}`), "messages[0]: metadata nests"},
		"deep attributes of a message":  {contents(stored + `"externalAttributes":` + nested(65) + `}}`), "messages[0]: externalAttributes nests"},
		"large attributes of a message": {contents(stored + `"externalAttributes":{"a":"` + strings.Repeat("x", 65536) + `"}}}`), "messages[0]: externalAttributes must"},
		"no id":                         {contents(`{"message":{"messageType":"x"}}`), "messages[0]: keyId must"},
		"message status":                {func() { in.Messages[0].Updates[0].Status = "<b>" }, "messages[0]: updates[0].status is not"},
	} {
		in = exported()
		c.change()
		status, said := bring()
		if status < 400 || status > 499 || !strings.Contains(said, strings.ReplaceAll(c.want, `"`, `\"`)) {
			t.Errorf("%s: %d %.300s; want 4xx with %q", name, status, said, c.want)
		}
		if strings.Contains(c.want, "nests") && (status != 400 || !strings.Contains(said, "TOO_DEEP")) {
			t.Errorf("%s: %d %.300s; want 400 TOO_DEEP", name, status, said)
		}
		if all := registry.List(); len(all) > 0 {
			t.Fatalf("%s: %d instances are there", name, len(all))
		}
	}
	in = exported()
	if status, said := bring(); status != 201 {
		t.Fatalf("as exported: %d %s", status, said)
	}
	rec := registry.List()[0]
	hook, err := registry.Webhooks().Webhook(rec.ID)
	if err != nil || hook.URL != "https://crm.example.org/in" || hook.Enabled || !hook.Events["messagesUpsert"] || hook.CreatedAt.Year() != 2020 || hook.InstanceID != rec.ID {
		t.Errorf("%+v, %v", hook, err)
	}
	o, err := registry.Webhooks().Options(rec.ID)
	if err != nil || !o.Durable || !o.Signing.Enabled || o.Order != "chat" || o.Headers["X-Key"] != "***" || len(o.Endpoints) != 1 || o.Endpoints[0].Signing.Enabled || o.Filter.Status {
		t.Errorf("%+v, %v", o, err)
	}
	e, err := registry.Export(rec.ID)
	if err != nil || !strings.Contains(string(e.Options), "whsec_AAAA") || !strings.Contains(string(e.Options), `"k"`) || !strings.Contains(string(e.Proxy), "3128") || !strings.Contains(string(e.Settings), `"alwaysOnline":true`) {
		t.Errorf("%s %s %s, %v", e.Options, e.Proxy, e.Settings, err)
	}
}
