package store

import (
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"postern/internal/nightly"
	"postern/store/files"
)

// hold lets the next commit of s do all that bbolt does and then keeps it from
// returning, as a slow sync of the meta page does, until land is called with
// the sync's result.
func hold(s *Store) (visible chan struct{}, land func(error)) {
	visible = make(chan struct{})
	result := make(chan error)
	var once sync.Once
	s.commitTx = func(btx *bolt.Tx) (err error) {
		err = btx.Commit()
		once.Do(func() {
			close(visible)
			err = <-result
		})
		return err
	}
	return visible, func(err error) { result <- err }
}

// seen is everything that a reader can learn from the store.
type seen struct {
	value string
	last  uint64
	rows  int
}

func look(s *Store) (all seen, err error) {
	err = s.View(func(tx *Tx) error {
		value, err := tx.Get("thing", []byte("a"))
		if err != nil {
			return err
		}
		all.value = string(value)
		all.last, err = tx.LastID("thing")
		return err
	})
	if err != nil {
		return all, err
	}
	all.rows, err = s.Rows("thing")
	return all, err
}

func TestCommitsAreUnseenUntilDurable(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "p.db"))
	visible, land := hold(s)
	wake, after := s.Woken(), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- s.Update(t.Context(), func(tx *Tx) error {
			tx.Wake()
			tx.After(func() { close(after) })
			return errors.Join(tx.Put("thing", []byte("a"), []byte("1")), tx.TakeID("thing", 1))
		})
	}()
	<-visible
	before, err := look(s)
	if err != nil || before != (seen{}) {
		t.Errorf("while the commit is on its way a reader sees %+v, %v", before, err)
	}
	select {
	case <-wake:
		t.Error("readers were woken for what is not on the disk")
	case <-after:
		t.Error("what follows the commit was done before it was on the disk")
	case <-done:
		t.Error("Update returned")
	default:
	}
	land(nil)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	<-wake
	<-after
	now, err := look(s)
	if want := (seen{value: "1", last: 1, rows: 1}); err != nil || now != want {
		t.Errorf("after it a reader sees %+v, %v", now, err)
	}
}

func TestACommitThatTakesLongIsWaitedFor(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "p.db"))
	visible, land := hold(s)
	go func() {
		_ = s.Update(t.Context(), func(tx *Tx) error { return tx.Put("thing", []byte("a"), []byte("1")) })
	}()
	<-visible
	f := s.flight.Load()
	waitFor(t, func() bool { f.mu.Lock(); defer f.mu.Unlock(); return f.closed })
	var landed atomic.Bool
	answer := make(chan string, 1)
	go func() {
		v := get(t, s, "a")
		if !landed.Load() {
			v = "nothing but too early: " + v
		}
		answer <- v
	}()
	time.Sleep(20 * time.Millisecond) // for a reader that does not wait; one that does makes the test pass without it
	landed.Store(true)
	land(nil)
	if v := <-answer; v != "1" {
		t.Errorf("the reader that waited got %q", v)
	}
}

func TestCommitThatFailsLateIsNeverSeen(t *testing.T) {
	var fatal error
	s := openTest(t, filepath.Join(t.TempDir(), "p.db"), func(o *Options) { o.Fatal = func(err error) { fatal = err } })
	put(t, s, "a", "0")
	visible, land := hold(s)
	done := make(chan error, 1)
	go func() {
		done <- s.Update(t.Context(), func(tx *Tx) error { return tx.Put("thing", []byte("a"), []byte("1")) })
	}()
	<-visible
	if v := get(t, s, "a"); v != "0" {
		t.Errorf("during the commit: %q", v)
	}
	land(syscall.EIO)
	if err := <-done; !errors.Is(err, ErrFailed) || fatal == nil {
		t.Errorf("Update: %v, fatal: %v", err, fatal)
	}
	if err := s.View(func(*Tx) error { t.Error("a reader was let in"); return nil }); !errors.Is(err, ErrFailed) {
		t.Errorf("View: %v", err)
	}
}

