package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"postern/store/files"
	"postern/store/pages"
	"postern/store/schema"
	"postern/store/survey"
)

// Size is the contents of a bucket and the room that it takes in the file.
type Size struct {
	Bucket string `json:"bucket"`
	Owner  string `json:"owner"` // package; empty for a bucket unknown to this release
	Rows   int    `json:"rows"`  // records, including damaged ones
	Bytes  int64  `json:"bytes"` // of keys and values
	Pages  int64  `json:"pages"` // bytes of the pages that hold them, half-empty pages counted in full

	// Oldest and Newest are the times of the records that have one; null if none has.
	Oldest *time.Time `json:"oldest"`
	Newest *time.Time `json:"newest"`
}

// Inspection is the contents of a data file.
type Inspection struct {
	Path    string `json:"path"`
	Bytes   int64  `json:"bytes"`
	Free    int64  `json:"free"` // of them in pages that will be reused, or that a compaction frees
	Buckets []Size `json:"buckets"`
}

// Inspect reads the file at path and changes nothing. buckets and errors are those of
// [Check], and ErrCorrupt for a file with unreadable pages.
func Inspect(path string, buckets []schema.Bucket) (i Inspection, err error) {
	i.Path = path
	sch, err := withOwn(buckets)
	if err != nil {
		return i, err
	}
	f, err := lockShared(path)
	if err != nil {
		return i, fmt.Errorf("inspect %s: %w", path, explain(err))
	}
	defer f.Close()
	if err := i.read(context.Background(), f, sch); err != nil {
		return i, fmt.Errorf("inspect %s: %w", path, advise(path, err))
	}
	return i, nil
}

// Inspect is [Inspect] of the open file at one moment. It needs as much free space as a
// Snapshot, and returns the same errors.
func (s *Store) Inspect(ctx context.Context) (i Inspection, err error) {
	n, err := s.snapshot(ctx)
	if err != nil {
		return i, fmt.Errorf("inspect %s: %w", s.opts.Path, explain(err))
	}
	i.Path = s.opts.Path
	if err := errors.Join(i.read(ctx, n.f, s.schema), n.Close()); err != nil {
		return i, fmt.Errorf("inspect %s: %w", s.opts.Path, err)
	}
	return i, nil
}

func (i *Inspection) read(ctx context.Context, f *os.File, sch schema.Schema) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	i.Bytes = info.Size()
	r, done := files.Map(f, i.Bytes)
	defer done()
	file, err := pages.Open(r, i.Bytes)
	if err != nil {
		return explain(err)
	}
	sizes := map[string]*Size{}
	var in *Size
	s := survey.New(file)
	v := s.Visitor(nil)
	v.Bucket = chain(v.Bucket, func(name string) {
		in = &Size{Bucket: name, Owner: sch[name].Owner}
		sizes[name] = in
	})
	record := v.Record
	v.Record = func(r pages.Record) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		in.add(sch[in.Bucket], r)
		return record(r)
	}
	v.Page = func(pages int) { in.Pages += int64(pages) * int64(file.PageSize()) }
	if s.Faults, err = file.Walk(v); err == nil {
		err = s.Identify(sch)
	}
	if err == nil && len(s.Faults) > 0 {
		err = explain(survey.Describe(s.Faults))
	}
	if err != nil {
		return err
	}
	i.Free = i.Bytes - int64(file.Used())*int64(file.PageSize())
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		i.Buckets = append(i.Buckets, *sizes[name])
	}
	return nil
}

func (z *Size) add(b schema.Bucket, r pages.Record) {
	if b.IsGuard(r.Key) {
		return
	}
	z.Rows++
	z.Bytes += int64(len(r.Key) + len(r.Value))
	if b.When == nil {
		return
	}
	value, whole := schema.Verify(r.Key, r.Value)
	if !whole {
		return
	}
	at := b.When(r.Key, value)
	if at.IsZero() {
		return
	}
	if z.Oldest == nil || at.Before(*z.Oldest) {
		z.Oldest = &at
	}
	if z.Newest == nil || at.After(*z.Newest) {
		z.Newest = &at
	}
}

func chain(first func(string, uint64) error, then func(string)) func(string, uint64) error {
	return func(name string, sequence uint64) error {
		then(name)
		return first(name, sequence)
	}
}

// ScanFile calls fn for each record of one bucket of the file at path, in key order,
// until fn returns an error. It changes nothing. The arguments of fn are valid during the
// call only; the value of a damaged record is nil. buckets and errors are those of
// [Check], and ErrCorrupt for a file with unreadable pages.
func ScanFile(path string, buckets []schema.Bucket, bucket string, fn func(key, value []byte) error) error {
	sch, err := withOwn(buckets)
	if err != nil {
		return err
	}
	f, err := lockShared(path)
	if err != nil {
		return fmt.Errorf("look into %s: %w", path, explain(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	file, err := pages.Open(f, info.Size())
	if err != nil {
		return fmt.Errorf("look into %s: %w", path, advise(path, explain(err)))
	}
	s := survey.New(file)
	v := s.Visitor(func(name string) bool { return name != bucket && name != schema.Meta.Name })
	in, record := "", v.Record
	v.Bucket = chain(v.Bucket, func(name string) { in = name })
	v.Record = func(r pages.Record) error {
		if err := record(r); err != nil || in != bucket || sch[bucket].IsGuard(r.Key) {
			return err
		}
		value, whole := schema.Verify(r.Key, r.Value)
		if !whole {
			value = nil
		}
		return fn(r.Key, value)
	}
	if s.Faults, err = file.Walk(v); err != nil {
		return err
	}
	if err = s.Identify(sch); err == nil && len(s.Faults) > 0 {
		err = explain(survey.Describe(s.Faults))
	}
	if err != nil {
		return fmt.Errorf("look into %s: %w", path, advise(path, err))
	}
	return nil
}
