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
	"postern/sandbox"
	"postern/store"
)

// TestKillDuringSendIsNeverRepeated kills the real
// program after the phone has decrypted a text and before its acknowledgement.
func TestKillDuringSendIsNeverRepeated(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills real processes")
	}
	w := rig.NewWorld(t)
	w.Start()
	token := w.Pair("red")
	const path, number, text = "/instance/red/send/text", "4915111111111", "only once"
	w.Sandbox.SetFaults(sandbox.Faults{AckDelay: time.Hour})
	var first sync.WaitGroup
	first.Go(func() { _, _ = w.WithKey(token, "k", path, rig.TextTo(number, text, 0)) })
	w.Await("the text at the phone", func() bool { return w.Decrypted(number, text) == 1 })
	if a := w.MustWithKey(token, "k", path, rig.TextTo(number, text, 0)); a.Status != 409 || a.Field("code") != "IDEMPOTENCY_KEY_IN_USE" {
		t.Errorf("in flight: %v", a)
	}
	w.Kill()
	first.Wait()
	w.Sandbox.SetFaults(sandbox.Faults{})
	w.Start()
	w.AwaitOnline("red", token)

	retry := w.MustWithKey(token, "k", path, rig.TextTo(number, text, 0))
	if retry.Status != 408 || retry.Field("code") != "SEND_RESULT_UNKNOWN" || !retry.Replayed {
		t.Errorf("after the kill: %v", retry)
	}
	if again := w.MustWithKey(token, "k", path, rig.TextTo(number, text, 0)); again != retry {
		t.Errorf("\n got %v\nwant %v", again, retry)
	}
	if other := w.MustWithKey(token, "k", path, rig.TextTo(number, "another text", 0)); other.Status != 409 {
		t.Errorf("another body: %v", other)
	}
	manyAtOnce(w, token, path)
	if n := w.Decrypted(number, text); n != 1 {
		t.Errorf("the phone decrypted the text %d times", n)
	}
	w.Call(consumer.Bearer(token), http.MethodDelete, "/instance/red?force=true", nil, nil)
	w.Stop()
	noKeys(w)
}

// noKeys reads the data file: the deleted instance has left no answers, which
// hold its messages.
func noKeys(w *rig.World) {
	w.T.Helper()
	s, err := store.Open(store.Options{Path: w.DataFile(), Buckets: app.Buckets()})
	if err != nil {
		w.T.Fatal(err)
	}
	defer s.Close()
	err = s.View(func(tx *store.Tx) error {
		return tx.Scan("idempotency_key", store.Range{}, func(key, _ []byte) (bool, error) {
			w.T.Errorf("the key %q is still there", key)
			return true, nil
		})
	})
	if err != nil {
		w.T.Fatal(err)
	}
}

// manyAtOnce sends 64 equal requests through the real client library.
func manyAtOnce(w *rig.World, token, path string) {
	const number, text, requests = "4915122222222", "64 times asked for", 64
	var mu sync.Mutex
	got := map[string]int{}
	var all sync.WaitGroup
	for range requests {
		all.Go(func() {
			a, err := w.WithKey(token, "many", path, rig.TextTo(number, text, 0))
			mu.Lock()
			defer mu.Unlock()
			got[fmt.Sprint(a.Status, a.Replayed, err)]++
		})
	}
	all.Wait()
	// The network acknowledges before the phone has read.
	w.Await("the phone to read the message", func() bool { return w.Decrypted(number, text) > 0 })
	if n := w.Decrypted(number, text); n != 1 || got["200 false <nil>"] != 1 || got["200 false <nil>"]+got["200 true <nil>"]+got["409 false <nil>"] != requests {
		w.T.Errorf("decrypted %d times; answers %v", n, got)
	}
}

