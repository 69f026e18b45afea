// Package move moves a data file into a cell of a database, and a cell out into a file.
//
// Both are whole or not done, wherever they are interrupted, since one step decides: moving
// in, the end of the transaction that makes the cell; moving out, the mark in the cell that
// its data left. A file that is moved in says before that step which version of the cell it
// becomes, and a file that is moved out has no name until after it.
package move

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"time"

	"postern/cluster"
	"postern/store"
	"postern/store/schema"
)

// Config says what is moved. All fields but those marked are required.
type Config struct {
	Database cluster.Database
	Cell     string
	Lease    time.Duration // of nodes, where the cell does not say it
	Path     string        // of the file
	Buckets  []schema.Bucket
	Program  string // version of the program; optional

	// Force lets [In] replace a cell that is there, and [Out] take one that has an owner or
	// that was left.
	Force bool
}

// Result is what was moved.
type Result struct {
	Rows    uint64
	Buckets int
	Version uint64 // of the cell
	Took    time.Duration
	Server  cluster.Server
}

// Errors of [In] and [Out].
var (
	// ErrOwned: a node works with the cell.
	ErrOwned = errors.New("the cell has an owner")
	// ErrNoCell: the database has no such cell.
	ErrNoCell = errors.New("the database has no such cell")
	// ErrBehind: the file lacks what was acknowledged.
	ErrBehind = errors.New("the file is not the newest copy of the cell")
)

// In makes a cell of the file at c.Path and of secrets, and makes the file a copy of the
// cell. If there is an error, there is no cell and the file is as it was, unless the error
// wraps cluster.ErrInDoubt. Other errors wrap cluster.ErrExists, ErrOwned, ErrBehind,
// cluster.ErrChanged, those of store.OpenOffline and those of the database.
func In(ctx context.Context, c Config, secrets map[string][]byte) (r Result, err error) {
	began := time.Now()
	file, err := store.OpenOffline(c.Path, c.Buckets)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if r.Server, err = c.Database.Check(ctx); err != nil {
		return r, err
	}
	seen, err := c.replaceable(ctx, file)
	if err != nil {
		return r, err
	}
	mark, sent, marked := file.Mark(), store.Totals{}, false
	// No copy of an earlier state has this version.
	r.Version = max(seen.Version, mark.Version, mark.Until, mark.Moving) + 1
	if mark.Version > 0 && !mark.Alone {
		r.Version += otherCopies
	}
	err = c.Database.MoveIn(ctx, c.Cell, seen, cluster.Contents{
		ID: file.ID(), Version: r.Version, Stamp: file.Last(), Secrets: secrets,
		Rows: func(put func(store.Row) error) error {
			return file.Rows(ctx, func(row store.Row) error { return errors.Join(sent.Add(row), put(row)) })
		},
		Verify: func(rows func(func(store.Row) error) error) error {
			got := store.Totals{}
			if err := rows(got.Add); err != nil {
				return err
			}
			if !maps.Equal(sent, got) {
				return fmt.Errorf("what the database has (rows: %d) is not what the file has (%d); nothing was moved", got.Rows(), sent.Rows())
			}
			marked = true
			return file.MoveTo(r.Version)
		},
	})
	switch {
	case errors.Is(err, cluster.ErrInDoubt):
		return r, fmt.Errorf("%w; run the same command again: if it says that the cell exists, the data are there", err)
	case errors.Is(err, cluster.ErrChanged):
		err = fmt.Errorf("%w meanwhile: stop all nodes of the cell first", err)
	case err == nil:
		if err := file.Moved(r.Version); err != nil {
			return r, fmt.Errorf("the data are in the cell, but the file does not say so: %w", err)
		}
		r.Rows, r.Buckets, r.Took = sent.Rows(), len(sent), time.Since(began)
		return r, nil
	}
	if marked {
		err = errors.Join(err, file.Stay())
	}
	return r, err
}

// otherCopies is by how many versions other copies of a cell may be newer than the one that
// takes the cell's place.
const otherCopies = 1 << 32

// replaceable returns the cell that the file replaces, the zero value if there is none.
func (c Config) replaceable(ctx context.Context, file *store.Offline) (cluster.Cell, error) {
	mark := file.Mark()
	if mark.Version < mark.Until {
		return cluster.Cell{}, fmt.Errorf("%w: it was being loaded from the cell when its process ended", ErrBehind)
	}
	seen, found, err := c.Database.Look(ctx, c.Cell)
	switch {
	case err != nil || !found:
		return cluster.Cell{}, err
	case !c.Force:
		return seen, fmt.Errorf("%w: %s; --force replaces it with the file, once all its nodes are stopped", cluster.ErrExists, c.Cell)
	case seen.ID == file.ID() && !mark.Alone && mark.Version > 0 && mark.Version < seen.Version && !seen.Left:
		return seen, fmt.Errorf("%w: it has version %d, and the cell %s is at version %d: start a node on the cell instead. If the cell is one that lost changes and went on without them, take its data out with postern migrate --from first, and repeat this", ErrBehind, mark.Version, c.Cell, seen.Version)
	}
	return c.unowned(ctx, seen)
}

// lookEvery is the pause between two looks at a cell.
const lookEvery = 200 * time.Millisecond

