package table

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestOneValueIsOneHoweverItIsWritten has the forms of SQLite, of PostgreSQL and of
// drivers.
func TestOneValueIsOneHoweverItIsWritten(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, v := range []any{
		at.Unix(), at.UnixMilli(), "2026-01-02 03:04:05", "2026-01-02T03:04:05Z", "2026-01-02 03:04:05+00", "2026-01-02 05:04:05+02:00",
		"2026-01-02 03:04:05 +0000 UTC", "2026-01-02 05:04:05 +0200 CEST m=+0.01", "2026-01-02 03:04:05.000000+00:00",
	} {
		r := Row{Columns: []string{"v"}, Values: []any{v}}
		if have := r.Time("v"); !have.Equal(at) || r.Err() != nil {
			t.Errorf("%v: %v, %v", v, have, r.Err())
		}
	}
	for _, v := range []any{int64(1), "t", "true", "1"} {
		r := Row{Columns: []string{"v"}, Values: []any{v}}
		if !r.Bool("v") || r.Err() != nil {
			t.Errorf("%v is not true: %v", v, r.Err())
		}
	}
	for _, v := range []any{[]byte{1, 0xff}, `\x01ff`, "\x01\xff"} {
		r := Row{Columns: []string{"v"}, Values: []any{v}}
		if have := r.Bytes("v"); !reflect.DeepEqual(have, []byte{1, 0xff}) || r.Err() != nil {
			t.Errorf("%q: %x, %v", v, have, r.Err())
		}
	}
}

// TestWhatCannotBeTurnedIsNamedOnce wants the first fault, with its place.
func TestWhatCannotBeTurnedIsNamedOnce(t *testing.T) {
	r := Row{Table: "users", At: "line 7", Columns: []string{"a", "b", "c", "d", "e"}, Values: []any{"x", "maybe", `\xzz`, 1.5}}
	if r.Err() != nil || r.Int("e") != 0 || !r.Null("nowhere") {
		t.Fatal(r.Err())
	}
	r.Int("a")
	r.Bool("b")
	r.Bytes("c")
	r.Time("d")
	if err := r.Err(); err == nil || err.Error() != "table users, line 7: a is not an integer" {
		t.Errorf("%v", err)
	}
}

// TestColumnsOfCreateTable has what gateways' schemas have.
func TestColumnsOfCreateTable(t *testing.T) {
	for sql, want := range map[string]Definition{
		"CREATE TABLE a (b)": {Name: "a", Columns: []Column{{Name: "b"}}, RowID: -1},
		"create temp table if not exists main.\"a\"\"b\" (`id` integer primary key autoincrement, [x y] TEXT DEFAULT ('z'), \"n\" INT DEFAULT -3, PRIMARY KEY (n, id))": {
			Name: `a"b`, Columns: []Column{{Name: "id", integer: true}, {Name: "x y", Default: "z"}, {Name: "n", Default: int64(-3)}}, RowID: 0,
		},
		"CREATE TABLE a (\n jid TEXT, -- its, name\n id INTEGER /* ) */ CHECK (id > 0 AND (id < 5)), CONSTRAINT k PRIMARY KEY (id), FOREIGN KEY (jid) REFERENCES b(jid) ON DELETE CASCADE) STRICT": {
			Name: "a", Columns: []Column{{Name: "jid"}, {Name: "id", integer: true}}, RowID: 1,
		},
		"CREATE TABLE a (b TEXT PRIMARY KEY, c DEFAULT CURRENT_TIMESTAMP) WITHOUT ROWID": {Name: "a", Columns: []Column{{Name: "b"}, {Name: "c"}}, RowID: -1, Keyed: true},
		"CREATE TABLE a (b, c GENERATED ALWAYS AS (b * 2) STORED)":                       {Name: "a", Columns: []Column{{Name: "b"}, {Name: "c"}}, RowID: -1, Generated: true},
	} {
		have, err := ParseCreate(sql)
		if err != nil || !reflect.DeepEqual(*have, want) {
			t.Errorf("%s: %+v, %v, want %+v", sql, have, err, want)
		}
	}
	for _, sql := range []string{"", "CREATE", "CREATE INDEX a ON b (c)", "CREATE TABLE", "CREATE TABLE a", "CREATE TABLE a (", "CREATE TABLE a (b", "CREATE TABLE a ()", "CREATE TABLE a (b,)", "CREATE TABLE a ('b", "CREATE TABLE a (/* b)"} {
		if def, err := ParseCreate(sql); err == nil {
			t.Errorf("%q: %+v", sql, def)
		}
	}
}

// FuzzParseCreate wants an error or a definition of any text, and no crash.
func FuzzParseCreate(f *testing.F) {
	for _, seed := range []string{"CREATE TABLE a (b INTEGER PRIMARY KEY, c DEFAULT -1.5e3)", "CREATE TABLE \"a\" (`b` X, [c] 'd' CHECK ((1)), PRIMARY KEY (b)) WITHOUT ROWID", "x'00' -- \n/* */ 1.e5"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		def, err := ParseCreate(sql)
		if err == nil && (len(def.Columns) == 0 && !strings.Contains(sql, "(") || def.RowID >= len(def.Columns)) {
			t.Fatalf("%+v", def)
		}
	})
}
