package postgresql

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"postern/cluster/postgres"
	"postern/migrate/table"
)

// Database is a database of another program. It implements [table.Source].
type Database struct {
	url     string
	conn    *pgconn.PgConn
	tables  map[string]string // the names as SQL has them
	order   []string
	writes  string // of all tables when the database was opened
	cursors int
}

// IsURL reports whether a source is a database and not a file.
func IsURL(from string) bool {
	return strings.HasPrefix(from, "postgres://") || strings.HasPrefix(from, "postgresql://")
}

const (
	connectTimeout = 10 * time.Second
	fetchRows      = 100 // of which each may have table.MaxRow
)

// begin makes values as pg_dump writes them, and has rows that the user may not see refused
// and not left out.
const begin = `begin isolation level repeatable read read only;
set local statement_timeout = 0; set local lock_timeout = 0; set local idle_in_transaction_session_timeout = 0;
set local datestyle = iso; set local intervalstyle = postgres; set local timezone = 'UTC'; set local bytea_output = hex; set local extra_float_digits = 3; set local row_security = off`

const tablesSQL = `select c.relname, c.oid::regclass from pg_class c join pg_namespace n on n.oid = c.relnamespace
	where c.relkind in ('r', 'p') and not c.relispartition and pg_table_is_visible(c.oid) and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
	order by c.relname`

// writesSQL counts what was ever written. Statistics are read once in a transaction unless
// they are discarded.
const writesSQL = `select pg_stat_clear_snapshot(); select coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0) from pg_stat_user_tables`

const othersSQL = `select coalesce(string_agg(distinct coalesce(nullif(application_name, ''), 'without a name') || ' of user ' || usename, ', '), '')
	from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and usename is not null`

// Open connects to the database at a URL, with what the environment adds as libpq reads it.
func Open(ctx context.Context, url string) (_ *Database, err error) {
	d := &Database{url: url, tables: map[string]string{}}
	defer func() { err = d.hide(err) }()
	cfg, err := pgconn.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = connectTimeout
	}
	cfg.RuntimeParams["application_name"], cfg.RuntimeParams["client_encoding"] = "postern import", "UTF8"
	if d.conn, err = pgconn.ConnectConfig(ctx, cfg); err != nil {
		return nil, err
	}
	if err := d.begin(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Database) begin(ctx context.Context) error {
	if err := d.conn.Exec(ctx, begin).Close(); err != nil {
		return err
	}
	rows, err := d.query(ctx, tablesSQL)
	if err != nil {
		return err
	}
	for _, r := range rows {
		d.order = append(d.order, string(r[0]))
		d.tables[string(r[0])] = string(r[1])
	}
	if len(rows) == 0 {
		return errors.New("it has no table that the user finds; name the database of the other program, and its schema with ?search_path=NAME")
	}
	d.writes, err = d.written(ctx)
	return err
}

// query returns the rows of the last statement.
func (d *Database) query(ctx context.Context, sql string) ([][][]byte, error) {
	results, err := d.conn.Exec(ctx, sql).ReadAll()
	if err != nil {
		return nil, err
	}
	return results[len(results)-1].Rows, nil
}

func (d *Database) written(ctx context.Context) (string, error) {
	rows, err := d.query(ctx, writesSQL)
	if err != nil {
		return "", err
	}
	return string(rows[0][0]), nil
}

// Others names the other sessions of the database; empty: there are none.
func (d *Database) Others(ctx context.Context) (string, error) {
	rows, err := d.query(ctx, othersSQL)
	if err != nil {
		return "", d.hide(err)
	}
	return string(rows[0][0]), nil
}

// Changed reports whether something was written to a table since the database was opened.
func (d *Database) Changed(ctx context.Context) (bool, error) {
	now, err := d.written(ctx)
	return now != d.writes, d.hide(err)
}

// Tables implements [table.Source].
func (d *Database) Tables() []string { return d.order }

// Has implements [table.Source].
func (d *Database) Has(name string) bool { return d.tables[name] != "" }

// Rows implements [table.Source].
func (d *Database) Rows(ctx context.Context, name string, fn func(*table.Row) error) error {
	quoted := d.tables[name]
	if quoted == "" {
		return fmt.Errorf("table %.100q: %w", name, table.ErrNoTable)
	}
	d.cursors++
	cursor := "c" + strconv.Itoa(d.cursors)
	if err := d.conn.Exec(ctx, "declare "+cursor+" no scroll cursor for select * from "+quoted).Close(); err != nil {
		return d.hide(err)
	}
	for at, n := 0, fetchRows; n == fetchRows; at += n {
		var err error
		if n, err = d.fetch(ctx, cursor, table.Row{Table: name}, at, fn); err != nil {
			return err
		}
	}
	return d.hide(d.conn.Exec(ctx, "close "+cursor).Close())
}

// fetch calls fn with the next rows. fn may read other tables: what it needs is read before it
// is called.
func (d *Database) fetch(ctx context.Context, cursor string, r table.Row, at int, fn func(*table.Row) error) (n int, err error) {
	results, err := d.conn.Exec(ctx, fmt.Sprintf("fetch %d from %s", fetchRows, cursor)).ReadAll()
	if err != nil {
		return 0, d.hide(err)
	}
	for _, f := range results[0].FieldDescriptions {
		r.Columns = append(r.Columns, f.Name)
	}
	for _, values := range results[0].Rows {
		n++
		r.At = fmt.Sprintf("row %d", at+n)
		r.Values = make([]any, len(values))
		for i, v := range values {
			if v != nil {
				r.Values[i] = string(v)
			}
		}
		if r.Size() > table.MaxRow {
			return n, fmt.Errorf("%w: %w", table.ErrMalformed, r.Fail("it has more than %d bytes", table.MaxRow))
		}
		one := r
		if err := fn(&one); err != nil {
			return n, err
		}
	}
	return n, nil
}

// Close implements [table.Source].
func (d *Database) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	return d.conn.Close(ctx)
}

// String names the database without its password.
func (d *Database) String() string {
	return postgres.Redact(d.url, d.url)
}

func (d *Database) hide(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return errors.New(postgres.Redact(d.url, err.Error()))
}
