package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"postern/sandbox"
	"postern/store"
)

// keyedAnswer is what a request with an Idempotency-Key got.
type keyedAnswer struct {
	status   int
	body     string
	replayed bool
}

func (a keyedAnswer) String() string {
	return fmt.Sprintf("%d replayed %t: %s", a.status, a.replayed, a.body)
}

func (a keyedAnswer) field(name string) string {
	var fields map[string]any
	_ = json.Unmarshal([]byte(a.body), &fields)
	return fmt.Sprint(fields[name])
}

// withKey posts with a key. A program that is killed meanwhile is no answer.
func (w *world) withKey(token, key, path string, body any) (keyedAnswer, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return keyedAnswer{}, err
	}
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.api.base+path, bytes.NewReader(raw))
	if err != nil {
		return keyedAnswer{}, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Idempotency-Key", key)
	res, err := w.api.http.Do(req)
	if err != nil {
		return keyedAnswer{}, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	return keyedAnswer{res.StatusCode, string(answer), res.Header.Get("idempotency-replayed") == "true"}, err
}

func (w *world) mustWithKey(token, key, path string, body any) keyedAnswer {
	w.t.Helper()
	a, err := w.withKey(token, key, path, body)
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

func textTo(number, text string, delayMs int) map[string]any {
	return map[string]any{"number": number, "textMessage": map[string]any{"text": text}, "options": map[string]any{"delay": delayMs}}
}

// TestAKillInMidSendLeavesAnUnknownOutcomeAndNoRetrySendsAgain kills the real
// program after the phone has decrypted a text and before its acknowledgement.
func TestAKillInMidSendLeavesAnUnknownOutcomeAndNoRetrySendsAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills real processes")
	}
	w := newWorld(t)
	w.start()
	token := w.pair("red")
	const path, number, text = "/instance/red/send/text", "4915111111111", "only once"
	w.sandbox.SetFaults(sandbox.Faults{AckDelay: time.Hour})
	var first sync.WaitGroup
	first.Go(func() { _, _ = w.withKey(token, "k", path, textTo(number, text, 0)) })
	w.await("the text at the phone", func() bool { return w.decrypted(number, text) == 1 })
	if a := w.mustWithKey(token, "k", path, textTo(number, text, 0)); a.status != 409 || a.field("code") != "IDEMPOTENCY_KEY_IN_USE" {
		t.Errorf("in flight: %v", a)
	}
	w.kill()
	first.Wait()
	w.sandbox.SetFaults(sandbox.Faults{})
	w.start()
	w.awaitOnline("red", token)

	retry := w.mustWithKey(token, "k", path, textTo(number, text, 0))
	if retry.status != 408 || retry.field("code") != "SEND_RESULT_UNKNOWN" || !retry.replayed {
		t.Errorf("after the kill: %v", retry)
	}
	if again := w.mustWithKey(token, "k", path, textTo(number, text, 0)); again != retry {
		t.Errorf("\n got %v\nwant %v", again, retry)
	}
	if other := w.mustWithKey(token, "k", path, textTo(number, "another text", 0)); other.status != 409 {
		t.Errorf("another body: %v", other)
	}
	w.manyAtOnce(token, path)
	if n := w.decrypted(number, text); n != 1 {
		t.Errorf("the phone decrypted the text %d times", n)
	}
	w.call(bearer(token), http.MethodDelete, "/instance/red?force=true", nil, nil)
	w.stop()
	w.noKeys()
}

