package standby

import (
	"context"
	"crypto/subtle"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"postern/cluster"
	"postern/httpapi/rest"
)

// Headers of a request that a standby forwards. The key is that of the cell, so a client
// cannot set the others.
const (
	headerForwarded = "Postern-Forwarded" // key of the cell
	headerClient    = "Postern-Client"    // address of the client
)

// dialTimeout bounds the wait for a connection to the owner, so that a request gets its
// 503 within five seconds.
const dialTimeout = 2 * time.Second

// forwarder passes requests to the owner.
type forwarder struct {
	cfg  Config
	wire *http.Transport

	mu    sync.Mutex
	owner ownership // of the requests that are on their way

	// Forwarded requests, by their result.
	ok, lost, refused atomic.Uint64
}

func newForwarder(c Config) *forwarder {
	return &forwarder{cfg: c, wire: &http.Transport{
		DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout: dialTimeout,
		MaxIdleConnsPerHost: 64,
		IdleConnTimeout:     30 * time.Second,
		DisableCompression:  true,
	}}
}

// ownership is the time during which one owner is known.
type ownership struct {
	epoch uint64
	ctx   context.Context
	end   context.CancelFunc
}

// watchEvery is how often a node looks whether the owner of its forwarded requests is
// still the one that they were forwarded to.
const watchEvery = 100 * time.Millisecond

// during returns a context that ends with r, and when the owner is lost: when its lease
// is over, or another node owns the cell.
func (f *forwarder) during(r *http.Request, epoch uint64) (context.Context, context.CancelFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.owner.ctx == nil || f.owner.epoch != epoch || f.owner.ctx.Err() != nil {
		if f.owner.end != nil {
			f.owner.end()
		}
		ctx, cancel := context.WithCancel(context.Background())
		f.owner = ownership{epoch, ctx, cancel}
		go f.watch(f.owner)
	}
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(f.owner.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// watch ends the requests to an owner when it is lost.
func (f *forwarder) watch(o ownership) {
	defer o.end()
	for o.ctx.Err() == nil {
		if s := f.cfg.State(); s.Cell.Epoch != o.epoch || s.Role == cluster.Owner || s.Role == cluster.Standby && !f.cfg.Owned(s) {
			return
		}
		time.Sleep(watchEvery)
	}
}

// genuine reports whether another node of the cell forwarded the request.
func (f *forwarder) genuine(r *http.Request) bool { return Genuine(r, f.cfg.Key()) }

// Genuine reports whether a node that knows the key of the cell forwarded the request.
func Genuine(r *http.Request, key string) bool {
	return key != "" && subtle.ConstantTimeCompare([]byte(r.Header.Get(headerForwarded)), []byte(key)) == 1
}

// Accept returns the request as the client sent it, with the client's address, if a node
// of the cell forwarded it. Headers of a request from outside are dropped.
func Accept(r *http.Request, key string) *http.Request {
	if r.Header.Get(headerForwarded) == "" && r.Header.Get(headerClient) == "" {
		return r
	}
	genuine, client := Genuine(r, key), r.Header.Get(headerClient)
	out := r.Clone(r.Context())
	for _, h := range []string{headerForwarded, headerClient} {
		out.Header.Del(h)
	}
	if genuine && client != "" {
		out.RemoteAddr = client
	}
	return out
}

// sent notes how far a request came.
type sent struct{ written atomic.Bool }

// body notes that the transport began to read the request, which it does once it has a
// connection.
type body struct {
	io.ReadCloser
	sent *sent
}

func (b body) Read(p []byte) (int, error) {
	b.sent.written.Store(true)
	return b.ReadCloser.Read(p)
}

// serve forwards the request to the owner and streams its answer.
func (f *forwarder) serve(c *rest.Call, cell cluster.Cell) error {
	owner := cell.Owner
	to, err := url.Parse(owner.Address)
	if err != nil {
		return rest.Refuse(http.StatusServiceUnavailable, CodeNoOwner, "the address of the owner cannot be read")
	}
	c.Response.Header().Set(HeaderOwner, owner.Name)
	var failed error
	state := &sent{}
	proxy := &httputil.ReverseProxy{
		Transport:     f.wire,
		FlushInterval: -1, // what the owner sends is passed on at once
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Scheme, p.Out.URL.Host = to.Scheme, to.Host
			p.Out.URL.Path, p.Out.URL.RawPath = join(to.Path, p.In.URL.Path), ""
			if p.In.URL.RawPath != "" {
				p.Out.URL.RawPath = join(to.EscapedPath(), p.In.URL.RawPath)
			}
			p.Out.URL.RawQuery = p.In.URL.RawQuery
			p.Out.Host = p.In.Host
			for _, h := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
				if v := p.In.Header.Values(h); len(v) > 0 {
					p.Out.Header[h] = v
				}
			}
			p.Out.Header.Set(rest.RequestIDHeader, c.Response.Header().Get(rest.RequestIDHeader))
			p.Out.Header.Set(headerForwarded, f.cfg.Key())
			p.Out.Header.Set(headerClient, c.Request.RemoteAddr)
			if p.Out.Body != nil && p.Out.Body != http.NoBody {
				p.Out.Body = body{p.Out.Body, state}
			}
		},
		ModifyResponse: func(answer *http.Response) error { // its headers replace those of this node
			for name := range answer.Header {
				c.Response.Header().Del(name)
			}
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) { failed = err },
	}
	ctx, done := f.during(c.Request, cell.Epoch)
	defer done()
	r := c.Request.WithContext(ctx)
	proxy.ServeHTTP(socketWriter{c.Response}, r)
	if failed == nil {
		f.ok.Add(1)
		return nil
	}
	return f.fail(c, proxy, r, failed, state)
}

// fail answers a request whose answer did not come.
func (f *forwarder) fail(c *rest.Call, proxy *httputil.ReverseProxy, r *http.Request, err error, state *sent) error {
	switch {
	case unsent(err):
		f.refused.Add(1)
		return rest.Refuse(http.StatusServiceUnavailable, CodeNoOwner, "the owner cannot be reached: "+errText(err))
	case safe(r.Method) && !state.written.Load() && r.Context().Err() == nil:
		again := error(nil)
		proxy.ErrorHandler = func(_ http.ResponseWriter, _ *http.Request, err error) { again = err }
		if proxy.ServeHTTP(c.Response, r); again == nil {
			f.ok.Add(1)
			return nil
		}
		f.refused.Add(1)
		return rest.Refuse(http.StatusServiceUnavailable, CodeNoOwner, "the owner cannot be reached: "+errText(again))
	case safe(r.Method):
		f.refused.Add(1)
		return rest.Refuse(http.StatusServiceUnavailable, CodeNoOwner, "the owner did not answer: "+errText(err))
	}
	f.lost.Add(1)
	return rest.Refuse(http.StatusBadGateway, CodeOwnerLost, "the owner was lost before it answered; whether it carried the request out is unknown: repeat it with the same Idempotency-Key")
}

// unsent reports whether the request surely did not reach the owner.
func unsent(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

func safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// join appends a path to the base path of an address.
func join(base, path string) string {
	if base == "" || base == "/" {
		return path
	}
	return strings.TrimSuffix(base, "/") + path
}
