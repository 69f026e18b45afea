package whatsapp

import (
	"runtime"
	"testing"
	"time"

	"postern/event"

	"go.mau.fi/whatsmeow"
)

// TestFloodIsHeldBackInTheNetwork: stanzas that arrive faster than they are handled
// cost few goroutines, are all reported, in order unless a busy machine delays one by
// more than floodPause, and the connection stays.
func TestFloodIsHeldBackInTheNetwork(t *testing.T) {
	const flood = 6000 // the library keeps 2 048
	r := newRig(t)
	phone, contact := r.pair(), r.contact()
	r.synced()
	held := make(chan struct{})
	r.mu.Lock()
	r.refuse = func(f event.Fact) error {
		if f.Kind == event.PresenceUpdated {
			<-held
		}
		return nil
	}
	r.mu.Unlock()
	before := runtime.NumGoroutine()
	first := time.Now().Add(-2 * flood * time.Second).Truncate(time.Second)
	for n := range flood {
		if err := r.net.ShowPresence(contact.JID(), phone.JID(), false, first.Add(time.Duration(n)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	r.eventually("held back", func() bool { return r.conn.Stats().Floods > 0 })
	time.Sleep(50 * floodPause) // that many more stanzas would be read
	if n := runtime.NumGoroutine() - before; n > 200 {
		t.Errorf("%d goroutines", n)
	}
	close(held)
	r.eventually("all are reported", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		n := 0
		for _, f := range r.history {
			if f.Kind == event.PresenceUpdated {
				n++
			}
		}
		return n == flood
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	n, late := 0, 0
	for _, f := range r.history {
		if f.Status == event.Reconnecting {
			t.Error("the connection was lost:", f.Error)
		}
		if f.Kind != event.PresenceUpdated {
			continue
		}
		if at := f.Data.(event.PresenceUpdate).LastSeen; !at.Equal(first.Add(time.Duration(n) * time.Second)) {
			late++
		}
		n++
	}
	if late > flood/100 {
		t.Errorf("%d of %d are not in their place", late, flood)
	}
}

// TestSlowReadingDoesNotDropTheConnection: the answers to pings are behind unread
// stanzas. Once those are read, a connection without answers is given up as usual. The
// library's queue is filled step by step, since on a busy machine reading all of it takes
// longer than a ping may.
func TestSlowReadingDoesNotDropTheConnection(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds")
	}
	const flood, queued = 6_000, 2_000 // the library keeps 2 048
	if !inOwnProcess(t) {
		return
	}
	whatsmeow.KeepAliveMaxFailTime = 500 * time.Millisecond
	r := newRigWith(t, Config{KeepAliveInterval: 200 * time.Millisecond, KeepAliveTimeout: time.Second})
	phone, contact := r.pair(), r.contact()
	r.synced()
	held := make(chan struct{})
	r.mu.Lock()
	r.refuse = func(f event.Fact) error {
		if f.Kind == event.PresenceUpdated {
			<-held
		}
		return nil
	}
	r.mu.Unlock()
	for n := range flood {
		if err := r.net.ShowPresence(contact.JID(), phone.JID(), n%2 == 0, time.Now()); err != nil {
			t.Fatal(err)
		}
		if n < queued && n%100 == 99 { // an answer: the stanzas before it were read, and so is that of a ping
			if _, err := r.session.Account.Chats.Registered(t.Context(), []string{contact.JID().User}); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.eventually("held back", func() bool { return r.conn.Stats().Floods > 0 })
	time.Sleep(4 * time.Second) // three pings, each of which waits a second for its answer
	lost := func() (n int) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, f := range r.history {
			if f.Status == event.Reconnecting || f.Status == event.KeepAliveTimeout {
				n++
			}
		}
		return n
	}
	if n := lost(); n > 0 {
		t.Errorf("a connection that is read more slowly was taken for lost: %d times", n)
	}
	close(held)
	r.eventually("all are reported", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		n := 0
		for _, f := range r.history {
			if f.Kind == event.PresenceUpdated {
				n++
			}
		}
		return n == flood
	})
	if n := lost(); n > 0 {
		t.Errorf("it was taken for lost while the rest was read: %d times", n)
	}
}
