package messages

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"postern/event"
	"postern/store"
)

// stores stores a message of a chat and returns its id.
func (r *rig) stores(id int64, m *event.Message) int64 {
	r.Helper()
	var stored int64
	err := r.s.Update(bg, func(tx *store.Tx) (err error) {
		stored, err = r.a.StoreMessage(tx, id, m)
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
	return stored
}

func ids(p Page) (all []int64) {
	for _, m := range p.Messages {
		all = append(all, m.ID)
	}
	return all
}

func (r *rig) messages(id int64, q Query) Page {
	r.Helper()
	p, err := r.a.Messages(bg, id, q)
	if err != nil {
		r.Fatal(err)
	}
	return p
}

func TestMessageListOrder(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	id, other := r.create(), r.create()
	var want []int64
	for i := range 7 {
		want = append([]int64{r.stores(id, text(fmt.Sprint("K", i), "1@s.whatsapp.net", true))}, want...)
		r.stores(other, text(fmt.Sprint("K", i), "1@s.whatsapp.net", true))
	}
	var got []int64
	var pages []Page
	q := Query{Limit: 3}
	for {
		p := r.messages(id, q)
		pages = append(pages, p)
		got = append(got, ids(p)...)
		if p.Older == 0 {
			break
		}
		q.Before = p.Older
		r.stores(id, text(fmt.Sprint("LATER", p.Older), "1@s.whatsapp.net", true)) // must not shift the pages
	}
	if !slices.Equal(got, want) || len(pages) != 3 || pages[0].Newer != 0 {
		t.Errorf("got %v, want %v", got, want)
	}
	last := pages[2]
	back := r.messages(id, Query{Limit: 3, After: last.Newer})
	if !slices.Equal(ids(back), want[3:6]) || back.Newer == 0 || back.Older != back.Messages[2].ID {
		t.Errorf("back %v (%+v), want %v", ids(back), back, want[3:6])
	}
	newest := r.messages(id, Query{Limit: 50, After: want[0]})
	if len(newest.Messages) != 2 || newest.Newer != 0 {
		t.Errorf("newest %v", ids(newest))
	}
	if _, err := r.a.Messages(bg, 99, Query{}); !errors.Is(err, errNoInstance) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(bg)
	cancel()
	if _, err := r.a.Messages(ctx, id, Query{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestStoredsAreSelectedByEachFilter(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	id := r.create()
	mine := r.stores(id, text("MINE", "1@s.whatsapp.net", true))
	theirs := r.stores(id, text("THEIRS", "1@s.whatsapp.net", false))
	group := r.stores(id, text("GROUP", "123@g.us", false))
	picture := text("PICTURE", "2@s.whatsapp.net", true)
	picture.MessageType = "imageMessage"
	image := r.stores(id, picture)
	for _, s := range []event.UpdateStatus{"sent", "read", "delivered"} {
		err := r.s.Update(bg, func(tx *store.Tx) error {
			_, err := addUpdate(tx, id, "MINE", StoredUpdate{s, event.At(time.Now())})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	yes, no := true, false
	for name, c := range map[string]struct {
		q    Query
		want []int64
	}{
		"all":            {Query{}, []int64{image, group, theirs, mine}},
		"chat":           {Query{Chat: "1@s.whatsapp.net"}, []int64{theirs, mine}},
		"group":          {Query{Chat: "123@g.us"}, []int64{group}},
		"unknown chat":   {Query{Chat: "9@s.whatsapp.net"}, nil},
		"chat's prefix":  {Query{Chat: "1@s.whatsapp"}, nil},
		"own":            {Query{FromMe: &yes}, []int64{image, mine}},
		"of others":      {Query{FromMe: &no}, []int64{group, theirs}},
		"type":           {Query{Type: "imageMessage"}, []int64{image}},
		"highest status": {Query{Status: "read"}, []int64{mine}},
		"newest status":  {Query{Status: "delivered"}, nil},
		"no receipt":     {Query{Status: "sent"}, []int64{image}},
		"chat and own":   {Query{Chat: "1@s.whatsapp.net", FromMe: &yes}, []int64{mine}},
		"skipped":        {Query{Skip: 1, Limit: 2}, []int64{group, theirs}},
	} {
		if p := r.messages(id, c.q); !slices.Equal(ids(p), c.want) {
			t.Errorf("%s: %v, want %v", name, ids(p), c.want)
		}
	}
	got := r.messages(id, Query{Chat: "1@s.whatsapp.net", FromMe: &yes}).Messages[0]
	if len(got.Updates) != 3 || got.Updates[0].Status != "sent" || got.Updates[2].Status != "delivered" {
		t.Errorf("updates %+v", got.Updates)
	}
}

func TestChatMergesMessagesWithAndWithoutLID(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	id := r.create()
	early := r.stores(id, text("EARLY", "4915155500003@s.whatsapp.net", true))
	lid := "777@lid"
	late := text("LATE", "4915155500003@s.whatsapp.net", true)
	late.KeyLID = &lid
	known := r.stores(id, late)
	r.report(id, event.Fact{Kind: event.ContactsUpsert, Data: event.ContactChange{JID: "4915155500003@s.whatsapp.net", LID: lid, PushName: new("Anne")}})
	for _, chat := range []string{"4915155500003@s.whatsapp.net", lid} {
		if p := r.messages(id, Query{Chat: chat}); !slices.Equal(ids(p), []int64{known, early}) {
			t.Errorf("%s: %v", chat, ids(p))
		}
	}
	chats, next, err := r.a.Chats(id, 0, 10)
	if err != nil || next != 0 || len(chats) != 1 || chats[0].LID != lid || chats[0].JID != "4915155500003@s.whatsapp.net" || chats[0].Name != "Anne" || chats[0].Last.ID != known {
		t.Errorf("%+v, %d, %v", chats, next, err)
	}
}

// TestChatIsFoundByEitherName has no contact: an account that does not
// keep any, or that only ever sent, must not lose its chats for that.
func TestChatIsFoundByEitherName(t *testing.T) {
	r := newRig(t, nil)
	defer func() { r.stop() }()
	id, other := r.create(), r.create()
	const phone, lid = "4915155500003@s.whatsapp.net", "777@lid"
	early := r.stores(id, text("EARLY", phone, true))
	m := text("SENT", phone, true)
	m.KeyLID = new(lid)
	sent := r.stores(id, m)
	find := func() {
		t.Helper()
		for _, chat := range []string{phone, lid} {
			if p := r.messages(id, Query{Chat: chat}); !slices.Equal(ids(p), []int64{sent, early}) {
				t.Errorf("%s: %v", chat, ids(p))
			}
			for keyID, want := range map[string]int64{"EARLY": early, "SENT": sent} {
				if got, err := r.a.Find(id, keyID, chat); err != nil || got != want {
					t.Errorf("%s in %s: %d, %v", keyID, chat, got, err)
				}
			}
			if p := r.messages(other, Query{Chat: chat}); len(p.Messages) != 0 {
				t.Errorf("%s is found at another instance", chat)
			}
		}
		chats, _, err := r.a.Chats(id, 0, 10)
		if err != nil || len(chats) != 1 || chats[0].JID != phone || chats[0].LID != lid {
			t.Errorf("%+v, %v", chats, err)
		}
	}
	find()
	err := r.s.Update(bg, func(tx *store.Tx) error { // a file from before
		_, err := tx.DeletePrefix(chatNamesBucket, nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	r.reboot()
	find()
	r.drop(id)
	err = r.s.View(func(tx *store.Tx) error {
		return tx.Scan(chatNamesBucket, store.Range{Prefix: store.Key(id)}, func(k, _ []byte) (bool, error) {
			t.Errorf("%q outlives its instance", k)
			return true, nil
		})
	})
	if err != nil {
		t.Error(err)
	}
}

func TestChatsAreListedByTheirNewestMessage(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	id := r.create()
	for _, chat := range []string{"1@s.whatsapp.net", "12@s.whatsapp.net", "3@g.us", "1@s.whatsapp.net"} {
		r.stores(id, text(fmt.Sprint(chat, time.Now().UnixNano()), chat, false))
	}
	var got []string
	before := int64(0)
	for {
		page, next, err := r.a.Chats(id, before, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range page {
			got = append(got, c.JID)
		}
		if before = next; next == 0 {
			break
		}
	}
	if want := []string{"1@s.whatsapp.net", "3@g.us", "12@s.whatsapp.net"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestEachPageLooksAtBoundedRecords has more messages, chats and contacts than one call
// looks at.
func TestEachPageLooksAtBoundedRecords(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	id := r.create()
	const n = 3 * contactsMax
	for from := 0; from < n; from += scanStep {
		err := r.s.Update(bg, func(tx *store.Tx) error {
			for i := from; i < from+scanStep; i++ {
				jid := fmt.Sprint(1000000+i, "@s.whatsapp.net")
				_, err := r.a.StoreMessage(tx, id, text(fmt.Sprint("K", i), jid, false))
				c := Contact{ID: int64(i + 1), JID: jid, PushName: fmt.Sprint("Name ", i)}
				if err = errors.Join(err, store.PutJSON(tx, contacts, store.Key(id, c.ID), c)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	bounded := func(what string, call func() error) {
		t.Helper()
		begin := r.s.Stats().Looked
		err := call()
		if looked := r.s.Stats().Looked - begin; err != nil || looked > 3*scanMax/2 {
			t.Errorf("%s looks at %d records, %v", what, looked, err)
		}
	}
	seen, before := map[string]bool{}, int64(0)
	for pages := 0; pages == 0 || before != 0; pages++ {
		bounded("a page of chats", func() error {
			page, next, err := r.a.Chats(id, before, 200)
			for _, c := range page {
				if seen[c.JID] || c.Last.ID != int64(n-len(seen)) {
					t.Fatalf("chat %s with message %d comes as the %dth", c.JID, c.Last.ID, len(seen))
				}
				seen[c.JID] = true
			}
			before = next
			return err
		})
	}
	if len(seen) != n {
		t.Errorf("%d chats of %d", len(seen), n)
	}
	q, found := ContactQuery{Name: fmt.Sprint("NAME ", n-1)}, 0
	for pages := 0; pages == 0 || q.After != 0; pages++ {
		bounded("a page of contacts", func() error {
			page, err := r.a.Contacts(bg, id, q)
			found += len(page.Contacts)
			q.After = page.Next
			return err
		})
	}
	if found != 1 {
		t.Errorf("%d contacts of one name", found)
	}
	yes := true
	for what, q := range map[string]Query{
		"a type that no message has":   {Type: "none"},
		"a status that no message has": {Status: event.StatusPlayed},
		"a flag that no message has":   {FromMe: &yes},
		"an unknown sender":            {Participant: "9@s.whatsapp.net"},
	} {
		bounded(what, func() error {
			page, err := r.a.Messages(bg, id, q)
			if len(page.Messages) > 0 {
				t.Errorf("%s: %d messages", what, len(page.Messages))
			}
			return err
		})
		bounded(what+", counted", func() error {
			_, err := r.a.CountMessages(bg, id, q)
			return err
		})
	}
	p := r.messages(id, Query{Skip: 9950, Limit: 50})
	if len(p.Messages) != 50 || p.Messages[0].ID != n-9950 {
		t.Errorf("a deep page has %d messages", len(p.Messages))
	}
}

// TestFilterWithoutMatchesContinues: with more messages than one
// call looks at, an empty page says where to go on.
func TestFilterWithoutMatchesContinues(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	id := r.create()
	oldest := text("OLDEST", "1@s.whatsapp.net", true)
	oldest.MessageType = "imageMessage"
	first := r.stores(id, oldest)
	for n := 0; n < scanMax+scanStep; n += scanStep {
		err := r.s.Update(bg, func(tx *store.Tx) error {
			for i := range scanStep {
				if _, err := r.a.StoreMessage(tx, id, text(fmt.Sprint("K", n+i), "1@s.whatsapp.net", true)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	p := r.messages(id, Query{Type: "imageMessage"})
	if len(p.Messages) != 0 || p.Older == 0 {
		t.Fatalf("%v, older %d", ids(p), p.Older)
	}
	p = r.messages(id, Query{Type: "imageMessage", Before: p.Older})
	if !slices.Equal(ids(p), []int64{first}) || p.Older != 0 {
		t.Errorf("%v, older %d", ids(p), p.Older)
	}
}

func TestChatIndexIsBuiltAtStart(t *testing.T) {
	r := newRig(t, nil)
	id := r.create()
	for i := range indexStep + 5 {
		r.stores(id, text(fmt.Sprint("K", i), "1@s.whatsapp.net", true))
	}
	err := r.s.Update(bg, func(tx *store.Tx) error {
		_, err := tx.DeletePrefix(messageChats, nil)
		return errors.Join(err, tx.Delete(chatNamesBucket, indexed()))
	})
	if err != nil {
		t.Fatal(err)
	}
	r.reboot()
	defer r.stop()
	q := Query{Chat: "1@s.whatsapp.net", Limit: 2000}
	if p := r.messages(id, q); len(p.Messages) != indexStep+5 {
		t.Errorf("%d messages", len(p.Messages))
	}
}

func TestPrunedMessagesLeaveTheIndexOfChats(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	id := r.create()
	r.stores(id, text("K", "1@s.whatsapp.net", true))
	if n, _, err := r.a.Prune(bg, time.Now().Add(time.Hour)); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	left := 0
	err := r.s.View(func(tx *store.Tx) error {
		return tx.Scan(messageChats, store.Range{}, func(k, _ []byte) (bool, error) {
			left++
			return true, nil
		})
	})
	if err != nil || left != 0 || strings.Contains(fmt.Sprint(r.messages(id, Query{})), "K") {
		t.Errorf("%d left, %v", left, err)
	}
}
