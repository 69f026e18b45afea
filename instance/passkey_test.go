package instance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"postern/event"
)

func TestPasskeyWaitsUntilThePairingAsksForIt(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.create("a").ID
		r.net.onDial(func(_ context.Context, s *session) error {
			go func() {
				time.Sleep(time.Second) // somebody scans the code
				s.mu.Lock()
				s.passkey = &event.PasskeyChallenge{PublicKey: json.RawMessage(`{}`)}
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

func TestPasskeyThatNobodyAsksForEndsInTime(t *testing.T) {
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

func TestAPasskeyThatWhatsAppDoesNotTakeInTimeIsATimeout(t *testing.T) {
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
