package main

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

	"postern/event"
)

func TestTheLimitOfConnectionsLeavesRoomForOurs(t *testing.T) {
	for _, c := range []struct{ descriptors, ours, want int }{
		{1_048_576, 200, 20_000},
		{4096, 200, 2048},
		{1024, 200, 512},
		{1024, 900, 124},
		{256, 150, 106},
		{64, 150, 8},
	} {
		if got := clientConnections(c.descriptors, c.ours); got != c.want {
			t.Errorf("%d descriptors, %d ours: %d, want %d", c.descriptors, c.ours, got, c.want)
		}
	}
	for _, c := range []struct {
		configured  int64
		total, want int
	}{{256, 20_000, 256}, {256, 100, 50}, {0, 100, 0}, {1, 100, 1}, {5, 1, 1}} {
		if got := perAddress(c.configured, c.total); got != c.want {
			t.Errorf("%d of %d: %d, want %d", c.configured, c.total, got, c.want)
		}
	}
}

// fewDescriptors makes the program start with so many descriptors.
func fewDescriptors(n int) func(*exec.Cmd) {
	return func(cmd *exec.Cmd) {
		args := append([]string{"/bin/sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, n), cmd.Path}, cmd.Args[1:]...)
		cmd.Path, cmd.Args = args[0], args
	}
}

// TestIdleConnectionsOfOneAddressTakeNothingFromTheOthers floods a program of
// 256 descriptors with a thousand connections that say nothing, and goes on
// using it.
func TestIdleConnectionsOfOneAddressTakeNothingFromTheOthers(t *testing.T) {
	if _, err := os.Stat("/bin/sh"); err != nil || runtime.GOOS != "linux" {
		t.Skip("needs a shell that sets limits, and all of 127.0.0.0/8")
	}
	w := newWorld(t)
	w.prepare = fewDescriptors(256)
	w.start()
	token := w.pair("red")
	address := strings.TrimPrefix(w.api.base, "http://")
	w.flood(address, "127.0.0.2", 1000)

	from := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 3)}, Timeout: 10 * time.Second}
	other := &http.Client{Transport: &http.Transport{DialContext: from.DialContext, DisableKeepAlives: true}, Timeout: 10 * time.Second}
	for range 20 {
		res, err := other.Get(w.api.base + "/health")
		if err != nil {
			t.Fatalf("/health for another address: %v\n%s", err, w.output)
		}
		_ = res.Body.Close()
	}
	w.api.http.Transport = other.Transport
	w.call(bearer(token), http.MethodPost, "/instance/red/send/text", map[string]any{
		"number": "4917400000009", "textMessage": map[string]any{"text": "through the flood"},
	}, nil)
	w.await("a webhook during the flood", func() bool { return w.seen(string(event.SendMessage)) == 1 })
	var status struct{ OwnerJID string }
	w.call(bearer(token), http.MethodGet, "/instance/red/connection/status", nil, &status)
	connected := w.seen(string(event.ConnectionUpdated))
	number, _, _ := strings.Cut(status.OwnerJID, "@")
	w.sandbox.Drop(number)
	w.await("a reconnect during the flood", func() bool { return w.seen(string(event.ConnectionUpdated)) >= connected+2 })
	w.awaitOnline("red", token)
	for i := range 6 { // together they take all places, and rest
		w.flood(address, fmt.Sprintf("127.0.0.%d", 10+i), 50)
	}
	res, err := other.Get(w.api.base + "/health")
	if err != nil {
		t.Fatalf("/health beside many addresses that say nothing: %v", err)
	}
	_ = res.Body.Close()
	if n := w.metric("postern_connections_evicted_total"); n < 1 {
		t.Errorf("%v connections gave their place", n)
	}
	if n := w.metric("postern_connections_refused_total"); n < 500 {
		t.Errorf("%v refused connections are counted", n)
	}
	if n := strings.Count(w.output.String(), "an address holds as many connections as it may"); n < 1 || n > 3 {
		t.Errorf("%d warnings of them:\n%s", n, w.output)
	}
	if strings.Contains(w.output.String(), "too many open files") {
		t.Errorf("descriptors ran out:\n%s", w.output)
	}
	w.stop()
}

// flood opens connections from an address and says nothing on them.
func (w *world) flood(address, from string, n int) {
	w.t.Helper()
	d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 10 * time.Second}
	for range n {
		c, err := d.DialContext(w.t.Context(), "tcp", address)
		if err != nil {
			w.t.Fatalf("%v\n%s", err, w.output)
		}
		w.t.Cleanup(func() { _ = c.Close() })
		go func() { _, _ = io.Copy(io.Discard, c) }()
	}
}
