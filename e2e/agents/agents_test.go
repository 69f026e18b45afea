// Package agents tests what agent programs do with a whole program, over both
// transports of the Model Context Protocol.
package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
	"postern/sandbox"
)

func TestAgents(t *testing.T) {
	o := newOffice(t)
	for _, one := range []struct {
		name string
		test func(*testing.T, *office)
	}{
		{"a read-only key reaches no tool that sends", readOnly},
		{"all tools do what they are for", allTools},
		{"text of others is in untrustedText only", untrusted},
		{"a repeated call sends once", repeated},
		{"recipients of the key hold", recipients},
		{"a batch is a DRAFT unless the key has batch and send", drafts},
		{"a key that is deleted in the middle of a session is refused", deleted},
		{"other instances do not exist for the key", otherInstances},
		{"the key's rate holds", rate},
		{"addresses in URIs are percent-encoded", resources},
		{"only scoped keys are taken, and Origin is checked", doors},
		{"every call is in the audit log", audit},
		{"the command says what is wrong", command},
		{"the command takes its key from a file", keyFile},
	} {
		t.Run(one.name, func(t *testing.T) { one.test(t, o) })
	}
}

func readOnly(t *testing.T, o *office) {
	key, _ := o.key(t, []string{"read", "media"}, nil)
	for way, connect := range o.ways() {
		s := connect(t, key)
		before := o.arrived(t)
		list, err := s.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var shown []string
		for _, tool := range list.Tools {
			shown = append(shown, tool.Name)
			if !tool.Annotations.ReadOnlyHint {
				t.Errorf("%s: %s is shown", way, tool.Name)
			}
		}
		for tool, args := range o.examples() {
			if text, isError := call(t, s, tool, args); isError == slices.Contains(shown, tool) {
				t.Errorf("%s: %s: %s", way, tool, text)
			}
		}
		var batches struct{ TotalRecords int }
		o.Call(consumer.Bearer(o.User), http.MethodGet, "/message/batches", nil, &batches)
		// What was sent after all would have come before this.
		o.PostJSON(t, o.Fill("/instance/$name/send/text"), `{"number":"$anne","textMessage":{"text":"the last `+way+`"}}`)
		anne, _ := o.Sandbox.Phone(rig.AnneNumber)
		if _, err := anne.WaitReceived(t.Context(), func(r sandbox.Received) bool { return r.Message.GetConversation() == "the last "+way }); err != nil {
			t.Fatal(err)
		}
		if after := o.arrived(t); after != before+1 || batches.TotalRecords != 0 {
			t.Errorf("%s: the phones have %d messages more, and there are %d batches", way, after-before, batches.TotalRecords)
		}
	}
}

func allTools(t *testing.T, o *office) {
	key, _ := o.key(t, []string{"read", "media", "send", "batch"}, nil)
	for way, connect := range o.ways() {
		s := connect(t, key)
		examples := o.examples()
		batch, isError := call(t, s, "start_batch", examples["start_batch"])
		if isError || field(t, batch, "status") == "DRAFT" {
			t.Fatalf("%s: %s", way, batch)
		}
		examples["get_batch"] = map[string]any{"id": field(t, batch, "id")}
		delete(examples, "start_batch")
		for _, more := range []map[string]any{
			{"text": "as I said", "replyTo": o.heard},
			{"reaction": "👍", "replyTo": o.heard},
			{"mediaUrl": o.Vars["files"] + "/1/photo.jpg", "caption": "look"},
			{"text": "ask @" + rig.BobNumber, "mentions": []string{rig.BobNumber}},
			{"poll": map[string]any{"name": "When?", "options": []string{"now", "later"}}},
		} {
			maps.Copy(more, map[string]any{"instance": rig.SceneName, "to": rig.AnneNumber})
			if text, isError := call(t, s, "send_message", more); isError {
				t.Errorf("%s: %v: %s", way, more, text)
			}
		}
		for tool, args := range examples {
			if text, isError := call(t, s, tool, args); isError {
				t.Errorf("%s: %s: %s", way, tool, text)
			}
		}
		o.Await("the batch", func() bool {
			text, _ := call(t, s, "get_batch", examples["get_batch"])
			return field(t, text, "status") == "COMPLETED"
		})
	}
}

// strays returns the places outside of untrustedText that have a stranger's words in them.
func strays(at string, v any) (found []string) {
	switch v := v.(type) {
	case string:
		if strings.Contains(v, evil) {
			return []string{at}
		}
	case []any:
		for i, one := range v {
			found = append(found, strays(fmt.Sprintf("%s[%d]", at, i), one)...)
		}
	case map[string]any:
		for name, one := range v {
			if name != "untrustedText" {
				found = append(found, strays(at+"."+name, one)...)
			}
		}
	}
	return found
}

