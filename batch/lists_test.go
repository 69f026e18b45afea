package batch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"postern/batch/record"
	"postern/event"
	"postern/store"
)

// pageThrough pages through a list to its end and back to its beginning, and calls
// change between the pages. It returns what it saw each way, and the totals.
func pageThrough[T any](t *testing.T, list func(Page) (List[T], error), limit int, change func()) (there, back []T, totals []int) {
	t.Helper()
	read := func(p Page) List[T] {
		p.Limit = limit
		l, err := list(p)
		if err != nil || len(l.Records) > limit {
			t.Fatalf("a page of %d: %d records, %v", limit, len(l.Records), err)
		}
		totals = append(totals, l.TotalRecords)
		change()
		return l
	}
	l := read(Page{})
	for there = l.Records; l.NextCursor != nil; there = append(there, l.Records...) {
		l = read(Page{Next: *l.NextCursor})
	}
	for back = l.Records; l.PreviousCursor != nil; back = append(slices.Clone(l.Records), back...) {
		l = read(Page{Previous: *l.PreviousCursor})
	}
	return there, back, totals
}

// TestItemListSeesEachItemOnceDuringChanges sends a few items between
// any two pages.
func TestItemListSeesEachItemOnceDuringChanges(t *testing.T) {
	const n = 41
	for _, limit := range []int{1, 4, n - 1, n, 200} {
		t.Run(fmt.Sprint("limit ", limit), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, newFleet(1), nil)
				r.create(delayed(n, time.Second))
				forward, back, totals := pageThrough(t, func(p Page) (List[Item], error) {
					return r.e.Items(owner, r.batch, ItemFilter{}, p)
				}, limit, func() { time.Sleep(1500 * time.Millisecond) })
				for _, way := range [][]Item{forward, back} {
					for i, item := range way {
						if item.Position != i || len(way) != n {
							t.Fatalf("%d items; the %dth has position %d", len(way), i, item.Position)
						}
					}
				}
				if slices.ContainsFunc(totals, func(total int) bool { return total != n }) {
					t.Errorf("totals %v", totals)
				}
				if limit == 4 && (forward[12].Status == back[12].Status || r.view().Counts.Success < 10) {
					t.Errorf("nothing changed meanwhile, which proves nothing")
				}
				r.stop()
			})
		})
	}
}

// TestBatchListSeesEachOnceDuringCreations: a new batch is before
// the first page, so the way there does not meet it and the way back does.
func TestBatchListSeesEachOnceDuringCreations(t *testing.T) {
	bubble(t, newFleet(), func(r *rig) {
		create := func() {
			time.Sleep(time.Millisecond)
			r.create(draftOf(1))
			if _, err := r.e.Create(r.Context(), r.batch, draftOf(1)); err != nil { // someone else's
				r.Fatal(err)
			}
		}
		const before = 9
		for range before {
			create()
		}
		made := before
		there, back, totals := pageThrough(r.T, func(p Page) (List[View], error) {
			return r.e.Batches(owner, Filter{}, p)
		}, 2, func() {
			if made < 2*before {
				create()
				made++
			}
		})
		if len(there) != before || totals[0] != before || totals[len(totals)-1] != made {
			t.Errorf("%d batches there, totals %v", len(there), totals)
		}
		if len(back) != made {
			t.Errorf("%d batches back of %d", len(back), made)
		}
		for _, way := range [][]View{there, back} {
			if !slices.IsSortedFunc(way, func(a, b View) int { return -strings.Compare(a.ID.String(), b.ID.String()) }) {
				t.Error("not newest first")
			}
		}
	})
}

