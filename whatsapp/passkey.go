package whatsapp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.mau.fi/util/jsonbytes"
	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
	"postern/internal/netfault"
	"postern/whatsapp/translate"
)

const (
	// maxChallenge limits the size of a challenge, in bytes. WhatsApp's have some
	// hundred; each credential of the account adds its id.
	maxChallenge = 64 << 10

	// passkeyPause is the least time between two answers to one challenge. A second
	// answer while WhatsApp still processes the first makes both fail.
	passkeyPause = 3 * time.Second
)

// passkeyEvent handles the steps of a pairing that requires a passkey. It reports
// whether evt was one. The caller holds facts.order.
func (l *linker) passkeyEvent(cli *whatsmeow.Client, evt any) bool {
	switch evt := evt.(type) {
	case *events.PairPasskeyRequest:
		l.askPasskey(evt.PublicKey)
	case *events.PairPasskeyConfirmation:
		l.confirmPasskey(cli, evt)
	case *events.PairPasskeyError:
		if evt.Continuation {
			l.askAgain(evt.Error)
		} else {
			l.passkeyFailed(translate.ErrorText(evt.Error))
		}
	default:
		return false
	}
	return true
}

// askPasskey stores the challenge. No more QR codes are shown, and the timeout of the
// attempt starts again.
func (l *linker) askPasskey(options *types.WebAuthnPublicKey) {
	raw, err := json.Marshal(options)
	if err != nil || options == nil || len(options.Challenge) == 0 || len(raw) > maxChallenge {
		l.passkeyFailed("WhatsApp's challenge cannot be read")
		return
	}
	p := l.passkeyStep(event.PasskeyChallenge{Step: event.PasskeyRequired, PublicKey: raw})
	if p != nil {
		p.stopCodes()
		l.reportPasskey()
	}
}

// passkeyStep sets what the pairing waits for. The step gets an id, and the timeout
// starts again: people are slow, and could not begin this step earlier. It returns nil
// if no pairing is running.
func (l *linker) passkeyStep(c event.PasskeyChallenge) *pairing {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.now
	if p == nil {
		return nil
	}
	p.extend(l.conn.cfg.PairingTimeout)
	c.ID, c.ExpiresAt = uuid.NewString(), p.until
	p.passkey = &c
	return p
}

// reportPasskey reports what the pairing waits for. The caller holds facts.order.
func (l *linker) reportPasskey() {
	l.facts.change(passkeyFact(event.ConnectionConnecting, event.Pairing, l.challenge().State()))
}

// reportPasskeyEnd reports that the pairing no longer waits for a passkey, if the ended
// attempt did. It follows the report of the end itself. The caller holds facts.order.
func (l *linker) reportPasskeyEnd(ended *pairing, c event.Connection) {
	if ended != nil && ended.passkey != nil {
		l.facts.change(passkeyFact(c, "", event.PasskeyState{}))
	}
}

// withdrawPasskey removes the challenge when the pairing continues by code. The caller
// holds facts.order.
func (l *linker) withdrawPasskey(p *pairing) {
	l.mu.Lock()
	before := *p
	p.passkey = nil
	l.mu.Unlock()
	l.reportPasskeyEnd(&before, event.ConnectionConnecting)
}

func passkeyFact(c event.Connection, state event.State, now event.PasskeyState) event.Fact {
	f := translate.ConnectionFact(event.TypePasskey, c, state)
	f.Data = event.ConnectionUpdate{Type: event.TypePasskey, Connection: c, Passkey: &now}
	return f
}

// passkeyFailed ends a pairing that cannot succeed any more. The caller holds
// facts.order.
func (l *linker) passkeyFailed(why string) {
	f := event.Fact{Error: "passkey: " + why}
	p := l.end(nil)
	if p == nil {
		l.facts.change(f)
		return
	}
	f.Status = event.ConnectionError
	l.facts.change(f)
	l.reportPasskeyEnd(p, event.ConnectionClose)
	l.conn.background.Go(l.conn.client().Disconnect) // closing the socket waits for the peer
}

// askAgain reopens a challenge whose answer failed.
func (l *linker) askAgain(err error) {
	l.mu.Lock()
	if l.now != nil && l.now.passkey != nil {
		l.now.answered(false)
	}
	l.mu.Unlock()
	l.facts.change(event.Fact{Error: "passkey: " + translate.ErrorText(err)})
}

// answered marks the challenge as answered or not. Callers that read it before keep the
// old value. The caller holds linker.mu.
func (p *pairing) answered(yes bool) {
	now := *p.passkey
	now.Answered = yes
	p.passkey, p.taken = &now, time.Now()
}

