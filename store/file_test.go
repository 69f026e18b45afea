package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"

	"postern/store/files"
	"postern/store/schema"
	"postern/store/survey"
)

func TestOpenExplainsWhatIsWrongWithTheFile(t *testing.T) {
	good := filepath.Join(t.TempDir(), "good.db")
	s := openTest(t, good)
	put(t, s, "a", strings.Repeat("x", 100_000))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	image, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	page := os.Getpagesize()
	for name, c := range map[string]struct {
		content []byte
		want    error
	}{
		"empty":                 {nil, ErrForeign},
		"text":                  {[]byte(strings.Repeat("hello\n", 5000)), ErrForeign},
		"a few bytes":           {[]byte("hello"), ErrForeign},
		"cut off":               {image[:5*page], ErrCorrupt},
		"cut to the meta pages": {image[:2*page], ErrCorrupt},
		"both metas damaged":    {damage(image, 20, page+20), ErrCorrupt},
		"one meta damaged":      {damage(image, 60), nil},
		"one magic damaged":     {damage(image, 16), nil},
		"another's bbolt file":  {foreignBolt(t), ErrForeign},
		"newer schema":          {newerSchema(t), ErrNewer},
		"the good one":          {image, nil},
	} {
		path := filepath.Join(t.TempDir(), "p.db")
		if err := os.WriteFile(path, c.content, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(Options{Path: path, Buckets: declared})
		if !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if err == nil {
			_ = s.Close()
			continue
		}
		after, _ := os.ReadFile(path)
		if !bytes.Equal(after, c.content) {
			t.Errorf("%s: the refused file was changed", name)
		}
	}
}

func damage(image []byte, offsets ...int) []byte {
	c := bytes.Clone(image)
	for _, o := range offsets {
		c[o] ^= 0x55
	}
	return c
}

func foreignBolt(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f.db")
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = db.Update(func(tx *bolt.Tx) error { _, err := tx.CreateBucket([]byte("theirs")); return err })
	_ = db.Close()
	b, _ := os.ReadFile(path)
	return b
}

func newerSchema(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "n.db")
	s := openTest(t, path)
	_ = s.db.Update(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte("meta")).Put(survey.Version, schema.Seal(survey.Version, []byte{0, 0, 0, schema.Version + 1}))
	})
	_ = s.Close()
	b, _ := os.ReadFile(path)
	return b
}

// TestNewerFileIsRefusedWithBothVersions by every function that opens it, and
// nothing is changed or left beside it: an older program does the same with a file of
// today.
func TestNewerFileIsRefusedWithBothVersions(t *testing.T) {
	image := newerSchema(t)
	path := filepath.Join(t.TempDir(), "p.db")
	if err := os.WriteFile(path, image, 0o600); err != nil {
		t.Fatal(err)
	}
	buckets := declared
	versions := fmt.Sprintf("(schema %d, this release knows %d)", schema.Version+1, schema.Version)
	for what, open := range map[string]func() error{
		"Open":         func() error { _, err := Open(Options{Path: path, Buckets: buckets}); return err },
		"Check":        func() error { _, err := Check(t.Context(), path, buckets); return err },
		"Inspect":      func() error { _, err := Inspect(path, buckets); return err },
		"Compact":      func() error { _, _, err := Compact(t.Context(), path, buckets); return err },
		"Repair":       func() error { _, err := Repair(t.Context(), path, buckets, ".old"); return err },
		"SnapshotFile": func() error { _, err := SnapshotFile(path, buckets); return err },
		"ScanFile":     func() error { return ScanFile(path, buckets, "thing", nil) },
	} {
		if err := open(); !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), versions) || !strings.Contains(err.Error(), "start that version") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, image) {
		t.Errorf("the file was changed: %v", err)
	}
	if all, err := os.ReadDir(filepath.Dir(path)); err != nil || len(all) != 1 {
		t.Errorf("beside it there is %v, %v", all, err)
	}
}

