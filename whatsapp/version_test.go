package whatsapp

import (
	"context"
	"errors"
	"maps"
	stdnet "net"
	"slices"
	"strings"
	"testing"
	"time"

	wastore "go.mau.fi/whatsmeow/store"

	"postern/event"
	"postern/sandbox/network"
	"postern/whatsapp/proxy"
	"postern/whatsapp/proxy/proxytest"
)

func later(v Version) Version {
	v[2]++
	return v
}

func (r *rig) require(v Version) { r.net.RequireVersion(wastore.WAVersionContainer(v)) }

func TestParseVersionAcceptsOneKind(t *testing.T) {
	builtin := BuiltinVersion()
	if v, err := ParseVersion(builtin.String()); err != nil || v != builtin {
		t.Errorf("%v, %v", v, err)
	}
	if v, err := ParseVersion("2.3000.4294967295"); err != nil || v != (Version{2, 3000, 4294967295}) {
		t.Errorf("%v, %v", v, err)
	}
	for _, text := range []string{"", "2.3000", "2.3000.", "2.3000.0", "2.3000.01", "2.3000.+1", "2.3000.-1", "2.3000.1.", "2.3000.1.1", "2.3000.4294967296", "2.2000.1", "3.3000.1", " 2.3000.1", "2.3000.1 ", "v2.3000.1", "2.3000.x"} {
		if v, err := ParseVersion(text); err == nil {
			t.Errorf("%q is read as %v", text, v)
		}
	}
}

func TestVersionOrder(t *testing.T) {
	ordered := []Version{{1, 9, 9}, {2, 3000, 1}, {2, 3000, 2}, {2, 3001, 1}, {3, 0, 0}}
	for i, a := range ordered {
		for j, b := range ordered {
			if a.Less(b) != (i < j) {
				t.Errorf("%v is older than %v: %t", a, b, a.Less(b))
			}
		}
	}
}

// TestPairingAfterAVersionChange: the rejection is reported with the client's version,
// the pairing ends, and the next dial announces the version set since.
func TestPairingAfterAVersionChange(t *testing.T) {
	t.Parallel()
	r := newRigAlone(t)
	newer := later(BuiltinVersion())
	r.require(newer)
	r.connect()
	f := r.state(event.ClientOutdated)
	if f.ClientVersion != BuiltinVersion().String() || f.Reason != 405 || f.Kind != event.StatusInstance {
		t.Errorf("%+v", f)
	}
	if r.session.linker.current() != nil {
		t.Error("the pairing goes on")
	}
	r.conn.SetVersion(newer)
	r.pair()

	newest := later(newer)
	r.require(newest) // cuts the connection, too
	r.state(event.Reconnecting)
	if f := r.state(event.ClientOutdated); f.ClientVersion != newer.String() {
		t.Errorf("refused as %s", f.ClientVersion)
	}
	r.conn.SetVersion(newest)
	r.connect()
	r.state(event.Online)
	if r.session.introducedAs() != newest.String() {
		t.Errorf("connected as %s", r.session.introducedAs())
	}
}

func TestPairCodeOfARefusedClientFails(t *testing.T) {
	t.Parallel()
	r := newRigAlone(t)
	r.require(later(BuiltinVersion()))
	r.mu.Lock()
	r.refuse = func(event.Fact) error { // takes its time, as a disk does
		time.Sleep(50 * time.Millisecond)
		return nil
	}
	r.mu.Unlock()
	began := time.Now()
	_, err := r.session.PairCode(t.Context(), "4915730000001")
	if !errors.Is(err, event.ErrNotConnected) || time.Since(began) > r.conn.cfg.PairingTimeout/2 {
		t.Errorf("%v after %v", err, time.Since(began))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.history); n == 0 || r.history[n-1].Status != event.ClientOutdated {
		t.Errorf("reported by then: %+v", r.history)
	}
}

