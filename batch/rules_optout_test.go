package batch

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"postern/batch/optout"
	"postern/batch/record"
	"postern/event"
	"postern/store"
)

// optOut has the recipients of request at some positions opt out of a user's batches.
func (r *rig) optOut(of uuid.UUID, positions ...int) {
	r.Helper()
	var all []optout.Addition
	for _, at := range positions {
		all = append(all, optout.Addition{To: event.Recipient{User: request(at + 1).Recipients[at], Server: event.UserServer}})
	}
	if n, err := r.e.cfg.OptOuts.Add(context.Background(), of, all); err != nil || n != len(all) {
		r.Fatal(n, err)
	}
}

// optsOut is optOut before the journal begins.
func (j *journal) optsOut(positions ...int) {
	j.Helper()
	j.optOut(owner, positions...)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = nil
}

func (r *rig) statuses() (all []string) {
	r.Helper()
	for _, i := range r.items() {
		all = append(all, string(i.Status))
	}
	return all
}

func (r *rig) wantStatuses(want string) {
	r.Helper()
	if got := strings.Join(r.statuses(), " "); got != want {
		r.Errorf("items %s, want %s", got, want)
	}
}

func TestOptedOutItemIsSkippedWithoutAnAttempt(t *testing.T) {
	bubble(t, newFleet(1, 2), func(r *rig) {
		r.optOut(owner, 0, 2)
		r.create(request(3))
		v := r.status(complete)
		r.reported("created started progress progress progress completed")
		if v.Counts.Skipped != 2 || v.Counts.Success != 1 || len(r.f.sent) != 1 || v.Instances[0].SelectedCount+v.Instances[1].SelectedCount != 1 {
			t.Errorf("%d were sent, counts %+v, instances %+v", len(r.f.sent), v.Counts, v.Instances)
		}
		i := r.items()[2]
		if i.Status != record.ItemSkipped || i.LastErrorCode == nil || *i.LastErrorCode != "OPTED_OUT" || i.LastErrorMessage == nil || i.FinishedAt == nil {
			t.Errorf("the item is %+v", i)
		}
		if i.AttemptCount != 0 || i.SelectedInstanceID != nil || i.ClientMessageID != nil || i.ProcessingStartedAt != nil || i.SelectedDelayMs != nil {
			t.Errorf("the item has had an attempt: %+v", i)
		}
		if l, err := r.e.Items(owner, r.batch, ItemFilter{Status: []string{"SKIPPED"}}, Page{}); err != nil || len(l.Records) != 2 {
			t.Errorf("the list of skipped items has %d, %v", len(l.Records), err)
		}
		for _, e := range r.entries() {
			if err := schemas.Check(e.Kind, e.Body); err != nil {
				t.Errorf("%s: %v", e.Kind, err)
			}
		}
	})
}

// TestOptOutIsReadInTheSendingCommit adds it after the item was chosen, when the message
// id is drawn, and before the commit.
func TestOptOutIsReadInTheSendingCommit(t *testing.T) {
	for name, delay := range map[string]time.Duration{"with the outcome of the one before": 0, "after a delay": time.Minute} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(1, 2)
			synctest.Test(t, func(t *testing.T) {
				var r *rig
				n := 0
				r = newRig(t, f, func(c *Config) {
					c.NewMessageID = func() string {
						if n++; n == 2 {
							r.optOut(owner, 1)
						}
						return f.messageID()
					}
				})
				r.create(delayed(3, delay))
				time.Sleep(time.Hour)
				r.status(complete)
				r.wantStatuses("SUCCESS SKIPPED SUCCESS")
				r.stop()
			})
		})
	}
}

func TestOptOutHoldsForItsUserOnly(t *testing.T) {
	bubble(t, newFleet(1, 2), func(r *rig) {
		r.optOut(uuid.New(), 0)
		r.create(request(1))
		r.status(complete)
		r.wantStatuses("SUCCESS")
	})
}

// TestOptOutOutlivesItsBatch: another batch of the same recipients, the deletion of the
// first, a crash.
func TestOptOutOutlivesItsBatch(t *testing.T) {
	bubble(t, newFleet(1, 2), func(r *rig) {
		req := request(1)
		req.Options.OptOutWords = []string{"Stop"}
		r.create(req)
		r.status(complete)
		if err := r.e.Delete(r.Context(), owner, r.batch); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		r.crash()
		r.boot()
		if !r.answers(1, req.Recipients[0], " STÓP ") {
			t.Fatal("the answer is no word")
		}
		r.crash()
		r.boot()
		r.create(req)
		r.status(complete)
		r.wantStatuses("SKIPPED")
	})
}

// answers has a person write to an instance. It reports whether the text is a word.
func (r *rig) answers(instance int64, number, text string) bool {
	r.Helper()
	jid := number + "@" + event.UserServer
	content, _ := json.Marshal(map[string]string{"text": text})
	m := event.Message{KeyID: "A", KeyRemoteJID: &jid, MessageType: "conversation", Content: content}
	fn := r.e.cfg.OptOuts.Heed(instance, &m)
	if fn == nil {
		return false
	}
	if err := r.s.Update(context.Background(), fn); err != nil {
		r.Fatal(err)
	}
	return true
}

