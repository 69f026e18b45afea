package batch

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"postern/batch/mailing"
	"postern/batch/record"
	"postern/event"
)

func TestADryRunStoresAndSendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFleet(1, 2), nil)
		defer r.stop()
		req := personal("Hi {{name}}", "name=Ana", "name=Maximilian", "name=Cy")
		req.List.AddText([]byte("12"))
		req.List.Add(mailing.Recipient{Number: "+49 151 00000001"}) // a duplicate
		req.List.Add(mailing.Recipient{Number: "4915100000009", Variables: map[string]*string{"$": new("x")}})
		req.Options.Delay = event.BatchDelay{MinMs: 1000, MaxMs: 3000}
		got, err := r.e.Try(t.Context(), owner, req, 2)
		if err != nil {
			t.Fatal(err)
		}
		if got.Counts.Total != 3 || *got.Counts.Received != 6 || *got.Counts.DuplicatesIgnored != 1 || got.Pauses != 4*time.Second {
			t.Errorf("%+v, %v", got.Counts, got.Pauses)
		}
		if m := got.Malformed; len(m) != 2 || *m[0].Index != 3 || m[0].Input != "12" || m[0].Error == "" || *m[1].Index != 5 {
			t.Errorf("%+v", m)
		}
		if e := got.Examples; len(e) < 2 || len(e) > 3 || e[0].Text != "Hi Ana" || e[1].Text != "Hi Maximilian" || e[1].Recipient != "4915100000001" {
			t.Errorf("%+v", e)
		}
		if want := []string{"4915100000000", "4915100000001"}; !slices.Equal(got.Numbers, want) {
			t.Errorf("%q", got.Numbers)
		}
		synctest.Wait()
		if n := records(t, r.s, record.BucketItem) + records(t, r.s, record.BucketHeader) + records(t, r.s, record.BucketCreating); n != 0 || len(r.f.sent) > 0 {
			t.Errorf("%d records, sent %v", n, r.f.sent)
		}
		missing := personal("Hi {{name}}", "name=Ana", "due=x")
		if _, err := r.e.Try(t.Context(), owner, missing, 2); err == nil {
			t.Error("a missing variable is not refused")
		}
	})
}

// TestADryRunAnswersEveryMalformedRecipient has more of them than a refusal names.
func TestADryRunAnswersEveryMalformedRecipient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFleet(1, 2), nil)
		defer r.stop()
		req := personal("Hi {{name}}", "name=Ana")
		for i := range 3 * mailing.MaxReported {
			req.List.Add(mailing.Recipient{Number: fmt.Sprint(4915200000000 + i), Variables: map[string]*string{"$": new("x")}})
		}
		got, err := r.e.Try(t.Context(), owner, req, 9)
		if err != nil || len(got.Malformed) != 3*mailing.MaxReported || got.Counts.Total != 1 || len(got.Numbers) != 1 {
			t.Errorf("%d malformed, %+v, %q, %v", len(got.Malformed), got.Counts, got.Numbers, err)
		}
	})
}

func TestOnlyADraftIsChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFleet(1, 2), nil)
		defer r.stop()
		v := r.aDraft(personal("Hi {{name}}", "name=Ana", "name=Bo"))
		req, _, err := r.e.Draft(owner, v.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.e.Try(t.Context(), owner, req, 9); err != nil || got.Examples[0].Text != "Hi Ana" || len(got.Numbers) != 2 {
			t.Errorf("%+v, %v", got, err)
		}
		r.do(r.e.StartBatch)
		if _, _, err := r.e.Draft(owner, v.ID); !errors.Is(err, ErrInvalidTransition) {
			t.Errorf("%v", err)
		}
	})
}
