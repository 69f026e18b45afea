package sends

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
	"postern/sandbox"
)

// An instance sends one message at a time. What follows has many more wait for
// their turn than go out within the time of one send.

// slowAcks has WhatsApp acknowledge each message only after a while.
func slowAcks(t *testing.T, s *rig.SendScene, after time.Duration) {
	t.Helper()
	s.Sandbox.SetFaults(sandbox.Faults{AckDelay: after})
}

// burst sends texts to Anne at once, and counts the answers.
func burst(t *testing.T, s *rig.SendScene, n int) (answers map[string]int, texts []string) {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	answers = map[string]int{}
	for i := range n {
		wg.Go(func() {
			text := fmt.Sprint("burst ", i)
			a := s.PostJSON(t, s.Fill("/instance/$name/send/text"), fmt.Sprintf(`{"number":"$anne","textMessage":{"text":%q}}`, text))
			var refused struct{ Code string }
			_ = json.Unmarshal(a.Body, &refused)
			mu.Lock()
			defer mu.Unlock()
			answers[strings.TrimSpace(fmt.Sprint(a.Status, " ", refused.Code))]++
			if a.Status == http.StatusOK {
				texts = append(texts, text)
			}
		})
	}
	wg.Wait()
	return answers, texts
}

// read is how often each text reached a phone.
func readBy(s *rig.SendScene, number string) map[string]int {
	times := map[string]int{}
	if phone, ok := s.Sandbox.Phone(number); ok {
		for _, m := range phone.Received() {
			times[m.Text]++
		}
	}
	return times
}

func TestSendTimeoutStartsWithItsTurn(t *testing.T) {
	t.Parallel() // it waits more than it works
	s := rig.NewSendScene(t, "MESSAGE_SEND_TIMEOUT=2s")
	slowAcks(t, s, 200*time.Millisecond)
	const n = 30
	answers, texts := burst(t, s, n)
	if answers["200"] != n {
		t.Errorf("answers %v", answers)
	}
	got := readBy(s, rig.AnneNumber)
	for _, text := range texts {
		if got[text] != 1 {
			t.Errorf("%q arrived %d times", text, got[text])
		}
	}
}

func TestSendWithoutTurnIsBusy(t *testing.T) {
	s := rig.NewSendScene(t, "MESSAGE_SEND_TIMEOUT=5s", "MESSAGE_TURN_TIMEOUT=1s")
	slowAcks(t, s, 400*time.Millisecond)
	const n = 12
	answers, texts := burst(t, s, n)
	busy := answers["503 INSTANCE_BUSY"]
	if busy == 0 || answers["200"] == 0 || busy+answers["200"] != n {
		t.Errorf("answers %v", answers)
	}
	arrived := 0
	for text, times := range readBy(s, rig.AnneNumber) {
		if strings.HasPrefix(text, "burst ") {
			arrived += times
		}
	}
	if arrived != len(texts) {
		t.Errorf("%d arrived, %d were reported as sent", arrived, len(texts))
	}
}

// TestABusyInstanceFreesTheIdempotencyKey: nothing left, so the same key sends once
// the instance has time.
func TestABusyInstanceFreesTheIdempotencyKey(t *testing.T) {
	t.Parallel() // it waits more than it works
	s := rig.NewSendScene(t, "MESSAGE_SEND_TIMEOUT=60s", "MESSAGE_TURN_TIMEOUT=1s")
	slowAcks(t, s, 3*time.Second)
	path := s.Fill("/instance/$name/send/text")
	ask := func() rig.KeyedAnswer {
		return s.MustWithKey(s.Token, "keyed", path, map[string]any{"number": rig.AnneNumber, "textMessage": map[string]any{"text": "keyed"}})
	}
	var first sync.WaitGroup
	first.Go(func() { burst(t, s, 1) })
	s.Await("the first to be on its way", func() bool { return readBy(s, rig.AnneNumber)["burst 0"] == 1 })
	if a := ask(); a.Status != http.StatusServiceUnavailable || a.Field("code") != "INSTANCE_BUSY" {
		t.Errorf("while another is on its way: %v", a)
	}
	first.Wait()
	slowAcks(t, s, 0)
	for _, replayed := range []bool{false, true} {
		if a := ask(); a.Status != http.StatusOK || a.Replayed != replayed {
			t.Errorf("afterwards: %v", a)
		}
	}
	if n := readBy(s, rig.AnneNumber)["keyed"]; n != 1 {
		t.Errorf("it arrived %d times", n)
	}
}

