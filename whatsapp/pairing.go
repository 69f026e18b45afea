package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.mau.fi/whatsmeow"

	"postern/event"
	"postern/internal/netfault"
)

const (
	firstCodeLife = 60 * time.Second // of the first of WhatsApp's six codes
	codeLife      = 20 * time.Second // of each later one

	// WhatsApp accepts only names of common browsers and systems.
	codeClientName = "Chrome (Linux)"
)

// linker links an unpaired instance to a phone. It never dials.
type linker struct {
	conn  *connection
	facts *reporter
	paint palette

	mu  sync.Mutex
	now *pairing // the attempt under way
}

// pairing is one attempt to link the instance to a phone.
type pairing struct {
	ctx   context.Context         // ends with the attempt
	stop  context.CancelCauseFunc // nil: something else ended it; errPairingTime: the timer
	timer *time.Timer             // of the attempt
	codes chan []string           // WhatsApp's codes, once
	ready chan struct{}           // closed when they came
	typed chan struct{}           // closed when a code is typed instead of scanned

	answering chan struct{} // of size 1: full while an answer to the challenge is sent

	// linker.mu guards what follows.

	until   time.Time               // when the timer ends it
	passkey *event.PasskeyChallenge // the challenge that the attempt waits for; it is replaced, never changed
	taken   time.Time               // when WhatsApp last took an answer
}

var errPairingTime = errors.New("no phone was linked in time")

// extend restarts the timeout of the attempt. The caller holds linker.mu.
func (p *pairing) extend(timeout time.Duration) {
	p.until = time.Now().Add(timeout)
	p.timer.Reset(timeout) // a timer that has fired ended the attempt
}

// stopCodes ends the display of QR codes. The caller holds reporter.order.
func (p *pairing) stopCodes() {
	select {
	case <-p.typed:
	default:
		close(p.typed)
	}
}

func (l *linker) current() *pairing {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

func (l *linker) start(byCode bool) {
	ctx, stop := context.WithCancelCause(context.Background())
	timeout := l.conn.cfg.PairingTimeout
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
	l.mu.Lock()
	l.now = p
	l.mu.Unlock()
	l.conn.background.Go(func() { l.run(p) })
}

// run shows the codes one after the other and ends the attempt when they, or the time,
// run out.
func (l *linker) run(p *pairing) {
	select {
	case codes := <-p.codes:
		close(p.ready)
		l.showCodes(p, codes)
	case <-p.ctx.Done():
	}
	if p.ctx.Err() != nil && !errors.Is(context.Cause(p.ctx), errPairingTime) || l.end(p) == nil {
		return // whatever ended it has reported it
	}
	l.conn.log.Info("pairing ended without a phone")
	l.conn.client().Disconnect()
	l.facts.order.Lock()
	defer l.facts.order.Unlock()
	l.facts.change(event.Fact{Status: event.ConnectionTimeout, Error: errPairingTime.Error()})
	l.reportPasskeyEnd(p, event.ConnectionClose)
}

// showCodes reports each code for the time that it is valid. It returns when the codes
// are used up or the attempt ends.
func (l *linker) showCodes(p *pairing, codes []string) {
	life := codeLife
	if len(codes) == 6 {
		life = firstCodeLife
	}
	for i, code := range codes[:min(len(codes), l.conn.cfg.QRLimit)] {
		if !l.showCode(p, i+1, code, life) {
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

// showCode reports a code, unless the pairing continues without QR codes.
func (l *linker) showCode(p *pairing, count int, code string, life time.Duration) bool {
	l.facts.order.Lock()
	defer l.facts.order.Unlock()
	select {
	case <-p.typed:
		return false
	case <-p.ctx.Done():
		return false
	default:
	}
	image, err := l.paint.dataURL(code)
	if err != nil {
		l.conn.log.Warn("qr code not drawn", "error", err)
		return true
	}
	l.facts.change(event.Fact{
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

// end ends the attempt p, or the current one if p is nil, and returns it, nil if there
// was none.
func (l *linker) end(p *pairing) *pairing {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now == nil || p != nil && l.now != p {
		return nil
	}
	ended := l.now
	ended.end()
	l.now = nil
	return ended
}

func (p *pairing) end() {
	p.timer.Stop()
	p.stop(nil)
}

// offer passes WhatsApp's codes to the attempt.
func (l *linker) offer(codes []string) {
	p := l.current()
	if p == nil || len(codes) == 0 {
		return
	}
	select {
	case p.codes <- codes:
	default: // a second set is never sent
	}
}

// ended waits until the end of the pairing has been reported, and returns it as an
// error.
func (l *linker) ended(words string) error {
	l.facts.order.Lock()
	defer l.facts.order.Unlock()
	return fmt.Errorf("%w: %s", event.ErrNotConnected, words)
}

func (l *linker) requestCode(ctx context.Context, p *pairing, phone string) (string, error) {
	select {
	case <-p.ready:
	case <-p.ctx.Done():
		return "", l.ended("the pairing ended")
	case <-ctx.Done():
		return "", fmt.Errorf("%w: %w", event.ErrNotConnected, ctx.Err())
	}
	code, err := l.conn.client().PairPhone(ctx, phone, true, whatsmeow.PairClientChrome, codeClientName)
	if err != nil {
		return "", fmt.Errorf("%w: ask for a pairing code: %w", event.ErrNotConnected, netfault.Plain(err))
	}
	l.facts.order.Lock()
	defer l.facts.order.Unlock()
	p.stopCodes()
	l.facts.change(event.Fact{Status: event.PairingCodeState})
	l.withdrawPasskey(p)
	return code, nil
}