// TestAnswerCountsFromTheCommitOfSending on, and whatever becomes of the send.
func TestAnswerCountsFromTheCommitOfSending(t *testing.T) {
	f := newFleet(1, 2)
	var r *rig
	var mu sync.Mutex
	outcomes := map[string]error{"SUCCESS": nil, "UNKNOWN": event.ErrOutcomeUnknown}
	for want, outcome := range outcomes {
		f.send = func(_ context.Context, instance int64, out event.Outgoing) error {
			mu.Lock()
			defer mu.Unlock()
			if !r.answers(instance, numberOf(out.To), "stop") {
				t.Error("the word is not known during the send")
			}
			return outcome
		}
		bubble(t, f, func(in *rig) {
			r = in
			req := request(1)
			req.Options.OptOutWords = []string{"stop"}
			r.create(req)
			synctest.Wait()
			r.wantStatuses(want)
			f.send = nil
			r.create(req)
			r.status(complete)
			r.wantStatuses("SKIPPED")
		})
		clear(f.sent)
	}
}

// TestPendingItemsAnswerNothing: who was not written to cannot answer the batch.
func TestPendingItemsAnswerNothing(t *testing.T) {
	bubble(t, newFleet(1, 2), func(r *rig) {
		req, no := request(1), false
		req.AutoStart, req.Options.OptOutWords = &no, []string{"stop"}
		r.create(req)
		r.answers(1, req.Recipients[0], "stop")
		r.do(r.e.StartBatch)
		r.status(complete)
		r.wantStatuses("SUCCESS")
	})
}

func TestSkippedItemsHaveNoDelay(t *testing.T) {
	bubble(t, newFleet(1, 2), func(r *rig) {
		r.optOut(owner, 1, 2, 3, 4)
		r.create(delayed(6, time.Hour))
		time.Sleep(time.Hour + time.Second)
		r.status(complete)
		r.wantStatuses("SUCCESS SKIPPED SKIPPED SKIPPED SKIPPED SUCCESS")
	})
}

// TestNextItemIsSkippedWithTheOutcomeBefore: a batch without delays commits both at once.
func TestNextItemIsSkippedWithTheOutcomeBefore(t *testing.T) {
	journalled(t, newFleet(1, 2), nil, func(j *journal) {
		j.optsOut(1)
		j.create(request(3))
		j.answer(nil)
		j.wants(sending + " | PROCESSING progress progress | PROCESSING")
		j.wantStatuses("SUCCESS SKIPPED SENDING")
		j.answer(nil)
		j.wants(sending + " | PROCESSING progress progress | PROCESSING | COMPLETED progress completed")
	})
}

// TestItemThatGoesBackIsSkipped: it was SENDING, did not leave, and its recipient opted out
// meanwhile.
func TestItemThatGoesBackIsSkipped(t *testing.T) {
	journalled(t, newFleet(1, 2), nil, func(j *journal) {
		j.create(request(1))
		j.read()
		j.optsOut(0)
		j.answer(event.ErrNotConnected)
		j.wants("COMPLETED progress completed")
		j.wantStatuses("SKIPPED")
		items, attempts := j.said()
		if attempts != dropped || items != "SKIPPED" {
			t.Errorf("items %s, attempts %s", items, attempts)
		}
	})
}

// TestBatchWithoutWordsCostsAsBefore compares commits and records of batches with and
// without opt-out words.
func TestBatchWithoutWordsCostsAsBefore(t *testing.T) {
	commits := map[bool]string{}
	for _, words := range []bool{false, true} {
		journalled(t, newFleet(1, 2), nil, func(j *journal) {
			req := request(3)
			if words {
				req.Options.OptOutWords = []string{"stop"}
			}
			j.create(req)
			for range req.Recipients {
				j.answer(nil)
			}
			commits[words] = j.read()
			want := 0
			if words {
				want = len(req.Recipients) + 1
			}
			n := 0
			if err := j.s.View(func(tx *store.Tx) error {
				for _, b := range optout.Buckets() {
					some, err := tx.Count(b.Name, nil)
					if n += some; err != nil {
						return err
					}
				}
				return nil
			}); err != nil || n != want {
				t.Errorf("with words %t: %d records of opt-outs, want %d (%v)", words, n, want, err)
			}
		})
	}
	if commits[false] != commits[true] {
		t.Errorf("without words %s\nwith words    %s", commits[false], commits[true])
	}
}

func TestInvalidOptOutWordsAreRefused(t *testing.T) {
	bubble(t, newFleet(1, 2), func(r *rig) {
		for _, words := range [][]string{{""}, {"stop", " "}, {strings.Repeat("x", 65)}, slices.Repeat([]string{"x"}, 21)} {
			req := request(1)
			req.Options.OptOutWords = words
			_, err := r.e.Create(r.Context(), owner, req)
			if bad, ok := errors.AsType[*InvalidError](err); !ok || bad.Code != InvalidOptions || !strings.Contains(bad.Messages[0], "options.optOutWords") {
				t.Errorf("%.40q: %v", words, err)
			}
		}
	})
}
