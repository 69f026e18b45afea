package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"postern/internal/plural"
	"postern/store/files"
	"postern/store/pages"
)

// survey is the result of reading the whole file before bbolt opens it.
type survey struct {
	file    *pages.File
	faults  []*pages.Fault
	buckets map[string]*tally // what each bucket really holds
	meta    map[string][]byte // the readable records of the meta bucket
	damaged []Damaged
	mended  []string // records in which a flipped bit was repaired
	unread  bool     // only the store's own records were read
}

// Damaged is a record with a wrong checksum. If the damage is in its key, Key is not the
// original key.
type Damaged struct {
	Bucket string
	Key    []byte
	mend   *pages.Mend // one bit that repairs it; nil if there is none
}

// String names the record as the log does.
func (d Damaged) String() string { return recordName(d.Bucket, d.Key) }

func recordName(bucket string, key []byte) string { return fmt.Sprintf("%s/%x", bucket, key) }

// maxDamaged bounds the damaged records that are set aside. With more of them the disk is
// broken, and even records that look whole may be wrong.
const maxDamaged = 10_000

var errTooManyDamaged = fmt.Errorf("more than %d records are damaged", maxDamaged)

// readSurvey surveys the file of size bytes. Its memory does not grow with the file but
// for one bit a page.
func readSurvey(f *os.File, size int64) (*survey, error) {
	r, done := files.Map(f, size)
	defer done()
	s, err := readSurveyFrom(r, size)
	if err == nil {
		s.file.ReadFrom(f)
	}
	return s, err
}

func readSurveyFrom(r io.ReaderAt, size int64) (*survey, error) {
	file, err := pages.Open(r, size)
	if err != nil {
		return nil, err
	}
	return surveyOf(file, nil)
}

// surveyOf surveys all buckets that skip does not exclude.
func surveyOf(file *pages.File, skip func(bucket string) bool) (s *survey, err error) {
	s = newSurvey(file)
	s.faults, err = file.Walk(s.visitor(skip))
	return s, err
}

func newSurvey(file *pages.File) *survey {
	return &survey{file: file, buckets: map[string]*tally{}, meta: map[string][]byte{}}
}

// visitor returns the functions that enter the results of a walk in the survey.
func (s *survey) visitor(skip func(bucket string) bool) pages.Visitor {
	var bucket string
	return pages.Visitor{
		Bucket: func(name string, sequence uint64) error {
			bucket = name
			s.buckets[name] = &tally{sequence: sequence}
			return nil
		},
		Record: func(r pages.Record) error { return s.record(bucket, r) },
		Skip:   skip,
	}
}

func (s *survey) record(bucket string, r pages.Record) error {
	key, sealed := r.Key, r.Value
	s.buckets[bucket].add(sealed)
	value, ok := verify(key, sealed)
	if !ok {
		s.damaged = append(s.damaged, Damaged{bucket, bytes.Clone(key), mendOf(r)})
		s.buckets[bucket].vague = true
		if len(s.damaged) > maxDamaged {
			return errTooManyDamaged
		}
		return nil
	}
	if bucket == metaBucket.Name {
		s.meta[string(key)] = bytes.Clone(value)
	}
	return nil
}

// judge returns an error that says why the file must not be opened, or nil if it may.
func (s *survey) judge(sch schema) error {
	if len(s.faults) > 0 {
		return describe(s.faults)
	}
	return s.judgeBuckets(sch)
}

// identify returns an error unless the file is one of ours that this release can read.
func (s *survey) identify(sch schema) error {
	if !s.ours(sch) {
		return ErrForeign
	}
	if version, known := s.version(); known && version > schemaVersion {
		return fmt.Errorf("%w (%sschema %d, this release knows %d)", ErrNewer, s.writer(), version, schemaVersion)
	}
	return nil
}

// writer names the program that last opened the file, if known, for an error.
func (s *survey) writer() string {
	if program := s.meta[string(metaProgram)]; len(program) > 0 {
		return fmt.Sprintf("of %.60q, ", program)
	}
	return ""
}

// ours reports whether this is a Postern file, damaged or not.
func (s *survey) ours(sch schema) bool {
	if app, ok := s.meta[string(metaApplication)]; ok {
		return string(app) == application
	}
	for name := range s.buckets {
		if _, declared := sch[name]; declared {
			return true
		}
	}
	return len(s.buckets) == 0 && len(s.faults) > 0
}

