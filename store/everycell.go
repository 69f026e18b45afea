//go:build everycell

package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"postern/internal/plural"
	"postern/store/files"
	"postern/store/schema"
	"postern/store/survey"
)

// With the build tag everycell, every data file of a test is the copy of a cell in
// memory. Open throws the file away and loads it from the cell: whatever a package
// stores must come through the changes of its commits.

func init() { openAlone = openEveryCell }

var everyCell = struct {
	mu  sync.Mutex
	all map[string]*memoryCell // by the path of the file
}{all: map[string]*memoryCell{}}

// CellBehind is a cell of a database that has what a cell in memory has.
type CellBehind interface {
	Commit(c Change) error
	Rows() ([]Row, error)
}

// EveryCellBehind makes one; nil: the cells are in memory alone. Package cluster/everycell
// sets it.
var EveryCellBehind func() (CellBehind, error)

// memoryCell is an engine that keeps its rows in memory.
type memoryCell struct {
	mu      sync.Mutex
	behind  CellBehind // nil: there is none
	id      string
	version uint64
	stamp   time.Time
	rows    map[string]Row
	past    []Change
}

// Commit implements [Engine].
func (c *memoryCell) Commit(change Change) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if change.Version != c.version+1 {
		return fmt.Errorf("%w: version %d after %d", ErrDiverged, change.Version, c.version)
	}
	if c.behind != nil {
		if err := c.behind.Commit(change); err != nil {
			return err
		}
	}
	change.Rows = slices.Clone(change.Rows)
	for i, r := range change.Rows {
		change.Rows[i].Value = bytes.Clone(r.Value)
	}
	c.past = append(c.past, change)
	for _, r := range change.Rows {
		if name := r.Bucket + "\x00" + string(r.Key); r.Value == nil {
			delete(c.rows, name)
		} else {
			c.rows[name] = r
		}
	}
	c.version, c.stamp = change.Version, change.Stamp
	return nil
}

// Valid implements [Engine].
func (c *memoryCell) Valid() bool { return true }

// Room implements [Engine].
func (c *memoryCell) Room() error { return nil }

func openEveryCell(o Options) (*Store, error) {
	everyCell.mu.Lock()
	c, known := everyCell.all[o.Path]
	everyCell.mu.Unlock()
	_, err := os.Stat(o.Path)
	switch {
	case err == nil && !known:
		if c = fork(o); c == nil { // made by a test in another way
			return openStore(o)
		}
		if err := c.load(o); err != nil {
			return nil, err
		}
	case errors.Is(err, fs.ErrNotExist):
		if c, err = newMemoryCell(newFileID()); err != nil {
			return nil, err
		}
	default:
		if err := lockedElsewhere(o); err != nil {
			return nil, err
		}
		if err := c.load(o); err != nil {
			return nil, err
		}
	}
	o.Follow = c.id
	onCommit := o.OnCommit
	o.OnCommit = nil // tests do not expect the commit of Lead
	s, err := openStore(o)
	if err != nil {
		return nil, err
	}
	everyCell.mu.Lock()
	everyCell.all[o.Path] = c
	everyCell.mu.Unlock()
	err = s.Lead(context.Background(), c, c.version, c.stamp)
	s.opts.OnCommit = onCommit
	return s, err
}

// fork returns the cell of a file that a test copied, as it was when the file was copied:
// the process that had it was killed then. It returns nil for any other file.
func fork(o Options) *memoryCell {
	id, err := FileID(o.Path)
	if err != nil {
		return nil
	}
	o.Follow, o.Logger, o.Fatal, o.OnCommit = id, nil, nil, nil
	s, err := openStore(o)
	if err != nil {
		return nil
	}
	tallies := s.tallies
	mark, _, err := s.Mark()
	if err = errors.Join(err, s.Close()); err != nil {
		return nil
	}
	everyCell.mu.Lock()
	defer everyCell.mu.Unlock()
	for _, c := range everyCell.all {
		if made := c.at(mark.Version); c.id == id && made.holds(tallies) {
			return made
		}
	}
	return nil
}

// at returns a cell of its own with what c was at a version; nil if it was never there.
func (c *memoryCell) at(version uint64) *memoryCell {
	c.mu.Lock()
	defer c.mu.Unlock()
	if uint64(len(c.past)) < version {
		return nil
	}
	made, err := newMemoryCell(c.id)
	if err != nil {
		return nil
	}
	for _, change := range c.past[:version] {
		_ = made.Commit(change) // in order
	}
	return made
}

func newMemoryCell(id string) (c *memoryCell, err error) {
	c = &memoryCell{id: id, rows: map[string]Row{}}
	if EveryCellBehind != nil {
		c.behind, err = EveryCellBehind()
	}
	return c, err
}

// holds reports whether the cell has what a file with these tallies has.
func (c *memoryCell) holds(all survey.Tallies) bool {
	if c == nil {
		return false
	}
	for name, want := range all {
		var got survey.Tally
		if r, is := c.rows[schema.Meta.Name+"\x00"+string(survey.TallyKey(name))]; is {
			got, _ = survey.DecodeTally(r.Value[schema.ChecksumSize:])
		}
		if name != schema.Damaged.Name && (got.Rows != want.Rows || got.Sum != want.Sum || got.Sequence != want.Sequence) {
			return false
		}
	}
	return true
}

// lockedElsewhere returns ErrLocked if the file is open.
func lockedElsewhere(o Options) error {
	f, err := files.Lock(o.Path)
	if err != nil {
		return explain(err)
	}
	return f.Close()
}

func (c *memoryCell) load(o Options) error {
	o.Follow = c.id
	return Load(o, c.version, func(put func(Row) error) (uint64, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		rows := make([]Row, 0, len(c.rows))
		for _, r := range c.rows {
			rows = append(rows, r)
		}
		slices.SortFunc(rows, func(a, b Row) int {
			if a.Bucket != b.Bucket {
				return bytes.Compare([]byte(a.Bucket), []byte(b.Bucket))
			}
			return bytes.Compare(a.Key, b.Key)
		})
		if c.behind != nil {
			stored, err := c.behind.Rows()
			if err != nil {
				return 0, err
			}
			if !slices.EqualFunc(stored, rows, func(a, b Row) bool {
				return a.Bucket == b.Bucket && bytes.Equal(a.Key, b.Key) && bytes.Equal(a.Value, b.Value)
			}) {
				return 0, fmt.Errorf("the database has %s, and not the %s that were committed", plural.Of(len(stored), "row"), plural.Of(len(rows), "row"))
			}
			rows = stored
		}
		for _, r := range rows {
			if err := put(r); err != nil {
				return 0, err
			}
		}
		return c.version, nil
	})
}
