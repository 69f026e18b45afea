// Package proxies runs the whole program behind proxies: those through which it reaches
// WhatsApp, and the reverse proxies of the pages, through which clients reach it.
package proxies

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/sandbox"
	"postern/whatsapp/proxy/proxytest"
)

const (
	secret = "pa55word"
	target = "whatsapp.invalid:443" // no resolver knows it; the proxies lead to the sandbox
)

// behind is a program that reaches WhatsApp through proxies only.
type behind struct {
	*rig.World
	real  string
	decoy *proxytest.Proxy // that of the environment, which is not for WhatsApp here
	all   *proxytest.Proxy // that of all instances
	token string
	out   []string // of former lives

	phones atomic.Int64
}

func start(t *testing.T) *behind {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a real process")
	}
	b := &behind{World: rig.NewWorld(t), decoy: proxytest.New(t, "http")}
	at, err := url.Parse(b.Sandbox.Endpoint().URL)
	if err != nil {
		t.Fatal(err)
	}
	b.real, b.Keep = at.Host, true
	b.all = b.proxy("http")
	b.all.Ask("for-shop:" + secret)
	_, port, _ := strings.Cut(b.all.Address(), ":")
	b.Env = []string{
		"WHATSAPP_ENDPOINT=wss://" + target + "/ws/chat", "WHATSAPP_PROXY=http://for-{instance}:" + secret + "@localhost:" + port,
		"HTTPS_PROXY=" + b.decoy.URL(""), "HTTP_PROXY=" + b.decoy.URL(""), "ALL_PROXY=" + b.decoy.URL(""),
		"GODEBUG=netdns=go+2", "LOG_LEVEL=debug", "MEDIA_ALLOW_PRIVATE=true", "WHATSAPP_RECONNECT_MAX_DELAY=1", "WHATSAPP_CONNECT_TIMEOUT=20",
	}
	b.Start()
	b.token = b.Pair("shop")
	return b
}

// proxy starts one that leads to the sandbox.
func (b *behind) proxy(scheme string) *proxytest.Proxy {
	b.T.Helper()
	p := proxytest.New(b.T, scheme)
	p.Route(func(string) string { return b.real })
	return p
}

func (b *behind) set(p *proxytest.Proxy, login string) {
	b.T.Helper()
	var got struct{ URL string }
	b.Call(consumer.Bearer(b.token), http.MethodPut, "/instance/shop/proxy", map[string]any{"url": p.URL(login)}, &got)
	if user, _, _ := strings.Cut(login, ":"); !strings.Contains(got.URL, "://"+user+":***@") {
		b.T.Errorf("the proxy is shown as %q", got.URL)
	}
	b.AwaitOnline("shop", b.token)
}

// use sends a text, an image by URL, and fetches that again.
func (b *behind) use(files string) {
	b.T.Helper()
	phone, err := b.Sandbox.AddPhone(sandbox.PhoneOptions{Number: fmt.Sprint(4915730001000 + b.phones.Add(1)), PushName: "Ada"})
	if err != nil {
		b.T.Fatal(err)
	}
	me := consumer.Bearer(b.token)
	b.Call(me, http.MethodPost, "/instance/shop/send/text", map[string]any{"number": phone.Number(), "textMessage": map[string]any{"text": "hello"}}, nil)
	var sent struct{ ID int64 }
	b.Call(me, http.MethodPost, "/instance/shop/send/media", map[string]any{
		"number": phone.Number(), "mediaMessage": map[string]any{"mediatype": "image", "media": files + "/photo.jpg"},
	}, &sent)
	b.Call(me, http.MethodPost, "/instance/shop/media/data", map[string]any{"messageId": sent.ID}, nil)
}