func TestEveryFilterOfBatchesSelectsItsOwn(t *testing.T) {
	bubble(t, newFleet(), func(r *rig) {
		at := map[string]time.Time{}
		for i, name := range []string{"Spring sale", "spring", "Autumn"} {
			req := draftOf(1)
			req.Name, req.Instances = name, []record.InstanceRef{{ID: int64(i), Name: fmt.Sprint("i", i)}, {ID: 9, Name: "shared"}}
			at[name] = r.create(req).CreatedAt.Time
			time.Sleep(time.Minute)
		}
		r.do(r.e.StopBatch) // the last one
		for rule, c := range map[string]struct {
			f    Filter
			want string
		}{
			"none":            {Filter{}, "Autumn, spring, Spring sale"},
			"status":          {Filter{Status: []event.BatchStatus{event.BatchIsStopped}}, "Autumn"},
			"either status":   {Filter{Status: []event.BatchStatus{event.BatchIsStopped, event.BatchDraft}}, "Autumn, spring, Spring sale"},
			"instance":        {Filter{InstanceName: "i1"}, "spring"},
			"shared instance": {Filter{InstanceName: "shared"}, "Autumn, spring, Spring sale"},
			"no such":         {Filter{InstanceName: "i"}, ""},
			"from, inclusive": {Filter{CreatedFrom: at["spring"]}, "Autumn, spring"},
			"from, after":     {Filter{CreatedFrom: at["spring"].Add(time.Millisecond)}, "Autumn"},
			"to, inclusive":   {Filter{CreatedTo: at["spring"]}, "spring, Spring sale"},
			"to, before":      {Filter{CreatedTo: at["spring"].Add(-time.Millisecond)}, "Spring sale"},
			"name, whole":     {Filter{Name: "spring"}, "spring"},
			"part of a name":  {Filter{Query: "SPRING"}, "spring, Spring sale"},
			"two at once":     {Filter{Query: "spring", CreatedFrom: at["spring"]}, "spring"},
		} {
			l, err := r.e.Batches(owner, c.f, Page{})
			var names []string
			for _, v := range l.Records {
				names = append(names, v.Name)
			}
			if got := strings.Join(names, ", "); err != nil || got != c.want || l.TotalRecords != len(names) {
				t.Errorf("%s: %q of %d, %v; want %q", rule, got, l.TotalRecords, err, c.want)
			}
		}
	})
}

// sortedFleet refuses, skips or loses the first three items and has two
// instances of which the first never sends.
func sortedFleet(req CreateRequest) *scripted {
	f := newFleet(1, 2)
	outcomes := []error{event.ErrSendRefused, event.ErrNotOnWhatsApp, event.ErrOutcomeUnknown}
	f.send = func(_ context.Context, instance int64, out event.Outgoing) error {
		if instance == 1 {
			return event.ErrNotConnected
		}
		for i, err := range outcomes {
			if strings.HasPrefix(out.To, req.Recipients[i]) {
				return err
			}
		}
		return nil
	}
	return f
}

