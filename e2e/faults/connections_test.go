package faults

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
)

// fewDescriptors makes the program start with so many descriptors.
func fewDescriptors(n int) func(*exec.Cmd) {
	return func(cmd *exec.Cmd) {
		args := append([]string{"/bin/sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, n), cmd.Path}, cmd.Args[1:]...)
		cmd.Path, cmd.Args = args[0], args
	}
}

// TestIdleConnectionsDoNotStarveOtherAddresses floods a program of
// 256 descriptors with a thousand connections that say nothing, and continues
// using it.
func TestIdleConnectionsDoNotStarveOtherAddresses(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	t.Parallel() // it waits more than it works
	if _, err := os.Stat("/bin/sh"); err != nil || runtime.GOOS != "linux" {
		t.Skip("needs a shell that sets limits, and all of 127.0.0.0/8")
	}
	w := rig.NewWorld(t)
	w.Prepare = fewDescriptors(256)
	w.Start()
	token := w.Pair("red")
	address := strings.TrimPrefix(w.API.Base, "http://")
	flood(w, address, "127.0.0.2", 1000)

	from := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 3)}, Timeout: 10 * time.Second}
	other := &http.Client{Transport: &http.Transport{DialContext: from.DialContext, DisableKeepAlives: true}, Timeout: 10 * time.Second}
	for range 20 {
		res, err := other.Get(w.API.Base + "/health")
		if err != nil {
			t.Fatalf("/health for another address: %v\n%s", err, w.Output)
		}
		_ = res.Body.Close()
	}
	w.API.HTTP.Transport = other.Transport
	w.Call(consumer.Bearer(token), http.MethodPost, "/instance/red/send/text", map[string]any{
		"number": "4917400000009", "textMessage": map[string]any{"text": "through the flood"},
	}, nil)
	w.Await("a webhook during the flood", func() bool { return w.Seen(string(event.SendMessage)) == 1 })
	var status struct{ OwnerJID string }
	w.Call(consumer.Bearer(token), http.MethodGet, "/instance/red/connection/status", nil, &status)
	connected := w.Seen(string(event.ConnectionUpdated))
	number, _, _ := strings.Cut(status.OwnerJID, "@")
	w.Sandbox.Drop(number)
	w.Await("a reconnect during the flood", func() bool { return w.Seen(string(event.ConnectionUpdated)) >= connected+2 })
	w.AwaitOnline("red", token)
	for i := range 6 { // together they take all places, and rest
		flood(w, address, fmt.Sprintf("127.0.0.%d", 10+i), 50)
	}
	res, err := other.Get(w.API.Base + "/health")
	if err != nil {
		t.Fatalf("/health beside many addresses that say nothing: %v", err)
	}
	_ = res.Body.Close()
	if n := w.Metric("postern_connections_evicted_total"); n < 500 {
		t.Errorf("%v connections gave their place", n)
	}
	if n := strings.Count(w.Output.String(), "an address holds as many connections as it may"); n < 1 || n > 3 {
		t.Errorf("%d warnings of them:\n%s", n, w.Output)
	}
	if strings.Contains(w.Output.String(), "too many open files") {
		t.Errorf("descriptors ran out:\n%s", w.Output)
	}
	w.Stop()
}

// flood opens connections from an address and says nothing on them.
func flood(w *rig.World, address, from string, n int) {
	w.T.Helper()
	d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 10 * time.Second}
	for range n {
		c, err := d.DialContext(w.T.Context(), "tcp", address)
		if err != nil {
			w.T.Fatalf("%v\n%s", err, w.Output)
		}
		w.T.Cleanup(func() { _ = c.Close() })
		go func() { _, _ = io.Copy(io.Discard, c) }()
	}
}
