package media

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"postern/event"
	"postern/internal/prune"
	"postern/store"
	"postern/store/files"
)

// Config configures a Library. Store and Dir are required.
type Config struct {
	Store *store.Store
	Dir   string // the spool folder; its contents are removed

	// Control checks each address that a URL leads to, see net.Dialer.Control. nil: all
	// are allowed.
	Control  func(network, address string, c syscall.RawConn) error
	Resolver *net.Resolver // for the names in URLs; nil means net.DefaultResolver

	// Owner reports in the commit that stores an upload whether its instance still
	// exists: nil, or the error of Keep. It may be nil.
	Owner func(tx *store.Tx, instance int64) error

	MaxBytes   int64 // of one file; 0 means 100 MiB
	MaxUploads int   // pending per instance; 0: no limit

	Timeout time.Duration // for fetching one file, and for converting it; 0 means 60 s
	FFmpeg  string        // path of the program; empty: no conversion

	Logger *slog.Logger // nil: silent
}

const (
	maxExamining  = 2 // limits the memory of concurrent pictures
	maxConverting = 2
)

// Library fetches and prepares files. It is safe for concurrent use.
type Library struct {
	cfg    Config
	client *http.Client // for files
	pages  *http.Client // for web pages

	admit func() error // whether the disk of cfg.Store has room

	// Queues for expensive work: inspecting a file, and ffmpeg.
	looking, converting *turns

	reserving sync.Mutex    // held while uploads are counted
	reserved  map[int64]int // uploads in progress, by instance

	life context.Context // ends with Stop
	end  context.CancelFunc
	work sync.WaitGroup
}

// New creates the spool folder and removes leftovers of a crash.
func New(cfg Config) (*Library, error) {
	if cfg.Store == nil || cfg.Dir == "" {
		return nil, errors.New("media: Config needs Store and Dir")
	}
	if cfg.MaxBytes <= 0 {
		cfg.MaxBytes = 100 << 20
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = time.Minute
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	cfg.Logger = cfg.Logger.With("component", "media")
	if err := files.MakeFolder(cfg.Dir); err != nil {
		return nil, fmt.Errorf("media: create the spool folder: %w", err)
	}
	left, err := filepath.Glob(filepath.Join(cfg.Dir, spoolPattern))
	if err != nil {
		return nil, fmt.Errorf("media: %w", err)
	}
	for _, path := range left {
		_ = os.Remove(path)
	}
	l := &Library{
		cfg: cfg, client: newClient(cfg), pages: &http.Client{}, admit: cfg.Store.Admit,
		looking: newTurns(maxExamining), converting: newTurns(maxConverting),
		reserved: map[int64]int{},
	}
	l.pages.Transport, l.pages.CheckRedirect = l.client.Transport, redirects(pageRedirects)
	l.life, l.end = context.WithCancel(context.Background())
	return l, l.numberAll(l.life)
}

// Start begins removing expired uploads at the end of their display time.
func (l *Library) Start() {
	l.work.Go(func() {
		prune.Loop(l.life, l.cfg.Store, Life+Shown, l.pruneOnce, func(err error) {
			l.cfg.Logger.Warn("expired uploads could not be removed, trying again", "error", err)
		})
	})
}

func (l *Library) pruneOnce(time.Time) (oldest time.Time, err error) {
	n, first, err := l.Prune(l.life)
	if n > 0 {
		l.cfg.Logger.Info("expired uploads removed", "count", n)
	}
	if first.IsZero() {
		return first, err
	}
	return first.Add(-Life - Shown), err
}

// Stop ends what Start began. It does not wait for files in progress.
func (l *Library) Stop(context.Context) error {
	l.end()
	l.work.Wait()
	l.client.CloseIdleConnections()
	return nil
}

// Open returns the file of a media message: its upload, or a file fetched and prepared
// for this send. The caller calls Close. Errors caused by the caller wrap event.ErrMedia
// or event.ErrMediaType.
func (l *Library) Open(ctx context.Context, instance int64, m *event.Media) (event.MediaSource, error) {
	switch {
	case m.File != nil:
		return event.MediaSource{File: m.File, Close: func() {}}, nil
	case m.UploadID != "":
		u, err := l.forSend(instance, m)
		return event.MediaSource{Uploaded: &u, Close: func() {}}, err
	}
	path, name, err := l.fetch(ctx, m.URL)
	if err != nil {
		return event.MediaSource{}, err
	}
	w := Of(instance, *m)
	w.FileName = firstText(m.FileName, name)
	file, err := l.Prepare(ctx, path, w)
	if err != nil {
		return event.MediaSource{}, err
	}
	return event.MediaSource{File: &file, Close: func() { Remove(file) }}, nil
}

// Preview fetches a picture for an instance and returns its thumbnail.
func (l *Library) Preview(ctx context.Context, instance int64, url string) (event.MediaInfo, error) {
	path, _, err := l.fetch(ctx, url)
	if err != nil {
		return event.MediaInfo{}, err
	}
	file, err := l.Prepare(ctx, path, Wish{Instance: instance, Kind: event.MediaImage})
	if err != nil {
		return event.MediaInfo{}, err
	}
	Remove(file)
	return file.MediaInfo, nil
}

// Remove removes a file returned by Prepare.
func Remove(f event.MediaFile) { _ = os.Remove(f.Path) }

func firstText(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
