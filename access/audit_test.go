package access

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"postern/store"
)

var errChange = errors.New("the change was refused")

// TestAuditRecordCommitsWithItsChange: after a power cut both are stored, or neither.
func TestAuditRecordCommitsWithItsChange(t *testing.T) {
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
	r.again() // before Keep
	if all := r.list(r.book()); len(all) != 1 || all[0].Subject != "shop" || all[0].Actor != "global" || all[0].Action != "instance.create" || all[0].From != "192.0.2.1" {
		t.Errorf("%+v", all)
	}
	refused := r.book().Note("global", "instance.create", "x", "")
	if err := r.s.Update(refused.Along(t.Context()), func(*store.Tx) error { return errChange }); !errors.Is(err, errChange) {
		t.Fatal(err)
	}
	if all := r.list(r.book()); len(all) != 1 {
		t.Errorf("a rejected change is in the log: %+v", all)
	}
}

// TestFailureAfterCommitKeepsAuditRecord: the log has a committed change even if a later
// step failed, and no change that did not commit.
func TestFailureAfterCommitKeepsAuditRecord(t *testing.T) {
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

func TestAuditRecordIsStoredOnceAcrossCommits(t *testing.T) {
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

func TestAuditLogHonorsRetention(t *testing.T) {
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
		b.Start(retention, DefaultMaxEntries)
		note := func(n int) {
			for i := range n {
				if err := b.Note(fmt.Sprint("user:", i/rowsPerMinute), "log.change", "", "").Keep(t.Context()); err != nil {
					t.Error(err)
				}
			}
		}
		count := func() int {
			page, err := b.List(Filter{}, 0, 0, 1)
			if err != nil {
				t.Error(err)
			}
			return page.Total
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

// TestAuditLogFilters checks both directions; no page exceeds its limit.
func TestAuditLogFilters(t *testing.T) {
	inTime(t, func(t *testing.T, s *store.Store) {
		b, err := OpenBook(s, nil)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for i := range 60 {
			actor, action, subject := []string{"global", "instance:a", "key"}[i%3], []string{"webhook.change", "webhook.options.change", "webhooks.no", "limits.change"}[i%4], []string{"a", "b"}[i%2]
			if err := b.Note(actor, action, subject, "").Keep(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		ids := func(all []Record) (ids []uint64) {
			for _, r := range all {
				ids = append(ids, r.ID)
			}
			return ids
		}
		for _, c := range []struct {
			name string
			f    Filter
			want func(i int) bool
		}{
			{"nothing", Filter{}, func(int) bool { return true }},
			{"who", Filter{Actor: "instance:a"}, func(i int) bool { return i%3 == 1 }},
			{"an action", Filter{Action: "webhook.options.change"}, func(i int) bool { return i%4 == 1 }},
			{"a kind of actions", Filter{Action: "webhook"}, func(i int) bool { return i%4 < 2 }},
			{"to what", Filter{Subject: "b"}, func(i int) bool { return i%2 == 1 }},
			{"since", Filter{Since: began.Add(10 * time.Minute)}, func(i int) bool { return i >= 10 }},
			{"until", Filter{Until: began.Add(10 * time.Minute)}, func(i int) bool { return i < 10 }},
			{"all of it", Filter{"global", "webhook", "a", began.Add(time.Minute), began.Add(50 * time.Minute)}, func(i int) bool { return i%12 == 0 && i > 0 && i < 50 }},
			{"none", Filter{Actor: "glob"}, func(int) bool { return false }},
		} {
			var want []uint64
			for i := 59; i >= 0; i-- {
				if c.want(i) {
					want = append(want, uint64(i)+1)
				}
			}
			var got, back []uint64
			p, pages := Page{}, 0
			for {
				if p, err = b.List(c.f, p.Older, 0, 4); err != nil || len(p.Records) > 4 {
					t.Fatalf("%s: %d records, %v", c.name, len(p.Records), err)
				}
				got = append(got, ids(p.Records)...)
				if pages++; p.Older == 0 {
					break
				}
			}
			if !slices.Equal(got, want) || pages > len(want)/4+1 {
				t.Errorf("%s: %v on %d pages, want %v", c.name, got, pages, want)
			}
			for back = ids(p.Records); p.Newer > 0; back = append(ids(p.Records), back...) {
				if p, err = b.List(c.f, 0, p.Newer, 4); err != nil || p.Older == 0 {
					t.Fatalf("%s: backward: %+v, %v", c.name, p, err)
				}
			}
			if !slices.Equal(back, want) {
				t.Errorf("%s: %v backward, want %v", c.name, back, want)
			}
		}
	})
}

// TestAuditPageReadsBoundedRecords and returns where to continue.
func TestAuditPageReadsBoundedRecords(t *testing.T) {
	r := newRig(t)
	b := r.book()
	err := r.s.Update(t.Context(), func(tx *store.Tx) error {
		for id := range uint64(MaxLook + 10) {
			if err := store.PutJSON(tx, bucketAudit, store.Key(id+1), Record{Actor: "global"}); err != nil {
				return err
			}
		}
		return store.PutJSON(tx, bucketAudit, store.Key(uint64(1)), Record{Actor: "sought"})
	})
	if err != nil {
		t.Fatal(err)
	}
	f := Filter{Actor: "sought"}
	p, err := b.List(f, 0, 0, 50)
	if err != nil || len(p.Records) != 0 || p.Older != 11 || p.Newer != 0 {
		t.Fatalf("first page: %+v, %v", p, err)
	}
	if p, err = b.List(f, p.Older, 0, 50); err != nil || len(p.Records) != 1 || p.Older != 0 {
		t.Errorf("second page: %+v, %v", p, err)
	}
	if p, err = b.List(Filter{Actor: "absent"}, 0, 1, 50); err != nil || len(p.Records) != 0 || p.Newer != MaxLook+1 {
		t.Errorf("backward: %+v, %v", p, err)
	}
}
