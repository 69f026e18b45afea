package sandbox

import (
	"bytes"
	"testing"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
)

func TestClientReadsPollsAndVotes(t *testing.T) {
	s, own, anne, _, c := groupNet(t, Config{})
	c.Store.MsgSecrets = &messageSecrets{NoopStore: &store.NoopStore{}, secrets: map[string][]byte{}}
	group := madeByAct(t, s).String()
	wait(c, 1, every[*events.JoinedGroup])
	for _, test := range []struct {
		name, asker, to string
		voter, chat     string
		author          types.JID
	}{
		{"own vote of a contact", anneNumber, ownNumber, anneNumber, ownNumber, anne.LID()},
		{"the own phone's vote", anneNumber, ownNumber, ownNumber, anneNumber, anne.LID()},
		{"a contact's vote for the own phone's poll", ownNumber, anneNumber, anneNumber, ownNumber, own.LID()},
		{"a member's vote", anneNumber, group, bobNumber, group, anne.LID()},
	} {
		poll := does(t, s, test.asker, `{"do":"poll","to":"`+test.to+`","name":"Tea?","options":["yes","no","later"],"selectable":1}`)["id"]
		m := wait(c, 1, hasID(poll))
		if p := m.Message.GetPollCreationMessageV3(); p.GetName() != "Tea?" || len(p.GetOptions()) != 3 || p.GetSelectableOptionsCount() != 1 || m.Info.Type != "poll" {
			t.Errorf("%s: poll %v", test.name, m.Message)
		}
		voter, _ := s.Phone(test.voter)
		eventually(t, "the voter knows the poll", func() bool {
			_, ok := voter.Poll(mustChat(t, s, test.chat), poll)
			return ok
		})
		id := does(t, s, test.voter, `{"do":"poll-vote","to":"`+test.chat+`","id":"`+poll+`","options":["later"]}`)["id"]
		m = wait(c, 1, hasID(id))
		vote, err := c.DecryptPollVote(t.Context(), m)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if want := whatsmeow.HashPollOptions([]string{"later"}); len(vote.GetSelectedOptions()) != 1 || !bytes.Equal(vote.GetSelectedOptions()[0], want[0]) {
			t.Errorf("%s: chose %x", test.name, vote.GetSelectedOptions())
		}
		if k := m.Message.GetPollUpdateMessage().GetPollCreationMessageKey(); k.GetID() != poll || k.GetFromMe() != (voter.LID() == test.author) {
			t.Errorf("%s: vote in %v", test.name, k)
		}
	}
}

func mustChat(t *testing.T, s *Server, to string) types.JID {
	t.Helper()
	chat, err := chatOf(s.Server, to)
	if err != nil {
		t.Fatal(err)
	}
	return chat
}

func TestContactVotesInAPollOfTheClient(t *testing.T) {
	s, _, anne, c := withContacts(t)
	c.Store.MsgSecrets = &messageSecrets{NoopStore: &store.NoopStore{}, secrets: map[string][]byte{}}
	sent, err := c.SendMessage(t.Context(), anne.JID(), c.BuildPollCreation("Tea?", []string{"yes", "no"}, 1))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the poll's arrival", func() bool { return anne.ReceivedCount(sent.ID) == 1 })
	id := does(t, s, anneNumber, `{"do":"poll-vote","to":"`+ownNumber+`","id":"`+sent.ID+`","options":["yes"]}`)["id"]
	vote, err := c.DecryptPollVote(t.Context(), wait(c, 1, hasID(id)))
	if err != nil || len(vote.GetSelectedOptions()) != 1 {
		t.Fatalf("vote %v, %v", vote, err)
	}
	// No option takes the vote back.
	id = does(t, s, anneNumber, `{"do":"poll-vote","to":"`+ownNumber+`","id":"`+sent.ID+`"}`)["id"]
	if vote, err = c.DecryptPollVote(t.Context(), wait(c, 1, hasID(id))); err != nil || len(vote.GetSelectedOptions()) != 0 {
		t.Fatalf("vote taken back: %v, %v", vote, err)
	}
}