func TestAskVersionAtTheEndpoint(t *testing.T) {
	t.Parallel()
	newer := later(BuiltinVersion())
	for site, want := range map[network.Site]string{
		network.SiteCurrent:     "",
		network.SiteLower:       "", // whether it can be true is for others to say
		network.SiteNone:        "version number not found",
		network.SiteMajor:       "version number not found",
		network.SiteEndless:     "the site's page is too long",
		network.SiteSlow:        "no answer in time",
		network.SiteLoop:        "the site redirects too often",
		network.SiteElsewhere:   "the site redirects to another one",
		network.SiteUnavailable: "the site answered with status 503",
	} {
		t.Run(string(site), func(t *testing.T) {
			t.Parallel()
			r := newRigAlone(t)
			r.require(newer)
			r.net.SetSite(site)
			began := time.Now()
			v, err := r.conn.AskVersion(t.Context(), 1)
			took := time.Since(began)
			switch {
			case want == "" && (err != nil || site == network.SiteCurrent && v != newer || site == network.SiteLower && !v.Less(BuiltinVersion())):
				t.Errorf("%v, %v", v, err)
			case want != "" && (err == nil || err.Error() != "request the client version: "+want):
				t.Errorf("%v, %v", v, err)
			}
			if site == network.SiteSlow && (took < askTimeout || took > 3*askTimeout) {
				t.Errorf("gave up after %v", took)
			}
			times := 1
			if site == network.SiteLoop {
				times = 1 + maxRedirects
			}
			if asked := r.net.Asked(); !maps.Equal(asked, map[string]int{"web.whatsapp.com": times}) {
				t.Errorf("asked %v", asked)
			}
		})
	}
}

func TestAskVersionTrustsOnlyTheEndpointCA(t *testing.T) {
	t.Parallel()
	r := newRigAlone(t)
	_, stranger := authority(t, "web.whatsapp.com")
	conn, err := New(Config{Devices: r.conn.cfg.Devices, Endpoint: &Endpoint{URL: r.conn.cfg.Endpoint.URL, CA: stranger, RootKey: r.conn.cfg.Endpoint.RootKey}})
	if err == nil {
		_, err = conn.AskVersion(t.Context(), 1)
	}
	if err == nil || !strings.Contains(err.Error(), "TLS") || len(r.net.Asked()) != 0 {
		t.Errorf("%v, asked %v", err, r.net.Asked())
	}
}

// TestTheQuestionGoesTheWayOfItsInstance: through its proxy, even if that fails, and
// not at all if it is unknown.
func TestTheQuestionGoesTheWayOfItsInstance(t *testing.T) {
	t.Parallel()
	const direct, proxied, unknown, dead, closed, garbling = 1, 2, 3, 4, 5, 6
	net, err := openSandbox()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = net.Close() })
	good, gone, guarded, garbled := proxytest.New(t, "http"), proxytest.New(t, "socks5"), proxytest.New(t, "http"), proxytest.New(t, "http")
	address := gone.URL("")
	gone.Close()
	guarded.Ask("someone:secret")
	garbled.Answer(func(c stdnet.Conn) bool {
		_, _ = c.Write([]byte(strings.Repeat("what?", 1000)))
		return false
	})
	ways := map[int64]string{direct: "", proxied: good.URL(""), dead: address, closed: guarded.URL("someone:else"), garbling: garbled.URL("")}
	r := newRigOn(t, net, Config{Proxy: func(instance int64, use proxy.Use) (proxy.Server, error) {
		switch url, known := ways[instance]; {
		case !known:
			return proxy.Server{}, errors.New("its record is damaged")
		case url == "":
			return proxy.Server{}, nil
		default:
			return proxy.Parse(url)
		}
	}})
	asked := 0
	for instance := range int64(garbling) {
		instance++
		v, err := r.conn.AskVersion(t.Context(), instance)
		reaches := instance == direct || instance == proxied
		if reaches {
			asked++
		}
		if reaches != (err == nil) || reaches && v != BuiltinVersion() {
			t.Errorf("instance %d: %v, %v", instance, v, err)
		}
		if got := net.Asked()["web.whatsapp.com"]; got != asked {
			t.Errorf("after instance %d the site was asked %d times, want %d", instance, got, asked)
		}
	}
	if host := strings.Split(net.Endpoint().URL, "/")[2]; !slices.Equal(good.Asked(), []string{host}) {
		t.Errorf("the proxy was asked for %v, want %s", good.Asked(), host)
	}
	eventually(t, "the connection of the question is closed", func() bool { return good.Open() == 0 })
}

func TestAQuestionEndsWithItsContext(t *testing.T) {
	t.Parallel()
	r := newRigAlone(t)
	r.net.SetSite(network.SiteSlow)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := r.conn.AskVersion(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
