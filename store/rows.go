package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"postern/internal/plural"
	"postern/store/clock"
	"postern/store/files"
	"postern/store/pages"
	"postern/store/schema"
	"postern/store/survey"
)

// Totals are numbers and checksums of records, by bucket. Those of the same records are
// equal, in whatever order they were added.
type Totals map[string]Total

// Total is what the records of one bucket add up to.
type Total struct{ Rows, Sum uint64 }

// Add adds a record. The error wraps ErrDiverged if its checksum is wrong.
func (t Totals) Add(r Row) error {
	if _, whole := schema.Verify(r.Key, r.Value); !whole {
		return fmt.Errorf("%w: the row %s has a wrong checksum", ErrDiverged, schema.RecordName(r.Bucket, r.Key))
	}
	all := t[r.Bucket]
	all.Rows, all.Sum = all.Rows+1, all.Sum+survey.Digest(r.Value)
	t[r.Bucket] = all
	return nil
}

// Rows returns the number of records.
func (t Totals) Rows() (n uint64) {
	for _, one := range t {
		n += one.Rows
	}
	return n
}

// Offline is a data file that is moved into a cell. No program can open it until Close.
type Offline struct {
	f     *os.File // nil once bolt has it
	db    *bolt.DB // nil until the first mark
	path  string
	found *survey.Survey
	sch   schema.Schema
	mark  CellMark
}

// OpenOffline locks the file at path and reads it. It changes nothing. Errors are those of
// [Check], ErrCorrupt for a file with any fault, and one that says so for a file of an
// earlier release.
func OpenOffline(path string, buckets []schema.Bucket) (o *Offline, err error) {
	sch, err := withOwn(buckets)
	if err != nil {
		return nil, err
	}
	f, err := files.Lock(path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, explain(err))
	}
	o = &Offline{f: f, path: path, sch: sch}
	if err := o.survey(); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, errors.Join(advise(path, explain(err)), f.Close()))
	}
	return o, nil
}

func (o *Offline) survey() error {
	info, err := o.f.Stat()
	if err != nil {
		return err
	}
	if o.found, err = survey.Read(o.f, info.Size()); err == nil {
		err = o.found.Identify(o.sch)
	}
	if err != nil {
		return err
	}
	if faults := o.found.Report(o.sch); len(faults) > 0 {
		return fmt.Errorf("%w: %s", ErrCorrupt, faults[0])
	}
	if version, _ := o.found.Version(); version != schema.Version || o.ID() == "" {
		return errors.New("the data file is of an earlier release: start this one on it once, and stop it")
	}
	o.mark, _, err = markOf(o.found)
	return err
}

// ID returns the ID of the file, see [Store.ID].
func (o *Offline) ID() string { return string(o.found.Meta[string(metaID)]) }

// Mark returns what the file says about a cell; the zero value if it was never a copy.
func (o *Offline) Mark() CellMark { return o.mark }

// Last returns the last time of day that the file trusts; zero: it has none.
func (o *Offline) Last() (t time.Time) {
	if t.UnmarshalBinary(o.found.Meta[string(clock.KnownKey)]) != nil {
		return time.Time{}
	}
	return t
}

// Rows calls put with all records that a cell holds of the file. They are valid after the
// call, too.
func (o *Offline) Rows(ctx context.Context, put func(Row) error) error {
	meta := map[string][]byte{}
	for key, value := range o.found.Meta {
		if _, tally := survey.Tallied([]byte(key)); !tally && !isLocalMeta([]byte(key)) {
			meta[key] = value
		}
	}
	for name, t := range o.found.Holds() {
		if _, declared := o.sch[name]; declared {
			meta[string(survey.TallyKey(name))] = t.Encode()
		}
	}
	bucket := ""
	faults, err := o.found.File.Walk(pages.Visitor{
		Bucket: func(name string, _ uint64) error {
			bucket = name
			return nil
		},
		Record: func(r pages.Record) error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return put(Row{Bucket: bucket, Key: bytes.Clone(r.Key), Value: bytes.Clone(r.Value)})
		},
		Skip: func(name string) bool { return name == schema.Meta.Name },
	})
	if err == nil && len(faults) > 0 {
		err = survey.Describe(faults)
	}
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		if err == nil {
			err = put(Row{Bucket: schema.Meta.Name, Key: []byte(key), Value: schema.Seal([]byte(key), meta[key])})
		}
	}
	return err
}

