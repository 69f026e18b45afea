package proxy_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"postern/internal/netfault"
	"postern/whatsapp/proxy"
	"postern/whatsapp/proxy/proxytest"
)

const target = "web.whatsapp.example:443" // no resolver knows it

// echo is a server that echoes everything.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}()
		}
	}()
	return l.Addr().String()
}

func parse(t *testing.T, url string) proxy.Server {
	t.Helper()
	s, err := proxy.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEveryProxyKindReachesTheServer(t *testing.T) {
	server := echo(t)
	for _, scheme := range []string{"http", "https", "socks5"} {
		for name, login := range map[string]string{"open": "", "with a password": "us%r:pa ss@w/ö:rd"} {
			t.Run(scheme+" "+name, func(t *testing.T) {
				p := proxytest.New(t, scheme)
				p.Ask(login)
				p.Route(func(string) string { return server })
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				c, err := proxy.Dialer{Roots: p.Roots()}.Dial(ctx, parse(t, p.URL(login)), target)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = c.Close() }()
				cancel() // the connection outlives the dial
				if _, err := io.WriteString(c, "hello"); err != nil {
					t.Fatal(err)
				}
				back := make([]byte, 5)
				if _, err := io.ReadFull(c, back); err != nil || string(back) != "hello" {
					t.Fatalf("%q came back (%v)", back, err)
				}
				if got := p.Asked(); len(got) != 1 || got[0] != target {
					t.Errorf("the proxy was asked for %q", got)
				}
				if got := p.Logins(); login != "" && (len(got) != 1 || got[0] != login) {
					t.Errorf("the proxy was sent %q", got)
				}
			})
		}
	}
}

