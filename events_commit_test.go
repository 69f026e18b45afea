//go:build linux

package main

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"postern/event"
)

// fileLimit bounds the files of the running program and returns what undoes
// it. No byte, or a few pages, is a full disk: every commit fails.
func (w *world) fileLimit(t *testing.T, bytes uint64) (lift func()) {
	t.Helper()
	set := func(limit, old *unix.Rlimit) {
		if err := unix.Prlimit(w.cmd.Process.Pid, unix.RLIMIT_FSIZE, limit, old); err != nil {
			t.Fatal(err)
		}
	}
	var before unix.Rlimit
	set(nil, &before)
	set(&unix.Rlimit{Cur: bytes, Max: before.Max}, nil)
	return func() { set(&before, nil) }
}

// The commit that fails here is the one of the decryption, the first that a
// message needs.
func TestAMessageThatAFullDiskRefusesComesAgainAndIsToldOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	s := newScene(t, "WHATSAPP_RECONNECT_INITIAL_DELAY=1")
	s.online(t)
	lift := s.fileLimit(t, 16<<10)
	s.do(t, act("$anne", `{"do":"text","to":"$own","text":"keep me"}`))
	s.await("a second try", func() bool { return strings.Count(s.output.String(), "asking for it again") >= 2 })
	for _, kind := range []event.Kind{event.MessagesUpsert, event.MessagesUndecryptable} {
		if n := s.seen(string(kind)); n != 0 {
			t.Errorf("%s told %d times while the disk was full", kind, n)
		}
	}
	lift()
	s.awaitEvent(t, 0, event.MessagesUpsert, `{"content":{"text":"keep me"}}`)
	s.do(t, act("$anne", `{"do":"text","to":"$own","text":"the next one"}`))
	s.awaitEvent(t, 0, event.MessagesUpsert, `{"content":{"text":"the next one"}}`)
	s.stop()
	if n := s.seen(string(event.MessagesUpsert)); n != 2 {
		t.Errorf("two messages were told %d times", n)
	}
}
