package powerloss

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// childOf names what the test binary is to do as a recorded program.
const childOf = "POWERLOSS_TEST_CHILD"

var children = map[string]func(folder string, tell func(string)) error{
	"files": filesChild,
	"store": storeChild,
	"grow":  growChild,
}

func TestMain(m *testing.M) {
	if child := children[os.Getenv(childOf)]; child != nil {
		err := Trap()
		if err == nil {
			err = child(os.Args[1], func(text string) { fmt.Println(text) })
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// reported is a line that a child printed, and when it was there to be read.
type reported struct {
	pos  int
	text string
}

// record runs a child until it ends.
func record(t *testing.T, r *Recording, child string) (all []reported, exit syscall.WaitStatus) {
	t.Helper()
	return recordUntil(t, r, child, 0)
}

// recordUntil runs a child until it ends, or has reported so much and is killed.
func recordUntil(t *testing.T, r *Recording, child string, lines int) (all []reported, exit syscall.WaitStatus) {
	t.Helper()
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, r.root)
	cmd.Env = append(os.Environ(), childOf+"="+child)
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	heard, say, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer say.Close()
	cmd.Stdin = heard
	p, err := r.Run(cmd)
	_ = out.Close()
	_ = heard.Close()
	if err != nil {
		mayNotTrace(t, err)
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		for scanner := bufio.NewScanner(in); scanner.Scan(); {
			all = append(all, reported{r.Pos(), scanner.Text()})
			_, _ = say.Write([]byte{0})
			if len(all) == lines {
				p.Kill()
			}
		}
	})
	exit, err = p.Wait()
	reading.Wait()
	if err := errors.Join(err, r.Err()); err != nil {
		t.Fatal(err)
	}
	return all, exit
}

// mayNotTrace ends the test where a sandbox forbids what the recorder needs.
func mayNotTrace(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSYS) {
		t.Skipf("tracing is not allowed here: %v", err)
	}
	t.Fatal(err)
}

