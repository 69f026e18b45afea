package optout

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"postern/batch/paging"
	"postern/event"
	"postern/store"
)

func TestOptOutHoldsForItsUserOnly(t *testing.T) {
	r := newRig(t)
	if n := r.add(anna, number, "4915100000001", number); n != 2 {
		t.Errorf("%d were added, want 2", n)
	}
	if n := r.add(anna, number); n != 0 {
		t.Errorf("%d were added again", n)
	}
	if !r.out(anna, number) || r.out(bert, number) || r.out(anna, "4915100000002") {
		t.Error("an opt-out holds for somebody else, or not at all")
	}
	if n := r.remove(bert, number); n != 0 || !r.out(anna, number) {
		t.Error("another user removed an opt-out")
	}
	r.reboot()
	if n := r.remove(anna, number, "4915100000003"); n != 1 || r.out(anna, number) || !r.out(anna, "4915100000001") {
		t.Errorf("%d were removed, want the one", n)
	}
}

func TestOptOutHoldsForEveryAddress(t *testing.T) {
	r := newRig(t)
	r.met("551187654321", "77") // known without the mobile digit
	r.add(anna, "5511987654321")
	if !r.out(anna, "551187654321") || !r.out(anna, "5511987654321") {
		t.Error("the two forms of a number are two people")
	}
	if n := r.add(anna, "77@lid"); n != 0 {
		t.Error("the LID of somebody who opted out was added again")
	}
	r.met("4915199999999", "77") // the person has another number now
	if !r.out(anna, "4915199999999") {
		t.Error("a new number of the same account may be written to")
	}
	if got := fmt.Sprint(r.list(anna)); got != "[5511987654321]" {
		t.Errorf("the list has %s", got)
	}
	r.reboot()
	if n := r.remove(anna, "4915199999999"); n != 1 || r.out(anna, "5511987654321") || len(r.list(anna)) != 0 {
		t.Errorf("%d were removed by the new number, want 1; left: %v", n, r.list(anna))
	}
	r.reboot() // and checks the file
}

func TestRemovedOptOutLeavesNoLID(t *testing.T) {
	r := newRig(t)
	r.met(number, "77")
	r.add(anna, number)
	clear(r.same)
	if n := r.remove(anna, number); n != 1 {
		t.Errorf("%d were removed", n)
	}
	r.reboot() // and checks the file
	if n := r.add(anna, "77@lid"); n != 1 {
		t.Error("the LID of a removed opt-out still counts")
	}
}

func TestOptOutOfALIDHoldsForItsNumber(t *testing.T) {
	r := newRig(t)
	r.add(anna, "88@lid")
	if got := fmt.Sprint(r.list(anna)); got != "[88@lid]" {
		t.Errorf("the list has %s", got)
	}
	if r.out(anna, number) {
		t.Error("a number that is not known to be the LID's is skipped")
	}
	r.met(number, "88")
	if !r.out(anna, number) {
		t.Error("the number of a LID that opted out may be written to")
	}
	if n := r.add(anna, number); n != 0 {
		t.Error("the person was added again by the number")
	}
	if n := r.remove(anna, number); n != 1 || r.out(anna, number) {
		t.Error("the number does not remove the LID")
	}
}

func TestListHasPagesByNumber(t *testing.T) {
	r := newRig(t)
	var all []Addition
	for i := range 1234 {
		all = append(all, Addition{To: to(fmt.Sprintf("49151%08d", i))})
	}
	all = append(all, Addition{To: to("5@lid"), Reason: "because", Source: "crm"})
	if n, err := r.b.Add(context.Background(), anna, all); err != nil || n != len(all) {
		t.Fatal(n, err)
	}
	r.add(bert, number)
	var got []Entry
	p := paging.Page{Limit: 100}
	var last paging.List[Entry]
	for {
		l, err := r.b.List(anna, p)
		if err != nil || l.TotalRecords != len(all) {
			t.Fatal(l.TotalRecords, err)
		}
		got, last = append(got, l.Records...), l
		if l.NextCursor == nil {
			break
		}
		p.Next = *l.NextCursor
	}
	if len(got) != len(all) {
		t.Fatalf("the pages have %d entries, want %d", len(got), len(all))
	}
	for i, a := range all[:1234] {
		if got[i].Number != a.To.User {
			t.Fatalf("entry %d is %s, want %s", i, got[i].Number, a.To.User)
		}
	}
	e := got[len(got)-1]
	if e.Number != "5@lid" || *e.Reason != "because" || *e.Source != "crm" || time.Since(e.CreatedAt.Time) > time.Minute || got[0].Reason != nil {
		t.Errorf("the last entry is %+v", e)
	}
	back, err := r.b.List(anna, paging.Page{Limit: 100, Previous: *last.PreviousCursor})
	if err != nil || len(back.Records) != 100 || back.Records[99].Number != got[1199].Number {
		t.Errorf("back from the end: %d records, %v", len(back.Records), err)
	}
	if _, err := r.b.List(bert, paging.Page{Next: *back.NextCursor}); !errors.Is(err, paging.ErrInvalidCursor) {
		t.Errorf("another user's cursor: %v", err)
	}
}

