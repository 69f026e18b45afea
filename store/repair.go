package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"

	"postern/internal/plural"
	"postern/store/clock"
	"postern/store/files"
	"postern/store/pages"
	"postern/store/schema"
	"postern/store/survey"
)

// Repaired is the result of a Repair.
type Repaired struct {
	Kept    string // where the old file is now; empty: there was nothing to repair
	Records int    // in the new file, without the store's own records
	Damaged int    // records that could not be read
	Removed int    // orphans
	Made    int    // records that other records imply, and counts
	// Told says, in sentences, what was lost, removed and made. If there are very many
	// entries, it holds only the first ones.
	Told []string
}

// maxTold bounds Repaired.Told.
const maxTold = 10_000

func (r *Repaired) tell(format string, parts ...any) {
	switch {
	case len(r.Told) < maxTold:
		r.Told = append(r.Told, fmt.Sprintf(format, parts...))
	case len(r.Told) == maxTold:
		r.Told = append(r.Told, "and more of the kind")
	}
}

const (
	repairStep   = 100_000 // lacks collected by one walk
	repairPasses = 300     // maximum number of walks
)

// Repair rewrites the file at path with all records that can be read. It removes records
// that stand for something lost, makes those that other records imply, applies the same
// check to the new file, and replaces the old file in one step. The old file is kept
// beside it, under its name with the suffix. A kill at any moment, or the end of ctx,
// leaves the file as it was. A file without a fault is not changed. Repair needs as much
// free space as the file has records. Errors are those of [Check], [fs.ErrExist] if that
// name is taken, and ErrCorrupt for a file of which nothing can be read.
func Repair(ctx context.Context, path string, buckets []schema.Bucket, suffix string) (r Repaired, err error) {
	sch, err := withOwn(buckets)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return r, fmt.Errorf("repair: %w", explain(err))
	}
	f, err := files.Lock(path)
	if err != nil {
		return r, fmt.Errorf("repair %s: %w", path, explain(err))
	}
	defer f.Close()
	m := &repairing{ctx: ctx, sch: sch}
	copied, err := m.copy(f)
	if copied != "" {
		defer os.Remove(copied) // unless it was put in place
	}
	if err == nil && copied != "" {
		err = replaceBy(copied, f, path, path+suffix)
	}
	if err != nil {
		return Repaired{}, fmt.Errorf("repair %s: %w", path, explain(err))
	}
	if copied != "" {
		m.done.Kept = path + suffix
	}
	return m.done, nil
}

// repairing is a repair in progress.
type repairing struct {
	ctx   context.Context
	sch   schema.Schema
	found *survey.Survey // in the damaged file
	to    copying        // the new file
	skip  bool           // the current bucket is not copied
	done  Repaired
}

// copy returns the name of a whole file beside f, or "" if f has no fault.
func (m *repairing) copy(f *os.File) (name string, err error) {
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if m.found, err = survey.Read(f, info.Size()); err == nil {
		err = m.found.Identify(m.sch)
	}
	if err != nil {
		return "", err
	}
	report, err := check(m.ctx, f, m.sch)
	if err != nil || len(report.Faults) == 0 {
		return "", err
	}
	removeLeftovers(f.Name())
	needs := m.found.File.Used() * uint64(m.found.File.PageSize())
	if free, known := files.FreeBytes(filepath.Dir(f.Name())); known && free < needs {
		return "", fmt.Errorf("the new file takes up to %d MiB beside the old one, and %d MiB are free: make room first", needs>>20, free>>20)
	}
	to, err := os.CreateTemp(filepath.Dir(f.Name()), filepath.Base(f.Name())+leftoverSuffix+"*")
	if err != nil {
		return "", err
	}
	defer func() {
		if err = errors.Join(err, to.Close()); err != nil {
			_ = os.Remove(to.Name())
			name = ""
		}
	}()
	if err := files.OwnedAs(to, info); err != nil {
		return "", err
	}
	if err := m.write(to); err != nil {
		return "", err
	}
	if err := m.verify(to); err != nil {
		return "", err
	}
	return to.Name(), to.Sync()
}

// write fills the new file.
func (m *repairing) write(to *os.File) error {
	f, err := reopened(to)
	if err != nil {
		return err
	}
	db, err := openBolt(to.Name(), true, f)
	if err != nil {
		_ = f.Close() // bbolt may have closed it
		return err
	}
	m.to = copying{db: db}
	if err = m.records(); err == nil {
		err = m.mend(to)
	}
	if err == nil {
		err = m.finish(to)
	}
	return errors.Join(err, db.Close())
}

