package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"postern/event"
	"postern/instance/pace"
	"postern/store"
)

// simNet is the network as batches see it. It outlives every process, keeps
// what was sent, and answers nothing by itself: a send waits for the
// simulation, or for the end of its context.
type simNet struct {
	mu      sync.Mutex
	env     *modelEnv // its instances change only under mu
	watch   *simWatch
	runs    *simProcess // the one that is there
	calls   []*simCall
	byID    map[string]*simCall
	lastTo  map[string]*simCall
	ids     int
	sent    map[string]int          // sends by the part of the recipient that is its batch's
	broken  error                   // the first rule that a send broke
	orderly bool                    // the last process ended in order
	doubted int                     // messages that may have left before a kill, and count
	turns   map[int64]chan struct{} // one message of an instance at a time waits to leave; nil: any
}

// simCall is one send.
type simCall struct {
	number    int
	by        *simProcess
	instance  int64
	out       event.Outgoing
	began     time.Time
	changes   int
	previous  *simCall // to the same recipient
	reply     chan simReply
	deaf      bool  // it ignores its context
	late      error // what it ends in when its context does
	over      bool
	err       error
	lapsed    bool // its lease has ended
	committed int
	hold      chan struct{} // the worker is held here once its commit is reported; nil: it is not
	gone      modelLeft     // as the limits count it
}

type simReply struct {
	err        error
	unstorable bool // the record of the message cannot be stored
}

func newNet(env *modelEnv) *simNet {
	return &simNet{env: env, watch: newWatch(), sent: map[string]int{}, byID: map[string]*simCall{}, lastTo: map[string]*simCall{}}
}

func (n *simNet) messageID() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ids++
	return fmt.Sprint("MSG", n.ids)
}

// made returns how many message ids there are.
func (n *simNet) made() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ids
}

// batchID makes ids whose time is the simulated one.
func (n *simNet) batchID() (id uuid.UUID, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ids++
	copy(id[:], store.Key(uint64(time.Now().UnixMilli())<<16, uint64(n.ids)))
	id[6], id[8] = 0x70, 0x80
	return id, nil
}

// simPrefix is how many digits of a recipient tell its batch.
const simPrefix = 8

func simNumber(batch, recipient int) string { return fmt.Sprintf("49%06d%03d", batch, recipient) }

// sentBy returns how many sends a batch has made.
func (n *simNet) sentBy(batch uint64) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sent[simNumber(int(batch), 0)[:simPrefix]]
}

// change does something to the instances.
func (n *simNet) change(fn func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	fn()
}

// live returns the sends of a process without a result, which it waits for.
func (n *simNet) live(by *simProcess) (all []*simCall) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.calls {
		if c.by == by && !c.over && !c.lapsed {
			all = append(all, c)
		}
	}
	sortCalls(all)
	return all
}

// sortCalls brings sends that began in the same moment into an order that does
// not depend on which came first.
func sortCalls(all []*simCall) {
	slices.SortFunc(all, func(a, b *simCall) int {
		return cmp.Or(cmp.Compare(a.out.To, b.out.To), cmp.Compare(a.number, b.number))
	})
}

// stuck returns the sends that are still in flight although no worker waits for them.
func (n *simNet) stuck(by func(*simProcess) bool) (all []*simCall) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.calls {
		if !c.over && by(c.by) && (c.lapsed || c.by.dead) {
			all = append(all, c)
		}
	}
	sortCalls(all)
	return all
}

// about notes that a send is being prepared, or that it has ended.
func (n *simNet) about(instance int64, more int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	b := n.env.instances[instance].book
	b.about, b.ended = b.about+more, time.Now()
}

// begin takes a send. A recipient may be sent to again only when the send
// before certainly did not leave.
func (n *simNet) begin(by *simProcess, instance int64, out event.Outgoing) *simCall {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := &simCall{
		number: len(n.calls) + 1, by: by, instance: instance, out: out, began: time.Now(), previous: n.lastTo[out.To],
		reply: make(chan simReply, 1), late: event.ErrOutcomeUnknown, changes: n.env.instances[instance].changes,
	}
	p := c.previous
	switch {
	case n.broken != nil:
	case n.env.optedOut[numberOf(out.To)]:
		n.broken = fmt.Errorf("%s was sent to and had opted out", out.To)
	case by.dead:
		n.broken = fmt.Errorf("%s was sent to by a process that had ended", out.To)
	case n.byID[out.ID] != nil:
		n.broken = fmt.Errorf("message id %s was used again", out.ID)
	case p != nil && p.over && p.err == nil && out.Content.Text.Text != p.out.Content.Text.Text: // another message of the item
	case p != nil && (!p.over || !errors.Is(p.err, event.ErrNotConnected) && !errors.Is(p.err, event.ErrBusy) && !errors.Is(p.err, event.ErrNotNow)):
		n.broken = fmt.Errorf("%s was sent to again (answered before: %t): %w", out.To, p.over, p.err)
	}
	var err error
	if c.gone, err = n.env.leaves(instance, numberOf(out.To), c.began); n.broken == nil {
		n.broken = err
	}
	n.calls = append(n.calls, c)
	n.sent[out.To[:simPrefix]]++
	n.byID[out.ID], n.lastTo[out.To] = c, c
	return c
}

