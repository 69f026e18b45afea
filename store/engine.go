package store

import (
	"bytes"
	"errors"
	"time"
)

// Errors of a store with an [Engine].
var (
	// ErrStandby: this process follows the cell and may not change it.
	ErrStandby = errors.New("this process is a standby and takes no changes")
	// ErrFenced: another process has taken the cell, so the change did not happen.
	ErrFenced = errors.New("another process owns the cell")
	// ErrDiverged: the file differs from the cell and must be loaded from it.
	ErrDiverged = errors.New("the data file differs from the cell")
)

// Engine makes commits durable where another process finds them, so that the file is a
// copy that can be loaded from there.
type Engine interface {
	// Commit makes c the next version of the cell and returns nil once that is durable.
	// Every error means that the change did not happen and never will: it wraps ErrFenced
	// if another process owns the cell, and ErrDiskFull if the engine has no room. As long
	// as the outcome is unknown, Commit does not return while this process may own the
	// cell, and returns ErrFenced when it may not. The values of c are valid until it
	// returns.
	Commit(c Change) error

	// Room asks whether the engine has room again, after ErrDiskFull.
	Room() error

	// Valid reports whether this process may act for the cell now. It costs as much as
	// reading a clock.
	Valid() bool
}

// Change is one version of a cell: what one group commit wrote.
type Change struct {
	Version uint64    // 1 more than that of the change before
	Stamp   time.Time // Tx.Now of its closures
	Rows    []Row     // the last value of each key, in no order
}

// Row is a record as it lies in the file, its checksum included. Rows of the bucket meta
// that concern one file only are in no change.
type Row struct {
	Bucket string
	Key    []byte
	Value  []byte // nil: the record was deleted
}

// writeSet collects the rows of a change. A nil writeSet collects nothing.
type writeSet struct {
	rows  []Row
	place map[string]int // index in rows, by bucket and key
}

func newWriteSet() *writeSet { return &writeSet{place: map[string]int{}} }

// note records that key has the sealed value now; nil: it is deleted. It keeps sealed,
// and copies key.
func (w *writeSet) note(bucket string, key, sealed []byte) {
	if w == nil {
		return
	}
	name := bucket + "\x00" + string(key)
	if at, known := w.place[name]; known {
		w.rows[at].Value = sealed
		return
	}
	w.place[name] = len(w.rows)
	w.rows = append(w.rows, Row{Bucket: bucket, Key: bytes.Clone(key), Value: sealed})
}
