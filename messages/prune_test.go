package messages

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"postern/event"
)

func TestPruneRemovesOldMessagesAndUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		defer r.stop()
		one, other := r.create(), r.create()
		store := func(prefix string, n int) {
			for i := range n {
				key := fmt.Sprint(prefix, i)
				r.report(one, event.Fact{Kind: event.MessagesUpsert, Data: text(key, "1@s.whatsapp.net", true)})
				r.report(one, event.Fact{Kind: event.MessagesUpdate, Data: event.Receipt{KeyIDs: []string{key}}})
			}
		}
		store("old", 2*pruneStep+1)
		r.report(other, event.Fact{Kind: event.MessagesUpsert, Data: text("old", "1@s.whatsapp.net", true)})
		time.Sleep(time.Hour)
		limit := time.Now()
		store("young", 3)
		if n, _, err := r.a.Prune(bg, limit); n != 2*pruneStep+2 || err != nil {
			t.Errorf("removed %d, %v", n, err)
		}
		for _, bucket := range []string{messages, messageKeys, messageUpdates} {
			if n := r.count(bucket, one) + r.count(bucket, other); n != 3 {
				t.Errorf("%s keeps %d", bucket, n)
			}
		}
	})
}

func TestMessageWithManyUpdatesIsPrunedInSteps(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	id := r.create()
	r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: text("K", "1@g.us", true)})
	keys := slices.Repeat([]string{"K"}, 2*pruneUpdates+1)
	r.report(id, event.Fact{Kind: event.MessagesUpdate, Data: event.Receipt{KeyIDs: keys, Status: event.StatusRead}})
	before := time.Now().Add(time.Hour)
	n, err := r.a.pruneSome(bg, id, before)
	if left := r.count(messageUpdates, id); n != 0 || err != nil || left != pruneUpdates+1 || r.count(messages, id) != 1 {
		t.Errorf("the first commit removed %d messages and left %d updates (%v)", n, left, err)
	}
	if n, _, err := r.a.Prune(bg, before); n != 1 || err != nil || r.count(messageUpdates, id)+r.count(messages, id)+r.count(messageKeys, id) != 0 {
		t.Errorf("removed %d, %v; something stays", n, err)
	}
}

func TestMessagesArePrunedByRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(c *Config) { c.Retention = 24 * time.Hour })
		defer r.stop()
		id := r.create()
		r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: text("K", "1@s.whatsapp.net", true)})
		r.a.Start()
		time.Sleep(24 * time.Hour)
		if r.count(messages, id) != 1 {
			t.Error("pruned too early")
		}
		time.Sleep(time.Hour + time.Second)
		if r.count(messages, id) != 0 {
			t.Error("not pruned")
		}
	})
}
