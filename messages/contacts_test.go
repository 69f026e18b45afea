package messages

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"postern/event"
	"postern/store"
)

const (
	annPhone, annLID = "491@s.whatsapp.net", "71@lid"
	bobPhone, bobLID = "492@s.whatsapp.net", "72@lid"
)

// met returns a contact change from the network with one JID or both.
func met(jid, lid, pushName string) event.ContactChange {
	c := event.ContactChange{JID: jid, LID: lid, Source: event.SourcePushName}
	if pushName != "" {
		c.PushName = &pushName
	}
	return c
}

// learn reports changes as contacts.upsert and returns the id each was published
// with.
func (r *rig) learn(instance int64, changes ...event.ContactChange) (ids []float64) {
	r.Helper()
	for _, c := range changes {
		r.report(instance, event.Fact{Kind: event.ContactsUpsert, Data: c})
		ids = append(ids, fields(r, r.one().Body)["data"].(map[string]any)["id"].(float64))
	}
	return ids
}

// contact returns the stored contact without its times.
func (r *rig) contact(instance int64, jid string) Contact {
	r.Helper()
	c, err := r.a.Contact(instance, jid)
	if err != nil && !errors.Is(err, ErrNoContact) {
		r.Fatal(err)
	}
	c.CreatedAt, c.UpdatedAt = event.Time{}, event.Time{}
	return c
}

func TestContactUpsertIsStoredBeforeItsEvent(t *testing.T) {
	full, none := "Ann of the address book", ""
	for name, c := range map[string]struct {
		change        event.ContactChange
		pushName, lid any
	}{
		"push name":         {event.ContactChange{JID: annPhone, LID: annLID, PushName: new("Ann"), FullName: &full}, "Ann", annLID},
		"full name alone":   {event.ContactChange{JID: annPhone, FullName: &full}, full, nil},
		"removed push name": {event.ContactChange{JID: annPhone, PushName: &none, FullName: &full}, full, nil},
		"no name":           {event.ContactChange{JID: annPhone, BusinessName: new("Ann & Co")}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			defer r.stop()
			id := r.create()
			r.report(id, event.Fact{Kind: event.ContactsUpsert, Data: c.change, RequestID: "req"})
			n := r.one()
			want := map[string]any{"id": 1.0, "remoteJid": annPhone, "lid": c.lid, "pushName": c.pushName, "profilePicUrl": nil, "action": "upserted"}
			if got := fields(t, n.Body)["data"]; !reflect.DeepEqual(got, want) || n.Kind != event.ContactsUpsert || n.RequestID != "req" {
				t.Errorf("%s of %q:\n got %v\nwant %v", n.Kind, n.RequestID, got, want)
			}
			r.reboot()
			if got := r.contact(id, annPhone); got.ID != 1 || got.JID != annPhone {
				t.Errorf("stored %+v", got)
			}
		})
	}
}

func TestContactUpdatePayload(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	id := r.create()
	item := func(more map[string]any) []any {
		all := map[string]any{"id": 1.0, "remoteJid": annPhone, "lid": annLID, "action": "updated"}
		maps.Copy(all, more)
		return []any{all}
	}
	for _, step := range []struct {
		change event.ContactChange
		want   []any
	}{
		{event.ContactChange{JID: annPhone, LID: annLID, PushName: new("Ann"), Source: event.SourcePushName}, item(map[string]any{"pushName": "Ann", "source": "pushName"})},
		{event.ContactChange{JID: annPhone, BusinessName: new("Ann & Co"), Source: event.SourceBusinessName}, item(map[string]any{"pushName": "Ann", "businessName": "Ann & Co", "source": "businessName"})},
		{event.ContactChange{JID: annLID, PushName: new(""), Source: event.SourcePushName}, item(map[string]any{"pushName": "", "businessName": "Ann & Co", "source": "pushName"})},
	} {
		r.report(id, event.Fact{Kind: event.ContactsUpdate, Data: step.change})
		n := r.one()
		var body struct{ Data []any }
		if err := json.Unmarshal(n.Body, &body); err != nil || !reflect.DeepEqual(body.Data, step.want) || n.Kind != event.ContactsUpdate {
			t.Errorf("%s (%v):\n got %v\nwant %v", n.Kind, err, body.Data, step.want)
		}
	}
}

