// Package migratetest has the databases of other programs for tests: the real
// sqlite3, and a PostgreSQL of its own. Where they are not installed the test is
// skipped and says what to install.
package migratetest
