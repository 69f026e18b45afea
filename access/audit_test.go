package access

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"postern/store"
)

var errChange = errors.New("the change was refused")

// TestARecordCommitsWithWhatItTellsOf: after a power cut at any moment both are there,
// or neither.
func TestARecordCommitsWithWhatItTellsOf(t *testing.T) {
	r := newRig(t)
	b := r.book()
	e := b.Note("global", "instance.create", "", "192.0.2.1")
	err := r.s.Update(e.Along(t.Context()), func(tx *store.Tx) error {
		e.About("shop")
		return tx.Put(bucketUses, []byte("what is changed"), []byte("{}"))
	})
	if err != nil {
		t.Fatal(err)
	}
	r.again() // before anybody says that it is to be kept
	if all := r.list(r.book()); len(all) != 1 || all[0].Subject != "shop" || all[0].Actor != "global" || all[0].Action != "instance.create" || all[0].From != "192.0.2.1" {
		t.Errorf("%+v", all)
	}
	refused := r.book().Note("global", "instance.create", "x", "")
	if err := r.s.Update(refused.Along(t.Context()), func(*store.Tx) error { return errChange }); !errors.Is(err, errChange) {
		t.Fatal(err)
	}
	if all := r.list(r.book()); len(all) != 1 {
		t.Errorf("what was refused is in the log: %+v", all)
	}
}

// TestAFaultAfterTheCommitKeepsItsRecord: what was changed is in the log, whatever went
// wrong behind it; what was not is not.
func TestAFaultAfterTheCommitKeepsItsRecord(t *testing.T) {
	r := newRig(t)
	b := r.book()
	for _, commits := range []int{0, 1} {
		e := b.Note("global", "instance.delete", "a", "")
		for range commits {
			if err := r.s.Update(e.Along(t.Context()), func(*store.Tx) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		e.Leave()
		if n := len(r.list(b)); n != commits {
			t.Errorf("%d commits leave %d records", commits, n)
		}
	}
}

func TestARecordIsKeptOnceHoweverManyCommitsItsChangeTakes(t *testing.T) {
	r := newRig(t)
	b := r.book()
	for _, commits := range []int{0, 1, 5} {
		before := len(r.list(b))
		e := b.Note("global", "backup.create", "", "")
		for range commits {
			if err := r.s.Update(e.Along(t.Context()), func(*store.Tx) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.Keep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := r.s.Update(e.Along(t.Context()), func(*store.Tx) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if n := len(r.list(b)) - before; n != 1 {
			t.Errorf("%d commits leave %d records", commits, n)
		}
		w := b.Note("global", "instance.delete", "", "")
		for range commits {
			if err := r.s.Update(w.Along(t.Context()), func(*store.Tx) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Withdraw(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := len(r.list(b)) - before; n != 1 {
			t.Errorf("%d commits of what failed leave %d records", commits, n-1)
		}
	}
}

func TestTheLogIsKeptForItsRetention(t *testing.T) {
	r := newRig(t)
	synctest.Test(t, func(t *testing.T) {
		s, err := store.Open(store.Options{Path: r.path + "2", Buckets: Buckets(), NoSync: true, MinFree: 1})
		if err != nil {
			t.Fatal(err)
		}
		b, err := OpenBook(s, nil)
		if err != nil {
			t.Fatal(err)
		}
		const retention = 2160 * time.Hour
		b.Start(retention)
		note := func(n int) {
			for range n {
				if err := b.Note("global", "log.change", "", "").Keep(t.Context()); err != nil {
					t.Error(err)
				}
			}
		}
		count := func() int {
			_, total, err := b.List(0, 0, 1)
			if err != nil {
				t.Error(err)
			}
			return total
		}
		note(1200)
		time.Sleep(retention / 2)
		note(3)
		time.Sleep(retention/2 - time.Hour)
		if n := count(); n != 1203 {
			t.Errorf("%d records within the retention", n)
		}
		time.Sleep(retention / 10)
		if n := count(); n != 3 {
			t.Errorf("%d records after it", n)
		}
		if err := b.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
