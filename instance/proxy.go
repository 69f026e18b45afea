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
	// ErrInvalidProxy is wrapped by event.RuleErrors about a proxy.
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
	For []proxy.Use // nil: all uses
}

// storedProxy is a Proxy as stored. It has a bucket of its own: a release that does not
// know the bucket rejects the file, whereas it would ignore a field of the record and
// dial without the proxy.
type storedProxy struct {
	URL       string      `json:"url"` // with password
	For       []proxy.Use `json:"for"`
	CreatedAt event.Time  `json:"createdAt"`
	UpdatedAt event.Time  `json:"updatedAt"`
}

// heldProxy is the cached proxy of an instance. If loading failed, nothing dials until
// the proxy is set again or deleted.
type heldProxy struct {
	Proxy
	failed error
}

// check validates the change; allow rejects forbidden hosts, nil allows all. Errors are
// event.RuleErrors wrapping ErrInvalidProxy.
func (c ProxyChange) check(allow func(*url.URL) error) (p Proxy, err error) {
	if p.Server, err = proxy.Parse(c.URL); err != nil {
		return Proxy{}, badProxy("url", err.Error())
	}
	if allow != nil {
		if err := allow(&url.URL{Host: p.Server.Address()}); err != nil {
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

func badProxy(field, rule string) error {
	return &event.RuleError{Field: field, Rule: rule, Kind: ErrInvalidProxy}
}

// PutProxy stores the proxy of an instance; every later dial uses it. changed is false if
// it was set already. PutProxy does not reconnect: see Supervisor.SetProxy. Errors:
// ErrNotFound, or an event.RuleError wrapping ErrInvalidProxy.
func (r *Registry) PutProxy(ctx context.Context, id int64, c ProxyChange) (p Proxy, changed bool, err error) {
	e := r.entry(id)
	if e == nil {
		return Proxy{}, false, ErrNotFound
	}
	if p, err = c.check(r.cfg.CheckProxy); err != nil {
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

// Proxy returns the instance's own proxy, not the global one. Errors: ErrNotFound,
// ErrNoProxy, or that it is unreadable.
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

// Via returns the proxy that an instance must use for a purpose: its own, else
// Config.Proxy; the zero Server is none. On error the proxy is unknown and nothing may be
// dialled.
func (r *Registry) Via(id int64, use proxy.Use) (proxy.Server, error) {
	e := r.entry(id)
	if e == nil {
		return proxy.Server{}, ErrNotFound
	}
	if held := e.proxy.Load(); held != nil {
		switch {
		case held.failed != nil:
			return proxy.Server{}, fmt.Errorf("the instance's proxy is unreadable; set it again or delete it: %w", held.failed)
		case slices.Contains(held.For, use):
			return held.Server, nil
		}
	}
	if r.cfg.Proxy == "" {
		return proxy.Server{}, nil
	}
	s, err := proxy.ParseFor(r.cfg.Proxy, e.record.Load().Name)
	if err != nil {
		return s, fmt.Errorf("the URL of the global proxy %w", err)
	}
	return s, nil
}

// loadProxy loads the stored proxy. An unreadable proxy must not lead to dialling without
// one.
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

// checkUses checks the uses of a proxy.
func checkUses(uses []proxy.Use) error {
	switch {
	case len(uses) == 0:
		return errors.New("must not be empty; to use no proxy, delete it")
	case len(uses) > len(proxy.Uses()):
		return errors.New("must name each use once")
	}
	for _, use := range uses {
		if !slices.Contains(proxy.Uses(), use) {
			return errors.New("must be socket, media or both")
		}
	}
	return nil
}
