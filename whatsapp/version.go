package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waWa6"
	wastore "go.mau.fi/whatsmeow/store"

	"postern/internal/netfault"
	"postern/whatsapp/proxy"
)

// Version is the version of WhatsApp's web client that connections announce, such as
// 2.3000.1045649367. The first two numbers identify the kind of client, the third
// counts up.
type Version [3]uint32

// BuiltinVersion returns the version of the linked client library.
func BuiltinVersion() Version { return Version(wastore.GetWAVersion()) }

// ParseVersion parses a version of this kind of client. Its errors state the rule.
func ParseVersion(text string) (Version, error) {
	v := BuiltinVersion()
	kind := fmt.Sprintf("%d.%d.", v[0], v[1])
	count, ok := strings.CutPrefix(text, kind)
	n, err := strconv.ParseUint(count, 10, 32)
	if !ok || err != nil || n == 0 || strconv.FormatUint(n, 10) != count {
		return Version{}, fmt.Errorf("must be a version such as %s, %sN", v, kind)
	}
	v[2] = uint32(n)
	return v, nil
}

// String formats the version with dots.
func (v Version) String() string { return wastore.WAVersionContainer(v).String() }

// Less reports whether v is older than other.
func (v Version) Less(other Version) bool {
	return wastore.WAVersionContainer(v).LessThan(wastore.WAVersionContainer(other))
}

// SameKind reports whether both are versions of the same kind of client.
func (v Version) SameKind(other Version) bool { return v[0] == other[0] && v[1] == other[1] }

// Version returns the version that connections announce from their next dial on.
func (c *Connector) Version() Version { return *c.version.Load() }

// SetVersion changes the version. The library has a process-wide variable for it, which
// every connection reads without a lock, so each connection's payload is changed
// instead.
func (c *Connector) SetVersion(v Version) { c.version.Store(&v) }

// introduce returns the payload by which a connection introduces itself.
func (s *Session) introduce(device *wastore.Device) *waWa6.ClientPayload {
	v := wastore.WAVersionContainer(s.connector.Version())
	s.introduced.Store(new(Version(v)))
	payload := device.GetClientPayload()
	payload.UserAgent.AppVersion = v.ProtoAppVersion()
	if pairing := payload.DevicePairingData; pairing != nil {
		hash := v.Hash()
		pairing.BuildHash = hash[:]
	}
	if err := askForHistory(payload, s.conn.historyWish()); err != nil {
		s.conn.log.Warn("history not requested", "error", err)
	}
	return payload
}

// introducedAs returns the version that the last connection announced, "" if there was
// none.
func (s *Session) introducedAs() string {
	if v := s.introduced.Load(); v != nil {
		return v.String()
	}
	return ""
}

// Limits of the request for the current version. The page that contains it has some
// hundred kilobytes.
const (
	askTimeout   = 10 * time.Second
	maxPage      = 4 << 20
	maxRedirects = 3
	maxReason    = 200 // bytes of an error; the library includes what it read
)

// siteError is an invalid answer, described in our words.
type siteError string

// Error implements error.
func (e siteError) Error() string { return string(e) }

// AskVersion requests the current version from WhatsApp's site, through the proxy of
// the instance. It takes at most 10 s. The caller decides whether the answer is
// plausible. Errors are short and contain nothing of the page.
func (c *Connector) AskVersion(ctx context.Context, instance int64) (Version, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	line := c.newLine(instance, proxy.Socket)
	defer line.close()
	web := &http.Client{Transport: asker{line}, CheckRedirect: staysOnSite}
	found, err := whatsmeow.GetLatestVersion(ctx, web)
	if err == nil {
		return Version(*found), nil
	}
	if ctx.Err() != nil {
		return Version{}, fmt.Errorf("request the client version: %w", netfault.Plain(context.Cause(ctx)))
	}
	if site, ok := errors.AsType[siteError](err); ok {
		return Version{}, fmt.Errorf("request the client version: %w", site)
	}
	reason := netfault.Plain(err).Error()
	return Version{}, fmt.Errorf("request the client version: %s", reason[:min(len(reason), maxReason)])
}

// staysOnSite allows redirects within the site.
func staysOnSite(req *http.Request, via []*http.Request) error {
	first := via[0].URL
	if req.URL.Scheme != first.Scheme || req.URL.Host != first.Host {
		return siteError("the site redirects to another one")
	}
	if len(via) > maxRedirects {
		return siteError("the site redirects too often")
	}
	return nil
}

// asker makes the request: on a connection of its own, with an answer of limited
// length.
type asker struct{ via http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (a asker) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Close = true // there is no further request
	resp, err := a.via.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if redirected := resp.StatusCode/100 == 3; resp.StatusCode != http.StatusOK && !redirected {
		return nil, errors.Join(siteError("the site answered with status "+strconv.Itoa(resp.StatusCode)), resp.Body.Close())
	}
	resp.Body = &pageBody{resp.Body, maxPage}
	return resp, nil
}

// pageBody fails beyond the longest page.
type pageBody struct {
	io.ReadCloser
	left int
}

// Read implements io.Reader.
func (b *pageBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, siteError("the site's page is too long")
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
