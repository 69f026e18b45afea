package dump_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"postern/migrate/dump"
	"postern/migrate/migratetest"
	"postern/migrate/sqlite"
	"postern/migrate/table"
)

func rowsOf(t testing.TB, s table.Source, name string) (rows [][]any) {
	t.Helper()
	err := s.Rows(t.Context(), name, func(r *table.Row) error {
		row := append([]any(nil), r.Values...)
		for i, v := range row {
			if b, isBytes := v.([]byte); isBytes {
				row[i] = bytes.Clone(b)
			}
		}
		rows = append(rows, row)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func open(t testing.TB, path string) *dump.Text {
	t.Helper()
	text, err := dump.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = text.Close() })
	return text
}

func read(text string) (*dump.Text, error) {
	return dump.Read(context.Background(), strings.NewReader(text), int64(len(text)))
}

// TestSQLiteDumpHasTheFilesRows holds the real sqlite3's text against the
// reader of the file that it was made of.
func TestSQLiteDumpHasTheFilesRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "old.db")
	statements := `
CREATE TABLE "odd; name" (id INTEGER PRIMARY KEY, "a b" TEXT, c BLOB, d REAL, e);
CREATE TABLE log (x);
CREATE TRIGGER t AFTER INSERT ON "odd; name" BEGIN INSERT INTO log VALUES ('a;b'); END;
CREATE VIEW v AS SELECT ';' AS x FROM log;
INSERT INTO "odd; name" VALUES (1, 'it''s; -- no comment /* nor this', X'', 1.5, NULL), (2, 'a' || char(10) || 'b\n' || char(13) || 'c\u0041', X'00ff0a0d', 1e300, -9223372036854775808),
 (3, '', NULL, 0.1, 9e999), (4, 'Grüße ` + "`" + `" [', zeroblob(70000), -1.25, 9223372036854775807), (5, char(9) || char(1) || 'x', X'27', 3.0, 'VALUES (');
`
	c := exec.CommandContext(t.Context(), migratetest.SQLite3(t), path)
	c.Stdin = strings.NewReader(statements)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	file, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text := open(t, migratetest.SQLiteDump(t, path))
	for _, name := range file.Tables() {
		want, have := rowsOf(t, file, name), rowsOf(t, text, name)
		if len(want) != 5 || !reflect.DeepEqual(asNumbers(want), asNumbers(have)) {
			t.Errorf("%s: %.600q\nwant %.600q", name, fmt.Sprint(have), fmt.Sprint(want))
		}
	}
}

// asNumbers makes one of 3 and 3.0, which SQLite stores as one.
func asNumbers(rows [][]any) [][]any {
	for _, row := range rows {
		for i, v := range row {
			if f, isFloat := v.(float64); isFloat && f == float64(int64(f)) && f > -1e15 && f < 1e15 {
				row[i] = int64(f)
			}
		}
	}
	return rows
}

// TestWhatNewerSQLiteWritesIsRead has the call of unistr, which sqlite3 3.50 writes
// where older ones write replace.
func TestWhatNewerSQLiteWritesIsRead(t *testing.T) {
	text, err := read("PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE a (b TEXT, c);\nINSERT INTO a VALUES(unistr('x\\u000ay\\\\z\\+01f600'),-1.0e+3);\nCOMMIT;\n")
	if err != nil {
		t.Fatal(err)
	}
	if want, have := [][]any{{"x\ny\\z😀", -1000.0}}, rowsOf(t, text, "a"); !reflect.DeepEqual(want, have) {
		t.Errorf("%q, want %q", have, want)
	}
}