// noKeys reads the data file: the deleted instance has left no answers, which
// hold its messages.
func (w *world) noKeys() {
	w.t.Helper()
	s, err := store.Open(store.Options{Path: w.dataFile(), Buckets: buckets()})
	if err != nil {
		w.t.Fatal(err)
	}
	defer s.Close()
	err = s.View(func(tx *store.Tx) error {
		return tx.Scan("idempotency_key", store.Range{}, func(key, _ []byte) (bool, error) {
			w.t.Errorf("the key %q is still there", key)
			return true, nil
		})
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// manyAtOnce sends 64 equal requests through the real client library.
func (w *world) manyAtOnce(token, path string) {
	const number, text, requests = "4915122222222", "64 times asked for", 64
	var mu sync.Mutex
	got := map[string]int{}
	var all sync.WaitGroup
	for range requests {
		all.Go(func() {
			a, err := w.withKey(token, "many", path, textTo(number, text, 0))
			mu.Lock()
			defer mu.Unlock()
			got[fmt.Sprint(a.status, a.replayed, err)]++
		})
	}
	all.Wait()
	// The network acknowledges before the phone has read.
	w.await("the phone to read the message", func() bool { return w.decrypted(number, text) > 0 })
	if n := w.decrypted(number, text); n != 1 || got["200 false <nil>"] != 1 || got["200 false <nil>"]+got["200 true <nil>"]+got["409 false <nil>"] != requests {
		w.t.Errorf("decrypted %d times; answers %v", n, got)
	}
}

// TestAKillBeforeTheMessageLeavesFreesTheKey kills while the delay of a send
// runs: nothing is in doubt, and the retry sends.
func TestAKillBeforeTheMessageLeavesFreesTheKey(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills real processes")
	}
	w := newWorld(t)
	w.start()
	token := w.pair("red")
	const path, number, text = "/instance/red/send/text", "4915133333333", "after a pause"
	var first sync.WaitGroup
	first.Go(func() {
		for {
			a, err := w.withKey(token, "k", path, textTo(number, text, 60_000))
			if err != nil || a.status != http.StatusConflict { // the look below may have had the key
				return
			}
		}
	})
	w.await("the work on the first request", func() bool {
		// A number that is refused, should this request be the first.
		a := w.mustWithKey(token, "k", path, textTo("12", text, 0))
		return a.field("code") == "IDEMPOTENCY_KEY_IN_USE"
	})
	// By the end of a whole second send the first has long come to its delay.
	if a := w.mustWithKey(token, "k2", path, textTo("4915144444444", text, 0)); a.status != 200 {
		t.Error(a)
	}
	w.kill()
	first.Wait()
	w.start()
	w.awaitOnline("red", token)
	if a := w.mustWithKey(token, "k", path, textTo(number, text, 0)); a.status != 200 || a.replayed {
		t.Fatal(a)
	}
	w.await("the text at the phone", func() bool { return w.decrypted(number, text) == 1 })
	w.stop()
}

// TestAKillDuringTheCreationOfABatchLeavesOneBatchAfterTheRetry kills in every
// sixth of a creation of many commits, and after it. Each retry answers 201, and there is
// one batch then: that of the answer.
func TestAKillDuringTheCreationOfABatchLeavesOneBatchAfterTheRetry(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills real processes")
	}
	w := newWorld(t)
	w.start()
	w.pair("red")
	recipients := make([]string, 20_000)
	for i := range recipients {
		recipients[i] = fmt.Sprintf("49171%08d", i)
	}
	create := func(name string) (keyedAnswer, error) {
		return w.withKey(w.user, name, "/message/batches", map[string]any{
			"name": name, "instances": []string{"red"}, "recipients": recipients, "autoStart": false,
			"message": map[string]any{"type": "text", "payload": map[string]any{"text": "x"}},
		})
	}
	began := time.Now()
	if a, err := create("to measure"); err != nil || a.status != 201 {
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
		w.kill()
		first.Wait()
		w.start()
		retry, err := create(name)
		if err != nil || retry.status != 201 {
			t.Fatal(retry, err)
		}
		if retry.replayed {
			kept++
		}
		if again, err := create(name); err != nil || !again.replayed || again.body != retry.body {
			t.Errorf("%s: another retry: %v, %v", name, again.status, err)
		}
		w.onlyBatch(name, retry.field("id"))
	}
	t.Logf("%d of %d were there before the retry; a creation takes %v", kept, rounds, took)
	w.stop()
}

// onlyBatch asks for the batches of a name: there is that one.
func (w *world) onlyBatch(name, id string) {
	w.t.Helper()
	var list struct {
		TotalRecords int
		Records      []batchAnswer
	}
	w.call(bearer(w.user), http.MethodPost, "/message/batches/list", map[string]any{"name": name}, &list)
	if list.TotalRecords != 1 || len(list.Records) != 1 || list.Records[0].ID.String() != id || list.Records[0].Counts.Total != 20_000 {
		w.t.Errorf("%s: %+v, want the one batch %s", name, list, id)
	}
}
