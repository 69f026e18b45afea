package whatsapp

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"image/png"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"

	"postern/event"
	"postern/sandbox"
	"postern/store"
)

func TestPairByQRAndExchangeTexts(t *testing.T) {
	r := newRig(t)
	own, contact := r.pair(), r.contact()
	if !r.session.Online() || !r.session.Paired() {
		t.Fatal("not online")
	}
	sent, err := r.send(contact.JID(), "hello")
	if err != nil {
		t.Fatal(err)
	}
	if got := reads(t, contact, "hello"); got.ID != sent.Message.KeyID || got.From.User != own.LID().User {
		t.Errorf("the contact read %+v", got)
	}
	if m := sent.Message; *m.KeyRemoteJID != contact.JID().String() || m.KeyLID == nil || *m.KeyLID != contact.LID().String() || !m.KeyFromMe {
		t.Errorf("sent %+v", m)
	}
	r.await("delivery receipt", func(f event.Fact) bool {
		d, ok := f.Data.(event.Receipt)
		return ok && slices.Contains(d.KeyIDs, sent.Message.KeyID) && d.Status == event.StatusDelivered
	})
	if _, err := contact.SendText(t.Context(), own.JID(), "hello back"); err != nil {
		t.Fatal(err)
	}
	r.await("message", message("hello back"))
	if n := contact.ReceivedCount(sent.Message.KeyID); n != 1 {
		t.Errorf("the contact read the text %d times", n)
	}
}

func TestAnInstancePairsByCode(t *testing.T) {
	r := newRig(t)
	phone := r.contact()
	code, err := r.session.PairCode(t.Context(), phone.Number())
	if err != nil {
		t.Fatal(err)
	}
	r.state(event.PairingCodeState)
	if err := phone.Scan(t.Context(), code); err != nil {
		t.Fatal(err)
	}
	r.state(event.Online)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.facts {
		if f.Kind == event.QRCodeUpdated {
			t.Error("a QR code was shown")
		}
	}
	if _, err := r.session.PairCode(t.Context(), phone.Number()); !errors.Is(err, ErrPaired) {
		t.Errorf("a second pairing: %v", err)
	}
}

func TestSessionSurvivesDropAndRestart(t *testing.T) {
	r := newRig(t)
	own, contact := r.pair(), r.contact()
	r.net.Drop(own.Number())
	r.state(event.Reconnecting)
	r.state(event.Online)

	r.session.Disconnect()
	if r.session.Online() || !r.session.Paired() {
		t.Error("not offline and paired")
	}
	if _, err := r.send(contact.JID(), "x"); !errors.Is(err, event.ErrNotConnected) {
		t.Errorf("a send while offline: %v", err)
	}
	r.restart()
	r.connect()
	r.state(event.Online)
	if _, err := r.send(contact.JID(), "after the restart"); err != nil {
		t.Fatal(err)
	}
	reads(t, contact, "after the restart")
}

func TestFailedReportIsRepeated(t *testing.T) {
	r := newRig(t)
	own, contact := r.pair(), r.contact()
	var reports atomic.Int32
	r.mu.Lock()
	r.refuse = func(f event.Fact) error {
		if f.Kind == event.MessagesUpsert {
			if reports.Add(1) == 1 {
				return errors.New("not now")
			}
		}
		return nil
	}
	r.mu.Unlock()
	if _, err := contact.SendText(t.Context(), own.JID(), "keep me"); err != nil {
		t.Fatal(err)
	}
	r.state(event.Reconnecting)
	r.await("message", message("keep me"))
	if _, err := contact.SendText(t.Context(), own.JID(), "the next one"); err != nil {
		t.Fatal(err)
	}
	r.await("message", message("the next one")) // nothing else comes before it
	if n := reports.Load(); n != 3 {
		t.Errorf("%d reports of two messages, one of which failed once", n)
	}
}

// The advanced session and the removal of the buffered text are part of the commit that
// stores the message.
func TestAReceivedMessageCostsOneCommit(t *testing.T) {
	const texts = 50
	r := newRig(t)
	own, contact := r.pair(), r.contact()
	say := func(text string) {
		if _, err := contact.SendText(t.Context(), own.JID(), text); err != nil {
			t.Fatal(err)
		}
		r.await("message", message(text))
	}
	say("the first one, which brings a session and a name")
	r.mu.Lock()
	r.refuse = func(f event.Fact) error {
		if f.Kind != event.MessagesUpsert {
			return nil
		}
		return r.store.Update(context.Background(), func(*store.Tx) error { return nil })
	}
	r.mu.Unlock()
	before := r.store.Stats().Commits
	for i := range texts {
		say(fmt.Sprint("text ", i))
	}
	if n := r.store.Stats().Commits - before; n < texts || n > texts*3/2 { // some are of the pairing
		t.Errorf("%d commits for %d texts that were each stored in one", n, texts)
	}
}

func TestNumberWithoutAnAccount(t *testing.T) {
	r := newRig(t)
	r.pair()
	if _, err := r.send(types.NewJID("4915550000", types.DefaultUserServer), "x"); !errors.Is(err, event.ErrNotOnWhatsApp) {
		t.Errorf("got %v", err)
	}
}

