package whatsapp

import (
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"postern/event"
	"postern/whatsapp/proxy"
	"postern/whatsapp/proxy/proxytest"
)

func TestAllConnectionsUseTheProxy(t *testing.T) {
	const login = "someone:pa55word"
	for _, scheme := range []string{"http", "https", "socks5"} {
		for _, named := range []bool{true, false} {
			t.Run(scheme+map[bool]string{true: " to a name", false: " to an address"}[named], func(t *testing.T) {
				px := proxytest.New(t, scheme)
				px.Ask(login)
				cfg := Config{Media: newFiles(t, "the file")}
				cfg.Proxies.Roots = px.Roots()
				p := newProxied(t, cfg, named)
				px.Route(func(string) string { return p.real })
				p.through(t, px.URL(login), proxy.Uses()...)

				p.pair()
				to := p.contact()
				if _, err := p.send(to.JID(), "hello through a proxy"); err != nil {
					t.Fatal(err)
				}
				reads(t, to, "hello through a proxy")
				before := len(px.Asked())
				file := p.sentFile(event.MediaDocument)
				f := emptyFile(t)
				must(t, p.session.Account.Files.Download(t.Context(), file, f, 100))
				if got, err := os.ReadFile(f.Name()); err != nil || string(got) != "the file" {
					t.Errorf("down came %q (%v)", got, err)
				}
				if len(px.Asked()) == before {
					t.Error("files went another way")
				}
				px.Cut()
				p.state(event.Reconnecting)
				p.state(event.Online)
				p.restart() // a new life over the same file
				p.connect()
				p.state(event.Online)
				p.onlyAsked(t, px)
				for _, said := range px.Logins() {
					if said != login {
						t.Errorf("the proxy was sent %q", said)
					}
				}
				for _, at := range p.dialed {
					if at != px.Address() {
						t.Errorf("%s was dialled", at)
					}
				}
				p.session.Disconnect()
			})
		}
	}
}

func TestProxyFailureIsNotBypassed(t *testing.T) {
	garbage := func(c net.Conn) bool {
		_, _ = io.WriteString(c, "\x00\xff\x00 garbage\r\n\r\n")
		return false
	}
	afterwards := func(c net.Conn) bool { // the tunnel stands, and then this
		_, _ = c.Read(make([]byte, 1024))
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		_, _ = c.Read(make([]byte, 1024))
		_, _ = io.WriteString(c, "garbage instead of TLS, and more of it")
		return false
	}
	silent := func(c net.Conn) bool {
		_, _ = io.Copy(io.Discard, c)
		return false
	}
	deaf := func(c net.Conn) bool { // the tunnel stands, and nothing comes through
		_, _ = c.Read(make([]byte, 1024))
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		return silent(c)
	}
	for name, tc := range map[string]struct {
		scheme string
		spoil  func(*proxytest.Proxy)
		step   proxy.Step
		words  string
	}{
		"it dies":                    {"http", (*proxytest.Proxy).Close, proxy.Connect, "refused"},
		"it dies, socks":             {"socks5", (*proxytest.Proxy).Close, proxy.Connect, "refused"},
		"it answers garbage":         {"http", func(p *proxytest.Proxy) { p.Answer(garbage) }, proxy.Connect, "not an HTTP proxy"},
		"it answers garbage, socks":  {"socks5", func(p *proxytest.Proxy) { p.Answer(garbage) }, proxy.Connect, "not a SOCKS5 proxy"},
		"it carries garbage":         {"http", func(p *proxytest.Proxy) { p.Answer(afterwards) }, proxy.TLS, "TLS"},
		"it asks for a password":     {"http", func(p *proxytest.Proxy) { p.Ask("someone:pa55word") }, proxy.Auth, "requires a user"},
		"it asks, socks":             {"socks5", func(p *proxytest.Proxy) { p.Ask("someone:pa55word") }, proxy.Auth, "requires a user"},
		"it says nothing":            {"http", func(p *proxytest.Proxy) { p.Answer(silent) }, proxy.Connect, "no answer in time"},
		"it says nothing, socks":     {"socks5", func(p *proxytest.Proxy) { p.Answer(silent) }, proxy.Connect, "no answer in time"},
		"it carries nothing":         {"http", func(p *proxytest.Proxy) { p.Answer(deaf) }, proxy.TLS, "no answer in time"},
		"WhatsApp is behind no more": {"http", func(p *proxytest.Proxy) { p.Route(func(string) string { return "" }) }, proxy.Connect, "status 502"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits more than it works
			timeout := 20 * time.Second
			if tc.words == "no answer in time" {
				timeout = 5 * time.Second
			}
			p := newProxied(t, Config{ConnectTimeout: timeout}, false)
			px := p.proxy(t, tc.scheme)
			p.through(t, px.URL(""), proxy.Uses()...)
			p.pair()
			p.rig.mu.Lock()
			p.redial = false
			p.rig.mu.Unlock()

			tc.spoil(px)
			px.Cut()
			p.state(event.Reconnecting)
			wantStep(t, p.dialFails(t), tc.step, tc.words)
			if p.session.Online() {
				t.Error("it is online")
			}

			good := p.proxy(t, tc.scheme)
			p.through(t, good.URL(""), proxy.Uses()...)
			p.connect()
			p.state(event.Online)
			p.onlyAsked(t, good)
		})
	}
}

