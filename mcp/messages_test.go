package mcp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// history has n messages, of which the newest has the id n, and of which each is a minute
// after the one before it. The interface's own cursors are none of their ids.
func (w *world) history(n int) {
	w.answers["POST /instance/shop/db/messages"] = func(rw http.ResponseWriter, r *http.Request) {
		var in struct {
			Limit      int
			NextCursor string
			Cursor     *struct{ ID int }
		}
		w.mu.Lock()
		if err := json.Unmarshal([]byte(w.asked[len(w.asked)-1].body), &in); err != nil {
			w.t.Error(err)
		}
		w.mu.Unlock()
		before := n + 1
		if in.Cursor != nil {
			before = in.Cursor.ID
		}
		if in.NextCursor != "" {
			before, _ = strconv.Atoi(strings.TrimPrefix(in.NextCursor, "A"))
		}
		records, next := []string{}, "null"
		for id := before - 1; id > 0 && len(records) < in.Limit; id-- {
			records = append(records, fmt.Sprintf(`{"id":%d,"keyRemoteJid":"49@lid","content":{"text":"Number %d."},"messageTimestamp":%d}`, id, id, minute(id).Unix()))
			if next = "null"; id > 1 {
				next = fmt.Sprintf(`"A%d"`, id)
			}
		}
		fmt.Fprintf(rw, `{"messages":{"records":[%s],"pageInfo":{"nextCursor":%s}}}`, strings.Join(records, ","), next)
	}
}

func minute(n int) time.Time {
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Minute)
}

// walk reads all pages of a selection, and counts the calls.
func (w *world) walk(s *sdk.ClientSession, args map[string]any) (ids []string, calls int) {
	w.t.Helper()
	for args = with(args, map[string]any{"instance": "shop"}); ; calls++ {
		text, isError := call(w.t, s, "read_messages", args)
		var page Messages
		if err := json.Unmarshal([]byte(text), &page); err != nil || isError {
			w.t.Fatalf("%s: %v", text, err)
		}
		if limit, _ := args["limit"].(int); limit > 0 && len(page.Messages) > limit {
			w.t.Fatalf("%d messages, at most %d were asked for", len(page.Messages), limit)
		}
		for _, m := range page.Messages {
			ids = append(ids, m.ID)
		}
		if page.NextCursor == "" {
			return ids, calls + 1
		}
		args["cursor"] = page.NextCursor
	}
}

func numbers(from, to int) (ids []string) {
	for id := from; id >= to; id-- {
		ids = append(ids, strconv.Itoa(id))
	}
	return ids
}

func TestReadMessagesGoesThroughAllPagesOnce(t *testing.T) {
	w := newWorld(t)
	w.history(2500)
	s, _ := w.byHTTP(reader)
	rfc := func(n int) string { return minute(n).Format(time.RFC3339) }
	for name, c := range map[string]struct {
		args  map[string]any
		want  []string
		calls int // of the tool
	}{
		"all":             {map[string]any{"limit": 100}, numbers(2500, 1), 25},
		"a page":          {map[string]any{"limit": 100, "from": rfc(2400)}, numbers(2500, 2400), 2},
		"from":            {map[string]any{"limit": 30, "from": rfc(2450)}, numbers(2500, 2450), 2},
		"to":              {map[string]any{"limit": 100, "to": rfc(50)}, numbers(50, 1), 3},
		"between":         {map[string]any{"limit": 7, "from": rfc(1000), "to": rfc(1020)}, numbers(1020, 1000), 5},
		"a text":          {map[string]any{"query": "number 77."}, []string{"77"}, 3},
		"nothing":         {map[string]any{"query": "nothing"}, nil, 3},
		"a zone":          {map[string]any{"from": minute(2499).In(time.FixedZone("", 3600)).Format(time.RFC3339)}, numbers(2500, 2499), 1},
		"before all":      {map[string]any{"to": "2001-01-01T00:00:00Z"}, nil, 3},
		"after all":       {map[string]any{"from": "2101-01-01T00:00:00Z"}, nil, 1},
		"one at a time":   {map[string]any{"limit": 1, "from": rfc(2490)}, numbers(2500, 2490), 12},
		"a text and from": {map[string]any{"query": "number 2", "from": rfc(2495)}, numbers(2500, 2495), 1},
	} {
		got, calls := w.walk(s, c.args)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %d messages, want %d: %v", name, len(got), len(c.want), got)
		}
		if calls > c.calls {
			t.Errorf("%s took %d calls, want %d at most", name, calls, c.calls)
		}
	}
	w.requests()
	if call(t, s, "read_messages", map[string]any{"instance": "shop", "query": "nothing"}); len(w.requests()) > messagePages {
		t.Error("one call makes more requests than it may")
	}
}

