//go:build sqlite

package bench

import (
	"path/filepath"
	"testing"

	_ "github.com/mattn/go-sqlite3" // the library's usual store
	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/store/sqlstore"
)

// onSQLite makes devices of the library's own store on a file of SQLite, whose commits
// are synced like ours.
func onSQLite(b *testing.B) func(int) *wastore.Device {
	b.Helper()
	file := "file:" + filepath.Join(b.TempDir(), "bare.sqlite") + "?_foreign_keys=on&_journal_mode=WAL&_synchronous=FULL&_busy_timeout=30000"
	c, err := sqlstore.New(b.Context(), "sqlite3", file, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	return func(int) *wastore.Device { return c.NewDevice() }
}