func newRecording(t *testing.T) *Recording {
	t.Helper()
	r, err := New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// images makes n images of a recording cut off at pos, and returns what fn says
// of each, sorted and without doubles.
func images(t *testing.T, r *Recording, pos, n int, fn func(folder string) string) (all []string) {
	t.Helper()
	d := r.Disk()
	d.Advance(pos)
	folder := filepath.Join(imageFolder(t), "image")
	for i := range n {
		if err := errors.Join(os.Mkdir(folder, 0o700), d.Write(rand.New(rand.NewPCG(1, uint64(i))), folder)); err != nil {
			t.Fatal(err)
		}
		all = append(all, fn(folder))
		_ = os.RemoveAll(folder)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// filesChild does what programs do to files, and tells after each step.
func filesChild(folder string, say func(string)) error {
	heard := make([]byte, 1)
	tell := func(text string) {
		say(text)
		_, _ = os.Stdin.Read(heard) // nothing happens until it was heard
	}
	syncFolder := func(path string) error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	}
	block := func(b byte) []byte { return []byte(strings.Repeat(string(b), 512)) }
	f, err := os.Create(filepath.Join(folder, "new"))
	if err != nil {
		return err
	}
	step := func(name string, err error) error {
		if err == nil {
			tell(name)
		}
		return err
	}
	write := func(b byte, at int64) error { _, err := f.WriteAt(block(b), at); return err }
	for _, do := range []func() error{
		func() error { return step("made", f.Sync()) },
		func() error { return step("named", syncFolder(folder)) },
		func() error { return step("written", errors.Join(write('a', 0), write('b', 512), write('c', 0))) },
		func() error { return step("synced", f.Sync()) },
		func() error { return step("renamed", os.Rename(f.Name(), filepath.Join(folder, "file"))) },
		func() error { return step("moved", syncFolder(folder)) },
		func() error { return step("shorter", f.Truncate(512)) },
		func() error { return step("folder", os.Mkdir(filepath.Join(folder, "sub"), 0o700)) },
		func() error { return step("all", errors.Join(f.Sync(), syncFolder(folder), f.Close())) },
		func() error {
			return step("linked", os.Link(filepath.Join(folder, "file"), filepath.Join(folder, "sub", "too")))
		},
		func() error {
			return step("gone", errors.Join(os.Remove(filepath.Join(folder, "file")), syncFolder(folder)))
		},
	} {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// listing reports what is in a folder: names, and the first byte of each block.
func listing(folder string) string {
	var all []string
	_ = filepath.WalkDir(folder, func(path string, d os.DirEntry, _ error) error {
		raw, _ := os.ReadFile(path)
		text := ""
		for i := 0; i < len(raw); i += 512 {
			text += strings.ReplaceAll(string(raw[i]), "\x00", "-")
		}
		if path != folder {
			all = append(all, strings.TrimPrefix(path, folder+"/")+"="+text)
		}
		return nil
	})
	return strings.Join(all, " ")
}

// TestImagesAreWhatAPowerCutMayLeave holds all images of each step against what
// POSIX promises, written down by hand.
func TestImagesAreWhatAPowerCutMayLeave(t *testing.T) {
	r := newRecording(t)
	steps, exit := record(t, r, "files")
	if exit.ExitStatus() != 0 {
		t.Fatalf("exit status %d", exit.ExitStatus())
	}
	want := map[string]string{
		"made":    "|new=",
		"named":   "new=",
		"written": "new=|new=-b|new=a|new=ab|new=c|new=cb",
		"synced":  "new=cb",
		"renamed": "file=cb|new=cb",
		"moved":   "file=cb",
		"shorter": "file=c|file=cb",
		"folder":  "file=c|file=c sub=|file=cb|file=cb sub=",
		"all":     "file=c sub=",
		"linked":  "file=c sub=|file=c sub= sub/too=c",
		"gone":    "sub=|sub= sub/too=c",
	}
	if len(steps) != len(want) {
		t.Errorf("reported %v", steps)
	}
	for _, s := range steps {
		if got := strings.Join(images(t, r, s.pos, 200, listing), "|"); got != want[s.text] {
			t.Errorf("after %q a cut may leave\n%s\nwant\n%s", s.text, got, want[s.text])
		}
	}
}

// TestFailedSyncIsNeverRepaired: what it was to write stays uncertain,
// whatever is synced later, until the same bytes are written again.
func TestFailedSyncIsNeverRepaired(t *testing.T) {
	r := newRecording(t)
	failed := false
	r.Fault = func(c Call) (fault Fault) {
		// The first sync after the name is on the disk is the one of "written".
		if !failed && c.Name == "sync" && len(r.ops) == 7 && strings.HasSuffix(c.Path, "new") {
			fault.Err, failed = syscall.EIO, true
		}
		return fault
	}
	_, exit := record(t, r, "files")
	if exit.ExitStatus() != 1 || !failed {
		t.Skipf("no sync can be made to fail here (exit status %d)", exit.ExitStatus())
	}
	d := r.Disk()
	d.Advance(r.Pos())
	if n := d.Waiting(); n != 3 {
		t.Fatalf("%d changes are uncertain after the failed sync, want 3", n)
	}
	var id int
	for _, o := range r.ops {
		if o.kind == writes {
			id = o.file
		}
	}
	pos := r.Pos()
	again := func(o op) {
		o.begin, o.end = pos+1, pos+2
		pos += 2
		d.begin(&o)
		d.finish(&o)
	}
	again(op{kind: syncs, file: id})
	if n := d.Waiting(); n != 3 {
		t.Errorf("a later sync wrote what the failed one did not: %d", n)
	}
	again(op{kind: writes, file: id, data: []byte(strings.Repeat("d", 512))})
	again(op{kind: syncs, file: id})
	if n := d.Waiting(); n != 1 { // "b"
		t.Errorf("%d changes are uncertain after two of three were written again", n)
	}
}
