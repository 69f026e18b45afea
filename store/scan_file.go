package store

import (
	"fmt"

	"postern/store/pages"
	"postern/store/schema"
	"postern/store/survey"
)

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
