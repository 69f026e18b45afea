package store

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"postern/store/schema"
	"postern/store/survey"
)

func TestFollowerHoldsWhatTheOwnerHolds(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 1))
	d := newDatabase()
	s := d.owner(t, filepath.Join(t.TempDir(), "owner.db"))
	f := openTest(t, filepath.Join(t.TempDir(), "follower.db"), follow)
	for range 40 {
		for range r.IntN(20) {
			_ = s.Update(t.Context(), randomChange(r))
		}
		if r.IntN(4) == 0 {
			if err := errors.Join(s.MarkRestored(t.Context(), Restored{At: time.Now()}), s.ForgetRestored(t.Context())); err != nil {
				t.Fatal(err)
			}
		}
		d.catchUp(t, f)
	}
	sameContents(t, fmt.Sprintf("a follower, seed %d", seed), contents(t, f), contents(t, s))

	loaded := filepath.Join(t.TempDir(), "loaded.db")
	d.load(t, loaded)
	l := openTest(t, loaded, follow)
	sameContents(t, fmt.Sprintf("a loaded file, seed %d", seed), contents(t, l), contents(t, s))
	change(t, s, func(tx *Tx) error { return tx.Put("thing", []byte("last"), nil) })
	d.catchUp(t, l)
	if err := l.Lead(t.Context(), d, d.version(), d.stamp); err != nil {
		t.Fatal(err)
	}
	put(t, l, "own", "change")
}

func TestLoadedRowsMayBeNewerThanTheirVersion(t *testing.T) {
	d := newDatabase()
	s := d.owner(t, filepath.Join(t.TempDir(), "owner.db"))
	put(t, s, "a", "1")
	put(t, s, "b", "1")
	began := d.version()
	path := filepath.Join(t.TempDir(), "loaded.db")
	err := Load(Options{Path: path, Buckets: declared, Follow: testCell}, began, func(into func(Row) error) (uint64, error) {
		put(t, s, "b", "2") // seen by the load
		put(t, s, "c", "2")
		for _, name := range slices.Sorted(maps.Keys(d.rows)) {
			if err := into(d.rows[name]); err != nil {
				return 0, err
			}
		}
		put(t, s, "a", "3") // not seen by it
		return d.version(), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	l := openTest(t, path, follow)
	if err := l.Apply(d.after(began)[:1]); err != nil {
		t.Fatal(err)
	}
	if err := l.Lead(t.Context(), d, began+1, d.stamp); !errors.Is(err, ErrDiverged) {
		t.Errorf("Lead of a file whose rows are newer than its version: %v", err)
	}
	d.catchUp(t, l)
	sameContents(t, "a file loaded while the owner wrote", contents(t, l), contents(t, s))
}

func TestStandbyTakesNoChanges(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "a.db"), follow)
	err := s.Update(t.Context(), func(tx *Tx) error { return tx.Put("thing", []byte("a"), nil) })
	if !errors.Is(err, ErrStandby) {
		t.Errorf("Update of a standby returned %v", err)
	}
	if s.Valid() {
		t.Error("a standby is valid")
	}
}

func TestFencedCommitEndsTheProcess(t *testing.T) {
	d, ended := newDatabase(), make(chan error, 1)
	path := filepath.Join(t.TempDir(), "a.db")
	s := d.owner(t, path, func(o *Options) { o.Fatal = func(err error) { ended <- err } })
	put(t, s, "a", "kept")
	d.commit = func(Change) error { return ErrFenced }
	err := s.Update(t.Context(), func(tx *Tx) error { return tx.Put("thing", []byte("a"), []byte("lost")) })
	if !errors.Is(err, ErrFailed) {
		t.Errorf("Update returned %v", err)
	}
	if err := <-ended; !errors.Is(err, ErrFenced) {
		t.Errorf("Fatal got %v", err)
	}
	_ = s.Close()
	d.commit = nil
	if got := getOf(t, openTest(t, path, follow), "a"); got != "kept" {
		t.Errorf("the file has %q", got)
	}
}

func TestFullDatabaseRefusesChangesAndIsAskedAgain(t *testing.T) {
	d := newDatabase()
	s := d.owner(t, filepath.Join(t.TempDir(), "a.db"))
	full := fmt.Errorf("%w: of the database", ErrDiskFull)
	d.commit, d.room = func(Change) error { return full }, full
	write := func() error {
		return s.Update(t.Context(), func(tx *Tx) error { return tx.Put("thing", []byte("a"), nil) })
	}
	for range 3 {
		if err := write(); !errors.Is(err, ErrDiskFull) {
			t.Fatalf("Update returned %v", err)
		}
	}
	if d.asked != 2 {
		t.Errorf("the database was asked for room %d times by two changes after the refused one", d.asked)
	}
	if err := s.Admit(); !errors.Is(err, ErrDiskFull) {
		t.Errorf("Admit returned %v", err)
	}
	d.commit, d.room = nil, nil
	if err := write(); err != nil {
		t.Error(err)
	}
	sameVersion(t, s, d)
}

