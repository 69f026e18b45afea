package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"postern/app/upstream"
	"postern/config"
	"postern/dispatch"
	"postern/internal/netfault"
	"postern/internal/plural"
)

// The allowed difference of the two clocks. Receivers refuse signatures that are five minutes
// old.
const (
	clockOff   = 10 * time.Second
	clockWrong = 4 * time.Minute
)

// expiryWarning is how long before its expiry a certificate is reported.
const expiryWarning = 14 * 24 * time.Hour

// dialsAtOnce limits concurrent connection attempts.
const dialsAtOnce = 128

// host is the dial target of a receiver's URL.
type host struct {
	secure  bool
	name    string
	address string // with its port
}

func hostOf(text string) (h host, err error) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return h, errors.New("its URL cannot be read")
	}
	h = host{secure: u.Scheme == "https", name: u.Hostname()}
	port := "80"
	if h.secure {
		port = "443"
	}
	h.address = net.JoinHostPort(h.name, cmp.Or(u.Port(), port))
	return h, nil
}

func (h host) url() string {
	if h.secure {
		return "https://" + h.address
	}
	return "http://" + h.address
}

func (r *examination) dialer() *net.Dialer {
	return &net.Dialer{Control: dispatch.Guard{DenyPrivate: r.Config.Webhook.DenyPrivate}.Control}
}

// reach connects to a host, with TLS if its URL has it. over is the expiry of its
// certificate.
func (r *examination) reach(ctx context.Context, h host) (over time.Time, err error) {
	ctx, cancel := limited(ctx)
	defer cancel()
	conn, err := r.dialer().DialContext(ctx, "tcp", h.address)
	if err != nil {
		return over, why(ctx, err)
	}
	defer func() { _ = conn.Close() }()
	if !h.secure {
		return over, nil
	}
	secure := tls.Client(conn, &tls.Config{ServerName: h.name, MinVersion: tls.VersionTLS12})
	if err := secure.HandshakeContext(ctx); err != nil {
		return over, why(ctx, err)
	}
	if shown := secure.ConnectionState().PeerCertificates; len(shown) > 0 {
		over = shown[0].NotAfter
	}
	return over, nil
}

// why returns the failure with the system's own message, which only the operator sees.
func why(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	plain := netfault.Plain(err)
	if cause := netfault.Cause(plain); cause != plain.Error() {
		return fmt.Errorf("%w (%s)", plain, cause)
	}
	return plain
}

func (r *examination) global(ctx context.Context) []Finding {
	const check = "global webhook"
	target := r.Config.GlobalWebhook()
	if target == "" {
		return one(check, OK, "", "none is configured")
	}
	h, err := hostOf(target)
	var over time.Time
	if err == nil {
		over, err = r.reach(ctx, h)
	}
	if err != nil {
		return one(check, Fault, "start the receiver, or change webhook.global.url; deliveries wait meanwhile", "%s: %v", config.MaskURL(target), err)
	}
	if end := ending(over); end != "" {
		return one(check, Warning, "renew its certificate", "%s %s", h.url(), end)
	}
	return one(check, OK, "", "%s is reached", h.url())
}

func ending(over time.Time) string {
	if over.IsZero() || time.Until(over) > expiryWarning {
		return ""
	}
	return "has a certificate that ends at " + date(over)
}

func date(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// instances connects to each host once, however many instances lead there.
func (r *examination) instances(ctx context.Context) (all []Finding) {
	const check = "instance webhooks"
	if r.unknown != nil {
		return one(check, Warning, "see the other findings, and run this again", "they are not known: %v", r.unknown)
	}
	hosts := map[host][]string{}
	for _, to := range r.receivers {
		if to.URL == "" {
			continue
		}
		h, err := hostOf(to.URL)
		if err != nil {
			all = append(all, one(check, Warning, "set the webhook again", "instance %s: %v", to.Instance, err)...)
			continue
		}
		hosts[h] = append(hosts[h], to.Instance)
	}
	var (
		mu    sync.Mutex
		wg    sync.WaitGroup
		turns = make(chan struct{}, dialsAtOnce)
	)
	for h, names := range hosts {
		wg.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			over, err := r.reach(ctx, h)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				all = append(all, one(check, Warning, "ask the operator of the receiver, or set another webhook", "%s, of %s: %v", h.url(), few(names), err)...)
			} else if end := ending(over); end != "" {
				all = append(all, one(check, Warning, "ask the operator of the receiver to renew it", "%s, of %s, %s", h.url(), few(names), end)...)
			}
		})
	}
	wg.Wait()
	slices.SortFunc(all, func(a, b Finding) int { return strings.Compare(a.Message, b.Message) })
	if len(all) > 0 {
		return all
	}
	if len(hosts) == 0 {
		return one(check, OK, "", "none is set")
	}
	return one(check, OK, "", "%s of %s %s reached", plural.Of(len(hosts), "host"), plural.Of(len(r.receivers), "instance"), plural.Noun(len(hosts), "is", "are"))
}

