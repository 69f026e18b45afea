package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // SQLite itself, which the reader is checked against

	"postern/migrate/sqlite"
	"postern/migrate/table"
)

// database makes an SQLite file by SQLite itself and closes it.
func database(t testing.TB, pageSize int, statements ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "old.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, s := range append([]string{fmt.Sprintf("PRAGMA page_size=%d", pageSize)}, statements...) {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return path
}

// asSQLite reads a table by SQLite itself.
func asSQLite(t testing.TB, path, name string) (rows [][]any) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	found, err := db.Query(fmt.Sprintf("SELECT * FROM %q ORDER BY rowid", name))
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	columns, _ := found.Columns()
	for found.Next() {
		row, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := found.Scan(into...); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

func asRead(t testing.TB, path, name string) (rows [][]any) {
	t.Helper()
	f, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	err = f.Rows(t.Context(), name, func(r *table.Row) error {
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

func hold(t *testing.T, path, name string) {
	t.Helper()
	want, have := asSQLite(t, path, name), asRead(t, path, name)
	if len(want) == 0 || len(want) != len(have) {
		t.Fatalf("%s: %d rows, want %d", name, len(have), len(want))
	}
	for i := range want {
		if !reflect.DeepEqual(want[i], have[i]) {
			t.Fatalf("%s, row %d: %.300q, want %.300q", name, i, fmt.Sprint(have[i]), fmt.Sprint(want[i]))
		}
	}
}

// TestRowsEqualThoseOfSQLite has rows of all kinds and sizes, on pages of all
// sizes, with holes, and with columns that were added later.
func TestRowsEqualThoseOfSQLite(t *testing.T) {
	for _, pageSize := range []int{512, 1024, 4096, 65536} {
		for _, pragma := range []string{"PRAGMA auto_vacuum=NONE", "PRAGMA auto_vacuum=FULL"} {
			t.Run(fmt.Sprintf("%d %s", pageSize, pragma), func(t *testing.T) {
				random := rand.New(rand.NewPCG(1, uint64(pageSize)))
				statements := []string{
					pragma,
					`CREATE TABLE "odd name" (id INTEGER PRIMARY KEY, /* a , comment ( */ "a b" TEXT DEFAULT 'x,)', [c] blob, d REAL, e NUMERIC CHECK (e IS NULL OR length(e) >= 0), CONSTRAINT k UNIQUE (id, d))`,
					`CREATE TABLE late (k TEXT PRIMARY KEY, v INTEGER)`,
					"BEGIN",
				}
				for range 700 {
					size := random.IntN(80)
					if random.IntN(40) == 0 {
						size = random.IntN(40_000)
					}
					n := random.Int64() >> random.IntN(64)
					statements = append(statements, fmt.Sprintf(`INSERT INTO "odd name" ("a b", c, d, e) VALUES ('%s', randomblob(%d), %g, %d)`,
						strings.Repeat("ä", size/3), size, float64(n)/3, n-2*int64(random.IntN(2))*n))
				}
				statements = append(statements, "COMMIT", `DELETE FROM "odd name" WHERE id % 3 = 0`, `UPDATE "odd name" SET id = id + 5000000000 WHERE id % 7 = 0`,
					`INSERT INTO "odd name" (id) VALUES (-5), (9223372036854775807)`,
					"INSERT INTO late VALUES ('a', 0), ('b', 1), (NULL, -1)",
					"ALTER TABLE late ADD COLUMN added TEXT NOT NULL DEFAULT 'it''s'", "ALTER TABLE late ADD COLUMN n BIGINT NOT NULL DEFAULT -7",
					"ALTER TABLE late ADD COLUMN yes BOOLEAN DEFAULT true", "ALTER TABLE late ADD COLUMN empty TEXT", "ALTER TABLE late ADD COLUMN raw BLOB DEFAULT X'00ff'",
					"INSERT INTO late (k, added) VALUES ('c', 'new')", "ALTER TABLE late RENAME COLUMN v TO w")
				path := database(t, pageSize, statements...)
				hold(t, path, "odd name")
				// modernc makes a bool of a BOOLEAN, which the file does not have.
				rows := asRead(t, path, "late")
				if want := []any{"a", int64(0), "it's", int64(-7), int64(1), nil, []byte{0, 0xff}}; !reflect.DeepEqual(rows[0], want) {
					t.Errorf("a row from before the columns: %v, want %v", rows[0], want)
				}
				if rows[3][2] != "new" {
					t.Errorf("a row from after it: %v", rows[3])
				}
			})
		}
	}
}

func TestRowIDColumnIsRead(t *testing.T) {
	path := database(
		t, 4096,
		"CREATE TABLE a (id INTEGER PRIMARY KEY AUTOINCREMENT, v TEXT)", "INSERT INTO a (v) VALUES ('x')",
		"CREATE TABLE b (v TEXT, id integer NOT NULL, PRIMARY KEY (`id` AUTOINCREMENT))", "INSERT INTO b (v) VALUES ('x')",
		"CREATE TABLE c (id INT PRIMARY KEY, v TEXT)", "INSERT INTO c (id, v) VALUES (77, 'x')",
	)
	for _, name := range []string{"a", "b", "c"} {
		hold(t, path, name)
	}
}

// TestAPartBesideTheFileIsRefused has a program that still writes, and one that was
// killed.
func TestAPartBesideTheFileIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "live.db")
	db, err := sql.Open("sqlite", path+"?_pragma=journal_mode(WAL)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range []string{"CREATE TABLE a (b)", "INSERT INTO a VALUES (1)"} {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	killed := copyOf(t, path)
	_, err = sqlite.Open(killed)
	if !errors.Is(err, sqlite.ErrBusy) || !strings.Contains(err.Error(), "-wal") || !strings.Contains(err.Error(), "stop the program") {
		t.Fatalf("a write-ahead log with content: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if rows := asRead(t, path, "a"); len(rows) != 1 {
		t.Fatalf("after the program ended: %v", rows)
	}
	if err := os.WriteFile(path+"-wal", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	asRead(t, path, "a") // an empty one holds nothing back

	if err := os.WriteFile(path+"-journal", append([]byte{0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7}, make([]byte, 504)...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(path); !errors.Is(err, sqlite.ErrBusy) {
		t.Fatalf("a journal to play back: %v", err)
	}
	if err := os.WriteFile(path+"-journal", make([]byte, 512), 0o600); err != nil { // as journal_mode=PERSIST leaves it
		t.Fatal(err)
	}
	asRead(t, path, "a")
}

// copyOf copies what lies on the disk of a database that is open, with its log.
func copyOf(t *testing.T, path string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy.db")
	for _, suffix := range []string{"", "-wal"} {
		raw, err := os.ReadFile(path + suffix)
		if err == nil {
			err = os.WriteFile(to+suffix, raw, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// TestMissingWriteAheadLogIsReported, and one that has none never does.
func TestMissingWriteAheadLogIsReported(t *testing.T) {
	logged, plain := database(t, 4096, "PRAGMA journal_mode=WAL", "CREATE TABLE a (b)"), database(t, 4096, "CREATE TABLE a (b)")
	for _, c := range []struct {
		path string
		want bool
	}{{logged, true}, {plain, false}} {
		for _, there := range []bool{false, true} {
			if there {
				if err := os.WriteFile(c.path+"-wal", nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			f, err := sqlite.Open(c.path)
			if err != nil {
				t.Fatal(err)
			}
			if f.MayLack() != (c.want && !there) {
				t.Errorf("a file with a log: %v, which is there: %v, may lack changes: %v", c.want, there, f.MayLack())
			}
			_ = f.Close()
		}
	}
}

// TestDamagedFileIsRefusedWithItsPage damages a file in ways that have a name.
func TestDamagedFileIsRefusedWithItsPage(t *testing.T) {
	const size = 1024
	path := database(t, size, "CREATE TABLE a (id INTEGER PRIMARY KEY, b BLOB)",
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 200) INSERT INTO a SELECT i, randomblob(i*20) FROM n")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		damage func([]byte) []byte
		want   string
	}{
		"nothing":           {func([]byte) []byte { return nil }, "too few"},
		"half a header":     {func(b []byte) []byte { return b[:50] }, "too few"},
		"another magic":     {func(b []byte) []byte { b[0] = 'X'; return b }, "not an SQLite file"},
		"a page size":       {func(b []byte) []byte { b[16], b[17] = 3, 3; return b }, "page 1"},
		"cut in a page":     {func(b []byte) []byte { return b[:len(b)-100] }, "truncated"},
		"cut between pages": {func(b []byte) []byte { return b[:len(b)-10*size] }, "truncated"},
		"UTF-16":            {func(b []byte) []byte { b[59] = 2; return b }, "UTF-16"},
		"a kind of page":    {func(b []byte) []byte { b[size] = 10; return b }, "page 2"},
		"too many cells":    {func(b []byte) []byte { b[size+3] = 0xff; return b }, "page 2"},
		"a loop":            {func(b []byte) []byte { copy(b[size+8:], []byte{0, 0, 0, 2}); return b }, "page 2"},
		"a page beyond":     {func(b []byte) []byte { copy(b[size+8:], []byte{0x7f, 0, 0, 2}); return b }, "page 2"},
		"a page of zeros":   {func(b []byte) []byte { clear(b[4*size : 5*size]); return b }, "page "},
	} {
		damaged := c.damage(bytes.Clone(whole))
		if err := readAll(t.Context(), damaged); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want it to name %q", name, err, c.want)
		}
	}
	if err := readAll(t.Context(), whole); err != nil {
		t.Errorf("the whole file: %v", err)
	}
}

func TestARowLargerThanAnyIsRefused(t *testing.T) {
	path := database(t, 65536, "CREATE TABLE a (b BLOB)", fmt.Sprintf("INSERT INTO a VALUES (zeroblob(%d))", table.MaxRow+1))
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := readAll(t.Context(), raw); !errors.Is(err, table.ErrMalformed) {
		t.Fatal(err)
	}
}

func TestTheReaderEndsWithItsContext(t *testing.T) {
	path := database(t, 512, "CREATE TABLE a (b BLOB)", "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 500) INSERT INTO a SELECT randomblob(300) FROM n")
	f, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ctx, cancel := context.WithCancel(t.Context())
	rows := 0
	err = f.Rows(ctx, "a", func(*table.Row) error {
		rows++
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) || rows > 5 {
		t.Fatalf("%v after %d rows", err, rows)
	}
	if err := f.Rows(t.Context(), "b", nil); !errors.Is(err, table.ErrNoTable) {
		t.Fatal(err)
	}
}

// TestUnsupportedTablesAreRefused wants the advice to give the text.
func TestUnsupportedTablesAreRefused(t *testing.T) {
	path := database(t, 4096, "CREATE TABLE a (b TEXT PRIMARY KEY, c) WITHOUT ROWID", "CREATE TABLE d (e, f AS (e * 2))", "INSERT INTO a VALUES ('x', 1)", "INSERT INTO d VALUES (1)")
	f, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, name := range []string{"a", "d"} {
		err := f.Rows(t.Context(), name, func(*table.Row) error { return nil })
		if err == nil || !strings.Contains(err.Error(), ".dump") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// readAll reads all tables of a file in memory.
func readAll(ctx context.Context, raw []byte) error {
	f, err := sqlite.Read(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return err
	}
	for _, name := range f.Tables() {
		if err := f.Rows(ctx, name, func(r *table.Row) error {
			if r.At == "" || len(r.Values) != len(r.Columns) {
				return fmt.Errorf("a row of %d values at %q", len(r.Values), r.At)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// FuzzRead wants an error or rows of any bytes, and no crash.
func FuzzRead(f *testing.F) {
	for _, pageSize := range []int{512, 1024} {
		path := database(
			f, pageSize, "CREATE TABLE a (id INTEGER PRIMARY KEY, b BLOB, c TEXT DEFAULT 'x')", "CREATE INDEX i ON a (b)",
			"INSERT INTO a (b) VALUES (zeroblob(3000)), (X'00'), (NULL), (-1), (1.5)",
			"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 30) INSERT INTO a SELECT i*100, zeroblob(i*3), i FROM n",
		)
		raw, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
		f.Add(raw[:len(raw)/2])
		random := rand.New(rand.NewPCG(2, 3))
		for range 50 {
			flipped := bytes.Clone(raw)
			for range 1 + random.IntN(4) {
				flipped[random.IntN(len(flipped))] ^= 1 << random.IntN(8)
			}
			f.Add(flipped)
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if err := readAll(t.Context(), raw); err != nil && strings.Contains(err.Error(), "a row of") {
			t.Fatal(err)
		}
	})
}
