package whatsapp

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
)

// passkeys are the states of the passkey that were reported so far, in order.
func (r *rig) passkeys() (reported []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return passkeysOf(r.history)
}

func passkeysOf(facts []event.Fact) (reported []string) {
	for _, f := range facts {
		u, _ := f.Data.(event.ConnectionUpdate)
		switch {
		case u.Type != event.TypePasskey:
		case u.Passkey.Step == "":
			reported = append(reported, "null")
		default:
			reported = append(reported, string(u.Passkey.Step))
		}
	}
	return reported
}

func (r *rig) wantPasskeys(want ...string) {
	r.t.Helper()
	if got := r.passkeys(); !slices.Equal(got, want) {
		r.t.Errorf("passkey states reported: %q, want %q", got, want)
	}
}

func TestPasskeyStepsAreReported(t *testing.T) {
	t.Run("proved", func(t *testing.T) {
		r := newRig(t)
		phone, challenge := r.challenged(`{"do":"passkey"}`)
		if err := r.session.AssertPasskey(t.Context(), r.assertion(phone, challenge)); err != nil {
			t.Fatal(err)
		}
		r.state(event.Online)
		r.wantPasskeys("required", "done", "null")
	})
	t.Run("compared", func(t *testing.T) {
		r := newRig(t)
		phone, challenge := r.challenged(`{"do":"passkey","compare":true}`)
		for range 2 {
			if err := r.session.AssertPasskey(t.Context(), r.assertion(phone, challenge)); err != nil {
				t.Fatal(err)
			}
		}
		r.state(event.Pairing)
		r.wantPasskeys("required", "compare")
		if err := r.session.ConfirmPasskey(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.state(event.Online)
		r.wantPasskeys("required", "compare", "done", "null")
	})
	t.Run("given up", func(t *testing.T) {
		r := newRig(t)
		r.challenged(`{"do":"passkey"}`)
		if r.net.Downgrade() == 0 {
			t.Fatal("nothing was reported")
		}
		r.state(event.ConnectionError)
		r.await("the end of the passkey", func(f event.Fact) bool {
			u, _ := f.Data.(event.ConnectionUpdate)
			return u.Type == event.TypePasskey && u.Connection == event.ConnectionClose && u.Passkey.Step == ""
		})
		if s := r.session.Passkey().State(); s.Step != "" {
			t.Errorf("still %+v", s)
		}
	})
}

func TestWhateverEndsThePairingEndsItsPasskey(t *testing.T) {
	over := "connection.update passkey close "
	for name, end := range map[string]struct {
		by       any
		reported []string
	}{
		"lost":    {&events.Disconnected{}, []string{"connection.update disconnected close connection_timeout", over}},
		"refused": {&events.PairError{Error: errors.New("refused")}, []string{"connection.update pair.error close connection_error", over}},
		"failed":  {&events.ConnectFailure{Reason: 400}, []string{"connection.update connect.failure close connection_error", over}},
		"no use":  {&events.QRScannedWithoutMultidevice{}, []string{" connection_error", over}},
	} {
		t.Run(name, func(t *testing.T) {
			s, cli, j := offline(t, Config{})
			s.linker.start(false)
			s.handle(cli, &events.PairPasskeyRequest{PublicKey: &types.WebAuthnPublicKey{Challenge: []byte("question")}})
			j.take()
			s.handle(cli, end.by)
			wantFacts(t, j, end.reported...)
			if s.Passkey() != nil {
				t.Error("it is still waited for")
			}
		})
	}
}

func TestPairingByCodeWithPasskey(t *testing.T) {
	r := newRig(t)
	phone := r.contact()
	code, err := r.session.PairCode(t.Context(), phone.Number())
	if err != nil {
		t.Fatal(err)
	}
	r.ask(phone, `{"do":"passkey"}`)
	if err := phone.Scan(t.Context(), code); err != nil {
		t.Fatal(err)
	}
	r.state(event.Pairing)
	challenge := challengeOf(t, r.session)
	if err := r.session.AssertPasskey(t.Context(), r.assertion(phone, challenge)); err != nil {
		t.Fatal(err)
	}
	r.state(event.Online)
}

func TestAnswerToAnEarlierChallengeIsRejected(t *testing.T) {
	r := newRig(t)
	phone, _ := r.challenged(`{"do":"passkey"}`)
	err := r.session.AssertPasskey(t.Context(), r.assertion(phone, "AQIDBAUGBwgJCgsMDQ4PEA"))
	if !errors.Is(err, event.ErrNoPasskey) || !strings.Contains(err.Error(), "earlier") {
		t.Errorf("got %v", err)
	}
}

// TestTwoAnswersAtOnceSpoilNothing: two people, or two dialogs, answer one challenge.
func TestTwoAnswersAtOnceSpoilNothing(t *testing.T) {
	r := newRig(t)
	phone, challenge := r.challenged(`{"do":"passkey"}`)
	answers := []event.PasskeyAssertion{r.assertion(phone, challenge), r.assertion(phone, challenge)}
	var results [2]error
	var both sync.WaitGroup
	for i, a := range answers {
		both.Go(func() { results[i] = r.session.AssertPasskey(t.Context(), a) })
	}
	both.Wait()
	r.state(event.Online)
	if results[0] != nil && results[1] != nil {
		t.Errorf("neither was taken: %v, %v", results[0], results[1])
	}
	for _, err := range results {
		if err != nil && !errors.Is(err, event.ErrNoPasskey) {
			t.Error(err)
		}
	}
	r.wantPasskeys("required", "done", "null")
}

// TestPasskeyRestartsThePairingTimeout: a scan in the last second still leaves the time
// that a passkey takes.
func TestPasskeyRestartsThePairingTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, cli, j := offline(t, Config{PairingTimeout: 30 * time.Second})
		s.linker.start(false)
		time.Sleep(29 * time.Second)
		s.handle(cli, &events.PairPasskeyRequest{PublicKey: &types.WebAuthnPublicKey{Challenge: []byte("question")}})
		want := time.Now().Add(30 * time.Second)
		if waits := s.Passkey(); !waits.Awaits() || !waits.ExpiresAt.Equal(want) {
			t.Errorf("waits for %+v, want until %v", waits, want)
		}
		time.Sleep(29 * time.Second)
		s.handle(cli, &events.PairPasskeyConfirmation{Code: "ABCD-EFGH"})
		wantFacts(t, j, "connection.update passkey connecting pairing", "connection.update passkey connecting pairing")
		time.Sleep(29 * time.Second)
		synctest.Wait()
		wantFacts(t, j)
		time.Sleep(time.Second)
		synctest.Wait()
		wantFacts(t, j, " connection_timeout", "connection.update passkey close ")
		if s.Passkey() != nil {
			t.Error("it still waits")
		}
	})
}