// confirmPasskey confirms by itself if the phone has just scanned our code; otherwise a
// person must compare the code first.
func (l *linker) confirmPasskey(cli *whatsmeow.Client, evt *events.PairPasskeyConfirmation) {
	next := event.PasskeyChallenge{Step: event.PasskeyCompare, Code: evt.Code}
	if evt.SkipHandoffUX {
		next = event.PasskeyChallenge{Step: event.PasskeyDone}
	}
	p := l.passkeyStep(next)
	if p == nil {
		return
	}
	p.stopCodes()
	l.reportPasskey()
	if !evt.SkipHandoffUX {
		return
	}
	l.conn.background.Go(func() {
		err := cli.SendPasskeyConfirmation(p.ctx)
		if err == nil || p.ctx.Err() != nil {
			return
		}
		l.facts.order.Lock()
		defer l.facts.order.Unlock()
		l.passkeyFailed(netfault.Plain(err).Error())
	})
}

// challenge returns what the pairing waits for, nil if that is no passkey.
func (l *linker) challenge() *event.PasskeyChallenge {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now == nil {
		return nil
	}
	return l.now.passkey
}

func (l *linker) assert(ctx context.Context, a event.PasskeyAssertion) error {
	return l.answerPasskey(ctx, func(c *event.PasskeyChallenge) error { return fits(a, c) }, func() error {
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
		return l.conn.client().SendPasskeyResponse(ctx, answer)
	})
}

// fits reports whether a can answer c. The authenticator signs the challenge, so an
// answer to another one is detected here, before WhatsApp could count it against the
// account.
func fits(a event.PasskeyAssertion, c *event.PasskeyChallenge) error {
	if c == nil || c.Step != event.PasskeyRequired || a.For != "" && a.For != c.ID {
		return event.ErrNoPasskey
	}
	var signed, asked struct {
		Challenge jsonbytes.UnpaddedURLBytes `json:"challenge"`
	}
	if json.Unmarshal(a.ClientDataJSON, &signed) != nil || len(signed.Challenge) == 0 || json.Unmarshal(c.PublicKey, &asked) != nil {
		return nil // WhatsApp will reject it
	}
	if string(signed.Challenge) != string(asked.Challenge) {
		return fmt.Errorf("%w: the answer belongs to an earlier challenge", event.ErrNoPasskey)
	}
	return nil
}

func (l *linker) confirm(ctx context.Context) error {
	fits := func(c *event.PasskeyChallenge) error {
		if c == nil || c.Step != event.PasskeyCompare {
			return event.ErrNoPasskey
		}
		return nil
	}
	return l.answerPasskey(ctx, fits, func() error { return l.conn.client().SendPasskeyConfirmation(ctx) })
}

// answerPasskey sends an answer to the challenge, if it fits, one at a time, and
// records that WhatsApp took it. After an earlier answer it first waits for
// passkeyPause.
func (l *linker) answerPasskey(ctx context.Context, fits func(*event.PasskeyChallenge) error, send func() error) error {
	if err := fits(l.challenge()); err != nil {
		return err
	}
	p := l.current()
	if p == nil {
		return event.ErrNoPasskey
	}
	select {
	case p.answering <- struct{}{}:
		defer func() { <-p.answering }()
	case <-p.ctx.Done():
		return event.ErrNoPasskey
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", event.ErrNotConnected, ctx.Err())
	}
	if err := l.awaitPause(ctx, p); err != nil {
		return err
	}
	waits := l.challenge()
	if err := fits(waits); err != nil {
		return err
	}
	if err := send(); err != nil {
		return passkeyError(err)
	}
	l.passkeyTaken(p, waits)
	return nil
}

// awaitPause waits until passkeyPause has passed since the last answer.
func (l *linker) awaitPause(ctx context.Context, p *pairing) error {
	l.mu.Lock()
	left, now := time.Until(p.taken.Add(passkeyPause)), p.passkey
	l.mu.Unlock()
	if now == nil || !now.Answered || left <= 0 {
		return nil
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-p.ctx.Done():
		return event.ErrNoPasskey
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", event.ErrNotConnected, ctx.Err())
	}
}

// passkeyTaken records that the challenge was answered, unless the next step came in
// the meantime. A confirmed code is the last step, which is reported.
func (l *linker) passkeyTaken(p *pairing, waits *event.PasskeyChallenge) {
	l.facts.order.Lock()
	defer l.facts.order.Unlock()
	l.mu.Lock()
	if l.now != p || p.passkey != waits {
		l.mu.Unlock()
		return
	}
	confirmed := waits.Step == event.PasskeyCompare
	if p.answered(true); confirmed {
		p.passkey.Step, p.passkey.Code = event.PasskeyDone, ""
	}
	l.mu.Unlock()
	if confirmed {
		l.reportPasskey()
	}
}

func passkeyError(err error) error {
	if refused, ok := errors.AsType[*whatsmeow.IQError](err); ok {
		return fmt.Errorf("%w: %w", event.ErrPasskeyRefused, refused)
	}
	return fmt.Errorf("%w: %w", event.ErrNotConnected, netfault.Plain(err))
}
