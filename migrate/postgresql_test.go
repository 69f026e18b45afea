package migrate

import (
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"postern/migrate/migratetest"
	"postern/migrate/sqlite"
	"postern/migrate/table"
)

// TestPostgreSQLAndSQLiteImportsAreEqual has the same rows in both, and wants
// the same devices of the file, of the database that runs, and of each text.
func TestPostgreSQLAndSQLiteImportsAreEqual(t *testing.T) {
	path := whatsmeowStore(t, annaDevice, berndJID)
	server := migratetest.StartPostgreSQL(t)
	server.Exec(t, inPostgreSQL(t, path))
	o := options(path)
	want, _ := accounts(t, o)
	for _, from := range []string{server.URL(), server.Dump(t, "--data-only"), server.Dump(t), server.Dump(t, "--column-inserts")} {
		o.From = []string{from}
		have, p := accounts(t, o)
		if len(p.Left)+len(p.Warnings) > 0 {
			t.Errorf("%s: %v %v", from, p.Left, p.Warnings)
		}
		for name, a := range want {
			if b := have[name]; b == nil || !reflect.DeepEqual(a.Device, b.Device) || !reflect.DeepEqual(a.Counts, b.Counts) || len(b.Left) > 0 {
				t.Errorf("%s: %s is %+v, want %+v", from, name, b, a)
			}
		}
	}
}

// TestDatabaseIsReadAsItWas writes to a database between the plan and the import.
func TestDatabaseIsReadAsItWas(t *testing.T) {
	server := migratetest.StartPostgreSQL(t)
	server.Exec(t, inPostgreSQL(t, whatsmeowStore(t, annaDevice, berndJID)))
	p, err := Whatsmeow(t.Context(), options(server.URL()))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Unchanged(t.Context()); err != nil {
		t.Error(err)
	}
	second, err := Whatsmeow(t.Context(), options(server.URL()))
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	says(t, second.Warnings, "postern import of user postgres", "stop it")
	server.Exec(t, "DELETE FROM whatsmeow_sessions; DELETE FROM whatsmeow_device; SELECT pg_stat_force_next_flush()")
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) { // the server counts a change some time after it
		if err := p.Unchanged(t.Context()); errors.Is(err, ErrChanged) {
			break
		} else if err != nil || time.Now().After(end) {
			t.Fatalf("error %v", err)
		}
	}
	n := 0
	if err := p.Each(t.Context(), func(a *Account) error { n++; return nil }); n != 2 || err != nil {
		t.Errorf("%d accounts, error %v", n, err)
	}
}

// TestDatabaseThatCannotBeReadIsRefused wants no password in the error.
func TestDatabaseThatCannotBeReadIsRefused(t *testing.T) {
	server := migratetest.StartPostgreSQL(t)
	server.Exec(t, "CREATE TABLE t (x integer); CREATE ROLE other LOGIN PASSWORD 'pa55word'")
	for _, c := range []struct{ url, want string }{
		{"postgres://u:pa55word@127.0.0.1:1/x", "127.0.0.1"},
		{"postgres://u:pa55word@127.0.0.1:port/x", "port"},
		{strings.Replace(server.URL(), "postgres@", "other:pa55word@", 1), "whatsmeow_device"},
		{server.URL() + "&search_path=none", "search_path"},
	} {
		_, err := Whatsmeow(t.Context(), options(c.url))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "pa55word") {
			t.Errorf("%s: error %v", c.url, err)
		}
	}
	server.Exec(t, "CREATE TABLE whatsmeow_device (jid text); CREATE TABLE whatsmeow_version (version integer); INSERT INTO whatsmeow_version VALUES (15)")
	_, err := Whatsmeow(t.Context(), options(strings.Replace(server.URL(), "postgres@", "other:pa55word@", 1)))
	if err == nil || !strings.Contains(err.Error(), "permission denied for table whatsmeow_version") {
		t.Errorf("error %v", err)
	}
}

// inPostgreSQL makes statements of a database, whose definitions both understand.
func inPostgreSQL(t *testing.T, path string) string {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all strings.Builder
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "%s;\n", text)
	}
	if err := errors.Join(rows.Close(), db.Close()); err != nil { // one that is in use is refused
		t.Fatal(err)
	}
	f, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, name := range f.Tables() {
		if err := f.Rows(t.Context(), name, func(r *table.Row) error {
			values := make([]string, len(r.Values))
			for i, v := range r.Values {
				switch v := v.(type) {
				case nil:
					values[i] = "NULL"
				case []byte:
					values[i] = `'\x` + hex.EncodeToString(v) + `'`
				default:
					values[i] = "'" + strings.ReplaceAll(fmt.Sprint(v), "'", "''") + "'"
				}
			}
			fmt.Fprintf(&all, "INSERT INTO %s VALUES (%s);\n", name, strings.Join(values, ", "))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}
