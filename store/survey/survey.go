// Package survey reads a whole data file before bbolt does: its pages, the checksum of every
// record, and whether the buckets have what the last commit left in them. It decides whether
// the file may be opened.
package survey

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
	"postern/store/schema"
)

// Errors of a file that may not be opened.
var (
	// ErrForeign: the file is not a Postern data file.
	ErrForeign = errors.New("this is not a Postern data file; set store.path to another file, or move this one away")
	// ErrCorrupt: the file is damaged beyond single records.
	ErrCorrupt = errors.New("the data file is damaged")
	// ErrNewer: the file was written by a newer release.
	ErrNewer = errors.New("the data file was written by a newer Postern; start that version, or restore an older backup")
)

// Survey is the result of reading the whole file before bbolt opens it.
type Survey struct {
	File    *pages.File
	Faults  []*pages.Fault
	Buckets map[string]*Tally // what each bucket really holds
	Meta    map[string][]byte // the readable records of the meta bucket
	Damaged []Damaged
	Mended  []string // records in which a flipped bit was repaired
	Unread  bool     // only the store's own records were read
}

// Damaged is a record with a wrong checksum. If the damage is in its key, Key is not the
// original key.
type Damaged struct {
	Bucket string
	Key    []byte
	Mend   *pages.Mend // one bit that repairs it; nil if there is none
}

// String names the record as the log does.
func (d Damaged) String() string { return schema.RecordName(d.Bucket, d.Key) }

// maxDamaged bounds the damaged records that are set aside. With more of them the disk is
// broken, and even records that look whole may be wrong.
const maxDamaged = 10_000

// ErrTooManyDamaged ends a walk early: the disk is broken.
var ErrTooManyDamaged = fmt.Errorf("more than %d records are damaged", maxDamaged)

// Read surveys the file of size bytes. Its memory does not grow with the file but
// for one bit a page.
func Read(f *os.File, size int64) (*Survey, error) {
	r, done := files.Map(f, size)
	defer done()
	s, err := ReadFrom(r, size)
	if err == nil {
		s.File.ReadFrom(f)
	}
	return s, err
}

// ReadFrom is [Read] of a file that r reads.
func ReadFrom(r io.ReaderAt, size int64) (*Survey, error) {
	file, err := pages.Open(r, size)
	if err != nil {
		return nil, err
	}
	return Of(file, nil)
}

// Of surveys all buckets that skip does not exclude.
func Of(file *pages.File, skip func(bucket string) bool) (s *Survey, err error) {
	s = New(file)
	s.Faults, err = file.Walk(s.Visitor(skip))
	return s, err
}

// New returns an empty survey for a walk through the file with [Survey.Visitor].
func New(file *pages.File) *Survey {
	return &Survey{File: file, Buckets: map[string]*Tally{}, Meta: map[string][]byte{}}
}

// Visitor returns the functions that enter the results of a walk in the survey.
func (s *Survey) Visitor(skip func(bucket string) bool) pages.Visitor {
	var bucket string
	return pages.Visitor{
		Bucket: func(name string, sequence uint64) error {
			bucket = name
			s.Buckets[name] = &Tally{Sequence: sequence}
			return nil
		},
		Record: func(r pages.Record) error { return s.record(bucket, r) },
		Skip:   skip,
	}
}

func (s *Survey) record(bucket string, r pages.Record) error {
	key, sealed := r.Key, r.Value
	s.Buckets[bucket].Add(sealed)
	value, ok := schema.Verify(key, sealed)
	if !ok {
		s.Damaged = append(s.Damaged, Damaged{bucket, bytes.Clone(key), MendOf(r)})
		s.Buckets[bucket].Vague = true
		if len(s.Damaged) > maxDamaged {
			return ErrTooManyDamaged
		}
		return nil
	}
	if bucket == schema.Meta.Name {
		s.Meta[string(key)] = bytes.Clone(value)
	}
	return nil
}

// Keys of records of meta.
var (
	Application = []byte("application")
	Version     = []byte("schema")
	Clean       = []byte("clean")
	Program     = []byte("program")
)

// Judge returns an error that says why the file must not be opened, or nil if it may.
func (s *Survey) Judge(sch schema.Schema) error {
	if len(s.Faults) > 0 {
		return Describe(s.Faults)
	}
	return errors.Join(s.JudgeBuckets(sch)...)
}

// Identify returns an error unless the file is one of ours that this release can read.
func (s *Survey) Identify(sch schema.Schema) error {
	if !s.ours(sch) {
		return ErrForeign
	}
	if version, known := s.Version(); known && version > schema.Version {
		return fmt.Errorf("%w (%sschema %d, this release knows %d)", ErrNewer, s.writer(), version, schema.Version)
	}
	return nil
}

// writer names the program that last opened the file, if known, for an error.
func (s *Survey) writer() string {
	if program := s.Meta[string(Program)]; len(program) > 0 {
		return fmt.Sprintf("of %.60q, ", program)
	}
	return ""
}

// ours reports whether this is a Postern file, damaged or not.
func (s *Survey) ours(sch schema.Schema) bool {
	if app, ok := s.Meta[string(Application)]; ok {
		return string(app) == schema.Application
	}
	for name := range s.Buckets {
		if _, declared := sch[name]; declared {
			return true
		}
	}
	return len(s.Buckets) == 0 && len(s.Faults) > 0
}

