package move_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"testing"
	"time"

	"postern/cluster"
	"postern/cluster/memory"
	"postern/cluster/move"
	"postern/store"
	"postern/store/schema"
)

const lease = 10 * time.Second

var buckets = []schema.Bucket{{Name: "thing", Owner: "test", Key: "any", Value: "any"}, {Name: "other", Owner: "test", Key: "any", Value: "any"}}

var secrets = map[string][]byte{"key": []byte("secret")}

// database is one in memory that can fail.
type database struct {
	*memory.Database
	die int // the step at which the process ends; 0: none
	at  int // the step that was reached
}

// killed is what a step panics with.
type killed struct{}

// step is a moment at which the process may end.
func (d *database) step() {
	if d.at++; d.at == d.die {
		panic(killed{})
	}
}

func (d *database) Check(ctx context.Context) (cluster.Server, error) {
	d.step()
	return d.Database.Check(ctx)
}

func (d *database) Look(ctx context.Context, cell string) (cluster.Cell, bool, error) {
	d.step()
	return d.Database.Look(ctx, cell)
}

func (d *database) MoveIn(ctx context.Context, cell string, seen cluster.Cell, m cluster.Contents) error {
	d.step()
	rows, verify := m.Rows, m.Verify
	m.Rows = func(put func(store.Row) error) error { return rows(d.second(put)) }
	m.Verify = func(back func(func(store.Row) error) error) error {
		d.step()
		err := verify(back)
		d.step()
		return err
	}
	err := d.Database.MoveIn(ctx, cell, seen, m)
	d.step()
	return err
}

func (d *database) Acquire(ctx context.Context, cell string, m cluster.Member, seen cluster.Cell) (cluster.Grant, error) {
	d.step()
	g, err := d.Database.Acquire(ctx, cell, m, seen)
	d.step()
	return g, err
}

func (d *database) Rows(ctx context.Context, cell string, fn func(store.Row) error) error {
	return d.Database.Rows(ctx, cell, d.second(fn))
}

// second returns fn with a step before its second call.
func (d *database) second(fn func(store.Row) error) func(store.Row) error {
	calls := 0
	return func(r store.Row) error {
		if calls++; calls == 2 {
			d.step()
		}
		return fn(r)
	}
}

func (d *database) MoveOut(ctx context.Context, g cluster.Grant) error {
	d.step()
	err := d.Database.MoveOut(ctx, g)
	d.step()
	return err
}

// until runs fn, which ends at step n. It reports whether fn got there.
func (d *database) until(n int, fn func()) (died bool) {
	d.at, d.die = 0, n
	defer func() {
		d.die = 0
		if p := recover(); p != nil {
			if _, is := p.(killed); !is {
				panic(p)
			}
			died = true
		}
	}()
	fn()
	return false
}

func options(path string) store.Options {
	return store.Options{Path: path, Buckets: buckets, NoSync: true, MinFree: 1}
}

func (d *database) config(path string, force bool) move.Config {
	return move.Config{Database: d, Cell: "main", Lease: lease, Path: path, Buckets: buckets, Force: force}
}

// file makes a data file with some records.
func file(t *testing.T, keys ...string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "postern.db")
	s, err := store.Open(options(path))
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, keys...)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func put(t *testing.T, s *store.Store, keys ...string) {
	t.Helper()
	for _, key := range keys {
		err := s.Update(t.Context(), func(tx *store.Tx) error {
			_, err := tx.NextID("thing")
			return errors.Join(err, tx.Put("thing", []byte(key), []byte("of "+key)))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// contents are the records of an open file, and the number given last.
func contents(t *testing.T, s *store.Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := s.View(func(tx *store.Tx) error {
		last, err := tx.LastID("thing")
		all["last"] = fmt.Sprint(last)
		return errors.Join(err, tx.Scan("thing", store.Range{}, func(key, value []byte) (bool, error) {
			all["/"+string(key)] = string(value)
			return true, nil
		}))
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// alone returns what a file has that no cell concerns.
func alone(t *testing.T, path string) map[string]string {
	t.Helper()
	s, err := store.Open(options(path))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	return contents(t, s)
}

// awake returns the clock of a node in a bubble, in which that of the machine stands still.
func awake() func() time.Duration {
	began := time.Now()
	return func() time.Duration { return time.Since(began) }
}

// lead returns the file of a node once it owns the cell, and what stops the node.
func (d *database) lead(t *testing.T, name, path string) (s *store.Store, stop func(), err error) {
	t.Helper()
	n := cluster.New(cluster.Config{
		Database: d.Database, Cell: "main", Name: name, Lease: lease, Logger: slog.New(slog.DiscardHandler), File: options(path),
		Awake: awake(),
		Ended: func(err error) { t.Errorf("the node ended: %v", err) },
	})
	s, err = n.Lead(t.Context())
	return s, func() {
		if s != nil {
			err = s.Close()
		}
		if err := errors.Join(err, n.Stop(t.Context())); err != nil && s != nil {
			t.Error(err)
		}
	}, err
}

// owned returns what an owner of the cell has in its file.
func (d *database) owned(t *testing.T, name, path string) map[string]string {
	t.Helper()
	s, stop, err := d.lead(t, name, path)
	defer stop()
	if err != nil {
		t.Fatal(err)
	}
	return contents(t, s)
}

func (d *database) look(t *testing.T) (cluster.Cell, bool) {
	t.Helper()
	c, found, err := d.Database.Look(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	return c, found
}

// must is look for a cell that is there.
func (d *database) must(t *testing.T) cluster.Cell {
	t.Helper()
	c, found := d.look(t)
	if !found {
		t.Fatal("there is no cell")
	}
	return c
}

func same(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("%s has %v, want %v", what, got, want)
	}
}

func wants(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want one that wraps %q", err, want)
	}
}

var three = map[string]string{"last": "3", "/a": "of a", "/b": "of b", "/c": "of c"}
