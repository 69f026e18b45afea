//go:build !unix

package migratetest

import "testing"

// PostgreSQL is a server of the test's own.
type PostgreSQL struct{}

// StartPostgreSQL skips the test: a server is only started on Unix.
func StartPostgreSQL(t testing.TB) *PostgreSQL {
	t.Helper()
	t.Skip("a PostgreSQL server of a test's own is only started on Unix")
	return nil
}

// Exec does nothing.
func (*PostgreSQL) Exec(testing.TB, string) {}

// Dump is empty.
func (*PostgreSQL) Dump(testing.TB, ...string) string { return "" }

// URL returns nothing: there is none.
func (*PostgreSQL) URL() string { return "" }
