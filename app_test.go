package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"postern/dispatch"
	"postern/httpapi"
)

// TestMoreConnectionsThanTheLimitWaitUntilOneEnds: they are neither refused nor
// answered.
func TestMoreConnectionsThanTheLimitWaitUntilOneEnds(t *testing.T) {
	l, err := listenTCP(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	srv := httpapi.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), quiet)
	a := &app{failed: make(chan error, 1), log: quiet, stops: &stopStack{log: quiet}, connections: 2}
	a.listen("listener", srv, l)
	defer func() {
		if err := a.stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	ask := func() net.Conn {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		return c
	}
	answer := func(c net.Conn, within time.Duration) error {
		_ = c.SetReadDeadline(time.Now().Add(within))
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err == nil {
			_ = res.Body.Close()
		}
		return err
	}
	first, second, third := ask(), ask(), ask()
	for _, c := range []net.Conn{first, second} {
		if err := answer(c, 10*time.Second); err != nil {
			t.Fatalf("below the limit: %v", err)
		}
	}
	if err := answer(third, 50*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("over the limit: %v", err)
	}
	_ = first.Close()
	if err := answer(third, 10*time.Second); err != nil {
		t.Errorf("after another one ended: %v", err)
	}
}

func TestTheProgramIsNotReadyWhileTheOutboxRelayStands(t *testing.T) {
	a := &app{cfg: &Config{}, relay: dispatch.NewRelay(dispatch.RelayConfig{})} // not started: no turn yet
	if reasons := a.notReady(); len(reasons) != 0 {
		t.Errorf("without a global webhook: %q", reasons)
	}
	a.cfg.Webhook.GlobalURL, a.cfg.Webhook.GlobalEnabled = "https://example.org", true
	if reasons := a.notReady(); len(reasons) != 1 {
		t.Errorf("got %q", reasons)
	}
}

func TestStopsRunInTheOppositeOrderAndAllOfThem(t *testing.T) {
	var order []string
	s := &stopStack{log: slog.New(slog.DiscardHandler)}
	for _, name := range []string{"first", "second", "third"} {
		s.push(name, func(context.Context) error {
			order = append(order, name)
			return errors.New(name)
		})
	}
	err := s.stop(t.Context())
	if len(order) != 3 || order[0] != "third" || order[2] != "first" || err == nil {
		t.Errorf("%v: %v", order, err)
	}
}
