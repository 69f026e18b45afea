package app

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"postern/backup"
	"postern/cluster"
	"postern/cluster/postgres"
	"postern/config"
	"postern/httpapi"
	"postern/httpapi/operator"
	"postern/httpapi/rest"
	"postern/httpapi/standby"
	"postern/internal/peers"
	"postern/store"
)

// cell is this program as a node of a cell, see package cluster. It answers requests from
// the start: as a standby until the other parts run. A nil cell is that of a program whose
// file stands alone.
type cell struct {
	node    *cluster.Node
	db      cluster.Database
	name    string
	front   front
	standby *standby.API           // answers until the other parts run
	key     atomic.Pointer[string] // with which nodes know each other

	listeners []func(context.Context) error // that stop them

	cancel context.CancelFunc // ends the start
	done   chan struct{}      // closed when the start has ended
}

// front is a handler that can be replaced while it serves.
type front struct{ is atomic.Pointer[http.Handler] }

func (f *front) use(h http.Handler) { f.is.Store(&h) }

// ServeHTTP implements http.Handler.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) { (*f.is.Load()).ServeHTTP(w, r) }

// The exit statuses of a process that its cell ends.
const (
	statusStopped  = 3  // see store.Options.Fatal
	statusNotOwner = 4  // another process owns the data
	statusRefused  = 78 // a person has to change something
)

// joinCell opens the listeners and starts the other parts in the background, once this
// process owns the cell.
func (a *App) joinCell(ctx context.Context, taken Addresses) error {
	name, err := a.cfg.NodeName()
	if err != nil {
		taken.Close()
		return err
	}
	db, err := postgres.Open(a.cfg.Store.URL, postgres.Options{Noticed: a.cfg.Cluster.Lease / 5, Logger: a.log})
	if err != nil {
		taken.Close()
		return fmt.Errorf("store.url: %w", err)
	}
	c := &cell{db: db, done: make(chan struct{})}
	digests, agree := digestsOf(a.cfg)
	c.name = a.cfg.Cluster.Cell
	c.node = cluster.New(cluster.Config{
		Database: db, Cell: a.cfg.Cluster.Cell, Name: name, Address: a.cfg.Cluster.Advertise, Program: version, Lease: a.cfg.Cluster.Lease,
		AcceptLoss: a.cfg.Store.AcceptLoss, Digests: digests, Agree: agree, File: a.fileOptions(), Ended: a.endedByCell, HandOver: a.handOver, OnCommit: a.metrics.observeCell(), OnStandby: func() { a.warnDifferences(context.WithoutCancel(ctx)) }, Logger: a.log,
	})
	a.cell = c
	proxies, err := a.proxies()
	if err == nil {
		c.standby = standby.New(standby.Config{
			State: c.node.State, Owned: c.owned, Forward: a.cfg.Cluster.Forward, Key: c.secretKey, Local: a.localHandler(proxies), IsLocal: httpapi.IsLocal, Proxies: proxies, Warnings: c.node.Warnings, Logger: a.log,
		})
		c.front.use(c.standby)
		err = a.open(taken, proxies, &c.front, a.metrics.handler())
	}
	if err != nil {
		db.Close()
		taken.Close()
		return err
	}
	a.stops.push("cell", c.stop)
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.cancel = cancel
	go func() {
		defer close(c.done)
		if err := a.start(life, taken); err != nil && life.Err() == nil {
			select {
			case a.failed <- err:
			default: // a listener has failed before
			}
		}
	}()
	return nil
}

