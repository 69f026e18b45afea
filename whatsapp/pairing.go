package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mau.fi/whatsmeow"

	"postern/event"
	"postern/internal/netfault"
)

const (
	firstCodeLife = 60 * time.Second // of the first of WhatsApp's six codes
	codeLife      = 20 * time.Second // of each later one

	// WhatsApp accepts only the names of common browsers and systems here.
	codeClientName = "Chrome (Linux)"
)

// pairing is one attempt to link the instance to a phone.
type pairing struct {
	ctx   context.Context         // ends with the attempt
	stop  context.CancelCauseFunc // nil: something else ended it; errPairingTime: the timer
	timer *time.Timer             // of the attempt
	codes chan []string           // WhatsApp's codes, once
	ready chan struct{}           // closed when they came
	typed chan struct{}           // closed when a code is typed instead of scanned

	answering chan struct{} // of size 1: full while somebody answers for the passkey

	// Session.mu guards what follows.

	until   time.Time               // when the timer ends it
	passkey *event.PasskeyChallenge // what the attempt waits for; it is replaced, never changed
	taken   time.Time               // when an answer to it was last taken
}

var errPairingTime = errors.New("no phone was linked in time")

// extend gives the attempt its time anew. The caller holds Session.mu.
func (p *pairing) extend(timeout time.Duration) {
	p.until = time.Now().Add(timeout)
	p.timer.Reset(timeout) // a timer that has fired ended the attempt
}

// stopCodes ends the showing of codes to scan. The caller holds Session.order.
func (p *pairing) stopCodes() {
	select {
	case <-p.typed:
	default:
		close(p.typed)
	}
}

func (s *Session) pairingNow() *pairing {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pairing
}

func (s *Session) startPairing(byCode bool) {
	ctx, stop := context.WithCancelCause(context.Background())
	timeout := s.conn.cfg.PairingTimeout
	p := &pairing{
		ctx: ctx, stop: stop, until: time.Now().Add(timeout),
		timer: time.AfterFunc(timeout, func() { stop(errPairingTime) }),

		codes: make(chan []string, 1),
		ready: make(chan struct{}),
		typed: make(chan struct{}),

		answering: make(chan struct{}, 1),
	}
	if byCode {
		close(p.typed)
	}
	s.mu.Lock()
	s.pairing = p
	s.mu.Unlock()
	s.background.Go(func() { s.runPairing(p) })
}

// runPairing shows the codes one after the other and ends the attempt when
// they, or the time, run out.
func (s *Session) runPairing(p *pairing) {
	select {
	case codes := <-p.codes:
		close(p.ready)
		s.showCodes(p, codes)
	case <-p.ctx.Done():
	}
	if p.ctx.Err() != nil && !errors.Is(context.Cause(p.ctx), errPairingTime) || s.endPairing(p) == nil {
		return // something else ended it and has told so
	}
	s.log.Info("pairing ended without a phone")
	s.client().Disconnect()
	s.order.Lock()
	defer s.order.Unlock()
	s.tell(event.Fact{Status: event.ConnectionTimeout, Error: errPairingTime.Error()})
	s.tellPasskeyOver(p, event.ConnectionClose)
}

// showCodes reports each code for as long as it is valid. It returns when the
// codes are used up or the attempt ends.
func (s *Session) showCodes(p *pairing, codes []string) {
	life := codeLife
	if len(codes) == 6 {
		life = firstCodeLife
	}
	for i, code := range codes[:min(len(codes), s.conn.cfg.QRLimit)] {
		if !s.tellCode(p, i+1, code, life) {
			break
		}
		timer := time.NewTimer(life)
		select {
		case <-timer.C:
		case <-p.typed:
		case <-p.ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
		life = codeLife
	}
	select {
	case <-p.typed: // the attempt goes on until its timeout
		<-p.ctx.Done()
	default:
	}
}

// tellCode reports a code, unless the pairing goes on without them.
func (s *Session) tellCode(p *pairing, count int, code string, life time.Duration) bool {
	s.order.Lock()
	defer s.order.Unlock()
	select {
	case <-p.typed:
		return false
	case <-p.ctx.Done():
		return false
	default:
	}
	image, err := s.conn.paint.dataURL(code)
	if err != nil {
		s.log.Warn("qr code not drawn", "error", err)
		return true
	}
	s.tell(event.Fact{
		Kind:   event.QRCodeUpdated,
		Status: event.QRCodeState,
		Data: event.QRCode{
			Count:            count,
			Code:             code,
			Base64:           image,
			ExpiresInSeconds: int(life / time.Second),
			ExpiresAt:        event.At(time.Now().Add(life)),
		},
	})
	return true
}

// endPairing closes the attempt p, or the current one when p is nil, and
// returns it; nil when there was none to close.
func (s *Session) endPairing(p *pairing) *pairing {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pairing == nil || p != nil && s.pairing != p {
		return nil
	}
	ended := s.pairing
	ended.end()
	s.pairing = nil
	return ended
}

func (p *pairing) end() {
	p.timer.Stop()
	p.stop(nil)
}

// offer hands WhatsApp's codes to the attempt.
func (s *Session) offer(codes []string) {
	p := s.pairingNow()
	if p == nil || len(codes) == 0 {
		return
	}
	select {
	case p.codes <- codes:
	default: // a second set is never sent
	}
}

// PairCode begins a pairing by code, or turns a running QR pairing into one,
// and returns the code to type on the phone, "ABCD-EFGH". It connects when
// needed and waits until ctx ends. Errors wrap [ErrPaired],
// [event.ErrRecipient] for a number that is none, or
// [event.ErrNotConnected]. The pairing then goes on as told by facts.
func (s *Session) PairCode(ctx context.Context, phone string) (string, error) {
	to, err := event.ParseRecipient(phone)
	if err != nil {
		return "", err
	}
	switch {
	case !to.IsPhone():
		return "", fmt.Errorf("%w: pairing needs a phone number", event.ErrRecipient)
	case to.User[0] == '0':
		return "", fmt.Errorf("%w: %s", event.ErrRecipient, event.Domestic)
	}
	s.dial.Lock()
	defer s.dial.Unlock()
	if err := s.WrongNetwork(); err != nil {
		return "", err
	}
	if s.Paired() {
		return "", ErrPaired
	}
	if s.pairingNow() == nil {
		if err := s.connect(ctx, true); err != nil {
			return "", err
		}
	}
	p := s.pairingNow()
	if p == nil {
		return "", s.pairingEnded("the connection was lost")
	}
	return s.requestCode(ctx, p, to.User)
}

// pairingEnded is an error, once what ended the pairing has been told.
func (s *Session) pairingEnded(words string) error {
	s.order.Lock()
	defer s.order.Unlock()
	return fmt.Errorf("%w: %s", event.ErrNotConnected, words)
}

func (s *Session) requestCode(ctx context.Context, p *pairing, phone string) (string, error) {
	select {
	case <-p.ready:
	case <-p.ctx.Done():
		return "", s.pairingEnded("the pairing ended")
	case <-ctx.Done():
		return "", fmt.Errorf("%w: %w", event.ErrNotConnected, ctx.Err())
	}
	code, err := s.client().PairPhone(ctx, phone, true, whatsmeow.PairClientChrome, codeClientName)
	if err != nil {
		return "", fmt.Errorf("%w: ask for a pairing code: %w", event.ErrNotConnected, netfault.Plain(err))
	}
	s.order.Lock()
	defer s.order.Unlock()
	p.stopCodes()
	s.tell(event.Fact{Status: event.PairingCodeState})
	s.withdrawPasskey(p)
	return code, nil
}