func TestLogoutUnlinksAndTheInstanceCanPairAgain(t *testing.T) {
	r := newRig(t)
	r.pair()
	if err := r.session.Logout(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r.session.Paired() || r.session.Online() {
		t.Error("still paired")
	}
	r.pair()
}

// TestWaitingMessageIsNotSentByAnotherAccount: for its turn, as here, or for its delay.
func TestWaitingMessageIsNotSentByAnotherAccount(t *testing.T) {
	r := newRig(t)
	first := r.pair()
	anne := r.contact()
	var second *sandbox.Phone
	_, err := r.session.Send(t.Context(), event.Outgoing{ID: "3EB0AA", To: anne.JID().String(), Content: event.Content{Text: &event.TextContent{Text: "hello"}}, Turn: func(ctx context.Context) error {
		if err := r.session.Logout(ctx); err != nil {
			return err
		}
		second = r.pair()
		return nil
	}})
	if !errors.Is(err, event.ErrNotConnected) {
		t.Errorf("the send ended with %v", err)
	}
	if second == nil || second.Number() == first.Number() {
		t.Fatal("no other account is paired")
	}
	if _, err := r.send(anne.JID(), "by the second"); err != nil {
		t.Fatal(err)
	}
	reads(t, anne, "by the second")
	if got := anne.Received(); len(got) != 1 || got[0].ID == "3EB0AA" {
		t.Errorf("the contact got %+v", got)
	}
}

func TestUnlinkingOnThePhoneLogsTheInstanceOut(t *testing.T) {
	r := newRig(t)
	own := r.pair()
	r.net.Unlink(own.Number())
	if f := r.state(event.LoggedOut); !f.Unlink || r.session.Paired() {
		t.Errorf("got %+v", f)
	}
}

func TestPairingFactsInOrder(t *testing.T) {
	r := newRig(t)
	r.connect()
	qr := r.state(event.QRCodeState)
	code := qr.Data.(event.QRCode)
	if life := time.Until(code.ExpiresAt.Time); qr.Kind != event.QRCodeUpdated || code.Count != 1 ||
		code.ExpiresInSeconds != 60 || life > time.Minute || life < 45*time.Second {
		t.Errorf("%+v", code)
	}
	picture, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(code.Base64, "data:image/png;base64,"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(bytes.NewReader(picture)); err != nil {
		t.Error(err)
	}
	phone, err := r.net.AutoScan(code.Code)
	if err != nil {
		t.Fatal(err)
	}
	r.state(event.Online)
	r.mu.Lock()
	defer r.mu.Unlock()
	var order []string
	for _, f := range r.history {
		if f.Kind != event.QRCodeUpdated && f.Kind != event.ConnectionUpdated {
			continue // other facts, such as names, come at any time
		}
		u, _ := f.Data.(event.ConnectionUpdate)
		order = append(order, fmt.Sprint(f.Kind, " ", u.Type, " ", u.Connection, " ", f.Status))
		linked := u.Type == event.PairSuccess || u.Type == event.TypeConnected
		want := &event.Link{JID: phone.JID().String(), LID: phone.LID().String()}
		if linked && !cmp.Equal(f.Link, want) {
			t.Errorf("%s: link %+v, want %+v", u.Type, f.Link, want)
		}
	}
	want := []string{
		"qrcode.updated   qr_code",
		"connection.update pair.success connecting pairing",
		"connection.update manual.reconnect connecting connecting",
		"connection.update connected open online",
	}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Error(diff)
	}
}

func TestAReadReceiptOfTheContactIsReported(t *testing.T) {
	r := newRig(t)
	own, contact := r.pair(), r.contact()
	sent, err := r.send(contact.JID(), "read me")
	if err != nil {
		t.Fatal(err)
	}
	reads(t, contact, "read me")
	if err := contact.SendReceipt(t.Context(), own.JID(), "read", sent.Message.KeyID); err != nil {
		t.Fatal(err)
	}
	r.await("read receipt", func(f event.Fact) bool {
		d, ok := f.Data.(event.Receipt)
		return ok && f.Kind == event.MessagesUpdate && slices.Contains(d.KeyIDs, sent.Message.KeyID) && d.Status == event.StatusRead && !d.At.IsZero()
	})
}

func TestOwnPhonesMessageIsFromMe(t *testing.T) {
	r := newRig(t)
	own, contact := r.pair(), r.contact()
	if _, err := own.SendText(t.Context(), contact.JID(), "typed on the phone"); err != nil {
		t.Fatal(err)
	}
	m := r.await("own message", message("typed on the phone")).Data.(*event.Message)
	if !m.KeyFromMe || *m.KeyRemoteJID != contact.JID().String() || *m.KeyLID != contact.LID().String() {
		t.Errorf("%+v", m)
	}
}

func TestARefusedSendIsCertainlyNotSent(t *testing.T) {
	r := newRig(t)
	r.pair()
	contact := r.contact()
	r.net.SetFaults(sandbox.Faults{SendError: 479})
	defer r.net.SetFaults(sandbox.Faults{})
	if _, err := r.send(contact.JID(), "no"); !errors.Is(err, event.ErrSendRefused) {
		t.Errorf("%v", err)
	}
	if got := contact.Received(); len(got) != 0 {
		t.Errorf("the contact read %+v", got)
	}
}

func TestSendWithoutAckIsUnknownAndRepeatable(t *testing.T) {
	r := newRig(t)
	r.pair()
	contact := r.contact()
	r.net.SetFaults(sandbox.Faults{AckDelay: time.Minute})
	defer r.net.SetFaults(sandbox.Faults{})
	out := event.Outgoing{ID: NewMessageID(), To: contact.JID().String(), Content: event.Content{Text: &event.TextContent{Text: "once"}}}
	if _, err := r.session.Send(t.Context(), out); !errors.Is(err, event.ErrOutcomeUnknown) {
		t.Errorf("%v", err)
	}
	r.net.SetFaults(sandbox.Faults{})
	sent, err := r.session.Send(t.Context(), out)
	if err != nil || sent.Message.KeyID != out.ID {
		t.Fatalf("%+v, %v", sent.Message, err)
	}
	eventually(t, "both deliveries are read", func() bool { return contact.ReceivedCount(out.ID) == 2 })
	for _, got := range contact.Received() {
		if got.ID != out.ID || got.Text != "once" {
			t.Errorf("%+v", got)
		}
	}
}

func TestARetryReceiptIsAnsweredAfterARestart(t *testing.T) {
	r := newRig(t)
	r.pair()
	contact := r.contact()
	sent, err := r.send(contact.JID(), "for later")
	if err != nil {
		t.Fatal(err)
	}
	reads(t, contact, "for later")
	r.restart()
	r.connect()
	r.state(event.Online)
	device := r.device()
	registration := binary.BigEndian.AppendUint32(nil, 1)
	err = contact.SendNode(t.Context(), waBinary.Node{
		Tag:   "receipt",
		Attrs: waBinary.Attrs{"id": sent.Message.KeyID, "to": device, "type": "retry", "t": time.Now().Unix()},
		Content: []waBinary.Node{
			{Tag: "retry", Attrs: waBinary.Attrs{"count": "1", "id": sent.Message.KeyID, "t": time.Now().Unix(), "v": "1"}},
			{Tag: "registration", Content: registration},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the text is sent again", func() bool { return contact.ReceivedCount(sent.Message.KeyID) == 2 })
	if got := contact.Received(); got[1].Text != "for later" {
		t.Errorf("%+v", got[1])
	}
}

// device is the linked device's own address.
func (r *rig) device() types.JID {
	d, err := r.conn.cfg.Devices.Load(r.t.Context(), 1)
	if err != nil || d.Device == nil {
		r.t.Fatal(d, err)
	}
	return d.Device.LID
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: never", what)
		}
	}
}

func TestLoginRefusalStates(t *testing.T) {
	for reason, want := range map[int]event.Fact{
		400: {Status: event.ConnectionError, Reason: 400}, 401: {Status: event.LoggedOut, Reason: 401},
		402: {Status: event.TemporaryBan, Reason: 101}, 403: {Status: event.LoggedOut, Reason: 403},
		405: {Status: event.ClientOutdated, Reason: 405}, 406: {Status: event.LoggedOut, Reason: 406},
		409: {Status: event.ConnectionError, Reason: 409}, 413: {Status: event.ConnectionError},
		414: {Status: event.ConnectionError}, 418: {Status: event.ConnectionError, Reason: 418},
		500: {Status: event.Reconnecting}, 501: {Status: event.ConnectionError, Reason: 501},
		503: {Status: event.Reconnecting},
	} {
		t.Run(strconv.Itoa(reason), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			own := r.pair()
			r.session.Disconnect()
			r.mu.Lock()
			r.facts, r.redial = nil, false
			r.mu.Unlock()
			r.net.RefuseLogin(own.Number(), reason)
			r.connect()
			f := r.state(want.Status)
			unlinked := want.Status == event.LoggedOut
			if f.Reason != want.Reason || f.Unlink != unlinked || r.session.Paired() == unlinked {
				t.Errorf("%+v, paired %v", f, r.session.Paired())
			}
			if u, ok := f.Data.(event.ConnectionUpdate); ok && u.StatusReason != want.Reason {
				t.Errorf("status reason %d", u.StatusReason)
			}
			r.connect()
			if unlinked {
				r.state(event.QRCodeState)
				return
			}
			r.state(event.Online)
		})
	}
}

func TestSecondLoginReplacesTheFirst(t *testing.T) {
	r := newRig(t)
	r.pair()
	r.mu.Lock()
	r.redial = false
	r.mu.Unlock()
	other, err := r.conn.Open(t.Context(), 1, func(context.Context, event.Fact) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	defer other.Disconnect()
	if err := other.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	f := r.state(event.StreamReplaced)
	if u := f.Data.(event.ConnectionUpdate); u.Type != event.TypeStreamReplaced || u.Connection != event.ConnectionReplaced {
		t.Errorf("%+v", u)
	}
}
