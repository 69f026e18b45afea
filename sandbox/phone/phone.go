package phone

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	wa "go.mau.fi/whatsmeow/appstate"
	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/proto/waHistorySync"
	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/handset"
)

// Network is the server for a phone. Its methods must not call back into the same phone
// and wait, except Save, which may call State.
type Network interface {
	// Route delivers a stanza like one of a client at from.
	Route(ctx context.Context, from types.JID, n waBinary.Node) error
	// DevicesOf lists the devices of an account, or of all members of a group, in LID form,
	// each device 0 included.
	DevicesOf(user types.JID) []types.JID
	// BundleOf returns keys to begin a session with a device; false if it has none.
	BundleOf(dev types.JID) (handset.Bundle, bool)
	// IdentityOf returns both addresses of an account by either of them.
	IdentityOf(user types.JID) (pn, lid types.JID, ok bool)
	// TimerOf returns the disappearing timer of a group, 0 if it has none, and when it was set.
	TimerOf(group types.JID) (seconds uint32, set time.Time)
	// LinkDevice completes the pairing of the client that shows a QR code.
	LinkDevice(p *Phone, qr handset.QR) error
	// TypeCode completes the pairing of a client that requested a link code for this
	// phone.
	TypeCode(p *Phone, code string) error
	// UploadAgain gives an uploaded file a new path.
	UploadAgain(path string) (newPath string, ok bool)
	// QueueFor sends a stanza to a linked device.
	QueueFor(device types.JID, n waBinary.Node)
	// SealHistory returns the notice of a piece of history, which contains it or its
	// path; file: always a file.
	SealHistory(h *waHistorySync.HistorySync, file bool) (*waE2E.HistorySyncNotification, error)
	// StateKeys returns the message that sends a linked device the keys of the
	// account's app state; nil if there are none.
	StateKeys(p *Phone) *waE2E.ProtocolMessage
	// StateCopy returns a collection of the app state in plain text, as phones send
	// it.
	StateCopy(p *Phone, name wa.WAPatchName) ([]byte, error)
	// ResetState deletes the app state with its keys, and removes the linked devices.
	ResetState(p *Phone)
	// Save stores the phone's State, now or soon. Calls for one phone never overlap.
	Save(p *Phone)
}

// Options describes a phone to add.
type Options struct {
	Number   string // digits with the country code; the account's phone number
	PushName string // the displayed name; may be empty
	LID      string // user part of the hidden address, digits; empty derives one from the number
}

// Errors of a phone's actions.
var (
	ErrNoAccount = errors.New("the sandbox has no such account")     // of the recipient
	ErrClosed    = errors.New("the phone is switched off")           // Send and its like
	ErrNoKeys    = errors.New("no device of the recipient has keys") // Send and its like
)

// Phone is one simulated primary phone, device 0 of its account. It decrypts what
// reaches it, answers with delivery receipts, requests again what it cannot decrypt,
// and echoes the rest of a text that begins with "echo ", except in groups. Its methods
// may be called from any goroutine.
//
// Stanzas wait in an unbounded queue in memory; one goroutine that exists only while
// there is work handles them in order. Received messages are kept until the process
// ends; keys and sessions are saved after each change, before a message is
// acknowledged.
type Phone struct {
	net     Network
	options Options
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

	darkUntil time.Time // it is switched off until then: the queue waits

	retries map[string]int // retry receipts sent, by message id
	sent    sentLog
	inbox   inbox
	timers  timers

	chatStates []ChatState
	calls      []CallStage
	past       map[types.JID][]PastMessage // oldest first
	pastFiles  bool                        // the history is sent only as files
	reads      []string                    // ids of own messages that were read
	plays      []string                    // ids of own voice messages that were played
	off        bool                        // requests of linked devices wait
	held       []heldRequest
	requests   map[waE2E.PeerDataOperationRequestType]int // of linked devices
}

// New returns a phone of an account. Without a handset its keys are created when
// needed. The caller closes it.
func New(net Network, o Options, pn, lid types.JID, h *handset.Handset) *Phone {
	p := &Phone{
		net: net, options: o, pn: pn.ToNonAD(), lid: lid.ToNonAD(), keys: h, retries: map[string]int{},
		requests: map[waE2E.PeerDataOperationRequestType]int{},
	}
	p.life, p.cancel = context.WithCancel(context.Background())
	p.inbox.init()
	return p
}