// TestWhatIsNoFileIsRefusedAtOnce, without waiting for a pipe.
func TestWhatIsNoFileIsRefusedAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, no := range []string{path, t.TempDir(), "/dev/null"} {
		for what, open := range map[string]func() error{
			"Open":    func() error { _, err := Open(Options{Path: no}); return err },
			"Check":   func() error { _, err := Check(t.Context(), no, nil); return err },
			"Compact": func() error { _, _, err := Compact(t.Context(), no, nil); return err },
		} {
			if err := open(); !errors.Is(err, ErrForeign) {
				t.Errorf("%s of %s: %v", what, no, err)
			}
		}
	}
}

func TestSecondOpenReportsFileInUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	openTest(t, path)
	if _, err := Open(Options{Path: path, Buckets: declared}); !errors.Is(err, ErrLocked) {
		t.Errorf("second Open: %v", err)
	}
}

func TestAReadOnlyFolderIsExplained(t *testing.T) {
	if os.Getuid() == 0 {
		// Root passes permission checks, so the test runs itself as nobody.
		runAsNobody(t, t.Name())
		return
	}
	folder := filepath.Join(t.TempDir(), "ro")
	if err := os.Mkdir(folder, 0o500); err != nil {
		t.Fatal(err)
	}
	_, err := Open(Options{Path: filepath.Join(folder, "p.db")})
	if !errors.Is(err, ErrReadOnly) {
		t.Errorf("Open: %v", err)
	}
}

func runAsNobody(t *testing.T, test string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "postern-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "store.test")
	raw, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{os.WriteFile(bin, raw, 0o755), os.Chmod(dir, 0o777)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), bin, "-test.run", "^"+test+"$", "-test.v")
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "GOTMPDIR="+dir, "GOCOVERDIR=")
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: "+test)) {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
}

func TestCrashDuringCreationLeavesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	if err := os.WriteFile(path+leftoverSuffix+"123", []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	mine := path + leftoverSuffix + "disk" // somebody's copy
	if err := os.WriteFile(mine, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	openTest(t, path)
	names, _ := filepath.Glob(path + "*")
	if !slices.Equal(names, []string{path, mine}) {
		t.Errorf("in the folder are %v", names)
	}
	info, _ := os.Stat(path)
	if info.Mode().Perm() != files.Mode {
		t.Errorf("mode %v", info.Mode())
	}
}

func TestFullDiskRefusesCommitsUntilThereIsRoom(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "p.db"), func(o *Options) {
		o.Fatal = func(err error) { t.Errorf("fatal: %v", err) }
	})
	put(t, s, "a", "1")
	s.db.MaxSize = 1 << 16 // as if the disk had no more blocks
	big := func(tx *Tx) error { return tx.Put("thing", []byte("big"), make([]byte, 1<<20)) }
	if err := s.Update(t.Context(), big); !errors.Is(err, ErrDiskFull) {
		t.Errorf("Update on a full disk: %v", err)
	}
	if err := s.Admit(); !errors.Is(err, ErrDiskFull) {
		t.Errorf("Admit on a full disk: %v", err)
	}
	if get(t, s, "a") != "1" || get(t, s, "big") != "" {
		t.Error("the refused commit changed something")
	}
	s.db.MaxSize = 0
	if err := s.Update(t.Context(), big); err != nil {
		t.Errorf("Update when there is room again: %v", err)
	}
}

func TestAdmitRefusesWorkOnNearlyFullDisk(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "p.db"), func(o *Options) { o.MinFree = 1 << 62 })
	if err := s.Admit(); !errors.Is(err, ErrDiskFull) {
		t.Errorf("Admit: %v", err)
	}
	put(t, s, "deletions and deliveries", "go on")
}

