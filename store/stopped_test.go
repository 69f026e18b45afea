package store

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"postern/store/files"
	"postern/store/pages"
	"postern/store/schema"
)

// large makes the store treat every file as a large one.
func large(o *Options) { o.NoSync, o.SurveyFrom = false, 1 }

// stopped makes a file that was closed in order, with free pages in it.
func stopped(t *testing.T) (path string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there is no time here that nobody could have set")
	}
	path = filepath.Join(t.TempDir(), "p.db")
	s := openTest(t, path, large)
	fillThings(t, s, 2000)
	change(t, s, func(tx *Tx) error {
		for i := range 1000 {
			if err := tx.Delete("thing", Key(i)); err != nil {
				return err
			}
		}
		return nil
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func fillThings(t *testing.T, s *Store, n int) {
	t.Helper()
	change(t, s, func(tx *Tx) error {
		for i := range n {
			if err := tx.Put("thing", Key(i), bytes.Repeat([]byte{byte(i)}, 100)); err != nil {
				return err
			}
		}
		return nil
	})
}

// whole closes the store and compares the file with its expected contents.
func whole(t *testing.T, s *Store, rows int) {
	t.Helper()
	path := s.opts.Path
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := Check(t.Context(), path, declared)
	if err != nil || len(r.Faults) > 0 || r.Records != rows {
		t.Errorf("%d records of %d, %q, %v", r.Records, rows, r.Faults, err)
	}
}

func TestLargeFileClosedInOrderIsNotReread(t *testing.T) {
	path := stopped(t)
	for round := range 3 {
		s := openTest(t, path, large)
		if !s.unread || !s.WasClean() {
			t.Fatalf("round %d: it was read", round)
		}
		if _, err := os.Stat(notePath(path)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the note is still there: %v", err)
		}
		fillThings(t, s, 3000+1000*round) // into the pages that were free
		if got := get(t, s, string(Key(1999))); got != string(bytes.Repeat([]byte{byte(1999 % 256)}, 100)) {
			t.Errorf("got %q", got)
		}
		whole(t, s, 3000+1000*round)
	}
	s := openTest(t, path, func(o *Options) { large(o); o.SurveyFrom = 1 << 40 })
	if !s.unread {
		t.Error("the size at the start counted, not that at the stop")
	}
	whole(t, s, 5000)
	if s = openTest(t, path, large); s.unread {
		t.Error("a small one has a note")
	}
	whole(t, s, 5000)
}

// TestAFileThatAnybodyTouchedSinceIsRead, even if its time, its size and its content are
// unchanged.
func TestAFileThatAnybodyTouchedSinceIsRead(t *testing.T) {
	for name, touch := range map[string]func(path string) error{
		"a byte written as it was": func(path string) error { return rewrite(path, func([]byte) {}) },
		"a byte changed": func(path string) error {
			return rewrite(path, func(b []byte) { b[len(b)-1] ^= 1 })
		},
		"its time set back": func(path string) error {
			info, err := os.Stat(path)
			return errors.Join(err, rewrite(path, func([]byte) {}), os.Chtimes(path, info.ModTime(), info.ModTime()))
		},
		"another file of the same time": func(path string) error {
			info, err := os.Stat(path)
			raw, err2 := os.ReadFile(path)
			return errors.Join(err, err2, os.WriteFile(path+"2", raw, 0o600), os.Chtimes(path+"2", info.ModTime(), info.ModTime()), os.Rename(path+"2", path))
		},
		"other rights": func(path string) error { return errors.Join(os.Chmod(path, 0o640), os.Chmod(path, 0o600)) },
		"another note": func(path string) error { return os.WriteFile(notePath(path), []byte(`{"Transaction":1}`), 0o600) },
		"a torn note":  func(path string) error { return os.Truncate(notePath(path), 20) },
		"an endless note": func(path string) error {
			return os.WriteFile(notePath(path), bytes.Repeat([]byte("[[[["), 1<<20), 0o600)
		},
		"a note without an end": func(path string) error {
			return errors.Join(os.Remove(notePath(path)), os.Symlink("/dev/zero", notePath(path)))
		},
		"no note": func(path string) error { return os.Remove(notePath(path)) },
		"a note that is a folder": func(path string) error {
			return errors.Join(os.Remove(notePath(path)), os.Mkdir(notePath(path), 0o700), os.WriteFile(filepath.Join(notePath(path), "x"), nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := stopped(t)
			if err := touch(path); err != nil {
				t.Fatal(err)
			}
			s := openTest(t, path, large)
			if s.unread {
				t.Error("it was not read")
			}
			fillThings(t, s, 3000)
			whole(t, s, 3000)
		})
	}
}

// rewrite writes the last page of the file after a change.
func rewrite(path string, do func([]byte)) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	b := make([]byte, 1)
	_, err2 := f.ReadAt(b, info.Size()-1)
	do(b)
	_, err3 := f.WriteAt(b, info.Size()-1)
	return errors.Join(err, err2, err3, f.Close())
}

// TestAWrongListOfFreePagesCostsNothing: bbolt would overwrite pages in use.
func TestAWrongListOfFreePagesCostsNothing(t *testing.T) {
	for _, noted := range []bool{true, false} {
		path := stopped(t)
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file, err := pages.Open(bytes.NewReader(raw), int64(len(raw)))
		if err != nil || !file.HasList() {
			t.Fatal("the stop left no list", err)
		}
		// The list says that every page behind the heads is free.
		db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, PreLoadFreelist: true})
		if err != nil {
			t.Fatal(err)
		}
		free, list := db.Stats().FreePageN, 0
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		for at := 0; at < len(raw); at += os.Getpagesize() {
			if binary.NativeEndian.Uint16(raw[at+8:]) == 16 && binary.NativeEndian.Uint64(raw[at:]) == uint64(at/os.Getpagesize()) {
				list = at
			}
		}
		if list == 0 || free < 5 {
			t.Fatalf("%d free pages, list at %d", free, list)
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		for i := range min(free, 200) {
			var id [8]byte
			binary.NativeEndian.PutUint64(id[:], uint64(4+i))
			if _, err := f.WriteAt(id[:], int64(list+16+8*i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if noted { // as if nothing but the list had changed
			again(t, path)
		}
		s := openTest(t, path, large)
		if s.unread {
			t.Error("the list was believed")
		}
		fillThings(t, s, 3000)
		whole(t, s, 3000)
	}
}

// again writes a note that fits the file except for its list.
func again(t *testing.T, path string) {
	t.Helper()
	raw, err := os.ReadFile(notePath(path))
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var n note
	if err := json.Unmarshal(raw, &n); err != nil {
		t.Fatal(err)
	}
	var known bool
	if n.Identity, known = files.Identify(f); !known {
		t.Fatal("it has no identity")
	}
	if raw, err = json.Marshal(n); err == nil {
		err = os.WriteFile(notePath(path), raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestKillAfterOrderlyStopRereadsTheFile at every moment of the next run.
func TestKillAfterOrderlyStopRereadsTheFile(t *testing.T) {
	path := stopped(t)
	s := openTest(t, path, large)
	for i := range 5 {
		put(t, s, "k", fmt.Sprint(i))
		at := filepath.Join(t.TempDir(), fmt.Sprint(i)+".db")
		copyFile(t, path, at)
		killed := openTest(t, at, large)
		if killed.unread || killed.WasClean() {
			t.Error("it was not read, or is clean")
		}
		fillThings(t, killed, 4000)
		whole(t, killed, 4001)
	}
	whole(t, s, 1001)
}

// TestKnownDamageRereadsTheFileAtStart, so that the record is set
// aside.
func TestKnownDamageRereadsTheFileAtStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	s := openTest(t, path, large)
	fillThings(t, s, 100)
	s.aside.add("thing/00")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s = openTest(t, path, large); s.unread {
		t.Error("it was not read")
	}
	whole(t, s, 100)
}

func TestStopWithoutRoomForTheListIsOrderly(t *testing.T) {
	path := stopped(t)
	s := openTest(t, path, large)
	commits, commit := 0, s.commitTx
	s.commitTx = func(tx *bolt.Tx) error {
		if commits++; commits > 2 {
			_ = tx.Rollback()
			return errors.New("no space left on device")
		}
		return commit(tx)
	}
	put(t, s, "k", "v")
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	s = openTest(t, path, large)
	if s.unread || !s.WasClean() {
		t.Errorf("unread %t, clean %t", s.unread, s.WasClean())
	}
	whole(t, s, 1001)
}

// TestStopNoteIsASeparateFile: a file in its place, perhaps of another user who
// once ran the program, is neither followed nor an obstacle.
func TestStopNoteIsASeparateFile(t *testing.T) {
	path := stopped(t)
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, lay := range map[string]func() error{
		"a link":   func() error { return os.Symlink(victim, notePath(path)) },
		"a folder": func() error { return os.Mkdir(notePath(path), 0o700) },
	} {
		s := openTest(t, path, large)
		if err := lay(); err != nil {
			t.Fatal(err)
		}
		whole(t, s, 1000)
		if s = openTest(t, path, large); !s.unread {
			t.Errorf("%s: there is no note", name)
		}
		whole(t, s, 1000)
	}
	if raw, err := os.ReadFile(victim); string(raw) != "precious" {
		t.Errorf("the link was followed: %q %v", raw, err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	raw, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// BenchmarkStop closes and reopens a file of about a gigabyte that bbolt and a survey
// have read, with and without a note.
func BenchmarkStop(b *testing.B) {
	path := filepath.Join(b.TempDir(), "p.db")
	appended := thing
	appended.Append = true
	open := func(from int64) *Store {
		s, err := Open(Options{Path: path, Buckets: []schema.Bucket{appended}, MinFree: 1, SurveyFrom: from, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			b.Fatal(err)
		}
		return s
	}
	s := open(1)
	value := bytes.Repeat([]byte{7}, 900)
	for i := 0; i < 1_000_000; i += 10_000 {
		if err := s.Update(b.Context(), func(tx *Tx) error {
			for n := range 10_000 {
				if err := tx.Put("thing", Key(i+n), value); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			b.Fatal(err)
		}
	}
	closed := func() time.Duration {
		begun := time.Now()
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		return time.Since(begun)
	}
	closed()
	var stop, with, without time.Duration
	n := 0
	for b.Loop() {
		begun := time.Now()
		s = open(1)
		with += time.Since(begun)
		stop += closed()
		if err := os.Remove(notePath(path)); err != nil {
			b.Fatal(err)
		}
		begun = time.Now()
		s = open(1)
		without += time.Since(begun)
		closed()
		n++
	}
	b.ReportMetric(float64(with.Milliseconds())/float64(n), "ms-start-noted")
	b.ReportMetric(float64(without.Milliseconds())/float64(n), "ms-start-read")
	b.ReportMetric(float64(stop.Milliseconds())/float64(n), "ms-stop")
	b.ReportMetric(0, "ns/op")
}
