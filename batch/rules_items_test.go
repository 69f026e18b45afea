package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"postern/batch/record"
	"postern/event"
	"postern/store"
)

func TestBatchSendsOneItemAtATime(t *testing.T) {
	f := newFleet(1, 2)
	var now, most, all, mostAll atomic.Int32
	f.send = func(_ context.Context, _ int64, out event.Outgoing) error {
		if strings.HasPrefix(out.To, "49151") {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
		}
		mostAll.Store(max(mostAll.Load(), all.Add(1)))
		defer all.Add(-1)
		time.Sleep(time.Second)
		return nil
	}
	bubble(t, f, func(r *rig) {
		r.create(request(10))
		other := request(10)
		for i, to := range other.Recipients {
			other.Recipients[i] = strings.Replace(to, "49151", "49152", 1)
		}
		r.create(other)
		time.Sleep(time.Minute)
		r.status(complete)
		if most.Load() != 1 || mostAll.Load() != 2 {
			t.Errorf("of one batch %d sends at once, of two %d", most.Load(), mostAll.Load())
		}
	})
}

func TestSendingIsStoredBeforeTheSend(t *testing.T) {
	f := newFleet(1, 2)
	var r *rig
	var mu sync.Mutex // two sends in a row are two goroutines
	ids := map[string]bool{}
	n := 0
	f.send = func(_ context.Context, instance int64, out event.Outgoing) error {
		mu.Lock()
		defer mu.Unlock()
		sent := 0
		for _, i := range r.items() {
			if i.Status != record.ItemSending {
				continue
			}
			sent++
			if *i.SelectedInstanceID != instance || *i.ClientMessageID != out.ID || i.NormalizedRecipient+"@"+event.UserServer != out.To || i.ProcessingStartedAt == nil {
				t.Errorf("sent %+v through %d, stored %+v", out, instance, i)
			}
		}
		if sent != 1 || ids[out.ID] {
			t.Errorf("%d items are SENDING, id %s", sent, out.ID)
		}
		ids[out.ID] = true
		if n++; n%3 == 0 {
			return event.ErrNotConnected // the next attempt has an id of its own
		}
		return nil
	}
	synctest.Test(t, func(t *testing.T) {
		r = newRig(t, f, nil)
		f.set(r.e, 1, event.Offline)
		f.set(r.e, 2, event.Offline)
		r.create(request(10))
		r.status(waitInst)
		f.set(r.e, 1, event.Online)
		f.set(r.e, 2, event.Online)
		time.Sleep(time.Hour)
		r.status(complete)
		r.stop()
	})
}

func TestItemWithoutDelayCostsOneCommit(t *testing.T) {
	f := newFleet(1, 2)
	f.send = func(context.Context, int64, event.Outgoing) error { return nil }
	journalled(t, f, nil, func(j *journal) {
		before := j.s.Stats()
		j.create(request(50))
		j.status(complete)
		after := j.s.Stats()
		// The creation, the claim, the first SENDING and each result.
		if n := after.Updates - before.Updates; n != 3+50 {
			t.Errorf("50 items cost %d commits", n)
		}
	})
}

func TestNoItemIsSendingDuringADelay(t *testing.T) {
	journalled(t, newFleet(1, 2), nil, func(j *journal) {
		j.rests()
		time.Sleep(time.Hour)
		j.crashes()
		j.wants(offRan + " | QUEUED recovered | PROCESSING resumed | PROCESSING")
		if items, _ := j.said(); items != giving {
			t.Errorf("items %s", items)
		}
	})
}

func TestInstancesAreChosenAtRandomPerItem(t *testing.T) {
	bubble(t, newFleet(1, 2, 3, 4), func(r *rig) {
		req := request(800)
		req.Instances = []record.InstanceRef{{ID: 1, Name: "i1"}, {ID: 2, Name: "i2"}, {ID: 3, Name: "i3"}, {ID: 4, Name: "i4"}}
		r.create(req)
		for _, i := range r.status(complete).Instances {
			if i.SelectedCount < 120 || i.SelectedCount > 280 || i.SuccessCount != i.SelectedCount { // 200 ± 6.5σ
				t.Errorf("%s was chosen %d times of 800, %d well", i.Name, i.SelectedCount, i.SuccessCount)
			}
		}
		changes, items := 0, r.items()
		for n := range items[1:] {
			if *items[n].SelectedInstanceID != *items[n+1].SelectedInstanceID {
				changes++
			}
		}
		if changes < 500 || changes > 700 { // 599 ± 8σ
			t.Errorf("the instance changed %d times", changes)
		}
	})
}

