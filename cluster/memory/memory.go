// Package memory is a database of cells in memory, with the failures of a real one, for
// tests in which time is simulated.
package memory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"postern/cluster"
	"postern/store"
)

// Database implements [cluster.Database]. The zero value is ready.
type Database struct {
	mu    sync.Mutex
	cells map[string]*cell
	away  bool
	back  chan struct{} // closed when the server answers again

	// OnCommit decides what happens to a commit; nil: it happens. It is called without a
	// lock held.
	OnCommit func(cluster.Grant, store.Change) Outcome
	// Synchronous are the servers that commits wait for; nil: one named "second".
	Synchronous []string
	// Now is the server's clock; nil: the machine's.
	Now func() time.Time
}

// Outcome is what happens to one commit.
type Outcome int

// Outcomes of commits.
const (
	Happens    Outcome = iota
	LostBefore         // the connection is lost before the server sees it
	LostAfter          // the connection is lost after the server has it
	NoRoom             // refused for lack of room
)

type cell struct {
	state   cluster.Cell
	rows    map[string]store.Row
	changes []store.Change // those that are kept
	members map[string]cluster.Member
	secrets map[string][]byte
}

// SetAway makes the server unreachable, or reachable again.
func (d *Database) SetAway(away bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case away && !d.away:
		d.back = make(chan struct{})
	case !away && d.away:
		close(d.back)
	}
	d.away = away
}

// Forget takes the newest changes back, as the promotion of a copy that lacks them does.
func (d *Database) Forget(name string, changes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cells[name].state.Version -= uint64(changes)
	kept := d.cells[name].changes
	d.cells[name].changes = kept[:len(kept)-changes]
}

func (d *Database) now() time.Time {
	if d.Now != nil {
		return d.Now()
	}
	return time.Now()
}

func (d *Database) synchronous() []string {
	if d.Synchronous == nil {
		return []string{"second"}
	}
	return d.Synchronous
}

// SetSynchronous changes which servers commits wait for.
func (d *Database) SetSynchronous(names []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.Synchronous = names
}

// in calls fn with the cell under the lock; nil if there is none.
func (d *Database) in(ctx context.Context, name string, fn func(*cell) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", cluster.ErrUnreachable, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.away {
		return fmt.Errorf("%w: connection refused", cluster.ErrUnreachable)
	}
	return fn(d.cells[name])
}

// there is in for a cell that must exist.
func (d *Database) there(ctx context.Context, name string, fn func(*cell) error) error {
	return d.in(ctx, name, func(c *cell) error {
		if c == nil {
			return fmt.Errorf("there is no cell %q", name)
		}
		return fn(c)
	})
}

// Check implements [cluster.Database].
func (d *Database) Check(ctx context.Context) (s cluster.Server, err error) {
	err = d.in(ctx, "", func(*cell) error {
		s = cluster.Server{Version: "memory", Primary: "memory", Synchronous: d.synchronous(), Now: d.now()}
		return nil
	})
	return s, err
}

// Look implements [cluster.Database].
func (d *Database) Look(ctx context.Context, name string) (state cluster.Cell, found bool, err error) {
	err = d.in(ctx, name, func(c *cell) error {
		if found = c != nil; found {
			state = c.state
		}
		return nil
	})
	return state, found, err
}

// Create implements [cluster.Database].
func (d *Database) Create(ctx context.Context, name, id string) error {
	return d.in(ctx, name, func(c *cell) error {
		if c != nil {
			return cluster.ErrExists
		}
		d.put(name, newCell(id))
		return nil
	})
}

func newCell(id string) *cell {
	return &cell{state: cluster.Cell{ID: id}, rows: map[string]store.Row{}, members: map[string]cluster.Member{}, secrets: map[string][]byte{}}
}

// put adds or replaces a cell. The caller holds d.mu.
func (d *Database) put(name string, c *cell) {
	if d.cells == nil {
		d.cells = map[string]*cell{}
	}
	d.cells[name] = c
}

// Acquire implements [cluster.Database].
func (d *Database) Acquire(ctx context.Context, name string, node cluster.Member, seen cluster.Cell) (g cluster.Grant, err error) {
	err = d.there(ctx, name, func(c *cell) error {
		if c.state.Epoch != seen.Epoch || c.state.Beat != seen.Beat {
			return cluster.ErrChanged
		}
		c.state.Epoch++
		c.state.Beat++
		c.state.Owner, c.state.Since, c.state.Released = node, d.now(), false
		g = cluster.Grant{Cell: name, ID: c.state.ID, Epoch: c.state.Epoch, Version: c.state.Version, Stamp: c.state.Stamp}
		return nil
	})
	return g, err
}

