package messages

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"postern/event"
	"postern/store"
)

func TestHeardAfterStoredMessage(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	id, other := r.create(), r.create()
	since := time.Now().Add(-28 * 24 * time.Hour)
	heard := func(instance int64) bool {
		t.Helper()
		got, err := r.a.Heard(instance, []string{annPhone}, since)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	at := func(key string, fromMe bool, when time.Time) event.Fact {
		m := text(key, annPhone, fromMe)
		m.MessageTimestamp = when.Unix()
		kind := event.MessagesUpsert
		if fromMe {
			kind = event.SendMessage
		}
		return event.Fact{Kind: kind, Data: m}
	}
	for n, step := range []struct {
		rule string
		fact event.Fact
		want bool
	}{
		{"nothing is stored", event.Fact{}, false},
		{"what was sent to them says nothing", at("out", true, time.Now()), false},
		{"a message from before", at("old", false, since.Add(-time.Second)), false},
		{"one of then", at("edge", false, since.Add(time.Second)), true},
		{"an answer does not change it", at("answer", true, time.Now()), true},
	} {
		if n > 0 {
			r.report(id, step.fact)
		}
		if got := heard(id); got != step.want {
			t.Errorf("%s: heard = %t", step.rule, got)
		}
	}
	if heard(other) {
		t.Error("another instance heard them")
	}
}

func TestHeardByLID(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	id := r.create()
	m := text("in", annPhone, false)
	lid := annLID
	m.KeyLID, m.MessageTimestamp = &lid, time.Now().Unix()
	r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: m})
	if got, err := r.a.Heard(id, []string{annPhone}, time.Now().Add(-time.Hour)); !got || err != nil {
		t.Errorf("heard = %t, %v", got, err)
	}
}

// TestHeardDespiteManyOutgoingMessages, as long as what they wrote
// is stored. Of a file whose index does not say whose a message is, the newest
// hundred are read.
func TestHeardDespiteManyOutgoingMessages(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	id := r.create()
	m := text("in", annPhone, false)
	m.MessageTimestamp = time.Now().Unix()
	r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: m})
	want := func(what string, want bool) {
		t.Helper()
		heard, err := r.a.Heard(id, []string{annPhone}, time.Now().Add(-time.Hour))
		wrote, err2 := r.a.Wrote(id, []string{annPhone})
		if err != nil || err2 != nil || heard != want || wrote != want {
			t.Errorf("%s: heard = %t, wrote = %t, %v, %v", what, heard, wrote, err, err2)
		}
	}
	answer := func(from, to int) {
		for n := from; n < to; n++ {
			out := text(fmt.Sprint("out", n), annPhone, true)
			out.MessageTimestamp = time.Now().Unix()
			r.report(id, event.Fact{Kind: event.SendMessage, Data: out})
		}
	}
	forgetWhose := func() {
		err := r.s.Update(t.Context(), func(tx *store.Tx) error {
			var keys [][]byte
			err := tx.Scan(messageChats, store.Range{Prefix: chatPrefix(id, annPhone)}, func(k, _ []byte) (bool, error) {
				keys = append(keys, k)
				return true, nil
			})
			for _, k := range keys {
				err = errors.Join(err, tx.Put(messageChats, k, nil))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	answer(0, heardLook-1)
	forgetWhose()
	want("99 answers, of an older file", true)
	answer(heardLook-1, 3*heardLook)
	want("300 answers", true)
	forgetWhose()
	want("300 answers, of an older file", false)
}
