package instance

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"postern/event"
	"postern/store"
	"postern/whatsapp/proxy"
)

// Errors about proxies.
var (
	// ErrNoProxy: the instance has no proxy.
	ErrNoProxy = errors.New("the instance has no proxy")
	// ErrInvalidProxy is wrapped by RuleErrors about a proxy.
	ErrInvalidProxy = errors.New("invalid proxy")
	// ErrProxyUnreachable: WhatsApp could not be dialled through the proxy. It
	// wraps a proxy.Error.
	ErrProxyUnreachable = errors.New("nothing was changed")
)

// Proxy is the proxy of an instance.
type Proxy struct {
	Server    proxy.Server
	For       []proxy.Use // in the order of proxy.Uses
	CreatedAt event.Time
	UpdatedAt event.Time
}

// ProxyChange is a request to set the proxy of an instance.
type ProxyChange struct {
	URL string
	For []proxy.Use // nil: everything
}

// storedProxy is a Proxy as the file has it. It has a bucket of its own and is no
// field of the record: a release that does not know the bucket refuses the file,
// where it would pass over the field, and dial without the proxy.
type storedProxy struct {
	URL       string      `json:"url"` // with the password
	For       []proxy.Use `json:"for"`
	CreatedAt event.Time  `json:"createdAt"`
	UpdatedAt event.Time  `json:"updatedAt"`
}

// heldProxy is what is known of an instance's proxy. After a failure there is
// one, and nothing is dialled until it is set anew or deleted.
type heldProxy struct {
	Proxy
	failed error
}

// check reads the change. Errors are RuleErrors wrapping ErrInvalidProxy.
func (r *Registry) check(c ProxyChange) (p Proxy, err error) {
	if p.Server, err = proxy.Parse(c.URL); err != nil {
		return Proxy{}, badProxy("url", err.Error())
	}
	if r.cfg.CheckProxy != nil {
		if err := r.cfg.CheckProxy(&url.URL{Host: p.Server.Address()}); err != nil {
			return Proxy{}, badProxy("url", err.Error())
		}
	}
	if c.For != nil {
		if err := checkUses(c.For); err != nil {
			return Proxy{}, badProxy("for", err.Error())
		}
	}
	for _, use := range proxy.Uses() {
		if c.For == nil || slices.Contains(c.For, use) {
			p.For = append(p.For, use)
		}
	}
	return p, nil
}

func badProxy(field, rule string) error { return &RuleError{field, rule, ErrInvalidProxy} }

// PutProxy stores the proxy of an instance; every dial from then on uses it.
// changed is false when it was set to the same already. Nobody is told: see
// Supervisor.SetProxy. Errors: ErrNotFound, or a RuleError wrapping
// ErrInvalidProxy.
func (r *Registry) PutProxy(ctx context.Context, id int64, c ProxyChange) (p Proxy, changed bool, err error) {
	e := r.entry(id)
	if e == nil {
		return Proxy{}, false, ErrNotFound
	}
	if p, err = r.check(c); err != nil {
		return Proxy{}, false, err
	}
	e.change.Lock()
	defer e.change.Unlock()
	if e.gone {
		return Proxy{}, false, ErrNotFound
	}
	before := e.proxy.Load()
	if before != nil && before.failed == nil && before.Server == p.Server && slices.Equal(before.For, p.For) {
		return before.clone(), false, nil
	}
	err = r.cfg.Store.Update(ctx, func(tx *store.Tx) error {
		p.UpdatedAt = event.At(tx.Now())
		p.CreatedAt = p.UpdatedAt
		if before != nil && before.failed == nil {
			p.CreatedAt = before.CreatedAt
		}
		return store.PutJSON(tx, proxies, store.Key(id), storedProxy{c.URL, p.For, p.CreatedAt, p.UpdatedAt})
	})
	if err != nil {
		return Proxy{}, false, fmt.Errorf("proxy of instance %d: %w", id, err)
	}
	e.proxy.Store(&heldProxy{Proxy: p})
	return p.clone(), true, nil
}

// DropProxy removes the proxy of an instance and reports whether it had one.
// Errors: ErrNotFound.
func (r *Registry) DropProxy(ctx context.Context, id int64) (had bool, err error) {
	e := r.entry(id)
	if e == nil {
		return false, ErrNotFound
	}
	e.change.Lock()
	defer e.change.Unlock()
	switch {
	case e.gone:
		return false, ErrNotFound
	case e.proxy.Load() == nil:
		return false, nil
	}
	err = r.cfg.Store.Update(ctx, func(tx *store.Tx) error { return tx.Delete(proxies, store.Key(id)) })
	if err != nil {
		return false, fmt.Errorf("delete proxy of instance %d: %w", id, err)
	}
	e.proxy.Store(nil)
	return true, nil
}

// Proxy returns the proxy of an instance, not the one that all have. Errors:
// ErrNotFound, ErrNoProxy, or that it cannot be read.
func (r *Registry) Proxy(id int64) (Proxy, error) {
	e := r.entry(id)
	if e == nil {
		return Proxy{}, ErrNotFound
	}
	held := e.proxy.Load()
	switch {
	case held == nil:
		return Proxy{}, ErrNoProxy
	case held.failed != nil:
		return Proxy{}, held.failed
	}
	return held.clone(), nil
}

func (p Proxy) clone() Proxy {
	p.For = slices.Clone(p.For)
	return p
}

// Via is the proxy that an instance has to use for something: its own, else
// Config.Proxy; the zero Server is none. An error means that it is not known,
// so that nothing may be dialled.
func (r *Registry) Via(id int64, use proxy.Use) (proxy.Server, error) {
	e := r.entry(id)
	if e == nil {
		return proxy.Server{}, ErrNotFound
	}
	if held := e.proxy.Load(); held != nil {
		switch {
		case held.failed != nil:
			return proxy.Server{}, fmt.Errorf("the proxy of the instance cannot be read; set it again or delete it: %w", held.failed)
		case slices.Contains(held.For, use):
			return held.Server, nil
		}
	}
	if r.cfg.Proxy == "" {
		return proxy.Server{}, nil
	}
	s, err := proxy.ParseFor(r.cfg.Proxy, e.record.Load().Name)
	if err != nil {
		return s, fmt.Errorf("the URL of the proxy for all instances %w", err)
	}
	return s, nil
}

// loadProxy takes over what the file has. What cannot be read is no reason to
// dial without it.
func (e *entry) loadProxy(tx *store.Tx, id int64) error {
	stored, found, err := store.GetJSON[storedProxy](tx, proxies, store.Key(id))
	switch {
	case errors.Is(err, store.ErrDamaged):
		e.proxy.Store(&heldProxy{failed: err})
		return nil
	case err != nil || !found:
		return err
	}
	held := &heldProxy{Proxy: Proxy{For: stored.For, CreatedAt: stored.CreatedAt, UpdatedAt: stored.UpdatedAt}}
	held.Server, err = proxy.Parse(stored.URL)
	if err == nil {
		err = checkUses(stored.For)
	}
	if err != nil {
		held.failed = tx.Unreadable(proxies, store.Key(id), err)
	}
	e.proxy.Store(held)
	return nil
}

// checkUses is the rule of what a proxy is for.
func checkUses(uses []proxy.Use) error {
	switch {
	case len(uses) == 0:
		return errors.New("must not be empty; delete the proxy to use none")
	case len(uses) > len(proxy.Uses()):
		return errors.New("must name each use once")
	}
	for _, use := range uses {
		if !slices.Contains(proxy.Uses(), use) {
			return errors.New("must have socket, media or both, and nothing else")
		}
	}
	return nil
}