// held is there for the owner of the cell.
func (d *Database) held(ctx context.Context, g cluster.Grant, fn func(*cell) error) error {
	return d.there(ctx, g.Cell, func(c *cell) error {
		if c.state.Epoch != g.Epoch || c.state.Released {
			return store.ErrFenced
		}
		return fn(c)
	})
}

// Renew implements [cluster.Database].
func (d *Database) Renew(ctx context.Context, g cluster.Grant) (r cluster.Renewal, err error) {
	err = d.held(ctx, g, func(c *cell) error {
		c.state.Beat++
		r = cluster.Renewal{Synchronous: d.synchronous(), Now: d.now()}
		return nil
	})
	return r, err
}

// Release implements [cluster.Database].
func (d *Database) Release(ctx context.Context, g cluster.Grant) error {
	return d.held(ctx, g, func(c *cell) error {
		c.state.Released = true
		c.state.Beat++
		return nil
	})
}

// Commit implements [cluster.Database].
func (d *Database) Commit(ctx context.Context, g cluster.Grant, c store.Change) error {
	outcome := Happens
	if d.OnCommit != nil {
		outcome = d.OnCommit(g, c)
	}
	for {
		err := d.try(ctx, g, c, outcome)
		if !errors.Is(err, cluster.ErrUnreachable) {
			return err
		}
		d.mu.Lock()
		back := d.back
		if !d.away {
			back = nil
		}
		d.mu.Unlock()
		if back != nil {
			select {
			case <-back:
			case <-ctx.Done():
			}
		}
		if ctx.Err() != nil {
			return cluster.ErrInDoubt
		}
		outcome = Happens
	}
}

func (d *Database) try(ctx context.Context, g cluster.Grant, c store.Change, outcome Outcome) error {
	return d.held(ctx, g, func(in *cell) error {
		switch {
		case outcome == LostBefore:
			return cluster.ErrUnreachable
		case outcome == NoRoom:
			return store.ErrDiskFull
		case in.state.Version == c.Version && len(in.changes) > 0 && in.state.Stamp.Equal(c.Stamp):
			return nil // the answer to the first attempt was lost
		case in.state.Version != c.Version-1:
			return fmt.Errorf("%w: the cell is at version %d, and the change is version %d", store.ErrDiverged, in.state.Version, c.Version)
		}
		in.apply(c)
		if outcome == LostAfter {
			return cluster.ErrUnreachable
		}
		return nil
	})
}

func (c *cell) apply(change store.Change) {
	change.Rows = slices.Clone(change.Rows)
	for i, r := range change.Rows {
		r.Value = bytes.Clone(r.Value)
		change.Rows[i] = r
		c.put(r)
	}
	c.changes = append(c.changes, change)
	c.state.Version, c.state.Stamp = change.Version, change.Stamp
}

func (c *cell) put(r store.Row) {
	name := r.Bucket + "\x00" + string(r.Key)
	if r.Value == nil {
		delete(c.rows, name)
	} else {
		c.rows[name] = r
	}
}

// Barrier implements [cluster.Database].
func (d *Database) Barrier(ctx context.Context, name string) error {
	return d.there(ctx, name, func(*cell) error { return nil })
}

// Changes implements [cluster.Database].
func (d *Database) Changes(ctx context.Context, name string, after uint64, limit int) (changes []store.Change, complete bool, err error) {
	err = d.there(ctx, name, func(c *cell) error {
		for _, change := range c.changes {
			if change.Version > after && len(changes) < limit {
				changes = append(changes, change)
			}
		}
		complete = c.state.Version <= after || len(changes) > 0 && changes[0].Version == after+1
		return nil
	})
	return changes, complete, err
}

// Rows implements [cluster.Database].
func (d *Database) Rows(ctx context.Context, name string, fn func(store.Row) error) error {
	var now cell
	err := d.there(ctx, name, func(c *cell) error {
		now.rows = maps.Clone(c.rows)
		return nil
	})
	if err != nil {
		return err
	}
	return now.each(fn)
}

// each calls fn with every row, bucket by bucket in key order.
func (c *cell) each(fn func(store.Row) error) error {
	for _, r := range slices.SortedFunc(maps.Values(c.rows), cmp) {
		if err := fn(r); err != nil {
			return err
		}
	}
	return nil
}

