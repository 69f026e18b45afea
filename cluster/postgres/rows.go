package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"postern/cluster"
	"postern/store"
)

const (
	changesBytes = 8 << 20 // about as much of the change log is returned at once
	rangeRows    = 20000   // rows that one statement reads
	chunkBytes   = 1 << 20 // rows that are handed over at once
	pruneAtOnce  = 5000    // changes
)

// Changes implements [cluster.Database].
func (d *Database) Changes(ctx context.Context, cell string, after uint64, limit int) (changes []store.Change, complete bool, err error) {
	var version uint64
	err = d.do(ctx, loads, func(s *session) error {
		// Changes come with the version of the cell in one snapshot, up to a number of bytes.
		rows, err := s.query(ctx, `select c.version, l.version, l.stamp_ms, l.buckets, l.keys, l.contents
			from postern.cell c left join (
				select *, sum(pg_column_size(keys)::bigint + pg_column_size(contents)) over (order by version rows between unbounded preceding and 1 preceding) as before
				from (select * from postern.change_log where cell = $1::text and version > $2::bigint order by version limit $3::bigint) newest
			) l on coalesce(l.before, 0) < $4::bigint
			where c.name = $1::text order by l.version`, cell, after, limit, changesBytes)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return noCell(cell)
		}
		version = rows[0].count(0)
		if rows[0].null(1) {
			complete = version <= after
			return nil
		}
		complete = rows[0].count(1) == after+1
		for i, r := range rows {
			if r.count(1) != rows[0].count(1)+uint64(i) {
				break
			}
			c, err := changeOf(r[1:])
			if err != nil {
				return fmt.Errorf("%w: version %d of cell %s: %w", cluster.ErrUnfit, r.count(1), cell, err)
			}
			changes = append(changes, c)
		}
		return nil
	})
	if err != nil {
		return nil, false, err
	}
	d.show(cell, version)
	return changes, complete, nil
}

// changeOf reads version, stamp_ms, buckets, keys and contents. It shares their memory.
func changeOf(r row) (store.Change, error) {
	buckets, err1 := decodeArray(r[2])
	keys, err2 := decodeArray(r[3])
	values, err3 := decodeArray(r[4])
	if err := errors.Join(err1, err2, err3); err != nil {
		return store.Change{}, err
	}
	if len(keys) != len(buckets) || len(values) != len(buckets) {
		return store.Change{}, fmt.Errorf("its lists have the lengths %d, %d and %d", len(buckets), len(keys), len(values))
	}
	c := store.Change{Version: r.count(0), Stamp: r.millis(1), Rows: make([]store.Row, len(buckets))}
	for i := range buckets {
		c.Rows[i] = store.Row{Bucket: string(buckets[i]), Key: keys[i], Value: values[i]}
	}
	return c, nil
}

// Rows implements [cluster.Database].
func (d *Database) Rows(ctx context.Context, cell string, fn func(store.Row) error) error {
	return deliver(ctx, fn, func(ctx context.Context, chunks chan<- []store.Row) error {
		return d.do(ctx, loads, func(s *session) error { return s.ranges(ctx, cell, chunks) })
	})
}

// deliver calls fn with the rows that read sends.
func deliver(ctx context.Context, fn func(store.Row) error, read func(context.Context, chan<- []store.Row) error) error {
	inner, stop := context.WithCancel(ctx)
	defer stop()
	chunks, done := make(chan []store.Row, 4), make(chan error, 1)
	go func() {
		defer close(chunks)
		done <- read(inner, chunks)
	}()
	var own error
	for chunk := range chunks {
		for _, r := range chunk {
			if own == nil {
				own = fn(r)
			}
		}
		if own != nil {
			stop()
		}
	}
	if err := <-done; own == nil {
		return err
	}
	return own
}

// ranges sends all rows of a cell, in several statements: one snapshot for all would keep
// the server from removing what is dead.
func (s *session) ranges(ctx context.Context, cell string, to chan<- []store.Row) error {
	st, err := s.prepare(ctx, `select bucket, key, value from postern.kv
		where cell = $1::text and (bucket, key) > ($2::text, $3::bytea) order by bucket, key limit $4::bigint`)
	if err != nil {
		return err
	}
	bucket, key := "", []byte{}
	for n := rangeRows; n == rangeRows; {
		n = 0
		result := s.conn.ExecStatement(ctx, st, encodeAll([]any{cell, bucket, key, rangeRows}), binaryFormat, binaryFormat)
		var c chunk
		for result.NextRow() {
			v := result.Values()
			n++
			if c.add(bucket, v); c.size >= chunkBytes {
				if err := send(ctx, to, c.rows); err != nil {
					return err // put ends a connection in the middle of a result
				}
				bucket, key = c.last(bucket, key)
				c = chunk{}
			}
		}
		if _, err := result.Close(); err != nil {
			return err
		}
		if err := send(ctx, to, c.rows); err != nil {
			return err
		}
		bucket, key = c.last(bucket, key)
	}
	return nil
}