// records copies the records that can be read.
func (m *repairing) records() error {
	m.tellFaults()
	_, err := m.found.File.Walk(pages.Visitor{Bucket: m.bucket, Record: m.record})
	if err != nil {
		m.to.drop()
		return err
	}
	if err := m.to.commit(); err != nil {
		return err
	}
	all, _ := m.found.Tallies()
	return m.to.db.Update(func(tx *bolt.Tx) error {
		for _, own := range Buckets() {
			if _, err := tx.CreateBucketIfNotExists([]byte(own.Name)); err != nil {
				return err
			}
		}
		for name, t := range all { // a checksum already covers what they say
			if _, declared := m.sch[name]; !declared {
				continue
			}
			b, err := tx.CreateBucketIfNotExists([]byte(name))
			if err == nil {
				err = b.SetSequence(t.Sequence)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// tellFaults reports what is lost with pages and buckets.
func (m *repairing) tellFaults() {
	if m.found.File.HeadLost {
		m.done.tell("a head page could not be read, which costs the last commit if it was the newer one")
	}
	for _, f := range m.found.Faults {
		if cost := f.Cost(); cost != "" && f.Mend == nil {
			m.done.tell("lost: %s (%s)", cost, f.Error())
		}
	}
	for _, err := range m.found.JudgeBuckets(m.sch) {
		m.done.tell("%s", err)
	}
}

func (m *repairing) bucket(name string, sequence uint64) error {
	is := name
	if _, declared := m.sch[name]; !declared {
		is = m.misnamed(name)
	}
	if m.skip = is == "" || is == schema.Meta.Name || is == schema.Damaged.Name; m.skip {
		if is == "" {
			m.done.tell("left out: the bucket %q, which nobody knows", name)
		}
		return nil
	}
	return m.to.begin(is, sequence)
}

// misnamed returns the missing bucket whose name differs from name in one bit.
func (m *repairing) misnamed(name string) string {
	for declared := range m.sch {
		if len(declared) != len(name) || m.found.Buckets[declared] != nil {
			continue
		}
		differ := 0
		for i := range name {
			differ += bits.OnesCount8(name[i] ^ declared[i])
		}
		if differ == 1 {
			return declared
		}
	}
	return ""
}

func (m *repairing) record(r pages.Record) error {
	if m.ctx.Err() != nil {
		return context.Cause(m.ctx)
	}
	if m.skip {
		return nil
	}
	if _, whole := schema.Verify(r.Key, r.Value); !whole {
		mend := survey.MendOf(r)
		if mend == nil {
			m.done.Damaged++
			m.done.tell("lost: record %s is damaged (%s)", schema.RecordName(m.to.name, r.Key), m.sch[m.to.name].Value)
			instead := m.sch[m.to.name].Instead
			if instead == nil {
				return nil
			}
			r.Value = schema.Seal(r.Key, instead(r.Key))
			return m.to.put(r)
		}
		r = mended(r, mend)
		m.done.tell("put right: a flipped bit of record %s", schema.RecordName(m.to.name, r.Key))
	}
	return m.to.put(r)
}

// mended returns a record with one byte repaired.
func mended(r pages.Record, m *pages.Mend) pages.Record {
	room := bytes.Clone(r.Room)
	key, value := len(r.Key), len(r.Value)
	if m.Offset >= r.At {
		room[m.Offset-r.At] = m.Byte
	} else {
		var sizes [8]byte
		native := binary.NativeEndian
		native.PutUint32(sizes[:], uint32(key))
		native.PutUint32(sizes[4:], uint32(value))
		sizes[m.Offset-r.Sizes] = m.Byte
		key, value = int(native.Uint32(sizes[:])), int(native.Uint32(sizes[4:]))
	}
	r.Key, r.Value = room[:key], room[key:key+value]
	return r
}

// finish writes the store's own records, which describe the contents of the file.
func (m *repairing) finish(to *os.File) error {
	info, err := to.Stat()
	if err != nil {
		return err
	}
	is, err := survey.Read(to, info.Size())
	if err == nil && len(is.Faults) > 0 {
		err = survey.Describe(is.Faults)
	}
	if err != nil {
		return err
	}
	holds, made := is.Holds(), schema.Schema{}
	for name, t := range holds {
		m.done.Records += int(t.Rows)
		made[name] = m.sch[name]
	}
	err = m.to.db.Update(func(tx *bolt.Tx) error {
		if _, err := complete(tx, made, holds); err != nil {
			return err
		}
		for _, key := range [][]byte{metaRestored, survey.Program, metaID, clock.KnownKey, clock.SteadyKey} {
			if value := m.found.Meta[string(key)]; value != nil {
				if err := tx.Bucket([]byte(schema.Meta.Name)).Put(key, schema.Seal(key, value)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err == nil { // the older head then has all of it too
		err = m.to.db.Update(func(*bolt.Tx) error { return nil })
	}
	return err
}

// verify applies to the new file what Check verifies in every file.
func (m *repairing) verify(to *os.File) error {
	report, err := check(m.ctx, to, m.sch)
	if err == nil && len(report.Faults) > 0 {
		err = fmt.Errorf("%w: the new file would have %s: %s", ErrCorrupt, plural.Of(len(report.Faults), "fault"), report.Faults[0])
	}
	return err
}
