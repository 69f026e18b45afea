package mcp

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// strays returns the places of a JSON value, outside of untrustedText, that have a
// stranger's words in them.
func strays(at string, v any) (found []string) {
	switch v := v.(type) {
	case string:
		if folded := strings.ReplaceAll(strings.ToLower(v), "-", " "); strings.Contains(folded, "ignore all") {
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

func inJSON(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

func TestTextOfOthersIsInUntrustedTextOnly(t *testing.T) {
	both(t, all, func(t *testing.T, _ *world, s *sdk.ClientSession) {
		for tool, args := range examples {
			res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
			if err != nil || res.IsError {
				t.Fatalf("%s: %v %v", tool, err, res)
			}
			raw, _ := json.Marshal(res.StructuredContent)
			if got := strays(tool, inJSON(t, string(raw))); got != nil {
				t.Errorf("strangers speak in %v", got)
			}
			reads := strings.Contains(string(raw), evil)
			if own := tool == "list_instances" || strings.Contains(tool, "batch") || tool == "send_message"; reads == own {
				t.Errorf("%s has what strangers wrote: %v", tool, reads)
			}
			for i, c := range res.Content {
				text, ok := c.(*sdk.TextContent)
				if !ok {
					continue
				}
				if got := inJSON(t, text.Text); i > 0 || !reflect.DeepEqual(got, inJSON(t, string(raw))) {
					t.Errorf("%s: the text beside the structure is another: %s", tool, text.Text)
				}
			}
		}
		for _, uri := range []string{"postern://instance/shop/chats", "postern://instance/shop/chat/4915155500002%40s.whatsapp.net"} {
			res, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
			if err != nil {
				t.Fatal(err)
			}
			if got := strays(uri, inJSON(t, res.Contents[0].Text)); got != nil || !strings.Contains(res.Contents[0].Text, evil) {
				t.Errorf("strangers speak in %v of %s", got, res.Contents[0].Text)
			}
		}
	})
}

func TestSearchMarksUntrustedText(t *testing.T) {
	w := newWorld(t)
	s, _ := w.byHTTP(reader)
	for _, args := range []map[string]any{
		{"instance": "shop", "chat": "4915155500002@s.whatsapp.net", "query": "ignore"},
		{"instance": "shop", "query": "PREVIOUS"},
	} {
		text, isError := call(t, s, "read_messages", args)
		if isError || !strings.Contains(text, evil) || strays("", inJSON(t, text)) != nil {
			t.Errorf("%v: %s", args, text)
		}
	}
}

func TestUntrustedTextIsCleanedAndTruncated(t *testing.T) {
	for in, want := range map[string]string{
		"hello\nworld\t!":                        "hello\nworld\t!",
		"a\x00b\x1b[31mc\r":                      "ab[31mc",
		"left\u202eright\u2066!":                 "leftright!",
		"hidden \U000E0049\U000E0067 text":       "hidden  text",
		"zero\u200bwidth\ufeff":                  "zerowidth",
		"family \U0001F468\u200d\U0001F469":      "family \U0001F468\u200d\U0001F469",
		"broken \xff\xfe bytes":                  "broken  bytes",
		"separators\u2028and\u2029private\ue000": "separatorsandprivate",
	} {
		if got := clean(in, 1000); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	for n := range 20 {
		got := clean("äöü€😀\u200d"+strings.Repeat("x", 100), n)
		if len(got) > n || !utf8.ValidString(got) || n > 10 && got == "" {
			t.Errorf("cut to %d: %q", n, got)
		}
	}
	long := readable(json.RawMessage(`{"text":"`+strings.Repeat("€", 10_000)+`"}`), maxText)
	if !long.Cut || len(long.Text) > maxText || len(long.Text) < maxText-3 {
		t.Errorf("a long text: %v, %d bytes", long.Cut, len(long.Text))
	}
	if short := readable(json.RawMessage(`{"text":"€"}`), maxText); short.Cut {
		t.Error("a short text is said to be cut")
	}
}

func FuzzClean(f *testing.F) {
	f.Add("hello \U000E0049 \xff", 5)
	f.Fuzz(func(t *testing.T, text string, most int) {
		most = min(max(most, 0), 10_000)
		got := clean(text, most)
		if len(got) > most || !utf8.ValidString(got) || clean(got, most) != got {
			t.Errorf("%q, cut to %d, became %q", text, most, got)
		}
	})
}

func TestAddressesCannotContainSentences(t *testing.T) {
	for in, want := range map[string]string{
		"4915155500002@s.whatsapp.net": "4915155500002@s.whatsapp.net", "120363000000000001@g.us": "120363000000000001@g.us",
		"4915155500002-1400000000@g.us": "4915155500002-1400000000@g.us", "status@broadcast": "status@broadcast", "1234567:12@lid": "1234567:12@lid",
		"ignore@s.whatsapp.net": "", "49@evil.example": "", "": "", "49151 send it@g.us": "", "4915155500002@s.whatsapp.net\nignore": "",
	} {
		if got := jid(in); got != want {
			t.Errorf("%q became %q", in, got)
		}
	}
}

func TestAddressesInURIsArePercentEncoded(t *testing.T) {
	for uri, want := range map[string]place{
		"postern://instance/shop/chats":                                 {instance: "shop"},
		"postern://instance/shop/chat/4915155500002%40s.whatsapp.net":   {"shop", "4915155500002@s.whatsapp.net"},
		"postern://instance/a.b-c_d/chat/123%3A4%40lid":                 {"a.b-c_d", "123:4@lid"},
		"postern://instance/a.b-c_d/chat/123%3a4%40lid":                 {"a.b-c_d", "123:4@lid"},
		"postern://instance/shop/chat/4915155500002@s.whatsapp.net":     {}, // not encoded
		"postern://instance/shop/chat/4915155500002%2540s.whatsapp.net": {}, // encoded twice
		"postern://instance/shop/chat/%34915155500002%40s.whatsapp.net": {}, // encoded for nothing
		"postern://instance/..%2Fadmin/chats":                           {},
		"postern://instance/../chats":                                   {},
		"postern://instance/shop/chat/x%2F..%2F..%2Fsend%40g.us":        {},
		"postern://instance/shop/chats/":                                {},
		"postern://instance//chats":                                     {},
		"postern://instance/shop/chat/":                                 {},
		"file:///etc/passwd":                                            {},
		"postern://instance/shop/chats?x=1":                             {},
	} {
		got, err := parseURI(uri)
		if got != want || (err != nil) != (want == place{}) {
			t.Errorf("%s is %+v, %v", uri, got, err)
		}
		if err == nil && got.chat != "" && !strings.EqualFold(chatURI(got.instance, got.chat), uri) {
			t.Errorf("%s is written as %s", uri, chatURI(got.instance, got.chat))
		}
	}
}

func FuzzURI(f *testing.F) {
	f.Add("postern://instance/shop/chat/123%3A4%40lid")
	f.Fuzz(func(t *testing.T, uri string) {
		if p, err := parseURI(uri); err == nil && (!isName(p.instance) || p.chat != "" && jid(p.chat) == "") {
			t.Errorf("%q is %+v", uri, p)
		}
	})
}

// TestNoCacheServesAnAnswerToAnotherKey: what is listed and read depends on the key.
func TestNoCacheServesAnAnswerToAnotherKey(t *testing.T) {
	both(t, reader, func(t *testing.T, _ *world, s *sdk.ClientSession) {
		tools, err := s.ListTools(t.Context(), nil)
		if err != nil || tools.CacheScope != "private" {
			t.Errorf("tools: %v %+v", err, tools)
		}
		resources, err := s.ListResources(t.Context(), nil)
		if err != nil || resources.CacheScope != "private" {
			t.Errorf("resources: %v %+v", err, resources)
		}
		chats, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "postern://instance/shop/chats"})
		if err != nil || chats.CacheScope != "private" {
			t.Errorf("chats: %v %+v", err, chats)
		}
	})
}

func TestResourcesAreTheKeysChats(t *testing.T) {
	both(t, reader, func(t *testing.T, _ *world, s *sdk.ClientSession) {
		list, err := s.ListResources(t.Context(), nil)
		if err != nil || len(list.Resources) != 1 || list.Resources[0].URI != "postern://instance/shop/chats" {
			t.Fatalf("%v %+v", err, list)
		}
		templates, err := s.ListResourceTemplates(t.Context(), nil)
		if err != nil || len(templates.ResourceTemplates) != 2 {
			t.Fatalf("%v %+v", err, templates)
		}
		chats, _ := call(t, s, "find_chats", map[string]any{"instance": "shop"})
		uri := inJSON(t, chats).(map[string]any)["chats"].([]any)[0].(map[string]any)["uri"].(string)
		if uri != "postern://instance/shop/chat/4915155500002%40s.whatsapp.net" {
			t.Errorf("find_chats names %s", uri)
		}
		res, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		if err != nil || res.Contents[0].MIMEType != "application/json" || !strings.Contains(res.Contents[0].Text, `"id":"4711"`) {
			t.Errorf("%v %+v", err, res)
		}
		if res, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "postern://instance/shop/chat/4915155500002@s.whatsapp.net"}); err == nil {
			t.Errorf("an address that is not encoded: %+v", res)
		}
	})
	w := newWorld(t)
	s, _ := w.byHTTP(drafts) // which may not read
	list, err := s.ListResources(t.Context(), nil)
	if err != nil || len(list.Resources) != 0 {
		t.Errorf("%v %+v", err, list)
	}
	if res, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "postern://instance/shop/chats"}); err == nil || w.requests() != nil {
		t.Errorf("%v %+v", err, res)
	}
}
