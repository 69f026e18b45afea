package kept

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"postern/event"
	"postern/media/cache"
	"postern/store"
)

// TestGivenUpFileLeavesNothing: an attempt put it, and the commit that would have said so failed.
func TestGivenUpFileLeavesNothing(t *testing.T) {
	s, key := newStore(t), cache.Key{Instance: 1, Message: 7}
	k, err := Open(Config{Store: s, Enabled: true, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	f := k.at.(*folder)
	to, err := f.create(key)
	if err == nil {
		err = errors.Join(f.put(t.Context(), key, to, 0, [32]byte{}), s.Update(t.Context(), func(tx *store.Tx) error {
			return put(tx, 1, 7, Record{}, Record{State: Pending, Since: 1, Due: 1})
		}))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		cause error
		there bool
	}{{errors.New("no answer"), true}, {event.ErrMediaGone, false}} {
		if err := errors.Join(k.failed(key, c.cause), k.clear()); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(f.path(key)); (err == nil) != c.there {
			t.Errorf("after %v: %v", c.cause, err)
		}
	}
}

// TestRemovalWaitsForPut: neither a removal nor a sweep touches a file that is being put.
func TestRemovalWaitsForPut(t *testing.T) {
	s, key := newStore(t), cache.Key{Instance: 1, Message: 7}
	k, err := Open(Config{Store: s, Enabled: true, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	f := k.at.(*folder)
	to, err := f.create(key)
	if err == nil {
		err = errors.Join(f.put(t.Context(), key, to, 0, [32]byte{}), s.Update(t.Context(), func(tx *store.Tx) error {
			return errors.Join(tx.Put(goneBucket, store.Key(int64(1), int64(7)), store.Key(int64(0))), tx.Put(goneBucket, store.Key(int64(1), int64(0)), store.Key(int64(0))))
		}))
	}
	if err != nil || !k.hold(key) {
		t.Fatal(err)
	}
	for _, there := range []bool{true, false} {
		_, _, err := k.sweep()
		if err := errors.Join(err, k.clear()); err != nil {
			t.Fatal(err)
		}
		left, err := k.ending(nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(f.path(key)); (err == nil) != there || (len(left) == 2) != there {
			t.Errorf("held %t: %v, %d rows", there, err, len(left))
		}
		k.release(key)
	}
}

// TestUsagesCountKeptFiles by instance.
func TestUsagesCountKeptFiles(t *testing.T) {
	s := newStore(t)
	k, err := Open(Config{Store: s, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Update(context.Background(), func(tx *store.Tx) (err error) {
		for i, r := range []Record{{State: Stored, Size: 5}, {State: Stored, Size: 7}, {State: Pending, Size: 9}, {State: Removed, Size: 11}} {
			r.StoredAt = event.At(time.Now())
			err = errors.Join(err, put(tx, 1, int64(i+1), Record{}, r))
		}
		return errors.Join(err, put(tx, 2, 9, Record{}, Record{State: Stored, Size: 1, StoredAt: event.At(time.Now())}))
	})
	if err != nil {
		t.Fatal(err)
	}
	u, err := k.Usages()
	if err != nil || len(u) != 2 || u[1] != (Usage{2, 12}) || u[2] != (Usage{1, 1}) {
		t.Errorf("%v, %v", u, err)
	}
}
