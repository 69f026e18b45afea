package whatsapp

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"postern/event"
)

func labelEdited(l event.Label, deleted bool) func(event.Fact) bool {
	return func(f event.Fact) bool {
		d, ok := f.Data.(event.LabelEdit)
		return ok && d.ID == l.ID && d.Name == l.Name && *d.Color == l.Color && *d.Deleted == deleted
	}
}

func (r *rig) labels() []event.Label {
	r.t.Helper()
	all, err := r.session.Account.Labels.Labels(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return all
}

func TestLabelChangesReachAllDevices(t *testing.T) {
	r, second := twins(t)
	s := r.session
	vip, err := s.Account.Labels.CreateLabel(t.Context(), "VIP", 3)
	if err != nil || vip != (event.Label{ID: "1", Name: "VIP", Color: 3}) {
		t.Fatalf("made %+v, %v", vip, err)
	}
	late, err := s.Account.Labels.CreateLabel(t.Context(), "Late", 0)
	if err != nil || late.ID != "2" {
		t.Fatalf("made %+v, %v", late, err)
	}
	renamed, err := s.Account.Labels.EditLabel(t.Context(), vip.ID, event.LabelChange{Name: new("Regulars")})
	if err != nil || renamed != (event.Label{ID: "1", Name: "Regulars", Color: 3}) {
		t.Errorf("changed to %+v, %v", renamed, err)
	}
	if diff := cmp.Diff([]event.Label{renamed, late}, second.labels()); diff != "" {
		t.Errorf("the other device reads (-want +got)\n%s", diff)
	}
	if gone, err := s.Account.Labels.DeleteLabel(t.Context(), late.ID); err != nil || gone != late {
		t.Errorf("deleted %+v, %v", gone, err)
	}
	if diff := cmp.Diff([]event.Label{renamed}, second.labels()); diff != "" {
		t.Errorf("the other device reads (-want +got)\n%s", diff)
	}
	for _, device := range []*rig{r, second} {
		device.await("made", labelEdited(vip, false))
		device.await("changed", labelEdited(renamed, false))
		device.await("deleted", labelEdited(late, true))
	}
	third, err := s.Account.Labels.CreateLabel(t.Context(), "New", 5)
	if err != nil || third.ID != "3" {
		t.Errorf("the id of a deleted label is used again: %+v, %v", third, err)
	}
	r.await("the last", labelEdited(third, false))
	r.mu.Lock()
	defer r.mu.Unlock()
	edits := 0
	for _, f := range r.history {
		if f.Kind == event.LabelsEdit {
			edits++
		}
	}
	if edits != 5 {
		t.Errorf("%d reports of 5 changes", edits)
	}
}

func TestLabelOnAChat(t *testing.T) {
	r, second := twins(t)
	chat := r.contact().JID().String()
	l, err := r.session.Account.Labels.CreateLabel(t.Context(), "VIP", 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, action := range []event.LabelAction{event.LabelAdd, event.LabelRemove} {
		if err := r.session.Account.Labels.LabelChat(t.Context(), l.ID, chat, action == event.LabelAdd); err != nil {
			t.Fatal(err)
		}
		for _, device := range []*rig{r, second} {
			device.await(string(action), func(f event.Fact) bool {
				d, ok := f.Data.(event.LabelAssociation)
				return ok && d.Type == event.LabelOnChat && d.ChatJID == chat && d.LabelID == l.ID && d.Action == action
			})
		}
	}
}

// TestLabelsOlderThanThePairingAreRead would fail with a list built from events.
func TestLabelsOlderThanThePairingAreRead(t *testing.T) {
	r := newRig(t)
	phone := r.pair()
	r.synced()
	l, err := r.session.Account.Labels.CreateLabel(t.Context(), "Before", 7)
	if err != nil {
		t.Fatal(err)
	}
	second := r.neighbour(2)
	second.pairWith(phone)
	second.synced()
	if diff := cmp.Diff([]event.Label{l}, second.labels()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestAnUnknownLabelIsNotChanged(t *testing.T) {
	r := newRig(t)
	r.pair()
	r.synced()
	_, edit := r.session.Account.Labels.EditLabel(t.Context(), "9", event.LabelChange{Name: new("x")})
	_, del := r.session.Account.Labels.DeleteLabel(t.Context(), "9")
	if !errors.Is(edit, event.ErrNoLabel) || !errors.Is(del, event.ErrNoLabel) {
		t.Errorf("edit: %v; delete: %v", edit, del)
	}
	if all := r.labels(); len(all) != 0 {
		t.Errorf("labels %+v", all)
	}
}

func TestConcurrentLabelsGetDistinctIDs(t *testing.T) {
	r := newRig(t)
	r.pair()
	r.synced()
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			if _, err := r.session.Account.Labels.CreateLabel(t.Context(), "Same", 0); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	var ids []string
	for _, l := range r.labels() {
		ids = append(ids, l.ID)
	}
	if want := []string{"1", "2", "3", "4"}; !slices.Equal(ids, want) {
		t.Errorf("ids %v", ids)
	}
}