// batchesOf creates batches of one text to Anne and Bob.
func batchesOf(s *rig.SendScene, n int) (all []rig.BatchAnswer) {
	for i := range n {
		var b rig.BatchAnswer
		s.Call(consumer.Bearer(s.User), http.MethodPost, "/message/batches", map[string]any{
			"name": fmt.Sprint("b", i), "instances": []string{rig.SceneName}, "recipients": []string{rig.AnneNumber, rig.BobNumber},
			"message": map[string]any{"type": "text", "payload": map[string]any{"text": fmt.Sprint("batch ", i)}},
		}, &b)
		all = append(all, b)
	}
	return all
}

func TestManyBatchesShareOneInstance(t *testing.T) {
	t.Parallel() // it waits more than it works
	for name, env := range map[string]string{"each waits long": "MESSAGE_TURN_TIMEOUT=60s", "each waits again and again": "MESSAGE_TURN_TIMEOUT=1s"} {
		t.Run(name, func(t *testing.T) {
			s := rig.NewSendScene(t, "MESSAGE_SEND_TIMEOUT=2s", env)
			slowAcks(t, s, 150*time.Millisecond)
			all := batchesOf(s, 20)
			for i, b := range all {
				s.Await(fmt.Sprint("the end of batch ", i), func() bool {
					b = s.Batch(b.ID)
					return b.Status == event.BatchIsCompleted || b.Status == event.BatchIsWithErrors
				})
				if b.Counts.Success != 2 {
					t.Errorf("batch %d: %s %+v", i, b.Status, b.Counts)
				}
			}
			for _, number := range []string{rig.AnneNumber, rig.BobNumber} {
				got := readBy(s, number)
				for i := range all {
					if n := got[fmt.Sprint("batch ", i)]; n != 1 {
						t.Errorf("batch %d arrived %d times at %s", i, n, number)
					}
				}
			}
		})
	}
}

// TestCallWaitsForAtMostOneBatch: calls and batches take turns.
func TestCallWaitsForAtMostOneBatch(t *testing.T) {
	s := rig.NewSendScene(t)
	slowAcks(t, s, 300*time.Millisecond)
	batchesOf(s, 30)
	for range 3 {
		begin := time.Now()
		if a := s.PostJSON(t, s.Fill("/instance/$name/send/text"), `{"number":"$bob","textMessage":{"text":"now"}}`); a.Status != http.StatusOK {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		if took := time.Since(begin); took > 3*time.Second { // thirty batches take nine
			t.Errorf("the call took %v", took)
		}
	}
}

// TestStopReturnsItemsWaitingForTheirTurn stops the program while one message
// waits for its acknowledgement and five for their turn.
func TestStopReturnsItemsWaitingForTheirTurn(t *testing.T) {
	s := rig.NewSendScene(t, "MESSAGE_BATCH_SHUTDOWN_TIMEOUT_MS=1000")
	slowAcks(t, s, 10*time.Second)
	all := batchesOf(s, 6)
	s.Await("all have an item on its way or waiting", func() bool {
		sending := 0
		for _, b := range all {
			sending += s.Batch(b.ID).Counts.Sending
		}
		return sending == len(all)
	})
	s.Stop()
	slowAcks(t, s, 0)
	s.Start()
	unknown := 0
	for i, b := range all {
		s.Await(fmt.Sprint("the end of batch ", i), func() bool {
			b = s.Batch(b.ID)
			return b.Status == event.BatchIsCompleted || b.Status == event.BatchIsWithErrors
		})
		unknown += b.Counts.Unknown
		if b.Counts.Failed != 0 || b.Counts.Success+b.Counts.Unknown != 2 {
			t.Errorf("batch %d: %s %+v", i, b.Status, b.Counts)
		}
	}
	if unknown != 1 {
		t.Errorf("%d items are unknown, one had left", unknown)
	}
}

// TestPauseReachesABatchWaitingForItsTurn: nothing of its item has left, so
// nothing is waited for.
func TestPauseReachesABatchWaitingForItsTurn(t *testing.T) {
	s := rig.NewSendScene(t)
	slowAcks(t, s, 20*time.Second)
	all := batchesOf(s, 2)
	s.Await("both have an item on its way or waiting", func() bool {
		return s.Batch(all[0].ID).Counts.Sending+s.Batch(all[1].ID).Counts.Sending == 2
	})
	waits := func() (n int) {
		for _, b := range all {
			if s.Batch(b.ID).Status == event.BatchIsPaused {
				n++
			}
		}
		return n
	}
	for _, b := range all {
		s.Call(consumer.Bearer(s.User), http.MethodPost, "/message/batches/"+b.ID.String()+"/pause", nil, nil)
	}
	begin := time.Now()
	s.Await("the one that waits is paused", func() bool { return waits() == 1 })
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	for _, b := range all {
		if got := s.Batch(b.ID); got.Status == event.BatchIsPaused && got.Counts.Pending != 2 {
			t.Errorf("%+v", got.Counts)
		}
	}
	s.Kill()
}
