package instance

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"postern/event"
	"postern/store"
	"postern/whatsapp/proxy"
)

const secretURL = "http://someone:pa55word@proxy.example.org:3128"

func (r *rig) setProxy(id int64, c ProxyChange) Proxy {
	r.Helper()
	p, err := r.sup.SetProxy(bg, id, c, "")
	if err != nil {
		r.Fatal(err)
	}
	return p
}

// wantVia compares the proxy for the next dial with a URL, "" for none.
func (r *rig) wantVia(id int64, use proxy.Use, want string) {
	r.Helper()
	var server proxy.Server
	if want != "" {
		var err error
		if server, err = proxy.Parse(want); err != nil {
			r.Fatal(err)
		}
	}
	if got, err := r.reg.Via(id, use); err != nil || got != server {
		r.Errorf("%s goes through %v (%v), want %v", use, got, err, server)
	}
}

func TestProxyUsesDefaultToBoth(t *testing.T) {
	r := newRig(t, nil, nil)
	defer func() { r.stop() }()
	id := r.create("a").ID
	if _, err := r.reg.Proxy(id); !errors.Is(err, ErrNoProxy) {
		t.Errorf("before any PUT: %v", err)
	}
	for _, tc := range []struct {
		uses, want    []proxy.Use
		socket, media string
	}{
		{nil, proxy.Uses(), secretURL, secretURL},
		{[]proxy.Use{proxy.Media, proxy.Socket}, proxy.Uses(), secretURL, secretURL},
		{[]proxy.Use{proxy.Media, proxy.Media}, []proxy.Use{proxy.Media}, "", secretURL},
		{[]proxy.Use{proxy.Socket}, []proxy.Use{proxy.Socket}, secretURL, ""},
	} {
		p := r.setProxy(id, ProxyChange{URL: secretURL, For: tc.uses})
		if p.Server.URL() != "http://someone:***@proxy.example.org:3128" || !slices.Equal(p.For, tc.want) || p.CreatedAt.IsZero() {
			t.Errorf("%v is %+v", tc.uses, p)
		}
		r.wantVia(id, proxy.Socket, tc.socket)
		r.wantVia(id, proxy.Media, tc.media)
	}
	r.reboot()
	r.wantVia(id, proxy.Socket, secretURL)
	r.wantVia(id, proxy.Media, "")
	if had, err := r.sup.DropProxy(bg, id, ""); !had || err != nil {
		t.Errorf("dropped: %t, %v", had, err)
	}
	if had, err := r.sup.DropProxy(bg, id, ""); had || err != nil {
		t.Errorf("dropped again: %t, %v", had, err)
	}
	r.wantVia(id, proxy.Socket, "")
	r.reboot()
	r.wantVia(id, proxy.Socket, "")
}

func TestInvalidProxyIsRejected(t *testing.T) {
	r := newRig(t, func(c *Config) {
		c.CheckProxy = func(u *url.URL) error {
			if u.Hostname() == "169.254.169.254" {
				return errors.New("must not be a metadata address")
			}
			return nil
		}
	}, nil)
	defer r.stop()
	id := r.create("a").ID
	r.setProxy(id, ProxyChange{URL: secretURL})
	r.net.onProbe(func(context.Context, proxy.Server, []proxy.Use) error {
		t.Error("a bad proxy was dialled")
		return nil
	})
	for field, changes := range map[string][]ProxyChange{
		"url": {{URL: ""}, {URL: "ftp://x"}, {URL: "http://169.254.169.254:3128"}, {URL: "http://someone:***@proxy.example.org:3128"}},
		"for": {{URL: secretURL, For: []proxy.Use{}}, {URL: secretURL, For: []proxy.Use{"sockets"}}, {URL: secretURL, For: []proxy.Use{"socket", "media", "socket"}}},
	} {
		for _, c := range changes {
			_, err := r.sup.SetProxy(bg, id, c, "")
			rule, ok := errors.AsType[*event.RuleError](err)
			if !ok || rule.Field != field || !errors.Is(err, ErrInvalidProxy) {
				t.Errorf("%+v: %v, want a rule of %s", c, err, field)
			}
		}
	}
	r.wantVia(id, proxy.Socket, secretURL)
}

func TestAProxyThatDoesNotWorkChangesNothing(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.linked("a", event.Disconnected).ID
		if _, err := r.sup.Connect(bg, id, ""); err != nil {
			t.Fatal(err)
		}
		r.net.session(id).forgetDials()
		r.net.onProbe(func(context.Context, proxy.Server, []proxy.Use) error {
			return proxy.Failed(proxy.Connect, context.DeadlineExceeded)
		})
		_, err := r.sup.SetProxy(bg, id, ProxyChange{URL: secretURL}, "")
		failed, ok := errors.AsType[*proxy.Error](err)
		if !errors.Is(err, ErrProxyUnreachable) || !ok || failed.Step != proxy.Connect {
			t.Errorf("got %v", err)
		}
		if _, err := r.reg.Proxy(id); !errors.Is(err, ErrNoProxy) {
			t.Errorf("the proxy is there: %v", err)
		}
		synctest.Wait()
		r.wantStatus(id, event.Online)
		if s := r.net.session(id); s.reroutes != 0 || len(s.dialled()) != 0 {
			t.Errorf("%d reroutes, %d dials", s.reroutes, len(s.dialled()))
		}
	})
}