// clock compares this machine's clock with that of a webhook host.
func (r *examination) clock(ctx context.Context) []Finding {
	const check = "clock"
	target := r.Config.GlobalWebhook()
	for _, to := range r.receivers {
		target = cmp.Or(target, to.URL)
	}
	if target == "" {
		return one(check, OK, "", "not compared: there is no webhook host to ask")
	}
	h, err := hostOf(target)
	if err != nil {
		return one(check, OK, "", "not compared: %v", err)
	}
	const advice = "synchronise this machine's clock by NTP (timedatectl), or ask the operator of the other one"
	off, err := r.clockOff(ctx, h)
	if bad, ok := errors.AsType[x509.CertificateInvalidError](err); ok && bad.Reason == x509.Expired && bad.Cert != nil {
		return one(check, Warning, advice+" to renew the certificate", "it says %s, and a certificate of %s is valid from %s to %s: one of the two is wrong",
			date(time.Now()), h.url(), date(bad.Cert.NotBefore), date(bad.Cert.NotAfter))
	}
	if err != nil {
		return one(check, OK, "", "not compared: %s sent no time (%v)", h.url(), err)
	}
	text := fmt.Sprintf("%v apart from that of %s", off.Abs().Round(time.Second), h.url())
	switch {
	case off.Abs() >= clockWrong:
		return one(check, Fault, advice+"; receivers reject signatures with a wrong time", "%s", text)
	case off.Abs() >= clockOff:
		return one(check, Warning, advice, "%s", text)
	}
	return one(check, OK, "", "%s", text)
}

// clockOff returns how far this machine's clock is ahead, from the Date of an answer.
func (r *examination) clockOff(ctx context.Context, h host) (time.Duration, error) {
	ctx, cancel := limited(ctx)
	defer cancel()
	way := &http.Transport{DialContext: r.dialer().DialContext, DisableKeepAlives: true}
	req, err := http.NewRequestWithContext(ctx, http.MethodOptions, h.url(), nil)
	if err != nil {
		return 0, err
	}
	req.URL.Opaque = "*"
	began := time.Now()
	resp, err := way.RoundTrip(req)
	if err != nil {
		return 0, why(ctx, err)
	}
	_ = resp.Body.Close()
	at, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return 0, errors.New("its answer has no Date")
	}
	// A Date has no fractions: on average it is half a second late.
	return began.Add(time.Since(began) / 2).Sub(at.Add(500 * time.Millisecond)), nil
}

func (r *examination) whatsapp(ctx context.Context) []Finding {
	const check = "WhatsApp"
	if r.Config.Sandbox.Enabled {
		return one(check, OK, "", "not checked: the built-in sandbox replaces it")
	}
	hosts := upstream.Hosts()
	found := make([][]Finding, len(hosts))
	var wg sync.WaitGroup
	for i, name := range hosts {
		wg.Go(func() {
			ctx, cancel := limited(ctx)
			defer cancel()
			way, err := upstream.Reach(ctx, r.Config, name)
			if err != nil {
				found[i] = one(check, Fault, "let this machine resolve the name and connect to its port 443, or set whatsapp.proxy", "%s%s: %v", name, way, why(ctx, err))
				return
			}
			found[i] = one(check, OK, "", "%s%s is reached", name, way)
		})
	}
	wg.Wait()
	return slices.Concat(found...)
}
