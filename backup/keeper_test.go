package backup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"postern/store"
)

// kept runs fn with a keeper of folder, under the fake clock of synctest.
func keeping(t *testing.T, folder string, fn func(t *testing.T, k *Keeper, fail *atomic.Pointer[error])) {
	t.Helper()
	keepingOf(t, folder, "", fn)
}

func keepingOf(t *testing.T, folder, id string, fn func(t *testing.T, k *Keeper, fail *atomic.Pointer[error])) {
	t.Helper()
	s := source(t)
	synctest.Test(t, func(t *testing.T) {
		var fail atomic.Pointer[error]
		k := NewKeeper(KeeperConfig{
			Dir: folder, ID: id, Every: time.Hour, Keep: 3,
			Make: func(ctx context.Context) (*Archive, func() error, error) {
				if err := fail.Load(); err != nil {
					return nil, nil, *err
				}
				s := s
				s.At = time.Now()
				a, err := New(ctx, s)
				return a, func() error { return nil }, err
			},
		})
		k.Start()
		fn(t, k, &fail)
		if err := k.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

func listed(t *testing.T, folder string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		names = append(names, f.Name())
	}
	return names
}

func TestScheduleAndRetention(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new", "backups")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	stranger := filepath.Join(folder, "postern-notes.tar")
	left := filepath.Join(folder, "postern-20200101T000000Z.tar.unfinished-postern-123")
	for _, path := range []string{stranger, left} {
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	keeping(t, folder, func(t *testing.T, k *Keeper, _ *atomic.Pointer[error]) {
		began := time.Now()
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := listed(t, folder); len(got) != 2 || !slices.Contains(got, Name(began, "", false)) {
			t.Errorf("at once: %v", got)
		}
		time.Sleep(5 * time.Hour)
		synctest.Wait()
		got := listed(t, folder)
		if len(got) != 4 || !slices.Contains(got, "postern-notes.tar") || slices.Contains(got, Name(began, "", false)) {
			t.Errorf("after some hours: %v", got)
		}
		if last := k.LastSuccess(); time.Since(last) > time.Hour+2*time.Minute || k.Warning() != "" {
			t.Errorf("last success %v, warning %q", last, k.Warning())
		}
	})
	for _, name := range listed(t, folder) {
		if name == "postern-notes.tar" {
			continue
		}
		f, err := os.Open(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := inspect(t.Context(), f); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		_ = f.Close()
	}
	// The next program continues from the existing backups.
	keeping(t, folder, func(t *testing.T, k *Keeper, _ *atomic.Pointer[error]) {
		if k.LastSuccess().IsZero() {
			t.Error("the existing backup was not found")
		}
	})
}

func TestFailedBackupIsReportedAndRetried(t *testing.T) {
	folder := t.TempDir()
	keeping(t, folder, func(t *testing.T, k *Keeper, fail *atomic.Pointer[error]) {
		time.Sleep(3*time.Hour + 10*time.Minute)
		synctest.Wait()
		before := listed(t, folder)
		boom := errors.New("the folder is gone")
		fail.Store(&boom)
		time.Sleep(10 * time.Hour)
		synctest.Wait()
		if after := listed(t, folder); !slices.Equal(before, after) {
			t.Errorf("%v became %v", before, after)
		}
		if w := k.Warning(); !strings.Contains(w, "the last backup failed") || strings.Contains(w, "folder") || !strings.Contains(w, "the newest backup is of 2") {
			t.Errorf("warning %q", w)
		}
		if time.Since(k.LastSuccess()) < 10*time.Hour {
			t.Error("a failure counts as a success")
		}
		fail.Store(nil)
		time.Sleep(retryAfter + lookEvery)
		synctest.Wait()
		if after := listed(t, folder); slices.Equal(before, after) || k.Warning() != "" {
			t.Errorf("no retry: %v, %q", after, k.Warning())
		}
		busy := error(store.ErrSnapshotting)
		fail.Store(&busy)
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if k.Warning() != "" {
			t.Errorf("a concurrent backup counts as a failure: %q", k.Warning())
		}
	})
}

func TestKeeperState(t *testing.T) {
	folder := t.TempDir()
	keeping(t, folder, func(t *testing.T, k *Keeper, fail *atomic.Pointer[error]) {
		time.Sleep(time.Minute)
		synctest.Wait()
		is := k.State()
		info, err := os.Stat(filepath.Join(folder, listed(t, folder)[0]))
		if err != nil {
			t.Fatal(err)
		}
		if is.Every != time.Hour || is.Last.IsZero() || is.Bytes != info.Size() || is.Failed != nil || !is.FailedAt.IsZero() {
			t.Errorf("after the first: %+v, the file has %d bytes", is, info.Size())
		}
		why := errors.New("no space left")
		fail.Store(&why)
		time.Sleep(time.Hour)
		synctest.Wait()
		if now := k.State(); !errors.Is(now.Failed, why) || now.FailedAt.IsZero() || !now.Last.Equal(is.Last) {
			t.Errorf("after a failure: %+v", now)
		}
		fail.Store(nil)
		time.Sleep(time.Hour)
		synctest.Wait()
		if now := k.State(); now.Failed != nil || !now.FailedAt.IsZero() || !now.Last.After(is.Last) {
			t.Errorf("after the next: %+v", now)
		}
	})
	if again := NewKeeper(KeeperConfig{Dir: folder}).State(); again.Last.IsZero() || again.Bytes == 0 {
		t.Errorf("after a start: %+v", again)
	}
}

// TestRetentionPerDataFile: two programs share a folder, and each counts only its own
// backups.
func TestRetentionPerDataFile(t *testing.T) {
	folder := t.TempDir()
	const red, blue = "0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"
	hours := func(id string, n int) {
		keepingOf(t, folder, id, func(t *testing.T, k *Keeper, _ *atomic.Pointer[error]) {
			if !k.LastSuccess().IsZero() {
				t.Errorf("%s counts another's backup of %v as its own", id, k.LastSuccess())
			}
			time.Sleep(time.Duration(n) * time.Hour)
			synctest.Wait()
		})
	}
	hours(red, 10)
	hours(blue, 20)
	of := map[string]int{}
	for _, name := range listed(t, folder) {
		k, is := parse(name)
		if !is {
			t.Errorf("%s was not parsed as a backup", name)
		}
		of[k.id]++
	}
	if len(of) != 2 || of[red[:8]] != 3 || of[blue[:8]] != 3 {
		t.Errorf("%v", of)
	}
	for _, id := range []string{red, blue} {
		if name, _, err := Newest(folder, id); err != nil || !strings.Contains(name, "-"+id[:8]+".tar") {
			t.Errorf("newest of %s: %q, %v", id, name, err)
		}
	}
}

// TestBackupsOfFormerReleaseCountAsOwn, unless other data files use the folder: then
// their owner is unknown.
func TestBackupsOfFormerReleaseCountAsOwn(t *testing.T) {
	const own, other = "0123456789abcdef0123456789abcdef", "fedcba98"
	former := []string{"postern-19990101T000000Z.tar", "postern-19990102T000000Z.tar.age", "postern-19990103T000000Z.tar", "postern-19990104T000000Z.tar"}
	for what, beside := range map[string][]string{"alone": nil, "beside another": {"postern-19990105T000000Z-" + other + ".tar"}} {
		folder := t.TempDir()
		for _, name := range append(slices.Clone(former), beside...) {
			if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if name, _, err := Newest(folder, own); err != nil || (name == former[3]) != (beside == nil) {
			t.Errorf("%s the newest is %q, %v", what, name, err)
		}
		keepingOf(t, folder, own, func(*testing.T, *Keeper, *atomic.Pointer[error]) {
			time.Sleep(10 * time.Minute)
			synctest.Wait()
		})
		left := listed(t, folder)
		if beside == nil && (len(left) != 3 || slices.Contains(left, former[1])) || beside != nil && len(left) != 6 {
			t.Errorf("%s: %v", what, left)
		}
	}
}

// TestBackupsNamedByClockAheadGoFirst: backups made under a clock ten years ahead do not
// displace those of the following days.
func TestBackupsNamedByClockAheadGoFirst(t *testing.T) {
	folder := t.TempDir()
	const id = "0123456789abcdef0123456789abcdef"
	for n := range 3 {
		at := time.Date(2036, 1, 1, n, 0, 0, 0, time.UTC)
		if err := os.WriteFile(filepath.Join(folder, Name(at, id, false)), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	keepingOf(t, folder, id, func(t *testing.T, _ *Keeper, _ *atomic.Pointer[error]) {
		for hours, ahead := range []int{2, 1, 0} { // three are kept
			time.Sleep(time.Minute)
			synctest.Wait()
			names := listed(t, folder)
			future := slices.IndexFunc(names, func(name string) bool { k, _ := parse(name); return k.at.After(time.Now()) })
			if n := len(names) - max(future, 0); future < 0 && ahead != 0 || future >= 0 && n != ahead || len(names) != 3 {
				t.Errorf("after %d hours: %v", hours, names)
			}
			time.Sleep(59 * time.Minute)
			synctest.Wait()
		}
	})
}