// TestInvalidDumpIsRefusedWithItsLine has what happens to texts on their way.
func TestInvalidDumpIsRefusedWithItsLine(t *testing.T) {
	const begin = "BEGIN TRANSACTION;\nCREATE TABLE a (b, c);\n"
	for name, c := range map[string]struct{ text, want string }{
		"nothing":                      {"", "no row"},
		"another thing":                {"hello\n", "truncated"},
		"pg_dump -Fc":                  {"PGDMP\x01\x0e", "pg_dump --data-only"},
		"gzip":                         {"\x1f\x8b\x08\x00", "gunzip"},
		"PowerShell":                   {"\xff\xfeP\x00R\x00", "UTF-16"},
		"cut in a statement":           {begin + "INSERT INTO a VALUES (1,", "line 3"},
		"cut in a text":                {begin + "INSERT INTO a VALUES (1,'x", "line 3"},
		"cut between statements":       {begin + "INSERT INTO a VALUES (1,2);\n", "COMMIT"},
		"errors of sqlite3":            {begin + "INSERT INTO a VALUES (1,2);\nROLLBACK; -- due to errors\n", "line 4"},
		"cut in a block":               {"COPY public.a (b, c) FROM stdin;\n1\t2\n", "\\."},
		"pg_dump cut between":          {"--\n-- PostgreSQL database dump\n--\n\nCOPY public.a (b, c) FROM stdin;\n1\t2\n\\.\n", "dump complete"},
		"an unknown call":              {begin + "INSERT INTO a VALUES (load_extension('x'),2);\nCOMMIT;\n", "line 3"},
		"a nest of calls":              {begin + "INSERT INTO a VALUES (" + strings.Repeat("replace(", 50) + "'x'" + strings.Repeat(",'a','b')", 50) + ",2);\nCOMMIT;\n", "too deep"},
		"too few values":               {begin + "INSERT INTO a VALUES (1);\nCOMMIT;\n", "line 3"},
		"something behind":             {begin + "INSERT INTO a VALUES (1,2) SELECT;\nCOMMIT;\n", "line 3"},
		"too many fields":              {"COPY public.a (b, c) FROM stdin;\n1\t2\n1\t2\t3\n\\.\n", "line 3"},
		"a backslash at the end":       {"COPY public.a (b, c) FROM stdin;\n1\t2\\\n\\.\n", "line 2"},
		"a blob of half a byte":        {begin + "INSERT INTO a VALUES (X'abc',2);\nCOMMIT;\n", "line 3"},
		"a select in the place of it":  {begin + "INSERT INTO a SELECT 1, 2;\nCOMMIT;\n", "line 3"},
		"unknown columns":              {"INSERT INTO a VALUES (1,2);\n", "CREATE TABLE"},
		"an escape that is none":       {begin + "INSERT INTO a VALUES (unistr('\\uzzzz'),2);\nCOMMIT;\n", "line 3"},
		"a text larger than a row can": {begin + "INSERT INTO a VALUES (replace(replace('" + strings.Repeat("x", 20_000) + "','x','" + strings.Repeat("y", 5_000) + "'),'y','zz'),2);\nCOMMIT;\n", "line 3"},
	} {
		err := readAll(t.Context(), c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want it to name %q", name, err, c.want)
		}
		if err != nil && !errors.Is(err, table.ErrMalformed) {
			t.Errorf("%s: %v is of no kind", name, err)
		}
	}
}

func readAll(ctx context.Context, raw string) error {
	text, err := read(raw)
	if err != nil {
		return err
	}
	for _, name := range text.Tables() {
		if err := text.Rows(ctx, name, func(r *table.Row) error {
			if len(r.Values) != len(r.Columns) || r.At == "" {
				return fmt.Errorf("a row of %d values at %q", len(r.Values), r.At)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// FuzzRead wants an error or rows of any text, and no crash.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE a (b INTEGER PRIMARY KEY, \"c d\" TEXT DEFAULT (1));\nINSERT INTO a VALUES(1,replace('x\\ny','\\n',char(10)));\nINSERT INTO a VALUES(-2.5e3,X'00ff');\nCOMMIT;\n",
		"--\n-- PostgreSQL database dump\n--\n\\restrict x\nSET a = 'b';\nCOPY public.\"M\" (id, \"keyId\") FROM stdin;\n1\t\\\\x00\\tff\n\\N\t\\101\\x41\n\\.\n\nINSERT INTO public.a (b) VALUES (NULL), (true);\n-- PostgreSQL database dump complete\n",
		"CREATE TRIGGER t BEGIN INSERT INTO a VALUES (1); END;\nCREATE FUNCTION f() AS $x$ ; $x$;\nINSERT INTO a (b) VALUES (unistr('\\u000a'));\n",
	} {
		f.Add(seed)
		f.Add(seed[:len(seed)/2])
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if err := readAll(t.Context(), raw); err != nil && strings.Contains(err.Error(), "a row of") {
			t.Fatal(err)
		}
	})
}

func TestMissingFileIsReported(t *testing.T) {
	if _, err := dump.Open(t.Context(), filepath.Join(t.TempDir(), "none.sql")); !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}
