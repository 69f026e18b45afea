package batch

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"postern/batch/paging"
	"postern/batch/record"
	"postern/batch/table"
	"postern/event"
	"postern/store"
)

// fillBatches writes n batches of an owner that have ended, all but the oldest with
// one status, in commits of a thousand. plain leaves out what an earlier release did
// not write.
func fillBatches(t testing.TB, s *store.Store, owner uuid.UUID, n int, plain bool) (ids []uuid.UUID) {
	t.Helper()
	for len(ids) < n {
		err := s.Update(t.Context(), func(tx *store.Tx) error {
			for range min(1000, n-len(ids)) {
				status := event.BatchIsCompleted
				if len(ids) == 0 {
					status = event.BatchIsStopped
				}
				id := uuid.Must(uuid.NewV7())
				ids = append(ids, id)
				sp := record.Spec{Owner: owner, Name: fmt.Sprint("Batch ", len(ids)), Instances: []record.InstanceRef{{ID: 1, Name: "i1"}}, CreatedAt: tx.Now().UnixMilli()}
				h := record.Header{Core: table.Core{Status: status, Counts: table.Counts{Total: 1, Success: 1}}, Shares: make([]record.Share, 1), CompletedAt: sp.CreatedAt, StoppedAt: sp.CreatedAt}
				r := record.Item{Input: "4915112345678", Status: record.ItemSuccess, Instance: 1, Attempts: 1}
				row := record.EncodeRow(&sp)
				if plain {
					row = nil
				}
				for _, err := range []error{
					record.PutHeader(tx, id, &h), store.PutJSON(tx, record.BucketSpec, id[:], sp),
					store.PutJSON(tx, record.BucketMessage, id[:], record.Message{}), tx.Put(record.BucketItem, record.ItemKey(id, 0), r.Encode()),
					tx.Put(record.BucketOwner, store.Key(owner, id), row),
				} {
					if err != nil {
						return err
					}
				}
				if !plain {
					if err := record.NoteStatus(tx, owner, id, "", status); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return ids
}

func openTestStore(t testing.TB) *store.Store {
	t.Helper()
	return openStoreBy(t, store.Options{})
}

func openStoreBy(t testing.TB, o store.Options) *store.Store {
	t.Helper()
	o.Path, o.Buckets, o.NoSync, o.MinFree = filepath.Join(t.TempDir(), "b.db"), withOutbox(), true, 1
	s, err := store.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// looked returns how many records a call reads.
func looked(s *store.Store, call func()) uint64 {
	begin := s.Stats().Looked
	call()
	return s.Stats().Looked - begin
}

// TestEveryListLooksAtBoundedRecords holds the worst filters against many batches. The
// walk through all pages finds the one that fits.
func TestEveryListLooksAtBoundedRecords(t *testing.T) {
	if testing.Short() {
		t.Skip("stores many records")
	}
	const n = 3*paging.MaxExamined + 500
	s := openTestStore(t)
	ids := fillBatches(t, s, owner, n, false)
	fillBatches(t, s, uuid.New(), 1000, false)
	e := listEngine(t, s)
	for _, c := range []struct {
		name  string
		f     Filter
		total int // -1: a minimum
		most  uint64
	}{
		{"all", Filter{}, n, 1000},
		{"a status that all have", Filter{Status: []event.BatchStatus{event.BatchIsCompleted}}, n - 1, 1000},
		{"a status that one has", Filter{Status: []event.BatchStatus{event.BatchIsStopped}}, 1, 1000},
		{"a status that none has", Filter{Status: []event.BatchStatus{event.BatchProcessing}}, 0, 1000},
		{"a name that one has", Filter{Query: "bATCH 1", Name: "Batch 1"}, -1, 3 * paging.MaxExamined},
		{"a text that none has", Filter{Query: "nothing"}, -1, 3 * paging.MaxExamined},
		{"a text and a status", Filter{Query: "nothing", Status: []event.BatchStatus{event.BatchIsCompleted}}, -1, 6 * paging.MaxExamined},
		{"an instance that none has", Filter{InstanceName: "other"}, -1, 3 * paging.MaxExamined},
		{"a time before all", Filter{CreatedTo: time.UnixMilli(1)}, -1, 3 * paging.MaxExamined},
	} {
		t.Run(c.name, func(t *testing.T) {
			for owned, list := range map[bool]func(Filter, Page) (List[View], error){
				true:  func(f Filter, p Page) (List[View], error) { return e.Batches(owner, f, p) },
				false: e.AllBatches,
			} {
				var page Page
				var records []View
				for pages := 0; ; pages++ {
					var l List[View]
					var err error
					if n := looked(s, func() { l, err = list(c.f, page) }); err != nil || owned && n > c.most || n > 6*paging.MaxExamined {
						t.Fatalf("owned %t: a page looks at %d records, at most %d are allowed, %v", owned, n, c.most, err)
					}
					if owned && c.total >= 0 && (l.TotalRecords != c.total || l.TotalIsMinimum) || owned && c.total < 0 && !l.TotalIsMinimum {
						t.Fatalf("total %d, minimum %t", l.TotalRecords, l.TotalIsMinimum)
					}
					if len(records) < 60 {
						records = append(records, l.Records...)
					}
					if l.NextCursor == nil || pages == 200 || c.f.byStatusOnly() && owned {
						break
					}
					page.Next = *l.NextCursor
				}
				if c.f.Name != "" && owned && (len(records) != 1 || records[0].ID != ids[0]) {
					t.Errorf("the walk through all pages found %d batches", len(records))
				}
			}
		})
	}
}

// listEngine returns an engine that was not started.
func listEngine(t testing.TB, s *store.Store) *Engine {
	t.Helper()
	f := newFleet(1)
	e, err := New(Config{Store: s, Outbox: openOutbox(t, s), Fleet: f, NewMessageID: f.messageID})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestBackwardPagesMeetEachBatchOnce walks there and back with a filter that fits few of
// many, so that pages end where the look ends.
func TestBackwardPagesMeetEachBatchOnce(t *testing.T) {
	s := openTestStore(t)
	ids := fillBatches(t, s, owner, 500, false)
	e := listEngine(t, s)
	l := batchList{name: "batches", owner: &owner, want: Filter{Query: "7"}.wanted(), most: 30}
	forward, back, totals := pageThrough(t, func(p Page) (List[View], error) { return e.list(l, p) }, 2, func() {})
	var want []uuid.UUID
	for i, id := range slices.Backward(ids) {
		if strings.Contains(fmt.Sprint(i+1), "7") {
			want = append(want, id)
		}
	}
	for _, way := range [][]View{forward, back} {
		var got []uuid.UUID
		for _, v := range way {
			got = append(got, v.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d batches of %d, or in another order", len(got), len(want))
		}
	}
	for _, total := range totals {
		if total > len(want) {
			t.Errorf("a minimum of %d, there are %d", total, len(want))
		}
	}
}

// numbersIn returns the stored numbers of each scope, and those counted from the batches.
func numbersIn(t testing.TB, s *store.Store) (kept, counted map[string]record.ByStatus, known bool) {
	t.Helper()
	kept, counted = map[string]record.ByStatus{}, map[string]record.ByStatus{}
	err := s.View(func(tx *store.Tx) error {
		c := record.NumberChanges{}
		err := tx.Scan(record.BucketHeader, store.Range{}, func(k, _ []byte) (bool, error) {
			b, err := load(tx, uuid.UUID(k))
			if err == nil {
				c.Note(b.spec.Owner, "", b.Status)
			}
			return true, err
		})
		if err != nil {
			return err
		}
		for key, n := range c {
			delete(n, "")
			counted[key] = n
		}
		_, known, err = record.NumbersOf(tx, record.AllNumbersKey)
		if err != nil {
			return err
		}
		return tx.Scan(record.BucketNumber, store.Range{}, func(k, _ []byte) (bool, error) {
			if string(k) == string(record.CountedKey) {
				return true, nil
			}
			n, _, err := store.GetJSON[record.ByStatus](tx, record.BucketNumber, k)
			kept[string(k)] = n
			return true, err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return kept, counted, known
}

func checkNumbers(t testing.TB, s *store.Store) {
	t.Helper()
	kept, counted, known := numbersIn(t, s)
	if !known || !maps.EqualFunc(kept, counted, maps.Equal[record.ByStatus, record.ByStatus]) {
		t.Errorf("known %t: the file says %v, its batches are %v", known, kept, counted)
	}
}

// TestAnOlderFileIsCountedWhileBatchesChange interrupts the counting after each commit
// by a change, and once by a crash.
func TestAnOlderFileIsCountedWhileBatchesChange(t *testing.T) {
	s := openTestStore(t)
	ids := fillBatches(t, s, owner, 5*record.CountStep, true)
	e := listEngine(t, s)
	if l, err := e.Batches(owner, Filter{}, Page{}); err != nil || l.TotalRecords != len(ids) || l.TotalIsMinimum {
		t.Errorf("before it is counted: %d, %v", l.TotalRecords, err)
	}
	if l, err := e.Batches(owner, Filter{Status: []event.BatchStatus{event.BatchIsStopped}, Query: "batch 1"}, Page{}); err != nil || len(l.Records) != 1 {
		t.Errorf("before it is counted: %d of one status, %v", len(l.Records), err)
	}
	for i, done := 0, false; !done; i++ {
		err := s.Update(t.Context(), func(tx *store.Tx) (err error) {
			done, err = record.CountSome(tx)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if done {
			break
		}
		for _, id := range []uuid.UUID{ids[i], ids[len(ids)-1-i]} {
			if err := e.Delete(t.Context(), owner, id); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := e.Create(t.Context(), owner, draftOf(1)); err != nil {
			t.Fatal(err)
		}
	}
	checkNumbers(t, s)
	l, err := e.Batches(owner, Filter{Status: []event.BatchStatus{event.BatchIsCompleted}}, Page{Limit: 200})
	if err != nil || l.TotalRecords < 4*record.CountStep || len(l.Records) != 200 {
		t.Errorf("%d of %d records, %v", len(l.Records), l.TotalRecords, err)
	}
}

// TestNumbersThatCannotBeReadAreCountedAgain damages them.
func TestNumbersThatCannotBeReadAreCountedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openTestStore(t)
		fillBatches(t, s, owner, 30, false)
		err := s.Update(context.Background(), func(tx *store.Tx) error {
			return tx.Put(record.BucketNumber, record.OwnerNumbersKey(owner), []byte("no JSON"))
		})
		if err != nil {
			t.Fatal(err)
		}
		e := startEngine(t, s)
		if _, err := e.Create(t.Context(), owner, draftOf(1)); err != nil {
			t.Fatal(err)
		}
		l, err := e.Batches(owner, Filter{}, Page{})
		if err != nil || l.TotalRecords != 31 {
			t.Errorf("%d, %v", l.TotalRecords, err)
		}
		if err := e.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		listEngine(t, s).countAll()
		checkNumbers(t, s)
	})
}
