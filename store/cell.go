package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"

	"postern/internal/plural"
	"postern/store/schema"
	"postern/store/survey"
)

// A cell is a data set whose truth lies in a database, see [Engine]. The file of each
// node is a copy of it at some version. A store that was opened with Options.Follow
// applies the changes of the owner and refuses others, until Lead makes it the owner
// itself. From then on each commit is first the next version of the cell, and only then a
// commit of the file. A kill between the two leaves the file one version behind, which
// the next start applies like any other change. The file is therefore not synced at each
// commit: after a power cut it is whole and behind, or it is refused and loaded again.
//
// Records of meta that describe one file stay in it. All others, with the tallies of the
// buckets, are rows of the cell, so that each copy can be compared with it at each
// version.

var metaCell = []byte("cell")

// localMeta are the records of meta that are in no change.
var localMeta = [][]byte{survey.Application, survey.Clean, survey.Program, metaCell}

func isLocalMeta(key []byte) bool {
	for _, local := range localMeta {
		if bytes.Equal(key, local) {
			return true
		}
	}
	return bytes.HasPrefix(key, []byte(leftPrefix))
}

// CellMark is what a file says about the cell that it is a copy of.
type CellMark struct {
	Version uint64 `json:"version"`         // the newest change that it has
	Until   uint64 `json:"until,omitempty"` // while Version is less, rows may be newer than it
	Owned   bool   `json:"owned,omitempty"` // its process owned the cell, and stopped in order
	Alone   bool   `json:"alone,omitempty"` // it went on without the cell

	// Moving is the version that its records had in a cell when they were about to be moved
	// into it; 0: they were not.
	Moving uint64 `json:"moving,omitempty"`
}

// Errors of Open that concern cells.
var (
	// ErrOtherCell: the file is a copy of another cell.
	ErrOtherCell = errors.New("the data file belongs to another cell; set store.path to another file, or cluster.cell and store.url to its cell")
	// ErrNoCell: the file has records and belongs to no cell.
	ErrNoCell = errors.New("the data file belongs to no cell and has records; postern migrate --to moves them into one, or set store.path to another file")
	// ErrCopy: the file is a copy that cannot go on alone.
	ErrCopy = errors.New("the data file is a copy of a cell, and not the one of its last owner, stopped in order: set store.url again, or take the data out with postern migrate --from")
)

// alone reports whether the file may be opened without a cell. One that was never a copy
// has a mark if it was about to be moved.
func (m CellMark) alone() bool { return m.Alone || m.Version == 0 && m.Moving > 0 }

// membership is the state of a store that follows or owns a cell.
type membership struct {
	mark   CellMark
	engine Engine // nil: it follows
}

// markOf returns the mark of a surveyed file; is is false if it has none.
func markOf(found *survey.Survey) (m CellMark, is bool, err error) {
	raw, is := found.Meta[string(metaCell)]
	if !is {
		return m, false, nil
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return m, true, fmt.Errorf("%w: its mark of a cell: %w", ErrCorrupt, err)
	}
	return m, true, nil
}

// place decides what the file may be opened as. It returns nil for a file that stands
// alone.
func (o *Options) place(found *survey.Survey) (*membership, error) {
	mark, is, err := markOf(found)
	id := string(found.Meta[string(metaID)])
	if mark.Moving > 0 && id == o.Follow {
		mark = CellMark{Version: mark.Moving}
	}
	switch {
	case err != nil:
		return nil, err
	case o.Follow == "" && (!is || mark.Alone && mark.Moving == 0):
		return nil, nil
	case o.Follow == "" && (mark.alone() || o.Alone || mark.Owned && found.Clean()):
		mark.Alone, mark.Moving = true, 0
		return &membership{mark: mark}, nil
	case o.Follow == "":
		return nil, ErrCopy
	case (!is || mark.alone()) && found.Empty():
		return &membership{}, nil
	case !is || mark.alone():
		return nil, ErrNoCell
	case id != o.Follow:
		return nil, ErrOtherCell
	case len(found.Damaged) > 0:
		return nil, fmt.Errorf("%w: %d of its records are damaged", ErrDiverged, len(found.Damaged))
	}
	return &membership{mark: mark}, nil
}

// join writes the mark of the file, and the ID of the cell into a file that had none.
func (s *Store) join(m *membership) error {
	if m == nil {
		return nil
	}
	m.mark.Owned = false
	if s.opts.Follow != "" {
		s.cell = m
	}
	return s.db.Update(func(tx *bolt.Tx) error {
		if s.opts.Follow != "" {
			s.id = s.opts.Follow
			if err := putMeta(tx, metaID, []byte(s.id)); err != nil {
				return err
			}
		}
		return m.mark.put(tx)
	})
}

