package whatsapp

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/appstate"
	"go.mau.fi/whatsmeow/proto/waE2E"

	"postern/event"
	"postern/sandbox"
)

// stateReported waits for the event of a completely read collection.
func (r *rig) stateReported(kind event.InstanceStatusType, collection string, recovery bool) {
	r.t.Helper()
	r.await(string(kind)+" of "+collection, func(f event.Fact) bool {
		s, ok := f.Data.(event.InstanceStatus)
		if !ok || s.Type != kind || s.Data["name"] != collection {
			return false
		}
		recovered, _ := s.Data["recovery"].(bool)
		return recovered == recovery
	})
}

// eventually waits for a condition that no fact reports.
func (r *rig) eventually(what string, ok func() bool) {
	r.t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("never: %s; recoveries %v", what, r.conn.Stats().Recoveries)
		}
	}
}

// settled waits until the library has handled everything that was sent to it before.
func (r *rig) settled(phone *sandbox.Phone) {
	r.t.Helper()
	text := NewMessageID()
	if _, err := r.contact().SendText(r.t.Context(), phone.JID(), text); err != nil {
		r.t.Fatal(err)
	}
	r.await("message", message(text))
}

func (r *rig) recoveries(step RecoveryStep, outcome RecoveryOutcome) uint64 {
	return r.conn.Stats().Recoveries[Recovery{step, outcome}]
}

func (m *mending) waits(name appstate.WAPatchName) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.awaiting[name]
}

func copiesAsked(p *sandbox.Phone) int {
	return p.Requests(waE2E.PeerDataOperationRequestType_COMPANION_SYNCD_SNAPSHOT_FATAL_RECOVERY)
}

func TestUnverifiableStateIsReadCompletely(t *testing.T) {
	r := newRig(t)
	phone, contact := r.pair(), r.contact()
	r.synced()
	r.acts(phone, `{"do":"app-state-error"}`)
	r.stateReported(event.StatusAppStateSyncError, "regular_low", false)
	r.stateReported(event.StatusAppStateSyncCompleted, "regular_low", false)
	r.eventually("read completely", func() bool { return r.recoveries(RecoverByReading, RecoveryDone) == 1 })
	r.acts(phone, `{"do":"archive","chat":"`+contact.Number()+`"}`)
	r.shows(event.ChatsUpdated, `"type":"archive"`, contact.Number(), `"fromFullSync":false`)
	if n := copiesAsked(phone); n != 0 {
		t.Errorf("the phone was asked %d times", n)
	}
}

func TestUnreadableStateIsRestoredFromThePhone(t *testing.T) {
	const delay = 300 * time.Millisecond
	r := newRigWith(t, Config{StateRecoveryDelay: delay})
	phone, contact := r.pair(), r.contact()
	r.synced()
	r.acts(phone, `{"do":"pin","chat":"`+contact.Number()+`"}`)
	r.shows(event.ChatsUpdated, `"type":"pin"`, contact.Number())
	began := time.Now()
	r.acts(phone, `{"do":"app-state-error","kind":"lasting"}`)
	r.stateReported(event.StatusAppStateSyncError, "regular_low", false)
	r.stateReported(event.StatusAppStateSyncCompleted, "regular_low", true)
	if took := time.Since(began); took < delay {
		t.Errorf("the phone was asked after %v, before its time", took)
	}
	if n := copiesAsked(phone); n != 1 {
		t.Errorf("the phone was asked %d times", n)
	}
	r.eventually("one request and one recovery are counted", func() bool { // the request may be counted after its answer
		return r.recoveries(RecoverByPhone, RecoverySent) == 1 && r.recoveries(RecoverByPhone, RecoveryDone) == 1
	})
	r.acts(phone, `{"do":"archive","chat":"`+contact.Number()+`"}`)
	r.shows(event.ChatsUpdated, `"type":"archive"`, contact.Number(), `"fromFullSync":false`)
	if err := r.session.Account.Chats.Pin(t.Context(), contact.JID().String(), false); err != nil {
		t.Errorf("a change on top of the phone's copy: %v", err)
	}
}