func send(ctx context.Context, to chan<- []store.Row, rows []store.Row) error {
	if len(rows) == 0 {
		return nil
	}
	select {
	case to <- rows:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// chunk collects rows, whose bytes lie in one piece of memory.
type chunk struct {
	rows []store.Row
	size int
	free []byte
}

func (c *chunk) add(bucket string, v [][]byte) {
	if len(c.rows) > 0 {
		bucket = c.rows[len(c.rows)-1].Bucket
	}
	if string(v[0]) != bucket {
		bucket = string(v[0])
	}
	c.rows = append(c.rows, store.Row{Bucket: bucket, Key: c.copy(v[1]), Value: c.copy(v[2])})
	c.size += len(v[1]) + len(v[2]) + 64
}

func (c *chunk) copy(b []byte) []byte {
	if len(b) > cap(c.free)-len(c.free) {
		c.free = make([]byte, 0, max(64<<10, len(b)))
	}
	at := len(c.free)
	c.free = append(c.free, b...)
	return c.free[at:len(c.free):len(c.free)]
}

// last returns the place of the last row, or the one given if there is none.
func (c *chunk) last(bucket string, key []byte) (string, []byte) {
	if n := len(c.rows); n > 0 {
		return c.rows[n-1].Bucket, c.rows[n-1].Key
	}
	return bucket, key
}

// Fill implements [cluster.Database]. If the server ends its wait for the second copy early, the
// rows are there with the first commit.
func (d *Database) Fill(ctx context.Context, cell string, rows []store.Row) error {
	return d.do(ctx, loads, func(s *session) error {
		return s.inTransaction(ctx, func() error {
			// The lock keeps owners away until the rows are there.
			found, err := s.query(ctx, `select epoch, version from postern.cell where name = $1::text for share`, cell)
			switch {
			case err != nil:
				return err
			case len(found) == 0:
				return noCell(cell)
			case found[0].count(0) != 0 || found[0].count(1) != 0:
				return fmt.Errorf("%w: cell %s had an owner, and takes rows only from one", store.ErrFenced, cell)
			}
			_, err = s.conn.CopyFrom(ctx, bytes.NewReader(copyOf(cell, rows)), "copy postern.kv (cell, bucket, key, value) from stdin with (format binary)")
			return err
		})
	})
}

// inTransaction commits what fn did, or nothing of it.
func (s *session) inTransaction(ctx context.Context, fn func() error) error {
	if err := s.conn.Exec(ctx, "begin").Close(); err != nil {
		return err
	}
	if err := fn(); err != nil {
		if !s.conn.IsClosed() {
			_ = s.conn.Exec(ctx, "rollback").Close() // put ends a connection that still has its transaction
		}
		return err
	}
	return s.conn.Exec(ctx, "commit").Close()
}

// copyOf returns rows in the binary format of COPY.
func copyOf(cell string, rows []store.Row) []byte {
	size := 21
	for _, r := range rows {
		size += 18 + len(cell) + len(r.Bucket) + len(r.Key) + len(r.Value)
	}
	b := make([]byte, 0, size)
	b = append(b, "PGCOPY\n\xff\r\n\x00"...)
	b = binary.BigEndian.AppendUint64(b, 0) // flags and the length of an extension
	for _, r := range rows {
		b = binary.BigEndian.AppendUint16(b, 4)
		b = appendField(b, cell)
		b = appendField(b, r.Bucket)
		b = appendField(b, r.Key)
		b = appendField(b, r.Value)
	}
	return binary.BigEndian.AppendUint16(b, 1<<16-1)
}

func appendField[T string | []byte](b []byte, field T) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(field))), field...)
}

// pruneSQL relies on versions having no gap. Times are looked at only if a member is behind.
const pruneSQL = `with most as (
	select least(c.version - $2::bigint, (select min(version) from postern.change_log where cell = $1::text) + $3::bigint - 1) as version,
		(select min(version) from postern.member where cell = $1::text and seen > clock_timestamp() - interval '1 hour') as behind
	from postern.cell c where c.name = $1::text
), bound as (
	select case when behind >= version or behind is null then version else greatest(behind, (
		select max(l.version) from postern.change_log l where l.cell = $1::text and l.version <= most.version and l.made < clock_timestamp() - interval '1 hour'
	)) end as version from most
), gone as (
	delete from postern.change_log where cell = $1::text and version <= (select version from bound) returning 1
)
select count(*) from gone`

// Prune implements [cluster.Database]. It removes the oldest changes only, so that those that
// stay have no gap, and frees their room.
func (d *Database) Prune(ctx context.Context, cell string, keep int) (n int, err error) {
	err = d.do(ctx, aside, func(s *session) error {
		rows, err := s.query(ctx, pruneSQL, cell, keep, pruneAtOnce)
		if err != nil {
			return err
		}
		if n = int(rows[0].number(0)); n == 0 {
			return nil
		}
		// What autovacuum does once a minute would leave dead changes many times those that
		// live. The server skips it, with a warning, if the user does not own the table.
		return s.conn.Exec(ctx, "vacuum (skip_locked) postern.change_log").Close()
	})
	return n, err
}
