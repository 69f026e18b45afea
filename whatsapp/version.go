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

// Version is the version of WhatsApp's web client that connections say they
// are of, such as 2.3000.1045649367. The first two numbers are the kind of
// client, the third counts up.
type Version [3]uint32

// BuiltinVersion is the version of the client library of this program.
func BuiltinVersion() Version { return Version(wastore.GetWAVersion()) }

// ParseVersion reads a version of the kind of client that this program is. Its
// errors say the rule.
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

// String writes the numbers with dots between them.
func (v Version) String() string { return wastore.WAVersionContainer(v).String() }

// Less reports whether v is older than other.
func (v Version) Less(other Version) bool {
	return wastore.WAVersionContainer(v).LessThan(wastore.WAVersionContainer(other))
}

// SameKind reports whether the two are versions of one kind of client.
func (v Version) SameKind(other Version) bool { return v[0] == other[0] && v[1] == other[1] }

// Version is what connections say they are of from their next dial on.
func (c *Connector) Version() Version { return *c.version.Load() }

// SetVersion changes that. The library has a variable for it that belongs to
// the whole process and is read unguarded by every connection, so it is left
// alone: each connection is told by its payload.
func (c *Connector) SetVersion(v Version) { c.version.Store(&v) }

// introduce is what a connection says of itself when it is made.
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
		s.conn.log.Warn("history not asked for", "error", err)
	}
	return payload
}

// introducedAs is the version that the last connection said it was of, empty
// when there was none.
func (s *Session) introducedAs() string {
	if v := s.introduced.Load(); v != nil {
		return v.String()
	}
	return ""
}

// Bounds of the question for the current version. The page that answers it has
// some hundred kilobytes.
const (
	askTimeout   = 10 * time.Second
	maxPage      = 4 << 20
	maxRedirects = 3
	maxReason    = 200 // bytes of an error; the library puts what it read into it
)

// siteError is what is wrong with the answer to the question, in our words.
type siteError string

// Error implements error.
func (e siteError) Error() string { return string(e) }

// AskVersion asks WhatsApp's site for the current version, by the way on which
// the instance connects. It takes 10 s at most. The answer is that of a
// stranger: whether it can be true is for the caller to say. Errors are short
// and hold nothing of the page.
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
		return Version{}, fmt.Errorf("ask for the client version: %w", netfault.Plain(context.Cause(ctx)))
	}
	if site, ok := errors.AsType[siteError](err); ok {
		return Version{}, fmt.Errorf("ask for the client version: %w", site)
	}
	reason := netfault.Plain(err).Error()
	return Version{}, fmt.Errorf("ask for the client version: %s", reason[:min(len(reason), maxReason)])
}

// staysOnSite lets the question be sent on within the site that it is for.
func staysOnSite(req *http.Request, via []*http.Request) error {
	first := via[0].URL
	if req.URL.Scheme != first.Scheme || req.URL.Host != first.Host {
		return siteError("the site sends the question to another one")
	}
	if len(via) > maxRedirects {
		return siteError("the site sends the question round in circles")
	}
	return nil
}

// asker makes the request of the question: alone on its connection, and with
// an answer that is no longer than a page.
type asker struct{ via http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (a asker) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Close = true // nothing follows it
	resp, err := a.via.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if redirected := resp.StatusCode/100 == 3; resp.StatusCode != http.StatusOK && !redirected {
		return nil, errors.Join(siteError("the site answers with status "+strconv.Itoa(resp.StatusCode)), resp.Body.Close())
	}
	resp.Body = &pageBody{resp.Body, maxPage}
	return resp, nil
}

// pageBody fails where a page ought to have ended.
type pageBody struct {
	io.ReadCloser
	left int
}

// Read implements io.Reader.
func (b *pageBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, siteError("the site's page does not end")
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