// version returns the file's schema version, if it can be read.
func (s *survey) version() (v uint32, known bool) {
	raw, ok := s.meta[string(metaVersion)]
	if !ok || len(raw) != 4 {
		return 0, false
	}
	return binary.BigEndian.Uint32(raw), true
}

// clean reports whether the file has the mark of an orderly shutdown.
func (s *survey) clean() bool { return bytes.Equal(s.meta[string(metaClean)], []byte{1}) }

// tallies returns the readable tallies. complete is false for a file of the version
// without tallies, and if a damaged record of meta may be one.
func (s *survey) tallies() (all tallies, complete bool) {
	version, known := s.version()
	all, complete = tallies{}, !known || version > 1
	for key, value := range s.meta {
		bucket, is := tallied([]byte(key))
		if !is {
			continue
		}
		if t, ok := decodeTally(value); ok {
			all[bucket] = t
		}
	}
	for _, d := range s.damaged {
		complete = complete && d.Bucket != metaBucket.Name
	}
	return all, complete
}

// holds returns the contents of the buckets as tallies, from which the store continues.
func (s *survey) holds() tallies {
	all := tallies{}
	if s.unread {
		all, _ = s.tallies()
		return all
	}
	for name, t := range s.buckets {
		if name != metaBucket.Name {
			all[name] = tally{rows: t.rows, sum: t.sum, sequence: t.sequence}
		}
	}
	return all
}

// judgeBuckets compares the contents of the buckets with their tallies.
func (s *survey) judgeBuckets(sch schema) error { return errors.Join(s.judgeAll(sch)...) }

func (s *survey) judgeAll(sch schema) (errs []error) {
	all, complete := s.tallies()
	if s.buckets[metaBucket.Name] == nil {
		return []error{fmt.Errorf("%w: the bucket meta is missing", ErrCorrupt)}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := s.judgeBucket(sch, name, all[name]); err != nil {
			errs = append(errs, err)
		}
	}
	for name := range s.buckets {
		_, listed := all[name]
		_, declared := sch[name]
		if name != metaBucket.Name && !listed && (complete || !declared) {
			errs = append(errs, fmt.Errorf("%w: it has a bucket %q that was never made; its name may be that of a bucket that is missing", ErrCorrupt, name))
		}
	}
	return errs
}

func (s *survey) judgeBucket(sch schema, name string, want tally) error {
	got := s.buckets[name]
	_, declared := sch[name]
	switch {
	case got == nil:
		return fmt.Errorf("%w: the bucket %s is missing, with %s", ErrCorrupt, name, plural.Of(want.rows, "record"))
	case s.former(sch, name):
		return nil
	case !declared:
		return fmt.Errorf("%w (%sit has the bucket %s, which this release does not know)", ErrNewer, s.writer(), name)
	case got.rows != want.rows:
		return fmt.Errorf("%w: the bucket %s has %s of %d", ErrCorrupt, name, plural.Of(got.rows, "record"), want.rows)
	case got.sequence != want.sequence:
		return fmt.Errorf("%w: the bucket %s says that the last number it gave is %d; it was %d", ErrCorrupt, name, got.sequence, want.sequence)
	case got.sum != want.sum && !got.vague && !want.vague:
		return fmt.Errorf("%w: the bucket %s has %s, not all in their newest state", ErrCorrupt, name, plural.Of(got.rows, "record"))
	}
	return nil
}

// former reports whether a bucket of a file of an earlier version is removed when the
// file is opened: it is no longer declared, and it is empty.
func (s *survey) former(sch schema, name string) bool {
	version, known := s.version()
	_, declared := sch[name]
	b := s.buckets[name]
	return known && version < schemaVersion && !declared && name != metaBucket.Name && b != nil && b.rows == 0
}

// describe makes one error of the page faults.
func describe(faults []*pages.Fault) error {
	text := faults[0].Error()
	if cost := faults[0].Cost(); cost != "" {
		text += ", which costs " + cost
	}
	if n := len(faults) - 1; n > 0 {
		text += fmt.Sprintf("; and %s", plural.Of(n, "more fault"))
	}
	return fmt.Errorf("%w: %s", ErrCorrupt, text)
}
