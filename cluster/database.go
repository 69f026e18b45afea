package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"postern/store"
)

// Database is the place of the cells of this program's version: their rows, the newest
// changes, who owns each, and which nodes live. Package cluster/postgres implements it on
// PostgreSQL, package cluster/memory in memory, for tests.
//
// All methods are safe for concurrent use. Except for [Database.Commit] they return when
// ctx ends. Errors of a database that cannot be used wrap one of [ErrUnreachable],
// [ErrRefused] and [ErrReadOnly], and name the reason without the password.
type Database interface {
	// Check reports what the server is and makes the tables if they are missing. An error
	// that wraps ErrUnfit says that the server cannot hold cells.
	Check(ctx context.Context) (Server, error)

	// Look returns the state of a cell. found is false if there is no such cell.
	Look(ctx context.Context, cell string) (c Cell, found bool, err error)

	// Create makes a cell at version 0, without owner, of the data set with this ID (see
	// store.Store.ID). It returns ErrExists if the cell is there.
	Create(ctx context.Context, cell, id string) error

	// Acquire makes node the owner of the cell, if its epoch and its beat are still those
	// of seen, and raises the epoch. It returns ErrChanged if they are not. When it
	// returns, no commit of an earlier grant can happen any more. It is durable like a
	// commit.
	Acquire(ctx context.Context, cell string, node Member, seen Cell) (Grant, error)

	// Renew raises the beat of the cell. It returns store.ErrFenced if the grant has ended.
	// It does not wait for the second copy.
	Renew(ctx context.Context, g Grant) (Renewal, error)

	// Release ends the grant, so that another node may acquire the cell at once.
	Release(ctx context.Context, g Grant) error

	// Commit makes c the next version of the grant's cell, durable in every copy that the
	// server waits for. It returns nil when it is, and an error only if the change did not
	// happen and never will: store.ErrFenced (another grant), store.ErrDiskFull (no room),
	// or store.ErrDiverged (the cell is not at the version before c: it went back, or is
	// ahead). If the connection is lost it finds out what happened, and tries on until
	// ctx ends; only then does it return an error that wraps ErrInDoubt.
	Commit(ctx context.Context, g Grant, c store.Change) error

	// Barrier returns once all that the server has shown before is in every copy that it
	// waits for. A server shows a commit that still waits for its second copy to others; a
	// failover would undo it.
	Barrier(ctx context.Context, cell string) error

	// Changes returns the changes after a version, oldest first, at most limit of them.
	// complete is false if those right after the version are no longer kept: the cell
	// must be loaded then.
	Changes(ctx context.Context, cell string, after uint64, limit int) (changes []store.Change, complete bool, err error)

	// Rows calls fn for every row of the cell, bucket by bucket in key order. It reads in
	// ranges and not in one snapshot: rows may be newer than the version at which it
	// began. The change log must be applied from that version on.
	Rows(ctx context.Context, cell string, fn func(store.Row) error) error

	// MoveIn makes a cell of m, in place of the one that was seen, or of none if seen is the
	// zero value. The cell has no owner and the next epoch, so that older grants end, and
	// none of its changes is kept. Afterwards all of it is there, durable like a commit, or
	// nothing changed. MoveIn returns ErrChanged if the cell is not as seen, and the errors
	// of m. Only one that wraps ErrInDoubt says that it may have happened.
	MoveIn(ctx context.Context, cell string, seen Cell, m Contents) error

	// MoveOut ends the grant and marks the cell as left. It is durable like a commit. The
	// mark stays until MoveIn.
	MoveOut(ctx context.Context, g Grant) error

	// Fill adds rows to a cell that has no owner and version 0, for migrations.
	Fill(ctx context.Context, cell string, rows []store.Row) error

	// Join registers a node of a cell or renews its registration, and notes which version
	// it has. It does not wait for the second copy. It returns ErrNameTaken if another process
	// registered the name, by Member.Run, and renewed it within its lease.
	Join(ctx context.Context, cell string, m Member) error

	// Leave removes the registration, if it is that of the process run.
	Leave(ctx context.Context, cell, node, run string) error

	// Members returns the nodes of a cell that were seen within the last hour, by name.
	Members(ctx context.Context, cell string) ([]Member, error)

	// Secret returns a secret of the cell, nil if there is none. SetSecret stores one.
	Secret(ctx context.Context, cell, name string) ([]byte, error)
	SetSecret(ctx context.Context, cell, name string, value []byte) error

	// Prune removes changes that no node needs: those that all members seen within the
	// last hour have, and those older than an hour, except the newest keep. It returns how
	// many it removed, at most some thousands at once.
	Prune(ctx context.Context, cell string, keep int) (int, error)

	// Drop removes a cell with all that belongs to it.
	Drop(ctx context.Context, cell string) error

	// Close ends all connections.
	Close()
}

// Server is what Check found.
type Server struct {
	Version     string    // such as 15.14
	Primary     string    // host:port of the connection
	Synchronous []string  // names of the servers that a commit waits for; empty: it waits for none
	Now         time.Time // by its clock
	RoundTrip   time.Duration
}

// Cell is the state of a cell in the database.
type Cell struct {
	ID       string    // of the data set
	Epoch    uint64    // 1 more with each owner
	Version  uint64    // of the newest change
	Stamp    time.Time // of the newest change; zero: there is none
	Owner    Member    // the last one; Name is empty if there was none
	Since    time.Time // when the owner acquired the cell, by the server's clock
	Beat     uint64    // changes with each renewal
	Released bool      // the owner released it
	Left     bool      // the data were moved out; stays until they are moved in
}

// Contents are what a cell is made of by [Database.MoveIn].
type Contents struct {
	ID      string // of the data set
	Version uint64 // more than any copy of the data has, and not 0, which an empty file has
	Stamp   time.Time
	Secrets map[string][]byte

	// Rows calls put with each row.
	Rows func(put func(store.Row) error) error

	// Verify is called before the cell is there. rows calls fn with each row that the
	// database has got.
	Verify func(rows func(fn func(store.Row) error) error) error
}

// Grant is the ownership of a cell until another node acquires it.
type Grant struct {
	Cell    string
	ID      string
	Epoch   uint64
	Version uint64 // of the newest change
	Stamp   time.Time
}

// Renewal is what a renewal found.
type Renewal struct {
	Synchronous []string
	Now         time.Time // by the server's clock
}

// Member is a node of a cell.
type Member struct {
	Name    string
	Run     string // of one process, random
	Address string // where other nodes reach it; empty: they do not
	Program string // version of the program
	Role    string // owner, standby
	Version uint64 // the newest change that it has
	Lease   time.Duration
	Seen    time.Time         // by the server's clock; set by Members
	Behind  time.Duration     // how long it has lacked changes; 0: it has all
	Full    bool              // its disk is full: it does not follow
	Digests map[string]string // of settings that must agree, by name; never their values
}

// Errors of databases.
var (
	ErrUnreachable = errors.New("the database cannot be reached")
	ErrRefused     = errors.New("the database refuses the connection")
	ErrReadOnly    = errors.New("the database is read-only")
	ErrUnfit       = errors.New("the database cannot hold a cell")
	ErrExists      = errors.New("the cell exists")
	ErrChanged     = errors.New("the cell changed its owner")
	ErrNameTaken   = errors.New("another process has this node name")
	ErrInDoubt     = errors.New("whether the change happened is unknown")
)

// String names a member for people.
func (m Member) String() string {
	if m.Address == "" {
		return m.Name
	}
	return fmt.Sprintf("%s at %s", m.Name, m.Address)
}