// TestWordOfAContactedPersonAddsThem holds each part of the rule: a word, from somebody
// contacted, by the batch's instance, in a direct chat, within 30 days.
func TestWordOfAContactedPersonAddsThem(t *testing.T) {
	jid := number + "@s.whatsapp.net"
	for name, one := range map[string]struct {
		instance int64
		m        *event.Message
		after    time.Duration
		want     bool
	}{
		"the word":                  {1, text(jid, "stop"), 0, true},
		"in capitals, with accents": {1, text(jid, " STÓP "), 0, true},
		"with a full stop":          {1, text(jid, "Stop."), 0, true},
		"the other word":            {1, text(jid, "sair"), 0, true},
		"the other instance":        {2, text(jid, "stop"), 0, true},
		"an instance of others":     {3, text(jid, "stop"), 0, false},
		"within a sentence":         {1, text(jid, "please stop"), 0, false},
		"a question":                {1, text(jid, "stop?"), 0, false},
		"somebody else":             {1, text("4915100000009@s.whatsapp.net", "stop"), 0, false},
		"just in time":              {1, text(jid, "stop"), Answers - time.Minute, true},
		"too late":                  {1, text(jid, "stop"), Answers + time.Minute, false},
		"a caption":                 {1, with(text(jid, "stop"), func(m *event.Message) { m.MessageType = "imageMessage" }), 0, false},
		"in a group":                {1, with(text("1-2@g.us", "stop"), func(m *event.Message) { m.IsGroup, m.KeyParticipant = true, &jid }), 0, false},
		"by the account itself":     {1, with(text(jid, "stop"), func(m *event.Message) { m.KeyFromMe = true }), 0, false},
		"a button": {1, with(text(jid, ""), func(m *event.Message) {
			m.MessageType, m.Content = "buttonsResponseMessage", []byte(`{"selectedDisplayText":"Stop"}`)
		}), 0, true},
		"very long":      {1, text(jid, "stop "+strings.Repeat("x", 1<<20)), 0, false},
		"no text":        {1, text(jid, ""), 0, false},
		"broken content": {1, with(text(jid, ""), func(m *event.Message) { m.Content = []byte(`{"text":5}`) }), 0, false},
		"without a chat": {1, with(text(jid, "stop"), func(m *event.Message) { m.KeyRemoteJID = nil }), 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.campaign(sale, anna, []string{"Stop", "SAIR"}, number)
			r.pass(one.after)
			r.says(one.instance, one.m)
			if got := r.out(anna, number); got != one.want || r.out(bert, number) {
				t.Errorf("opted out: %t, want %t", got, one.want)
			}
			if !one.want {
				return
			}
			l, err := r.b.List(anna, paging.Page{})
			if err != nil || len(l.Records) != 1 || *l.Records[0].Source != "batch:"+sale.String() || *l.Records[0].Reason == "" || l.Records[0].Number != number {
				t.Errorf("the list has %+v, %v", l.Records, err)
			}
		})
	}
}

func with(m *event.Message, fn func(*event.Message)) *event.Message {
	fn(m)
	return m
}

func TestAnswerFromALIDIsThatOfItsNumber(t *testing.T) {
	r := newRig(t)
	r.met("551187654321", "77")
	r.campaign(sale, anna, []string{"stop"}, "5511987654321")
	r.says(1, text("77@lid", "stop"))
	if !r.out(anna, "5511987654321") {
		t.Error("an answer from the LID was not heard")
	}
}

// TestAnswerCountsForEachUserWhoAsked has the batches of two users contact one person.
func TestAnswerCountsForEachUserWhoAsked(t *testing.T) {
	r := newRig(t)
	r.campaign(sale, anna, []string{"stop"}, number)
	r.campaign(other, bert, []string{"sair"}, number)
	r.says(1, text(number+"@s.whatsapp.net", "stop"))
	if !r.out(anna, number) || r.out(bert, number) {
		t.Error("the word of one user counts for another")
	}
	r.says(1, text(number+"@s.whatsapp.net", "sair"))
	if !r.out(bert, number) {
		t.Error("the second user's word was not heard")
	}
}