// Every order in which a phone number and a LID can become known.
func TestContactHasOneIDForBothJIDs(t *testing.T) {
	ann := Contact{ID: 1, JID: annPhone, LID: annLID, PushName: "Ann"}
	for name, c := range map[string]struct {
		published []event.ContactChange
		ids       []float64
		want      []Contact
	}{
		"phone, then both": {
			[]event.ContactChange{met(annPhone, "", "Ann"), met(annPhone, annLID, "")},
			[]float64{1, 1},
			[]Contact{ann},
		},
		"LID, then both": {
			[]event.ContactChange{met(annLID, "", "Ann"), met(annPhone, annLID, ""), met(annLID, "", ""), met(annLID, annLID, "")},
			[]float64{1, 1, 1, 1},
			[]Contact{ann},
		},
		"two records turn out to be one: the lower id wins": {
			[]event.ContactChange{met(annPhone, "", "Ann"), met(bobPhone, "", "Bob"), met(annLID, "", ""), met(annPhone, annLID, ""), met(annLID, "", "")},
			[]float64{1, 2, 3, 1, 1},
			[]Contact{ann, {ID: 2, JID: bobPhone, PushName: "Bob"}},
		},
		"of two names the later stays, the LID's": {
			[]event.ContactChange{met(annPhone, "", "Anna"), met(annLID, "", "Ann"), met(annPhone, annLID, "")},
			[]float64{1, 2, 1},
			[]Contact{ann},
		},
		"of two names the later stays, the phone's": {
			[]event.ContactChange{met(annLID, "", "Anna"), met(annPhone, "", "Ann"), met(annPhone, annLID, "")},
			[]float64{1, 2, 1},
			[]Contact{ann},
		},
		"an account with a new number": {
			[]event.ContactChange{met(bobPhone, annLID, "Ann"), met(annPhone, annLID, "")},
			[]float64{1, 1},
			[]Contact{ann},
		},
		"a number that passes to a new account is another contact": {
			[]event.ContactChange{met(annPhone, annLID, "Ann"), met(annPhone, bobLID, "Bob"), met(annLID, "", "")},
			[]float64{1, 2, 1},
			[]Contact{{ID: 1, JID: annLID, LID: annLID, PushName: "Ann"}, {ID: 2, JID: annPhone, LID: bobLID, PushName: "Bob"}},
		},
		"a number that passes to a known account": {
			[]event.ContactChange{met(annPhone, annLID, "Ann"), met(bobPhone, bobLID, "Bob"), met(annPhone, bobLID, "")},
			[]float64{1, 2, 2},
			[]Contact{{ID: 1, JID: annLID, LID: annLID, PushName: "Ann"}, {ID: 2, JID: annPhone, LID: bobLID, PushName: "Bob"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, nil)
				defer r.stop()
				id := r.create()
				var ids []float64
				for _, change := range c.published {
					ids = append(ids, r.learn(id, change)...)
					time.Sleep(time.Second) // each is later than the one before
				}
				if !reflect.DeepEqual(ids, c.ids) {
					t.Errorf("published ids %v, want %v", ids, c.ids)
				}
				r.wantContacts(id, c.want)
			})
		})
	}
}

// wantContacts checks that exactly these are stored, each found by each of its
// JIDs, and nothing else is in the index.
func (r *rig) wantContacts(id int64, want []Contact) {
	r.Helper()
	page, err := r.a.Contacts(bg, id, ContactQuery{})
	if err != nil || len(page.Contacts) != len(want) {
		r.Errorf("stored %+v (%v), want %d", page.Contacts, err, len(want))
	}
	keys := 0
	for _, c := range want {
		for _, jid := range c.jids() {
			if keys++; r.contact(id, jid) != c {
				r.Errorf("%s is %+v, want %+v", jid, r.contact(id, jid), c)
			}
		}
	}
	if n := r.count(contactJIDs, id); n != keys {
		r.Errorf("%d JIDs in the index, want %d", n, keys)
	}
}

