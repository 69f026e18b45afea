package whatsapp

import (
	"testing"

	"postern/event"
	"postern/sandbox"
)

// circle is a group of two accounts of this program, each with its phone, as
// the first made it.
type circle struct {
	owner, other *rig
	phone        *sandbox.Phone // of other
	id           string
}

func newCircle(t *testing.T) circle {
	t.Helper()
	c := circle{owner: newRig(t)}
	c.other = c.owner.neighbour(2)
	c.owner.pair()
	c.phone = c.other.pair()
	made, err := c.owner.session.Account.Groups.CreateGroup(t.Context(), event.NewGroup{
		Subject: "Bakers", Description: "Bread and more", Participants: []string{c.phone.JID().String()},
	})
	if err != nil {
		t.Fatal(err)
	}
	if made.ID == "" || made.Subject != "Bakers" || made.Size != 2 || made.DescriptionError != "" || *made.Desc != "Bread and more" || len(made.NotAdded) != 0 {
		t.Errorf("made %+v", made)
	}
	c.id = made.ID
	return c
}

// seen is the group as the other account sees it.
func (c circle) seen(t *testing.T) event.GroupUpsert {
	t.Helper()
	g, err := c.other.session.Account.Groups.Group(t.Context(), c.id)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// count counts the facts of a kind about the group so far.
func (r *rig) count(group string, kind event.Kind) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.history {
		if f.Kind == kind && aboutGroup(f, group) {
			n++
		}
	}
	return n
}

func aboutGroup(f event.Fact, group string) bool {
	switch d := f.Data.(type) {
	case []event.GroupUpsert:
		return d[0].ID == group
	case []event.GroupUpdate:
		return d[0].Partial.ID == group
	case event.GroupParticipantsUpdate:
		return d.ID == group
	case event.PictureUpdate:
		return d.JID == group
	}
	return false
}
