package batch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"postern/batch/mailing"
	"postern/batch/record"
	"postern/event"
	"postern/store"
)

// retried has a batch of four that ended FAILED, UNKNOWN, SUCCESS and SKIPPED.
func (r *rig) retried() View {
	r.Helper()
	ends := []error{event.ErrSendRefused, event.ErrOutcomeUnknown, nil, event.NotOnWhatsApp("1")}
	r.f.send = func(context.Context, int64, event.Outgoing) error {
		end := ends[0]
		ends = ends[1:]
		return end
	}
	req := personal("Hi {{name}}", "name=Ana", "name=Bo", "name=Cy", "name=Di")
	req.List.Numbers, req.List.Details = mailing.Packed{}, mailing.Packed{}
	for i, name := range []string{"Ana", "Bo", "Cy", "Di"} {
		req.List.Add(mailing.Recipient{Number: request(4).Recipients[i], ExternalID: "row " + name, Variables: map[string]*string{"name": &name}})
	}
	req.Options.SkipUnregistered = true
	v := r.create(req)
	r.status(event.BatchIsWithErrors)
	r.f.send = nil
	return v
}

func TestARetryGoesToTheItemsThatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFleet(1, 2), nil)
		defer r.stop()
		old := r.retried()
		for want, req := range map[string]RetryRequest{
			"Ana":       {},
			"Di":        {Status: []record.ItemStatus{record.ItemSkipped}},
			"Ana Bo":    {Status: []record.ItemStatus{record.ItemFailed, record.ItemUnknown}, MayUnknown: true},
			"Ana Di":    {Status: []record.ItemStatus{record.ItemFailed, record.ItemSkipped}},
			"Bo":        {Status: []record.ItemStatus{record.ItemUnknown, record.ItemFailed}, MayUnknown: true, Codes: []string{event.SendResultUnknown}},
			"Ana Bo Di": {Status: []record.ItemStatus{record.ItemFailed, record.ItemSkipped, record.ItemUnknown}, MayUnknown: true},
		} {
			req.Name, req.Instances = "again", request(0).Instances
			v, err := r.e.Retry(t.Context(), owner, old.ID, req)
			if err != nil {
				t.Fatal(want, err)
			}
			if v.RetryOf == nil || *v.RetryOf != old.ID || v.Name != "again" || !v.Options.SkipUnregistered || string(v.Message[0].Payload) != string(old.Message[0].Payload) {
				t.Errorf("%+v", v)
			}
			r.batch = v.ID
			r.status(event.BatchIsCompleted)
			var names []string
			for _, item := range r.items() {
				names = append(names, item.Variables["name"])
				if item.ExternalID != "row "+item.Variables["name"] || item.RenderedPreview != "Hi "+item.Variables["name"] {
					t.Errorf("%+v", item)
				}
			}
			if got := strings.Join(names, " "); got != want {
				t.Errorf("%+v goes to %s, want %s", req, got, want)
			}
		}
		if now, err := r.e.Batch(owner, old.ID); err != nil || now.RetryOf != nil || now.Status != event.BatchIsWithErrors {
			t.Errorf("the old batch: %+v, %v", now, err)
		}
	})
}

func TestARetryIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFleet(1, 2), nil)
		defer r.stop()
		old := r.retried()
		for name, c := range map[string]struct {
			req  RetryRequest
			code string
		}{
			"unknown without saying so": {RetryRequest{Status: []record.ItemStatus{record.ItemUnknown}}, InvalidRetry},
			"what has arrived":          {RetryRequest{Status: []record.ItemStatus{record.ItemSuccess}}, InvalidRetry},
			"no status":                 {RetryRequest{Status: []record.ItemStatus{"LOST"}}, InvalidRetry},
			"nothing of that status":    {RetryRequest{Status: []record.ItemStatus{record.ItemPending}}, NothingToRetry},
			"nothing of that code":      {RetryRequest{Codes: []string{event.SendResultUnknown}}, NothingToRetry},
			"a name that is too long":   {RetryRequest{Instances: request(0).Instances, Name: strings.Repeat("x", MaxName+1)}, InvalidName},
		} {
			_, err := r.e.Retry(t.Context(), owner, old.ID, c.req)
			if refused, ok := errors.AsType[*InvalidError](err); !ok || refused.Code != c.code {
				t.Errorf("%s: %v", name, err)
			}
		}
		refused := errors.New("not these")
		_, err := r.e.Retry(t.Context(), owner, old.ID, RetryRequest{Name: "x", Instances: request(0).Instances, Check: func(to *mailing.Recipients) error {
			if to.Len() != 1 {
				t.Errorf("%d recipients", to.Len())
			}
			return refused
		}})
		if !errors.Is(err, refused) {
			t.Errorf("%v", err)
		}
		r.aDraft(request(1))
		if _, err := r.e.Retry(t.Context(), owner, r.batch, RetryRequest{Name: "x", Instances: request(0).Instances}); !errors.Is(err, ErrInvalidTransition) {
			t.Errorf("a draft: %v", err)
		}
	})
}

func TestStoppedBatchesPendingItemsAreRetriedByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFleet(1, 2), nil)
		defer r.stop()
		old := r.aDraft(request(3))
		r.do(r.e.StopBatch)
		if _, err := r.e.Retry(t.Context(), owner, old.ID, RetryRequest{Name: "x", Instances: request(0).Instances}); err == nil {
			t.Error("without their name")
		}
		v, err := r.e.Retry(t.Context(), owner, old.ID, RetryRequest{Name: "x", Instances: request(0).Instances, Status: []record.ItemStatus{record.ItemPending}})
		if err != nil || v.Counts.Total != 3 {
			t.Errorf("%+v, %v", v, err)
		}
	})
}

// The commits before the last one are those of a creation, which the model kills.
func TestKillAroundARetryIsAllOrNothing(t *testing.T) {
	for _, last := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, newFleet(1, 2), nil)
			defer func() { r.stop() }()
			old := r.aDraft(request(2*chunk + 1))
			r.do(r.e.StopBatch)
			_, err := r.e.Retry(t.Context(), owner, old.ID, RetryRequest{Name: "x", Instances: request(0).Instances, Status: []record.ItemStatus{record.ItemPending}, InCommit: func(*store.Tx, View) error {
				if !last {
					return context.Canceled
				}
				return nil
			}})
			r.crash()
			r.boot()
			synctest.Wait()
			l, lerr := r.e.Batches(owner, Filter{}, Page{Limit: 10})
			if lerr != nil || (err == nil) != last || last != (len(l.Records) == 2) {
				t.Errorf("%v, %v, %d", err, lerr, len(l.Records))
			}
			if items, want := records(t, r.s, record.BucketItem), (2*chunk+1)*len(l.Records); items != want {
				t.Errorf("%d items, want %d", items, want)
			}
		})
	}
}

func TestARetryBeginsAtThePartThatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFleet(1, 2), nil)
		defer r.stop()
		var got []string
		failed := false
		r.f.send = func(_ context.Context, _ int64, out event.Outgoing) error {
			if text := out.Content.Text.Text; text != "two" || failed {
				got = append(got, text)
				return nil
			}
			failed = true
			return event.ErrSendRefused
		}
		req := request(1)
		req.Message.Payload = []byte(`{"text":"one"}`)
		for _, text := range []string{"two", "three"} {
			req.More = append(req.More, record.Part{BatchMessage: event.BatchMessage{Type: "text", Payload: fmt.Appendf(nil, `{"text":%q}`, text)}})
		}
		old := r.create(req)
		r.status(event.BatchIsWithErrors)
		v, err := r.e.Retry(t.Context(), owner, old.ID, RetryRequest{Name: "x", Instances: req.Instances})
		if err != nil {
			t.Fatal(err)
		}
		r.batch = v.ID
		r.status(event.BatchIsCompleted)
		if want := "one two three"; strings.Join(got, " ") != want {
			t.Errorf("sent %q", got)
		}
	})
}
