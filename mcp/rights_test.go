package mcp

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// both runs a test with a client of each transport.
func both(t *testing.T, key string, test func(*testing.T, *world, *sdk.ClientSession)) {
	t.Helper()
	t.Run("HTTP", func(t *testing.T) {
		w := newWorld(t)
		s, _ := w.byHTTP(key)
		test(t, w, s)
	})
	t.Run("stream", func(t *testing.T) {
		w := newWorld(t)
		test(t, w, w.byStream(key))
	})
}

func TestEveryToolWorksOverBothTransports(t *testing.T) {
	both(t, all, func(t *testing.T, _ *world, s *sdk.ClientSession) {
		if got := tools(t, s); !slices.Equal(got, slices.Sorted(maps.Keys(examples))) {
			t.Errorf("the tools are %v", got)
		}
		for tool, args := range examples {
			if text, isError := call(t, s, tool, args); isError {
				t.Errorf("%s: %s", tool, text)
			}
		}
	})
}

func TestToolsHaveTypedInputAndOutputSchemas(t *testing.T) {
	w := newWorld(t)
	s, _ := w.byHTTP(all)
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		for what, schema := range map[string]any{"input": tool.InputSchema, "output": tool.OutputSchema} {
			m, _ := schema.(map[string]any)
			if text, _ := json.Marshal(schema); m["type"] != "object" || m["additionalProperties"] != false || strings.Contains(string(text), `"null"`) {
				t.Errorf("%s: the %s schema is %s", tool.Name, what, text)
			}
		}
		if tool.Annotations.ReadOnlyHint == slices.Contains([]string{"send_message", "start_batch"}, tool.Name) {
			t.Errorf("%s says of itself that it only reads: %v", tool.Name, tool.Annotations.ReadOnlyHint)
		}
		reads := !slices.Contains([]string{"list_instances", "send_message", "start_batch", "get_batch"}, tool.Name)
		if strings.Contains(tool.Description, "untrustedText") != reads {
			t.Errorf("%s does not say what untrustedText is, or says it for nothing: %s", tool.Name, tool.Description)
		}
		if text, isError := call(t, s, tool.Name, with(examples[tool.Name], map[string]any{"surplus": 1})); !isError || !strings.Contains(text, "surplus") {
			t.Errorf("%s takes a field that it does not know: %s", tool.Name, text)
		}
	}
}

// writes returns the requests that change or send something.
func writes(requests []asked) (paths []string) {
	for _, r := range requests {
		if r.method != http.MethodGet && !strings.HasSuffix(r.path, "/db/messages") && !strings.HasSuffix(r.path, "/media/data") {
			paths = append(paths, r.path)
		}
	}
	return paths
}

func TestReadOnlyKeyCannotSend(t *testing.T) {
	both(t, reader, func(t *testing.T, w *world, s *sdk.ClientSession) {
		if got, want := tools(t, s), []string{"find_chats", "find_contacts", "get_group", "get_media", "get_poll", "list_instances", "read_messages"}; !slices.Equal(got, want) {
			t.Errorf("it is shown %v", got)
		}
		for tool, args := range examples {
			text, isError := call(t, s, tool, args)
			if hidden := slices.Contains([]string{"send_message", "start_batch", "get_batch"}, tool); isError != hidden || isError && !strings.HasPrefix(text, "SCOPE") {
				t.Errorf("%s: %s", tool, text)
			}
		}
		if got := writes(w.requests()); got != nil {
			t.Errorf("the interface was asked to %v", got)
		}
	})
}

func TestStartBatchTakesVariables(t *testing.T) {
	w := newWorld(t)
	s, _ := w.byHTTP(all)
	args := map[string]any{"instances": []string{"shop"}, "recipients": []string{"4915155500002", "4915155500003"}, "text": "Hi {{name}}", "variables": []map[string]string{{"name": "Ana"}, {"name": "Eva"}}}
	if text, isError := call(t, s, "start_batch", args); isError {
		t.Fatal(text)
	}
	want := `"recipients":[{"number":"4915155500002","variables":{"name":"Ana"}},{"number":"4915155500003","variables":{"name":"Eva"}}]`
	if got := w.requests(); len(got) != 1 || !strings.Contains(got[0].body, want) {
		t.Error(got)
	}
	args["variables"] = []map[string]string{{"name": "Ana"}}
	if text, isError := call(t, s, "start_batch", args); !isError || !strings.Contains(text, "variables must have an entry for each of the 2 recipients, not 1") || w.requests() != nil {
		t.Error(text)
	}
}

