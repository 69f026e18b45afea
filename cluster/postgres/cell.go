package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"postern/cluster"
	"postern/store"
)

var errNoCell = errors.New("the database has no cell")

// Look implements [cluster.Database].
func (d *Database) Look(ctx context.Context, cell string) (c cluster.Cell, found bool, err error) {
	err = d.do(ctx, aside, func(s *session) error {
		rows, err := s.query(ctx, `select c.id, c.epoch, c.version, c.stamp_ms, c.moved_out, l.beat, l.released, (extract(epoch from l.since) * 1000000)::bigint,
				l.node, l.run, l.address, l.program, l.role, l.version, l.lease_ms, l.details
			from postern.cell c join postern.lease l on l.cell = c.name where c.name = $1::text`, cell)
		if found = len(rows) == 1; !found {
			return err
		}
		r := rows[0]
		c = cluster.Cell{ID: r.text(0), Epoch: r.count(1), Version: r.count(2), Stamp: r.millis(3), Left: r.flag(4), Beat: r.count(5), Released: r.flag(6), Since: r.micros(7)}
		c.Owner, err = memberOf(r[8:])
		return err
	})
	if found {
		d.show(cell, c.Version)
	}
	return c, found, err
}

// Create implements [cluster.Database].
func (d *Database) Create(ctx context.Context, cell, id string) error {
	made := false
	return d.durably(ctx, func(s *session) error {
		rows, err := s.query(ctx, `with cell as (
				insert into postern.cell (name, id) values ($1::text, $2::text) on conflict do nothing returning name
			), lease as (insert into postern.lease (cell) select name from cell
			), barrier as (insert into postern.barrier (cell) select name from cell)
			select 1 from cell`, cell, id)
		switch {
		case err != nil:
			return err
		case len(rows) == 1:
			made = true
		case !made:
			return fmt.Errorf("%w: %s", cluster.ErrExists, cell)
		default: // made before the server ended its wait early
			_, err = s.query(ctx, askSQL, cell)
		}
		return err
	})
}

// Acquire implements [cluster.Database]. If it returns an error of another kind than
// cluster.ErrChanged, the node may own the cell without knowing it, and the cell is free after
// a lease.
func (d *Database) Acquire(ctx context.Context, cell string, node cluster.Member, seen cluster.Cell) (cluster.Grant, error) {
	more, err := details(node)
	if err != nil {
		return cluster.Grant{}, err
	}
	// The row of the cell is locked first: to wait for a commit there holds up no renewal.
	statements := []statement{
		{`select from postern.cell where name = $1::text for update`, []any{cell}},
		{`update postern.lease set epoch = $2::bigint + 1, beat = beat + 1 + floor(random() * 1000000)::bigint, released = false, since = clock_timestamp(),
				node = $4::text, run = $5::text, address = $6::text, program = $7::text, role = $8::text, version = $9::bigint, lease_ms = $10::bigint, details = $11::text
			where cell = $1::text and epoch = $2::bigint and beat = $3::bigint`, append([]any{cell, seen.Epoch, seen.Beat}, memberArgs(node, more)...)},
		{`update postern.cell set epoch = $2::bigint + 1, released = false
			where name = $1::text and epoch = $2::bigint and exists (select from postern.lease where cell = $1::text and epoch = $2::bigint + 1)
			returning id, epoch, version, stamp_ms`, []any{cell, seen.Epoch}},
	}
	g := cluster.Grant{Cell: cell}
	err = d.durably(ctx, func(s *session) error {
		if g.Epoch != 0 { // acquired, and the server ended its wait early
			return s.stillHas(ctx, g)
		}
		rows, err := s.batch(ctx, statements)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return fmt.Errorf("%w: %s", cluster.ErrChanged, cell)
		}
		g.ID, g.Epoch, g.Version, g.Stamp = rows[0].text(0), rows[0].count(1), rows[0].count(2), rows[0].millis(3)
		return nil
	})
	if err != nil {
		return cluster.Grant{}, err
	}
	d.show(cell, g.Version)
	return g, nil
}

// stillHas returns ErrChanged if the cell lost the grant, as after a failover.
func (s *session) stillHas(ctx context.Context, g cluster.Grant) error {
	rows, err := s.query(ctx, askSQL, g.Cell)
	if err != nil {
		return err
	}
	if len(rows) == 0 || rows[0].count(0) != g.Epoch || rows[0].count(1) != g.Version {
		return fmt.Errorf("%w: %s", cluster.ErrChanged, g.Cell)
	}
	return nil
}