func TestInvalidChallengeEndsThePairing(t *testing.T) {
	for name, asked := range map[string]any{
		"none":        &events.PairPasskeyRequest{},
		"empty":       &events.PairPasskeyRequest{PublicKey: &types.WebAuthnPublicKey{}},
		"endless":     &events.PairPasskeyRequest{PublicKey: &types.WebAuthnPublicKey{Challenge: make([]byte, maxChallenge)}},
		"not fetched": &events.PairPasskeyError{Error: errors.New("no options")},
	} {
		t.Run(name, func(t *testing.T) {
			s, cli, j := offline(t, Config{})
			s.linker.start(false)
			s.handle(cli, asked)
			j.mu.Lock()
			why := j.facts[0].Error
			j.mu.Unlock()
			wantFacts(t, j, " connection_error")
			if s.Passkey() != nil || s.linker.current() != nil || !strings.HasPrefix(why, "passkey: ") {
				t.Errorf("still pairing, or no reason: %q", why)
			}
		})
	}
}

func TestFailedPasskeyAnswerCanBeRepeated(t *testing.T) {
	s, cli, j := offline(t, Config{})
	s.linker.start(false)
	s.handle(cli, &events.PairPasskeyRequest{PublicKey: &types.WebAuthnPublicKey{Challenge: []byte("question")}})
	s.linker.passkeyTaken(s.linker.current(), s.Passkey())
	if s.Passkey().Awaits() {
		t.Error("it is waited for although it was answered")
	}
	s.handle(cli, &events.PairPasskeyError{Continuation: true, Error: errors.New("no answer")})
	if waits := s.Passkey(); !waits.Awaits() || waits.Step != event.PasskeyRequired {
		t.Errorf("waits for %+v", waits)
	}
	wantFacts(t, j, "connection.update passkey connecting pairing", " ")
}

// TestPauseBetweenPasskeyAnswers: an earlier second answer would make both fail.
func TestPauseBetweenPasskeyAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		follows bool
		want    error
	}{
		"nothing follows":    {false, event.ErrNotConnected}, // it is sent, and there is no socket
		"the next step does": {true, event.ErrNoPasskey},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, cli, _ := offline(t, Config{})
				s.linker.start(false)
				s.handle(cli, &events.PairPasskeyRequest{PublicKey: &types.WebAuthnPublicKey{Challenge: []byte("question")}})
				s.linker.passkeyTaken(s.linker.current(), s.Passkey())
				began := time.Now()
				if c.follows {
					time.AfterFunc(time.Second, func() { s.handle(cli, &events.PairPasskeyConfirmation{Code: "ABCD-EFGH"}) })
				}
				if err := s.AssertPasskey(t.Context(), event.PasskeyAssertion{}); !errors.Is(err, c.want) || time.Since(began) != passkeyPause {
					t.Errorf("%v after %v", err, time.Since(began))
				}
			})
		})
	}
}