func TestBatchWithoutSendScopeIsADraft(t *testing.T) {
	for key, want := range map[string]string{drafts: `"autoStart":false`, all: `"autoStart":true`} {
		w := newWorld(t)
		s, _ := w.byHTTP(key)
		if text, isError := call(t, s, "start_batch", examples["start_batch"]); isError {
			t.Error(text)
		}
		if got := w.requests(); len(got) != 1 || !strings.Contains(got[0].body, want) {
			t.Errorf("%s: %v", key, got)
		}
	}
	w := newWorld(t)
	s, _ := w.byHTTP(sender) // send without batch
	if text, isError := call(t, s, "start_batch", examples["start_batch"]); !isError || w.requests() != nil {
		t.Errorf("a key without batch made one: %s", text)
	}
}

func TestEachCallsKeyDecidesNotTheSessions(t *testing.T) {
	w := newWorld(t)
	s, bearing := w.byHTTP(all)
	send := func() (string, bool) { return call(t, s, "send_message", examples["send_message"]) }
	if text, isError := send(); isError {
		t.Fatal(text)
	}
	w.requests()
	w.change(func() { w.keys[all] = key{"k-all", []string{scopeRead}} })
	if text, isError := send(); !isError || !strings.HasPrefix(text, "SCOPE") {
		t.Errorf("a key that was narrowed in the middle of a session: %s", text)
	}
	if got := tools(t, s); slices.Contains(got, "send_message") {
		t.Errorf("it is still shown %v", got)
	}
	bearing.use(other) // which may send
	if text, isError := send(); !isError || !strings.Contains(text, "session") {
		t.Errorf("another key in that session: %s", text)
	}
	if got := writes(w.requests()); got != nil {
		t.Errorf("the interface was asked to %v", got)
	}
}

func TestDeletedKeyIsRefusedMidSession(t *testing.T) {
	both(t, all, func(t *testing.T, w *world, s *sdk.ClientSession) {
		if text, isError := call(t, s, "send_message", examples["send_message"]); isError {
			t.Fatal(text)
		}
		w.requests()
		w.change(func() { delete(w.keys, all) })
		for tool, args := range examples {
			if text, isError := call(t, s, tool, args); !isError {
				t.Errorf("%s: %s", tool, text)
			}
		}
		if got := w.requests(); got != nil {
			t.Errorf("the interface was asked %v", got)
		}
	})
}

func TestAPIRefusalsReachTheAgent(t *testing.T) {
	w := newWorld(t)
	w.answers["POST /instance/shop/send/text"] = says(403, `{"code":"RECIPIENT_NOT_ALLOWED","messages":["this key may not write to that recipient"]}`)
	s, _ := w.byHTTP(sender)
	if text, isError := call(t, s, "send_message", examples["send_message"]); !isError || text != "RECIPIENT_NOT_ALLOWED: this key may not write to that recipient" {
		t.Errorf("%v %s", isError, text)
	}
	w.change(func() {
		w.answers["POST /instance/shop/send/text"] = says(408, `{"code":"SEND_RESULT_UNKNOWN","messages":["no answer"]}`)
	})
	if text, isError := call(t, s, "send_message", examples["send_message"]); !isError || !strings.Contains(text, "do not send it again") {
		t.Errorf("%v %s", isError, text)
	}
}

func TestTheAuditHasOneLineACall(t *testing.T) {
	w := newWorld(t)
	s, _ := w.byHTTP(reader)
	tools(t, s)
	call(t, s, "find_chats", map[string]any{"instance": "shop"})
	call(t, s, "find_chats", map[string]any{"instance": "none"})
	call(t, s, "send_message", examples["send_message"])
	call(t, s, "drop_tables", map[string]any{"instance": evil})
	if _, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "postern://instance/shop/chats"}); err != nil {
		t.Error(err)
	}
	var got []Call
	w.change(func() { got = slices.Clone(w.audit) })
	for i := range got {
		if !strings.HasPrefix(got[i].From, "127.0.0.1:") {
			t.Errorf("from %q", got[i].From)
		}
		got[i].From = ""
	}
	named := append(slices.Sorted(maps.Keys(w.server.scopes)), methodRead, callUnknown)
	if all := Calls(); !slices.Equal(slices.Sorted(slices.Values(all)), slices.Sorted(slices.Values(named))) {
		t.Errorf("calls %v, the tools are %v", all, named)
	}
	want := []Call{
		{KeyID: "k-reader", Tool: "find_chats", Instance: "shop", Outcome: Done},
		{KeyID: "k-reader", Tool: "find_chats", Instance: "none", Outcome: Failed},
		{KeyID: "k-reader", Tool: "send_message", Instance: "shop", Outcome: Refused},
		{KeyID: "k-reader", Tool: "unknown", Outcome: Failed},
		{KeyID: "k-reader", Tool: "resources/read", Instance: "shop", Outcome: Done},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