func TestTheDelayAfterAnItemEndsEarlyBy(t *testing.T) {
	for _, tc := range []struct {
		rule string
		want event.BatchStatus
		took time.Duration
		act  func(*journal)
	}{
		{"pause", paused, 0, (*journal).pause},
		{"stop", stopped, 0, (*journal).halt},
		{"the window's end", waitWin, 30 * time.Minute, func(*journal) { time.Sleep(30 * time.Minute) }},
		{"shutdown", interr, 0, func(j *journal) { j.restart(0) }},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			journalled(t, newFleet(1, 2), nil, func(j *journal) {
				j.daily(j.manual(delayed(2, 2*time.Hour)), 0, time.Hour)
				j.answer(nil)
				time.Sleep(30 * time.Minute)
				begin := time.Now()
				tc.act(j)
				v := j.status(tc.want)
				if took := time.Since(begin); took != tc.took || v.Counts.Success != 1 {
					t.Errorf("it took %s, counts %+v", took, v.Counts)
				}
				if ms := j.items()[0].SelectedDelayMs; ms == nil || *ms != (2*time.Hour).Milliseconds() {
					t.Errorf("delay %v", ms)
				}
			})
		})
	}
}

// A fenced worker is tested by TestWorkerAfterItsLease…, a
// crash by TestItemInSendingAfterCrashIsUnknown.
func TestUnknownItemIsNeverSentAgain(t *testing.T) {
	journalled(t, newFleet(1, 2), nil, func(j *journal) {
		j.create(request(1))
		time.Sleep(30 * time.Second) // the send outlives its context
		j.status(witherr)
		j.f.send = nil
		j.crashes()
		time.Sleep(24 * time.Hour)
		if items, attempts := j.said(); items != "UNKNOWN" || attempts != inDoubt || len(j.f.sent) != 0 {
			t.Errorf("items %s, attempts %s, sent %v", items, attempts, j.f.sent)
		}
		data := payloads(j.rig)[event.BatchItemUnknown]
		if e := data["error"].(map[string]any); e["code"] != "SEND_RESULT_UNKNOWN" || e["message"] == "" {
			t.Errorf("error %v", e)
		}
	})
}

// recorded counts what a send left to do that came back too late.
type recorded struct {
	*scripted
	records, commits atomic.Int32
}

func (f *recorded) Send(ctx context.Context, i int64, out event.Outgoing) (Receipt, error) {
	r, err := f.scripted.Send(ctx, i, out)
	r.Record = func(*store.Tx) (int64, error) { return int64(f.records.Add(1)), nil }
	r.Committed = func() { f.commits.Add(1) }
	return r, err
}

func TestWorkerAfterItsLeaseChangesNothing(t *testing.T) {
	f := &recorded{scripted: newFleet(1, 2)}
	journalled(t, f.scripted, func(c *Config) { c.Fleet = f }, func(j *journal) {
		f.send = func(_ context.Context, _ int64, out event.Outgoing) error {
			if strings.HasPrefix(out.To, "4915100000000@") {
				<-j.late
			}
			return nil
		}
		j.create(request(2))
		j.stuck()
		const want = sending + " | INTERRUPTED item.unknown interrupted | QUEUED recovered | PROCESSING resumed | PROCESSING | COMPLETED_WITH_ERRORS progress completed-with-errors"
		j.wants(want)
		v := j.view()
		close(j.late)
		j.late = make(chan struct{})
		j.wants(want)
		if after := j.view(); !reflect.DeepEqual(after, v) || len(f.sent) != 2 || f.records.Load() != 1 || f.commits.Load() != 1 {
			t.Errorf("the late result: %+v, then %+v; %d records, %d commits", v, after, f.records.Load(), f.commits.Load())
		}
	})
}

func (j *journal) fence() (n uint64) {
	j.Helper()
	j.read()
	err := j.s.View(func(tx *store.Tx) error {
		h, err := record.LoadHeader(tx, j.batch)
		n = h.Fence
		return err
	})
	if err != nil {
		j.Fatal(err)
	}
	return n
}

