package store

import (
	"errors"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"

	"postern/store/files"
	"postern/store/schema"
	"postern/store/survey"
)

// loadStep is how many rows a commit of Load has.
const loadStep = 20_000

// Load makes the file at o.Path a copy of the cell o.Follow, in place of what is there.
// rows calls put with every row of the cell, bucket by bucket in key order; the rows may
// be newer than version, and must then not be newer than until, which rows returns. The
// file appears whole or not at all. No process may have it open.
func Load(o Options, version uint64, rows func(put func(Row) error) (until uint64, err error)) (err error) {
	o.Path = target(o.Path)
	temp, err := build(o, func(l *loader) error { return l.fill(o.Follow, CellMark{Version: version}, rows) })
	if err != nil {
		return err
	}
	defer os.Remove(temp)
	return explain(errors.Join(os.Rename(temp, o.Path), files.SyncFolder(filepath.Dir(o.Path))))
}

// build makes a new file beside o.Path, which fill fills, and returns its name.
func build(o Options, fill func(*loader) error) (temp string, err error) {
	sch, err := withOwn(o.Buckets)
	if err != nil {
		return "", err
	}
	if err := makeFolder(filepath.Dir(o.Path), o.NoSync); err != nil {
		return "", explain(err)
	}
	f, err := os.CreateTemp(filepath.Dir(o.Path), filepath.Base(o.Path)+leftoverSuffix+"*")
	if err != nil {
		return "", explain(err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if err := f.Close(); err != nil {
		return "", err
	}
	db, err := openBolt(f.Name(), true, nil)
	if err != nil {
		return "", err
	}
	if err = fill(&loader{db: db, schema: sch}); err == nil && !o.NoSync {
		err = db.Sync()
	}
	return f.Name(), explain(errors.Join(err, db.Close(), os.Chmod(f.Name(), files.Mode)))
}

// loader fills a new file.
type loader struct {
	db      *bolt.DB
	schema  schema.Schema
	tx      *Tx // the open transaction; nil: none
	written int
	tallies survey.Tallies
	cell    map[string]survey.Tally
}

// fill writes rows, the ID and the mark, of which rows returns Until.
func (l *loader) fill(id string, mark CellMark, rows func(put func(Row) error) (uint64, error)) error {
	l.tallies, l.cell = survey.Tallies{}, map[string]survey.Tally{}
	err := l.db.Update(func(tx *bolt.Tx) error { return initialise(tx, l.schema) })
	if err != nil {
		return err
	}
	mark.Until, err = rows(l.put)
	if err != nil && l.tx != nil {
		rollback(l.tx.bolt)
	}
	if err == nil {
		err = l.flush()
	}
	if err != nil {
		return err
	}
	return l.db.Update(func(tx *bolt.Tx) error {
		for name := range l.schema {
			if name == schema.Meta.Name {
				continue
			}
			t := l.tallies[name]
			t.Sequence = l.cell[name].Sequence
			if err := errors.Join(tx.Bucket([]byte(name)).SetSequence(t.Sequence), putMeta(tx, survey.TallyKey(name), t.Encode())); err != nil {
				return err
			}
		}
		return errors.Join(putMeta(tx, metaID, []byte(id)), mark.put(tx))
	})
}

func (l *loader) put(r Row) error {
	if l.tx == nil {
		btx, err := l.db.Begin(true)
		if err != nil {
			return err
		}
		l.tx = &Tx{bolt: btx, openings: &openings{}, schema: l.schema}
	}
	if err := l.tx.applyRow(r, l.cell); err != nil {
		return err
	}
	if r.Bucket != schema.Meta.Name {
		t := l.tallies[r.Bucket]
		t.Add(r.Value)
		l.tallies[r.Bucket] = t
	}
	if l.written++; l.written%loadStep == 0 {
		return l.flush()
	}
	return nil
}

func (l *loader) flush() error {
	if l.tx == nil {
		return nil
	}
	btx := l.tx.bolt
	l.tx = nil
	return btx.Commit()
}