func TestProxyChangeReconnects(t *testing.T) {
	down := func(ctx context.Context, _ *session) error {
		return fmt.Errorf("%w: down", event.ErrNotConnected)
	}
	for name, tc := range map[string]struct {
		arrange func(r *rig) (id int64)
		want    event.State
		dials   int
	}{
		"online": {func(r *rig) int64 {
			id := r.linked("a", event.Disconnected).ID
			_, _ = r.sup.Connect(bg, id, "")
			return id
		}, event.Online, 1},
		"waiting to dial again": {func(r *rig) int64 {
			id := r.linked("a", event.Disconnected).ID
			r.net.onDial(down)
			_, _ = r.sup.Connect(bg, id, "")
			r.net.onDial(nil)
			return id
		}, event.Online, 1},
		"a code to scan": {func(r *rig) int64 {
			id := r.create("a").ID
			_, _ = r.sup.Connect(bg, id, "")
			return id
		}, event.QRCodeState, 1},
		"a code to type": {func(r *rig) int64 {
			id := r.create("a").ID
			_, _ = r.sup.PairCode(bg, id, "4915123456", "")
			return id
		}, event.Disconnected, 0},
		"never connected": {func(r *rig) int64 { return r.create("a").ID }, event.Offline, 0},
		"logged out":      {func(r *rig) int64 { return r.linked("a", event.LoggedOut).ID }, event.LoggedOut, 0},
		"banned":          {func(r *rig) int64 { return r.linked("a", event.TemporaryBan).ID }, event.TemporaryBan, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(r *rig) {
				id := tc.arrange(r)
				if _, err := r.sup.Status(id); err != nil {
					t.Fatal(err)
				}
				before := time.Now()
				for i, change := range []func(){
					func() { r.setProxy(id, ProxyChange{URL: secretURL}) },
					func() { _, _ = r.sup.DropProxy(bg, id, "") },
				} {
					if s := r.net.session(id); s != nil {
						s.forgetDials()
					}
					change()
					synctest.Wait()
					r.wantStatus(id, tc.want)
					s := r.net.session(id)
					if s.reroutes != i+1 {
						t.Errorf("change %d: %d times closed what went another way", i, s.reroutes)
					}
					if n := len(s.dialled()); n != tc.dials {
						t.Errorf("change %d: %d dials, want %d", i, n, tc.dials)
					}
				}
				if waited := time.Since(before); waited != 0 {
					t.Errorf("it took %v", waited)
				}
			})
		})
	}
}

func TestUnchangedProxyIsOnlyTried(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.linked("a", event.Disconnected).ID
		_, _ = r.sup.Connect(bg, id, "")
		first := r.setProxy(id, ProxyChange{URL: secretURL})
		synctest.Wait()
		r.net.session(id).forgetDials()
		probed := 0
		r.net.onProbe(func(context.Context, proxy.Server, []proxy.Use) error { probed++; return nil })
		time.Sleep(time.Second)
		again := r.setProxy(id, ProxyChange{URL: secretURL, For: proxy.Uses()})
		synctest.Wait()
		if again.UpdatedAt != first.UpdatedAt || probed != 1 || len(r.net.session(id).dialled()) != 0 {
			t.Errorf("%+v, probed %d times, %d dials", again, probed, len(r.net.session(id).dialled()))
		}
		other := r.setProxy(id, ProxyChange{URL: strings.Replace(secretURL, "pa55", "w0rd", 1)})
		if other.CreatedAt != first.CreatedAt || other.UpdatedAt == first.UpdatedAt {
			t.Errorf("another password is %+v after %+v", other, first)
		}
		synctest.Wait()
		if len(r.net.session(id).dialled()) != 1 {
			t.Error("another password is no change")
		}
	})
}

func TestInstanceWithoutProxyUsesGlobalProxy(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Proxy = "socks5://user-{instance}:pa55word@{instance}.example.org" }, nil)
	defer r.stop()
	a, b := r.create("shop").ID, r.create("Desk.2").ID
	r.wantVia(a, proxy.Socket, "socks5://user-shop:pa55word@shop.example.org")
	r.wantVia(b, proxy.Media, "socks5://user-Desk.2:pa55word@Desk.2.example.org")
	if _, err := r.reg.Proxy(a); !errors.Is(err, ErrNoProxy) {
		t.Errorf("the proxy for all is shown: %v", err)
	}
	r.setProxy(a, ProxyChange{URL: secretURL, For: []proxy.Use{proxy.Media}})
	r.wantVia(a, proxy.Media, secretURL)
	r.wantVia(a, proxy.Socket, "socks5://user-shop:pa55word@shop.example.org") // never nothing at all
	var probed []string
	r.net.onProbe(func(_ context.Context, via proxy.Server, uses []proxy.Use) error {
		probed = append(probed, fmt.Sprint(via.URL(), uses))
		return nil
	})
	for _, id := range []int64{a, b} {
		if trial, err := r.sup.TryProxy(bg, id); err != nil || trial.Failed != nil {
			t.Errorf("%+v, %v", trial, err)
		}
	}
	if want := []string{"http://someone:***@proxy.example.org:3128[media]", "socks5://user-Desk.2:***@Desk.2.example.org:1080[socket media]"}; !slices.Equal(probed, want) {
		t.Errorf("tried %q, want %q", probed, want)
	}
}

