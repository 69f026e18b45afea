package whatsapp

import (
	"errors"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mau.fi/whatsmeow"

	"postern/event"
	"postern/sandbox"
)

func TestAnIncomingTextIsReportedWithEveryField(t *testing.T) {
	r := newRig(t)
	own, contact := r.pair(), r.contact()
	before := time.Now().Unix()
	id, err := contact.SendText(t.Context(), own.JID(), "all of it")
	if err != nil {
		t.Fatal(err)
	}
	f := r.await("message", message("all of it"))
	got := f.Data.(*event.Message)
	if got.MessageTimestamp < before || got.MessageTimestamp > time.Now().Unix() {
		t.Errorf("timestamp %d", got.MessageTimestamp)
	}
	f.Data = nil
	if diff := cmp.Diff(event.Fact{Kind: event.MessagesUpsert}, f); diff != "" {
		t.Error(diff)
	}
	want := &event.Message{
		KeyID: id, KeyRemoteJID: new(contact.JID().String()), KeyLID: new(contact.LID().String()), PushName: new(contact.PushName()),
		MessageType: "conversation", Content: []byte(`{"text":"all of it"}`), MessageTimestamp: got.MessageTimestamp,
		Device: new("ios"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLostFrameIsDeliveredOnceAfterRedial(t *testing.T) {
	r := newRig(t)
	r.pair()
	contact := r.contact()
	r.net.SetFaults(sandbox.Faults{DropAfter: 1})
	defer r.net.SetFaults(sandbox.Faults{})
	sent, err := r.send(contact.JID(), "despite the drop")
	if err != nil {
		t.Fatal(err)
	}
	reads(t, contact, "despite the drop")
	if f := r.state(event.Reconnecting); f.Data.(event.ConnectionUpdate).Type != event.TypeDisconnected {
		t.Errorf("%+v", f)
	}
	if n := contact.ReceivedCount(sent.Message.KeyID); n != 1 {
		t.Errorf("read %d times", n)
	}
}

func TestMessageIsAcknowledgedAfterItsReport(t *testing.T) {
	r := newRig(t)
	own, contact := r.pair(), r.contact()
	entered, leave := make(chan struct{}), make(chan error)
	var once sync.Once
	r.mu.Lock()
	r.refuse = func(f event.Fact) (err error) {
		if f.Kind == event.MessagesUpsert {
			once.Do(func() { close(entered); err = <-leave })
		}
		return err
	}
	r.mu.Unlock()
	if _, err := contact.SendText(t.Context(), own.JID(), "not yet"); err != nil {
		t.Fatal(err)
	}
	<-entered
	// A whole exchange on the same connection: an early acknowledgement would
	// be there by its end.
	if _, err := r.send(contact.JID(), "meanwhile"); err != nil {
		t.Error(err)
	}
	r.net.Drop(own.Number())
	r.state(event.Reconnecting)
	leave <- errors.New("the program ended here")
	r.await("message", message("not yet"))
}

func TestReceiptIsAcknowledgedAfterItsReport(t *testing.T) {
	r := newRig(t)
	own, contact := r.pair(), r.contact()
	entered, leave := make(chan struct{}), make(chan error)
	var once sync.Once
	r.mu.Lock()
	r.refuse = func(f event.Fact) (err error) {
		if d, ok := f.Data.(event.Receipt); ok && d.Status == event.StatusRead {
			once.Do(func() { close(entered); err = <-leave })
		}
		return err
	}
	r.mu.Unlock()
	if err := contact.SendReceipt(t.Context(), own.JID(), "read", "SOME-ID"); err != nil {
		t.Fatal(err)
	}
	<-entered
	if _, err := r.send(contact.JID(), "meanwhile"); err != nil {
		t.Error(err)
	}
	r.net.Drop(own.Number())
	r.state(event.Reconnecting)
	leave <- errors.New("the program ended here")
	r.await("read receipt", func(f event.Fact) bool {
		d, ok := f.Data.(event.Receipt)
		return ok && d.Status == event.StatusRead
	})
}

func TestPairingLogsInWithoutCode515(t *testing.T) {
	r := newRig(t)
	r.net.SetFaults(sandbox.Faults{LosePairingEnd: true})
	defer r.net.SetFaults(sandbox.Faults{})
	r.pair()
	announced := 0
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.facts {
		if u, ok := f.Data.(event.ConnectionUpdate); ok && u.Type == event.TypeManualReconnect {
			announced++
		}
	}
	if announced != 1 {
		t.Errorf("manual.reconnect was reported %d times", announced)
	}
}

// inOwnProcess runs the test in a process of its own: the library's keep-alive times
// are package variables.
func inOwnProcess(t *testing.T) (is bool) {
	t.Helper()
	const child = "POSTERN_TEST_KEEPALIVE"
	if os.Getenv(child) != "" {
		return true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), child+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return false
}

func TestUnansweredPingsDropTheConnection(t *testing.T) {
	if !inOwnProcess(t) {
		return
	}
	whatsmeow.KeepAliveMaxFailTime = time.Second
	r := newRigWith(t, Config{KeepAliveInterval: 100 * time.Millisecond, KeepAliveTimeout: 100 * time.Millisecond})
	r.pair()

	r.net.SetFaults(sandbox.Faults{SwallowPings: true})
	r.state(event.KeepAliveTimeout)
	r.net.SetFaults(sandbox.Faults{})
	r.await("restored", func(f event.Fact) bool {
		u, _ := f.Data.(event.ConnectionUpdate)
		return u.Type == event.TypeKeepAliveBack && f.Status == event.Online
	})

	r.net.SetFaults(sandbox.Faults{SwallowPings: true})
	if f := r.state(event.Reconnecting); f.Error == "" {
		t.Errorf("%+v", f)
	}
	r.net.SetFaults(sandbox.Faults{})
	r.state(event.Online)
}
