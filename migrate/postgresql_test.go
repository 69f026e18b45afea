package migrate

import (
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"postern/migrate/migratetest"
	"postern/migrate/sqlite"
	"postern/migrate/table"
)

// TestPostgreSQLAndSQLiteImportsAreEqual has the same rows in both, and wants
// the same devices of the file and of each text.
func TestPostgreSQLAndSQLiteImportsAreEqual(t *testing.T) {
	path := whatsmeowStore(t, annaDevice, berndJID)
	server := migratetest.StartPostgreSQL(t)
	server.Exec(t, inPostgreSQL(t, path))
	o := options(path)
	want, _ := accounts(t, o)
	for _, options := range [][]string{{"--data-only"}, nil, {"--column-inserts"}} {
		o.From = []string{server.Dump(t, options...)}
		have, p := accounts(t, o)
		if len(p.Left) > 0 {
			t.Errorf("%v: %v", options, p.Left)
		}
		for name, a := range want {
			if b := have[name]; b == nil || !reflect.DeepEqual(a.Device, b.Device) || !reflect.DeepEqual(a.Counts, b.Counts) || len(b.Left) > 0 {
				t.Errorf("%v: %s is %+v, want %+v", options, name, b, a)
			}
		}
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