// Number returns the phone number in digits.
func (p *Phone) Number() string { return p.pn.User }

// JID returns the account's phone number address.
func (p *Phone) JID() types.JID { return p.pn }

// LID returns the account's hidden address.
func (p *Phone) LID() types.JID { return p.lid }

// PushName returns the displayed name.
func (p *Phone) PushName() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.options.PushName
}

// Rename changes the displayed name.
func (p *Phone) Rename(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.options.PushName = name
}

// Scan links a companion device: code is the text of a QR code or an 8-character link
// code, with or without its dash. Errors are handset.ErrQR, handset.ErrCode or the
// server's.
func (p *Phone) Scan(ctx context.Context, code string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("scan on %s: %w", p.Number(), err)
	}
	if !strings.Contains(code, "://") {
		typed, err := handset.NormaliseCode(code)
		if err != nil {
			return fmt.Errorf("scan on %s: %w", p.Number(), err)
		}
		return p.net.TypeCode(p, typed)
	}
	qr, err := handset.ParseQR(code)
	if err != nil {
		return fmt.Errorf("scan on %s: %w", p.Number(), err)
	}
	return p.net.LinkDevice(p, qr)
}

// SendNode sends a stanza as this phone.
func (p *Phone) SendNode(ctx context.Context, n waBinary.Node) error {
	return p.net.Route(ctx, p.lid, n)
}

// Deliver queues a stanza for device 0 and returns at once. A closed phone drops it.
func (p *Phone) Deliver(n waBinary.Node) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.queue = append(p.queue, n)
	p.workLocked()
}

// workLocked begins to handle the queue unless the phone is switched off. The caller holds p.mu.
func (p *Phone) workLocked() {
	if !p.working && !p.dark() && !p.closed && len(p.queue) > 0 {
		p.working = true
		p.work.Go(p.drain)
	}
}

// dark reports whether the phone is switched off. The caller holds p.mu.
func (p *Phone) dark() bool { return time.Now().Before(p.darkUntil) }

// SwitchOff leaves what reaches the phone unread, and without receipts, for a time; zero switches it on at once.
func (p *Phone) SwitchOff(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.darkUntil = time.Now().Add(d)
	if d <= 0 {
		p.workLocked()
		return
	}
	time.AfterFunc(d, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.workLocked()
	})
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
	if p.dark() && !p.closed {
		p.working = false
		return waBinary.Node{}, false
	}
	if len(p.queue) == 0 || p.closed {
		p.working, p.queue = false, nil
		return waBinary.Node{}, false
	}
	n := p.queue[0]
	p.queue = p.queue[1:]
	return n, true
}

// Close drops the queue and waits for the stanza being handled. A closed phone neither
// sends nor receives.
func (p *Phone) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel()
	p.work.Wait()
}

// Keys returns the phone's keys, creating them on first use.
func (p *Phone) Keys() (*handset.Handset, error) {
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

// ReplaceKeys simulates a new phone with the same number: new keys, no sessions.
func (p *Phone) ReplaceKeys() error {
	h, err := handset.New(p.pn, p.lid)
	if err != nil {
		return err
	}
	p.sending.Lock()
	p.mu.Lock()
	p.keys = h
	p.mu.Unlock()
	p.sending.Unlock()
	p.save()
	return nil
}

// State returns the bytes that Network.Save stores and handset.Restore reads; nil while
// there are no keys.
func (p *Phone) State() ([]byte, error) {
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
	p.net.Save(p)
}

// Bundle returns the phone's own keys for the server's pre-key answers.
func (p *Phone) Bundle() (handset.Bundle, error) {
	h, err := p.Keys()
	if err != nil {
		return handset.Bundle{}, err
	}
	b, err := h.Bundle()
	if err == nil {
		p.save()
	}
	return b, err
}

// textOf returns the readable text of a message, "" if it has none.
func textOf(m *waE2E.Message) string {
	if text := m.GetConversation(); text != "" {
		return text
	}
	return m.GetExtendedTextMessage().GetText()
}