func TestKnownContactIsPublishedWithoutCommit(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	id := r.create()
	r.learn(id, met(annPhone, annLID, "Ann"))
	before, err := r.a.Contact(id, annPhone)
	if err != nil {
		t.Fatal(err)
	}
	commits := r.s.Stats().Commits
	if ids := r.learn(id, met(annPhone, annLID, "Ann"), met(annLID, "", "")); !reflect.DeepEqual(ids, []float64{1, 1}) {
		t.Errorf("published as %v", ids)
	}
	if n := r.s.Stats().Commits - commits; n != 0 {
		t.Errorf("%d commits", n)
	}
	if after, _ := r.a.Contact(id, annPhone); after != before {
		t.Errorf("changed from %+v to %+v", before, after)
	}
}

func TestNamesOfStrangersAreMendedAndCut(t *testing.T) {
	for name, c := range map[string]struct{ published, stored string }{
		"1000 characters stay": {strings.Repeat("ä", 1000), strings.Repeat("ä", 1000)},
		"the rest is cut off":  {strings.Repeat("😀", 1001), strings.Repeat("😀", 1000)},
		"10 MB":                {strings.Repeat("x", 10<<20), strings.Repeat("x", 1000)},
		"invalid UTF-8":        {"A\xffnn\xc3", "A\uFFFDnn\uFFFD"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			defer r.stop()
			id := r.create()
			r.report(id, event.Fact{Kind: event.ContactsUpdate, Data: event.ContactChange{
				JID: annPhone, PushName: &c.published, BusinessName: &c.published, FullName: &c.published, Source: event.SourcePushName,
			}})
			got := r.contact(id, annPhone)
			if got.PushName != c.stored || got.BusinessName != c.stored || got.FullName != c.stored {
				t.Errorf("stored %d, %d and %d characters", utf8.RuneCountInString(got.PushName), utf8.RuneCountInString(got.BusinessName), utf8.RuneCountInString(got.FullName))
			}
			if n := r.one(); !utf8.Valid(n.Body) {
				t.Error("the event is not UTF-8")
			}
		})
	}
}

func TestContactWithoutUsableJIDIsDropped(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	id := r.create()
	for _, c := range []event.ContactChange{
		met("", "", "nobody"), met(strings.Repeat("1", 256), "", "long"), met(annPhone, strings.Repeat("1", 40<<10), "long LID"), met("\xff@s.whatsapp.net", "", "odd"),
	} {
		r.report(id, event.Fact{Kind: event.ContactsUpsert, Data: c})
	}
	if n := r.published(); len(n) != 0 || r.count(contacts, id)+r.count(contactJIDs, id) != 0 {
		t.Errorf("published %v, %d stored", kinds(n), r.count(contacts, id))
	}
}

func TestContactChangeWithoutKindHasNoEvent(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	id := r.create()
	r.report(id, event.Fact{Data: met(annPhone, "", "Ann")})
	if n := r.published(); len(n) != 0 || r.contact(id, annPhone).PushName != "Ann" {
		t.Errorf("published %v, stored %+v", kinds(n), r.contact(id, annPhone))
	}
}

