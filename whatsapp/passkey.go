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
)

const (
	// maxChallenge bounds what an authenticator is asked, in bytes. WhatsApp
	// asks in some hundreds; each credential of the account adds its id.
	maxChallenge = 64 << 10

	// passkeyPause is how long an answer that WhatsApp took is given to lead
	// on before another one is sent: a second one while the first still works
	// spoils both.
	passkeyPause = 3 * time.Second
)

// passkeyEvent takes the steps of a pairing that a passkey protects. It
// reports whether evt was one. The caller holds l.facts.order.
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
			l.passkeyFailed(errorText(evt.Error))
		}
	default:
		return false
	}
	return true
}

// askPasskey keeps the challenge. The codes have done their work; the attempt
// goes on for another of its timeouts.
func (l *linker) askPasskey(options *types.WebAuthnPublicKey) {
	raw, err := json.Marshal(options)
	if err != nil || options == nil || len(options.Challenge) == 0 || len(raw) > maxChallenge {
		l.passkeyFailed("WhatsApp's challenge cannot be read")
		return
	}
	p := l.passkeyStep(event.PasskeyChallenge{Step: event.PasskeyRequired, PublicKey: raw})
	if p != nil {
		p.stopCodes()
		l.tellPasskey()
	}
}

// passkeyStep is what the pairing waits for from now on. It gets an id, and the
// attempt its whole time anew: people are slow, and what they have to do now
// they could not begin before. It returns nil when no pairing is under way.
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

// tellPasskey reports what the pairing waits for now. The caller holds l.facts.order.
func (l *linker) tellPasskey() {
	l.facts.tell(passkeyFact(event.ConnectionConnecting, event.Pairing, l.challenge().State()))
}

// tellPasskeyOver reports that nothing is waited for any more, if the pairing
// that ended had asked for a passkey. It is told after what ended it. The
// caller holds l.facts.order.
func (l *linker) tellPasskeyOver(ended *pairing, c event.Connection) {
	if ended != nil && ended.passkey != nil {
		l.facts.tell(passkeyFact(c, "", event.PasskeyState{}))
	}
}

// withdrawPasskey forgets the passkey when a pairing goes on in another way.
// The caller holds l.facts.order.
func (l *linker) withdrawPasskey(p *pairing) {
	l.mu.Lock()
	before := *p
	p.passkey = nil
	l.mu.Unlock()
	l.tellPasskeyOver(&before, event.ConnectionConnecting)
}

func passkeyFact(c event.Connection, state event.State, now event.PasskeyState) event.Fact {
	f := connectionFact(event.TypePasskey, c, state)
	f.Data = event.ConnectionUpdate{Type: event.TypePasskey, Connection: c, Passkey: &now}
	return f
}

// passkeyFailed ends a pairing that cannot come to a good end any more. The
// caller holds l.facts.order.
func (l *linker) passkeyFailed(why string) {
	f := event.Fact{Error: "passkey: " + why}
	p := l.end(nil)
	if p == nil {
		l.facts.tell(f)
		return
	}
	f.Status = event.ConnectionError
	l.facts.tell(f)
	l.tellPasskeyOver(p, event.ConnectionClose)
	l.conn.background.Go(l.conn.client().Disconnect) // closing the socket waits for the peer
}

// askAgain makes an answer that came to nothing as if it had not been given.
func (l *linker) askAgain(err error) {
	l.mu.Lock()
	if l.now != nil && l.now.passkey != nil {
		l.now.answered(false)
	}
	l.mu.Unlock()
	l.facts.tell(event.Fact{Error: "passkey: " + errorText(err)})
}

// answered marks whether what is waited for was answered. Whoever read it
// before keeps what it was then. The caller holds l.mu.
func (p *pairing) answered(yes bool) {
	now := *p.passkey
	now.Answered = yes
	p.passkey, p.taken = &now, time.Now()
}

// confirmPasskey goes on by itself when the phone scanned our code a moment
// ago; else somebody has to compare the code first.
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
	l.tellPasskey()
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

// challenge returns what the pairing waits for, nil when that is no passkey.
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

// fits reports whether a can be an answer to c. An authenticator signs the
// challenge along with the rest, so that one for another is known without
// WhatsApp, which might hold it against the account.
func fits(a event.PasskeyAssertion, c *event.PasskeyChallenge) error {
	if c == nil || c.Step != event.PasskeyRequired || a.For != "" && a.For != c.ID {
		return event.ErrNoPasskey
	}
	var signed, asked struct {
		Challenge jsonbytes.UnpaddedURLBytes `json:"challenge"`
	}
	if json.Unmarshal(a.ClientDataJSON, &signed) != nil || len(signed.Challenge) == 0 || json.Unmarshal(c.PublicKey, &asked) != nil {
		return nil // WhatsApp knows what to say about it
	}
	if string(signed.Challenge) != string(asked.Challenge) {
		return fmt.Errorf("%w: this answer is to an earlier question", event.ErrNoPasskey)
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

// answerPasskey sends an answer to what is waited for, if it fits, one at a
// time, and notes that it was taken. One that was taken before is given its
// time to lead on.
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
	if err := l.letLeadOn(ctx, p); err != nil {
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

// letLeadOn waits until an answer that was taken a moment ago has had its time.
func (l *linker) letLeadOn(ctx context.Context, p *pairing) error {
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

// passkeyTaken notes that what the pairing waited for was answered, unless the
// next step came while the answer was sent. A confirmed code is the last of
// them, and told.
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
		l.tellPasskey()
	}
}

func passkeyError(err error) error {
	if refused, ok := errors.AsType[*whatsmeow.IQError](err); ok {
		return fmt.Errorf("%w: %w", event.ErrPasskeyRefused, refused)
	}
	return fmt.Errorf("%w: %w", event.ErrNotConnected, netfault.Plain(err))
}