func (n *simNet) end(c *simCall, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c.over, c.err = true, err
	if !leftFor(err) && !c.by.ended() {
		n.env.instances[c.instance].book.takesBack(c.gone)
	}
}

// leftFor reports whether a message whose send ended so may have reached
// WhatsApp.
func leftFor(err error) bool {
	return !errors.Is(err, event.ErrNotConnected) && !errors.Is(err, event.ErrBusy) && !errors.Is(err, event.ErrNotOnWhatsApp)
}

// numberOf returns the phone number of a recipient.
func numberOf(to string) string { return strings.TrimSuffix(to, "@"+event.UserServer) }

// notify is called with the commit of a success.
func (c *simCall) notify() {
	if c.committed++; c.hold != nil {
		<-c.hold
	}
}

func (n *simNet) isDeaf(c *simCall) (bool, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return c.deaf, c.late
}

// Instance is of Fleet.
func (p *simProcess) Instance(id int64) (string, event.State, bool) {
	p.net.mu.Lock()
	defer p.net.mu.Unlock()
	i, ok := p.net.env.instances[id]
	if !ok || i.deleted {
		return "", "", false
	}
	return instanceName(id), i.state, true
}

// Gate is of Fleet: that of WhatsApp, and behind it the limits.
func (p *simProcess) Gate(q Question) Gate {
	if gate := p.whatsApp(q); gate.Shut(p.net.watch.now()) {
		return gate
	}
	refused := p.pacer.Hold(q.Instance, q.Recipient+"@"+event.UserServer, q.Batch.String())
	if refused == nil {
		return Gate{After: p.pacer.Spaced(q.Instance)}
	}
	return Gate{Until: refused.Until, Strangers: refused.Strangers, Reason: pace.Code, Text: refused.Text()}
}

func (p *simProcess) whatsApp(q Question) Gate {
	p.net.mu.Lock()
	defer p.net.mu.Unlock()
	i, now := p.net.env.instances[q.Instance], p.net.watch.now()
	if i == nil {
		return Gate{}
	}
	gate := Gate{Until: i.bench}
	if !q.Wait && p.net.env.knows(q.Recipient) && !i.refused[q.Recipient] {
		return gate
	}
	return gate.Both(Gate{Until: i.lock, Strangers: !q.Wait}, now)
}

// Send is of Fleet.
func (p *simProcess) Send(ctx context.Context, instance int64, out event.Outgoing) (receipt Receipt, err error) {
	pass, err := p.pacer.Begin(instance, out.To, out.Holder)
	if err != nil {
		return receipt, err
	}
	p.net.about(instance, 1)
	left := false
	defer func() {
		p.net.about(instance, -1)
		pass.End(left && leftFor(err))
	}()
	if err := p.leave(ctx, instance, pass); err != nil {
		return receipt, err
	}
	if err := out.Leaving(); err != nil {
		return receipt, fmt.Errorf("%w: %w", event.ErrSendRefused, err)
	}
	left = true
	c := p.net.begin(p, instance, out)
	var r simReply
	select {
	case r = <-c.reply:
	case <-ctx.Done():
		deaf, late := p.net.isDeaf(c)
		if r.err = late; deaf {
			r = <-c.reply
		}
	}
	p.net.end(c, r.err)
	return Receipt{
		WhatsAppID: out.ID, RecipientJID: out.To, Committed: c.notify,
		Record: func(*store.Tx) (int64, error) {
			if r.unstorable {
				return 0, errors.New("no room")
			}
			return int64(c.number), nil
		},
	}, r.err
}

// leave takes a message through the limits of its instance, in its turn.
func (p *simProcess) leave(ctx context.Context, instance int64, pass *pace.Pass) error {
	if turn := p.net.turns[instance]; turn != nil {
		select {
		case turn <- struct{}{}:
			defer func() { <-turn }()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err := pass.Space(ctx); err != nil {
		return err
	}
	return pass.Leave()
}