// TestReaderAwaitingAFailingCommitGetsErrFailed: the state before the commit is no
// longer available, so the reader waits, and no further commit comes.
func TestReaderAwaitingAFailingCommitGetsErrFailed(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "p.db"), func(o *Options) { o.Fatal = func(error) {} })
	visible, land := hold(s)
	go func() { _ = s.Update(t.Context(), func(tx *Tx) error { return tx.Put("thing", []byte("a"), nil) }) }()
	<-visible
	f := s.flight.Load()
	waitFor(t, func() bool { f.mu.Lock(); defer f.mu.Unlock(); return f.closed })
	answer := make(chan error, 1)
	go func() { answer <- s.View(func(*Tx) error { return nil }) }()
	land(syscall.EIO)
	if err := <-answer; !errors.Is(err, ErrFailed) {
		t.Errorf("View: %v", err)
	}
}

// TestRefusalFollowsItsCausesCommit: the second of two creations of
// one name is refused because of the first, which a power cut may still undo.
func TestRefusalFollowsItsCausesCommit(t *testing.T) {
	taken := errors.New("the name is taken")
	create := func(tx *Tx) error {
		if tx.Has("thing", []byte("name")) {
			return taken
		}
		return tx.Put("thing", []byte("name"), nil)
	}
	for _, c := range []struct {
		name   string
		result error
		want   [2]error
	}{
		{"the disk takes it", nil, [2]error{nil, taken}},
		{"nobody can say", syscall.EIO, [2]error{ErrFailed, ErrFailed}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := openTest(t, filepath.Join(t.TempDir(), "p.db"), func(o *Options) { o.Fatal = func(error) {} })
			first, second := together(t, s, create)
			visible, land := hold(s)
			begin(s, first, second)
			<-visible
			select {
			case <-second.done:
				t.Errorf("the second was told %v while the first is on its way", second.err)
			default:
			}
			land(c.result)
			if err := first.wait(); !errors.Is(err, c.want[0]) {
				t.Errorf("first: %v", err)
			}
			if err := second.wait(); !errors.Is(err, c.want[1]) {
				t.Errorf("second: %v", err)
			}
		})
	}
}

// TestRefusalWithoutItsCauseIsRevised: the disk has no room for the first
// creation, so the second gets the name, if there is room for it.
func TestRefusalWithoutItsCauseIsRevised(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "p.db"))
	create := func(tx *Tx) error {
		if tx.Has("thing", []byte("name")) {
			return errors.New("the name is taken")
		}
		return tx.Put("thing", []byte("name"), nil)
	}
	first, second := together(t, s, create)
	commits := 0
	s.commitTx = func(btx *bolt.Tx) error {
		if commits++; commits == 1 {
			return errors.Join(syscall.ENOSPC, btx.Rollback())
		}
		return btx.Commit()
	}
	begin(s, first, second)
	if err := first.wait(); !errors.Is(err, ErrDiskFull) {
		t.Errorf("first: %v", err)
	}
	if err := second.wait(); err != nil {
		t.Errorf("second: %v", err)
	}
}

// together makes two calls that the writer finds waiting at the same time.
func together(t *testing.T, s *Store, fn func(*Tx) error) (first, second *update) {
	t.Helper()
	put(t, s, "writer", "idle")
	return &update{fn: fn, done: make(chan struct{})}, &update{fn: fn, done: make(chan struct{})}
}

func begin(s *Store, group ...*update) {
	s.mu.Lock()
	s.queue = append(s.queue, group...)
	s.asking += len(group)
	s.mu.Unlock()
	s.kick <- struct{}{}
}