// TestOfflinePhoneIsAskedHourly: the request waits for the phone across logins and a
// restart, and so does the broken collection.
func TestOfflinePhoneIsAskedHourly(t *testing.T) {
	r := newRigWith(t, Config{StateRecoveryDelay: 20 * time.Millisecond})
	phone, contact := r.pair(), r.contact()
	r.synced()
	r.acts(phone, `{"do":"own-requests","answered":false}`)
	r.acts(phone, `{"do":"app-state-error","kind":"lasting"}`)
	r.eventually("the phone was asked", func() bool { return r.recoveries(RecoverByPhone, RecoverySent) == 1 })
	foundAgain := func(times uint64) {
		t.Helper()
		r.state(event.Online)
		r.eventually("it was read again", func() bool {
			return r.recoveries(RecoverByReading, RecoveryFailed) >= times && !r.session.Account.AppState.mending.waits("regular_low")
		})
	}
	r.net.Drop(phone.Number())
	foundAgain(3)
	r.restart()
	r.connect()
	foundAgain(1)
	if n := copiesAsked(phone); n != 1 {
		t.Errorf("asked %d times within the hour", n)
	}
	r.acts(phone, `{"do":"own-requests"}`)
	r.stateReported(event.StatusAppStateSyncCompleted, "regular_low", true)
	r.acts(phone, `{"do":"archive","chat":"`+contact.Number()+`"}`)
	r.shows(event.ChatsUpdated, `"type":"archive"`, contact.Number(), `"fromFullSync":false`)
}

// TestFailedStateRequestDoesNotCount: it may be made again within the hour.
func TestFailedStateRequestDoesNotCount(t *testing.T) {
	r := newRigWith(t, Config{StateRecoveryDelay: 20 * time.Millisecond})
	phone := r.pair()
	r.synced()
	r.net.SetFaults(sandbox.Faults{SendError: 503})
	defer r.net.SetFaults(sandbox.Faults{})
	r.acts(phone, `{"do":"app-state-error","kind":"lasting"}`)
	r.eventually("a request was refused", func() bool { return r.recoveries(RecoverByPhone, RecoveryFailed) == 1 })
	r.net.SetFaults(sandbox.Faults{})
	r.net.Drop(phone.Number())
	r.stateReported(event.StatusAppStateSyncCompleted, "regular_low", true)
}

func TestDelayedStateRequestEndsWithTheConnection(t *testing.T) {
	r := newRigWith(t, Config{StateRecoveryDelay: time.Hour})
	phone := r.pair()
	r.synced()
	r.acts(phone, `{"do":"app-state-error","kind":"lasting"}`)
	r.eventually("complete read fails", func() bool { return r.recoveries(RecoverByReading, RecoveryFailed) == 1 })
	done := make(chan struct{})
	go func() { r.session.Disconnect(); close(done) }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("Disconnect waits for the request")
	}
	if n := copiesAsked(phone); n != 0 {
		t.Errorf("asked %d times", n)
	}
}

func TestChangeIsReportedOnceItsKeyArrives(t *testing.T) {
	r := newRig(t)
	phone, contact := r.pair(), r.contact()
	r.synced()
	r.acts(phone, `{"do":"app-state-error","kind":"key"}`)
	r.acts(phone, `{"do":"archive","chat":"`+contact.Number()+`"}`)
	r.shows(event.ChatsUpdated, `"type":"archive"`, contact.Number(), `"fromFullSync":false`)
}

