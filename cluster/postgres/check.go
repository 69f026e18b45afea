package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"postern/cluster"
)

// oldest is the server version that the program needs, as server_version_num.
const oldest = 150000

// Check implements [cluster.Database].
func (d *Database) Check(ctx context.Context) (server cluster.Server, err error) {
	err = d.do(ctx, writes, func(s *session) error {
		rows, err := s.query(ctx, `select current_setting('server_version_num')::bigint, current_setting('server_version'), current_setting('server_encoding'),
			current_setting('fsync')::boolean, current_setting('full_page_writes')::boolean, current_setting('synchronous_standby_names')`)
		if err != nil {
			return err
		}
		r := rows[0]
		version, _, _ := strings.Cut(r.text(1), " ")
		switch {
		case r.number(0) < oldest:
			return unfit("it is PostgreSQL %s, and 15 or newer is needed", version)
		case r.text(2) != "UTF8":
			return unfit("its encoding is %s: make a database with the encoding UTF8", r.text(2))
		case !r.flag(3) && !d.opts.withoutSync:
			return unfit("fsync is off, so a crash of the server loses or damages the data: set fsync = on")
		case !r.flag(4):
			return unfit("full_page_writes is off, so a crash of the server damages the data: set full_page_writes = on")
		}
		if err := s.checkTables(ctx, d.opts.ReadOnly); err != nil {
			return err
		}
		server = cluster.Server{Version: version, Primary: s.conn.Conn().RemoteAddr().String(), Synchronous: standbyNames(r.text(5))}
		return s.measure(ctx, &server)
	})
	return server, err
}

func unfit(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{cluster.ErrUnfit}, args...)...)
}

// measure notes the server's clock and the shortest of some round trips.
func (s *session) measure(ctx context.Context, server *cluster.Server) error {
	for range 4 { // the first one prepares the statement
		began := time.Now()
		rows, err := s.query(ctx, `select (extract(epoch from clock_timestamp()) * 1000000)::bigint`)
		if err != nil {
			return err
		}
		server.Now = rows[0].micros(0)
		if took := time.Since(began); server.RoundTrip == 0 || took < server.RoundTrip {
			server.RoundTrip = took
		}
	}
	return nil
}

// checkTables makes the tables if there are none, unless readOnly is set, and examines version
// and rights.
func (s *session) checkTables(ctx context.Context, readOnly bool) error {
	found, err := s.query(ctx, `select to_regclass('postern.program') is not null, has_database_privilege(current_database(), 'create')`)
	if err == nil && !found[0].flag(0) {
		if readOnly && found[0].flag(1) {
			return nil
		}
		if readOnly {
			return unfit("the user may not create the tables, which are not there: have its owner run the statements that `postern migrate --print-sql` prints")
		}
		err = s.makeTables(ctx)
	}
	var versions []row
	if err == nil {
		versions, err = s.query(ctx, `select tables_version::bigint from postern.program`)
	}
	switch {
	case sqlState(err) == "42501":
		return unfit("%s: %s", describeText(err), advice)
	case err != nil:
		return err
	case len(versions) != 1:
		return unfit("the tables have no version: %s", advice)
	case versions[0].number(0) > tablesVersion:
		return unfit("its tables have version %d, and this program knows version %d: run a newer program", versions[0].number(0), tablesVersion)
	}
	missing, err := s.query(ctx, `select 'postern.' || t from unnest($1::text[]) t
		where to_regclass('postern.' || t) is null or not (select bool_and(has_table_privilege('postern.' || t, r)) from unnest('{select,insert,update,delete}'::text[]) r)`, tables)
	if err != nil {
		return err
	}
	var names []string
	for _, r := range missing {
		names = append(names, r.text(0))
	}
	if len(names) > 0 {
		return unfit("the user may not read and change %s, or it is not there: %s", strings.Join(names, ", "), advice)
	}
	return nil
}

const advice = "see `postern migrate --print-sql`"

// makeTables is safe beside other programs that make them too.
func (s *session) makeTables(ctx context.Context) error {
	script := "begin; select pg_advisory_xact_lock(7306008901);\n" + PrintSQL() + "commit"
	err := s.conn.Exec(ctx, script).Close()
	if err != nil && !s.conn.IsClosed() && s.conn.TxStatus() != 'I' {
		_ = s.conn.Exec(ctx, "rollback").Close() // put ends a connection that still has its transaction
	}
	if sqlState(err) == "42501" {
		return unfit("the user may not create the tables (%s): have its owner run the statements that `postern migrate --print-sql` prints", describeText(err))
	}
	return err
}

// describeText returns the text of an error without what follows from it.
func describeText(err error) string {
	_, text := describe(err)
	text, _, _ = strings.Cut(text, " (SQLSTATE")
	return text
}

// standbyNames returns the names in synchronous_standby_names, such as those of
// `FIRST 1 (a, "b c")`, `ANY 2 (a, b, c)`, `2 (a, b)`, `a, b` and `*`. A commit waits for at
// least one of them if there is any.
func standbyNames(setting string) []string {
	if open := strings.IndexByte(setting, '('); open >= 0 && !strings.Contains(setting[:open], `"`) {
		setting = strings.TrimSuffix(strings.TrimSpace(setting[open+1:]), ")")
	}
	var names []string
	for name := range quotedList(setting) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// quotedList yields the items of a list with commas, in which a quoted item may have any
// character and "" stands for a quote.
func quotedList(list string) func(func(string) bool) {
	return func(yield func(string) bool) {
		var item strings.Builder
		quoted := false
		for i := 0; i < len(list); i++ {
			switch c := list[i]; {
			case c == '"' && quoted && i+1 < len(list) && list[i+1] == '"':
				item.WriteByte(c)
				i++
			case c == '"':
				quoted = !quoted
			case c == ',' && !quoted:
				if !yield(item.String()) {
					return
				}
				item.Reset()
			case (c == ' ' || c == '\t' || c == '\n') && !quoted:
			default:
				item.WriteByte(c)
			}
		}
		yield(item.String())
	}
}
