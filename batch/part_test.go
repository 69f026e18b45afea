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
)

// threeParts returns a request that sends each recipient three texts.
func threeParts(n int) CreateRequest {
	req := request(n)
	req.Message.Payload = []byte(`{"text":"one"}`)
	for _, text := range []string{"two", "three"} {
		req.More = append(req.More, record.Part{BatchMessage: event.BatchMessage{Type: "text", Payload: fmt.Appendf(nil, `{"text":%q}`, text)}})
	}
	return req
}

// sentTexts makes a fleet note what leaves, as recipient, instance and text, and answer
// with what fail returns.
func sentTexts(f *scripted, fail func(instance int64, text string) error) *[]string {
	var all []string
	f.send = func(_ context.Context, instance int64, out event.Outgoing) error {
		if err := fail(instance, out.Content.Text.Text); err != nil {
			return err
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		all = append(all, fmt.Sprintf("%s i%d %s", strings.TrimSuffix(out.To, "@"+event.UserServer)[9:], instance, out.Content.Text.Text))
		return nil
	}
	return &all
}

func never(int64, string) error { return nil }

// partsOf returns the statuses and codes of the parts of an attempt.
func partsOf(a Attempt) string {
	var all []string
	for _, p := range a.Parts {
		s := string(p.Status)
		if p.ErrorCode != nil {
			s += ":" + *p.ErrorCode
		}
		if p.WhatsAppMessageID != nil {
			s += "!"
		}
		all = append(all, s)
	}
	return strings.Join(all, " ")
}

func (r *rig) attemptsOf(position int) []Attempt {
	r.Helper()
	item, err := r.e.Item(owner, r.batch, record.ItemID(r.batch, position))
	if err != nil {
		r.Fatal(err)
	}
	return item.Attempts
}

func TestPartsAreSentInOrderToEachRecipient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFleet(1, 2), nil)
		defer r.stop()
		sent := sentTexts(r.f, never)
		req := threeParts(4)
		req.Options.Delay = event.BatchDelay{MinMs: 5000, MaxMs: 5000}
		began := time.Now()
		r.create(req)
		time.Sleep(time.Minute)
		r.status(event.BatchIsCompleted)
		if n := len(*sent); n != 12 {
			t.Fatalf("%d messages: %v", n, *sent)
		}
		for i, line := range *sent {
			to := fmt.Sprintf("%04d", i/3)
			if !strings.HasPrefix(line, to) || !strings.HasSuffix(line, []string{"one", "two", "three"}[i%3]) || line[:7] != (*sent)[i/3*3][:7] {
				t.Errorf("message %d is %q", i, line)
			}
		}
		if took := r.view().CompletedAt.Sub(began); took != 15*time.Second {
			t.Errorf("it took %s: the delay is between recipients only", took)
		}
		r.reported("created started progress progress progress progress completed")
		for i, item := range r.items() {
			if a := r.attemptsOf(i); len(a) != 1 || partsOf(a[0]) != "SUCCESS! SUCCESS! SUCCESS!" || item.AttemptCount != 1 {
				t.Errorf("item %d: %+v", i, a)
			}
		}
	})
}

func TestAFailedPartEndsItsItem(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		status record.ItemStatus
		parts  string
		event  string
	}{
		"certain":  {event.ErrSendRefused, record.ItemFailed, "SUCCESS! FAILED:SEND_MESSAGE_FAILED", "item_failed"},
		"in doubt": {event.ErrOutcomeUnknown, record.ItemUnknown, "SUCCESS! UNKNOWN:SEND_RESULT_UNKNOWN", "item_unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, newFleet(1, 2), nil)
				defer r.stop()
				sent := sentTexts(r.f, func(_ int64, text string) error {
					if text == "two" {
						return c.err
					}
					return nil
				})
				r.create(threeParts(1))
				r.status(event.BatchIsWithErrors)
				if item := r.items()[0]; item.Status != c.status || len(*sent) != 1 {
					t.Errorf("%+v, sent %v", item, *sent)
				}
				if a := r.attemptsOf(0); len(a) != 1 || partsOf(a[0]) != c.parts {
					t.Errorf("%+v", a)
				}
			})
		})
	}
}

func TestItemResumesAtTheFirstUnsentPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFleet(1), nil)
		defer r.stop()
		once := true
		sent := sentTexts(r.f, func(_ int64, text string) error {
			if text == "two" && once {
				once = false
				return event.ErrNotConnected
			}
			return nil
		})
		req := threeParts(2)
		req.Instances = req.Instances[:1]
		r.create(req)
		time.Sleep(time.Minute)
		r.status(event.BatchIsCompleted)
		want := []string{"0000 i1 one", "0000 i1 two", "0000 i1 three", "0001 i1 one", "0001 i1 two", "0001 i1 three"}
		if !slices.Equal(*sent, want) {
			t.Errorf("sent %v", *sent)
		}
		a := r.attemptsOf(0)
		if len(a) != 2 || partsOf(a[0]) != "SUCCESS! INSTANCE_UNAVAILABLE" || partsOf(a[1]) != "SUCCESS! SUCCESS! SUCCESS!" {
			t.Errorf("%+v", a)
		}
	})
}