func TestACommitOfUnknownOutcomeStopsTheStore(t *testing.T) {
	var fatal error
	s := openTest(t, filepath.Join(t.TempDir(), "p.db"), func(o *Options) {
		o.Fatal = func(err error) { fatal = err }
	})
	put(t, s, "a", "1")
	s.failed.Store(false)
	s.breakFile(t)
	err := s.Update(t.Context(), func(tx *Tx) error { return tx.Put("thing", []byte("b"), []byte("2")) })
	if !errors.Is(err, ErrFailed) || fatal == nil {
		t.Errorf("Update: %v, fatal: %v", err, fatal)
	}
	if err := s.Update(t.Context(), func(*Tx) error { return nil }); !errors.Is(err, ErrFailed) {
		t.Errorf("next Update: %v", err)
	}
	if err := s.Admit(); !errors.Is(err, ErrFailed) {
		t.Errorf("Admit: %v", err)
	}
}

// breakFile makes every further write to the file fail, as a dying disk does,
// by replacing its descriptor with a read-only one.
func (s *Store) breakFile(t *testing.T) {
	t.Helper()
	f, err := os.Open(s.db.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("needs /proc")
	}
	for _, e := range entries {
		name, err := os.Readlink("/proc/self/fd/" + e.Name())
		fd := atoi(e.Name())
		if err == nil && name == s.db.Path() && fd != int(f.Fd()) {
			if err := syscall.Dup2(int(f.Fd()), fd); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func atoi(s string) (n int) {
	for _, r := range s {
		n = n*10 + int(r-'0')
	}
	return n
}

// A file of an earlier version is accepted and then has this version, so that the earlier
// release refuses it.
func TestAnOlderFileIsTakenOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "o.db")
	s := openTest(t, path)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		meta := tx.Bucket([]byte("meta"))
		return errors.Join(
			meta.Put(survey.Version, schema.Seal(survey.Version, []byte{0, 0, 0, 1})),
			meta.Delete(survey.TallyKey("entry")), // version 1 had no tallies
			tx.DeleteBucket([]byte("entry")),
		)
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	s = openTest(t, path)
	var version []byte
	err = s.db.View(func(tx *bolt.Tx) error {
		version, _ = schema.Verify(survey.Version, tx.Bucket([]byte("meta")).Get(survey.Version))
		if tx.Bucket([]byte("entry")) == nil {
			t.Error("a bucket that the earlier version had not is missing")
		}
		return nil
	})
	if err != nil || !bytes.Equal(version, []byte{0, 0, 0, schema.Version}) {
		t.Errorf("schema version %x, %v", version, err)
	}
}

// TestAnEmptyBucketOfAnEarlierVersionGoes if no release declares it any more; a bucket
// with a record makes the file one of a newer release.
func TestAnEmptyBucketOfAnEarlierVersionGoes(t *testing.T) {
	former := schema.Bucket{Name: "former", Owner: "test", Key: "any", Value: "any"}
	for rows, want := range []error{nil, ErrNewer} {
		path := filepath.Join(t.TempDir(), "p.db")
		s := openTest(t, path, func(o *Options) { o.Buckets = append([]schema.Bucket{former}, declared...) })
		put(t, s, "a", "1")
		change(t, s, func(tx *Tx) error {
			for i := range rows {
				if err := tx.Put("former", Key(i), nil); err != nil {
					return err
				}
			}
			return nil
		})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(Options{Path: path, Buckets: declared, NoSync: true}); !errors.Is(err, ErrNewer) {
			t.Errorf("of this version, with %d records: %v", rows, err)
		}
		earlier(t, path)
		if r, err := Check(t.Context(), path, declared); err != nil || len(r.Faults) != rows {
			t.Errorf("check with %d records: %q, %v", rows, r.Faults, err)
		}
		for range 2 {
			s, err := Open(Options{Path: path, Buckets: declared, NoSync: true, MinFree: 1})
			if !errors.Is(err, want) {
				t.Fatalf("open with %d records: %v", rows, err)
			}
			if err != nil {
				break
			}
			if got := get(t, s, "a"); got != "1" {
				t.Errorf("a = %q", got)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// earlier turns a closed file into one of the previous version.
func earlier(t *testing.T, path string) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte("meta")).Put(survey.Version, schema.Seal(survey.Version, []byte{0, 0, 0, schema.Version - 1}))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}
