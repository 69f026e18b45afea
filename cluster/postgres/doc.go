// Package postgres holds cells in PostgreSQL 15 or newer: it implements cluster.Database.
//
// # The tables
//
// They lie in the schema postern; [PrintSQL] returns the statements that make them.
//
//	cell        epoch, version and time of each cell; a commit is conditional on the first two
//	lease       who owns a cell, and the beat: a row of its own, so that a renewal never waits for a commit
//	kv          the records of each cell
//	change_log  the newest changes, by version, for nodes that follow
//	member      the registered nodes
//	secret      secrets of each cell
//	barrier     a row of each cell for [Database.Barrier]
//	program     the version of these tables
//
// # Commits
//
// A commit is one statement: it raises the version of the cell if epoch and version are the
// expected ones, and only then writes the records and the change. So it needs one round trip,
// no lock is held while the server waits for this process, and an attempt that arrives late
// changes nothing.
//
// If the connection is lost, or the server says that it ended its wait for the second copy
// early, the outcome is unknown. Then a write to the row of the cell asks for it: the write
// waits for a commit that still runs on the server, and comes after it in the server's log, so
// what it finds is in every copy once it is itself. A request to cancel is never sent.
//
// # Connections
//
// Commits, renewals and loads have connections of their own. Each sets what it depends on
// (synchronous_commit, no timeouts), whatever role and database say. A connection that goes
// through a pooler is refused, because those settings would be lost.
package postgres
