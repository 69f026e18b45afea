package instance

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"postern/event"
	"postern/whatsapp/proxy"
)

// network is a second implementation of Connector.
type network struct {
	mu       sync.Mutex
	paired   map[int64]bool
	refuse   map[int64]error // Open fails
	sessions map[int64]*session

	// dial is what Connect of every session does; nil: the login succeeds.
	dial func(ctx context.Context, s *session) error

	dialling, most int // connections being made at the same time

	probe func(ctx context.Context, via proxy.Server, uses []proxy.Use) error // nil: every proxy works
}

func (n *network) Probe(ctx context.Context, via proxy.Server, uses []proxy.Use) error {
	n.mu.Lock()
	probe := n.probe
	n.mu.Unlock()
	if probe == nil {
		return nil
	}
	return probe(ctx, via, uses)
}

// onProbe replaces what Probe does.
func (n *network) onProbe(probe func(context.Context, proxy.Server, []proxy.Use) error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.probe = probe
}

func (n *network) Open(_ context.Context, id int64, report func(context.Context, event.Fact) error) (Session, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.refuse[id]; err != nil {
		return nil, err
	}
	s := &session{net: n, id: id, report: report, paired: n.paired[id]}
	n.sessions[id] = s
	return s, nil
}

// pair sets whether the phone has the instance linked.
func (n *network) pair(id int64, linked bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.paired[id] = linked
}

// clear removes the sessions, as the end of a process does.
func (n *network) clear() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sessions = map[int64]*session{}
}

func (n *network) session(id int64) *session {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sessions[id]
}

// session is a second implementation of Session. As in the real one, calls exclude each other, and
// Disconnect waits for reports in progress.
type session struct {
	Account // nil: what no test of this package asks for

	net    *network
	id     int64
	report func(context.Context, event.Fact) error

	calls sync.Mutex   // Connect, PairCode, Logout and Disconnect
	gate  sync.RWMutex // read by what reports

	mu             sync.Mutex
	passkey        *event.PasskeyChallenge
	asserted       event.PasskeyAssertion
	paired, online bool
	wrong          error // the device belongs to another network
	kept           bool  // it was logged out and is kept
	dials          []time.Time
	drops          int
	reroutes       int
	logout, forget error
	pairCode       func(ctx context.Context) (string, error)
	send           func() error
	acknowledge    time.Duration               // how long a sent message waits for WhatsApp
	prepare        func()                      // is what goes on between the limits and the wire
	departed       func()                      // the bytes have left
	turn           func(context.Context) error // waits for the turn of a send; nil: it comes at once
	timer          *event.ChatTimer            // of the last message that left
	busy           chan struct{}               // closed when no message is on its way any more; nil: none is
}

func (s *session) Paired() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.paired
}

func (s *session) Online() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.online
}

func (s *session) be(paired, online bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paired, s.online = paired, online
}

func (s *session) Connect(ctx context.Context) error {
	s.calls.Lock()
	defer s.calls.Unlock()
	if s.Online() {
		return nil
	}
	s.mu.Lock()
	s.dials = append(s.dials, time.Now())
	s.mu.Unlock()
	dial := s.net.count(1)
	defer func() { s.net.count(-1) }()
	if dial != nil {
		return dial(ctx, s)
	}
	if s.Paired() {
		s.login()
	} else {
		s.qr("2@code")
	}
	return nil
}

// count adds d to the number of running dials and returns the function of a dial.
func (n *network) count(d int) func(context.Context, *session) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dialling += d
	n.most = max(n.most, n.dialling)
	return n.dial
}

// tell reports a fact as the library's goroutine does.
func (s *session) tell(f event.Fact) error {
	s.gate.RLock()
	defer s.gate.RUnlock()
	return s.report(context.Background(), f)
}

func (s *session) login() {
	s.be(true, true)
	f := connection(event.TypeConnected, event.ConnectionOpen, event.Online)
	f.Link = &event.Link{JID: "4915123456:1@s.whatsapp.net", LID: "77:1@lid"}
	_ = s.tell(f)
}

func (s *session) lose() {
	s.be(s.Paired(), false)
	_ = s.tell(connection(event.TypeDisconnected, event.ConnectionClose, event.Reconnecting))
}

func (s *session) qr(code string) {
	_ = s.tell(event.Fact{Kind: event.QRCodeUpdated, Status: event.QRCodeState, Data: event.QRCode{Count: 1, Code: code, ExpiresInSeconds: 60}})
}

