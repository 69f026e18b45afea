package instance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"postern/event"
)

func TestPasskeyWaitsUntilThePairingAsksForIt(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.create("a").ID
		r.net.onDial(func(_ context.Context, s *session) error {
			go func() {
				time.Sleep(time.Second) // the user scans the code
				s.mu.Lock()
				s.passkey = &event.PasskeyChallenge{Step: event.PasskeyRequired, PublicKey: json.RawMessage(`{}`)}
				s.mu.Unlock()
				_ = s.tell(event.Fact{Status: event.Pairing})
			}()
			return nil
		})
		got, err := r.sup.Passkey(bg, id, "")
		if err != nil || string(got.PublicKey) != "{}" {
			t.Fatalf("%+v, %v", got, err)
		}
		if err := r.sup.ConfirmPasskey(bg, id); !errors.Is(err, event.ErrNoPasskey) {
			t.Errorf("confirmed before there was a code: %v", err)
		}
		if err := r.sup.AssertPasskey(bg, id, event.PasskeyAssertion{ID: "x"}); err != nil || r.net.session(id).asserted.ID != "x" {
			t.Errorf("asserted %+v: %v", r.net.session(id).asserted, err)
		}
		if got, err = r.sup.Passkey(bg, id, ""); err != nil || got.Code != "ABCD-EFGH" {
			t.Errorf("%+v, %v", got, err)
		}
		if err := r.sup.ConfirmPasskey(bg, id); err != nil {
			t.Error(err)
		}
	})
}

func TestPasskeyNotRequestedTimesOut(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.create("a").ID
		if _, err := r.sup.Passkey(bg, id, ""); !errors.Is(err, ErrNoCode) {
			t.Errorf("got %v", err)
		}
		linked := r.linked("b", event.Disconnected).ID
		if _, err := r.sup.Passkey(bg, linked, ""); !errors.Is(err, ErrAlreadyPaired) {
			t.Errorf("of a linked one: %v", err)
		}
		if _, err := r.sup.Passkey(bg, 99, ""); !errors.Is(err, ErrNotFound) {
			t.Errorf("of none: %v", err)
		}
	})
}

func TestPasskeyNotAcceptedTimesOut(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.create("a").ID
		err := r.sup.onSession(bg, id, func(ctx context.Context, _ Session) error {
			<-ctx.Done()
			return fmt.Errorf("%w: %w", event.ErrNotConnected, ctx.Err())
		})
		if !errors.Is(err, ErrNoCode) || errors.Is(err, event.ErrNotConnected) {
			t.Errorf("got %v", err)
		}
	})
}

// asked returns an instance whose pairing waits for a passkey, with its rig.
func (r *rig) asked(name string) int64 {
	r.Helper()
	id := r.create(name).ID
	r.net.onDial(func(_ context.Context, s *session) error {
		s.mu.Lock()
		s.passkey = &event.PasskeyChallenge{ID: "c-1", Step: event.PasskeyRequired, PublicKey: json.RawMessage(`{}`)}
		s.mu.Unlock()
		return s.tell(event.Fact{Status: event.Pairing})
	})
	if _, err := r.sup.Passkey(bg, id, ""); err != nil {
		r.Fatal(err)
	}
	r.published()
	return id
}

func TestStatusHasPasskeyUntilPairingEnds(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.asked("a")
		step := func() event.PasskeyStep {
			got, err := r.sup.Status(id)
			if err != nil {
				t.Fatal(err)
			}
			return got.Passkey.Step
		}
		if got := step(); got != event.PasskeyRequired {
			t.Errorf("asked: %q", got)
		}
		if err := r.sup.AssertPasskey(bg, id, event.PasskeyAssertion{}); err != nil || step() != event.PasskeyCompare {
			t.Errorf("signed: %q, %v", step(), err)
		}
		if err := r.sup.ConfirmPasskey(bg, id); err != nil || step() != event.PasskeyDone {
			t.Errorf("compared: %q, %v", step(), err)
		}
		if _, err := r.sup.Logout(bg, id, ""); err != nil || step() != "" {
			t.Errorf("given up: %q, %v", step(), err)
		}
	})
}

func TestPasskeyAskedDoesNotWait(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		if _, err := r.sup.PasskeyAsked(99); !errors.Is(err, ErrNotFound) {
			t.Errorf("of none: %v", err)
		}
		if _, err := r.sup.PasskeyAsked(r.create("idle").ID); !errors.Is(err, event.ErrNoPasskey) {
			t.Errorf("of one that does nothing: %v", err)
		}
		id := r.asked("a")
		s := r.net.session(id)
		s.mu.Lock()
		s.passkey = &event.PasskeyChallenge{ID: "c-1", Step: event.PasskeyRequired, Answered: true}
		s.mu.Unlock()
		if got, err := r.sup.PasskeyAsked(id); err != nil || got.ID != "c-1" {
			t.Errorf("answered: %+v, %v", got, err)
		}
		if err := r.sup.AssertPasskey(bg, id, event.PasskeyAssertion{}); !errors.Is(err, event.ErrNoPasskey) {
			t.Fatal(err)
		}
		if _, err := r.sup.Passkey(bg, id, ""); !errors.Is(err, ErrNoCode) {
			t.Errorf("an answered question was asked again: %v", err)
		}
	})
}

// TestAPasskeyIsGivenUpByALogout, which drops the connection: otherwise a phone could complete an
// unwanted link.
func TestAPasskeyIsGivenUpByALogout(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.asked("a")
		drops := r.net.session(id).drops
		if notified, err := r.sup.Logout(bg, id, "req-7"); err != nil || !notified {
			t.Fatalf("%t, %v", notified, err)
		}
		r.wantStatus(id, event.LoggedOut)
		if r.net.session(id).drops == drops {
			t.Error("the connection was kept")
		}
		all := r.published()
		if len(all) != 1 || all[0].Kind != event.ConnectionUpdated || all[0].RequestID != "req-7" ||
			!strings.Contains(string(all[0].Body), `"data":{"type":"passkey","connection":"close","passkey":null}`) {
			t.Errorf("published %+v", all)
		}
	})
}

func TestConnectReturnsAtOnceDuringPasskeyWait(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.asked("a")
		began := time.Now()
		got, err := r.sup.Connect(bg, id, "")
		if err != nil || got.Code != nil || got.AlreadyConnected || !got.AlreadyConnecting || time.Since(began) != 0 {
			t.Errorf("%+v, %v after %v", got, err, time.Since(began))
		}
	})
}

// TestScannedCodeIsNotShown once the status has the passkey.
func TestScannedCodeIsNotShown(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.create("a").ID
		if got, err := r.sup.Connect(bg, id, ""); err != nil || got.Code == nil {
			t.Fatalf("%+v, %v", got, err)
		}
		s := r.net.session(id)
		s.mu.Lock()
		s.passkey = &event.PasskeyChallenge{ID: "c-1", Step: event.PasskeyRequired, PublicKey: json.RawMessage(`{}`)}
		s.mu.Unlock()
		if got, err := r.sup.Connect(bg, id, ""); err != nil || got.Code != nil {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