func TestAnswerIsHeardAfterARestart(t *testing.T) {
	r := newRig(t)
	r.campaign(sale, anna, []string{"stop"}, number)
	r.final[sale] = true
	r.reboot()
	r.says(1, text(number+"@s.whatsapp.net", "stop"))
	if !r.out(anna, number) {
		t.Error("the words are forgotten")
	}
	r.reboot()
	if !r.out(anna, number) {
		t.Error("the opt-out is forgotten")
	}
}

func TestCampaignThatIsNotCommittedIsNotHeard(t *testing.T) {
	r := newRig(t)
	failed := errors.New("no")
	err := r.s.Update(context.Background(), func(tx *store.Tx) error {
		return errors.Join(r.b.Campaign(tx, sale, anna, []string{"stop"}, []int64{1}), failed)
	})
	if !errors.Is(err, failed) || r.b.Heed(1, text(number+"@s.whatsapp.net", "stop")) != nil {
		t.Errorf("%v, and its words are heard", err)
	}
}

// TestOldContactsAreRemoved sweeps: contacts go after 30 days, words when their batch is
// final and made no contact since.
func TestOldContactsAreRemoved(t *testing.T) {
	r := newRig(t)
	const more = 2*step + 3
	r.campaign(sale, anna, []string{"stop"}, number)
	r.update(func(tx *store.Tx) (err error) {
		for i := range more {
			err = errors.Join(err, r.b.Contacted(tx, sale, fmt.Sprintf("49160%08d", i)))
		}
		return err
	})
	r.campaign(other, anna, []string{"sair"})
	look := func() time.Time {
		t.Helper()
		oldest, err := r.b.sweep(r.s.Now().Add(-Answers))
		if err != nil {
			t.Fatal(err)
		}
		return oldest
	}
	left := func() (contacts, campaigns int) {
		_ = r.s.View(func(tx *store.Tx) (err error) {
			contacts, _ = tx.Count(bucketContacted, nil)
			campaigns, _ = tx.Count(bucketCampaign, nil)
			return nil
		})
		return contacts, campaigns
	}
	began := r.s.Now()
	if oldest := look(); oldest.Sub(began).Abs() > time.Minute {
		t.Errorf("the oldest contact is from %s", oldest)
	}
	r.pass(20 * 24 * time.Hour)
	r.update(func(tx *store.Tx) error { return r.b.Contacted(tx, sale, number) }) // again
	r.final[sale] = true
	r.pass(11 * 24 * time.Hour)
	look()
	if contacts, campaigns := left(); contacts != 1 || campaigns != 2 {
		t.Errorf("%d contacts and %d campaigns are left, want 1 and 2", contacts, campaigns)
	}
	r.pass(20 * 24 * time.Hour)
	if oldest := look(); !oldest.IsZero() {
		t.Errorf("the oldest contact is from %s, want none", oldest)
	}
	if contacts, campaigns := left(); contacts != 0 || campaigns != 1 {
		t.Errorf("%d contacts and %d campaigns are left, want the open one", contacts, campaigns)
	}
	if r.b.Heed(1, text("1@s.whatsapp.net", "stop")) != nil || r.b.words["sair"] != 1 {
		t.Error("the words of a removed campaign are still looked for, or those of an open one are not")
	}
	r.reboot()
}

// TestContactDuringASweepIsKept: it was old when it was read, and is new when it would be
// removed.
func TestContactDuringASweepIsKept(t *testing.T) {
	r := newRig(t)
	r.campaign(sale, anna, []string{"stop"}, number)
	k := store.Key(contactNumber(number), sale)
	if err := r.b.removeContacts([][]byte{k}, r.s.Now().Add(-time.Minute)); err != nil {
		t.Fatal(err)
	}
	if r.says(1, text(number+"@s.whatsapp.net", "stop")); !r.out(anna, number) {
		t.Error("a new contact was removed")
	}
}

func TestStopEndsTheSweep(t *testing.T) {
	r := newRig(t)
	r.b.Start()
	if err := r.b.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}

// TestMessageWithoutAWordCostsNothing counts commits, and what a text that is no word
// allocates.
func TestMessageWithoutAWordCostsNothing(t *testing.T) {
	r := newRig(t)
	m := text(number+"@s.whatsapp.net", "hello")
	if n := testing.AllocsPerRun(100, func() { r.b.Heed(1, m) }); n != 0 {
		t.Errorf("without campaigns a message costs %v allocations", n)
	}
	r.campaign(sale, anna, []string{"stop"}, number)
	before := r.made
	if r.says(1, m) || r.made != before {
		t.Error("a text that is no word makes a commit")
	}
}

func BenchmarkTextThatIsNoWord(b *testing.B) {
	book := &Book{words: map[string]int{"stop": 1}}
	m := text(number+"@s.whatsapp.net", "Hello, when will the order be ready? I would like to pick it up.")
	for b.Loop() {
		book.Heed(1, m)
	}
}