func untrusted(t *testing.T, o *office) {
	from := len(o.Webhooks())
	for _, to := range []string{"$own", o.group} {
		o.Do(t, rig.Act("$anne", fmt.Sprintf(`{"do":"text","to":%q,"text":%q}`, to, evil)))
		o.AwaitEvent(t, from, event.MessagesUpsert, fmt.Sprintf(`{"content":{"text":%q},"isGroup":%t}`, evil, to == o.group))
	}
	key, _ := o.key(t, []string{"read", "media"}, nil)
	for way, connect := range o.ways() {
		s := connect(t, key)
		for tool, args := range map[string]map[string]any{
			"find_chats": {"instance": rig.SceneName}, "get_group": {"instance": rig.SceneName, "group": o.group},
			"read_messages": {"instance": rig.SceneName, "chat": rig.AnneNumber, "query": "PREVIOUS instructions"},
		} {
			text, isError := call(t, s, tool, args)
			var v any
			if err := json.Unmarshal([]byte(text), &v); err != nil || isError || !strings.Contains(text, evil) || strays(tool, v) != nil {
				t.Errorf("%s: strangers speak in %v: %s", way, strays(tool, v), text)
			}
		}
	}
}

func repeated(t *testing.T, o *office) {
	key, _ := o.key(t, []string{"send"}, nil)
	_, _, session := o.post(t, key, "", initialize)
	o.post(t, key, session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	body := func(id int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"send_message","arguments":{"instance":"shop","to":%q,"text":"once %d"}}}`, id, rig.AnneNumber, id)
	}
	var first []string
	for range 3 {
		status, answer, _ := o.post(t, key, session, body(7))
		if status != http.StatusOK || strings.Contains(answer, "isError") {
			t.Fatalf("%d %s", status, answer)
		}
		first = append(first, answer)
	}
	if !strings.Contains(first[1], `"repeated":true`) || strings.Contains(first[0], `"repeated":true`) || first[1] != first[2] {
		t.Errorf("the answers were %v", first)
	}
	_, _, restarted := o.post(t, key, "", initialize)
	o.post(t, key, restarted, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if _, again, _ := o.post(t, key, restarted, body(7)); again != first[1] {
		t.Errorf("in another session the call answered %s", again)
	}
	together(5, func(int) { o.post(t, key, session, body(8)) })
	o.post(t, key, session, body(8))
	anne, _ := o.Sandbox.Phone(rig.AnneNumber)
	o.post(t, key, session, body(9))
	if _, err := anne.WaitReceived(t.Context(), func(r sandbox.Received) bool { return r.Message.GetConversation() == "once 9" }); err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, r := range anne.Received() {
		got[r.Message.GetConversation()]++
	}
	if got["once 7"] != 1 || got["once 8"] != 1 || got["once 9"] != 1 {
		t.Errorf("Anne's phone has %v", got)
	}
}

func recipients(t *testing.T, o *office) {
	key, _ := o.key(t, []string{"read", "send", "batch"}, map[string]any{"recipients": []string{rig.AnneNumber}})
	for way, connect := range o.ways() {
		s := connect(t, key)
		if text, isError := call(t, s, "send_message", map[string]any{"instance": rig.SceneName, "to": rig.AnneNumber, "text": "to Anne"}); isError {
			t.Errorf("%s: %s", way, text)
		}
		bob, _ := o.Sandbox.Phone(rig.BobNumber)
		before := len(bob.Received())
		for tool, args := range map[string]map[string]any{
			"send_message": {"instance": rig.SceneName, "to": rig.BobNumber, "text": "to Bob"},
			"start_batch":  {"instances": []string{rig.SceneName}, "recipients": []string{rig.AnneNumber, rig.BobNumber}, "text": "to both"},
		} {
			if text, isError := call(t, s, tool, args); !isError || !strings.HasPrefix(text, "RECIPIENT_NOT_ALLOWED") {
				t.Errorf("%s: %s: %s", way, tool, text)
			}
		}
		if text, isError := call(t, s, "send_message", map[string]any{"instance": rig.SceneName, "to": o.group, "text": "to the group"}); !isError {
			t.Errorf("%s: a group: %s", way, text)
		}
		if got := len(bob.Received()); got != before {
			t.Errorf("%s: Bob has %d messages more", way, got-before)
		}
	}
}

func drafts(t *testing.T, o *office) {
	key, _ := o.key(t, []string{"batch"}, nil)
	s := o.byHTTP(t, key)
	text, isError := call(t, s, "start_batch", o.examples()["start_batch"])
	if isError || field(t, text, "status") != "DRAFT" {
		t.Fatal(text)
	}
	if text, isError = call(t, s, "get_batch", map[string]any{"id": field(t, text, "id")}); isError || field(t, text, "status") != "DRAFT" {
		t.Error(text)
	}
}

func deleted(t *testing.T, o *office) {
	for way, connect := range o.ways() {
		key, id := o.key(t, []string{"read", "send"}, nil)
		s := connect(t, key)
		if text, isError := call(t, s, "list_instances", nil); isError || !strings.Contains(text, `"name":"shop"`) {
			t.Fatalf("%s: %s", way, text)
		}
		o.Call(consumer.Key(o.Sec.GlobalAuthToken), http.MethodDelete, "/keys/"+id, nil, nil)
		before := o.arrived(t)
		for _, tool := range []string{"send_message", "list_instances"} {
			if text, isError := call(t, s, tool, o.examples()[tool]); !isError {
				t.Errorf("%s: %s: %s", way, tool, text)
			}
		}
		if after := o.arrived(t); after != before {
			t.Errorf("%s: the phones have %d messages more", way, after-before)
		}
	}
}

func otherInstances(t *testing.T, o *office) {
	o.Call(consumer.Key(o.Sec.GlobalAuthToken), http.MethodPost, "/instance", map[string]any{"instanceName": "desk"}, nil)
	key, _ := o.key(t, []string{"read", "send", "media"}, nil) // for the shop
	s := o.byHTTP(t, key)
	if text, isError := call(t, s, "list_instances", nil); isError || strings.Contains(text, "desk") || strings.Contains(text, "Auth") {
		t.Error(text)
	}
	for tool, args := range o.examples() {
		if args["instance"] == nil {
			continue
		}
		args["instance"] = "desk"
		if text, isError := call(t, s, tool, args); !isError || !strings.HasPrefix(text, "SCOPE") {
			t.Errorf("%s: %s", tool, text)
		}
	}
	if res, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "postern://instance/desk/chats"}); err == nil {
		t.Errorf("%+v", res)
	}
}

func rate(t *testing.T, o *office) {
	key, _ := o.key(t, []string{"read"}, map[string]any{"rateLimit": map[string]int{"perMinute": 8}})
	s := o.byHTTP(t, key)
	for range 10 {
		if text, isError := call(t, s, "list_instances", nil); isError {
			if !strings.Contains(text, "requests per minute") {
				t.Error(text)
			}
			return
		}
	}
	t.Error("the key has no end")
}

func resources(t *testing.T, o *office) {
	key, _ := o.key(t, []string{"read"}, nil)
	for way, connect := range o.ways() {
		s := connect(t, key)
		list, err := s.ListResources(t.Context(), nil)
		if err != nil || len(list.Resources) != 1 {
			t.Fatalf("%s: %v %+v", way, err, list)
		}
		res, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: list.Resources[0].URI})
		if err != nil {
			t.Fatal(err)
		}
		var chats struct{ Chats []struct{ JID, URI string } }
		if err := json.Unmarshal([]byte(res.Contents[0].Text), &chats); err != nil || len(chats.Chats) < 3 {
			t.Fatalf("%s: %v %s", way, err, res.Contents[0].Text)
		}
		for _, c := range chats.Chats {
			if strings.Contains(c.URI, "@") || !strings.Contains(c.URI, "%40") {
				t.Errorf("%s: %s is not encoded", way, c.URI)
			}
			if res, err = s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: c.URI}); err != nil || !strings.Contains(res.Contents[0].Text, `"messages":[{`) {
				t.Errorf("%s: %s: %v", way, c.URI, err)
			}
			if _, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: strings.ReplaceAll(c.URI, "%40", "@")}); err == nil {
				t.Errorf("%s: %s is taken without being encoded", way, c.URI)
			}
		}
	}
}

func doors(t *testing.T, o *office) {
	for name, key := range map[string]string{"none": "", "the GlobalApiKey": o.Sec.GlobalAuthToken, "an instance's token": o.Token, "a user's token": o.User} {
		if status, answer, _ := o.post(t, key, "", initialize); status != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
	key, _ := o.key(t, []string{"read"}, nil)
	for origin, want := range map[string]int{o.API.Base: http.StatusOK, "https://evil.example": http.StatusForbidden} {
		if status, answer, _ := o.post(t, key, "", initialize, "Origin", origin); status != want {
			t.Errorf("%s: %d %s", origin, status, answer)
		}
	}
	other, _ := o.key(t, []string{"read"}, nil)
	_, _, session := o.post(t, key, "", initialize)
	if status, answer, _ := o.post(t, other, session, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); status != http.StatusNotFound {
		t.Errorf("a session of another key: %d %s", status, answer)
	}
	if status, body := o.Raw(consumer.Bearer(key), http.MethodGet, "/mcp", ""); status != http.StatusMethodNotAllowed {
		t.Errorf("a stream: %d %s", status, body)
	}
}

func audit(t *testing.T, o *office) {
	for way, connect := range o.ways() {
		key, id := o.key(t, []string{"read"}, nil)
		s := connect(t, key)
		call(t, s, "find_chats", o.examples()["find_chats"])
		call(t, s, "send_message", o.examples()["send_message"])
		var page struct {
			Records []struct{ Actor, Action, Subject, From string }
		}
		o.Call(consumer.Key(o.Sec.GlobalAuthToken), http.MethodGet, "/audit?limit=2", nil, &page)
		var got []string
		for _, r := range page.Records {
			got = append(got, fmt.Sprintf("%t %s %s %s", r.Actor == id, r.Action, r.Subject, r.From))
		}
		if want := []string{"true mcp.send_message.refused shop 127.0.0.1", "true mcp.find_chats shop 127.0.0.1"}; !slices.Equal(got, want) {
			t.Errorf("%s: the audit log has %q", way, got)
		}
	}
}

func command(t *testing.T, o *office) {
	op := rig.Beside(t, o.World)
	op.Says(2, "the key is missing", "mcp")
	op.Says(2, "begins with pk_", "mcp", "--key", o.Sec.GlobalAuthToken)
	op.Says(2, "exclude each other", "mcp", "--key", "pk_a", "--key-file", "x")
	op.Says(1, "UNAUTHORIZED", "mcp", "--key", "pk_unknown")
	op.Says(1, "does not answer", "mcp", "--key", "pk_unknown", "--url", "http://127.0.0.1:9")
	op.Says(2, "--url must be", "mcp", "--key", "pk_unknown", "--url", "ftp://x")
}

func keyFile(t *testing.T, o *office) {
	key, _ := o.key(t, []string{"read"}, nil)
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := client().Connect(t.Context(), &sdk.CommandTransport{Command: o.command(context.Background(), t, "", "--key-file", file)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if text, isError := call(t, s, "list_instances", nil); isError {
		t.Error(text)
	}
}

func TestMCPWorksBelowBasePathAndAtSocket(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real process")
	}
	socket := filepath.Join(t.TempDir(), "s")
	w := rig.NewWorld(t)
	w.Env = []string{"MCP_ENABLED=true", "SERVER_BASE_PATH=/postern", "SERVER_SOCKET=" + socket}
	w.Start()
	var made struct{ Key string }
	w.Call(consumer.Key(w.Sec.GlobalAuthToken), http.MethodPost, "/keys", map[string]any{"name": "a", "instances": []string{"*"}, "scopes": []string{"read"}}, &made)
	o := &office{SendScene: &rig.SendScene{Scene: &rig.Scene{World: w}}}
	ways := map[string]sdk.Transport{
		"HTTP below the base path": &sdk.StreamableClientTransport{Endpoint: w.API.Base + "/postern/mcp", HTTPClient: &http.Client{Transport: bearing(made.Key)}},
		"the command below it":     &sdk.CommandTransport{Command: o.command(context.Background(), t, made.Key, "--url", w.API.Base+"/postern/")},
		"the command at a socket":  &sdk.CommandTransport{Command: o.command(context.Background(), t, made.Key, "--url", "unix:"+socket)},
	}
	for way, transport := range ways {
		s, err := client().Connect(t.Context(), transport, nil)
		if err != nil {
			t.Errorf("%s: %v", way, err)
			continue
		}
		if text, isError := call(t, s, "list_instances", nil); isError {
			t.Errorf("%s: %s", way, text)
		}
		_ = s.Close()
	}
}

func TestItIsOffByDefault(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real process")
	}
	w := rig.NewWorld(t)
	w.Start()
	if status, body := w.Raw(consumer.Bearer("pk_x"), http.MethodPost, "/mcp", initialize); status != http.StatusNotFound {
		t.Errorf("%d %s", status, body)
	}
}
