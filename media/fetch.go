package media

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"time"

	"postern/event"
	"postern/internal/netfault"
	"postern/store"
)

const (
	spoolPattern = "file-*"
	maxRedirects = 5
	dialTimeout  = 10 * time.Second
)

// newClient returns the client for files: without proxy and cookies, with every dialled
// address checked.
func newClient(cfg Config) *http.Client {
	dialer := &net.Dialer{Timeout: dialTimeout, Control: cfg.Control, Resolver: cfg.Resolver}
	return &http.Client{
		Transport: &http.Transport{
			DialContext:            dialer.DialContext,
			TLSHandshakeTimeout:    dialTimeout,
			ResponseHeaderTimeout:  cfg.Timeout,
			MaxIdleConnsPerHost:    2,
			IdleConnTimeout:        30 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: redirects(maxRedirects),
	}
}

// redirects returns the rules of redirects, of which there may be so many.
func redirects(limit int) func(*http.Request, []*http.Request) error {
	return func(r *http.Request, via []*http.Request) error {
		if len(via) > limit {
			return fmt.Errorf("more than %d redirects", limit)
		}
		if r.URL.Scheme != "http" && r.URL.Scheme != "https" {
			return fmt.Errorf("a redirect to %.20s", r.URL.Scheme)
		}
		r.Header.Del("Referer") // the previous URL may be a secret
		r.URL.RawQuery = event.EscapeQuery(r.URL.RawQuery)
		return nil
	}
}

// fetch downloads a URL into the spool folder and returns the file's path and the name
// given by the URL or the server. Errors do not contain the URL, which may be a secret.
func (l *Library) fetch(ctx context.Context, rawURL string) (file, name string, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	req, err := newRequest(ctx, rawURL)
	if err != nil {
		return "", "", fmt.Errorf("%w: %w", event.ErrMedia, err)
	}
	resp, err := l.client.Do(req)
	if err != nil {
		err = unfetched(err)
		l.cfg.Logger.Info("a file could not be fetched", "error", netfault.Cause(err))
		return "", "", fmt.Errorf("%w: the file could not be fetched: %w", event.ErrMedia, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return "", "", fmt.Errorf("%w: the server returned status %d", event.ErrMedia, resp.StatusCode)
	}
	if resp.ContentLength > l.cfg.MaxBytes {
		return "", "", l.tooLarge()
	}
	file, err = l.Spool(resp.Body)
	return file, nameOf(resp), err
}

// newRequest returns the request for a URL that a caller gave.
func newRequest(ctx context.Context, rawURL string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, rawURL, nil)
	if err != nil {
		return nil, errors.New("invalid URL") // the error repeats it
	}
	req.URL.RawQuery = event.EscapeQuery(req.URL.RawQuery)
	req.Header.Set("User-Agent", "Postern")
	return req, nil
}

// unfetched returns why a file could not be fetched, for the caller. The log has the
// details.
func unfetched(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	return netfault.Plain(err)
}

// nameOf returns the file's name from the server's header or the URL's path.
func nameOf(resp *http.Response) string {
	if _, params, err := mime.ParseMediaType(resp.Header.Get("Content-Disposition")); err == nil && params["filename"] != "" {
		return path.Base(params["filename"])
	}
	if name := path.Base(resp.Request.URL.Path); name != "." && name != "/" {
		return name
	}
	return ""
}

// ErrTooLarge reports that a file is larger than Config.MaxBytes. Errors that wrap it
// also wrap event.ErrMedia.
var ErrTooLarge = errors.New("the file is larger")

func (l *Library) tooLarge() error {
	return fmt.Errorf("%w: %w than %d bytes (media.max_bytes)", event.ErrMedia, ErrTooLarge, l.cfg.MaxBytes)
}

// Spool streams a file to the spool folder and returns its path. It fails with
// event.ErrMedia if the file is empty, larger than Config.MaxBytes (then also
// ErrTooLarge) or truncated, and with store.ErrDiskFull if the disk is or becomes nearly
// full: the rest is reserved for the store. The caller passes the path to Prepare or
// removes the file.
func (l *Library) Spool(r io.Reader) (file string, err error) {
	f, err := l.Create()
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	body := &source{r: r}
	n, err := io.Copy(&watched{f, l.admit}, io.LimitReader(body, l.cfg.MaxBytes+1))
	switch {
	case body.err != nil:
		return "", fmt.Errorf("%w: the file ended early: %w", event.ErrMedia, netfault.Plain(body.err))
	case err != nil:
		return "", diskError(err)
	case n > l.cfg.MaxBytes:
		return "", l.tooLarge()
	case n == 0:
		return "", fmt.Errorf("%w: the file is empty", event.ErrMedia)
	}
	if err := f.Close(); err != nil {
		return "", diskError(err)
	}
	return f.Name(), nil
}

// Create creates an empty file in the spool folder. The caller closes and removes it; the
// next start removes it after a crash. The error is store.ErrDiskFull while the disk is
// nearly full.
func (l *Library) Create() (*os.File, error) {
	if err := l.admit(); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(l.cfg.Dir, spoolPattern)
	if err != nil {
		return nil, diskError(err)
	}
	return f, nil
}

// diskError converts an error of the spool folder. It hides the folder's path from
// callers if the disk is full.
func diskError(err error) error {
	if store.IsFull(err) {
		return store.ErrDiskFull
	}
	return fmt.Errorf("media: %w", err)
}

// watched is a file whose writes fail when the disk is nearly full.
type watched struct {
	f     *os.File
	admit func() error
}

// Write implements io.Writer.
func (w *watched) Write(p []byte) (int, error) {
	if err := w.admit(); err != nil {
		return 0, err
	}
	return w.f.Write(p)
}

// source separates the errors of its reader from those of the disk.
type source struct {
	r   io.Reader
	err error
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}