func TestUnknownCursorIsRefused(t *testing.T) {
	w := newWorld(t)
	s, _ := w.byHTTP(reader)
	call(t, s, "read_messages", map[string]any{"instance": "shop", "cursor": "x y"})
	if got := w.requests(); len(got) != 1 || !strings.Contains(got[0].body, `"nextCursor":"x y"`) {
		t.Errorf("%v", got)
	}
}

func TestChatSearchUsesTheAPI(t *testing.T) {
	w := newWorld(t)
	s, _ := w.byHTTP(reader)
	args := map[string]any{"instance": "shop", "chat": "4915155500002@s.whatsapp.net", "query": "a&b=c", "limit": 5}
	text, _ := call(t, s, "read_messages", args)
	if !strings.Contains(text, `"nextCursor":"AAAAAAAAAAE"`) {
		t.Error(text)
	}
	call(t, s, "read_messages", with(args, map[string]any{"cursor": "AAAAAAAAAAE"}))
	call(t, s, "read_messages", with(args, map[string]any{"chat": "../../send/text"}))
	var got []string
	for _, r := range w.requests() {
		got = append(got, r.path+"?"+r.query)
	}
	want := []string{
		"/instance/shop/chats/4915155500002@s.whatsapp.net/messages?limit=5&query=a%26b%3Dc",
		"/instance/shop/chats/4915155500002@s.whatsapp.net/messages?limit=5&nextCursor=AAAAAAAAAAE&query=a%26b%3Dc",
		"/instance/shop/chats/..%2F..%2Fsend%2Ftext/messages?limit=5&query=a%26b%3Dc",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestSendMessageTakesATime(t *testing.T) {
	w := newWorld(t)
	w.answers["POST /instance/shop/send/text"] = says(202, `{"scheduledId":"id-1","status":"scheduled","sendAt":"2030-01-01T09:00:00.000Z"}`)
	s, _ := w.byHTTP(sender)
	text, isError := call(t, s, "send_message", map[string]any{"instance": "shop", "to": "4915155500002", "text": "later", "replyTo": "7", "sendAt": "2030-01-01T09:00:00Z"})
	if isError || !strings.Contains(text, `"scheduledId":"id-1"`) || !strings.Contains(text, `"at":"2030-01-01T09:00:00.000Z"`) || strings.Contains(text, `"id":`) {
		t.Error(text)
	}
	got := w.requests()
	if body := strings.TrimSpace(got[len(got)-1].body); body != `{"recipient":"4915155500002","textMessage":{"text":"later"},"options":{"quotedMessageId":"7","sendAt":"2030-01-01T09:00:00Z"}}` {
		t.Error(body)
	}
}

func TestSendMessageTakesTextRepliesReactionsAndFiles(t *testing.T) {
	w := newWorld(t)
	w.answers["POST /instance/shop/db/messages"] = says(200, `{"messages":{"records":[{"id":7,"keyId":"3EB0","keyRemoteJid":"120363000000000001@g.us","isGroup":true,"keyParticipant":"49@s.whatsapp.net","keyParticipantLid":"12@lid"}],"pageInfo":{}}}`)
	s, _ := w.byHTTP(sender)
	base := map[string]any{"instance": "shop", "to": "4915155500002"}
	for _, c := range []struct {
		more       map[string]any
		path, body string
	}{
		{map[string]any{"text": "a <b> & c"}, "text", `{"recipient":"4915155500002","textMessage":{"text":"a <b> & c"}}`},
		{map[string]any{"text": "yes", "replyTo": "7"}, "text", `{"recipient":"4915155500002","textMessage":{"text":"yes"},"options":{"quotedMessageId":"7"}}`},
		{map[string]any{"reaction": "👍", "replyTo": "7"}, "reaction", `{"recipient":"4915155500002","reactionMessage":{"key":{"remoteJid":"120363000000000001@g.us","id":"3EB0","fromMe":false,"participant":"12@lid"},"reaction":"👍"}}`},
		{map[string]any{"reaction": "", "replyTo": "7"}, "reaction", `{"recipient":"4915155500002","reactionMessage":{"key":{"remoteJid":"120363000000000001@g.us","id":"3EB0","fromMe":false,"participant":"12@lid"},"reaction":""}}`},
		{map[string]any{"mediaUrl": "https://x.example/a.JPG?b", "caption": "c"}, "media", `{"recipient":"4915155500002","mediaMessage":{"mediatype":"image","media":"https://x.example/a.JPG?b","caption":"c"}}`},
		{map[string]any{"mediaUrl": "https://x.example/a.mp4"}, "media", `{"recipient":"4915155500002","mediaMessage":{"mediatype":"video","media":"https://x.example/a.mp4"}}`},
		{map[string]any{"mediaUrl": "https://x.example/a.ogg"}, "media", `{"recipient":"4915155500002","mediaMessage":{"mediatype":"audio","media":"https://x.example/a.ogg"}}`},
		{map[string]any{"mediaUrl": "https://x.example/a"}, "media", `{"recipient":"4915155500002","mediaMessage":{"mediatype":"document","media":"https://x.example/a"}}`},
	} {
		w.requests()
		text, isError := call(t, s, "send_message", with(base, c.more))
		if isError || !strings.Contains(text, `"id":"4711"`) {
			t.Errorf("%v: %s", c.more, text)
		}
		got := w.requests()
		if last := got[len(got)-1]; last.path != "/instance/shop/send/"+c.path || strings.TrimSpace(last.body) != c.body {
			t.Errorf("%v: %s\n%s\n%s", c.more, last.path, last.body, c.body)
		}
	}
	w.change(func() {
		w.answers["POST /instance/shop/db/messages"] = says(200, `{"messages":{"records":[],"pageInfo":{}}}`)
	})
	w.requests()
	if text, isError := call(t, s, "send_message", with(base, map[string]any{"reaction": "x", "replyTo": "8"})); !isError || writes(w.requests()) != nil {
		t.Errorf("a reaction to nothing: %s", text)
	}
}

func TestFileTypeFollowsContentAndIsNeverText(t *testing.T) {
	for name, c := range map[string]struct{ bytes, kind, content string }{
		"a picture":   {"\x89PNG\r\n\x1a\n", "image/png", "image"},
		"a recording": {"OggS\x00", "audio/ogg", "audio"},
		"a document":  {"%PDF-1.7", "application/pdf", "resource"},
		"a text":      {evil, "text/plain", "resource"},
		"a page":      {"<html><script>", "text/html", "resource"},
		"nothing":     {"", "text/plain", "resource"},
	} {
		w := newWorld(t)
		w.answers["POST /instance/shop/media/data"] = func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "image/svg+xml")
			_, _ = io.WriteString(rw, c.bytes)
		}
		s, _ := w.byHTTP(reader)
		res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "get_media", Arguments: examples["get_media"]})
		if err != nil || res.IsError || len(res.Content) != 2 {
			t.Fatalf("%s: %v %+v", name, err, res)
		}
		raw, _ := json.Marshal(res.Content[1])
		encoded := base64.StdEncoding.EncodeToString([]byte(c.bytes))
		if !strings.Contains(string(raw), `"type":"`+c.content+`"`) || !strings.Contains(string(raw), encoded) || strings.Contains(string(raw), "svg") {
			t.Errorf("%s: %s", name, raw)
		}
		structure, _ := json.Marshal(res.StructuredContent)
		if !strings.Contains(string(structure), fmt.Sprintf(`"mimeType":%q`, c.kind)) || !strings.Contains(string(structure), fmt.Sprintf(`"bytes":%d`, len(c.bytes))) {
			t.Errorf("%s: %s", name, structure)
		}
	}
}