func TestKillBetweenTheTwoCommitsLosesNothing(t *testing.T) {
	d := newDatabase()
	path, killed := filepath.Join(t.TempDir(), "a.db"), filepath.Join(t.TempDir(), "killed.db")
	s := d.owner(t, path)
	put(t, s, "a", "1")
	d.commit = func(Change) error { return copyOf(path, killed) }
	put(t, s, "a", "2")
	d.commit = nil

	k := openTest(t, killed, follow)
	if got := getOf(t, k, "a"); got != "1" {
		t.Fatalf("the copy has %q", got)
	}
	if err := k.Lead(t.Context(), d, d.version(), d.stamp); !errors.Is(err, ErrDiverged) {
		t.Errorf("Lead of a file that is behind: %v", err)
	}
	d.catchUp(t, k)
	if got := getOf(t, k, "a"); got != "2" {
		t.Errorf("after the change the copy has %q", got)
	}
}

func TestFollowerNoticesThatItDiffers(t *testing.T) {
	d := newDatabase()
	path := filepath.Join(t.TempDir(), "follower.db")
	s := d.owner(t, filepath.Join(t.TempDir(), "owner.db"))
	put(t, s, "a", "1")
	f := openTest(t, path, follow)
	d.catchUp(t, f)
	f.tallies["thing"] = survey.Tally{Rows: 1, Sum: 7}
	put(t, s, "b", "1")
	if err := f.Apply(d.after(markOfStore(t, f).Version)); !errors.Is(err, ErrDiverged) {
		t.Errorf("Apply returned %v", err)
	}
	if getOf(t, f, "b") != "" {
		t.Error("a refused change was applied")
	}
}

func TestFollowerAppliesOnlyTheNextChange(t *testing.T) {
	d := newDatabase()
	s := d.owner(t, filepath.Join(t.TempDir(), "owner.db"))
	for _, k := range []string{"a", "b", "c"} {
		put(t, s, k, k)
	}
	f := openTest(t, filepath.Join(t.TempDir(), "follower.db"), follow)
	if err := f.Apply(d.after(1)); !errors.Is(err, ErrDiverged) {
		t.Errorf("Apply with a hole returned %v", err)
	}
	for range 2 { // what it has is skipped
		if err := f.Apply(d.after(0)); err != nil {
			t.Error(err)
		}
	}
	sameVersion(t, f, d)
}

func TestStandbyRefusesWhatANewerReleaseWrote(t *testing.T) {
	version := func(n byte) Row {
		return Row{schema.Meta.Name, survey.Version, schema.Seal(survey.Version, []byte{0, 0, 0, n})}
	}
	for name, row := range map[string]Row{
		"schema": version(schema.Version + 1),
		"bucket": {"later", []byte("a"), schema.Seal([]byte("a"), nil)},
		"tally":  {schema.Meta.Name, survey.TallyKey("later"), schema.Seal(survey.TallyKey("later"), survey.Tally{}.Encode())},
	} {
		t.Run(name, func(t *testing.T) {
			f := openTest(t, filepath.Join(t.TempDir(), "a.db"), follow)
			if err := f.Apply([]Change{{Version: 1, Rows: []Row{version(schema.Version), row}}}); !errors.Is(err, ErrNewer) {
				t.Errorf("Apply returned %v", err)
			}
			if m := markOfStore(t, f); m.Version != 0 {
				t.Errorf("the file is at version %d", m.Version)
			}
		})
	}
	f := openTest(t, filepath.Join(t.TempDir(), "b.db"), follow)
	broken := Row{"thing", []byte("a"), []byte("0000 not its checksum")}
	if err := f.Apply([]Change{{Version: 1, Rows: []Row{broken}}}); !errors.Is(err, ErrDiverged) {
		t.Errorf("a row with a wrong checkSum: %v", err)
	}
}

func TestTimeNeverGoesBackAtATakeover(t *testing.T) {
	d := newDatabase()
	ahead := time.Now().Add(time.Hour)
	s := d.owner(t, filepath.Join(t.TempDir(), "ahead.db"), func(o *Options) {
		o.Now = func() time.Time { return ahead }
	})
	put(t, s, "a", "1")
	next := d.owner(t, filepath.Join(t.TempDir(), "right.db"))
	change(t, next, func(tx *Tx) error {
		if tx.Now().Before(stamp(ahead)) {
			t.Errorf("Tx.Now is %s, after a record of %s", tx.Now(), stamp(ahead))
		}
		return tx.Put("thing", []byte("b"), nil)
	})
}

