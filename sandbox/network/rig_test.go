package network

import (
	"log/slog"
	"os"
	"testing"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"

	"postern/sandbox/handset"
)

// TestMain silences the Signal library, whose own logger is not safe for concurrent use.
func TestMain(m *testing.M) {
	handset.SetLogger(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}

// rigServer is a network without a file, to look into.
func rigServer(t testing.TB) *Server {
	t.Helper()
	s, err := Open(Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// stanza is a node with attributes given as pairs.
func stanza(tag string, pairs ...any) waBinary.Node {
	n := waBinary.Node{Tag: tag, Attrs: waBinary.Attrs{}}
	for i := 0; i < len(pairs); i += 2 {
		n.Attrs[pairs[i].(string)] = pairs[i+1]
	}
	return n
}

// soon waits for a condition that no channel announces.
func soon(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(15 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}