// Renew implements [cluster.Database]. A beat is never one that was there before, even if a
// failover undid renewals.
func (d *Database) Renew(ctx context.Context, g cluster.Grant) (r cluster.Renewal, err error) {
	err = d.do(ctx, aside, func(s *session) error {
		rows, err := s.query(ctx, `update postern.lease set beat = beat + 1 + floor(random() * 1000000)::bigint
			where cell = $1::text and epoch = $2::bigint and not released
			returning current_setting('synchronous_standby_names'), (extract(epoch from clock_timestamp()) * 1000000)::bigint`, g.Cell, g.Epoch)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return store.ErrFenced
		}
		r = cluster.Renewal{Synchronous: standbyNames(rows[0].text(0)), Now: rows[0].micros(1)}
		return nil
	})
	return r, err
}

// Release implements [cluster.Database].
func (d *Database) Release(ctx context.Context, g cluster.Grant) error {
	return d.do(ctx, aside, func(s *session) error {
		rows, err := s.query(ctx, `with cell as (
				update postern.cell set released = true where name = $1::text and epoch = $2::bigint and not released returning name
			)
			update postern.lease set released = true, beat = beat + 1 from cell where lease.cell = cell.name returning 1`, g.Cell, g.Epoch)
		if err == nil && len(rows) == 0 {
			err = store.ErrFenced
		}
		return err
	})
}

// Drop implements [cluster.Database].
func (d *Database) Drop(ctx context.Context, cell string) error {
	var statements []statement
	for _, table := range []struct{ name, column string }{
		{"cell", "name"}, {"lease", "cell"}, {"barrier", "cell"}, {"kv", "cell"}, {"change_log", "cell"}, {"member", "cell"}, {"secret", "cell"},
	} {
		statements = append(statements, statement{"delete from postern." + table.name + " where " + table.column + " = $1::text", []any{cell}})
	}
	return d.do(ctx, loads, func(s *session) error {
		_, err := s.batch(ctx, statements)
		return err
	})
}

// Secret implements [cluster.Database].
func (d *Database) Secret(ctx context.Context, cell, name string) (value []byte, err error) {
	err = d.do(ctx, aside, func(s *session) error {
		rows, err := s.query(ctx, `select value from postern.secret where cell = $1::text and name = $2::text`, cell, name)
		if len(rows) == 1 {
			value = rows[0].bytes(0)
		}
		return err
	})
	return value, err
}

// SetSecret implements [cluster.Database].
func (d *Database) SetSecret(ctx context.Context, cell, name string, value []byte) error {
	return d.durably(ctx, func(s *session) error {
		rows, err := s.query(ctx, `insert into postern.secret (cell, name, value) select name, $2::text, $3::bytea from postern.cell where name = $1::text
			on conflict (cell, name) do update set value = excluded.value returning 1`, cell, name, append([]byte{}, value...))
		if err == nil && len(rows) == 0 {
			err = noCell(cell)
		}
		return err
	})
}

// memberArgs are the parameters that memberOf reads as columns.
func memberArgs(m cluster.Member, more []byte) []any {
	return []any{m.Name, m.Run, m.Address, m.Program, m.Role, m.Version, m.Lease.Milliseconds(), string(more)}
}

// memberOf reads node, run, address, program, role, version, lease_ms and details.
func memberOf(r row) (cluster.Member, error) {
	m := cluster.Member{
		Name: r.text(0), Run: r.text(1), Address: r.text(2), Program: r.text(3), Role: r.text(4), Version: r.count(5),
		Lease: time.Duration(r.number(6)) * time.Millisecond,
	}
	if r.null(7) {
		return m, nil
	}
	var d memberDetails
	err := json.Unmarshal(r[7], &d)
	m.Digests, m.Behind, m.Full = d.Digests, time.Duration(d.BehindMs)*time.Millisecond, d.Full
	return m, err
}

// memberDetails is the JSON of what no statement compares.
type memberDetails struct {
	Digests  map[string]string `json:"digests,omitempty"`
	BehindMs int64             `json:"behindMs,omitempty"`
	Full     bool              `json:"full,omitempty"`
}

func details(m cluster.Member) ([]byte, error) {
	return json.Marshal(memberDetails{m.Digests, m.Behind.Milliseconds(), m.Full})
}
