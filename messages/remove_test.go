package messages

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"postern/event"
	"postern/store"
)

// TestChatIsRemovedInFewCommits has a row of the index without a message, and votes.
func TestChatIsRemovedInFewCommits(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	id, chat := r.create(), "491510001@s.whatsapp.net"
	for n := range 450 {
		r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: voteIn(chat, fmt.Sprint("V", n), "POLL", int64(n))})
	}
	other := "491510002@s.whatsapp.net"
	r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: voteIn(other, "OTHER", "POLL2", 1)})
	err := r.s.Update(bg, func(tx *store.Tx) error { return tx.Delete(messages, store.Key(id, int64(5))) })
	if err != nil {
		t.Fatal(err)
	}
	before := r.s.Stats().Commits
	if err := r.a.RemoveChat(bg, id, chat); err != nil {
		t.Fatal(err)
	}
	if n := r.s.Stats().Commits - before; n > 4 {
		t.Errorf("%d commits for 450 messages", n)
	}
	if n := r.count(messages, id); n != 1 {
		t.Errorf("%d messages remain", n)
	}
	if n := r.count(pollVotes, id); n != 2 { // of the other chat, and of the message that was missing
		t.Errorf("%d rows of votes remain", n)
	}
}

func TestPruningRemovesTheIndexOfVotes(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	id := r.create()
	r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: voteIn("491510001@s.whatsapp.net", "V", "POLL", 1)})
	if _, _, err := r.a.Prune(bg, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if n := r.count(pollVotes, id); n != 0 {
		t.Errorf("%d rows of votes remain", n)
	}
}

// voteIn is a vote that was decrypted.
func voteIn(chat, keyID, poll string, at int64) *event.Message {
	return &event.Message{
		KeyID: keyID, KeyRemoteJID: &chat, MessageType: voteType, MessageTimestamp: 1_700_000_000,
		Content:            fmt.Appendf(nil, `{"pollCreationMessageKey":{"id":%q},"senderTimestampMs":"%d"}`, poll, 1_700_000_000_000+at),
		Metadata:           fmt.Appendf(nil, `{"vote":{"selectedOptions":[%q]}}`, OptionHash("now")),
		ExternalAttributes: event.Attributes("{}"),
	}
}

// TestBothAddressesOfAVoterAreOne votes before and after the LID of the person is known.
func TestBothAddressesOfAVoterAreOne(t *testing.T) {
	r := newRig(t, nil)
	defer r.stop()
	id, chat, lid := r.create(), "491510001@s.whatsapp.net", "100000000000001@lid"
	poll := &event.Message{
		KeyID: "POLL", KeyFromMe: true, KeyRemoteJID: &chat, MessageType: "pollCreationMessage", MessageTimestamp: 1_700_000_000,
		Content: json.RawMessage(`{"name":"When?","options":[{"optionName":"now"},{"optionName":"later"}],"selectableOptionsCount":1}`), ExternalAttributes: event.Attributes("{}"),
	}
	r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: poll})
	r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: voteIn(chat, "FIRST", "POLL", 1)})
	second := voteIn(chat, "SECOND", "POLL", 2)
	second.KeyLID = &lid
	r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: second})
	stored, err := r.a.MessageByKey(id, "POLL")
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.a.Tally(id, stored, event.Person{JID: "491510009@s.whatsapp.net"})
	if err != nil || len(got.Votes) != 1 || got.Tally[0].Count != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}
