package delivery

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// wire is a receiver that keeps the bytes of requests as they came.
type wire struct {
	url  string
	head chan string // size 16: more than the tests send
}

func newWire(t *testing.T) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	w := &wire{"http://" + l.Addr().String(), make(chan string, 16)}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go w.take(c)
		}
	}()
	return w
}

// take reads one request and answers it.
func (w *wire) take(c net.Conn) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	in := bufio.NewReader(c)
	var head strings.Builder
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		head.WriteString(line)
		if line == "\r\n" {
			break
		}
	}
	req, err := http.ReadRequest(bufio.NewReader(strings.NewReader(head.String())))
	if err != nil {
		return
	}
	_, _ = in.Discard(int(req.ContentLength))
	w.head <- head.String()
	_, _ = c.Write([]byte("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"))
}

// names returns the names of a head's headers, in lower case.
func names(head string) (all []string) {
	for line := range strings.SplitSeq(head, "\r\n") {
		if name, _, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, "POST ") {
			all = append(all, strings.ToLower(name))
		}
	}
	slices.Sort(all)
	return all
}

// TestHeadersCannotSplitOrOverrideADelivery: what would is refused and changes
// nothing, and what is taken stands on the wire once, beside what the program writes.
func TestHeadersCannotSplitOrOverrideADelivery(t *testing.T) {
	s := newShop(t)
	hook := newWire(t)
	s.webhook(hook.url)
	plain := func() string {
		s.call(http.MethodPost, "/test", map[string]string{"event": "messages.upsert"}, nil)
		return <-hook.head
	}
	before := names(plain())

	const good = `{"headers":{"Authorization":"Bearer a b","X-Api-Key":"first"}}`
	s.options(good)
	bad := map[string]map[string]string{
		"a value that splits":        {"X-Api-Key": "a\r\nX-Instance-Name: other"},
		"a value with a line feed":   {"X-Api-Key": "a\nb"},
		"a value with a NUL":         {"X-Api-Key": "a\x00b"},
		"a value beyond ASCII":       {"X-Api-Key": "schlüssel"},
		"a value with a tab":         {"X-Api-Key": "a\tb"},
		"spaces in front":            {"X-Api-Key": " a"},
		"a value that is too long":   {"X-Api-Key": strings.Repeat("a", 4097)},
		"a name that splits":         {"X-A: b\r\nX-B": "c"},
		"a name with a space":        {"X A": "b"},
		"a name with a colon":        {"X-A:": "b"},
		"an empty name":              {"": "b"},
		"a name beyond ASCII":        {"X-Ä": "b"},
		"one name in two ways":       {"X-Key": "a", "x-key": "b"},
		"stars without an old value": {"X-New": "***"},
	}
	for _, name := range []string{
		"Host", "content-type", "Content-Length", "CONTENT-ENCODING", "Connection", "Transfer-Encoding", "webhook-id", "Webhook-Signature", "webhook-anything",
		"User-Agent", "X-Request-Id", "x-owner-jid", "X-Instance-Name", "x-instance-id", "X-Webhook-Event",
	} {
		bad["the name "+name] = map[string]string{name: "mine"}
	}
	for i := range 17 {
		if bad["seventeen"] == nil {
			bad["seventeen"] = map[string]string{}
		}
		bad["seventeen"][fmt.Sprintf("X-%d", i)] = "a"
	}
	for what, headers := range bad {
		body, err := json.Marshal(map[string]any{"headers": headers})
		if err != nil {
			t.Fatal(err)
		}
		if code := s.refused(http.MethodPut, "/options", string(body)); code != "INVALID_WEBHOOK" {
			t.Errorf("%s: %s", what, code)
		}
		body, err = json.Marshal(map[string]any{"endpoints": []any{map[string]any{"id": "crm", "url": hook.url, "headers": headers}}})
		if err != nil {
			t.Fatal(err)
		}
		if code := s.refused(http.MethodPut, "/options", string(body)); code != "INVALID_WEBHOOK" {
			t.Errorf("%s at an endpoint: %s", what, code)
		}
	}

	head := plain()
	after := append(slices.Clone(before), "authorization", "x-api-key")
	slices.Sort(after)
	if got := names(head); !slices.Equal(got, after) {
		t.Errorf("headers %q, want %q", got, after)
	}
	for _, line := range []string{"Bearer a b\r\n", ": first\r\n", "x-instance-name: shop\r\n", "x-webhook-event: messages.upsert\r\n"} {
		if strings.Count(head, line) != 1 {
			t.Errorf("%q stands %d times in\n%s", line, strings.Count(head, line), head)
		}
	}

	// Values are never shown, and stars keep them.
	var shown chosen
	s.call(http.MethodGet, "/options", nil, &shown)
	if shown.Headers["X-Api-Key"] != "***" || shown.Headers["Authorization"] != "***" {
		t.Errorf("shown %q", shown.Headers)
	}
	s.options(`{"headers":{"Authorization":"***","X-Api-Key":"second"}}`)
	if head = plain(); !strings.Contains(head, "Bearer a b\r\n") || !strings.Contains(head, ": second\r\n") {
		t.Errorf("after stars:\n%s", head)
	}
	s.call(http.MethodDelete, "/options", nil, nil)
	if got := names(plain()); !slices.Equal(got, before) {
		t.Errorf("after DELETE %q, before any PUT %q", got, before)
	}
}
