package sends

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
)

// tally returns the tally of a poll.
func tally(t *testing.T, s *rig.SendScene, poll string) (p event.PollTally) {
	t.Helper()
	a := s.Request(t, http.MethodGet, s.Fill("/instance/$name/poll?messageId="+poll), "", nil)
	if err := json.Unmarshal(a.Body, &p); a.Status != http.StatusOK || err != nil {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	return p
}

func counts(p event.PollTally) string {
	text := ""
	for _, o := range p.Tally {
		text += fmt.Sprint(o.Option, "=", o.Count, " ")
	}
	return text + fmt.Sprint("votes=", len(p.Votes), " unknown=", p.UnknownVotes)
}

// TestVotesAreCountedOncePerPerson has votes of others and of the account, in a group and in a person's chat.
func TestVotesAreCountedOncePerPerson(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t)
	s.Do(t, rig.Act("$own", `{"do":"group-create","subject":"All","participants":["$anne","$bob"]}`).As("all"))
	for _, chat := range []string{"$all.group", "$anne"} {
		m := s.Sent(t, 0, s.PostJSON(t, s.Fill("/instance/$name/send/poll"), s.Fill(`{"chat":"`+chat+`","pollMessage":{"name":"When?","options":["now","later"],"selectableCount":1}}`)), `{}`)
		s.DecryptedAs(t, rig.AnneNumber, m.KeyID, `{}`)
		to := chat
		if chat == "$anne" {
			to = "$own"
		}
		votes := func(phone, options, names string) {
			t.Helper()
			from := len(s.Webhooks())
			s.Do(t, rig.Act(phone, fmt.Sprintf(`{"do":"vote","to":%q,"id":%q,"options":%s}`, to, m.KeyID, options)))
			s.AwaitEvent(t, from, event.MessagesUpsert, fmt.Sprintf(`{"messageType":"pollUpdateMessage","metadata":{"vote":{"optionNames":%s}}}`, names))
		}
		votes("$anne", `["now"]`, `["now"]`)
		if got := counts(tally(t, s, m.KeyID)); got != "now=1 later=0 votes=1 unknown=0" {
			t.Errorf("%s: %s", chat, got)
		}
		votes("$anne", `["later"]`, `["later"]`)
		own := s.PostJSON(t, s.Fill("/instance/$name/send/poll-vote"), fmt.Sprintf(`{"messageId":%d,"options":["later"]}`, m.ID))
		s.Sent(t, 0, own, `{"messageType":"pollUpdateMessage","metadata":{"vote":{"optionNames":["later"]}}}`)
		p := tally(t, s, m.KeyID)
		if got := counts(p); got != "now=0 later=2 votes=2 unknown=0" {
			t.Errorf("%s: %s", chat, got)
		}
		if p.Votes[0].Voter.JID != rig.AnneNumber+"@s.whatsapp.net" || p.Votes[0].Voter.Name == nil || p.Votes[1].Voter.JID != rig.OwnNumber+"@s.whatsapp.net" {
			t.Errorf("%s: voters %+v", chat, p.Votes)
		}
		s.Sent(t, 0, s.PostJSON(t, s.Fill("/instance/$name/send/poll-vote"), fmt.Sprintf(`{"messageId":%d,"options":[]}`, m.ID)), `{}`)
		if got := counts(tally(t, s, m.KeyID)); got != "now=0 later=1 votes=1 unknown=0" {
			t.Errorf("%s: taken back: %s", chat, got)
		}
		for body, want := range map[string]int{
			fmt.Sprintf(`{"messageId":%d,"options":["never"]}`, m.ID): 422, fmt.Sprintf(`{"messageId":%d,"options":["now","now"]}`, m.ID): 422,
			fmt.Sprintf(`{"messageId":%d,"options":["now","later"]}`, m.ID): 422, `{"messageId":9999,"options":[]}`: 404,
		} {
			if a := s.PostJSON(t, s.Fill("/instance/$name/send/poll-vote"), body); a.Status != want {
				t.Errorf("%s: %d %s", body, a.Status, a.Body)
			}
		}
	}
}

// TestVoteIsReadByAnotherAccount: the library of another instance decrypts it, in its poll and in that of a phone.
func TestVoteIsReadByAnotherAccount(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t)
	token := s.Pair("second")
	var poll struct{ KeyID string }
	s.Call(consumer.Bearer(token), http.MethodPost, "/instance/second/send/poll", map[string]any{
		"number": rig.OwnNumber, "pollMessage": map[string]any{"name": "When?", "options": []string{"now", "later"}, "selectableCount": 1},
	}, &poll)
	s.AwaitEvent(t, 0, event.MessagesUpsert, fmt.Sprintf(`{"keyId":%q}`, poll.KeyID))
	s.Sent(t, 0, s.PostJSON(t, s.Fill("/instance/$name/send/poll-vote"), fmt.Sprintf(`{"messageId":%q,"options":["now"]}`, poll.KeyID)), `{}`)
	s.Await("the vote at the other account", func() bool {
		var p event.PollTally
		s.Call(consumer.Bearer(token), http.MethodGet, "/instance/second/poll?messageId="+poll.KeyID, nil, &p)
		return counts(p) == "now=1 later=0 votes=1 unknown=0"
	})
}
