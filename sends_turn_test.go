package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"postern/event"
	"postern/sandbox"
)

// An instance sends one message at a time. What follows has many more wait for
// their turn than go out within the time of one send.

// slowAcks has WhatsApp acknowledge each message only after a while.
func (s *sendScene) slowAcks(t *testing.T, after time.Duration) {
	t.Helper()
	s.sandbox.SetFaults(sandbox.Faults{AckDelay: after})
}

// burst sends texts to Anne at once, and counts the answers.
func (s *sendScene) burst(t *testing.T, n int) (answers map[string]int, texts []string) {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	answers = map[string]int{}
	for i := range n {
		wg.Go(func() {
			text := fmt.Sprint("burst ", i)
			a := s.postJSON(t, s.fill("/instance/$name/send/text"), fmt.Sprintf(`{"number":"$anne","textMessage":{"text":%q}}`, text))
			var refused struct{ Code string }
			_ = json.Unmarshal(a.body, &refused)
			mu.Lock()
			defer mu.Unlock()
			answers[strings.TrimSpace(fmt.Sprint(a.status, " ", refused.Code))]++
			if a.status == http.StatusOK {
				texts = append(texts, text)
			}
		})
	}
	wg.Wait()
	return answers, texts
}

// read is how often each text reached a phone.
func (s *sendScene) read(number string) map[string]int {
	times := map[string]int{}
	if phone, ok := s.sandbox.Phone(number); ok {
		for _, m := range phone.Received() {
			times[m.Text]++
		}
	}
	return times
}

func TestTheTimeOfASendBeginsWithItsTurn(t *testing.T) {
	s := newSendScene(t, "MESSAGE_SEND_TIMEOUT=2s")
	s.slowAcks(t, 200*time.Millisecond)
	const n = 30
	answers, texts := s.burst(t, n)
	if answers["200"] != n {
		t.Errorf("answers %v", answers)
	}
	read := s.read(anneNumber)
	for _, text := range texts {
		if read[text] != 1 {
			t.Errorf("%q arrived %d times", text, read[text])
		}
	}
}

func TestASendWhoseTurnDoesNotComeIsBusyAndNothingOfItLeaves(t *testing.T) {
	s := newSendScene(t, "MESSAGE_SEND_TIMEOUT=5s", "MESSAGE_TURN_TIMEOUT=1s")
	s.slowAcks(t, 400*time.Millisecond)
	const n = 12
	answers, texts := s.burst(t, n)
	busy := answers["503 INSTANCE_BUSY"]
	if busy == 0 || answers["200"] == 0 || busy+answers["200"] != n {
		t.Errorf("answers %v", answers)
	}
	arrived := 0
	for text, times := range s.read(anneNumber) {
		if strings.HasPrefix(text, "burst ") {
			arrived += times
		}
	}
	if arrived != len(texts) {
		t.Errorf("%d arrived, %d were told to", arrived, len(texts))
	}
}

// TestABusyInstanceFreesTheIdempotencyKey: nothing left, so the same key sends once
// the instance has time.
func TestABusyInstanceFreesTheIdempotencyKey(t *testing.T) {
	s := newSendScene(t, "MESSAGE_SEND_TIMEOUT=60s", "MESSAGE_TURN_TIMEOUT=1s")
	s.slowAcks(t, 3*time.Second)
	path := s.fill("/instance/$name/send/text")
	ask := func() keyedAnswer {
		return s.mustWithKey(s.token, "keyed", path, map[string]any{"number": anneNumber, "textMessage": map[string]any{"text": "keyed"}})
	}
	var first sync.WaitGroup
	first.Go(func() { s.burst(t, 1) })
	s.await("the first to be on its way", func() bool { return s.read(anneNumber)["burst 0"] == 1 })
	if a := ask(); a.status != http.StatusServiceUnavailable || a.field("code") != "INSTANCE_BUSY" {
		t.Errorf("while another is on its way: %v", a)
	}
	first.Wait()
	s.slowAcks(t, 0)
	for _, replayed := range []bool{false, true} {
		if a := ask(); a.status != http.StatusOK || a.replayed != replayed {
			t.Errorf("afterwards: %v", a)
		}
	}
	if n := s.read(anneNumber)["keyed"]; n != 1 {
		t.Errorf("it arrived %d times", n)
	}
}