func TestFencingNumberRisesWithEveryClaim(t *testing.T) {
	journalled(t, newFleet(1, 2), nil, func(j *journal) {
		j.create(request(10))
		last := j.fence()
		for _, again := range []struct {
			rule string
			do   func()
		}{
			{"pause and start", func() { j.pause(); j.answer(nil); j.start() }},
			{"restart", func() { j.restart(0) }},
			{"instance back", func() { j.drops(1, 2); j.answer(nil); j.f.set(j.e, 1, event.Online) }},
		} {
			again.do()
			n := j.fence()
			if n <= last {
				t.Errorf("%s: fencing number %d after %d", again.rule, n, last)
			}
			last = n
		}
	})
}

func TestLeaseCommitRaisesTheFencingNumber(t *testing.T) {
	for rule, take := range map[string]func(*journal){"expired": (*journal).stuck, "found at start": (*journal).crashes} {
		t.Run(rule, func(t *testing.T) {
			journalled(t, newFleet(1, 2), nil, func(j *journal) {
				if rule == "expired" {
					j.deaf()
				}
				j.create(j.manual(request(2)))
				before := j.fence()
				take(j)
				j.status(interr)
				if n := j.fence(); n <= before {
					t.Errorf("fencing number %d after %d", n, before)
				}
			})
		})
	}
}

func TestPresenceAndContentReachTheSend(t *testing.T) {
	for kind, payload := range map[string]string{
		"text":           `{"text":"hello"}`,
		"link":           `{"link":"https://example.com/a","title":"A"}`,
		"media":          `{"mediatype":"image","media":"https://example.com/a.png"}`,
		"audio":          `{"audio":"https://example.com/a.ogg"}`,
		"ptt":            `{"audio":"https://example.com/a.ogg"}`,
		"whatsapp-audio": `{"audio":"https://example.com/a.ogg"}`,
		"whatsapp_audio": `{"audio":"https://example.com/a.ogg"}`,
		"contact":        `{"fullName":"Ann","phoneNumber":"4915112345678"}`,
		"location":       `{"latitude":52.5,"longitude":13.4}`,
	} {
		t.Run(kind, func(t *testing.T) {
			want, err := event.ParseContent(kind, []byte(payload))
			if err != nil {
				t.Fatal(err)
			}
			f := newFleet(1, 2)
			var got event.Outgoing
			f.send = func(_ context.Context, _ int64, out event.Outgoing) error {
				got = out
				return nil
			}
			bubble(t, f, func(r *rig) {
				req := request(1)
				req.Message = event.BatchMessage{Type: kind, Payload: json.RawMessage(payload)}
				req.Options.Presence = "recording"
				r.create(req)
				v := r.status(complete)
				if !reflect.DeepEqual(got.Content, want) || got.Presence != event.PresenceRecording || v.Message[0].Type != kind {
					t.Errorf("sent %+v of %+v", got, v.Message)
				}
			})
		})
	}
}

func TestADeletedInstanceStaysListedAsOffline(t *testing.T) {
	f := newFleet(1, 2)
	delete(f.states, 1)
	bubble(t, f, func(r *rig) {
		r.create(request(5))
		v := r.status(complete)
		if i := v.Instances[0]; i.Name != "i1" || i.ConnectionStatus != event.Offline || i.SelectedCount != 0 {
			t.Errorf("instances %+v", v.Instances)
		}
		reported := payloads(r)[event.BatchCompleted]["batch"].(map[string]any)["instances"].([]any)[0].(map[string]any)
		if reported["name"] != "i1" || reported["connectionStatus"] != "offline" {
			t.Errorf("reported %v", reported)
		}
	})
}

var errOdd = errors.New("odd")

// A code never says more than is known: FAILED is certain.
func TestOnlyACertainFailureIsFailed(t *testing.T) {
	for err, want := range map[error]string{
		event.ErrSendRefused: "FAILED SEND_MESSAGE_FAILED", event.ErrNotOnWhatsApp: "FAILED SEND_MESSAGE_FAILED",
		event.ErrOutcomeUnknown: "UNKNOWN SEND_RESULT_UNKNOWN", context.DeadlineExceeded: "UNKNOWN SEND_RESULT_UNKNOWN",
		errOdd: "UNKNOWN SEND_RESULT_UNKNOWN",
	} {
		journalled(t, newFleet(1, 2), nil, func(j *journal) {
			j.last()
			j.answer(fmt.Errorf("send: %w", err))
			i := j.items()[0]
			if got := fmt.Sprintf("%s %s", i.Status, *i.LastErrorCode); got != want || *i.LastErrorMessage == "" {
				t.Errorf("%v: %s, %s", err, got, *i.LastErrorMessage)
			}
		})
	}
}