func (s *session) PairCode(ctx context.Context, _ string) (string, error) {
	s.calls.Lock()
	defer s.calls.Unlock()
	if s.pairCode != nil {
		return s.pairCode(ctx)
	}
	_ = s.tell(event.Fact{Status: event.PairingCodeState})
	return "ABCD-EFGH", nil
}

func (s *session) Send(ctx context.Context, out event.Outgoing) (event.Sent, error) {
	if out.Delay > 0 {
		select {
		case <-time.After(out.Delay):
		case <-ctx.Done():
			return event.Sent{}, fmt.Errorf("%w: %w", event.ErrSendRefused, ctx.Err())
		}
	}
	if s.turn != nil {
		if err := s.turn(ctx); err != nil {
			return event.Sent{}, err
		}
	}
	if out.Turn != nil {
		if err := out.Turn(ctx); err != nil {
			return event.Sent{}, fmt.Errorf("%w: %w", event.ErrSendRefused, err)
		}
	}
	if out.Timer != nil {
		timer, err := out.Timer()
		if err != nil {
			return event.Sent{}, fmt.Errorf("%w: %w", event.ErrSendRefused, err)
		}
		s.mu.Lock()
		s.timer = timer
		s.mu.Unlock()
	}
	if out.Leaving != nil {
		if err := out.Leaving(); err != nil {
			return event.Sent{}, fmt.Errorf("%w: %w", event.ErrSendRefused, err)
		}
	}
	if s.prepare != nil {
		s.prepare()
	}
	if out.Left != nil {
		out.Left()
	}
	if s.departed != nil {
		s.departed()
	}
	if s.send != nil {
		if err := s.send(); err != nil {
			return event.Sent{}, err
		}
	}
	if s.acknowledge > 0 { // else the acknowledgement is there before anybody can leave
		select {
		case <-time.After(s.acknowledge):
		case <-ctx.Done():
			return event.Sent{}, fmt.Errorf("%w: %w", event.ErrOutcomeUnknown, ctx.Err())
		}
	}
	return event.Sent{Message: text(out.ID, out.To, true)}, nil
}

func (s *session) Logout(context.Context) error {
	s.calls.Lock()
	defer s.calls.Unlock()
	switch {
	case !s.Paired():
		return nil
	case s.logout != nil:
		return s.logout
	case !s.Online():
		return fmt.Errorf("%w: no socket", event.ErrNotConnected)
	}
	s.drop(false)
	return nil
}

func (s *session) Forget(ctx context.Context) error {
	s.calls.Lock()
	defer s.calls.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	s.drop(false)
	s.mu.Lock()
	s.wrong, s.kept = nil, false
	s.mu.Unlock()
	return s.forget
}

func (s *session) Disconnect() {
	s.calls.Lock()
	defer s.calls.Unlock()
	s.drop(s.Paired())
}

func (s *session) WrongNetwork() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wrong
}

func (s *session) LoggedOut() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept
}

func (s *session) Recall(context.Context) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paired, s.kept = s.kept, false
	return s.paired, nil
}

func (s *session) Reroute() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reroutes++
}

func (s *session) drop(paired bool) {
	s.be(paired, false)
	s.mu.Lock()
	s.passkey = nil
	s.mu.Unlock()
	s.gate.Lock()
	s.drops++
	s.gate.Unlock()
}

// dialled returns the times of the calls of Connect since the last forget.
func (s *session) dialled() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.dials)
}

func (s *session) forgetDials() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dials = nil
}

// onDial replaces what Connect does.
func (n *network) onDial(dial func(ctx context.Context, s *session) error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dial = dial
}

func (s *session) Passkey() *event.PasskeyChallenge {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.passkey
}

func (s *session) AssertPasskey(_ context.Context, a event.PasskeyAssertion) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.passkey == nil || s.passkey.PublicKey == nil {
		return event.ErrNoPasskey
	}
	s.asserted = a
	s.passkey = &event.PasskeyChallenge{Step: event.PasskeyCompare, Code: "ABCD-EFGH"}
	return nil
}

func (s *session) ConfirmPasskey(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.passkey == nil || s.passkey.Code == "" {
		return event.ErrNoPasskey
	}
	s.passkey = &event.PasskeyChallenge{Step: event.PasskeyDone}
	return nil
}

// Resolve finds the account of each number at the number itself.
func (s *session) Resolve(_ context.Context, jid string) (string, error) { return jid, nil }

// Hold waits until busy is closed.
func (s *session) Hold(ctx context.Context) (func(), error) {
	s.mu.Lock()
	busy := s.busy
	s.mu.Unlock()
	if busy != nil {
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return func() {}, nil
}
