package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"

	"postern/store/schema"
)

var (
	thing = schema.Bucket{Name: "thing", Owner: "test", Key: "any", Value: "any"}
	entry = schema.Bucket{Name: "entry", Owner: "test", Key: "number", Value: "when it was made", Append: true, Guards: true, When: entryMade}

	declared = []schema.Bucket{thing, entry}
)

func entryMade(_, value []byte) time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(value))).UTC()
}

// appendEntries writes records in rising order, a commit each.
func appendEntries(t testing.TB, s *Store, n int) {
	t.Helper()
	for range n {
		change(t, s, func(tx *Tx) error {
			id, err := tx.NextID("entry")
			if err != nil {
				return err
			}
			return tx.Put("entry", Key(id), Key(uint64(tx.Now().UnixMilli())))
		})
	}
}

func view[T any](t testing.TB, s *Store, fn func(tx *Tx) (T, error)) (v T) {
	t.Helper()
	err := s.View(func(tx *Tx) (err error) {
		v, err = fn(tx)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func change(t testing.TB, s *Store, fn func(tx *Tx) error) {
	t.Helper()
	if err := s.Update(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func openTest(t testing.TB, path string, change ...func(*Options)) *Store {
	t.Helper()
	o := Options{Path: path, Buckets: declared, NoSync: true, MinFree: 1}
	for _, c := range change {
		c(&o)
	}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func put(t testing.TB, s *Store, key, value string) {
	t.Helper()
	err := s.Update(t.Context(), func(tx *Tx) error { return tx.Put("thing", []byte(key), []byte(value)) })
	if err != nil {
		t.Fatal(err)
	}
}

func get(t testing.TB, s *Store, key string) string {
	t.Helper()
	var value []byte
	err := s.View(func(tx *Tx) (err error) {
		value, err = tx.Get("thing", []byte(key))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(value)
}

func TestWhatWasCommittedIsThereAfterReopening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "folder", "p.db")
	s := openTest(t, path)
	if !s.WasClean() {
		t.Error("a new file is not clean")
	}
	put(t, s, "a", "1")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openTest(t, path)
	if got := get(t, s, "a"); got != "1" || !s.WasClean() {
		t.Errorf("after reopening: a = %q, clean = %t", got, s.WasClean())
	}
}

func TestAFailedClosureIsUndoneAlone(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "p.db"))
	boom := errors.New("boom")
	release := make(chan struct{})
	started := make(chan struct{})
	var first sync.Once
	var wg sync.WaitGroup
	// The first call holds the writer until the others wait, so that they share a group.
	wg.Go(func() {
		_ = s.Update(t.Context(), func(*Tx) error {
			first.Do(func() { close(started) })
			<-release
			return nil
		})
	})
	<-started
	errs := make([]error, 20)
	for i := range errs {
		wg.Go(func() {
			errs[i] = s.Update(t.Context(), func(tx *Tx) error {
				if err := tx.Put("thing", Key(i), []byte("x")); err != nil {
					return err
				}
				if i%3 == 0 {
					return boom
				}
				return nil
			})
		})
	}
	waitFor(t, func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.queue) == len(errs) })
	close(release)
	wg.Wait()
	for i, err := range errs {
		if failed := i%3 == 0; errors.Is(err, boom) != failed || (get(t, s, string(Key(i))) == "") != failed {
			t.Errorf("call %d: err %v, value %q", i, err, get(t, s, string(Key(i))))
		}
	}
}

func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("condition never held")
		}
	}
}

func TestAPanicReachesItsCallerAndNobodyElse(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "p.db"))
	func() {
		defer func() {
			if p := recover(); p == nil || !strings.Contains(fmt.Sprint(p), "oops") {
				t.Errorf("recovered %v", p)
			}
		}()
		_ = s.Update(t.Context(), func(tx *Tx) error {
			_ = tx.Put("thing", []byte("p"), nil)
			panic("oops")
		})
	}()
	put(t, s, "after", "ok")
	if get(t, s, "after") != "ok" {
		t.Error("store is stuck after a panic")
	}
	err := s.View(func(tx *Tx) error {
		if tx.Has("thing", []byte("p")) {
			return errors.New("the panicking closure left a write")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestCancelledWaitingCallNeverRuns(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "p.db"))
	release, started := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = s.Update(t.Context(), func(*Tx) error { close(started); <-release; return nil })
	})
	<-started
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ran := false
	err := s.Update(ctx, func(*Tx) error { ran = true; return nil })
	close(release)
	wg.Wait()
	if !errors.Is(err, context.Canceled) || ran {
		t.Errorf("err %v, ran %t", err, ran)
	}
	put(t, s, "next", "1")
}

