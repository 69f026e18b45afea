package postgres

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"postern/cluster"
	"postern/store"
)

// MoveIn implements [cluster.Database]. It is one transaction, which a lost connection undoes.
func (d *Database) MoveIn(ctx context.Context, cell string, seen cluster.Cell, m cluster.Contents) error {
	sent, warned := false, false
	m, own := watched(m)
	err := d.do(ctx, loads, func(s *session) error {
		if err := s.conn.Exec(ctx, "begin").Close(); err != nil {
			return err
		}
		err := s.moveIn(ctx, cell, seen, m)
		if err != nil {
			if !s.conn.IsClosed() && !s.conn.IsBusy() {
				_ = s.conn.Exec(context.WithoutCancel(ctx), "rollback").Close() // put ends a connection that still has its transaction
			}
			return err
		}
		sent = true
		err = s.conn.Exec(ctx, "commit").Close()
		warned = s.warned
		return err
	})
	if *own != nil {
		return *own
	}
	if !sent || err == nil && !warned {
		return err
	}
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	is, asked := d.movedIn(asking, cell, seen, m)
	switch {
	case asked != nil:
		return fmt.Errorf("%w: version %d of cell %s: %w", cluster.ErrInDoubt, m.Version, cell, asked)
	case is:
		return nil
	case err == nil:
		return fmt.Errorf("%w: %s", cluster.ErrChanged, cell)
	}
	return err
}

// watched returns m, and where its functions leave an error that is not the database's.
func watched(m cluster.Contents) (cluster.Contents, *error) {
	var own error
	rows, verify := m.Rows, m.Verify
	m.Rows = func(put func(store.Row) error) error {
		var of error
		err := rows(func(r store.Row) error {
			of = put(r)
			return of
		})
		if of == nil {
			own = err
		}
		return err
	}
	m.Verify = func(back func(func(store.Row) error) error) error {
		var of error
		err := verify(func(fn func(store.Row) error) error {
			var refused error
			err := back(func(r store.Row) error {
				refused = fn(r)
				return refused
			})
			if refused == nil {
				of = err
			}
			return err
		})
		if of == nil {
			own = err
		}
		return err
	}
	return m, &own
}

// movedIn finds out what happened to a transaction whose end is unknown.
func (d *Database) movedIn(ctx context.Context, cell string, seen cluster.Cell, m cluster.Contents) (is bool, err error) {
	err = d.durably(ctx, func(s *session) error {
		rows, err := s.query(ctx, askSQL, cell) // waits for the transaction
		is = err == nil && len(rows) == 1 && rows[0].count(0) == seen.Epoch+1 && rows[0].count(1) == m.Version
		return err
	})
	if err != nil || !is {
		return false, err
	}
	c, found, err := d.Look(ctx, cell)
	return found && c.Epoch == seen.Epoch+1 && c.ID == m.ID && c.Owner.Name == "", err
}

// moveIn replaces what the database has of the cell.
func (s *session) moveIn(ctx context.Context, cell string, seen cluster.Cell, m cluster.Contents) error {
	if err := s.lockSeen(ctx, cell, seen); err != nil {
		return err
	}
	statements := []statement{
		{
			`update postern.cell set id = $2::text, epoch = $3::bigint, version = $4::bigint, stamp_ms = $5::bigint, released = false, moved_out = false where name = $1::text`,
			[]any{cell, m.ID, seen.Epoch + 1, m.Version, stampOf(m.Stamp)},
		},
		{`update postern.lease set epoch = $2::bigint, beat = beat + 1 + floor(random() * 1000000)::bigint, released = false, since = null,
				node = null, run = null, address = null, program = null, role = null, version = null, lease_ms = null, details = null
			where cell = $1::text`, []any{cell, seen.Epoch + 1}},
	}
	for _, table := range []string{"kv", "change_log", "secret"} {
		statements = append(statements, statement{"delete from postern." + table + " where cell = $1::text", []any{cell}})
	}
	for _, name := range slices.Sorted(maps.Keys(m.Secrets)) {
		statements = append(statements, statement{`insert into postern.secret (cell, name, value) values ($1::text, $2::text, $3::bytea)`, []any{cell, name, m.Secrets[name]}})
	}
	for _, st := range statements {
		if _, err := s.query(ctx, st.sql, st.args...); err != nil {
			return err
		}
	}
	if err := s.copyIn(ctx, cell, m.Rows); err != nil {
		return err
	}
	return m.Verify(func(fn func(store.Row) error) error {
		return deliver(ctx, fn, func(ctx context.Context, chunks chan<- []store.Row) error { return s.ranges(ctx, cell, chunks) })
	})
}

// lockSeen makes the cell, or keeps all others from changing it or its lease until the end of
// the transaction.
func (s *session) lockSeen(ctx context.Context, cell string, seen cluster.Cell) error {
	if seen.ID == "" {
		for _, sql := range []string{
			`insert into postern.cell (name, id) values ($1::text, '') on conflict do nothing returning 1`,
			`insert into postern.lease (cell) values ($1::text) on conflict do nothing returning 1`,
			`insert into postern.barrier (cell) values ($1::text) on conflict do nothing returning 1`,
		} {
			if rows, err := s.query(ctx, sql, cell); err != nil || len(rows) == 0 {
				return orChanged(err, cell)
			}
		}
		return nil
	}
	rows, err := s.query(ctx, `select 1 from postern.cell where name = $1::text and epoch = $2::bigint for update`, cell, seen.Epoch)
	if err != nil || len(rows) == 0 {
		return orChanged(err, cell)
	}
	rows, err = s.query(ctx, `select 1 from postern.lease where cell = $1::text and epoch = $2::bigint and beat = $3::bigint for update`, cell, seen.Epoch, seen.Beat)
	if err != nil || len(rows) == 0 {
		return orChanged(err, cell)
	}
	return nil
}

func orChanged(err error, cell string) error {
	if err == nil {
		err = fmt.Errorf("%w: %s", cluster.ErrChanged, cell)
	}
	return err
}

// copyBytes is how much of the rows one COPY takes.
const copyBytes = 8 << 20

// copyIn adds rows to the cell.
func (s *session) copyIn(ctx context.Context, cell string, rows func(put func(store.Row) error) error) error {
	var some []store.Row
	size := 0
	flush := func() error {
		if len(some) == 0 {
			return nil
		}
		_, err := s.conn.CopyFrom(ctx, bytes.NewReader(copyOf(cell, some)), "copy postern.kv (cell, bucket, key, value) from stdin with (format binary)")
		some, size = some[:0], 0
		return err
	}
	err := rows(func(r store.Row) error {
		some = append(some, r)
		if size += len(r.Key) + len(r.Value); size < copyBytes {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}

// MoveOut implements [cluster.Database].
func (d *Database) MoveOut(ctx context.Context, g cluster.Grant) error {
	done := false
	return d.durably(ctx, func(s *session) error {
		if done { // and the server ended its wait early
			_, err := s.query(ctx, askSQL, g.Cell)
			return err
		}
		rows, err := s.query(ctx, `with cell as (
				update postern.cell set released = true, moved_out = true where name = $1::text and epoch = $2::bigint and not released returning name
			)
			update postern.lease set released = true, beat = beat + 1 from cell where lease.cell = cell.name returning 1`, g.Cell, g.Epoch)
		if err == nil && len(rows) == 0 {
			err = store.ErrFenced
		}
		done = err == nil
		return err
	})
}