// batchesOf creates batches of one text to Anne and Bob.
func (s *sendScene) batchesOf(n int) (all []batchAnswer) {
	for i := range n {
		var b batchAnswer
		s.call(bearer(s.user), http.MethodPost, "/message/batches", map[string]any{
			"name": fmt.Sprint("b", i), "instances": []string{sceneName}, "recipients": []string{anneNumber, bobNumber},
			"message": map[string]any{"type": "text", "payload": map[string]any{"text": fmt.Sprint("batch ", i)}},
		}, &b)
		all = append(all, b)
	}
	return all
}

func TestManyBatchesOnOneInstanceFailNothingAndLeaveNothingInDoubt(t *testing.T) {
	for name, env := range map[string]string{"each waits long": "MESSAGE_TURN_TIMEOUT=60s", "each waits again and again": "MESSAGE_TURN_TIMEOUT=1s"} {
		t.Run(name, func(t *testing.T) {
			s := newSendScene(t, "MESSAGE_SEND_TIMEOUT=2s", env)
			s.slowAcks(t, 150*time.Millisecond)
			all := s.batchesOf(20)
			for i, b := range all {
				s.await(fmt.Sprint("the end of batch ", i), func() bool {
					b = s.batch(b.ID)
					return b.Status == event.BatchIsCompleted || b.Status == event.BatchIsWithErrors
				})
				if b.Counts.Success != 2 {
					t.Errorf("batch %d: %s %+v", i, b.Status, b.Counts)
				}
			}
			for _, number := range []string{anneNumber, bobNumber} {
				read := s.read(number)
				for i := range all {
					if n := read[fmt.Sprint("batch ", i)]; n != 1 {
						t.Errorf("batch %d arrived %d times at %s", i, n, number)
					}
				}
			}
		})
	}
}

// TestACallWaitsForNoMoreThanOneOfManyBatches: calls and batches take turns.
func TestACallWaitsForNoMoreThanOneOfManyBatches(t *testing.T) {
	s := newSendScene(t)
	s.slowAcks(t, 300*time.Millisecond)
	s.batchesOf(30)
	for range 3 {
		begin := time.Now()
		if a := s.postJSON(t, s.fill("/instance/$name/send/text"), `{"number":"$bob","textMessage":{"text":"now"}}`); a.status != http.StatusOK {
			t.Errorf("%d %s", a.status, a.body)
		}
		if took := time.Since(begin); took > 3*time.Second { // thirty batches take nine
			t.Errorf("the call took %v", took)
		}
	}
}

// TestAStopPutsBackWhatWaitedForItsTurn stops the program while one message
// waits for its acknowledgement and five for their turn.
func TestAStopPutsBackWhatWaitedForItsTurn(t *testing.T) {
	s := newSendScene(t, "MESSAGE_BATCH_SHUTDOWN_TIMEOUT_MS=1000")
	s.slowAcks(t, 10*time.Second)
	all := s.batchesOf(6)
	s.await("all have an item on its way or waiting", func() bool {
		sending := 0
		for _, b := range all {
			sending += s.batch(b.ID).Counts.Sending
		}
		return sending == len(all)
	})
	s.stop()
	s.slowAcks(t, 0)
	s.start()
	unknown := 0
	for i, b := range all {
		s.await(fmt.Sprint("the end of batch ", i), func() bool {
			b = s.batch(b.ID)
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

// TestAPauseReachesABatchThatWaitsForItsTurn: nothing of its item has left, so
// nothing is waited for.
func TestAPauseReachesABatchThatWaitsForItsTurn(t *testing.T) {
	s := newSendScene(t)
	s.slowAcks(t, 20*time.Second)
	all := s.batchesOf(2)
	s.await("both have an item on its way or waiting", func() bool {
		return s.batch(all[0].ID).Counts.Sending+s.batch(all[1].ID).Counts.Sending == 2
	})
	waits := func() (n int) {
		for _, b := range all {
			if s.batch(b.ID).Status == event.BatchIsPaused {
				n++
			}
		}
		return n
	}
	for _, b := range all {
		s.call(bearer(s.user), http.MethodPost, "/message/batches/"+b.ID.String()+"/pause", nil, nil)
	}
	begin := time.Now()
	s.await("the one that waits is paused", func() bool { return waits() == 1 })
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	for _, b := range all {
		if got := s.batch(b.ID); got.Status == event.BatchIsPaused && got.Counts.Pending != 2 {
			t.Errorf("%+v", got.Counts)
		}
	}
	s.kill()
}
