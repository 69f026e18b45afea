package instance

import (
	"context"
	"errors"
	"testing"
	"time"

	"postern/event"
	"postern/messages"
	"postern/store"
)

// heeder takes a text for an opt-out and notes it in the settings bucket, or fails.
type heeder struct {
	word string
	fail error
}

var heeded = []byte("heeded")

func (h *heeder) Heed(_ int64, m *event.Message) func(*store.Tx) error {
	if string(m.Content) != h.word {
		return nil
	}
	return func(tx *store.Tx) error {
		if h.fail != nil {
			return h.fail
		}
		return tx.Put(settingsBucket, heeded, []byte("{}"))
	}
}

// TestOptOutIsInItsMessagesCommit: with the message, alone if messages are not stored or
// the chat is ignored; and if it fails, the message is not stored and not acknowledged.
func TestOptOutIsInItsMessagesCommit(t *testing.T) {
	const anne = "4915112345678@s.whatsapp.net"
	failed := errors.New("no room")
	for name, one := range map[string]struct {
		unsaved, ignored bool
		fail             error
		word             bool
		commits, records int
	}{
		"stored":             {word: true, commits: 1, records: 1},
		"not stored":         {unsaved: true, word: true, commits: 1},
		"ignored":            {ignored: true, word: true, commits: 1},
		"not a word":         {commits: 1, records: 1},
		"no word, unsaved":   {unsaved: true},
		"no word, ignored":   {ignored: true},
		"failed":             {fail: failed, word: true},
		"failed and ignored": {fail: failed, ignored: true, word: true},
	} {
		t.Run(name, func(t *testing.T) {
			m := text("K", anne, false)
			h := &heeder{word: "other", fail: one.fail}
			if one.word {
				h.word = string(m.Content)
			}
			r := newRig(t, func(c *Config) { c.OptOuts = h }, nil)
			r.keeps = func(c *messages.Config) { c.SaveMessages, c.SaveContacts = !one.unsaved, false }
			r.reboot()
			id := r.create("a").ID
			if one.ignored {
				r.settle(id, Settings{Ignore: Ignore{JIDs: []string{anne}}})
			}
			commits := 0
			r.commit = func(calls int, _ time.Duration) { commits += calls }
			err := r.reg.Report(context.Background(), id, event.Fact{Kind: event.MessagesUpsert, Data: m})
			if !errors.Is(err, one.fail) {
				t.Fatal(err)
			}
			noted := false
			if err := r.s.View(func(tx *store.Tx) error { noted = tx.Has(settingsBucket, heeded); return nil }); err != nil {
				t.Fatal(err)
			}
			if want := one.word && one.fail == nil; noted != want || commits != one.commits || r.records() != one.records {
				t.Errorf("noted %t, %d commits, %d records; want %t, %d, %d", noted, commits, r.records(), want, one.commits, one.records)
			}
		})
	}
}

// TestSentMessagesAreNoOptOuts: what the API sent is published as another kind.
func TestSentMessagesAreNoOptOuts(t *testing.T) {
	m := text("K", "4915112345678@s.whatsapp.net", true)
	r := newRig(t, func(c *Config) { c.OptOuts = &heeder{word: string(m.Content), fail: errors.New("heeded")} }, nil)
	id := r.create("a").ID
	if err := r.reg.Report(context.Background(), id, event.Fact{Kind: event.SendMessage, Data: m}); err != nil {
		t.Error(err)
	}
}
