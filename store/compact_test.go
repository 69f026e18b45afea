package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"postern/store/files"
	"postern/store/schema"
	"postern/store/survey"
)

// marked is the value of exactly one record.
const marked = "the one that is marked, of some length"

// holeyFile is the file of holey, made once.
var holeyFile struct {
	image []byte
	holds map[string]string
}

// holey makes a file with a hole for nearly each record, and returns its contents.
func holey(t *testing.T) (path string, want map[string]string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "p.db")
	if holeyFile.image == nil {
		makeHoley(t)
	}
	if err := os.WriteFile(path, holeyFile.image, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, maps.Clone(holeyFile.holds)
}

func makeHoley(t *testing.T) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p.db")
	s := openTest(t, path)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		change(t, s, func(tx *Tx) error {
			for range 500 {
				if err := tx.Put("thing", Key(rng.IntN(10_000)), bytes.Repeat([]byte{1}, rng.IntN(3000))); err != nil {
					return err
				}
			}
			_, err := tx.NextID("thing")
			return err
		})
	}
	change(t, s, func(tx *Tx) error {
		for i := range 10_000 {
			if i%7 > 0 {
				if err := tx.Delete("thing", Key(i)); err != nil {
					return err
				}
			}
		}
		return tx.Put("thing", Key(7), []byte(marked))
	})
	appendEntries(t, s, 5)
	holeyFile.holds = held(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var err error
	if holeyFile.image, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
}

