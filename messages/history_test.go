package messages

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"postern/event"
	"postern/store"
)

// past is a message of the history of a chat.
func past(key, chat string, at int64) *event.Message {
	m := text(key, chat, false)
	m.MessageTimestamp, m.Metadata = at, json.RawMessage(`{"source":"history"}`)
	return m
}

func (r *rig) recall(id int64, messages ...*event.Message) int {
	r.Helper()
	part := &event.HistoryPart{Messages: messages}
	r.report(id, event.Fact{Data: part})
	return part.Stored
}

// keys walks through the pages of a chat, towards the older messages and back.
func (r *rig) keys(id int64, q Query) (keys []string) {
	r.Helper()
	var newest int64
	for {
		page, err := r.a.Messages(context.Background(), id, q)
		if err != nil {
			r.Fatal(err)
		}
		for _, m := range page.Messages {
			keys = append(keys, m.KeyID)
		}
		if page.Older == 0 {
			newest = page.Newer
			break
		}
		q.Before = page.Older
	}
	q.Before, q.After = 0, newest
	back := []string{}
	for q.After > 0 {
		page, err := r.a.Messages(context.Background(), id, q)
		if err != nil {
			r.Fatal(err)
		}
		for _, m := range slices.Backward(page.Messages) {
			back = append(back, m.KeyID)
		}
		q.After = page.Newer
	}
	slices.Reverse(back)
	if n := len(back); !slices.Equal(back, keys[:min(n, len(keys))]) {
		r.Errorf("backwards the pages are %q, forwards %q", back, keys)
	}
	return keys
}

func TestHistorySortsBeforeLiveMessages(t *testing.T) {
	const lid = annLID
	r := newRig(t, nil)
	defer r.stop()
	id := r.create()
	live := func(key string) {
		m := text(key, annPhone, false)
		m.KeyLID = new(lid)
		r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: m})
	}
	live("L1")
	// Newest first, as phones send them; one under the number alone, as it was
	// before the LID was known.
	var batch []*event.Message
	for i := range 5 {
		m := past(fmt.Sprintf("H%d", 5-i), annPhone, int64(1000-10*i))
		if i != 2 {
			m.KeyLID = new(lid)
		}
		batch = append(batch, m)
	}
	r.published()
	if n := r.recall(id, batch...); n != 5 {
		t.Errorf("%d were stored", n)
	}
	if n := r.recall(id, batch...); n != 0 {
		t.Errorf("%d were stored again", n)
	}
	if published := r.published(); len(published) != 0 {
		t.Errorf("%v was published", kinds(published))
	}
	live("L2")
	want := []string{"L2", "L1", "H5", "H4", "H3", "H2", "H1"}
	for _, chat := range []string{annPhone, lid} {
		for limit := 1; limit <= 8; limit++ {
			if got := r.keys(id, Query{Chat: chat, Limit: limit}); !slices.Equal(got, want) {
				t.Errorf("%s by %d: %q, want %q", chat, limit, got, want)
			}
		}
		if n, ok, err := r.a.CountChat(id, chat); n != len(want) || !ok || err != nil {
			t.Errorf("counted %d (%t, %v)", n, ok, err)
		}
	}
	chats, _, err := r.a.Chats(id, 0, 10)
	if err != nil || len(chats) != 1 || chats[0].Last.KeyID != "L2" {
		t.Errorf("the chats are %+v (%v)", chats, err)
	}
	first, err := r.a.Anchor(id, annPhone, 0)
	if err != nil || first.KeyID != "H1" {
		t.Errorf("the oldest is %s (%v)", first.KeyID, err)
	}
	if _, err := r.a.Anchor(id, "4915100000000@s.whatsapp.net", 0); !errors.Is(err, ErrNoAnchor) {
		t.Errorf("of an empty chat: %v", err)
	}
	if _, err := r.a.Anchor(id, "4915100000000@s.whatsapp.net", first.ID); !errors.Is(err, ErrNoMessage) {
		t.Errorf("of another chat: %v", err)
	}
}

