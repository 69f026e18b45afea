package cluster

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/sandbox"
)

// agent posts a message of the Model Context Protocol to a node, in a session or without one.
func (n *node) agent(key, session, body string) (status int, answer, opened string) {
	n.T.Helper()
	req, err := http.NewRequestWithContext(n.T.Context(), http.MethodPost, "http://"+n.address+"/mcp", strings.NewReader(body))
	if err != nil {
		n.T.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		n.T.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		n.T.Fatal(err)
	}
	return resp.StatusCode, string(raw), resp.Header.Get("Mcp-Session-Id")
}

// agentSession opens a session.
func (n *node) agentSession(key string) string {
	n.T.Helper()
	status, answer, session := n.agent(key, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	if status != http.StatusOK || session == "" {
		n.T.Fatalf("%d %s", status, answer)
	}
	n.agent(key, session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return session
}

func TestToolCallRepeatedAfterATakeoverSendsOnce(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	a, b := n.node("a", "MCP_ENABLED=true"), n.node("b", "MCP_ENABLED=true")
	a.launch()
	a.awaitOwner()
	b.launch()
	b.awaitStandby()
	token := a.Pair("shop")
	anne, err := n.first.Sandbox.AddPhone(sandbox.PhoneOptions{Number: rig.AnneNumber, PushName: "Anne"})
	if err != nil {
		t.Fatal(err)
	}
	var made struct{ Key string }
	a.Call(consumer.Key(a.Sec.GlobalAuthToken), http.MethodPost, "/keys", map[string]any{"name": "agent", "instances": []string{"shop"}, "scopes": []string{"send"}}, &made)
	send := func(id int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"send_message","arguments":{"instance":"shop","to":%q,"text":"call %d"}}}`, id, rig.AnneNumber, id)
	}
	session := a.agentSession(made.Key)
	status, first, _ := a.agent(made.Key, session, send(7))
	if status != http.StatusOK || strings.Contains(first, "isError") {
		t.Fatalf("%d %s", status, first)
	}
	a.Kill()
	b.answered()
	if status, answer, _ := b.agent(made.Key, session, send(7)); status != http.StatusNotFound {
		t.Errorf("a session of the former owner: %d %s", status, answer)
	}
	b.AwaitOnline("shop", token)
	session = b.agentSession(made.Key)
	status, again, _ := b.agent(made.Key, session, send(7))
	if status != http.StatusOK || !strings.Contains(again, `"repeated":true`) {
		t.Errorf("the repeated call: %d %s, and the first %s", status, again, first)
	}
	if status, answer, _ := b.agent(made.Key, session, send(8)); status != http.StatusOK || strings.Contains(answer, "isError") {
		t.Fatalf("%d %s", status, answer)
	}
	got := map[string]int{}
	b.Await("the second call arrived", func() bool {
		clear(got)
		for _, r := range anne.Received() {
			got[r.Message.GetConversation()]++
		}
		return got["call 8"] > 0
	})
	if got["call 7"] != 1 {
		t.Errorf("the phone has %v", got)
	}
}