// The library tries each change twice, so a call tries four times.
func TestConflictingChangeIsRetriedOnce(t *testing.T) {
	for times, fails := range map[string]bool{"1": false, "2": false, "3": false, "4": true} {
		t.Run(times, func(t *testing.T) {
			r := newRig(t)
			phone, contact := r.pair(), r.contact()
			r.synced()
			r.acts(phone, `{"do":"app-state-conflict","times":`+times+`}`)
			err := r.session.Account.Chats.Archive(t.Context(), contact.JID().String(), true, event.LastMessage{})
			if fails != errors.Is(err, event.ErrStateConflict) || !fails && err != nil || errors.Is(err, event.ErrRefused) {
				t.Fatalf("answered %v", err)
			}
			wanted := uint64(1)
			if times == "1" {
				wanted = 0
			}
			if n := r.recoveries(RecoverByReading, RecoveryDone); n != wanted {
				t.Errorf("read completely %d times, want %d", n, wanted)
			}
			if fails {
				err = r.session.Account.Chats.Archive(t.Context(), contact.JID().String(), true, event.LastMessage{})
			}
			if err != nil {
				t.Errorf("after the conflict: %v", err)
			}
			r.shows(event.ChatsUpdated, `"type":"archive"`, contact.Number(), `"archived":true`)
		})
	}
}

// TestLabelOnUnverifiableState: the answer to the change contains another one that does
// not verify.
func TestLabelOnUnverifiableState(t *testing.T) {
	r := newRig(t)
	phone, contact := r.pair(), r.contact()
	r.synced()
	r.net.SetFaults(sandbox.Faults{StateError: 503}) // what they announce is not read
	r.acts(phone, `{"do":"app-state","collection":"regular"}`)
	r.acts(phone, `{"do":"app-state-error","collection":"regular"}`)
	r.settled(phone)
	r.net.SetFaults(sandbox.Faults{})
	if err := r.session.Account.Labels.LabelChat(t.Context(), "1", contact.JID().String(), true); err != nil {
		t.Fatal(err)
	}
	r.eventually("read completely", func() bool { return r.recoveries(RecoverByReading, RecoveryDone) == 1 })
	r.shows(event.LabelsAssociation, contact.Number(), `"labelId":"1"`)
}

func TestAppStateResetRemovesAllDevices(t *testing.T) {
	r := newRig(t)
	if err := r.session.Account.AppState.ResetAppState(t.Context()); !errors.Is(err, event.ErrNotConnected) {
		t.Errorf("while offline: %v", err)
	}
	phone, contact := r.pair(), r.contact()
	r.synced()
	r.acts(phone, `{"do":"app-state-error","kind":"lasting"}`)
	if err := r.session.Account.AppState.ResetAppState(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.state(event.LoggedOut)
	if n := r.recoveries(RecoverByReset, RecoverySent); n != 1 {
		t.Errorf("counted %d", n)
	}
	// A phone that starts again gives the next device a state that verifies.
	r.connect()
	if err := phone.Scan(t.Context(), r.state(event.QRCodeState).Data.(event.QRCode).Code); err != nil {
		t.Fatal(err)
	}
	r.state(event.Online)
	r.synced()
	r.acts(phone, `{"do":"archive","chat":"`+contact.Number()+`"}`)
	r.shows(event.ChatsUpdated, `"type":"archive"`, contact.Number(), `"fromFullSync":false`)
}

func TestOnlyWhatTheCollectionIsMakesAConflict(t *testing.T) {
	for err, want := range map[error]bool{
		fmt.Errorf("decode: %w", appstate.ErrMismatchingLTHash):                      true,
		fmt.Errorf("decode: %w", appstate.ErrKeyNotFound):                            true,
		fmt.Errorf(`%w (regular): <error code="409"/>`, whatsmeow.ErrAppStateUpdate): true,
		fmt.Errorf(`%w (regular): <error code="400"/>`, whatsmeow.ErrAppStateUpdate): false,
		errors.New(`code="409"`): false,
		nil:                      false,
	} {
		if stateConflict(err) != want {
			t.Errorf("%v is a conflict: %v", err, !want)
		}
	}
}