func cmp(a, b store.Row) int {
	if a.Bucket != b.Bucket {
		return strings.Compare(a.Bucket, b.Bucket)
	}
	return bytes.Compare(a.Key, b.Key)
}

// MoveIn implements [cluster.Database].
func (d *Database) MoveIn(ctx context.Context, name string, seen cluster.Cell, m cluster.Contents) error {
	made := newCell(m.ID)
	made.state.Version, made.state.Stamp, made.state.Epoch = m.Version, m.Stamp, seen.Epoch+1
	maps.Copy(made.secrets, m.Secrets)
	err := m.Rows(func(r store.Row) error {
		made.put(store.Row{Bucket: r.Bucket, Key: bytes.Clone(r.Key), Value: bytes.Clone(r.Value)})
		return ctx.Err()
	})
	if err == nil {
		err = m.Verify(made.each)
	}
	if err != nil {
		return err
	}
	return d.in(ctx, name, func(c *cell) error {
		var is cluster.Cell
		if c != nil {
			is, made.members, made.state.Beat = c.state, c.members, c.state.Beat+1
		}
		if (c == nil) != (seen.ID == "") || is.Epoch != seen.Epoch || is.Beat != seen.Beat {
			return cluster.ErrChanged
		}
		d.put(name, made)
		return nil
	})
}

// MoveOut implements [cluster.Database].
func (d *Database) MoveOut(ctx context.Context, g cluster.Grant) error {
	return d.held(ctx, g, func(c *cell) error {
		c.state.Released, c.state.Left = true, true
		c.state.Beat++
		return nil
	})
}

// Fill implements [cluster.Database].
func (d *Database) Fill(ctx context.Context, name string, rows []store.Row) error {
	return d.there(ctx, name, func(c *cell) error {
		for _, r := range rows {
			c.put(store.Row{Bucket: r.Bucket, Key: bytes.Clone(r.Key), Value: bytes.Clone(r.Value)})
		}
		return nil
	})
}

// Join implements [cluster.Database].
func (d *Database) Join(ctx context.Context, name string, m cluster.Member) error {
	return d.there(ctx, name, func(c *cell) error {
		if old, is := c.members[m.Name]; is && old.Run != m.Run && d.now().Sub(old.Seen) < old.Lease {
			return fmt.Errorf("%w: it is running at %s", cluster.ErrNameTaken, old.Address)
		}
		m.Seen = d.now()
		c.members[m.Name] = m
		return nil
	})
}

// Leave implements [cluster.Database].
func (d *Database) Leave(ctx context.Context, name, node, run string) error {
	return d.there(ctx, name, func(c *cell) error {
		if c.members[node].Run == run {
			delete(c.members, node)
		}
		return nil
	})
}

// Members implements [cluster.Database].
func (d *Database) Members(ctx context.Context, name string) (members []cluster.Member, err error) {
	err = d.there(ctx, name, func(c *cell) error {
		for _, node := range slices.Sorted(maps.Keys(c.members)) {
			if m := c.members[node]; d.now().Sub(m.Seen) < time.Hour {
				members = append(members, m)
			}
		}
		return nil
	})
	return members, err
}

// Secret implements [cluster.Database].
func (d *Database) Secret(ctx context.Context, name, secret string) (value []byte, err error) {
	err = d.there(ctx, name, func(c *cell) error {
		value = bytes.Clone(c.secrets[secret])
		return nil
	})
	return value, err
}

// SetSecret implements [cluster.Database].
func (d *Database) SetSecret(ctx context.Context, name, secret string, value []byte) error {
	return d.there(ctx, name, func(c *cell) error {
		c.secrets[secret] = bytes.Clone(value)
		return nil
	})
}

// Prune implements [cluster.Database].
func (d *Database) Prune(ctx context.Context, name string, keep int) (n int, err error) {
	err = d.there(ctx, name, func(c *cell) error {
		n = len(c.changes) - keep
		for _, m := range c.members {
			n = min(n, int(m.Version)-int(c.state.Version)+len(c.changes)) //nolint:gosec // small in tests
		}
		if n = max(0, n); n > 0 {
			c.changes = slices.Clone(c.changes[n:])
		}
		return nil
	})
	return n, err
}

// Drop implements [cluster.Database].
func (d *Database) Drop(ctx context.Context, name string) error {
	return d.in(ctx, name, func(*cell) error {
		delete(d.cells, name)
		return nil
	})
}

// Close implements [cluster.Database].
func (d *Database) Close() {}
