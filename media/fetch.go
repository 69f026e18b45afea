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

// newClient makes the client for files: no proxy, no cookies, and every
// address that it dials is judged.
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
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return fmt.Errorf("more than %d redirects", maxRedirects)
			}
			if r.URL.Scheme != "http" && r.URL.Scheme != "https" {
				return fmt.Errorf("a redirect to %.20s", r.URL.Scheme)
			}
			r.Header.Del("Referer") // where it was sent from may be a secret
			r.URL.RawQuery = event.EscapeQuery(r.URL.RawQuery)
			return nil
		},
	}
}

// fetch brings what lies behind a URL into the spool folder and returns its
// path and the name that the URL or the server gives it. The URL is in no
// error: it may be a secret by itself.
func (l *Library) fetch(ctx context.Context, rawURL string) (file, name string, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, rawURL, nil)
	if err != nil {
		return "", "", fmt.Errorf("%w: the URL cannot be read", event.ErrMedia)
	}
	req.URL.RawQuery = event.EscapeQuery(req.URL.RawQuery)
	req.Header.Set("User-Agent", "Postern")
	resp, err := l.client.Do(req)
	if err != nil {
		err = unfetched(err)
		l.cfg.Logger.Info("a file could not be fetched", "error", netfault.Cause(err))
		return "", "", fmt.Errorf("%w: it could not be fetched: %w", event.ErrMedia, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return "", "", fmt.Errorf("%w: the server answered %d", event.ErrMedia, resp.StatusCode)
	}
	if resp.ContentLength > l.cfg.MaxBytes {
		return "", "", l.tooLarge()
	}
	file, err = l.Spool(resp.Body)
	return file, nameOf(resp), err
}

// unfetched is why a file could not be fetched, in words for whoever asked for
// it. The log has the rest.
func unfetched(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	return netfault.Plain(err)
}

// nameOf is the file's name by the server's header, or by the URL's path.
func nameOf(resp *http.Response) string {
	if _, params, err := mime.ParseMediaType(resp.Header.Get("Content-Disposition")); err == nil && params["filename"] != "" {
		return path.Base(params["filename"])
	}
	if name := path.Base(resp.Request.URL.Path); name != "." && name != "/" {
		return name
	}
	return ""
}

// ErrTooLarge says that a file is larger than Config.MaxBytes. Whatever wraps
// it wraps event.ErrMedia too.
var ErrTooLarge = errors.New("it is larger")

func (l *Library) tooLarge() error {
	return fmt.Errorf("%w: %w than %d bytes (media.max_bytes)", event.ErrMedia, ErrTooLarge, l.cfg.MaxBytes)
}

// Spool writes a file to the spool folder as it arrives and returns its path.
// It fails with event.ErrMedia when it is empty, larger than Config.MaxBytes
// (then ErrTooLarge too), or ends early, and with store.ErrDiskFull while the
// disk is nearly full or as soon as it becomes so: what is left belongs to the
// store. The caller gives the path to Prepare or removes the file.
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
		return "", fmt.Errorf("%w: it ended early: %w", event.ErrMedia, netfault.Plain(body.err))
	case err != nil:
		return "", diskError(err)
	case n > l.cfg.MaxBytes:
		return "", l.tooLarge()
	case n == 0:
		return "", fmt.Errorf("%w: it is empty", event.ErrMedia)
	}
	if err := f.Close(); err != nil {
		return "", diskError(err)
	}
	return f.Name(), nil
}

// Create makes an empty file in the spool folder, for a file that comes from
// elsewhere. The caller closes and removes it; what a crash leaves of it, the
// next start removes. The error is store.ErrDiskFull while the disk is nearly
// full.
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

// diskError is an error of the spool folder. Where it lies is nothing for a
// caller to know when the disk is full.
func diskError(err error) error {
	if store.IsFull(err) {
		return store.ErrDiskFull
	}
	return fmt.Errorf("media: %w", err)
}

// watched is a file that ends when its disk has no room for it.
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

// source tells the errors of its reader from those of the disk.
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
