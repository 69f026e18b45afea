package store

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"time"

	"postern/store/files"
	"postern/store/pages"
	"postern/store/schema"
	"postern/store/survey"
)

// Reading a large file at each start takes seconds. Most of that is spent, by bbolt and
// by the survey, on verifying that the pages fit together and which of them are free. A
// file that was closed in order and not written to since is as it was while the program
// ran, which does not read pages twice either: damage in it is found when a page is used,
// ends the process, and makes the next start read the whole file. An orderly stop of a
// large file therefore leaves the list of its free pages in the file, and a note of the
// final state beside it. A start that finds exactly this state continues from there. Any
// other start reads the whole file, for example after a kill, or if the file is a copy.

// surveyFrom is the default of Options.SurveyFrom: 256 MiB, which takes a good part of a
// second to read.
const surveyFrom = 256 << 20

// note describes the file that an orderly stop left.
type note struct {
	files.Identity
	Transaction uint64 // the last one
	List        uint32 // checksum of the free list
}

// clockStep is more than the resolution of file times.
const clockStep = 20 * time.Millisecond

// maxNote is longer than any note.
const maxNote = 4096

func notePath(path string) string { return path + ".stopped" }

func noteOf(f *os.File, file *pages.File) (n note, err error) {
	var known bool
	if n.Identity, known = files.Identify(f); !known {
		return n, errors.ErrUnsupported
	}
	n.Transaction = file.Transaction()
	n.List, err = file.ListSum()
	return n, err
}

// takeNote reads and removes the note of the last stop: it is valid for one start.
func takeNote(path string) (n note, found bool) {
	var raw []byte
	info, err := os.Lstat(notePath(path))
	if err == nil && info.Mode().IsRegular() && info.Size() <= maxNote {
		raw, err = os.ReadFile(notePath(path))
	}
	if err != nil {
		return n, false
	}
	if err := os.Remove(notePath(path)); err != nil {
		return n, false
	}
	return n, json.Unmarshal(raw, &n) == nil
}

// unread returns the survey of a file that is as an orderly stop left it, which covers
// the store's own records only. It returns nil if the whole file has to be read.
func unread(f *os.File, size int64, sch schema.Schema) *survey.Survey {
	n, found := takeNote(f.Name())
	if !found {
		return nil
	}
	file, err := pages.Open(f, size)
	if err != nil || file.HeadLost || len(file.Mends) > 0 {
		return nil
	}
	if is, err := noteOf(f, file); err != nil || is != n {
		return nil
	}
	s, err := survey.Of(file, func(bucket string) bool { return bucket != schema.Meta.Name })
	if err != nil || len(s.Faults) > 0 || len(s.Damaged) > 0 || s.Identify(sch) != nil || !s.Clean() {
		return nil
	}
	all, complete := s.Tallies()
	for name := range all {
		if _, declared := sch[name]; !declared || !complete {
			return nil
		}
	}
	s.Unread = true
	return s
}

// leaveNote is the last step of an orderly stop of a large file without known damage.
// Without the note, the next start takes longer.
func (s *Store) leaveNote() {
	if err := s.tryNote(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		s.log.Warn("the next start will read the whole data file; it takes longer, nothing else: free some space if the error says so", "error", err)
	}
}

func (s *Store) tryNote() (err error) {
	path := s.db.Path()
	info, err := os.Stat(path)
	if err != nil || info.Size() < s.opts.SurveyFrom || s.opts.NoSync || s.aside.len() > 0 || s.tallies[schema.Damaged.Name].Rows > 0 {
		return err
	}
	btx, err := s.begin()
	if err != nil {
		return err
	}
	defer s.end(btx)
	s.db.NoFreelistSync = false
	if err := s.land(btx); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if info, err = f.Stat(); err != nil {
		return err
	}
	file, err := pages.Open(f, info.Size())
	if err != nil {
		return err
	}
	n, err := noteOf(f, file)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(n)
	if err != nil {
		return err
	}
	time.Sleep(clockStep) // a later change changes the file's time, which may be that of another machine
	return writeNote(notePath(path), raw)
}

// writeNote creates a new file: an existing one may belong to another user, or be a link.
func writeNote(path string, raw []byte) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, files.Mode)
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	return errors.Join(err, f.Close())
}
