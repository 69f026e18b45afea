package access

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"postern/store"
)

// inBook runs script with a started book in a synctest bubble.
func inBook(t *testing.T, maxEntries int, script func(t *testing.T, b *Book)) {
	t.Helper()
	inTime(t, func(t *testing.T, s *store.Store) {
		b, err := OpenBook(s, nil)
		if err != nil {
			t.Fatal(err)
		}
		b.Start(0, maxEntries)
		script(t, b)
		if err := b.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func keep(t *testing.T, b *Book, actor string, n int) {
	t.Helper()
	for range n {
		if err := b.Note(actor, "session.create", "", "192.0.2.1").Keep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func kept(t *testing.T, b *Book, f Filter) []Record {
	t.Helper()
	page, err := b.List(f, 0, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return page.Records
}

func TestActorWritesSixtyRecordsAMinute(t *testing.T) {
	inBook(t, 1000, func(t *testing.T, b *Book) {
		keep(t, b, "a", 100)
		keep(t, b, "b", 10)
		if n := len(kept(t, b, Filter{Actor: "a"})); n != 60 {
			t.Errorf("%d rows at once", n)
		}
		time.Sleep(time.Minute - time.Millisecond)
		all := kept(t, b, Filter{Actor: "a"})
		if len(all) != 61 || all[0].Action != MoreAction || all[0].Count != 40 || all[0].Subject != "40 more: session.create 40" || all[0].From != "192.0.2.1" {
			t.Errorf("%d rows by the minute's end, the last %+v", len(all), all[0])
		}
		if n := len(kept(t, b, Filter{Actor: "b"})); n != 10 {
			t.Errorf("%d rows of another actor", n)
		}
		time.Sleep(time.Millisecond)
		keep(t, b, "a", 1)
		if n := len(kept(t, b, Filter{Actor: "a"})); n != 62 {
			t.Errorf("%d rows in the next minute", n)
		}
	})
}

func TestSteadyFloodWritesBoundedRecords(t *testing.T) {
	inBook(t, 10_000, func(t *testing.T, b *Book) {
		for range 600 { // ten minutes, five a second
			keep(t, b, "a", 5)
			time.Sleep(time.Second)
		}
		time.Sleep(time.Minute)
		rows, changes := 0, 0
		for _, r := range kept(t, b, Filter{}) {
			rows++
			changes += max(1, r.Count)
		}
		if rows > 10*62 || changes != 3000 {
			t.Errorf("%d rows stand for %d changes", rows, changes)
		}
	})
}

func TestWithdrawnRecordsDoNotCount(t *testing.T) {
	inBook(t, 1000, func(t *testing.T, b *Book) {
		for range 200 {
			if err := b.Note("a", "key.create", "", "").Withdraw(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		keep(t, b, "a", 60)
		if n := len(kept(t, b, Filter{})); n != 60 {
			t.Errorf("%d rows", n)
		}
	})
}

func TestStopWritesTheCount(t *testing.T) {
	r := newRig(t)
	b := r.book()
	b.Start(0, 1000)
	keep(t, b, "a", 70)
	if err := b.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if all := r.list(b); len(all) != 61 || all[0].Count != 10 {
		t.Errorf("%d rows, the last %+v", len(all), all[0])
	}
}

func TestLogHasMaxEntriesAtMost(t *testing.T) {
	inBook(t, 30, func(t *testing.T, b *Book) {
		for i := range 100 {
			keep(t, b, fmt.Sprint("user:", i), 2)
		}
		all := kept(t, b, Filter{})
		if len(all) != 30 || all[0].ID != 200 || all[29].ID != 171 {
			t.Errorf("%d rows from %d to %d", len(all), all[len(all)-1].ID, all[0].ID)
		}
	})
}

// TestIdleActorsAreForgotten: actors without recent records take no memory.
func TestIdleActorsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newPaces()
		for i := range 100_000 {
			all.take(fmt.Sprint(i), time.Now())
			time.Sleep(time.Second)
		}
		if n := len(all.actors); n > 200 {
			t.Errorf("%d actors", n)
		}
	})
}
