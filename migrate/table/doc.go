// Package table is what programs keep in SQL databases, as rows of named tables,
// however it was written down: [Source] is the one interface of the readers in
// migrate/sqlite and migrate/dump.
//
// # What it promises
//
// Columns are found by name, and one that an older program did not have yet is as
// one that is NULL. What a value is was decided by the program that wrote it; the
// methods of [Row] turn what databases and texts make of one and the same value,
// such as 1, "1", "t" and true, into one Go type, and remember the first that cannot
// be turned, with its place.
package table
