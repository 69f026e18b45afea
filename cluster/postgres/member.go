package postgres

import (
	"context"
	"fmt"

	"postern/cluster"
)

// Join implements [cluster.Database].
func (d *Database) Join(ctx context.Context, cell string, m cluster.Member) error {
	more, err := details(m)
	if err != nil {
		return err
	}
	return d.do(ctx, aside, func(s *session) error {
		// A registration that seems to come from the future is one of before the clock was set.
		rows, err := s.query(ctx, `insert into postern.member (cell, node, run, address, program, role, version, lease_ms, details, seen)
			select name, $2::text, $3::text, $4::text, $5::text, $6::text, $7::bigint, $8::bigint, $9::text, clock_timestamp() from postern.cell where name = $1::text
			on conflict (cell, node) do update set run = excluded.run, address = excluded.address, program = excluded.program, role = excluded.role,
				version = excluded.version, lease_ms = excluded.lease_ms, details = excluded.details, seen = excluded.seen
			where member.run = excluded.run or abs(extract(epoch from clock_timestamp() - member.seen)) * 1000 >= member.lease_ms
			returning 1`, append([]any{cell}, memberArgs(m, more)...)...)
		if err != nil || len(rows) == 1 {
			return err
		}
		rows, err = s.query(ctx, `select address from postern.member where cell = $1::text and node = $2::text`, cell, m.Name)
		switch {
		case err != nil:
			return err
		case len(rows) == 0:
			return noCell(cell)
		case rows[0].text(0) == "":
			return fmt.Errorf("%w: %s", cluster.ErrNameTaken, m.Name)
		}
		return fmt.Errorf("%w: %s is running at %s", cluster.ErrNameTaken, m.Name, rows[0].text(0))
	})
}

// Leave implements [cluster.Database].
func (d *Database) Leave(ctx context.Context, cell, node, run string) error {
	return d.do(ctx, aside, func(s *session) error {
		_, err := s.query(ctx, `delete from postern.member where cell = $1::text and node = $2::text and run = $3::text`, cell, node, run)
		return err
	})
}

// Members implements [cluster.Database].
func (d *Database) Members(ctx context.Context, cell string) (members []cluster.Member, err error) {
	err = d.do(ctx, aside, func(s *session) error {
		rows, err := s.query(ctx, `select node, run, address, program, role, version, lease_ms, details, (extract(epoch from seen) * 1000000)::bigint
			from postern.member where cell = $1::text and seen > clock_timestamp() - interval '1 hour' order by node`, cell)
		if err != nil {
			return err
		}
		for _, r := range rows {
			m, err := memberOf(r[:8])
			if err != nil {
				return err
			}
			m.Seen = r.micros(8)
			members = append(members, m)
		}
		return nil
	})
	return members, err
}
