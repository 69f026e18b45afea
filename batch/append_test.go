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

	"postern/batch/mailing"
	"postern/batch/record"
	"postern/event"
	"postern/store"
)

// aDraft creates a draft.
func (r *rig) aDraft(req CreateRequest) View {
	r.Helper()
	no := false
	req.AutoStart = &no
	return r.create(req)
}

func (r *rig) append(ctx context.Context, list *mailing.Recipients) (View, error) {
	return r.e.Append(ctx, owner, r.batch, AppendRequest{List: list})
}

func TestAppendedRecipientsFollowTheRulesOfCreation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFleet(1, 2), func(c *Config) { c.MaxRecipients = 5 })
		defer r.stop()
		r.aDraft(personal("Hi {{name}} {{due|soon}}", "name=Ana", "name=Bo"))
		for name, c := range map[string]struct {
			list *mailing.Recipients
			code string
		}{
			"none":         {&mailing.Recipients{}, InvalidRecipient},
			"malformed":    {mailing.Numbers("12"), InvalidRecipient},
			"no variable":  {mailing.Numbers("4915170000000"), MissingVariable},
			"too many":     {personal("", "name=a", "name=b", "name=c", "name=d", "name=e", "name=f").List, TooManyRecipients},
			"more than is": {elsewhere("name=a", "name=b", "name=c", "name=d"), TooManyRecipients},
		} {
			_, err := r.append(t.Context(), c.list)
			if refused, ok := errors.AsType[*InvalidError](err); !ok || refused.Code != c.code {
				t.Errorf("%s: %v", name, err)
			}
		}
		list := elsewhere("due=3 May,name=Cy", "name=Di") // another order of the names
		list.Add(mailing.Recipient{Number: "+49 151 00000001"})
		v, err := r.append(t.Context(), list)
		if err != nil || v.Counts.Total != 4 || *v.Counts.Received != 5 || *v.Counts.DuplicatesIgnored != 1 {
			t.Fatalf("%+v, %v", v.Counts, err)
		}
		r.do(r.e.StartBatch)
		r.status(event.BatchIsCompleted)
		var got []string
		for _, item := range r.items() {
			got = append(got, item.RenderedPreview)
		}
		if want := []string{"Hi Ana soon", "Hi Bo soon", "Hi Cy 3 May", "Hi Di soon"}; !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
		if _, err := r.append(t.Context(), mailing.Numbers("4915170000009")); !errors.Is(err, ErrInvalidTransition) {
			t.Errorf("to a batch that has ended: %v", err)
		}
	})
}

// elsewhere is personal with other numbers.
func elsewhere(recipients ...string) *mailing.Recipients {
	list := &mailing.Recipients{}
	for i, pairs := range recipients {
		to := mailing.Recipient{Number: fmt.Sprintf("49160%08d", i), Variables: map[string]*string{}}
		for pair := range strings.SplitSeq(pairs, ",") {
			name, value, _ := strings.Cut(pair, "=")
			to.Variables[name] = &value
		}
		list.Add(to)
	}
	return list
}

func TestAnObjectMakesTheTextATemplate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFleet(1, 2), nil)
		defer r.stop()
		for text, code := range map[string]string{"Hi {{name": InvalidMessage, "Hi {{name}}": MissingVariable, "{{name|}}": InvalidMessage} {
			req := request(1)
			req.Message.Payload = fmt.Appendf(nil, `{"text":%q}`, text)
			r.aDraft(req)
			_, err := r.append(t.Context(), elsewhere("name=Ana"))
			if refused, ok := errors.AsType[*InvalidError](err); !ok || refused.Code != code {
				t.Errorf("%s: %v", text, err)
			}
		}
		req := request(1)
		req.Message.Payload = []byte(`{"text":"Hi {{name|you}}"}`)
		r.aDraft(req)
		if _, err := r.append(t.Context(), elsewhere("name=Ana")); err != nil {
			t.Fatal(err)
		}
		if all := r.items(); all[0].RenderedPreview != "Hi you" || all[1].RenderedPreview != "Hi Ana" {
			t.Errorf("%+v", all)
		}
	})
}

func TestLargeAppendIsAllOrNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFleet(1, 2), nil)
		defer func() { r.stop() }()
		v := r.aDraft(request(2))
		list := func() *mailing.Recipients {
			list := &mailing.Recipients{}
			for i := range 3*chunk + 1 {
				list.AddText(fmt.Appendf(nil, "49160%08d", i))
			}
			return list
		}
		ctx, cancel := context.WithCancel(t.Context())
		commits := 0
		r.stop()
		r.onCommit = func(int, time.Duration) {
			if commits++; commits == 2 {
				cancel()
			}
		}
		r.boot()
		_, err := r.append(ctx, list())
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if got := r.items(); len(got) != 2 {
			t.Errorf("%d items are visible", len(got))
		}
		if _, err := r.e.Item(owner, v.ID, record.ItemID(v.ID, 2)); !errors.Is(err, ErrNotFound) {
			t.Errorf("an item behind the last: %v", err)
		}
		synctest.Wait()
		if n := records(t, r.s, record.BucketItem) + records(t, r.s, record.BucketCreating); n != 2 {
			t.Errorf("%d records", n)
		}
		if v, err = r.append(t.Context(), list()); err != nil || v.Counts.Total != 3*chunk+3 {
			t.Errorf("%+v, %v", v.Counts, err)
		}
		if n := records(t, r.s, record.BucketItem); n != 3*chunk+3 {
			t.Errorf("%d records", n)
		}
		report, err := store.Check(t.Context(), r.path, withOutbox())
		if err == nil && len(report.Faults) > 0 {
			t.Errorf("%q", report.Faults)
		}
	})
}
