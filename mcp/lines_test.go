package mcp

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// TestStreamContinuesAfterInvalidMessages: an id that would be read as that of another
// call, of which it would get the outcome in place of its own; several messages at once,
// what is none, and one that is too long.
func TestStreamContinuesAfterInvalidMessages(t *testing.T) {
	w := newWorld(t)
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- w.server.ServeStream(t.Context(), all, in, out) }()
	answers := bufio.NewReader(fromServer)
	ask := func(line string) (id any, text string, refused bool) {
		t.Helper()
		if _, err := io.WriteString(toServer, line); err != nil {
			t.Fatal(err)
		}
		answer, err := answers.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		var a struct {
			ID    any
			Error *struct {
				Code    int
				Message string
			}
		}
		if err := json.Unmarshal([]byte(answer), &a); err != nil {
			t.Fatalf("%.200s: %v", answer, err)
		}
		if a.Error == nil {
			return a.ID, answer, false
		}
		return a.ID, a.Error.Message, a.Error.Code == jsonrpc.CodeInvalidRequest
	}
	if _, text, refused := ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\r\n"); refused {
		t.Fatal(text)
	}
	if _, err := io.WriteString(toServer, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	send := func(id string) string { return calling(id, "send_message", examples["send_message"]) }
	sent := 0
	for _, c := range []struct{ line, refusal string }{
		{send("7"), ""},
		{"\n \n" + send("9007199254740991"), ""},
		{send("9007199254740992"), "the id must be"},
		{send("9007199254740993"), "the id must be"},
		{send("1.5"), "the id must be"},
		{"[" + send("8") + "," + send("9") + "]", "batches are not supported"},
		{`{"jsonrpc":"2.0","id":3,"method":`, "must be a single JSON-RPC 2.0 message"},
		{"hello", "must be a single JSON-RPC 2.0 message"},
		{strings.Repeat("[", 100) + strings.Repeat("]", 100), "64"},
		{`{"jsonrpc":"2.0","id":4,"method":"ping","params":{"x":"` + strings.Repeat("x", 3*maxRequest) + `"}}`, "at most 1048576 bytes"},
		{send(`"text"`), ""},
	} {
		id, text, refused := ask(c.line + "\n")
		if refused != (c.refusal != "") || !strings.Contains(text, c.refusal) || refused && id != nil {
			t.Errorf("%.120s: id %v, %.300s", c.line, id, text)
		}
		if !refused {
			sent++
		}
	}
	made := 0
	for _, r := range w.requests() {
		if strings.HasPrefix(r.path, "/instance/shop/send/") {
			made++
		}
	}
	if made != sent || sent != 3 {
		t.Errorf("%d sends were asked for, %d calls were taken", made, sent)
	}
	_ = toServer.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
