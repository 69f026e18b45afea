package instance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"postern/event"
	"postern/whatsapp/proxy"
)

// SetProxy dials WhatsApp through a proxy, stores it when that succeeds, and
// connects the instance anew when it is connected or wants to be. When the
// instance has the proxy already, it only dials. Errors: ErrNotFound, a
// RuleError wrapping ErrInvalidProxy, or ErrProxyUnreachable; nothing has
// changed then.
func (s *Supervisor) SetProxy(ctx context.Context, id int64, c ProxyChange, requestID string) (Proxy, error) {
	wanted, err := s.reg.check(c)
	if err != nil {
		return Proxy{}, err
	}
	if err := s.probe(ctx, wanted.Server, wanted.For); err != nil {
		return Proxy{}, err
	}
	var p Proxy
	err = s.changeProxy(ctx, id, requestID, func(ctx context.Context) (changed bool, err error) {
		p, changed, err = s.reg.PutProxy(ctx, id, c)
		return changed, err
	})
	return p, err
}

// DropProxy removes the proxy of an instance, connects it anew like SetProxy,
// and reports whether it had one. Errors: ErrNotFound.
func (s *Supervisor) DropProxy(ctx context.Context, id int64, requestID string) (had bool, err error) {
	err = s.changeProxy(ctx, id, requestID, func(ctx context.Context) (bool, error) {
		had, err = s.reg.DropProxy(ctx, id)
		return had, err
	})
	return had, err
}

// changeProxy makes a change of a proxy and then has nothing go the former way.
func (s *Supervisor) changeProxy(ctx context.Context, id int64, requestID string, change func(context.Context) (bool, error)) error {
	ctx = context.WithoutCancel(ctx) // the change and the new connection belong together
	k, err := s.keeper(ctx, id)
	switch {
	case errors.Is(err, ErrNotFound), errors.Is(err, errStopping):
		return err
	case err != nil: // its session cannot be read, and has no connection
		_, err := change(ctx)
		return err
	}
	if err := k.take(ctx); err != nil {
		return err
	}
	defer k.release()
	changed, err := change(ctx)
	if err != nil || !changed {
		return err
	}
	s.log.Info("the proxy of an instance was changed", "instance_id", id)
	k.reroute(requestID)
	return nil
}

// reroute ends what goes over a former proxy, and connects anew what was
// connected or wanted to be. A typed pairing code is lost with its connection.
// The caller has the turn.
func (k *keeper) reroute(requestID string) {
	k.mu.Lock()
	tries, byCode := k.wanted(), k.state == event.PairingCodeState
	k.mu.Unlock()
	if tries {
		k.quiet()
	}
	k.session.Reroute()
	switch {
	case byCode:
		k.set(event.Fact{Status: event.Disconnected, RequestID: requestID, Error: "the proxy was changed; ask for a new pairing code"})
	case tries:
		k.set(event.Fact{Status: event.Disconnected})
		k.begin(event.Connecting, requestID)
	}
}

// wanted reports whether the instance is connected, on its way there, or would
// be dialled again by itself after a start. The caller holds k.mu.
func (k *keeper) wanted() bool {
	if k.session.WrongNetwork() != nil {
		return false
	}
	switch {
	case k.dialing || k.underWay():
		return true
	case k.state == event.Online || k.state == event.KeepAliveTimeout:
		return true
	}
	return k.sup.cfg.AutoReconnect && k.session.Paired() && retries(k.state)
}

// ProxyTrial is how a dial through a proxy went.
type ProxyTrial struct {
	Latency time.Duration // to the end, good or bad
	Failed  *proxy.Error  // nil: WhatsApp answered
}

// TryProxy dials WhatsApp through the proxy that the instance uses: its own,
// else the one for all. Errors: ErrNotFound, ErrNoProxy, or that the proxy
// cannot be read.
func (s *Supervisor) TryProxy(ctx context.Context, id int64) (ProxyTrial, error) {
	via, uses := proxy.Server{}, proxy.Uses()
	own, err := s.reg.Proxy(id)
	switch {
	case err == nil:
		via, uses = own.Server, own.For
	case errors.Is(err, ErrNoProxy):
		via, err = s.reg.Via(id, proxy.Socket)
	}
	switch {
	case err != nil:
		return ProxyTrial{}, err
	case via.IsZero():
		return ProxyTrial{}, ErrNoProxy
	}
	return s.try(ctx, via, uses)
}

// probe dials WhatsApp through a proxy, unless the program stops.
func (s *Supervisor) probe(ctx context.Context, via proxy.Server, uses []proxy.Use) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.calls, cancel)()
	err := s.cfg.Connector.Probe(ctx, via, uses)
	switch {
	case err == nil:
		return nil
	case s.calls.Err() != nil:
		return errStopping
	}
	return fmt.Errorf("%w: %w", ErrProxyUnreachable, err)
}