// Otherwise records would be dated in the far future for as long as the clock was ahead.
func TestClockFarAheadDatesNoCellRecord(t *testing.T) {
	d := newDatabase()
	put(t, d.owner(t, filepath.Join(t.TempDir(), "right.db")), "a", "1")
	shift := func(by time.Duration) func(*Options) {
		return func(o *Options) { o.Now = func() time.Time { return time.Now().Add(by) } }
	}
	for _, by := range []time.Duration{1000 * time.Hour, 0} {
		s := d.owner(t, filepath.Join(t.TempDir(), "next.db"), shift(by))
		change(t, s, func(tx *Tx) error {
			if off := time.Until(tx.Now()); off > time.Hour {
				t.Errorf("with a clock that is %s ahead, Tx.Now is ahead by %s", by, off)
			}
			return tx.Put("thing", []byte("b"), nil)
		})
		err := s.View(func(tx *Tx) error {
			if off := time.Until(tx.Now()); off > time.Hour {
				t.Errorf("with a clock that is %s ahead, Tx.Now of a view is ahead by %s", by, off)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestWhichFilesBelongToACell(t *testing.T) {
	open := func(path string, change func(*Options)) error {
		o := Options{Path: path, Buckets: declared, MinFree: 1}
		change(&o)
		s, err := Open(o)
		if err == nil {
			err = s.Close()
		}
		return err
	}
	alone := func(*Options) {}
	other := func(o *Options) { o.Follow = "ffffffffffffffffffffffffffffffff" }

	path := filepath.Join(t.TempDir(), "alone.db")
	s := openTest(t, path)
	put(t, s, "a", "1")
	_ = s.Close()
	if err := open(path, follow); !errors.Is(err, ErrNoCell) {
		t.Errorf("a file with records that belongs to no cell: %v", err)
	}

	d := newDatabase()
	path = filepath.Join(t.TempDir(), "owner.db")
	s = d.owner(t, path)
	put(t, s, "a", "1")
	crashed := filepath.Join(t.TempDir(), "crashed.db")
	if err := copyOf(path, crashed); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := open(crashed, alone); !errors.Is(err, ErrCopy) {
		t.Errorf("the file of an owner that was killed, alone: %v", err)
	}
	if err := open(path, other); !errors.Is(err, ErrOtherCell) {
		t.Errorf("a file of another cell: %v", err)
	}
	if err := open(path, alone); err != nil {
		t.Errorf("the file of an owner that stopped in order, alone: %v", err)
	}
	if err := open(path, alone); err != nil {
		t.Errorf("the same once more: %v", err)
	}
	if err := open(path, follow); !errors.Is(err, ErrNoCell) {
		t.Errorf("a file that went on alone, as a copy again: %v", err)
	}

	standby := filepath.Join(t.TempDir(), "standby.db")
	f := openTest(t, standby, follow)
	d.catchUp(t, f)
	_ = f.Close()
	if err := open(standby, alone); !errors.Is(err, ErrCopy) {
		t.Errorf("the file of a standby, alone: %v", err)
	}
}

func TestOwnersFileGoesOnAfterAnOrderlyStop(t *testing.T) {
	d := newDatabase()
	path := filepath.Join(t.TempDir(), "a.db")
	s := d.owner(t, path)
	put(t, s, "a", "1")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = d.owner(t, path)
	sameVersion(t, s, d)
	if !s.WasClean() {
		t.Error("an orderly stop was not noticed")
	}
	put(t, s, "a", "2")
	sameVersion(t, s, d)
}

// When the disk is full after the commit of the cell, the change has happened and the file
// lacks it: the process ends, and the next one gets the change from the cell.
func TestFullDiskAfterCellCommitEndsTheProcess(t *testing.T) {
	d, ended := newDatabase(), make(chan error, 1)
	path := filepath.Join(t.TempDir(), "a.db")
	s := d.owner(t, path, func(o *Options) { o.Fatal = func(err error) { ended <- err } })
	put(t, s, "a", "1")
	s.commitTx = func(btx *bolt.Tx) error { return errors.Join(syscall.ENOSPC, btx.Rollback()) }
	err := s.Update(t.Context(), func(tx *Tx) error { return tx.Put("thing", []byte("a"), []byte("2")) })
	if !errors.Is(err, ErrFailed) {
		t.Errorf("Update returned %v, and the cell has the change", err)
	}
	if err := <-ended; !errors.Is(err, ErrDiskFull) {
		t.Errorf("Fatal got %v", err)
	}
	s.commitTx = func(btx *bolt.Tx) error { return btx.Commit() }
	_ = s.Close()
	next := openTest(t, path, follow)
	d.catchUp(t, next)
	if got := getOf(t, next, "a"); got != "2" {
		t.Errorf("the next process has %q", got)
	}
	sameVersion(t, next, d)
}
