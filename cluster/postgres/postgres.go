package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"postern/cluster"
)

// Options are how a database is used. The zero value is ready.
type Options struct {
	// Noticed is the time after which a connection that leads nowhere is given up; 0: 3 s.
	// It should be a part of the lease.
	Noticed time.Duration

	// Logger gets a line when a commit has to wait for the server; nil: it does not.
	Logger *slog.Logger

	// ReadOnly makes Check examine a database without tables, instead of making them.
	ReadOnly bool

	// withoutSync accepts a server with fsync = off, in tests.
	withoutSync bool
}

// Database implements [cluster.Database]. It dials when it needs a connection.
type Database struct {
	hosts   []*pgconn.Config
	last    atomic.Int32 // index of the host of the newest connection
	opts    Options
	secrets []string // what must not be shown

	mu     sync.Mutex
	free   [lanes][]*session
	closed bool
	shown  map[string]uint64 // the newest version of each cell that was returned
}

var _ cluster.Database = (*Database)(nil)

// leastConnect is what a connection may take at least, however short a lease is: on a machine
// under load the exchange of the password alone takes longer than a part of it, and no
// attempt would succeed. Other hosts are tried meanwhile, see stagger.
const leastConnect = 2 * time.Second

// Open returns the database at a URL of PostgreSQL, with what the environment adds as libpq
// reads it (PGPASSWORD, PGSSLROOTCERT and others). It does not connect.
func Open(rawURL string, o Options) (*Database, error) {
	if !strings.HasPrefix(rawURL, "postgres://") && !strings.HasPrefix(rawURL, "postgresql://") {
		return nil, errors.New("the URL of the database must begin with postgres:// or postgresql://")
	}
	secrets := passwords(rawURL)
	cfg, err := pgconn.ParseConfig(rawURL)
	if err != nil {
		return nil, fmt.Errorf("the URL of the database cannot be read: %s", redact(secrets, err.Error())) //nolint:errorlint // the library's error holds the password
	}
	if o.Noticed == 0 {
		o.Noticed = 3 * time.Second
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = max(o.Noticed, leastConnect)
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	cfg.DialFunc = dialer(o.Noticed)
	if cfg.RuntimeParams["application_name"] == "" {
		cfg.RuntimeParams["application_name"] = "postern"
	}
	if cfg.Password != "" {
		secrets = longestFirst(append(secrets, forms(cfg.Password)...))
	}
	return &Database{hosts: hostsOf(cfg), opts: o, secrets: secrets, shown: map[string]uint64{}}, nil
}

// Close implements [cluster.Database].
func (d *Database) Close() {
	d.mu.Lock()
	d.closed = true
	free := d.free
	d.free = [lanes][]*session{}
	d.mu.Unlock()
	for _, all := range free {
		for _, s := range all {
			s.close()
		}
	}
}

// String names the database without its password.
func (d *Database) String() string {
	hosts := make([]string, len(d.hosts))
	for i, host := range d.hosts {
		hosts[i] = net.JoinHostPort(host.Host, strconv.Itoa(int(host.Port)))
	}
	return "postgres://" + strings.Join(hosts, ",") + "/" + d.hosts[0].Database
}

// GoString is String.
func (d *Database) GoString() string { return d.String() }

func pidText(pid uint32) string  { return strconv.FormatUint(uint64(pid), 10) }
func statementName(n int) string { return "s" + strconv.Itoa(n) }
func settingsOf(of lane) string {
	return fmt.Sprintf(settings, strconv.FormatBool(of == aside), strconv.FormatBool(of == writes))
}

// show notes that a version of a cell was returned.
func (d *Database) show(cell string, version uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shown[cell] = max(d.shown[cell], version)
}

func (d *Database) shownOf(cell string) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.shown[cell]
}

// firstPause and longestPause are the pauses between attempts of a commit. What it waits for is
// logged after logAfter, and then each logEvery.
const (
	firstPause   = 10 * time.Millisecond
	longestPause = time.Second
	logAfter     = time.Second
	logEvery     = time.Minute
)

// pause waits before an attempt and returns the next pause.
func pause(ctx context.Context, wait time.Duration) time.Duration {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	return min(2*wait, longestPause)
}
