// Package cluster decides which of several processes works with a cell: a data set whose
// truth lies in a database, with a copy in the file of each process (see store.Engine).
//
// A [Node] is one process. It is a standby at first: it keeps its file at the version of
// the cell, and takes the cell when the owner released it or stopped renewing its lease.
// From then on it is the owner until its process ends: an owner that loses its lease is
// not made a standby again, since that would mean to take apart all that works with the
// file. It ends, and the service manager starts it again.
//
// # The lease
//
// The owner raises a counter in the database, the beat, several times in each lease. A
// standby takes the cell if it has seen the same beat for a whole lease by its own clock.
// No clock of the database and no time of day is compared, so a clock that is set, or a
// database that moves to another machine, ends no lease early. A standby that could not
// look for a moment starts its wait again, because it may have missed a beat.
//
// The owner counts its lease from before it asked for the renewal, by a clock that goes on
// while the machine sleeps, and stops acting when a fifth of it is left: [Node.Valid]. So
// it has stopped before another begins. A process that was paused at the wrong moment may
// act a little longer; its commits are refused, since each names the epoch of its grant.
//
// # The copy
//
// A standby applies a change only after a write of its own, made after it saw the change,
// has reached every copy of the database. Without that it could hold a change that a
// failover of the database undoes.
package cluster