func TestHistoryMessageReceivedLiveIsPublished(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	id := r.create()
	r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: text("L1", annPhone, false)})
	r.recall(id, past("BOTH", annPhone, 2000), past("H", annPhone, 1000))
	r.published()
	r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: text("BOTH", annPhone, false)})
	if data := fields(t, r.one().Body)["data"].(map[string]any); data["metadata"] != nil || data["keyId"] != "BOTH" {
		t.Errorf("published: %v", data)
	}
	if got := r.keys(id, Query{Chat: annPhone}); !slices.Equal(got, []string{"BOTH", "L1", "H"}) {
		t.Errorf("%q", got)
	}
	// What is known from before stays as it is.
	if n := r.recall(id, past("L1", annPhone, 500)); n != 0 {
		t.Errorf("%d were stored", n)
	}
	if got := r.keys(id, Query{Chat: annPhone}); len(got) != 3 {
		t.Errorf("%q", got)
	}
}

func TestPruningLeavesNothingOfTheHistory(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	id := r.create()
	r.recall(id, past("H1", annPhone, 1000), past("H2", annPhone, 0), past("H3", annPhone, -5))
	if _, _, err := r.a.Prune(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	for _, bucket := range []string{messages, messageKeys, messageChats} {
		if n := r.count(bucket, id); n != 0 {
			t.Errorf("%d records are left in %s", n, bucket)
		}
	}
}

func TestTextSearchFoldsCase(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	id := r.create()
	for key, content := range map[string]string{
		"text": `{"text":"The Order ſ 7"}`, "caption": `{"caption":"an ORDER","url":"x"}`, "file": `{"fileName":"order.pdf"}`,
		"greek": `{"text":"ΣΟΦΟΣ"}`, "poll": `{"name":"When?","options":[{"optionName":"Order now"}]}`,
		"url": `{"url":"https://order.example"}`, "none": `{"text":"nothing"}`, "place": `{"address":"Straße 1"}`, "odd": `[]`,
	} {
		m := text(key, annPhone, false)
		m.Content = json.RawMessage(content)
		r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: m})
	}
	for query, want := range map[string][]string{
		"oRdEr": {"caption", "file", "poll", "text"}, "σοφος": {"greek"}, "ORDER S 7": {"text"}, "straße": {"place"}, "STRAẞE": {"place"}, "kelvin": nil, "\"": nil,
	} {
		got := r.keys(id, Query{Chat: annPhone, Text: query})
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
}

// fillChat stores n messages of a chat without the work of storing each.
func fillChat(t testing.TB, r *rig, id int64, n int) {
	t.Helper()
	for at := 0; at < n; {
		err := r.s.Update(context.Background(), func(tx *store.Tx) error {
			for end := min(n, at+20_000); at < end; at++ {
				m := text(fmt.Sprintf("K%07d", at), annPhone, false)
				m.Content = fmt.Appendf(nil, `{"text":"a message of the usual length, the number %d of many"}`, at)
				if _, err := r.a.StoreMessage(tx, id, m); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestPageWithoutMatchesContinues(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	id := r.create()
	const n = 2*searchMax + 5000
	fillChat(t, r, id, n)
	q := Query{Chat: annPhone, Text: "NUMBER 17 OF", Limit: 1}
	first, err := r.a.Messages(t.Context(), id, q)
	if err != nil || len(first.Messages) != 0 || first.Older == 0 {
		t.Fatalf("%d messages, older %d (%v)", len(first.Messages), first.Older, err)
	}
	if got := r.keys(id, q); !slices.Equal(got, []string{"K0000017"}) {
		t.Errorf("found %q", got)
	}
	if _, ok, err := r.a.CountChat(id, annPhone); ok || err != nil {
		t.Errorf("counted all (%v)", err)
	}
}

// BenchmarkSearchMillion is one page of a chat of a million messages, of which none fits.
func BenchmarkSearchMillion(b *testing.B) {
	r := newRig(b, nil)
	defer r.stop()
	id := r.create()
	fillChat(b, r, id, 1_000_000)
	for b.Loop() {
		page, err := r.a.Messages(b.Context(), id, Query{Chat: annPhone, Text: "not there", Limit: 50})
		if err != nil || page.Older == 0 {
			b.Fatal(page, err)
		}
	}
}