// TestAnAlbumStaysWithItsInstance pauses a batch between the messages of an album. The rest comes from the instance that began
// it. If that one is offline, another sends the rest as single files: its chat has no album.
func TestAnAlbumStaysWithItsInstance(t *testing.T) {
	for name, offline := range map[string]bool{"online": false, "offline": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, newFleet(1, 2, 3, 4, 5), nil)
				defer r.stop()
				hold := make(chan struct{})
				var began int64
				var rest []string
				r.f.send = func(_ context.Context, instance int64, out event.Outgoing) error {
					if out.Content.Album != nil {
						began = instance
						<-hold
						return nil
					}
					rest = append(rest, fmt.Sprint(instance == began, out.Album != ""))
					return nil
				}
				req := request(1)
				req.Message.Type, req.Message.Payload = event.TypeAlbum, []byte(`{"items":[{"mediatype":"image","media":"https://example.org/1.jpg"},{"mediatype":"image","media":"https://example.org/2.jpg"}]}`)
				for id := range int64(5) {
					req.Instances = append(req.Instances, record.InstanceRef{ID: id + 1, Name: fmt.Sprint("i", id+1)})
				}
				r.create(req)
				synctest.Wait()
				r.do(r.e.Pause)
				close(hold)
				r.status(event.BatchIsPaused)
				if offline {
					r.f.set(r.e, began, event.Offline)
				}
				r.do(r.e.StartBatch)
				r.status(event.BatchIsCompleted)
				want := "true true"
				if offline {
					want = "false false"
				}
				if !slices.Equal(rest, []string{want, want}) {
					t.Errorf("from the instance that began, and of its album: %q", rest)
				}
				if a := r.attemptsOf(0); partsOf(a[len(a)-1]) != "SUCCESS! SUCCESS! SUCCESS!" {
					t.Errorf("%+v", a)
				}
			})
		})
	}
}

func TestAPauseActsBetweenTwoParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFleet(1, 2), nil)
		defer r.stop()
		hold := make(chan struct{})
		sent := sentTexts(r.f, func(_ int64, text string) error {
			if text == "two" {
				<-hold
			}
			return nil
		})
		r.create(threeParts(1))
		synctest.Wait()
		r.do(r.e.Pause)
		close(hold)
		r.status(event.BatchIsPaused)
		if len(*sent) != 2 || r.items()[0].Status != record.ItemPending {
			t.Errorf("sent %v, %+v", *sent, r.items()[0])
		}
		r.do(r.e.StartBatch)
		r.status(event.BatchIsCompleted)
		if len(*sent) != 3 || (*sent)[2][:7] != (*sent)[0][:7] {
			t.Errorf("sent %v: the rest comes from the same instance", *sent)
		}
	})
}

// While an item waits for the time of its next message, nothing of it is in doubt.
func TestACrashBetweenPartsLeavesNoDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFleet(1), nil)
		sent := sentTexts(r.f, func(int64, string) error {
			r.f.mu.Lock()
			defer r.f.mu.Unlock()
			r.f.after = time.Now().Add(time.Hour)
			return nil
		})
		req := threeParts(1)
		req.Instances = req.Instances[:1]
		r.create(req)
		r.status(event.BatchProcessing)
		if item := r.items()[0]; item.Status != record.ItemSending || item.ClientMessageID != nil {
			t.Errorf("%+v", item)
		}
		r.crash()
		r.boot()
		defer r.stop()
		synctest.Wait()
		if item := r.items()[0]; item.Status != record.ItemPending || item.AttemptCount != 1 {
			t.Errorf("%+v", item)
		}
		time.Sleep(4 * time.Hour)
		r.status(event.BatchIsCompleted)
		if want := []string{"0000 i1 one", "0000 i1 two", "0000 i1 three"}; !slices.Equal(*sent, want) {
			t.Errorf("sent %v", *sent)
		}
		if a := r.attemptsOf(0); len(a) != 2 || partsOf(a[0]) != "SUCCESS! INSTANCE_UNAVAILABLE" || partsOf(a[1]) != "SUCCESS! SUCCESS! SUCCESS!" {
			t.Errorf("%+v", a)
		}
	})
}

func TestABatchHasAtMostFiveParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFleet(1), nil)
		defer r.stop()
		req := threeParts(1)
		req.More = append(req.More, req.More...)
		r.create(req)
		req.More = append(req.More, req.More[0])
		isRefused(t, r, req, InvalidMessage, "message has 6 parts, at most 5 are allowed")
		req = threeParts(1)
		req.More[1].Payload = []byte(`{"txt":"three"}`)
		isRefused(t, r, req, InvalidMessage, "message[2]: ")
		req = threeParts(1)
		req.Message.Payload = fmt.Appendf(nil, `{"text":"x","pad":%q}`, strings.Repeat("x", maxPayload-10))
		isRefused(t, r, req, InvalidMessage, "at most 1048576 are allowed in all")
	})
}

func isRefused(t *testing.T, r *rig, req CreateRequest, code, want string) {
	t.Helper()
	_, err := r.e.Create(t.Context(), owner, req)
	if is, ok := errors.AsType[*InvalidError](err); !ok || is.Code != code || !strings.Contains(is.Messages[0], want) {
		t.Errorf("%.300v, want %s: %s", err, code, want)
	}
}

// A viewer of one instance sees that another sent a message, and not which.
func TestPartsOfHiddenInstancesHaveNoID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFleet(1, 2), nil)
		defer r.stop()
		sentTexts(r.f, func(instance int64, text string) error {
			if instance == 1 && text != "one" || instance == 2 && text == "one" {
				return event.ErrNotConnected
			}
			return nil
		})
		r.create(threeParts(1))
		time.Sleep(time.Hour)
		r.status(event.BatchIsCompleted)
		item, err := r.e.Shown(owner, func(id int64) bool { return id == 2 }).Item(r.batch, record.ItemID(r.batch, 0))
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range item.Attempts {
			if a.InstanceID != 2 || a.Status == record.AttemptSuccess && partsOf(a) != "SUCCESS SUCCESS! SUCCESS!" {
				t.Errorf("%s: %+v", partsOf(a), a)
			}
		}
	})
}
