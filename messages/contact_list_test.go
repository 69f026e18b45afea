package messages

import (
	"context"
	"errors"
	"testing"

	"postern/event"
)

func TestContactPagesHaveNoGapsOrRepeats(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	other, id := r.create(), r.create()
	r.crowd(other, 3)
	r.crowd(id, 120)
	r.crowd(other, 3)
	for limit, pages := range map[int]int{0: 3, 1: 120, 7: 18, 40: 3, 120: 1, 500: 1} {
		want, after, seen := int64(4), int64(0), 0
		for {
			page, err := r.a.Contacts(bg, id, ContactQuery{After: after, Limit: limit})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range page.Contacts {
				if c.ID != want {
					t.Fatalf("limit %d: contact %d where %d is due", limit, c.ID, want)
				}
				want++
			}
			if seen++; page.Next == 0 {
				break
			}
			after = page.Next
		}
		if want != 124 || seen != pages {
			t.Errorf("limit %d: ended before contact %d, on page %d", limit, want, seen)
		}
	}
}

func TestContactFilters(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	id := r.create()
	r.learn(id, met(annPhone, annLID, "Änne Smith"),
		event.ContactChange{JID: bobPhone, BusinessName: new("Blacksmith & Sons")},
		event.ContactChange{JID: "493@s.whatsapp.net", FullName: new("Carl")})
	for _, c := range []struct {
		q    ContactQuery
		want []int64
		next int64
	}{
		{ContactQuery{}, []int64{1, 2, 3}, 0},
		{ContactQuery{Name: "SMITH"}, []int64{1, 2}, 0},
		{ContactQuery{Name: "smith", Limit: 1}, []int64{1}, 1},
		{ContactQuery{Name: "smith", Limit: 1, After: 1}, []int64{2}, 0},
		{ContactQuery{Name: "änne"}, []int64{1}, 0},
		{ContactQuery{Name: "car"}, []int64{3}, 0},
		{ContactQuery{Name: "zoe"}, nil, 0},
		{ContactQuery{JID: annPhone}, []int64{1}, 0},
		{ContactQuery{JID: annLID}, []int64{1}, 0},
		{ContactQuery{JID: annLID, After: 1}, nil, 0},
		{ContactQuery{JID: annLID, Name: "carl"}, nil, 0},
		{ContactQuery{JID: "499@s.whatsapp.net"}, nil, 0},
	} {
		page, err := r.a.Contacts(bg, id, c.q)
		var got []int64
		for _, contact := range page.Contacts {
			got = append(got, contact.ID)
		}
		if err != nil || len(got) != len(c.want) || page.Next != c.next {
			t.Errorf("%+v: %v, next %d (%v); want %v, next %d", c.q, got, page.Next, err, c.want, c.next)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%+v: %v, want %v", c.q, got, c.want)
			}
		}
	}
}

func TestContactListErrors(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	if _, err := r.a.Contacts(bg, 9, ContactQuery{}); !errors.Is(err, errNoInstance) {
		t.Error(err)
	}
	if _, err := r.a.Contacts(bg, 9, ContactQuery{JID: annPhone}); !errors.Is(err, errNoInstance) {
		t.Error(err)
	}
	if _, err := r.a.Contact(9, annPhone); !errors.Is(err, errNoInstance) {
		t.Error(err)
	}
	id := r.create()
	if _, err := r.a.Contact(id, annPhone); !errors.Is(err, ErrNoContact) {
		t.Error(err)
	}
	r.crowd(id, 1)
	ctx, cancel := context.WithCancel(bg)
	cancel()
	if _, err := r.a.Contacts(ctx, id, ContactQuery{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
