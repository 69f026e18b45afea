package whatsapp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"go.mau.fi/util/jsonbytes"
	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
	"postern/netfault"
)

// passkeyEvent takes the steps of a pairing that a passkey protects. It
// reports whether evt was one. The caller holds s.order.
func (s *Session) passkeyEvent(cli *whatsmeow.Client, evt any) bool {
	switch evt := evt.(type) {
	case *events.PairPasskeyRequest:
		s.askPasskey(evt.PublicKey)
	case *events.PairPasskeyConfirmation:
		s.confirmPasskey(cli, evt)
	case *events.PairPasskeyError:
		s.tell(event.Fact{Error: "passkey: " + errorText(evt.Error)})
	default:
		return false
	}
	return true
}

// askPasskey keeps the challenge. The codes have done their work; the attempt
// goes on until its timeout.
func (s *Session) askPasskey(options *types.WebAuthnPublicKey) {
	raw, err := json.Marshal(options)
	if err != nil || options == nil {
		s.tell(event.Fact{Error: "passkey: WhatsApp's challenge cannot be read"})
		return
	}
	s.mu.Lock()
	p := s.pairing
	if p != nil {
		p.passkey, p.answered = p.challenge(event.PasskeyChallenge{PublicKey: raw}), false
	}
	s.mu.Unlock()
	if p != nil {
		p.stopCodes()
		s.tell(event.Fact{Status: event.Pairing})
	}
}

// challenge gives a challenge its id and its end, which is the attempt's.
func (p *pairing) challenge(c event.PasskeyChallenge) *event.PasskeyChallenge {
	c.ID = uuid.NewString()
	c.ExpiresAt, _ = p.ctx.Deadline()
	return &c
}

// confirmPasskey goes on by itself when the phone scanned our code a moment
// ago; else somebody has to compare the code first.
func (s *Session) confirmPasskey(cli *whatsmeow.Client, evt *events.PairPasskeyConfirmation) {
	s.mu.Lock()
	p := s.pairing
	if p != nil && !evt.SkipHandoffUX {
		p.passkey, p.answered = p.challenge(event.PasskeyChallenge{Code: evt.Code}), false
	}
	s.mu.Unlock()
	switch {
	case p == nil:
	case evt.SkipHandoffUX:
		s.background.Go(func() {
			if err := cli.SendPasskeyConfirmation(p.ctx); err != nil {
				s.tell(event.Fact{Error: "passkey: " + netfault.Plain(err).Error()})
			}
		})
	default:
		s.tell(event.Fact{Status: event.Pairing})
	}
}

// Passkey returns what the pairing waits for, nil when that is no passkey or
// it was answered and nothing followed yet.
func (s *Session) Passkey() *event.PasskeyChallenge {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pairing == nil || s.pairing.answered {
		return nil
	}
	return s.pairing.passkey
}

// AssertPasskey hands the authenticator's answer to WhatsApp; the pairing then
// goes on as told by facts. It may be called again while nothing follows.
// Errors: [event.ErrNoPasskey], [event.ErrPasskeyRefused], or one that wraps
// [event.ErrNotConnected].
func (s *Session) AssertPasskey(ctx context.Context, a event.PasskeyAssertion) error {
	s.mu.Lock()
	p := s.pairing
	if p == nil || p.passkey == nil || p.passkey.PublicKey == nil || a.For != "" && a.For != p.passkey.ID {
		s.mu.Unlock()
		return event.ErrNoPasskey
	}
	waits := p.passkey
	s.mu.Unlock()
	answer := &types.WebAuthnResponse{
		ID: a.ID, RawID: a.RawID, Type: "public-key",
		Response: types.WebAuthnResponseData{
			ClientDataJSON: a.ClientDataJSON, AuthenticatorData: a.AuthenticatorData, Signature: a.Signature,
		},
	}
	if a.UserHandle != nil {
		handle := jsonbytes.UnpaddedURLBytes(a.UserHandle)
		answer.Response.UserHandle = &handle
	}
	return s.passkeyAnswered(p, waits, s.client().SendPasskeyResponse(ctx, answer))
}

// ConfirmPasskey says that the code is the one that the phone shows. Errors
// are those of AssertPasskey.
func (s *Session) ConfirmPasskey(ctx context.Context) error {
	s.mu.Lock()
	p := s.pairing
	if p == nil || p.answered || p.passkey == nil || p.passkey.Code == "" {
		s.mu.Unlock()
		return event.ErrNoPasskey
	}
	waits := p.passkey
	s.mu.Unlock()
	return s.passkeyAnswered(p, waits, s.client().SendPasskeyConfirmation(ctx))
}

// passkeyAnswered marks what an answer was for, unless the next step came
// while it was sent, and tells what err means.
func (s *Session) passkeyAnswered(p *pairing, waits *event.PasskeyChallenge, err error) error {
	if err != nil {
		return passkeyError(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.passkey == waits {
		p.answered = true
	}
	return nil
}

func passkeyError(err error) error {
	if refused, ok := errors.AsType[*whatsmeow.IQError](err); ok {
		return fmt.Errorf("%w: %w", event.ErrPasskeyRefused, refused)
	}
	return fmt.Errorf("%w: %w", event.ErrNotConnected, netfault.Plain(err))
}