func TestTooLargeResultsAreRefused(t *testing.T) {
	w := newWorld(t)
	var wrote int
	endless := func(rw http.ResponseWriter, _ *http.Request) {
		for piece := make([]byte, 1<<16); ; {
			n, err := rw.Write(piece)
			if wrote += n; err != nil {
				return
			}
		}
	}
	w.answers["POST /instance/shop/media/data"], w.answers["GET /instance/shop/chats"] = endless, endless
	s, _ := w.byHTTP(reader)
	if text, isError := call(t, s, "get_media", examples["get_media"]); !isError || !strings.Contains(text, "too large") || wrote > maxMedia {
		t.Errorf("%s, after %d bytes", text, wrote)
	}
	wrote = 0
	if text, isError := call(t, s, "find_chats", examples["find_chats"]); !isError || !strings.Contains(text, "too large") || wrote > maxAnswer {
		t.Errorf("%s, after %d bytes", text, wrote)
	}
}

func TestListsAreBounded(t *testing.T) {
	w := newWorld(t)
	row := `{"name":"shop","connectionStatus":"ONLINE"},`
	w.answers["GET /instance"] = says(200, "["+strings.Repeat(row, 2000)+strings.TrimSuffix(row, ",")+"]")
	chat := `{"jid":"49@lid","name":"a"},`
	w.answers["GET /instance/shop/chats"] = says(200, `{"nextCursor":"AA","records":[`+strings.Repeat(chat, 199)+strings.TrimSuffix(chat, ",")+`]}`)
	s, _ := w.byHTTP(reader)
	text, _ := call(t, s, "list_instances", nil)
	if strings.Count(text, `"name"`) != maxListed || !strings.Contains(text, `"more":true`) {
		t.Errorf("%d instances", strings.Count(text, `"name"`))
	}
	text, _ = call(t, s, "find_chats", map[string]any{"instance": "shop", "limit": 30})
	if strings.Count(text, `"jid"`) != 30 || !strings.Contains(text, `"more":true`) {
		t.Errorf("%d chats", strings.Count(text, `"jid"`))
	}
	w.requests()
	text, _ = call(t, s, "find_chats", map[string]any{"instance": "shop", "query": "absent"})
	if n := len(w.requests()); n != chatPages || !strings.Contains(text, `"more":true`) {
		t.Errorf("%d requests, %s", n, text)
	}
}