// lastError is the reason for the state that is waited for.
func (b *behind) lastError(state, part string) {
	b.T.Helper()
	var status struct{ ConnectionStatus, LastError string }
	b.Await(fmt.Sprintf("%s with %q", state, part), func() bool {
		b.Call(consumer.Bearer(b.token), http.MethodGet, "/instance/shop/connection/status", nil, &status)
		return status.ConnectionStatus == state && strings.Contains(status.LastError, part)
	})
}

// again is a new life of the program after a kill.
func (b *behind) again() {
	b.T.Helper()
	b.Kill()
	b.out = append(b.out, b.Output.String())
	b.Start()
	b.AwaitOnline("shop", b.token)
}

// What Go's resolver says of each name that it looks up, in several writes, so
// that a line of the log may stand in between.
var (
	lookedUp = regexp.MustCompile(`hostLookupOrder\(localhost`)
	leaked   = regexp.MustCompile(`(?m)(hostLookupOrder\(|^)[a-z.]*whatsapp\.(invalid|com|net)(\) = |time=)`)
)

// nothingElse looks at all that the program said and did.
func (b *behind) nothingElse(through ...*proxytest.Proxy) {
	b.T.Helper()
	for _, p := range through {
		asked := p.Asked()
		if len(asked) == 0 || slices.ContainsFunc(asked, func(s string) bool { return s != target }) {
			b.T.Errorf("a proxy was asked for %q", slices.Compact(asked))
		}
	}
	if n := b.decoy.Met(); n != 0 {
		b.T.Errorf("the environment's proxy was used %d times", n)
	}
	said := strings.Join(append(b.out, b.Output.String()), "\n")
	if !lookedUp.MatchString(said) {
		b.T.Error("the program does not tell what it looks up")
	}
	if found := leaked.FindString(said); found != "" {
		b.T.Errorf("the program looked up WhatsApp: %s", found)
	}
	for _, w := range b.Webhooks() {
		said += string(w.Body)
	}
	if strings.Contains(said, secret) {
		b.T.Error("the password is in the log or in a webhook")
	}
}

func TestAllTrafficGoesThroughTheProxy(t *testing.T) {
	b := start(t)
	var fetched atomic.Int64
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fetched.Add(1)
		http.ServeFile(w, r, "media/testdata/photo.jpg")
	}))
	defer files.Close()

	b.use(files.URL)
	if fetched.Load() != 1 {
		t.Errorf("the file was fetched %d times", fetched.Load())
	}
	own := b.proxy("socks5")
	own.Ask("own:" + secret)
	b.set(own, "own:"+secret)
	b.Await("the end of what went through the proxy for all", func() bool { return b.all.Open() == 0 })
	before := b.all.Met()
	b.use(files.URL)
	b.again()
	b.use(files.URL)

	own.Close() // in mid-connection
	b.lastError("RECONNECTING", "the proxy failed at connect: the connection was refused")
	other := b.proxy("http")
	other.Ask("own:" + secret)
	var refused struct{ Step string }
	err := b.API.Call(t.Context(), consumer.Bearer(b.token), http.MethodPut, "/instance/shop/proxy", map[string]any{"url": other.URL("own:wrong")}, &refused)
	if err == nil || !strings.Contains(err.Error(), "PROXY_UNREACHABLE") || !strings.Contains(err.Error(), "auth") {
		t.Errorf("a wrong password is %v", err)
	}
	b.lastError("RECONNECTING", "the proxy failed at connect: the connection was refused")
	if n := b.all.Met(); n != before {
		t.Errorf("with a proxy of its own, the instance used the one for all %d times", n-before)
	}
	b.set(other, "own:"+secret)
	b.use(files.URL)
	b.nothingElse(b.all, own, other)

	b.Call(consumer.Bearer(b.token), http.MethodDelete, "/instance/shop/proxy", nil, nil)
	b.AwaitOnline("shop", b.token)
	if b.all.Met() == before {
		t.Error("without one of its own, the instance did not use the one for all")
	}
	b.use(files.URL)
	b.again()
	b.nothingElse(b.all, own, other)
	b.Stop()
}