func TestUploadFailsWithoutItsProxy(t *testing.T) {
	p := newProxied(t, Config{Media: newFiles(t, "x")}, false)
	px, files := p.proxy(t, "http"), p.proxy(t, "socks5")
	p.through(t, px.URL(""), proxy.Socket)
	server, err := proxy.Parse(files.URL(""))
	must(t, err)
	p.mu.Lock()
	p.use[proxy.Media] = server
	p.mu.Unlock()
	p.pair()
	p.sentFile(event.MediaDocument)
	if len(files.Asked()) == 0 {
		t.Error("the file went over the socket's proxy")
	}
	files.Close()
	p.session.lines.media.client.CloseIdleConnections()
	out := event.Outgoing{ID: NewMessageID(), To: p.contact().JID().String(), Content: event.Content{Media: &event.Media{Kind: event.MediaDocument}}}
	_, err = p.session.Send(t.Context(), out)
	if !errors.Is(err, event.ErrNotConnected) {
		t.Errorf("the send ended in %v", err)
	}
	wantStep(t, err, proxy.Connect, "refused")
	if _, err := p.send(p.contact().JID(), "the socket works"); err != nil {
		t.Errorf("a text after it: %v", err)
	}
}

func TestUsesWithoutAProxyConnectDirectly(t *testing.T) {
	p := newProxied(t, Config{Media: newFiles(t, "x")}, false)
	p.cfg.Endpoint.URL = "wss://" + p.real + "/ws/chat" // no trap: something goes without
	p.restart()
	px := p.proxy(t, "http")
	p.through(t, px.URL(""), proxy.Media)
	p.pair()
	if n := len(px.Asked()); n != 0 {
		t.Errorf("the socket asked the proxy %d times", n)
	}
	p.sentFile(event.MediaDocument)
	if len(px.Asked()) == 0 {
		t.Error("the file went without it")
	}

	other := p.proxy(t, "http")
	p.through(t, other.URL(""), proxy.Socket)
	p.session.Disconnect()
	p.connect()
	p.state(event.Online)
	n := len(other.Asked())
	p.sentFile(event.MediaDocument)
	if n == 0 || len(other.Asked()) != n {
		t.Errorf("the socket asked %d times, and a file %d", n, len(other.Asked())-n)
	}
}

func TestUnknownProxyPreventsDials(t *testing.T) {
	p := newProxied(t, Config{}, false)
	p.fail(errors.New("its record is damaged"))
	err := p.dialFails(t)
	if !strings.Contains(err.Error(), "not dialled: its record is damaged") {
		t.Errorf("the reason is %q", err)
	}
	p.fail(nil)
	p.through(t, p.proxy(t, "http").URL(""), proxy.Uses()...)
	p.pair()
}

func TestAChangeClosesWhatGoesTheFormerWay(t *testing.T) {
	p := newProxied(t, Config{Media: newFiles(t, "x")}, false)
	a, b := p.proxy(t, "http"), p.proxy(t, "http")
	p.through(t, a.URL(""), proxy.Uses()...)
	p.pair()
	p.sentFile(event.MediaDocument) // its connection stays open for the next
	if a.Open() < 2 {
		t.Fatalf("%d connections to the first proxy", a.Open())
	}
	p.through(t, b.URL(""), proxy.Uses()...)
	p.session.Disconnect()
	p.session.Reroute()
	eventually(t, "closed the connections to the first proxy", func() bool { return a.Open() == 0 })
	asked := len(a.Asked())
	p.connect()
	p.state(event.Online)
	p.sentFile(event.MediaDocument)
	if len(a.Asked()) != asked || len(b.Asked()) < 2 {
		t.Errorf("the first proxy was asked %d times more, the second %d", len(a.Asked())-asked, len(b.Asked()))
	}
	carried := a.Carried()
	if _, err := p.send(p.contact().JID(), "one more"); err != nil {
		t.Fatal(err)
	}
	if a.Carried() != carried {
		t.Error("the first proxy still carries")
	}
}