func TestItemAndAttemptFilters(t *testing.T) {
	req := request(10)
	req.Options.SkipUnregistered = true
	req.Recipients[9] = "+49 (151) 0000-0009"
	bubble(t, sortedFleet(req), func(r *rig) {
		r.create(req)
		r.status(event.BatchIsWithErrors)
		unavailable := len(r.attempts(ItemFilter{Status: []string{"INSTANCE_UNAVAILABLE"}}))
		for rule, c := range map[string]struct {
			f               ItemFilter
			items, attempts int
		}{
			"none":                {ItemFilter{}, 10, 10 + unavailable},
			"sent":                {ItemFilter{Status: []string{"SUCCESS"}}, 7, 7},
			"failed":              {ItemFilter{Status: []string{"FAILED"}}, 1, 2}, // the skipped one's attempt failed too
			"skipped":             {ItemFilter{Status: []string{"SKIPPED"}}, 1, 0},
			"unknown":             {ItemFilter{Status: []string{"UNKNOWN"}}, 1, 1},
			"pending":             {ItemFilter{Status: []string{"PENDING"}}, 0, 0},
			"several":             {ItemFilter{Status: []string{"FAILED", "SUCCESS", "FAILED"}}, 8, 9},
			"by who sent":         {ItemFilter{InstanceName: "i2"}, 10, 10},
			"by who did not":      {ItemFilter{InstanceName: "i1"}, 0, unavailable},
			"by number":           {ItemFilter{Recipient: "4915100000004"}, 1, 1 + r.tries(4)},
			"by part of a number": {ItemFilter{Recipient: "0000004"}, 1, 1 + r.tries(4)},
			"as it was written":   {ItemFilter{Recipient: "+49 (151) 0000-0009"}, 1, 1 + r.tries(9)},
			"as it is normalised": {ItemFilter{Recipient: "4915100000009"}, 1, 1 + r.tries(9)},
			"otherwise written":   {ItemFilter{Recipient: "+49.151.00000009"}, 1, 1 + r.tries(9)},
			"by another's JID":    {ItemFilter{Recipient: "4915100000004@lid"}, 0, 0},
			"by two":              {ItemFilter{Recipient: "4915100000000", Status: []string{"SUCCESS"}}, 0, 0},
		} {
			items, err := r.e.Items(owner, r.batch, c.f, Page{})
			if err != nil || len(items.Records) != c.items || items.TotalRecords != c.items {
				t.Errorf("%s: %d items of %d, %v; want %d", rule, len(items.Records), items.TotalRecords, err, c.items)
			}
			if attempts := r.attempts(c.f); len(attempts) != c.attempts {
				t.Errorf("%s: %d attempts, want %d", rule, len(attempts), c.attempts)
			}
		}
	})
}

func (r *rig) attempts(f ItemFilter) []Attempt {
	r.Helper()
	l, err := r.e.Attempts(owner, r.batch, f, Page{Limit: 200})
	if err != nil || l.TotalRecords != len(l.Records) {
		r.Fatalf("%d attempts of %d, %v", len(l.Records), l.TotalRecords, err)
	}
	return l.Records
}

// tries returns how often an item found its instance gone.
func (r *rig) tries(position int) int {
	r.Helper()
	one, err := r.e.Item(owner, r.batch, record.ItemID(r.batch, position))
	if err != nil {
		r.Fatal(err)
	}
	return len(one.Attempts) - 1
}

func TestACursorHasOneSpelling(t *testing.T) {
	bubble(t, newFleet(), func(r *rig) {
		r.create(request(3))
		l, err := r.e.Items(owner, r.batch, ItemFilter{}, Page{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		good := *l.NextCursor
		for i := range len(good) + 1 {
			for _, bad := range []string{good[:i] + "\n" + good[i:], good[:i], good[:i] + "A" + good[i:], flipped(good, i)} {
				if bad == good {
					continue
				}
				if _, err := r.e.Items(owner, r.batch, ItemFilter{}, Page{Next: bad}); bad != "" && !errors.Is(err, ErrInvalidCursor) {
					t.Errorf("%q is taken for %q: %v", bad, good, err)
				}
			}
		}
	})
}

// flipped changes the lowest bit of one character's value.
func flipped(cursor string, at int) string {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	if at == len(cursor) {
		return cursor
	}
	other := digits[strings.IndexByte(digits, cursor[at])^1]
	return cursor[:at] + string(other) + cursor[at+1:]
}

// TestListReadsOnlyTheShownMessages damages the others.
func TestListReadsOnlyTheShownMessages(t *testing.T) {
	bubble(t, newFleet(), func(r *rig) {
		r.create(draftOf(1))
		err := r.s.Update(r.Context(), func(tx *store.Tx) error {
			return tx.Put(record.BucketMessage, r.batch[:], []byte("no JSON"))
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
		newest := r.create(draftOf(1)).ID
		for _, f := range []Filter{{}, {Name: "spring"}} {
			l, err := r.e.Batches(owner, f, Page{Limit: 1})
			if err != nil || l.TotalRecords != 2 || l.Records[0].ID != newest {
				t.Errorf("%+v, %v", l, err)
			}
		}
	})
}