func (m CellMark) put(tx *bolt.Tx) error {
	raw, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return putMeta(tx, metaCell, raw)
}

func putMeta(tx *bolt.Tx, key, value []byte) error {
	return tx.Bucket([]byte(schema.Meta.Name)).Put(key, schema.Seal(key, value))
}

// Mark returns what the file says about its cell. is is false if it was never a copy.
func (s *Store) Mark() (m CellMark, is bool, err error) {
	err = s.View(func(tx *Tx) error {
		raw, err := tx.Get(schema.Meta.Name, metaCell)
		if err != nil || raw == nil {
			return err
		}
		is = true
		return json.Unmarshal(raw, &m)
	})
	return m, is, err
}

// Valid reports whether this process may act on what the file says: always if the file
// stands alone, never while it follows a cell, and as long as the engine says so if it
// owns one.
func (s *Store) Valid() bool {
	if s.cell == nil {
		return true
	}
	e := s.engine()
	return e != nil && e.Valid()
}

// engine returns the engine of a store that owns a cell, otherwise nil.
func (s *Store) engine() Engine {
	if s.cell == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cell.engine
}

// Apply makes the changes of the owner in one commit. They must follow on the file's
// version; those that the file has are skipped. Errors wrap ErrDiverged if the file would
// not hold what the cell holds, and ErrNewer if this release does not know what a change
// holds; the file is then as before.
func (s *Store) Apply(changes []Change) error {
	u := &update{done: make(chan struct{}), fn: func(tx *Tx) error {
		mark, err := s.apply(tx, changes)
		tx.After(func() {
			if mark.Version != s.cell.mark.Version {
				s.dropLeft()
			}
			s.cell.mark = mark
		})
		return err
	}}
	if err := s.enqueueChange(u); err != nil {
		return err
	}
	return u.wait()
}

// enqueueChange is enqueue for a store that follows.
func (s *Store) enqueueChange(u *update) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return ErrClosed
	case s.cell == nil || s.cell.engine != nil:
		return errors.New("store: only a store that follows a cell applies changes")
	}
	s.queue = append(s.queue, u)
	s.ask()
	return nil
}

func (s *Store) apply(tx *Tx, changes []Change) (CellMark, error) {
	mark := s.cell.mark
	cell := map[string]survey.Tally{} // of the cell, as the changes say
	for _, c := range changes {
		switch {
		case c.Version <= mark.Version:
			continue
		case c.Version > mark.Version+1:
			return mark, fmt.Errorf("%w: it is at version %d, and the next change is %d", ErrDiverged, mark.Version, c.Version)
		}
		for _, r := range c.Rows {
			if err := tx.applyRow(r, cell); err != nil {
				return mark, err
			}
		}
		mark.Version = c.Version
	}
	for name, want := range cell {
		b, err := tx.bucket(name)
		if err != nil {
			return mark, err
		}
		b.changed = true
		if err := b.SetSequence(want.Sequence); err != nil {
			return mark, err
		}
		got := s.tallies[name]
		got.Rows, got.Sum = got.Rows+b.change.Rows, got.Sum+b.change.Sum
		if mark.Version >= mark.Until && (got.Rows != want.Rows || got.Sum != want.Sum && !want.Vague) {
			return mark, fmt.Errorf("%w: at version %d its bucket %s has %s, and the cell has %d", ErrDiverged, mark.Version, name, plural.Of(got.Rows, "record"), want.Rows)
		}
	}
	tx.writes++
	return mark, mark.put(tx.bolt)
}

// applyRow writes a row of a change, and notes in cell what it says about a bucket.
func (tx *Tx) applyRow(r Row, cell map[string]survey.Tally) error {
	if r.Value != nil {
		if _, whole := schema.Verify(r.Key, r.Value); !whole {
			return fmt.Errorf("%w: the row %s has a wrong checksum in the database", ErrDiverged, schema.RecordName(r.Bucket, r.Key))
		}
	}
	if _, known := tx.schema[r.Bucket]; !known {
		return fmt.Errorf("%w (the cell has the bucket %.60q, which this release does not know)", ErrNewer, r.Bucket)
	}
	if r.Bucket == schema.Meta.Name {
		return tx.applyMeta(r, cell)
	}
	b, err := tx.bucket(r.Bucket)
	if err != nil {
		return err
	}
	b.FillPercent = max(b.FillPercent, b.declared.FillFor(r.Key))
	tx.writes++
	if r.Value == nil {
		tx.replaced(b, r.Key, b.Get(r.Key), nil)
		return b.Delete(r.Key)
	}
	tx.replaced(b, r.Key, b.replacedBy(r.Key), r.Value)
	return b.Put(r.Key, r.Value)
}