func TestSubmittedCallPrecedesLaterOnes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	s := openTest(t, path)
	var order []string
	step := func(name string, err error) func(*Tx) error {
		return func(tx *Tx) error {
			order = append(order, name)
			return errors.Join(err, tx.Put("thing", Key(name), []byte(name)))
		}
	}
	failed := errors.New("refused")
	first, err1 := s.Submit(step("a", nil))
	second, err2 := s.Submit(step("b", failed))
	if err := errors.Join(err1, err2, s.Update(t.Context(), step("c", nil))); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := first.Wait(); err != nil {
			t.Errorf("the first: %v", err)
		}
		if err := second.Wait(); !errors.Is(err, failed) {
			t.Errorf("the second: %v", err)
		}
		if !first.Done() || !second.Done() {
			t.Error("what was waited for is not done")
		}
	}
	if at := slices.Index(order, "a"); at < 0 || at > slices.Index(order, "c") {
		t.Errorf("order %v", order)
	}
	if get(t, s, "a") != "a" || get(t, s, "b") != "" || get(t, s, "c") != "c" {
		t.Errorf("stored: a %q, b %q, c %q", get(t, s, "a"), get(t, s, "b"), get(t, s, "c"))
	}
	if _, err := s.Submit(step("d", nil)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Submit(step("e", nil)); !errors.Is(err, ErrClosed) {
		t.Errorf("Submit after Close: %v", err)
	}
	if s = openTest(t, path); get(t, s, "d") != "d" {
		t.Error("what was submitted before Close is not in the file")
	}
}

func TestCloseCommitsWhatWaitsAndRefusesTheRest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	s := openTest(t, path)
	var wg sync.WaitGroup
	errs := make([]error, 50)
	for i := range errs {
		wg.Go(func() {
			errs[i] = s.Update(t.Context(), func(tx *Tx) error { return tx.Put("thing", Key(i), []byte("x")) })
		})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if err := s.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if err := s.View(func(*Tx) error { return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("View after Close: %v", err)
	}
	s = openTest(t, path)
	for i, err := range errs {
		stored := get(t, s, string(Key(i))) == "x"
		if stored != (err == nil) || err != nil && !errors.Is(err, ErrClosed) {
			t.Errorf("call %d: err %v, stored %t", i, err, stored)
		}
	}
}

func TestScanSelectsByPrefixBoundsDirectionAndLimit(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "p.db"))
	for _, k := range []string{"a1", "b1", "b2", "b3", "c1", "\xff\xff", "\xff\xff1"} {
		put(t, s, k, "v"+k)
	}
	for name, c := range map[string]struct {
		r    Range
		want string
	}{
		"everything":             {Range{}, "a1 b1 b2 b3 c1 \xff\xff \xff\xff1"},
		"prefix":                 {Range{Prefix: []byte("b")}, "b1 b2 b3"},
		"prefix without an end":  {Range{Prefix: []byte("\xff\xff")}, "\xff\xff \xff\xff1"},
		"prefix, reverse":        {Range{Prefix: []byte("b"), Reverse: true}, "b3 b2 b1"},
		"last prefix, reverse":   {Range{Prefix: []byte("\xff\xff"), Reverse: true}, "\xff\xff1 \xff\xff"},
		"from is inclusive":      {Range{From: []byte("b2"), Limit: 2}, "b2 b3"},
		"before is exclusive":    {Range{Before: []byte("b2")}, "a1 b1"},
		"before, reverse, limit": {Range{Before: []byte("b3"), Reverse: true, Limit: 2}, "b2 b1"},
		"reverse over the end":   {Range{Before: []byte("\xff\xff\xff"), Reverse: true, Limit: 1}, "\xff\xff1"},
		"nothing":                {Range{Prefix: []byte("bb")}, ""},
	} {
		var keys []string
		err := s.View(func(tx *Tx) error {
			return tx.Scan("thing", c.r, func(k, v []byte) (bool, error) {
				if string(v) != "v"+string(k) {
					return false, fmt.Errorf("value of %q is %q", k, v)
				}
				keys = append(keys, string(k))
				return true, nil
			})
		})
		if got := strings.Join(keys, " "); err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
}