func TestFindContactsDistinguishesNumbersFromNames(t *testing.T) {
	w := newWorld(t)
	s, _ := w.byHTTP(reader)
	for query, want := range map[string]string{"Anne": "limit=20&name=Anne", "+49 151 555-00002": "jid=%2B49+151+555-00002&limit=20", "12@lid": "jid=12%40lid&limit=20", "Bar 42": "limit=20&name=Bar+42"} {
		w.requests()
		call(t, s, "find_contacts", map[string]any{"instance": "shop", "query": query})
		if got := w.requests(); len(got) != 1 || got[0].query != want {
			t.Errorf("%s: %v", query, got)
		}
	}
}

func TestHandlerPanicIsRecovered(t *testing.T) {
	w := newWorld(t)
	w.answers["GET /instance"] = func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	w.answers["GET /instance/shop/chats"] = func(http.ResponseWriter, *http.Request) { panic("a fault") }
	s, _ := w.byHTTP(reader)
	for tool, want := range map[string]string{"list_instances": "was truncated", "find_chats": "internal error"} {
		if text, isError := call(t, s, tool, examples[tool]); !isError || !strings.Contains(text, want) {
			t.Errorf("%s: %s", tool, text)
		}
	}
}

func TestAStreamNeedsAKeyThatIsKnown(t *testing.T) {
	w := newWorld(t)
	for key, want := range map[string]string{"": "begins with pk_", "global": "begins with pk_", "pk_unknown": "UNAUTHORIZED"} {
		in, _ := io.Pipe()
		_, out := io.Pipe()
		if err := w.server.ServeStream(t.Context(), key, in, out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", key, err)
		}
	}
}

func TestMediaAsLink(t *testing.T) {
	w := newWorld(t)
	w.answers["POST /instance/shop/messages/4711/media/link"] = says(201, `{"url":"https://example.org/media/t/x.pdf","expiresAt":"2026-05-04T09:30:00Z","kind":"document","mimetype":"application/pdf","fileName":"x.pdf","size":9000000,"sha256":"00"}`)
	s, _ := w.byHTTP(reader)
	text, isError := call(t, s, "get_media", with(examples["get_media"], map[string]any{"as": "link"}))
	if isError || !strings.Contains(text, `"url":"https://example.org/media/t/x.pdf"`) || !strings.Contains(text, `"bytes":9000000`) {
		t.Error(text)
	}
	if text, isError := call(t, s, "get_media", with(examples["get_media"], map[string]any{"as": "file"})); !isError {
		t.Error(text)
	}
}
