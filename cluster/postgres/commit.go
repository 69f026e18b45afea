package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"postern/cluster"
	"postern/store"
)

// commitSQL writes nothing if the row of the cell is not as expected. The version is compared
// again when a lock of the row had to be waited for.
const commitSQL = `with cell as (
	update postern.cell set version = $3::bigint, stamp_ms = $4::bigint
	where name = $1::text and epoch = $2::bigint and version = $3::bigint - 1 and not released
	returning name
), log as (
	insert into postern.change_log (cell, version, stamp_ms, buckets, keys, contents)
	select name, $3::bigint, $4::bigint, $5::text[], $6::bytea[], $7::bytea[] from cell
), news as (
	select name, bucket, key, value from cell, unnest($5::text[], $6::bytea[], $7::bytea[]) as r (bucket, key, value)
), put as (
	insert into postern.kv (cell, bucket, key, value)
	select name, bucket, key, value from news where value is not null
	on conflict (cell, bucket, key) do update set value = excluded.value
)%s
select 1 from cell`

// Changes without deletions are many, and need no join.
var (
	commitPuts = fmt.Sprintf(commitSQL, "")
	commitBoth = fmt.Sprintf(commitSQL, `, del as (
	delete from postern.kv using news
	where kv.cell = $1::text and kv.bucket = news.bucket and kv.key = news.key and news.value is null
)`)
)

// askSQL finds out what happened to a commit. It is a write: it waits for the lock of a commit
// that still runs, and is in the second copy only after it.
const askSQL = `update postern.cell set version = version where name = $1::text returning epoch, version, released`

// Commit implements [cluster.Database].
func (d *Database) Commit(ctx context.Context, g cluster.Grant, c store.Change) error {
	sql, args := commitOf(g, c)
	// doubt: it was sent, and may have happened or happen yet, so nothing but a new version or
	// a new owner rules it out. ask: find out before it is sent again.
	doubt, ask := false, false
	wait, say := firstPause, time.Now().Add(logAfter)
	for {
		again, err := d.attempt(ctx, func(s *session) (bool, error) {
			if ask {
				happened, err := s.asked(ctx, g, c, doubt)
				if err != nil || happened || s.warned {
					return !happened, err
				}
				ask = false
			}
			rows, err := s.query(ctx, sql, args...)
			switch {
			case err == nil && len(rows) == 1 && !s.warned:
				return false, nil
			case err != nil && !lost(err) && doubt:
				return true, err
			case err != nil && !lost(err):
				return true, refused(err)
			}
			ask, doubt = true, doubt || err != nil || len(rows) == 1
			return true, err
		})
		if !again {
			return err
		}
		if ctx.Err() != nil {
			if err = orEnded(ctx, d.fault(ctx, err)); doubt {
				err = fmt.Errorf("%w: version %d of cell %s: %w", cluster.ErrInDoubt, c.Version, g.Cell, err)
			}
			return err
		}
		if err != nil {
			if now := time.Now(); now.After(say) {
				say = now.Add(logEvery)
				d.opts.Logger.Warn("a commit waits for the database, and is tried on", "cell", g.Cell, "version", c.Version, "error", d.fault(ctx, err))
			}
			wait = pause(ctx, wait)
		}
	}
}

func orEnded(ctx context.Context, err error) error {
	if err == nil {
		return context.Cause(ctx)
	}
	return err
}

func commitOf(g cluster.Grant, c store.Change) (sql string, args []any) {
	buckets, keys, values := make([]string, len(c.Rows)), make([][]byte, len(c.Rows)), make([][]byte, len(c.Rows))
	sql = commitPuts
	for i, r := range c.Rows {
		buckets[i], keys[i], values[i] = r.Bucket, r.Key, r.Value
		if r.Key == nil {
			keys[i] = []byte{}
		}
		if r.Value == nil {
			sql = commitBoth
		}
	}
	return sql, []any{g.Cell, g.Epoch, c.Version, stampOf(c.Stamp), buckets, keys, values}
}

// attempt calls fn with a connection for writes. again is true if the connection could not be
// had, or was lost, or fn says so.
func (d *Database) attempt(ctx context.Context, fn func(*session) (again bool, err error)) (again bool, err error) {
	s, err := d.take(ctx, writes, false)
	if err != nil {
		return true, err
	}
	again, err = fn(s)
	d.put(s, err)
	if ours(err) {
		again = false
	}
	return again, err
}

// asked reports whether the change is version c of the cell. doubt: it was sent before.
func (s *session) asked(ctx context.Context, g cluster.Grant, c store.Change, doubt bool) (happened bool, err error) {
	rows, err := s.query(ctx, askSQL, g.Cell)
	if err != nil {
		return false, err
	}
	if s.warned {
		return false, nil
	}
	if len(rows) == 0 {
		return false, fmt.Errorf("%w: the database has no cell %s any more", store.ErrDiverged, g.Cell)
	}
	epoch, version, released := rows[0].count(0), rows[0].count(1), rows[0].flag(2)
	switch {
	case epoch > g.Epoch, epoch == g.Epoch && released:
		return false, store.ErrFenced
	case epoch < g.Epoch:
		return false, fmt.Errorf("%w: the cell in the database went back from epoch %d to %d", store.ErrDiverged, g.Epoch, epoch)
	case version == c.Version && doubt:
		return true, nil
	case version < c.Version-1:
		return false, fmt.Errorf("%w: the cell in the database went back from version %d to %d", store.ErrDiverged, c.Version-1, version)
	case version >= c.Version:
		return false, fmt.Errorf("%w: the cell in the database is at version %d, and the change is version %d", store.ErrDiverged, version, c.Version)
	}
	return false, nil
}

// refused returns the error of a change that the server refuses for good, or err if it may
// take it later.
func refused(err error) error {
	switch kinds, text := describe(err); {
	case errors.Is(kinds[0], store.ErrDiskFull):
		return fmt.Errorf("%w: %s", store.ErrDiskFull, text)
	case errors.Is(kinds[0], errStatement), errors.Is(kinds[0], cluster.ErrUnfit):
		return &fault{kinds, fmt.Sprintf("%s: %s", kinds[0], text)}
	}
	return err
}

// Barrier implements [cluster.Database]. It returns an error that wraps store.ErrDiverged if
// the cell went back since this process saw it last.
func (d *Database) Barrier(ctx context.Context, cell string) error {
	seen := d.shownOf(cell)
	return d.durably(ctx, func(s *session) error {
		rows, err := s.query(ctx, `update postern.barrier set passed = passed + 1 where cell = $1::text
			returning (select version from postern.cell where name = $1::text)`, cell)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return noCell(cell)
		}
		if now := rows[0].count(0); now < seen {
			return fmt.Errorf("%w: the cell in the database went back from version %d to %d", store.ErrDiverged, seen, now)
		}
		return nil
	})
}

// durably calls fn, whose write can be repeated, until the server does not say that it ended
// its wait for the second copy early.
func (d *Database) durably(ctx context.Context, fn func(*session) error) error {
	for wait := firstPause; ; wait = pause(ctx, wait) {
		warned := false
		err := d.do(ctx, writes, func(s *session) error {
			err := fn(s)
			warned = s.warned
			return err
		})
		if err != nil || !warned {
			return err
		}
		if ctx.Err() != nil {
			return d.fault(ctx, context.Cause(ctx))
		}
	}
}

func noCell(cell string) error {
	return &fault{[]error{errNoCell}, fmt.Sprintf("%s %s", errNoCell, cell)}
}