// openStore opens the data file, or waits until this process owns its cell.
func (a *App) openStore(ctx context.Context) (*store.Store, error) {
	if a.cell == nil {
		s, err := store.Open(a.fileOptions())
		if err == nil {
			warnAlone(s, a.log)
		}
		return s, err
	}
	s, err := a.cell.node.Lead(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.shareSecrets(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// ownSettings are the sections, and the settings, in which nodes may differ.
var ownSettings = []string{"server.", "store.", "cluster.", "log.", "metrics.", "backup.dir", "authentication."}

// digestsOf returns the digests of the settings that other nodes compare, and the names of
// those that must agree.
func digestsOf(cfg *config.Config) (digests map[string]string, agree []string) {
	digests = map[string]string{}
	for _, s := range config.Settings(cfg) {
		if !slices.ContainsFunc(ownSettings, func(own string) bool { return strings.HasPrefix(s.Name, own) }) {
			digests[s.Name] = digestOf(s.Value)
		}
	}
	for setting, secret := range configuredSecrets(cfg) {
		agree = append(agree, setting)
		if secret != "" {
			digests[setting] = digestOf(secret)
		}
	}
	return digests, agree
}

// noteTakeover writes an audit record of a takeover.
func (a *App) noteTakeover(ctx context.Context) error {
	if a.cell == nil {
		return nil
	}
	from, reason := a.cell.node.Takeover()
	if from == "" {
		return nil
	}
	name, err := a.cfg.NodeName()
	if err != nil {
		return err
	}
	return a.access.Book.Note("cluster", "cluster.takeover", from+" → "+name+" "+reason, "").Keep(ctx)
}

// warnDifferences names the settings in which this node differs from the owner.
func (a *App) warnDifferences(ctx context.Context) {
	for _, p := range a.cell.node.Status(ctx).Nodes {
		if name, err := a.cfg.NodeName(); err == nil && p.Node == name && len(p.Differs) > 0 {
			a.log.Warn("settings of this node differ from those of the owner, and count when this node owns the data: set them alike", "settings", strings.Join(p.Differs, ", "))
		}
	}
}

// localHandler returns what answers the routes that concern this process while it does not
// own its cell: nil until the key of the cell and the file are there.
func (a *App) localHandler(proxies peers.Proxies) func() http.Handler {
	var made atomic.Pointer[http.Handler]
	return func() http.Handler {
		if h := made.Load(); h != nil {
			return *h
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		key, err := a.cell.db.Secret(ctx, a.cell.name, nameGlobalKey)
		signs, errSigns := a.cell.db.Secret(ctx, a.cell.name, nameJWTSecret)
		file := a.cell.node.File()
		if err != nil || errSigns != nil || len(key) == 0 || file == nil {
			return nil
		}
		h := httpapi.NewLocal(httpapi.Config{
			Config: rest.Config{APIKey: string(key), Store: file, Proxies: proxies, Failures: a.failures, Stopping: a.stopping, Logger: a.log},
			Program: operator.Program{
				Metrics:  func(func(int64) bool) http.Handler { return a.metrics.handler() },
				LogLevel: a.level, LogLines: a.lines, Settings: a.settingList, Support: a.writeSupport, Cluster: a.cell.node.Status,
				Backup: func(ctx context.Context, withoutSecrets bool) (*backup.Archive, func() error, error) {
					return a.archiveOf(ctx, file, config.Secrets{GlobalAuthToken: string(key), JWTSecret: string(signs)}, withoutSecrets)
				},
			},
		})
		made.Store(&h)
		return h
	}
}

// warnAlone warns of a file that was taken out of a cell.
func warnAlone(s *store.Store, log *slog.Logger) {
	if mark, is, err := s.Mark(); is && err == nil && mark.Alone {
		log.Warn("this data file was the last one of a cell and goes on alone: no node may start on that cell again, since both would act for the same accounts; postern migrate --to moves the file into a cell", "version", mark.Version)
	}
}

// shareSecrets takes the secrets of the cell, or puts those of this process there.
func (a *App) shareSecrets(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	own := secretsOf(&a.sec)
	for name, configured := range configuredSecrets(a.cfg) {
		kept, err := a.cell.db.Secret(ctx, a.cfg.Cluster.Cell, name)
		switch {
		case err != nil:
			return err
		case len(kept) > 0 && configured == "":
			*own[name] = string(kept)
		case string(kept) != *own[name]:
			if err := a.cell.db.SetSecret(ctx, a.cfg.Cluster.Cell, name, []byte(*own[name])); err != nil {
				return err
			}
		}
		a.cell.node.SetDigest(name, digestOf(*own[name]))
	}
	if a.cell.secretKey() == "" {
		if err := a.cell.db.SetSecret(ctx, a.cfg.Cluster.Cell, nodeKey, []byte(newNodeKey())); err != nil {
			return err
		}
	}
	if a.cfg.Authentication.GlobalAuthToken != "" && a.cfg.Authentication.JWTSecret != "" {
		return nil
	}
	file, err := a.sec.File()
	if err != nil {
		return err
	}
	_, err = config.RestoreSecrets(a.cfg, file, true, time.Now().UTC().Format("20060102T150405Z"))
	return err
}

// nodeKey is the name of the secret with which nodes know each other.
const nodeKey = "node_key"

// configuredSecrets returns the secrets that the configuration has, by setting; empty for
// those that are made.
func configuredSecrets(cfg *config.Config) map[string]string {
	return map[string]string{nameGlobalKey: cfg.Authentication.GlobalAuthToken, nameJWTSecret: cfg.Authentication.JWTSecret}
}

// The names of the secrets in a cell, as settings have them.
const (
	nameGlobalKey = "authentication.global_auth_token"
	nameJWTSecret = "authentication.jwt_secret"
)

// secretsOf returns the secrets that a cell keeps, by name.
func secretsOf(s *config.Secrets) map[string]*string {
	return map[string]*string{nameGlobalKey: &s.GlobalAuthToken, nameJWTSecret: &s.JWTSecret}
}

// digestOf returns what other nodes compare a secret with.
func digestOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// ErrHandedOver ends a process that hands its cell over because its disk is full.
var ErrHandedOver = errors.New("this process handed its cell over because its disk is full or nearly full; free some space; the restart makes it a standby")

// handOver makes the program stop in order.
func (a *App) handOver() {
	select {
	case a.failed <- ErrHandedOver:
	default: // it stops for another reason
	}
}

// leads reports whether all parts run.
func (a *App) leads() bool {
	select {
	case <-a.led:
		return true
	default:
		return a.cell == nil
	}
}

// endedByCell ends the process, whose data another one may change by now.
func (a *App) endedByCell(err error) {
	status := statusStopped
	switch {
	case errors.Is(err, store.ErrFenced):
		status = statusNotOwner
		a.log.Error("this process no longer owns the data and ends; restart it, as the service manager does, and it is a standby", "error", err)
	case errors.Is(err, store.ErrDiverged):
		status = statusRefused
		a.log.Error("ENGINE_WENT_BACK: the database does not have what this process wrote; see that no other database is restored over it, and move the newest data file in with postern migrate --to URL --force", "error", err)
	default:
		a.log.Error("stopping for the sake of the data file; look after the disk, and start again", "error", err)
	}
	os.Exit(status)
}

// owned reports whether the owner that a node sees may still hold its lease.
func (c *cell) owned(s cluster.State) bool {
	return s.Cell.Owner.Name != "" && !s.Cell.Released && s.OwnerSilent < s.Lease
}

// secretKey returns the key with which the nodes of the cell know each other, empty as
// long as there is none.
func (c *cell) secretKey() string {
	if key := c.key.Load(); key != nil {
		return *key
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	raw, err := c.db.Secret(ctx, c.name, nodeKey)
	if err != nil || len(raw) == 0 {
		return ""
	}
	key := string(raw)
	c.key.Store(&key)
	return key
}

// valid returns what is asked before a dial and a webhook; nil for a file that stands alone.
func (c *cell) valid() func() bool {
	if c == nil {
		return nil
	}
	return c.node.Valid
}

// role returns what a program whose parts run is in its cell; empty: it is in none.
func (c *cell) role() string {
	if c == nil {
		return ""
	}
	return string(cluster.Owner)
}

// status returns what reports the state of the cell; nil: the file stands alone.
func (c *cell) status() func(context.Context) cluster.CellStatus {
	if c == nil {
		return nil
	}
	return c.node.Status
}

// forwarded returns how many requests this node forwarded, by result.
func (c *cell) forwarded() map[string]uint64 {
	if c.standby == nil {
		return nil
	}
	return c.standby.Forwarded()
}

// leave ends the start of a node that does not own its cell, and waits for its end.
func (c *cell) leave() {
	if c != nil && c.cancel != nil {
		c.cancel()
		<-c.done
	}
}

// stop hands the cell over, after the file was closed.
func (c *cell) stop(ctx context.Context) error {
	err := c.node.Stop(ctx)
	c.db.Close()
	if errors.Is(err, cluster.ErrUnreachable) {
		return nil // the lease ends by itself
	}
	return err
}

// serve lets the handler of the whole program answer.
func (c *cell) serve(a *App, h http.Handler) {
	c.front.use(&standby.Owner{Handler: h, Valid: c.node.Valid, Synchronous: c.node.Synchronous, Key: c.secretKey})
	a.stops.push("listeners", func(ctx context.Context) (err error) { // before the parts that answer
		for _, stop := range c.listeners {
			err = errors.Join(err, stop(ctx))
		}
		return err
	})
}

// newNodeKey returns a key with which nodes know each other.
func newNodeKey() string {
	var raw [32]byte
	rand.Read(raw[:])
	return hex.EncodeToString(raw[:])
}