func TestProxyChangeStopsAnUpload(t *testing.T) {
	for name, arrange := range map[string]func(files *proxytest.Proxy, reached, over chan struct{}){
		"before its connection stands": func(files *proxytest.Proxy, reached, over chan struct{}) {
			files.Answer(func(net.Conn) bool {
				close(reached)
				<-over
				return false
			})
		},
		"half way": func(files *proxytest.Proxy, reached, _ chan struct{}) {
			go func() {
				for files.Carried() < 256<<10 {
					time.Sleep(time.Millisecond)
				}
				files.Stall()
				close(reached)
			}()
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProxied(t, Config{Media: newFiles(t, strings.Repeat("x", 64<<20))}, false)
			socket, files := p.proxy(t, "http"), p.proxy(t, "http")
			p.through(t, socket.URL(""), proxy.Socket)
			server, err := proxy.Parse(files.URL(""))
			must(t, err)
			p.mu.Lock()
			p.use[proxy.Media] = server
			p.mu.Unlock()
			p.pair()
			reached, over := make(chan struct{}), make(chan struct{})
			defer close(over)
			arrange(files, reached, over)
			ended := make(chan error, 1)
			go func() {
				out := event.Outgoing{ID: NewMessageID(), To: p.contact().JID().String(), Content: event.Content{Media: &event.Media{Kind: event.MediaDocument}}}
				_, err := p.session.Send(t.Context(), out)
				ended <- err
			}()
			<-reached
			p.through(t, socket.URL(""), proxy.Uses()...)
			p.session.Disconnect()
			p.session.Reroute()
			select {
			case err := <-ended:
				if !errors.Is(err, event.ErrNotConnected) {
					t.Errorf("it ended in %v", err)
				}
			case <-time.After(20 * time.Second):
				t.Error("it goes on")
			}
		})
	}
}

func TestProxyChangeAppliesToTheNextRequest(t *testing.T) {
	p := newProxied(t, Config{}, false)
	a, b := p.proxy(t, "http"), p.proxy(t, "socks5")
	get := func() {
		t.Helper()
		res, err := p.session.lines.media.client.Get("https://mmg.whatsapp.net/nothing")
		must(t, err)
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
	}
	p.through(t, a.URL(""), proxy.Uses()...)
	get()
	get()
	p.through(t, b.URL(""), proxy.Uses()...)
	get()
	if len(a.Asked()) != 1 || len(b.Asked()) != 1 {
		t.Errorf("the first proxy was asked %d times, the second %d", len(a.Asked()), len(b.Asked()))
	}
	eventually(t, "closed the connection to the first proxy", func() bool { return a.Open() == 0 })
	p.session.lines.media.client.CloseIdleConnections()
	eventually(t, "closed the idle connection", func() bool { return b.Open() == 0 })
}

func TestInstancesShareNoConnectionOfTheirProxies(t *testing.T) {
	p := newProxied(t, Config{Media: newFiles(t, "x")}, false)
	px := p.proxy(t, "http")
	mine, err := proxy.Parse(px.URL("mine:x"))
	must(t, err)
	others, err := proxy.Parse(px.URL("others:x"))
	must(t, err)
	conn := &Connector{cfg: p.conn.cfg, endpoint: p.conn.endpoint}
	conn.cfg.Proxy = func(instance int64, _ proxy.Use) (proxy.Server, error) {
		return map[int64]proxy.Server{1: mine, 2: others}[instance], nil
	}
	for instance := range int64(2) {
		lines := conn.newLines(instance + 1)
		for range 2 {
			res, err := lines.media.client.Get("https://mmg.whatsapp.net/nothing")
			must(t, err)
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
		}
		defer lines.media.client.CloseIdleConnections()
	}
	if got := px.Logins(); !slices.Equal(got, []string{"mine:x", "others:x"}) {
		t.Errorf("the proxy was sent %q", got)
	}
}

func TestProxyWithoutAnEndpointDialsWhatsApp(t *testing.T) {
	server := proxytest.New(t, "https") // something with TLS, and an untrusted certificate
	px := proxytest.New(t, "http")
	px.Route(func(string) string { return server.Address() })
	via, err := proxy.Parse(px.URL(""))
	must(t, err)
	before := lookups.Load()
	c := &Connector{cfg: Config{Proxy: func(int64, proxy.Use) (proxy.Server, error) { return via, nil }}.withDefaults()}
	for _, tc := range []struct {
		uses []proxy.Use
		want string
	}{{proxy.Uses(), "web.whatsapp.com:443"}, {[]proxy.Use{proxy.Socket}, "web.whatsapp.com:443"}, {[]proxy.Use{proxy.Media}, "mmg.whatsapp.net:443"}} {
		asked := len(px.Asked())
		wantStep(t, c.Probe(t.Context(), via, tc.uses), proxy.TLS, "its certificate is")
		if got := px.Asked()[asked:]; !slices.Equal(got, []string{tc.want}) {
			t.Errorf("%v: the proxy was asked for %q", tc.uses, got)
		}
	}
	if res, err := c.newLine(1, proxy.Socket).client.Get("http://web.whatsapp.com/"); err == nil {
		_ = res.Body.Close()
		t.Error("plain text was spoken")
	}
	if lookups.Load() != before {
		t.Error("a name was looked up")
	}
}
