package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/handset"
)

// network is what a phone needs of the server. None of its methods may call back into the
// same phone and wait; deliver never waits, so route may call it.
type network interface {
	// route takes a stanza as a client at from would send it.
	route(ctx context.Context, from types.JID, n waBinary.Node) error
	// devicesOf lists the devices of an account, or of all members of a group, in LID form,
	// each device 0 included.
	devicesOf(user types.JID) []types.JID
	bundleOf(dev types.JID) (handset.Bundle, bool)
	// identityOf accepts either form of address.
	identityOf(user types.JID) (pn, lid types.JID, ok bool)
	linkDevice(p *Phone, qr handset.QR) error
	typeCode(p *Phone, code string) error
	// uploadAgain gives a file that was uploaded once a new path.
	uploadAgain(path string) (newPath string, ok bool)
	// queueFor sends a stanza to a linked device.
	queueFor(device types.JID, n waBinary.Node)
	// save stores p.state(). Calls for one phone never overlap.
	save(p *Phone)
}

// Errors of a phone's actions.
var (
	ErrNoAccount   = errors.New("the sandbox has no such account")
	ErrPhoneClosed = errors.New("the phone is switched off")
)

// Phone is one simulated primary phone, device 0 of its account. It decrypts what reaches
// it, answers with delivery receipts, asks again for what it cannot read, and returns the
// rest of a text that begins with "echo ", though not in groups. Its methods are safe for
// concurrent use.
//
// Stanzas wait in an unbounded queue in memory and are handled in order by one goroutine
// that lives only while there is work. What was received is remembered until the process
// ends; keys and sessions are saved after each change, before a message is acknowledged.
type Phone struct {
	net     network
	options PhoneOptions
	pn, lid types.JID

	life   context.Context // ends the queue's work on close
	cancel context.CancelFunc
	work   sync.WaitGroup

	sending sync.Mutex // keeps ciphertexts on the wire in the order of the ratchet
	saving  sync.Mutex // keeps an older state from overwriting a newer one

	mu      sync.Mutex // guards everything below
	keys    *handset.Handset
	queue   []waBinary.Node
	working bool
	closed  bool
	retries map[string]int // retry receipts sent, by message id
	sent    sentLog
	inbox   inbox

	chatStates []ChatState
	reads      []string // ids of own messages that were read
}

// newPhone makes a phone. Without a handset its keys are made when they are first needed.
func newPhone(net network, o PhoneOptions, pn, lid types.JID, h *handset.Handset) *Phone {
	p := &Phone{net: net, options: o, pn: pn.ToNonAD(), lid: lid.ToNonAD(), keys: h, retries: map[string]int{}}
	p.life, p.cancel = context.WithCancel(context.Background())
	p.inbox.init()
	return p
}

// Number is the phone number in digits.
func (p *Phone) Number() string { return p.pn.User }

// JID is the account's phone number address.
func (p *Phone) JID() types.JID { return p.pn }

// LID is the account's hidden address.
func (p *Phone) LID() types.JID { return p.lid }

// PushName is the name that others see.
func (p *Phone) PushName() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.options.PushName
}

func (p *Phone) rename(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.options.PushName = name
}

// Scan links a companion device: code is a QR code's text or an 8-character link code,
// with or without its dash. Errors are handset.ErrQR, handset.ErrCode or the server's.
func (p *Phone) Scan(ctx context.Context, code string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("scan on %s: %w", p.Number(), err)
	}
	if !strings.Contains(code, "://") {
		typed, err := handset.NormaliseCode(code)
		if err != nil {
			return fmt.Errorf("scan on %s: %w", p.Number(), err)
		}
		return p.net.typeCode(p, typed)
	}
	qr, err := handset.ParseQR(code)
	if err != nil {
		return fmt.Errorf("scan on %s: %w", p.Number(), err)
	}
	return p.net.linkDevice(p, qr)
}

// SendNode puts a stanza on the wire as this phone.
func (p *Phone) SendNode(ctx context.Context, n waBinary.Node) error {
	return p.net.route(ctx, p.lid, n)
}

// deliver queues a stanza that is addressed to device 0 and returns at once. A closed
// phone drops it.
func (p *Phone) deliver(n waBinary.Node) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.queue = append(p.queue, n)
	if !p.working {
		p.working = true
		p.work.Go(p.drain)
	}
}

func (p *Phone) drain() {
	for {
		n, ok := p.next()
		if !ok {
			return
		}
		p.handle(p.life, n)
	}
}

func (p *Phone) next() (waBinary.Node, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 || p.closed {
		p.working, p.queue = false, nil
		return waBinary.Node{}, false
	}
	n := p.queue[0]
	p.queue = p.queue[1:]
	return n, true
}

// close drops the queue and waits for the stanza in hand.
func (p *Phone) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel()
	p.work.Wait()
}

// handset returns the phone's keys and makes them on first use.
func (p *Phone) handset() (*handset.Handset, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.keys != nil {
		return p.keys, nil
	}
	h, err := handset.New(p.pn, p.lid)
	if err != nil {
		return nil, err
	}
	p.keys = h
	return h, nil
}

// state is what save stores; nil while no keys were made.
func (p *Phone) state() ([]byte, error) {
	p.mu.Lock()
	h := p.keys
	p.mu.Unlock()
	if h == nil {
		return nil, nil
	}
	return h.State()
}

func (p *Phone) save() {
	p.saving.Lock()
	defer p.saving.Unlock()
	p.net.save(p)
}

// bundle hands out the phone's own keys, for the server's pre-key answers.
func (p *Phone) bundle() (handset.Bundle, error) {
	h, err := p.handset()
	if err != nil {
		return handset.Bundle{}, err
	}
	b, err := h.Bundle()
	if err == nil {
		p.save()
	}
	return b, err
}

// textOf is the readable text of a message, empty when it has none.
func textOf(m *waE2E.Message) string {
	if text := m.GetConversation(); text != "" {
		return text
	}
	return m.GetExtendedTextMessage().GetText()
}