func (tx *Tx) applyMeta(r Row, cell map[string]survey.Tally) error {
	meta := tx.bolt.Bucket([]byte(schema.Meta.Name))
	bucket, isTally := survey.Tallied(r.Key)
	switch {
	case isLocalMeta(r.Key):
		return nil
	case r.Value == nil:
		return meta.Delete(r.Key)
	case bytes.Equal(r.Key, survey.Version):
		if version := binary.BigEndian.Uint32(append(r.Value[schema.ChecksumSize:len(r.Value):len(r.Value)], 0, 0, 0, 0)); version > schema.Version {
			return fmt.Errorf("%w (the cell has schema %d, this release knows %d)", ErrNewer, version, schema.Version)
		}
	case isTally:
		t, ok := survey.DecodeTally(r.Value[schema.ChecksumSize:])
		if _, known := tx.schema[bucket]; !ok || !known {
			return fmt.Errorf("%w (the cell has the bucket %.60q, which this release does not know)", ErrNewer, bucket)
		}
		cell[bucket] = t
		return nil // tallies.write writes it
	}
	return meta.Put(r.Key, r.Value)
}

// Lead makes a store that follows the owner of its cell, which must be at the file's
// version. stamp is the time of the newest change: [Tx.Now] does not go behind it. Lead
// returns after a first commit through the engine, and its errors are those of Update.
// From then on the store takes changes.
func (s *Store) Lead(ctx context.Context, e Engine, version uint64, stamp time.Time) error {
	if err := s.lead(e, version, stamp); err != nil {
		return err
	}
	return s.Update(ctx, func(tx *Tx) error {
		return errors.Join(tx.putMeta(survey.Version, binary.BigEndian.AppendUint32(nil, schema.Version)), tx.putMeta(metaID, []byte(s.id)))
	})
}

func (s *Store) lead(e Engine, version uint64, stamp time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch m := s.cell; {
	case m == nil || m.engine != nil:
		return errors.New("store: only a store that follows a cell becomes its owner")
	case m.mark.Version > version:
		return fmt.Errorf("%w: the file is at version %d and the cell at %d, which is older", ErrDiverged, m.mark.Version, version)
	case m.mark.Version < max(version, m.mark.Until):
		return fmt.Errorf("%w: the file is at version %d and the cell at %d", ErrDiverged, m.mark.Version, version)
	}
	err := s.db.View(func(tx *bolt.Tx) error {
		s.clock.TakeOver(clockRecord(tx), s.opts.Now(), s.running(), stamp)
		return nil
	})
	if err != nil {
		return err
	}
	s.cell.engine = e
	return nil
}

// follows reports whether the store applies the changes of another process.
func (s *Store) follows() bool { return s.cell != nil && s.engine() == nil }

// writeSet returns what collects the rows of a commit; nil without an engine.
func (s *Store) writeSet() *writeSet {
	if s.engine() == nil {
		return nil
	}
	return newWriteSet()
}

// room asks an engine that had no room whether it has some now. To undo a transaction is
// expensive, see [Store.end].
func (s *Store) room() error {
	if !s.crowded {
		return nil
	}
	if err := s.engine().Room(); err != nil {
		s.space.full()
		return fmt.Errorf("store: %w", err)
	}
	s.crowded = false
	return nil
}

// replicate makes what the writer's transaction holds the next version of the cell.
func (s *Store) replicate(btx *bolt.Tx, rows *writeSet, now time.Time) error {
	if rows == nil {
		return nil
	}
	next := s.cell.mark
	next.Version++
	if err := next.put(btx); err != nil {
		return err
	}
	switch err := s.engine().Commit(Change{Version: next.Version, Stamp: now, Rows: rows.rows}); {
	case err == nil:
		s.cell.mark = next
		s.clock.NotBefore(now)
		return nil
	case errors.Is(err, ErrDiskFull):
		s.crowded = true
		s.space.full()
		s.clock.Unsaved()
		return fmt.Errorf("store: commit of version %d: %w", next.Version, err)
	default:
		return s.fail(fmt.Errorf("commit of version %d: %w", next.Version, err))
	}
}

// leaveCell notes for the next start that the owner stopped in order.
func (s *Store) leaveCell(btx *bolt.Tx) error {
	if s.engine() == nil {
		return nil
	}
	mark := s.cell.mark
	mark.Owned = true
	return mark.put(btx)
}
