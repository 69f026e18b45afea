package batch

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"

	"postern/event"
)

// TestABatchOfSeveralShowsSomeInstances to who may see these: in every view, with what they
// sent, and nothing of the others but that it was sent.
func TestABatchOfSeveralShowsSomeInstances(t *testing.T) {
	f := newFleet(1, 2)
	bubble(t, f, func(r *rig) {
		f.send = func(_ context.Context, instance int64, out event.Outgoing) error {
			if strings.HasSuffix(out.To, "5") {
				return event.ErrNotConnected // another instance tries
			}
			return nil
		}
		r.create(request(40))
		synctest.Wait()
		only := func(id int64) func(int64) bool { return func(is int64) bool { return is == id } }
		whole := r.view()
		if whole.Instances[0].SelectedCount == 0 || whole.Instances[1].SelectedCount == 0 {
			r.Fatalf("one instance sent it all: %+v", whole.Instances)
		}
		for _, row := range []struct {
			id          int64
			own, others string
		}{{1, "i1", "i2"}, {2, "i2", "i1"}} {
			s := r.e.Shown(owner, only(row.id))
			shows := func(what string, v any, err error) {
				r.Helper()
				raw, _ := json.Marshal(v)
				if err != nil || strings.Contains(string(raw), `"`+row.others+`"`) || !strings.Contains(string(raw), `"`+row.own+`"`) {
					r.Errorf("%s of %s: %v %s", what, row.own, err, raw)
				}
			}
			v, err := s.Batch(r.batch)
			shows("batch", v, err)
			if v.Counts.Total != 40 || len(v.Instances) != 1 || v.Instances[0].SelectedCount != whole.Instances[row.id-1].SelectedCount {
				r.Errorf("%+v", v)
			}
			items, err := s.Items(r.batch, ItemFilter{}, Page{Limit: 100})
			shows("items", items, err)
			attempts, err := s.Attempts(r.batch, ItemFilter{}, Page{Limit: 200})
			shows("attempts", attempts, err)
			if attempts.TotalRecords != len(attempts.Records) {
				r.Errorf("%d of %d attempts", len(attempts.Records), attempts.TotalRecords)
			}
			sent := 0
			for _, item := range items.Records {
				if own := item.SelectedInstanceID != nil; own {
					sent++
				} else if item.SelectedInstanceName != nil || item.MessageID != nil || item.ClientMessageID != nil || item.WhatsAppMessageID != nil {
					r.Errorf("of another's item: %+v", item)
				}
				one, err := s.Item(r.batch, item.ID)
				if err != nil || one.RecipientInput != item.RecipientInput {
					r.Error(err)
				}
				for _, a := range one.Attempts {
					if a.InstanceID != row.id {
						r.Errorf("attempt %+v", a)
					}
				}
			}
			if items.TotalRecords != 40 || sent != v.Instances[0].SelectedCount {
				r.Errorf("%d items, %d of its own", items.TotalRecords, sent)
			}
			list, err := r.e.Batches(owner, Filter{Opens: only(row.id)}, Page{})
			shows("list", list, err)
			for name, want := range map[string]int{row.own: 1, row.others: 0} {
				if l, err := r.e.Batches(owner, Filter{Opens: only(row.id), InstanceName: name}, Page{}); err != nil || len(l.Records) != want {
					r.Errorf("by %s: %d, %v", name, len(l.Records), err)
				}
				if l, err := s.Items(r.batch, ItemFilter{InstanceName: name}, Page{}); err != nil || (len(l.Records) > 0) != (want > 0) {
					r.Errorf("items by %s: %d, %v", name, len(l.Records), err)
				}
			}
			any, err := r.e.AnyBatch(r.batch, only(row.id))
			shows("any", any, err)
			view, parts, err := s.Processing(r.batch)
			shows("processing", view, err)
			for part, err := range parts {
				shows("part", part, err)
			}
			some, all, err := r.e.Opens(owner, r.batch, only(row.id))
			if !some || all || err != nil {
				r.Error(some, all, err)
			}
		}
		none := r.e.Shown(owner, only(3))
		if _, err := none.Batch(r.batch); !errors.Is(err, ErrNotFound) {
			r.Error(err)
		}
		if _, err := none.Items(r.batch, ItemFilter{}, Page{}); !errors.Is(err, ErrNotFound) {
			r.Error(err)
		}
		if some, all, err := r.e.Opens(owner, r.batch, only(3)); some || all || err != nil {
			r.Error(some, all, err)
		}
		if _, _, err := r.e.Opens(uuid.New(), r.batch, only(1)); !errors.Is(err, ErrNotFound) {
			r.Error(err)
		}
		if some, all, err := r.e.Opens(owner, r.batch, func(int64) bool { return true }); !some || !all || err != nil {
			r.Error(some, all, err)
		}
	})
}