func TestDamagedRecordIsReportedAndNeverReturned(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	s := openTest(t, path)
	put(t, s, "good", "1")
	put(t, s, "bad", "1")
	err := s.db.Update(func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte("thing"))
		raw := append([]byte(nil), b.Get([]byte("bad"))...)
		raw[len(raw)-1] ^= 4
		return b.Put([]byte("bad"), raw)
	})
	if err != nil {
		t.Fatal(err)
	}
	err = s.View(func(tx *Tx) error {
		_, err := tx.Get("thing", []byte("bad"))
		return err
	})
	if !errors.Is(err, ErrDamaged) {
		t.Errorf("Get: %v", err)
	}
	n := 0
	err = s.View(func(tx *Tx) error {
		return tx.Scan("thing", Range{}, func(k, _ []byte) (bool, error) { n++; return true, nil })
	})
	if err != nil || n != 1 {
		t.Errorf("Scan: %d records, %v", n, err)
	}
	if got := s.Stats().Damaged; got != 2 {
		t.Errorf("damaged counter is %d", got)
	}
}

func TestNumbersAreNotReusedAfterDeletion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	next := func(s *Store) (id uint64) {
		err := s.Update(t.Context(), func(tx *Tx) (err error) {
			id, err = tx.NextID("thing")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	s := openTest(t, path)
	if a, b := next(s), next(s); a != 1 || b != 2 {
		t.Errorf("first ids %d, %d", a, b)
	}
	_ = s.Close()
	if c := next(openTest(t, path)); c != 3 {
		t.Errorf("id after reopening %d", c)
	}
}

func TestUndeclaredBucketAndTwoOwnersAreRefused(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "p.db"))
	err := s.View(func(tx *Tx) error { _, err := tx.Get("nothing", []byte("k")); return err })
	if !errors.Is(err, ErrUnknownBucket) {
		t.Errorf("undeclared bucket: %v", err)
	}
	_, err = Open(Options{Path: filepath.Join(t.TempDir(), "q.db"), Buckets: []schema.Bucket{thing, {Name: "thing", Owner: "other"}}})
	if err == nil || !strings.Contains(err.Error(), "test") || !strings.Contains(err.Error(), "other") {
		t.Errorf("two owners: %v", err)
	}
}

func TestATransactionHasOneTimestamp(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "p.db"))
	err := s.Update(t.Context(), func(tx *Tx) error {
		a := tx.Now()
		time.Sleep(2 * time.Millisecond)
		if !a.Equal(tx.Now()) || a.Location() != time.UTC || a.Nanosecond()%1e6 != 0 {
			return fmt.Errorf("%v then %v", a, tx.Now())
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestAProbeFailsWhileTheWriterHangs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	synctest.Test(t, func(t *testing.T) {
		s := openTest(t, path)
		if err := s.Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
		begun, goOn := make(chan struct{}), make(chan struct{})
		var hanging sync.WaitGroup
		hanging.Go(func() {
			_ = s.Update(context.Background(), func(*Tx) error {
				close(begun)
				<-goOn
				return nil
			})
		})
		<-begun
		if err := s.Probe(t.Context()); err == nil || !strings.Contains(err.Error(), "its disk may hang") {
			t.Errorf("%v", err)
		}
		close(goOn)
		hanging.Wait()
		commits := s.Stats().Commits
		if err := s.Probe(t.Context()); err != nil || s.Stats().Commits != commits {
			t.Errorf("%v, %d commits", err, s.Stats().Commits-commits)
		}
		_ = s.Close()
		if err := s.Probe(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("closed: %v", err)
		}
	})
}

// Every caller of Close gets the lock released, however many call it at once. In the
// bubble, a caller that finds the lock taken sees time pass.
func TestCloseReturnsWhenTheFileIsFree(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	synctest.Test(t, func(t *testing.T) {
		for range 100 {
			s := openTest(t, path)
			put(t, s, "a", "1")
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					began := time.Now()
					if err := s.Close(); err != nil {
						t.Error(err)
					}
					f, err := lockShared(path)
					if err != nil || time.Since(began) > 0 {
						t.Errorf("after the close the lock was waited for: %v", err)
						return
					}
					_ = f.Close()
				})
			}
			all.Wait()
		}
	})
}

func TestOnCommitTellsOfEachCommit(t *testing.T) {
	var calls int
	s, err := Open(Options{Path: filepath.Join(t.TempDir(), "t.db"), Buckets: declared, OnCommit: func(n int, took time.Duration) {
		if took <= 0 {
			t.Errorf("took %v", took)
		}
		calls += n
	}})
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, "a", "1")
	put(t, s, "a", "2")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if calls < 2 {
		t.Errorf("%d calls", calls)
	}
}