// MoveTo notes in the file that its records become version version of a cell, before they
// do: a process that opens it as a copy of that cell then continues there, and one that
// opens it alone continues as before.
func (o *Offline) MoveTo(version uint64) error {
	mark := o.mark
	mark.Moving = version
	return o.write(mark)
}

// Moved makes the file a copy of the cell at a version.
func (o *Offline) Moved(version uint64) error { return o.write(CellMark{Version: version}) }

// Stay takes MoveTo back.
func (o *Offline) Stay() error { return o.write(o.mark) }

func (o *Offline) write(mark CellMark) error {
	if o.db == nil {
		if err := o.openBolt(); err != nil {
			return fmt.Errorf("mark %s: %w", o.path, explain(err))
		}
	}
	err := o.db.Update(func(tx *bolt.Tx) error {
		if mark == (CellMark{}) {
			return tx.Bucket([]byte(schema.Meta.Name)).Delete(metaCell)
		}
		return mark.put(tx)
	})
	if err != nil {
		return fmt.Errorf("mark %s: %w", o.path, explain(err))
	}
	return nil
}

// openBolt hands the locked file over to bbolt.
func (o *Offline) openBolt() error {
	if err := o.found.DropList(o.f); err != nil {
		return err
	}
	_ = os.Remove(notePath(o.path)) // it describes the file as it was
	db, err := openBolt(o.path, false, o.f)
	if err != nil {
		return err
	}
	o.db, o.f = db, nil
	return writeBackMetas(o.path, o.db.Info().PageSize)
}

// Close unlocks the file.
func (o *Offline) Close() error {
	if o.db != nil {
		return o.db.Close()
	}
	_ = o.f.Close() // bbolt may have closed it
	return nil
}

// Copy is a file that was made of the rows of a cell, and has no name yet.
type Copy struct{ temp, path string }

// TakeOut makes a file of the rows of the cell o.Follow at exactly version, to go on alone at
// o.Path. rows calls put with each of them, bucket by bucket in key order. The error wraps
// ErrDiverged if their number or their checksums are not those that the cell says.
func TakeOut(o Options, version uint64, rows func(put func(Row) error) error) (*Copy, error) {
	temp, err := build(o, func(l *loader) error {
		return l.fill(o.Follow, CellMark{Version: version, Alone: true}, func(put func(Row) error) (uint64, error) {
			if err := rows(put); err != nil {
				return 0, err
			}
			return 0, l.compare()
		})
	})
	if err != nil {
		return nil, err
	}
	return &Copy{temp, o.Path}, nil
}

// compare compares the records with what the cell says about its buckets.
func (l *loader) compare() error {
	for name := range l.schema {
		got, want := l.tallies[name], l.cell[name]
		if name != schema.Meta.Name && (got.Rows != want.Rows || got.Sum != want.Sum && !want.Vague) {
			return fmt.Errorf("%w: its bucket %s has %s instead of %d", ErrDiverged, name, plural.Of(got.Rows, "record"), want.Rows)
		}
	}
	return nil
}

// Place gives the file its name, which must be free: the error wraps [fs.ErrExist] if it is
// not.
func (c *Copy) Place() error {
	if _, err := os.Lstat(c.path); err == nil {
		return fmt.Errorf("%s: %w", c.path, fs.ErrExist)
	}
	if err := errors.Join(files.OwnAs(c.temp, filepath.Dir(c.path)), files.MoveNew(c.temp, c.path)); err != nil {
		return explain(err)
	}
	return explain(errors.Join(c.Discard(), files.SyncFolder(filepath.Dir(c.path))))
}

// Discard removes what has no name.
func (c *Copy) Discard() error {
	if err := os.Remove(c.temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
