package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"postern/app"
	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/store"
)

const (
	appendedBase = 1_000  // recipients of the draft
	appendedMore = 12_000 // recipients of one append
)

// TestKillDuringAppendLeavesAllOrNone kills at random instants of an append of many commits, and after
// it. The draft has all of its recipients or none, and the retry with the same key completes it.
func TestKillDuringAppendLeavesAllOrNone(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills real processes")
	}
	w := rig.NewWorld(t)
	w.Start()
	w.Pair("red")
	draft := func(name string) string {
		return w.CreateBatchOf(map[string]any{
			"name": name, "instances": []string{"red"}, "recipients": appendedNumbers(0, appendedBase), "autoStart": false,
			"message": map[string]any{"type": "text", "payload": map[string]any{"text": "x"}},
		}).ID.String()
	}
	more := append(appendedNumbers(appendedBase, appendedMore), appendedNumbers(0, 7)...) // seven come again
	grow := func(id, key string) (rig.KeyedAnswer, error) {
		return w.WithKey(w.User, key, "/message/batches/"+id+"/recipients", map[string]any{"recipients": more})
	}
	began := time.Now()
	if a, err := grow(draft("to measure"), "to measure"); err != nil || a.Status != http.StatusOK {
		t.Fatal(a, err)
	}
	took := time.Since(began)
	kept, none := 0, 0
	const rounds = 7
	for round := range rounds {
		name := fmt.Sprint("round ", round)
		id := draft(name)
		ctx, answered := context.WithCancel(t.Context())
		var first sync.WaitGroup
		var answer rig.KeyedAnswer
		first.Go(func() { answer, _ = grow(id, name); answered() })
		select {
		case <-time.After(took/3*time.Duration(round) + rand.N(took/3)):
		case <-ctx.Done():
		}
		w.Kill()
		first.Wait()
		w.Start()
		switch n := appendedTotal(w, id); {
		case n == appendedBase+appendedMore:
			kept++
		case n != appendedBase || answer.Status == http.StatusOK:
			t.Errorf("%s: %d recipients after the kill; the answer was %d", name, n, answer.Status)
		default:
			none++
		}
		retry, err := grow(id, name)
		if err != nil || retry.Status != http.StatusOK {
			t.Fatal(retry, err)
		}
		if again, err := grow(id, name); err != nil || !again.Replayed || again.Body != retry.Body {
			t.Errorf("%s: another retry: %v, %v", name, again.Status, err)
		}
		if n := appendedTotal(w, id); n != appendedBase+appendedMore {
			t.Errorf("%s: %d recipients after the retry", name, n)
		}
		if round == rounds/2 {
			appendedOnce(w, id)
		}
	}
	t.Logf("%d of %d were there before the retry, %d were not; an append takes %v", kept, rounds, none, took)
	w.Stop()
	noneUnderWay(w)
}

func appendedNumbers(from, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("49171%08d", from+i)
	}
	return all
}

// appendedTotal returns how many recipients a draft has.
func appendedTotal(w *rig.World, id string) int {
	w.T.Helper()
	var b rig.BatchAnswer
	w.Call(consumer.Bearer(w.User), http.MethodGet, "/message/batches/"+id, nil, &b)
	if b.Counts.Pending != b.Counts.Total {
		w.T.Errorf("%+v", b.Counts)
	}
	return b.Counts.Total
}

// appendedOnce checks that the items are those of all recipients, in their order, and none twice.
func appendedOnce(w *rig.World, id string) {
	w.T.Helper()
	all := rig.Pages[rig.ItemAnswer](w, w.User, "/message/batches/"+id+"/items")
	for i, want := range appendedNumbers(0, appendedBase+appendedMore) {
		if i >= len(all) || all[i].NormalizedRecipient != want {
			w.T.Fatalf("%d items; item %d is not for %s", len(all), i, want)
		}
	}
	if len(all) != appendedBase+appendedMore {
		w.T.Errorf("%d items", len(all))
	}
}

// noneUnderWay reads the data file of a program that has ended: no append is unfinished, and each draft has
// its items and no more.
func noneUnderWay(w *rig.World) {
	w.T.Helper()
	s, err := store.Open(store.Options{Path: w.DataFile(), Buckets: app.Buckets()})
	if err != nil {
		w.T.Fatal(err)
	}
	defer s.Close()
	err = s.View(func(tx *store.Tx) error {
		under, err := tx.Count("batch_creating", nil)
		if err != nil {
			return err
		}
		batches, err := tx.Count("batch", nil)
		if err != nil {
			return err
		}
		items, err := tx.Count("batch_item", nil)
		if under > 0 || items != batches*(appendedBase+appendedMore) {
			w.T.Errorf("%d appends under way, %d batches with %d items", under, batches, items)
		}
		return err
	})
	if err != nil {
		w.T.Fatal(err)
	}
}
