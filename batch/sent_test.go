package batch

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"postern/batch/record"
	"postern/event"
)

// sentOf returns what was sent of each item.
func (r *rig) sentOf(s Shown) (all []Sent) {
	r.Helper()
	parts, err := s.Sent(r.batch)
	if err != nil {
		r.Fatal(err)
	}
	for part, err := range parts {
		if err != nil {
			r.Fatal(err)
		}
		all = append(all, part...)
	}
	return all
}

func TestSentIsWhatWhatsAppAcknowledged(t *testing.T) {
	for name, row := range map[string]struct {
		refused string // text
		want    int
	}{"all parts": {"", 3}, "one part": {"two", 1}, "none": {"one", 0}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, newFleet(1, 2), nil)
				defer r.stop()
				sentTexts(r.f, func(_ int64, text string) error {
					if text == row.refused {
						return event.ErrSendRefused
					}
					return nil
				})
				r.create(threeParts(1))
				synctest.Wait()
				item, sent := r.items()[0], r.sentOf(r.e.Shown(owner, nil))[0]
				at := item.ProcessingStartedAt
				if item.Status == record.ItemSuccess {
					at = item.FinishedAt
				}
				if len(sent.Messages) != row.want || !sent.At.Equal(at.Time) {
					t.Fatalf("%+v of %+v", sent, item)
				}
				if row.want == 0 {
					return
				}
				if sent.JID != item.NormalizedRecipient+"@s.whatsapp.net" || sent.Instance.ID != *item.SelectedInstanceID || sent.Instance.Name != *item.SelectedInstanceName {
					t.Errorf("%+v of %+v", sent, item)
				}
				for i, m := range sent.Messages {
					if m.Instance != sent.Instance.ID || m.WhatsAppID == "" || i > 0 && m.WhatsAppID == sent.Messages[i-1].WhatsAppID {
						t.Errorf("message %d is %+v", i, m)
					}
				}
				other := r.e.Shown(owner, func(id int64) bool { return id != sent.Instance.ID })
				if hidden := r.sentOf(other)[0]; len(hidden.Messages) != 0 {
					t.Errorf("another instance shows %+v", hidden)
				}
			})
		})
	}
}

// TestFirstMessageOfAStoppedItemIsSent pauses a batch behind the first message of an item, and then stops it.
func TestFirstMessageOfAStoppedItemIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFleet(1, 2), nil)
		defer r.stop()
		hold := make(chan struct{})
		sentTexts(r.f, func(int64, string) error { <-hold; return nil })
		began := event.At(time.Now())
		r.create(threeParts(1))
		synctest.Wait()
		r.do(r.e.Pause)
		close(hold)
		r.status(event.BatchIsPaused)
		for _, status := range []event.BatchStatus{event.BatchIsPaused, event.BatchIsStopped} {
			if sent := r.sentOf(r.e.Shown(owner, nil))[0]; len(sent.Messages) != 1 || sent.JID == "" || !sent.At.Equal(began.Time) {
				t.Errorf("%s: sent %+v", status, sent)
			}
			if status == event.BatchIsPaused {
				r.do(r.e.StopBatch)
				r.status(event.BatchIsStopped)
			}
		}
	})
}

// TestFailedItemKeepsTheAddressOfItsMessage has another number's account get the first of two messages.
func TestFailedItemKeepsTheAddressOfItsMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFleet(1, 2), nil)
		defer r.stop()
		const account = "77@lid"
		sentTexts(r.f, func(_ int64, text string) error {
			if text == "two" {
				return event.ErrSendRefused
			}
			return nil
		})
		r.f.account = account
		r.create(threeParts(1))
		r.status(event.BatchIsWithErrors)
		if sent := r.sentOf(r.e.Shown(owner, nil))[0]; sent.JID != account {
			t.Errorf("sent to %s", sent.JID)
		}
		if item := r.items()[0]; item.RecipientJID == nil || *item.RecipientJID != account {
			t.Errorf("%+v", item)
		}
	})
}

func TestNothingOfAnItemIsSentBeforeSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFleet(1, 2), nil)
		defer r.stop()
		draft := false
		req := request(partSize + 1)
		req.AutoStart = &draft
		r.create(req)
		all := r.sentOf(r.e.Shown(owner, nil))
		if len(all) != partSize+1 {
			t.Fatalf("%d items", len(all))
		}
		for _, sent := range all {
			if fmt.Sprint(sent) != fmt.Sprint(Sent{}) {
				t.Fatalf("%+v", sent)
			}
		}
	})
}