// Version returns the file's schema version, if it can be read.
func (s *Survey) Version() (v uint32, known bool) {
	raw, ok := s.Meta[string(Version)]
	if !ok || len(raw) != 4 {
		return 0, false
	}
	return binary.BigEndian.Uint32(raw), true
}

// Clean reports whether the file has the mark of an orderly shutdown.
func (s *Survey) Clean() bool { return bytes.Equal(s.Meta[string(Clean)], []byte{1}) }

// Tallies returns the readable tallies. complete is false for a file of the version
// without tallies, and if a damaged record of meta may be one.
func (s *Survey) Tallies() (all Tallies, complete bool) {
	version, known := s.Version()
	all, complete = Tallies{}, !known || version > 1
	for key, value := range s.Meta {
		bucket, is := Tallied([]byte(key))
		if !is {
			continue
		}
		if t, ok := DecodeTally(value); ok {
			all[bucket] = t
		}
	}
	for _, d := range s.Damaged {
		complete = complete && d.Bucket != schema.Meta.Name
	}
	return all, complete
}

// Holds returns the contents of the buckets as tallies, from which the store continues.
func (s *Survey) Holds() Tallies {
	all := Tallies{}
	if s.Unread {
		all, _ = s.Tallies()
		return all
	}
	for name, t := range s.Buckets {
		if name != schema.Meta.Name {
			all[name] = Tally{Rows: t.Rows, Sum: t.Sum, Sequence: t.Sequence}
		}
	}
	return all
}

// JudgeBuckets compares the contents of the buckets with their tallies.
func (s *Survey) JudgeBuckets(sch schema.Schema) (errs []error) {
	all, complete := s.Tallies()
	if s.Buckets[schema.Meta.Name] == nil {
		return []error{fmt.Errorf("%w: the bucket meta is missing", ErrCorrupt)}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := s.judgeBucket(sch, name, all[name]); err != nil {
			errs = append(errs, err)
		}
	}
	for name := range s.Buckets {
		_, listed := all[name]
		_, declared := sch[name]
		if name != schema.Meta.Name && !listed && (complete || !declared) {
			errs = append(errs, fmt.Errorf("%w: it has a bucket %q that was never made; its name may be that of a bucket that is missing", ErrCorrupt, name))
		}
	}
	return errs
}

func (s *Survey) judgeBucket(sch schema.Schema, name string, want Tally) error {
	got := s.Buckets[name]
	_, declared := sch[name]
	switch {
	case got == nil:
		return fmt.Errorf("%w: the bucket %s is missing, with %s", ErrCorrupt, name, plural.Of(want.Rows, "record"))
	case s.Former(sch, name):
		return nil
	case !declared:
		return fmt.Errorf("%w (%sit has the bucket %s, which this release does not know)", ErrNewer, s.writer(), name)
	case got.Rows != want.Rows:
		return fmt.Errorf("%w: the bucket %s has %s of %d", ErrCorrupt, name, plural.Of(got.Rows, "record"), want.Rows)
	case got.Sequence != want.Sequence:
		return fmt.Errorf("%w: the bucket %s says that the last number it gave is %d; it was %d", ErrCorrupt, name, got.Sequence, want.Sequence)
	case got.Sum != want.Sum && !got.Vague && !want.Vague:
		return fmt.Errorf("%w: the bucket %s has %s, not all in their newest state", ErrCorrupt, name, plural.Of(got.Rows, "record"))
	}
	return nil
}

// Former reports whether a bucket of a file of an earlier version is removed when the
// file is opened: it is no longer declared, and it is empty.
func (s *Survey) Former(sch schema.Schema, name string) bool {
	version, known := s.Version()
	_, declared := sch[name]
	b := s.Buckets[name]
	return known && version < schema.Version && !declared && name != schema.Meta.Name && b != nil && b.Rows == 0
}

// Describe makes one error of the page faults.
func Describe(faults []*pages.Fault) error {
	text := faults[0].Error()
	if cost := faults[0].Cost(); cost != "" {
		text += ", which costs " + cost
	}
	if n := len(faults) - 1; n > 0 {
		text += fmt.Sprintf("; and %s", plural.Of(n, "more fault"))
	}
	return fmt.Errorf("%w: %s", ErrCorrupt, text)
}

// Older reports whether an earlier release wrote the file. That release can no longer
// open the file once this one has opened it.
func (s *Survey) Older(sch schema.Schema) bool {
	if version, known := s.Version(); known && version < schema.Version {
		return true
	}
	counted, _ := s.Tallies()
	for name := range sch {
		if _, is := counted[name]; !is && s.Buckets[name] == nil {
			return true
		}
	}
	return false
}

// DropList makes bbolt determine the free pages of a file whose list may be outdated
// because another program wrote to the file since.
func (s *Survey) DropList(f *os.File) error {
	if !s.File.HasList() {
		return nil
	}
	if err := s.File.DropList(f); err != nil {
		return err
	}
	return f.Sync()
}

// Empty reports whether the file has no record but those of the store.
func (s *Survey) Empty() bool {
	for name, t := range s.Holds() {
		if name != schema.Damaged.Name && t.Rows > 0 {
			return false
		}
	}
	return true
}
