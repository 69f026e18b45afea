package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"

	"postern/store/files"
	"postern/store/pages"
	"postern/store/schema"
	"postern/store/survey"
)

// compactStep is the number of bytes of records that one transaction of a compaction
// writes. They stay in memory until it ends.
const (
	compactStep = 32 << 20
	nodeBytes   = 128 // the memory that bbolt uses for a record besides
)

// Compact rewrites the file at path with full pages and without free ones. It compares
// the copy with the file and puts it in place in one step: a kill at any moment, or the
// end of ctx, leaves the file as it was. It needs as much free space as the file has
// records. before and after are the sizes in bytes. Errors are those of [Check], and
// ErrCorrupt for a file with any fault, which is not changed.
func Compact(ctx context.Context, path string, buckets []schema.Bucket) (before, after int64, err error) {
	sch, err := withOwn(buckets)
	if err != nil {
		return 0, 0, err
	}
	path, err = filepath.EvalSymlinks(path) // replace the file, not a link to it
	if err != nil {
		return 0, 0, fmt.Errorf("compact: %w", explain(err))
	}
	f, err := files.Lock(path)
	if err != nil {
		return 0, 0, fmt.Errorf("compact %s: %w", path, explain(err))
	}
	defer f.Close()
	before, after, err = compact(ctx, f, path, sch)
	if err != nil {
		return 0, 0, fmt.Errorf("compact %s: %w", path, advise(path, explain(err)))
	}
	return before, after, nil
}

func compact(ctx context.Context, f *os.File, path string, sch schema.Schema) (before, after int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, 0, err
	}
	before = info.Size()
	found, err := survey.Read(f, before)
	if err == nil {
		err = found.Identify(sch)
	}
	if err != nil {
		return 0, 0, err
	}
	if faults := found.Report(sch); len(faults) > 0 {
		return 0, 0, fmt.Errorf("%w: %s", ErrCorrupt, faults[0])
	}
	removeLeftovers(path) // of a compaction that was killed
	needs := found.File.Used() * uint64(found.File.PageSize())
	if free, known := files.FreeBytes(filepath.Dir(path)); known && free < needs {
		return 0, 0, fmt.Errorf("the copy takes up to %d MiB beside the file, and %d MiB are free: make room first", needs>>20, free>>20)
	}
	copied, after, err := makeCopy(ctx, found, path, info)
	if err != nil {
		return 0, 0, err
	}
	defer os.Remove(copied)       // of one that was not put in place
	_ = os.Remove(notePath(path)) // it describes the old file
	if err := files.PutInPlace(copied, f, path); err != nil {
		return 0, 0, err
	}
	return before, after, files.SyncFolder(filepath.Dir(path))
}

// makeCopy writes the copy beside the file at path, with the permissions of other. It
// returns the name and the size of the copy once that is on disk and closed, since some
// systems cannot rename an open file. On an error there is no copy.
func makeCopy(ctx context.Context, found *survey.Survey, path string, other os.FileInfo) (name string, size int64, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+leftoverSuffix+"*")
	if err != nil {
		return "", 0, err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if err := files.OwnedAs(f, other); err != nil {
		return "", 0, err
	}
	if err := writeCompact(ctx, found.File, f); err != nil {
		return "", 0, err
	}
	if size, err = sameAs(f, found); err != nil {
		return "", 0, err
	}
	return f.Name(), size, f.Sync()
}

// writeCompact copies the records unchanged, in key order.
func writeCompact(ctx context.Context, from *pages.File, to *os.File) error {
	f, err := reopened(to)
	if err != nil {
		return err
	}
	db, err := openBolt(to.Name(), true, f)
	if err != nil {
		_ = f.Close() // bbolt may have closed it
		return err
	}
	db.AllocSize = 0 // it grows by what is needed
	c := &copying{db: db}
	faults, err := from.Walk(pages.Visitor{
		Bucket: c.begin,
		Record: func(r pages.Record) error {
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
			return c.put(r)
		},
	})
	if err == nil && len(faults) > 0 {
		err = survey.Describe(faults)
	}
	if err != nil {
		c.drop()
	} else {
		err = c.commit()
	}
	if err == nil { // the older head then has all of it too
		err = db.Update(func(*bolt.Tx) error { return nil })
	}
	return errors.Join(err, db.Close())
}

// reopened opens the same file once more. It fails if another file was put in its place.
func reopened(f *os.File) (again *os.File, err error) {
	if again, err = os.OpenFile(f.Name(), os.O_RDWR, 0); err != nil {
		return nil, err
	}
	is, err := f.Stat()
	there, err2 := again.Stat()
	if err = errors.Join(err, err2); err == nil && !os.SameFile(is, there) {
		err = fmt.Errorf("another file was put in the place of %s", f.Name())
	}
	if err != nil {
		return nil, errors.Join(err, again.Close())
	}
	return again, nil
}

// copying writes buckets one after the other.
type copying struct {
	db     *bolt.DB
	tx     *bolt.Tx
	bucket *bolt.Bucket
	name   string
	bytes  int
}

func (c *copying) begin(name string, sequence uint64) (err error) {
	if c.name = name; c.tx == nil {
		if c.tx, err = c.db.Begin(true); err != nil {
			return err
		}
	}
	if c.bucket, err = c.tx.CreateBucketIfNotExists([]byte(name)); err != nil {
		return err
	}
	return c.bucket.SetSequence(sequence)
}

func (c *copying) put(r pages.Record) (err error) {
	if c.bytes > compactStep {
		if err := c.commit(); err != nil {
			return err
		}
		if c.tx, err = c.db.Begin(true); err != nil {
			return err
		}
		c.bucket = c.tx.Bucket([]byte(c.name))
	}
	c.bytes += len(r.Key) + len(r.Value) + nodeBytes
	c.bucket.FillPercent = 0.95
	return c.bucket.Put(bytes.Clone(r.Key), bytes.Clone(r.Value)) // bbolt keeps both until the commit
}

func (c *copying) commit() (err error) {
	if c.tx != nil {
		if err = shielded(c.tx.Commit); err != nil {
			rollback(c.tx) // one that panicked is still open, and Close would wait for it
		}
	}
	c.tx, c.bytes = nil, 0
	return err
}

func (c *copying) drop() {
	if c.tx != nil {
		rollback(c.tx)
	}
}

// sameAs compares a copy with what was found in the original.
func sameAs(f *os.File, original *survey.Survey) (size int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	is, err := survey.Read(f, info.Size())
	switch {
	case err != nil:
	case len(is.Faults) > 0:
		err = survey.Describe(is.Faults)
	case len(is.Damaged) > 0 || !maps.Equal(is.Holds(), original.Holds()) || !maps.EqualFunc(is.Meta, original.Meta, func(a, b []byte) bool { return string(a) == string(b) }):
		err = fmt.Errorf("%w: the copy is not what was copied; the memory or the disk may be failing", ErrCorrupt)
	}
	return info.Size(), err
}
