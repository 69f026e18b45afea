package instance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"postern/event"
	"postern/whatsapp/proxy"
)

// SetProxy dials WhatsApp through a proxy, stores it if that succeeds, and reconnects the
// instance if it is connected or wants to be. If the instance has the proxy already,
// SetProxy only dials. Errors: ErrNotFound, an event.RuleError wrapping ErrInvalidProxy, or
// ErrProxyUnreachable; nothing has changed then.
func (s *Supervisor) SetProxy(ctx context.Context, id int64, c ProxyChange, requestID string) (Proxy, error) {
	wanted, err := c.check(s.reg.cfg.CheckProxy)
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

// DropProxy removes the proxy of an instance, reconnects it as SetProxy does, and reports
// whether it had one. Errors: ErrNotFound.
func (s *Supervisor) DropProxy(ctx context.Context, id int64, requestID string) (had bool, err error) {
	err = s.changeProxy(ctx, id, requestID, func(ctx context.Context) (bool, error) {
		had, err = s.reg.DropProxy(ctx, id)
		return had, err
	})
	return had, err
}

// changeProxy changes a proxy and then closes all connections over the former one.
func (s *Supervisor) changeProxy(ctx context.Context, id int64, requestID string, change func(context.Context) (bool, error)) error {
	ctx = context.WithoutCancel(ctx) // do not stop between the change and the reconnect
	k, err := s.keeper(ctx, id)
	switch {
	case errors.Is(err, ErrNotFound), errors.Is(err, errStopping):
		return err
	case err != nil: // its session is unreadable, and has no connection
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
	s.log.Info("proxy of instance changed", "instance_id", id)
	k.reroute(requestID)
	return nil
}

// reroute closes connections over a former proxy, and reconnects the instance if it was
// connected or wanted to be. A typed pairing code is lost with its connection. The caller
// holds the turn.
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

// wanted reports whether the instance is connected, connecting, or would be dialled again
// after a start. The caller holds k.mu.
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

// ProxyTrial is the result of a dial through a proxy.
type ProxyTrial struct {
	Latency time.Duration // until success or failure
	Failed  *proxy.Error  // nil: WhatsApp answered
}

// TryProxy dials WhatsApp through the proxy that the instance uses: its own, else the
// global one. Errors: ErrNotFound, ErrNoProxy, or that the proxy is unreadable.
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
