package mcp

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
)

func TestWrongArgumentsAreExplained(t *testing.T) {
	w := newWorld(t)
	s, _ := w.byHTTP(all)
	for _, c := range []struct {
		tool string
		more map[string]any
		want string
	}{
		{"send_message", map[string]any{"to": nil}, "to is missing: phone number with country code"},
		{"send_message", map[string]any{"to": 4915155500002}, "to must be a string in quotes, not a number"},
		{"send_message", map[string]any{"to": ""}, "to must not be empty"},
		{"send_message", map[string]any{"message": "hello"}, "message is not an argument of send_message; it takes instance, to, caption, mediaUrl, mentions, poll, reaction, replyTo, sendAt, text"},
		{"send_message", map[string]any{"text": strings.Repeat("x", 65537)}, "text has 65537 characters; at most 65536 are allowed"},
		{"send_message", map[string]any{"instance": "no name"}, "instance must be the name of an instance"},
		{"send_message", map[string]any{"text": "a", "reaction": "b"}, "give exactly one of text, reaction, mediaUrl and poll"},
		{"read_messages", map[string]any{"limit": "20"}, "limit must be an integer without quotes, not a string"},
		{"read_messages", map[string]any{"limit": 2.5}, "limit must be an integer"},
		{"read_messages", map[string]any{"limit": 101}, "limit must be between 1 and 100"},
		{"read_messages", map[string]any{"from": "yesterday"}, "from must be an RFC 3339 time, such as"},
		{"get_media", map[string]any{"messageId": true}, "messageId must be a string in quotes, not true or false"},
		{"get_media", map[string]any{"messageId": 1.5}, "messageId must be a string in quotes, not a number"},
		{"start_batch", map[string]any{"recipients": "4915155500002"}, "recipients must be an array in brackets, not a string"},
		{"start_batch", map[string]any{"recipients": []any{}}, "recipients must not be empty"},
		{"start_batch", map[string]any{"recipients": []any{"1", 2}}, "recipients must contain strings in quotes, but entry 1 is a number"},
		{"start_batch", map[string]any{"variables": []any{map[string]any{"name": "Ana"}, map[string]any{"due": 3}}}, "variables has an entry 1 that must have strings in quotes, but due is a number"},
		{"start_batch", map[string]any{"variables": []any{"Ana"}}, "variables has an entry 0 that must be an object in braces, not a string"},
		{"start_batch", map[string]any{"instances": []any{"shop", "a b"}}, "instances has an entry 1 that must be the name of an instance"},
		{"get_batch", map[string]any{"id": "7"}, "id must be the id of a batch, a UUID, as start_batch returns it"},
	} {
		text, isError := call(t, s, c.tool, with(examples[c.tool], c.more))
		if !isError || !strings.Contains(text, c.want) || strings.Contains(text, "regular expression") || strings.Contains(text, "validating") {
			t.Errorf("%s %.60v: %q, want %q", c.tool, c.more, text, c.want)
		}
	}
	if got := writes(w.requests()); got != nil {
		t.Errorf("a refused call reached %v", got)
	}
	if text, isError := call(t, s, "send_message", map[string]any{}); !isError || !strings.Contains(text, "instance is missing") || !strings.Contains(text, "to is missing") {
		t.Errorf("not all faults are named: %s", text)
	}
}

func TestEveryPatternOfArgumentsHasWords(t *testing.T) {
	w := newWorld(t)
	for tool, schema := range w.server.inputs {
		for name, p := range schema.Properties {
			if p.Pattern != "" || p.Items != nil && p.Items.Pattern != "" {
				if forms[name] == "" {
					t.Errorf("%s of %s has no words for its form", name, tool)
				}
			}
			if p.Description == "" {
				t.Errorf("%s of %s has no description", name, tool)
			}
		}
	}
}

func TestIntegerMessageIDsAreAccepted(t *testing.T) {
	w := newWorld(t)
	s, _ := w.byHTTP(all)
	for tool, more := range map[string]map[string]any{
		"get_media":     {"messageId": 4711},
		"send_message":  {"replyTo": 4711, "reaction": nil, "mediaUrl": nil},
		"read_messages": {"cursor": 4711, "query": nil, "limit": nil},
	} {
		w.requests()
		if text, isError := call(t, s, tool, with(examples[tool], more)); isError {
			t.Errorf("%s: %s", tool, text)
		}
		got := w.requests()
		if len(got) == 0 || !strings.Contains(got[0].body, "4711") {
			t.Errorf("%s: %+v", tool, got)
		}
	}
}

func TestUnknownInstanceIsSaidToBeOne(t *testing.T) {
	w := newWorld(t)
	for path := range maps.Keys(w.answers) {
		if strings.Contains(path, "/send/") {
			w.answers[path] = says(404, `{"code":"INSTANCE_NOT_FOUND","messages":["there is no such instance"]}`)
		}
	}
	s, _ := w.byHTTP(sender)
	text, isError := call(t, s, "send_message", examples["send_message"])
	if !isError || !strings.Contains(text, "no such instance; list_instances returns the names") {
		t.Error(text)
	}
}

func TestArgumentsThatAreNoObjectAreRefused(t *testing.T) {
	w := newWorld(t)
	for _, raw := range []string{`[]`, `"x"`, `7`} {
		if _, faults := w.server.arguments("send_message", json.RawMessage(raw)); len(faults) != 1 || !strings.Contains(faults[0], "must be an object with the fields instance, to") {
			t.Errorf("%s: %v", raw, faults)
		}
	}
}