// TestReadersDoNotDelayAGrowingMapping: bbolt remaps the file when there is
// no reader, and the commit itself keeps a read transaction for the readers.
func TestReadersDoNotDelayAGrowingMapping(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	s := openTest(t, path)
	if err := s.db.Close(); err != nil {
		t.Fatal(err)
	}
	var err error
	s.db, err = bolt.Open(path, files.Mode, &bolt.Options{NoFreelistSync: true, FreelistType: bolt.FreelistMapType, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_ = get(t, s, "a")
				}
			}
		})
	}
	value := make([]byte, 20<<20) // a new file is mapped with 16 MiB, then with 32, 64 and so on
	for i := range 3 {
		if err := s.Update(t.Context(), func(tx *Tx) error { return tx.Put("thing", Key(i), value) }); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	readers.Wait()
}

// TestAReaderNeverGoesBackInTime: what one reader has seen, every later reader sees, and
// no reader sees half of a commit.
func TestAReaderNeverGoesBackInTime(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "p.db"), func(o *Options) { o.NoSync = false })
	var newest struct {
		sync.Mutex
		n uint64
	}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				newest.Lock()
				least := newest.n
				newest.Unlock()
				var a, b []byte
				err := s.View(func(tx *Tx) (err error) {
					if a, err = tx.Get("thing", []byte("a")); err == nil {
						b, err = tx.Get("thing", []byte("b"))
					}
					return err
				})
				got := number(a)
				if err != nil || got != number(b) || got < least {
					t.Errorf("a reader saw %d and %d, after %d was told: %v", got, number(b), least, err)
					return
				}
				newest.Lock()
				newest.n = max(newest.n, got)
				newest.Unlock()
			}
		})
	}
	for i := range uint64(100) {
		err := s.Update(t.Context(), func(tx *Tx) error {
			return errors.Join(tx.Put("thing", []byte("a"), Key(i)), tx.Put("thing", []byte("b"), Key(i)))
		})
		if err != nil {
			t.Fatal(err)
		}
		newest.Lock()
		newest.n = max(newest.n, i)
		newest.Unlock()
	}
	close(stop)
	readers.Wait()
}

func number(key []byte) (n uint64) {
	for _, b := range key {
		n = n<<8 | uint64(b)
	}
	return n
}

// TestReaderOfOldStateDoesNotDelayClose: a reader starts while a commit is
// in flight and runs until Close waits for it.
func TestReaderOfOldStateDoesNotDelayClose(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "p.db"))
	visible, land := hold(s)
	var work sync.WaitGroup
	defer work.Wait()
	work.Go(func() {
		if err := s.Update(t.Context(), func(tx *Tx) error { return tx.Put("thing", []byte("a"), []byte("1")) }); err != nil {
			t.Error(err)
		}
	})
	<-visible
	reading, goOn := make(chan struct{}), make(chan struct{})
	work.Go(func() {
		_ = s.View(func(*Tx) error {
			close(reading)
			<-goOn
			return nil
		})
	})
	<-reading
	land(nil)
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	for waits := false; !waits; { // until bbolt lets no new reader in
		probe := make(chan struct{})
		go func() {
			if b, err := s.db.Begin(false); err == nil {
				rollback(b)
			}
			close(probe)
		}()
		select {
		case <-probe:
		case <-time.After(100 * time.Millisecond):
			waits = true
		}
	}
	close(goOn)
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("Close and the reader wait for each other")
	}
}

// TestReadersAndCloseNeverWaitForEachOther repeatedly closes stores during reads and
// commits.
func TestReadersAndCloseNeverWaitForEachOther(t *testing.T) {
	for range nightly.Or(15, 60) {
		s := openTest(t, filepath.Join(t.TempDir(), "p.db"))
		var work sync.WaitGroup
		for range 8 {
			work.Go(func() {
				for s.View(func(tx *Tx) error { _, err := tx.Get("thing", []byte("a")); return err }) == nil {
				}
			})
		}
		for range 20 {
			if err := s.Update(t.Context(), func(tx *Tx) error { return tx.Put("thing", []byte("a"), []byte("1")) }); err != nil {
				t.Fatal(err)
			}
		}
		ended := make(chan error, 1)
		go func() { ended <- s.Close() }()
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("Close waits for readers that wait for it")
		}
		work.Wait()
	}
}