func TestDialErrorNamesItsStep(t *testing.T) {
	endless := func(text string) func(net.Conn) bool {
		return func(c net.Conn) bool {
			for {
				if _, err := io.WriteString(c, text); err != nil {
					return false
				}
			}
		}
	}
	once := func(text string) func(net.Conn) bool {
		return func(c net.Conn) bool {
			_, _ = c.Read(make([]byte, 1024))
			_, _ = io.WriteString(c, text)
			_, _ = io.Copy(io.Discard, c)
			return false
		}
	}
	metadata := func(string, string, syscall.RawConn) error { return netfault.ErrAddress }
	for name, tc := range map[string]struct {
		scheme  string
		arrange func(*proxytest.Proxy)
		login   string
		dialer  proxy.Dialer
		url     string // instead of the proxy's
		step    proxy.Step
		words   string
	}{
		"its name is not known":           {url: "http://user:pa55word@proxy.invalid:3128", step: proxy.Resolve},
		"no listener":                     {scheme: "http", arrange: (*proxytest.Proxy).Close, step: proxy.Connect, words: "the connection was refused"},
		"no listener, socks":              {scheme: "socks5", arrange: (*proxytest.Proxy).Close, step: proxy.Connect, words: "the connection was refused"},
		"its address is refused":          {scheme: "http", dialer: proxy.Dialer{Control: metadata}, step: proxy.Connect, words: "its address is not allowed"},
		"it asks for a password":          {scheme: "http", arrange: func(p *proxytest.Proxy) { p.Ask("a:b") }, step: proxy.Auth, words: "it requires a user and password"},
		"it asks for a password, socks":   {scheme: "socks5", arrange: func(p *proxytest.Proxy) { p.Ask("a:b") }, step: proxy.Auth, words: "it requires a user and password"},
		"it refuses the password":         {scheme: "http", login: "user:pa55word", arrange: func(p *proxytest.Proxy) { p.Ask("a:b") }, step: proxy.Auth, words: "it rejected the user and password"},
		"it refuses the password, socks":  {scheme: "socks5", login: "user:pa55word", arrange: func(p *proxytest.Proxy) { p.Ask("a:b") }, step: proxy.Auth, words: "it rejected the user and password"},
		"its certificate is untrusted":    {scheme: "https", step: proxy.TLS, words: "not signed by a trusted authority"},
		"it has no TLS":                   {scheme: "http", url: "https", step: proxy.TLS, words: "does not speak TLS"},
		"it cannot reach the server":      {scheme: "http", arrange: func(p *proxytest.Proxy) { p.Route(func(string) string { return "" }) }, step: proxy.Connect, words: "status 502"},
		"it cannot reach the server, sox": {scheme: "socks5", arrange: func(p *proxytest.Proxy) { p.Route(func(string) string { return "" }) }, step: proxy.Connect, words: "host unreachable"},
		"it is a web server": {scheme: "http", arrange: func(p *proxytest.Proxy) {
			p.Answer(once("HTTP/1.1 301 Moved\r\nLocation: https://secret.example/\r\n\r\n"))
		}, step: proxy.Connect, words: "status 301"},
		"it answers garbage":              {scheme: "http", arrange: func(p *proxytest.Proxy) { p.Answer(once("\x00\xffgarbage of secret.example\r\n\r\n")) }, step: proxy.Connect, words: "not an HTTP proxy"},
		"it answers garbage, socks":       {scheme: "socks5", arrange: func(p *proxytest.Proxy) { p.Answer(once("HTTP/1.1 200 OK\r\n\r\n")) }, step: proxy.Connect, words: "not a SOCKS5 proxy"},
		"it never ends its answer":        {scheme: "http", arrange: func(p *proxytest.Proxy) { p.Answer(endless("HTTP/1.1 200 OK\r\nA: b\r\n")) }, step: proxy.Connect},
		"its headers never end":           {scheme: "http", arrange: func(p *proxytest.Proxy) { p.Answer(endless("HTTP/1.1 ")) }, step: proxy.Connect},
		"it never ends its answer, socks": {scheme: "socks5", arrange: func(p *proxytest.Proxy) { p.Answer(endless("\x05\x01")) }, step: proxy.Connect},
		"it says more than was asked":     {scheme: "http", arrange: func(p *proxytest.Proxy) { p.Answer(once("HTTP/1.1 200 OK\r\n\r\nsecret.example")) }, step: proxy.Connect, words: "unexpected data"},
		"it hangs up":                     {scheme: "http", arrange: func(p *proxytest.Proxy) { p.Answer(func(net.Conn) bool { return false }) }, step: proxy.Connect},
		"it hangs up, socks":              {scheme: "socks5", arrange: func(p *proxytest.Proxy) { p.Answer(func(net.Conn) bool { return false }) }, step: proxy.Connect},
		"it says nothing":                 {scheme: "http", arrange: func(p *proxytest.Proxy) { p.Answer(silence) }, step: proxy.Connect, words: "no answer in time"},
		"it says nothing, socks":          {scheme: "socks5", arrange: func(p *proxytest.Proxy) { p.Answer(silence) }, step: proxy.Connect, words: "no answer in time"},
		"it says nothing, TLS":            {scheme: "http", url: "https", arrange: func(p *proxytest.Proxy) { p.Answer(silence) }, step: proxy.TLS, words: "no answer in time"},
	} {
		t.Run(name, func(t *testing.T) {
			url := tc.url
			if tc.scheme != "" {
				p := proxytest.New(t, tc.scheme)
				if tc.arrange != nil {
					tc.arrange(p)
				}
				url = p.URL(tc.login)
				if tc.url != "" {
					url = strings.Replace(url, tc.scheme, tc.url, 1)
				}
				defer func() { // no connection is left behind
					for end := time.Now().Add(20 * time.Second); p.Open() > 0; time.Sleep(time.Millisecond) {
						if time.Now().After(end) {
							t.Errorf("%d connections are open afterwards", p.Open())
							return
						}
					}
				}()
			}
			wait := 20 * time.Second
			if strings.Contains(name, "nothing") {
				wait = 200 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			defer cancel()
			c, err := tc.dialer.Dial(ctx, parse(t, url), target)
			if c != nil || err == nil {
				t.Fatal("it is connected")
			}
			failed, ok := errors.AsType[*proxy.Error](err)
			if !ok || failed.Step != tc.step {
				t.Fatalf("got %v, want a failure of %s", err, tc.step)
			}
			for _, reported := range []string{err.Error(), netfault.Plain(err).Error()} {
				if !strings.Contains(reported, string(tc.step)) || !strings.Contains(reported, tc.words) {
					t.Errorf("%q does not name %s, %q", reported, tc.step, tc.words)
				}
				for _, secret := range []string{"pa55word", "user:", "secret.example", "127.0.0.1", "whatsapp.example"} {
					if strings.Contains(reported, secret) {
						t.Errorf("%q contains %q", reported, secret)
					}
				}
			}
		})
	}
}

func silence(c net.Conn) bool {
	_, _ = io.Copy(io.Discard, c)
	return false
}

func TestCancelledProxyDialEndsAtOnce(t *testing.T) {
	for _, scheme := range []string{"http", "socks5"} {
		p := proxytest.New(t, scheme)
		there := make(chan struct{}, 1)
		p.Answer(func(c net.Conn) bool {
			there <- struct{}{}
			return silence(c)
		})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-there
			cancel()
		}()
		if c, err := (proxy.Dialer{}).Dial(ctx, parse(t, p.URL("")), target); err == nil {
			_ = c.Close()
			t.Errorf("%s: connected to silence", scheme)
		}
	}
}
