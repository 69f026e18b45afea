package cluster_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"postern/cluster"
	"postern/cluster/memory"
	"postern/store"
	"postern/store/schema"
)

const lease = 10 * time.Second

var thing = schema.Bucket{Name: "thing", Owner: "test", Key: "any", Value: "any"}

// world is a database and the nodes that share its cell.
type world struct {
	t     *testing.T
	db    *memory.Database
	start time.Time
	nodes []*process
}

// process is one node, as a process of its own.
type process struct {
	*cluster.Node
	w      *world
	name   string
	db     *link
	file   string
	store  atomic.Pointer[store.Store] // once it leads
	failed atomic.Pointer[error]       // of Lead
	ended  atomic.Pointer[error]
	cancel context.CancelFunc
	done   chan struct{}
}

// link is the connection of one process to the database. While it is frozen, calls wait,
// as they do in a process that is paused.
type link struct {
	*memory.Database
	mu     sync.Mutex
	frozen chan struct{}
	held   chan struct{} // while no second copy gets what is written; nil: it does
	waits  atomic.Int64  // calls of Barrier that wait
	late   time.Duration // after which the next commit arrives, while the line is frozen for as long as outage; 0: it is not late
	outage time.Duration
}

// delay has the next commit arrive late, perhaps after the process that sent it gave it up.
func (l *link) delay(late, outage time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.late, l.outage = late, outage
}

// send begins the journey of a commit that arrives late.
func (l *link) send(g cluster.Grant, c store.Change) {
	l.mu.Lock()
	late, outage := l.late, l.outage
	l.late = 0
	l.mu.Unlock()
	if late == 0 {
		return
	}
	c.Rows = slices.Clone(c.Rows)
	for i, r := range c.Rows {
		c.Rows[i].Value = bytes.Clone(r.Value)
	}
	time.AfterFunc(late, func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		_ = l.Database.Commit(ctx, g, c) // no caller waits for the answer
	})
	l.freeze(true)
	time.AfterFunc(outage, func() { l.freeze(false) })
}

func (l *link) freeze(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case on && l.frozen == nil:
		l.frozen = make(chan struct{})
	case !on && l.frozen != nil:
		close(l.frozen)
		l.frozen = nil
	}
}

func (l *link) wait(ctx context.Context) {
	l.mu.Lock()
	frozen := l.frozen
	l.mu.Unlock()
	if frozen != nil {
		select {
		case <-frozen:
		case <-ctx.Done():
		}
	}
}

func (l *link) Renew(ctx context.Context, g cluster.Grant) (cluster.Renewal, error) {
	l.wait(ctx)
	return l.Database.Renew(ctx, g)
}

func (l *link) Look(ctx context.Context, cell string) (cluster.Cell, bool, error) {
	l.wait(ctx)
	return l.Database.Look(ctx, cell)
}

func (l *link) Commit(ctx context.Context, g cluster.Grant, c store.Change) error {
	l.send(g, c)
	l.wait(ctx)
	return l.Database.Commit(ctx, g, c)
}

func (l *link) Barrier(ctx context.Context, cell string) error {
	l.mu.Lock()
	held := l.held
	l.mu.Unlock()
	if held != nil {
		l.waits.Add(1)
		defer l.waits.Add(-1)
		select {
		case <-held:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return l.Database.Barrier(ctx, cell)
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, db: &memory.Database{}, start: time.Now()}
	t.Cleanup(func() {
		for _, p := range w.nodes {
			p.kill()
		}
	})
	return w
}

// process starts a node on a file of its own, or on file.
func (w *world) process(name, file string, change ...func(*cluster.Config)) *process {
	if file == "" {
		file = filepath.Join(w.t.TempDir(), name+".db")
	}
	p := &process{w: w, name: name, db: &link{Database: w.db}, file: file, done: make(chan struct{})}
	cfg := cluster.Config{
		Database: p.db, Cell: "main", Name: name, Address: "http://" + name, Lease: lease, Logger: slog.New(slog.DiscardHandler),
		File:  store.Options{Path: file, Buckets: []schema.Bucket{thing}, NoSync: true, MinFree: 1},
		Awake: func() time.Duration { return time.Since(w.start) },
		Ended: func(err error) { p.ended.Store(&err) },
	}
	for _, c := range change {
		c(&cfg)
	}
	p.Node = cluster.New(cfg)
	ctx, cancel := context.WithCancel(w.t.Context())
	p.cancel = cancel
	go func() {
		defer close(p.done)
		s, err := p.Lead(ctx)
		if err != nil {
			p.failed.Store(&err)
			return
		}
		p.store.Store(s)
	}()
	w.nodes = append(w.nodes, p)
	return p
}

// kill ends a process without a word to the others.
func (p *process) kill() {
	p.cancel()
	<-p.done
	p.Kill()
	p.db.freeze(false)
	if s := p.store.Swap(nil); s != nil {
		_ = s.Close()
	}
}

// stop ends a process in order.
func (p *process) stop() {
	p.cancel()
	<-p.done
	if s := p.store.Swap(nil); s != nil {
		if err := s.Close(); err != nil {
			p.w.t.Error(err)
		}
	}
	if err := p.Stop(context.Background()); err != nil && !errors.Is(err, cluster.ErrUnreachable) {
		p.w.t.Error(err)
	}
}

func (p *process) put(key string) error {
	s := p.store.Load()
	if s == nil {
		return store.ErrStandby
	}
	return s.Update(context.Background(), func(tx *store.Tx) error { return tx.Put("thing", []byte(key), []byte(key)) })
}

// count numbers a change: it stores key under the next number, like the event of a user.
func (p *process) count(key string) (n uint64, err error) {
	s := p.store.Load()
	if s == nil {
		return 0, store.ErrStandby
	}
	err = s.Update(context.Background(), func(tx *store.Tx) error {
		raw, err := tx.Get("thing", []byte("counter"))
		if err != nil {
			return err
		}
		n = 1
		if raw != nil {
			n = binary.BigEndian.Uint64(raw) + 1
		}
		return errors.Join(tx.Put("thing", []byte("counter"), binary.BigEndian.AppendUint64(nil, n)), tx.Put("thing", fmt.Append(nil, "number ", n), []byte(key)))
	})
	return n, err
}

// counted returns the newest number.
func (p *process) counted() (n uint64) {
	_ = p.store.Load().View(func(tx *store.Tx) error {
		if raw, err := tx.Get("thing", []byte("counter")); err == nil && raw != nil {
			n = binary.BigEndian.Uint64(raw)
		}
		return nil
	})
	return n
}

func (p *process) has(key string) bool { return p.get(key) == key }

func (p *process) get(key string) (value string) {
	_ = p.store.Load().View(func(tx *store.Tx) error {
		raw, err := tx.Get("thing", []byte(key))
		value = string(raw)
		return err
	})
	return value
}

// until waits in steps of 50 ms, at most max, and returns how long it took.
func (w *world) until(what string, most time.Duration, is func() bool) time.Duration {
	w.t.Helper()
	began := time.Now()
	for !is() {
		if time.Since(began) > most {
			w.t.Fatalf("not within %s: %s", most, what)
		}
		time.Sleep(50 * time.Millisecond)
		synctest.Wait()
	}
	return time.Since(began)
}

// reason returns why a process ended.
func (p *process) reason() error {
	if err := p.ended.Load(); err != nil {
		return *err
	}
	if err := p.failed.Load(); err != nil {
		return *err
	}
	return nil
}

func (p *process) leads() bool { return p.store.Load() != nil }

func (p *process) standsBy() bool { return p.State().Role == cluster.Standby && p.State().Behind == 0 }