func TestUnstoredContactHasNoEvent(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	id := r.create()
	other := r.create()
	if err := r.tell(9, event.Fact{Kind: event.ContactsUpsert, Data: met(annPhone, "", "Ann")}); !errors.Is(err, errNoInstance) {
		t.Errorf("of an unknown instance: %v", err)
	}
	err := r.s.Update(bg, func(tx *store.Tx) error { return tx.Delete(instances, store.Key(other)) })
	if err != nil {
		t.Fatal(err)
	}
	if err := r.tell(other, event.Fact{Kind: event.ContactsUpsert, Data: met(annPhone, "", "Ann")}); !errors.Is(err, errNoInstance) || r.count(contacts, other) != 0 {
		t.Errorf("of an instance that is deleted meanwhile: %v, %d stored", err, r.count(contacts, other))
	}
	if err := r.s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []event.Kind{event.ContactsUpsert, event.ContactsUpdate} {
		if err := r.tell(id, event.Fact{Kind: kind, Data: met(annPhone, "", "Ann")}); !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if n := r.published(); len(n) != 0 {
		t.Errorf("published %v", kinds(n))
	}
}

func TestDamagedContactKeepsItsIDAndIsRestored(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	id := r.create()
	r.learn(id, met(annPhone, annLID, "damage-this-name"))
	r.damage("damage-this-name")
	if _, err := r.a.Contact(id, annPhone); !errors.Is(err, ErrNoContact) {
		t.Errorf("a damaged one is read as %v", err)
	}
	if ids := r.learn(id, met(annPhone, "", "Ann"), met(annLID, "", "")); !reflect.DeepEqual(ids, []float64{1, 1}) {
		t.Errorf("published as %v", ids)
	}
	r.learn(id, met(annPhone, annLID, ""))
	r.wantContacts(id, []Contact{{ID: 1, JID: annPhone, LID: annLID, PushName: "Ann"}})
}

func TestConcurrentContactChangesMakeOneRecord(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	id := r.create()
	published := []event.ContactChange{met(annPhone, "", "Ann"), met(annLID, "", "Ann"), met(annPhone, annLID, "Ann"), met(bobPhone, bobLID, "Bob")}
	done := make(chan error)
	for i := range 80 {
		go func() {
			done <- r.tell(id, event.Fact{Kind: event.ContactsUpsert, Data: published[i%len(published)]})
		}()
	}
	for range 80 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if r.contact(id, annPhone) != r.contact(id, annLID) || r.count(contacts, id) != 2 || r.count(contactJIDs, id) != 4 || len(r.published()) != 80 {
		t.Errorf("%d records, %d JIDs", r.count(contacts, id), r.count(contactJIDs, id))
	}
}

// crowd stores n contacts, as years of traffic would.
func (r *rig) crowd(instance int64, n int) {
	r.Helper()
	const step = 1000 // a commit that splits one page thousandfold is slow
	for first := 0; first < n; first += step {
		err := r.s.Update(bg, func(tx *store.Tx) error {
			for i := first; i < min(n, first+step); i++ {
				c := Contact{JID: fmt.Sprintf("49%06d@s.whatsapp.net", i), LID: fmt.Sprintf("%06d@lid", i), PushName: fmt.Sprint("Somebody ", i)}
				if err := c.put(tx, instance); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			r.Fatal(err)
		}
	}
}

func TestDeleteRemovesContactsOfTheInstanceOnly(t *testing.T) {
	if testing.Short() {
		t.Skip("stores 100 000 records")
	}
	r := newRig(t, nil)
	defer r.stop()
	gone, stays := r.create(), r.create()
	r.crowd(gone, 100_000)
	r.crowd(stays, 3)
	r.drop(gone)
	for _, bucket := range []string{contacts, contactJIDs} {
		if r.count(bucket, gone) != 0 || r.count(bucket, stays) == 0 {
			t.Errorf("%s: %d of the deleted, %d of the other", bucket, r.count(bucket, gone), r.count(bucket, stays))
		}
	}
}

func TestContactsAreNotPruned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		defer r.stop()
		id := r.create()
		r.learn(id, met(annPhone, annLID, "Ann"))
		r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: text("K", annPhone, false)})
		time.Sleep(time.Hour)
		if n, _, err := r.a.Prune(bg, time.Now()); n != 1 || err != nil {
			t.Errorf("removed %d, %v", n, err)
		}
		r.wantContacts(id, []Contact{{ID: 1, JID: annPhone, LID: annLID, PushName: "Ann"}})
	})
}