func TestProxyTrialReportsStepAndLatency(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.create("a").ID
		if _, err := r.sup.TryProxy(bg, id); !errors.Is(err, ErrNoProxy) {
			t.Errorf("without a proxy: %v", err)
		}
		r.setProxy(id, ProxyChange{URL: secretURL})
		r.net.onProbe(func(ctx context.Context, _ proxy.Server, _ []proxy.Use) error {
			time.Sleep(3 * time.Second)
			return proxy.Failed(proxy.TLS, context.DeadlineExceeded)
		})
		trial, err := r.sup.TryProxy(bg, id)
		if err != nil || trial.Failed == nil || trial.Failed.Step != proxy.TLS || trial.Latency != 3*time.Second {
			t.Errorf("%+v, %v", trial, err)
		}
		r.net.onProbe(func(ctx context.Context, _ proxy.Server, _ []proxy.Use) error {
			<-ctx.Done()
			return proxy.Failed(proxy.Connect, ctx.Err())
		})
		time.AfterFunc(time.Second, r.sup.Interrupt)
		if _, err := r.sup.TryProxy(bg, id); !errors.Is(err, event.ErrNotConnected) || errors.Is(err, ErrProxyUnreachable) {
			t.Errorf("while the program stops: %v", err)
		}
	})
}

func TestUnreadableProxyPreventsDialling(t *testing.T) {
	r := newRig(t, nil, nil)
	defer func() { r.stop() }()
	id := r.create("a").ID
	r.setProxy(id, ProxyChange{URL: "http://damage-this-proxy.example.org"})
	r.damage("damage-this-proxy")
	for range 2 { // not only at the start that finds it
		if via, err := r.reg.Via(id, proxy.Socket); err == nil {
			t.Errorf("it is dialled through %v", via)
		}
		if _, err := r.reg.Proxy(id); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("it is shown: %v", err)
		}
		if _, err := r.sup.TryProxy(bg, id); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("it is tried: %v", err)
		}
		r.reboot()
	}
	r.setProxy(id, ProxyChange{URL: secretURL})
	r.wantVia(id, proxy.Socket, secretURL)
	r.reboot()
	r.wantVia(id, proxy.Socket, secretURL)
}

func TestInvalidProxyRecordPreventsDialling(t *testing.T) {
	r := newRig(t, nil, nil)
	defer func() { r.stop() }()
	id := r.create("a").ID
	for _, record := range []string{
		`{}`, `null`, `[1,2]`, `{"url":"http://proxy.example.org"}`, `{"url":"http://proxy.example.org","for":[]}`, `{"for":["socket","media"]}`,
		`{"url":"http://proxy.example.org","for":["calls"]}`, `{"url":"nothing","for":["socket"]}`,
	} {
		if err := r.s.Update(bg, func(tx *store.Tx) error { return tx.Put(proxies, store.Key(id), []byte(record)) }); err != nil {
			t.Fatal(err)
		}
		r.reboot()
		for _, use := range proxy.Uses() {
			if via, err := r.reg.Via(id, use); !errors.Is(err, store.ErrDamaged) {
				t.Errorf("%s: %s goes through %v (%v)", record, use, via, err)
			}
		}
		if _, err := r.reg.Proxy(id); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%s is shown: %v", record, err)
		}
	}
}

func TestAProxyGoesWithItsInstance(t *testing.T) {
	r := newRig(t, nil, nil)
	defer r.stop()
	id := r.create("a").ID
	r.setProxy(id, ProxyChange{URL: secretURL})
	if err := r.sup.Delete(bg, id, true); err != nil {
		t.Fatal(err)
	}
	if via, err := r.reg.Via(id, proxy.Socket); err == nil {
		t.Errorf("a deleted instance dials through %v", via)
	}
	if _, err := r.sup.SetProxy(bg, id, ProxyChange{URL: secretURL}, ""); !errors.Is(err, ErrNotFound) {
		t.Errorf("set after the deletion: %v", err)
	}
	left := 0
	if err := r.s.View(func(tx *store.Tx) error {
		return tx.Scan(proxies, store.Range{}, func(_, _ []byte) (bool, error) { left++; return true, nil })
	}); err != nil || left != 0 {
		t.Errorf("%d proxies are left (%v)", left, err)
	}
}