// TestKillBeforeSendFreesTheKey kills while the delay of a send
// runs: nothing is in doubt, and the retry sends.
func TestKillBeforeSendFreesTheKey(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills real processes")
	}
	w := rig.NewWorld(t)
	w.Start()
	token := w.Pair("red")
	const path, number, text = "/instance/red/send/text", "4915133333333", "after a pause"
	var first sync.WaitGroup
	first.Go(func() {
		for {
			a, err := w.WithKey(token, "k", path, rig.TextTo(number, text, 60_000))
			if err != nil || a.Status != http.StatusConflict { // the look below may have had the key
				return
			}
		}
	})
	w.Await("the work on the first request", func() bool {
		// A number that is refused, should this request be the first.
		a := w.MustWithKey(token, "k", path, rig.TextTo("12", text, 0))
		return a.Field("code") == "IDEMPOTENCY_KEY_IN_USE"
	})
	// By the end of a whole second send the first has long come to its delay.
	if a := w.MustWithKey(token, "k2", path, rig.TextTo("4915144444444", text, 0)); a.Status != 200 {
		t.Error(a)
	}
	w.Kill()
	first.Wait()
	w.Start()
	w.AwaitOnline("red", token)
	if a := w.MustWithKey(token, "k", path, rig.TextTo(number, text, 0)); a.Status != 200 || a.Replayed {
		t.Fatal(a)
	}
	w.Await("the text at the phone", func() bool { return w.Decrypted(number, text) == 1 })
	w.Stop()
}

// TestKillDuringCreationLeavesOneBatch kills in every
// sixth of a creation of many commits, and after it. Each retry answers 201, and there is
// one batch then: that of the answer.
func TestKillDuringCreationLeavesOneBatch(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills real processes")
	}
	w := rig.NewWorld(t)
	w.Start()
	w.Pair("red")
	recipients := make([]string, 20_000)
	for i := range recipients {
		recipients[i] = fmt.Sprintf("49171%08d", i)
	}
	create := func(name string) (rig.KeyedAnswer, error) {
		return w.WithKey(w.User, name, "/message/batches", map[string]any{
			"name": name, "instances": []string{"red"}, "recipients": recipients, "autoStart": false,
			"message": map[string]any{"type": "text", "payload": map[string]any{"text": "x"}},
		})
	}
	began := time.Now()
	if a, err := create("to measure"); err != nil || a.Status != 201 {
		t.Fatal(a, err)
	}
	took := time.Since(began)
	kept := 0
	const rounds = 7
	for round := range rounds {
		name := fmt.Sprint("round ", round)
		ctx, answered := context.WithCancel(t.Context())
		var first sync.WaitGroup
		first.Go(func() { _, _ = create(name); answered() })
		select {
		case <-time.After(took/6*time.Duration(round) + rand.N(took/6)):
		case <-ctx.Done():
		}
		w.Kill()
		first.Wait()
		w.Start()
		retry, err := create(name)
		if err != nil || retry.Status != 201 {
			t.Fatal(retry, err)
		}
		if retry.Replayed {
			kept++
		}
		if again, err := create(name); err != nil || !again.Replayed || again.Body != retry.Body {
			t.Errorf("%s: another retry: %v, %v", name, again.Status, err)
		}
		onlyBatch(w, name, retry.Field("id"))
	}
	t.Logf("%d of %d were there before the retry; a creation takes %v", kept, rounds, took)
	w.Stop()
}

// onlyBatch asks for the batches of a name: there is that one.
func onlyBatch(w *rig.World, name, id string) {
	w.T.Helper()
	var list struct {
		TotalRecords int
		Records      []rig.BatchAnswer
	}
	w.Call(consumer.Bearer(w.User), http.MethodPost, "/message/batches/list", map[string]any{"name": name}, &list)
	if list.TotalRecords != 1 || len(list.Records) != 1 || list.Records[0].ID.String() != id || list.Records[0].Counts.Total != 20_000 {
		w.T.Errorf("%s: %+v, want the one batch %s", name, list, id)
	}
}