// unowned returns the cell once it has no owner: at once if it was released, or when its
// lease was not renewed for as long as it lasts.
func (c Config) unowned(ctx context.Context, seen cluster.Cell) (cluster.Cell, error) {
	if seen.Owner.Name == "" || seen.Released {
		return seen, nil
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for began := time.Now(); time.Since(began) <= max(c.Lease, seen.Owner.Lease); {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return seen, context.Cause(ctx)
		}
		now, found, err := c.Database.Look(ctx, c.Cell)
		switch {
		case err != nil:
			return seen, err
		case !found:
			return seen, fmt.Errorf("%w: %s", ErrNoCell, c.Cell)
		case now.Released:
			return now, nil
		case now.Epoch != seen.Epoch || now.Beat != seen.Beat:
			return seen, fmt.Errorf("%w: %s: stop all nodes of the cell %s first", ErrOwned, now.Owner, c.Cell)
		}
	}
	return seen, nil
}

// Out makes a file at c.Path of the cell, which goes on alone, and marks the cell as left.
// keep is called with the secrets of the cell, by the names given, before that. If there is
// an error, there is no file. Errors wrap ErrNoCell, ErrOwned, cluster.ErrLeft,
// [fs.ErrExist], those of store.TakeOut, of keep and of the database.
func Out(ctx context.Context, c Config, secrets []string, keep func(map[string][]byte) error) (r Result, err error) {
	began := time.Now()
	if _, err := os.Lstat(c.Path); err == nil {
		return r, fmt.Errorf("%s: %w; name a file that is not there", c.Path, fs.ErrExist)
	}
	if r.Server, err = c.Database.Check(ctx); err != nil {
		return r, err
	}
	g, err := c.acquire(ctx)
	if err != nil {
		return r, err
	}
	left := false
	defer func() {
		if !left {
			err = errors.Join(err, c.release(ctx, g))
		}
	}()
	held, end := context.WithCancelCause(ctx)
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		c.renew(held, g, end)
	}()
	defer func() {
		end(nil)
		<-kept
	}()
	copied, totals, err := c.copy(held, g)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, copied.Discard()) }()
	if err := c.keepSecrets(held, secrets, keep); err != nil {
		return r, err
	}
	if err := c.Database.MoveOut(held, g); err != nil {
		return r, fmt.Errorf("%w; there is no file: run the same command again, with --force if it says that the data were moved out", err)
	}
	left = true
	if err := copied.Place(); err != nil {
		return r, fmt.Errorf("%w; the cell is marked as left, and there is no file: run the command again with --force", err)
	}
	r.Version, r.Rows, r.Buckets, r.Took = g.Version, totals.Rows(), len(totals), time.Since(began)
	return r, nil
}

// acquire takes the lease of the cell.
func (c Config) acquire(ctx context.Context) (g cluster.Grant, err error) {
	var run [8]byte
	rand.Read(run[:])
	node := cluster.Member{Name: "postern-migrate", Run: hex.EncodeToString(run[:]), Program: c.Program, Role: string(cluster.Owner), Lease: c.Lease}
	for range 10 { // the owner may renew between the two calls
		seen, found, err := c.Database.Look(ctx, c.Cell)
		switch {
		case err != nil:
			return g, err
		case !found:
			return g, fmt.Errorf("%w: %s", ErrNoCell, c.Cell)
		case seen.Left && !c.Force:
			return g, fmt.Errorf("%w: a file goes on with them; --force takes them out once more, as they were then", cluster.ErrLeft)
		case !c.Force:
			if seen, err = c.unowned(ctx, seen); err != nil {
				return g, err
			}
		}
		g, err = c.Database.Acquire(ctx, c.Cell, node, seen)
		if !c.Force || !errors.Is(err, cluster.ErrChanged) {
			return g, err
		}
	}
	return g, cluster.ErrChanged
}

func (c Config) release(ctx context.Context, g cluster.Grant) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := c.Database.Release(ctx, g); err != nil && !errors.Is(err, store.ErrFenced) {
		return fmt.Errorf("the cell is free after %s: %w", c.Lease, err)
	}
	return nil
}

// renew keeps the lease until ctx ends, and ends it if another node took the cell.
func (c Config) renew(ctx context.Context, g cluster.Grant, end context.CancelCauseFunc) {
	tick := time.NewTicker(c.Lease / 6)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if _, err := c.Database.Renew(ctx, g); errors.Is(err, store.ErrFenced) {
			end(err)
			return
		}
	}
}

// copy makes the file, without a name.
func (c Config) copy(ctx context.Context, g cluster.Grant) (*store.Copy, store.Totals, error) {
	totals := store.Totals{}
	copied, err := store.TakeOut(store.Options{Path: c.Path, Buckets: c.Buckets, Follow: g.ID}, g.Version, func(put func(store.Row) error) error {
		return c.Database.Rows(ctx, c.Cell, func(r store.Row) error { return errors.Join(totals.Add(r), put(r)) })
	})
	return copied, totals, err
}

func (c Config) keepSecrets(ctx context.Context, names []string, keep func(map[string][]byte) error) error {
	all := map[string][]byte{}
	for _, name := range names {
		value, err := c.Database.Secret(ctx, c.Cell, name)
		if err != nil {
			return err
		}
		all[name] = value
	}
	return keep(all)
}
