package messages

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"postern/event"
	"postern/internal/nightly"
	"postern/store"
)

// traffic has many instances receive and send at once, each message a commit of
// its own as in production, with the receipts of what was sent.
func traffic(r *rig, instances, count, words int) {
	r.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	var ids []int64
	for range instances {
		ids = append(ids, r.create())
	}
	for n := range count {
		id, person := ids[rng.IntN(len(ids))], rng.IntN(50)
		key, sent := fmt.Sprintf("3EB0%020X", rng.Uint64()), n%3 == 0
		m := text(key, fmt.Sprintf("49151%08d@s.whatsapp.net", person), sent)
		m.KeyLID, m.PushName = new(fmt.Sprintf("1%014d@lid", person)), new("Ann Example")
		m.Content = fmt.Appendf(nil, `{"text":%q}`, strings.Repeat("a few words ", 1+rng.IntN(words)))
		r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: m})
		if !sent {
			continue
		}
		for _, s := range []event.UpdateStatus{event.StatusDelivered, event.StatusRead} {
			r.report(id, event.Fact{Kind: event.MessagesUpdate, Data: event.Receipt{KeyIDs: []string{key}, Status: s}})
		}
	}
}

// What messages take of the file is at most 1.6 times their records, however
// long they are and however many instances write side by side.
func TestMessagesFillTheirPages(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	const count, most = 8_000, 1.6
	cases := []struct{ instances, words int }{{40, 10}, {1, 10}, {40, 3}, {40, 100}}
	for _, c := range cases[:nightly.Or(1, len(cases))] {
		t.Run(fmt.Sprintf("%d instances, %d words", c.instances, c.words*3), func(t *testing.T) {
			r := newRig(t, nil)
			defer r.stop()
			traffic(r, c.instances, count, c.words)
			var records, pages int64
			for _, bucket := range []string{messages, messageKeys, messageChats, messageUpdates, chatNamesBucket} {
				u, err := r.s.Usage(bucket)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%-14s %6d records of %4d bytes, %.2f times as many of the file", bucket, u.Rows, u.Records/int64(max(1, u.Rows)), float64(u.Pages)/float64(max(1, u.Records)))
				records, pages = records+u.Records, pages+u.Pages
			}
			fill := float64(pages) / float64(records)
			t.Logf("%d bytes of the file for a message, %.2f times the records", pages/count, fill)
			if fill > most {
				t.Errorf("the messages take %.2f times the bytes of their records, at most %.1f", fill, most)
			}
		})
	}
}

// Files of earlier releases have records that spell out what is not there.
func TestRecordWithExplicitEmptyFieldsReadsTheSame(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	id := r.create()
	r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: text("K", annPhone, false)})
	var short, long event.Message
	err := r.s.Update(bg, func(tx *store.Tx) (err error) {
		if short, err = message(tx, id, 1); err != nil {
			return err
		}
		err = store.PutJSON(tx, messages, store.Key(id, int64(1)), map[string]any{"storedAt": 1_700_000_000_000, "message": short})
		if err == nil {
			long, err = message(tx, id, 1)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	a, errA := json.Marshal(short)
	b, errB := json.Marshal(long)
	if errA != nil || errB != nil || string(a) != string(b) {
		t.Errorf("%s\n%s", a, b)
	}
}