func held(t *testing.T, s *Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, name := range []string{"thing", "entry"} {
		err := s.View(func(tx *Tx) error {
			return tx.Scan(name, Range{}, func(k, v []byte) (bool, error) {
				all[name+string(k)] = string(v)
				return true, nil
			})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func TestCompactedFileIsSmallerAndEqual(t *testing.T) {
	path, want := holey(t)
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	before, after, err := Compact(t.Context(), path, declared)
	if err != nil || after > before/3 {
		t.Fatalf("%d bytes before, %d after, %v", before, after, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() != after || info.Mode().Perm() != 0o640 {
		t.Errorf("%v %v", info, err)
	}
	s := openTest(t, path)
	got := held(t, s)
	if len(got) != len(want) || !s.WasClean() {
		t.Errorf("%d records of %d; closed in order: %t", len(got), len(want), s.WasClean())
	}
	for k, v := range want {
		if got[k] != v {
			t.Fatalf("record %q differs", k)
		}
	}
	change(t, s, func(tx *Tx) error {
		if id, err := tx.NextID("thing"); err != nil || id != 21 {
			t.Errorf("the next number is %d, %v", id, err)
		}
		return nil
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if r, err := Check(t.Context(), path, declared); err != nil || len(r.Faults) > 0 {
		t.Errorf("%v %v", r, err)
	}
	onlyFile(t, path)
}

// onlyFile fails unless the file is alone in its folder.
func onlyFile(t *testing.T, path string) {
	t.Helper()
	names, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(names) != 1 {
		t.Errorf("beside it lie %v (%v)", names, err)
	}
}

func TestFailedCompactionLeavesTheFile(t *testing.T) {
	ended, end := context.WithCancelCause(t.Context())
	end(errors.New("interrupted"))
	for name, c := range map[string]struct {
		ctx    context.Context
		breaks func(image []byte) []byte
		says   string
	}{
		"interrupted":      {ended, nil, "interrupted"},
		"a damaged record": {t.Context(), func(b []byte) []byte { return broken(b, func(at int) int { return at + 9 }) }, "is damaged"},
		"a damaged page": {t.Context(), func(b []byte) []byte {
			return broken(b, func(at int) int { return at/os.Getpagesize()*os.Getpagesize() + 8 })
		}, "postern check"},
		"a file of others":   {t.Context(), func(b []byte) []byte { return []byte("not a data file, but long enough to be looked at") }, "not a Postern data file"},
		"cut off in the end": {t.Context(), func(b []byte) []byte { return b[:len(b)/2] }, "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			path, _ := holey(t)
			if c.breaks != nil {
				image, err := os.ReadFile(path)
				if err == nil {
					err = os.WriteFile(path, c.breaks(image), 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			was, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := Compact(c.ctx, path, declared); err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) {
				t.Errorf("%v", err)
			}
			if is, err := os.ReadFile(path); err != nil || !bytes.Equal(is, was) {
				t.Errorf("the file was changed (%v)", err)
			}
			onlyFile(t, path)
		})
	}
}

// broken changes the bytes of the marked record at every place in an image.
func broken(image []byte, where func(at int) int) []byte {
	for at := 0; ; {
		next := bytes.Index(image[at:], []byte(marked))
		if next < 0 {
			return image
		}
		at += next
		image[where(at)] ^= 12
		at += len(marked)
	}
}

func TestARunningProgramIsNotCompactedUnder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	s := openTest(t, path)
	put(t, s, "k", "v")
	if _, _, err := Compact(t.Context(), path, declared); !errors.Is(err, ErrLocked) {
		t.Errorf("%v", err)
	}
	if got := get(t, s, "k"); got != "v" {
		t.Errorf("got %q", got)
	}
}

// TestProgramAwaitingACompactionOpensTheNewFile, and does not continue in the file
// that lost its name to the compaction.
func TestProgramAwaitingACompactionOpensTheNewFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files that are open have no other name here")
	}
	path, want := holey(t)
	f, err := files.Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	opened := make(chan *Store)
	go func() {
		s, err := Open(Options{Path: path, Buckets: declared, NoSync: true, MinFree: 1})
		if err != nil {
			t.Error(err)
		}
		opened <- s
	}()
	time.Sleep(2 * files.LockTimeout / 20) // it waits for the lock
	if _, _, err := compact(t.Context(), f, path, mustSchema(t)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	s := <-opened
	if s == nil {
		t.FailNow()
	}
	if got := held(t, s); len(got) != len(want) {
		t.Errorf("%d records of %d", len(got), len(want))
	}
	put(t, s, "new", "v")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openTest(t, path)
	if got := get(t, s, "new"); got != "v" {
		t.Errorf("what it wrote is lost: %q", got)
	}
}

func mustSchema(t *testing.T) schema.Schema {
	t.Helper()
	sch, err := withOwn(declared)
	if err != nil {
		t.Fatal(err)
	}
	return sch
}

// TestKilledCompactionLeavesTheFile: each kill is a copy of
// the folder at that moment.
func TestKilledCompactionLeavesTheFile(t *testing.T) {
	path, want := holey(t)
	if err := os.WriteFile(path+leftoverSuffix+"123", bytes.Repeat([]byte{1}, 5000), 0o600); err != nil {
		t.Fatal(err)
	}
	s := openTest(t, path)
	if got := held(t, s); len(got) != len(want) {
		t.Errorf("%d records of %d", len(got), len(want))
	}
	onlyFile(t, path)
}

// TestACompactionRemovesWhatAKilledOneLeft, which may be what fills the disk, also beside
// a file that no program opens. It removes nothing of another file.
func TestACompactionRemovesWhatAKilledOneLeft(t *testing.T) {
	from, _ := holey(t)
	path := filepath.Join(t.TempDir(), "p[1].db")
	copyFile(t, from, path)
	others := filepath.Join(filepath.Dir(path), "p1.db"+leftoverSuffix+"1")
	for _, name := range []string{path + leftoverSuffix + "123", others} {
		if err := os.WriteFile(name, bytes.Repeat([]byte{1}, 5000), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := Compact(t.Context(), path, declared); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(others); err != nil {
		t.Errorf("of another file: %v", err)
	}
	onlyFile(t, path)
}

// TestEitherHeadOfCompactedFileIsComplete: otherwise the older one would have a state
// from the middle of the compaction.
func TestEitherHeadOfCompactedFileIsComplete(t *testing.T) {
	path, want := holey(t)
	if _, _, err := Compact(t.Context(), path, declared); err != nil {
		t.Fatal(err)
	}
	image, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, head := range []int{0, os.Getpagesize()} {
		at := filepath.Join(t.TempDir(), "p.db")
		if err := os.WriteFile(at, damage(image, head+17, head+18, head+60), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(Options{Path: at, Buckets: declared, NoSync: true, MinFree: 1})
		if err != nil {
			t.Errorf("without head %d: %v", head, err)
			continue
		}
		if got := held(t, s); len(got) != len(want) {
			t.Errorf("without head %d: %d records of %d", head, len(got), len(want))
		}
		_ = s.Close()
	}
}

// TestCopyIsClosedBeforeTheSwap, since Windows cannot rename an open
// file.
func TestCopyIsClosedBeforeTheSwap(t *testing.T) {
	const open = "/proc/self/fd"
	if _, err := os.Stat(open); err != nil {
		t.Skip("this system does not tell which files are open")
	}
	path, want := holey(t)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	found, err := survey.Read(f, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	copied, _, err := makeCopy(t.Context(), found, path, info)
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(open)
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range files {
		if name, _ := os.Readlink(filepath.Join(open, fd.Name())); name == copied {
			t.Errorf("%s is open", copied)
		}
	}
	s := openTest(t, copied)
	if got := held(t, s); len(got) != len(want) {
		t.Errorf("%d records of %d", len(got), len(want))
	}
}

// TestCopyIsWrittenToTheCreatedFile, even if a link is put in its place: root may
// compact a file in a folder of another user.
func TestCopyIsWrittenToTheCreatedFile(t *testing.T) {
	path, _ := holey(t)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	found, err := survey.Read(f, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	copied, err := os.Create(filepath.Join(folder, "copy"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = copied.Close() }()
	victim := filepath.Join(folder, "victim")
	if err := errors.Join(os.WriteFile(victim, nil, 0o600), os.Remove(copied.Name())); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, copied.Name()); err != nil {
		t.Skip(err)
	}
	if err := writeCompact(t.Context(), found.File, copied); err == nil {
		t.Error("it was written to another file")
	}
	if info, err := os.Stat(victim); err != nil || info.Size() != 0 {
		t.Errorf("the link was followed: %v %v", info, err)
	}
}

// TestUnreadableCopyEndsTheCompaction, and does not make it hang.
func TestUnreadableCopyEndsTheCompaction(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a mapped file is not cut off here")
	}
	path := filepath.Join(t.TempDir(), "copy.db")
	db, err := openBolt(path, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &copying{db: db}
	if err := c.begin("b", 1); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if err := c.commit(); err == nil {
		t.Error("a commit to a file that was cut off")
	}
	ended := make(chan error, 1)
	go func() { ended <- db.Close() }()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("it stands still")
	}
}

func TestCompactionReplacesTheLinksTarget(t *testing.T) {
	path, _ := holey(t)
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}
	if _, after, err := Compact(t.Context(), link, declared); err != nil {
		t.Fatal(err)
	} else if info, err := os.Stat(path); err != nil || info.Size() != after {
		t.Errorf("%v %v", info, err)
	}
	if target, err := os.Readlink(link); err != nil || target != path {
		t.Errorf("the link points to %q (%v)", target, err)
	}
}

func TestAnInspectionCountsWhatIsThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	s := openTest(t, path, func(o *Options) { o.Now = func() time.Time { return at } })
	for i := range 300 {
		put(t, s, fmt.Sprintf("%04d", i), strings.Repeat("x", 96-schema.ChecksumSize))
	}
	appendEntries(t, s, 2)
	at = at.Add(time.Hour)
	appendEntries(t, s, 1)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	i, err := Inspect(path, declared)
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[string]Size{}
	var inPages int64
	for _, z := range i.Buckets {
		sizes[z.Bucket] = z
		inPages += z.Pages
	}
	if z := sizes["thing"]; z.Rows != 300 || z.Bytes != 300*100 || z.Pages < z.Bytes || z.Pages > 4*z.Bytes || z.Oldest != nil || z.Owner != "test" {
		t.Errorf("%+v", z)
	}
	z := sizes["entry"]
	if z.Rows != 3 || z.Oldest == nil || !z.Newest.Equal(at) || !z.Oldest.Equal(at.Add(-time.Hour)) {
		t.Errorf("%+v", z)
	}
	if info, err := os.Stat(path); err != nil || i.Bytes != info.Size() || i.Free <= 0 || i.Free+inPages > i.Bytes {
		t.Errorf("%d bytes, %d free, %d in pages of buckets (%v)", i.Bytes, i.Free, inPages, err)
	}
	openTest(t, path)
	if _, err := Inspect(path, declared); !errors.Is(err, ErrLocked) {
		t.Errorf("of a running program: %v", err)
	}
}
