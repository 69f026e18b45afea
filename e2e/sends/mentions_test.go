package sends

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"postern/e2e/rig"
)

// TestMentionsNameMembersOfTheGroup is seen at the phone: JIDs and the text have the LIDs of the group.
func TestMentionsNameMembersOfTheGroup(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t)
	s.Do(t, rig.Act("$own", `{"do":"group-create","subject":"All","participants":["$anne","$bob"]}`).As("all"))
	s.Vars["anneUser"], _, _ = strings.Cut(s.Vars["anneLID"], "@")
	send := func(path, body string) rig.Answer {
		t.Helper()
		return s.PostJSON(t, s.Fill("/instance/$name/send/"+path), s.Fill(body))
	}
	text := `"textMessage":{"text":"@$anne, see @49151555000021 and @$anne"}`
	m := s.Sent(t, 0, send("text", `{"chat":"$all.group",`+text+`,"options":{"mentions":["+$anne"]}}`), `{"messageType":"extendedTextMessage","keyParticipant":"$own@s.whatsapp.net","keyParticipantLid":"*"}`)
	s.DecryptedAs(t, rig.BobNumber, m.KeyID, `{"extendedTextMessage":{"text":"@$anneUser, see @49151555000021 and @$anneUser","contextInfo":{"mentionedJID":["$anneLID"]}}}`)
	m = s.Sent(t, 0, send("media", `{"chat":"$all.group","mediaMessage":{"mediatype":"image","media":"$files/photo.jpg","caption":"by @$anne"},"options":{"mentions":["$anneLID","$anne"]}}`), `{}`)
	s.DecryptedAs(t, rig.BobNumber, m.KeyID, `{"imageMessage":{"contextInfo":{"mentionedJID":["$anneLID"]}}}`)
	m = s.Sent(t, 0, send("text", `{"chat":"$all.group",`+text+`,"options":{"mentions":["$anneLID"]}}`), `{}`)
	s.DecryptedAs(t, rig.BobNumber, m.KeyID, `{"extendedTextMessage":{"text":"@$anneUser, see @49151555000021 and @$anneUser","contextInfo":{"mentionedJID":["$anneLID"]}}}`)
	m = s.Sent(t, 0, send("text", `{"number":"$anne","textMessage":{"text":"ask @$bob"},"options":{"mentions":["$bob","+$bob"]}}`), `{}`)
	s.DecryptedAs(t, rig.AnneNumber, m.KeyID, `{"extendedTextMessage":{"text":"ask @$bob","contextInfo":{"mentionedJID":["$bob@s.whatsapp.net"]}}}`)
	before := len(textsOf(s, rig.BobNumber))
	for body, want := range map[string]string{
		`{"chat":"$all.group",` + text + `,"options":{"mentions":["$anne","4915155599999"]}}`:                                       `422 NOT_A_MEMBER 4915155599999`,
		`{"chat":"$all.group",` + text + `,"options":{"mentions":[]}}`:                                                              `422 INVALID_MESSAGE`,
		`{"chat":"$all.group",` + text + `,"options":{"mentions":["not a number"]}}`:                                                `422 INVALID_RECIPIENT`,
		`{"chat":"$all.group",` + text + `,"options":{"mentions":["$anne"],"mentionAll":true}}`:                                     `400`,
		`{"chat":"$all.group","textMessage":{"text":"a"},"options":{"mentions":[` + strings.Repeat(`"$anne",`, 1024) + `"$anne"]}}`: `422 INVALID_MESSAGE`,
	} {
		a := send("text", body)
		got := fmt.Sprint(a.Status, " ", string(a.Body))
		for part := range strings.FieldsSeq(want) {
			if !strings.Contains(got, part) {
				t.Errorf("%.120s: %.300s, not %s", body, got, want)
			}
		}
	}
	if a := send("contact", `{"chat":"$all.group","contactMessage":[{"fullName":"Bob","phoneNumber":"$bob"}],"options":{"mentions":["$anne"]}}`); a.Status != http.StatusUnprocessableEntity {
		t.Errorf("a contact: %d %s", a.Status, a.Body)
	}
	if n := len(textsOf(s, rig.BobNumber)); n != before {
		t.Errorf("%d refused messages arrived", n-before)
	}
}

// TestMentionByLIDReplacesTheAskedNumber has in the text a number that WhatsApp answers with another account.
func TestMentionByLIDReplacesTheAskedNumber(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t)
	register(t, s, askedNumber, registeredNumber)
	phone, _ := s.Sandbox.Phone(registeredNumber)
	s.Do(t, rig.Act("$own", fmt.Sprintf(`{"do":"group-create","subject":"Both","participants":["$anne",%q]}`, registeredNumber)).As("both"))
	s.Sent(t, 0, s.PostJSON(t, s.Fill("/instance/$name/send/text"), fmt.Sprintf(`{"number":%q,"textMessage":{"text":"hello"}}`, askedNumber)), `{}`)
	a := s.PostJSON(t, s.Fill("/instance/$name/send/text"), s.Fill(fmt.Sprintf(`{"chat":"$both.group","textMessage":{"text":"ask @%s or @%s"},"options":{"mentions":[%q]}}`, askedNumber, registeredNumber, phone.LID())))
	m := s.Sent(t, 0, a, `{}`)
	s.DecryptedAs(t, rig.AnneNumber, m.KeyID, fmt.Sprintf(`{"extendedTextMessage":{"text":"ask @%s or @%[1]s","contextInfo":{"mentionedJID":[%[2]q]}}}`, phone.LID().User, phone.LID()))
}

func TestDirectMentionNamesTheAccountThatAnswered(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t)
	register(t, s, askedNumber, registeredNumber)
	s.Sent(t, 0, s.PostJSON(t, s.Fill("/instance/$name/send/text"), fmt.Sprintf(`{"number":%q,"textMessage":{"text":"hello"}}`, askedNumber)), `{}`)
	a := s.PostJSON(t, s.Fill("/instance/$name/send/text"), s.Fill(fmt.Sprintf(`{"number":"$anne","textMessage":{"text":"ask @%s"},"options":{"mentions":[%[1]q]}}`, askedNumber)))
	m := s.Sent(t, 0, a, `{}`)
	s.DecryptedAs(t, rig.AnneNumber, m.KeyID, fmt.Sprintf(`{"extendedTextMessage":{"text":"ask @%s","contextInfo":{"mentionedJID":["%[1]s@s.whatsapp.net"]}}}`, registeredNumber))
}

// TestPresenceAutoTakesTheTimeOfTheText: a letter takes a tenth of a second, and a message a second at least.
func TestPresenceAutoTakesTheTimeOfTheText(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t)
	phone, _ := s.Sandbox.Phone(rig.AnneNumber)
	for _, row := range []struct {
		path, body string
		least      time.Duration
		states     string
	}{
		{"text", `"textMessage":{"text":"hi"},"options":{"presence":"auto"}`, time.Second, "composing paused"},
		{"text", `"textMessage":{"text":"a text of twenty lett"},"options":{"presence":"auto"}`, 2 * time.Second, "composing paused"},
		{"text", `"textMessage":{"text":"a text of twenty lett"},"options":{"presence":"auto","delay":100}`, 100 * time.Millisecond, "composing paused"},
		{"ptt", `"audioMessage":{"audio":"$files/note.ogg"},"options":{"presence":"auto","delay":100}`, 100 * time.Millisecond, "recording paused"},
		{"location", `"locationMessage":{"latitude":1.5,"longitude":2.5},"options":{"presence":"auto"}`, 0, ""},
	} {
		before, began := len(phone.ChatStates()), time.Now()
		s.Sent(t, 0, s.PostJSON(t, s.Fill("/instance/$name/send/"+row.path), s.Fill(`{"number":"$anne",`+row.body+`}`)), `{}`)
		if took := time.Since(began); took < row.least {
			t.Errorf("%s: sent after %v", row.body, took)
		}
		var states []string
		s.Await(row.body, func() bool { // the phone handles them beside the answer
			states = nil
			for _, c := range phone.ChatStates()[before:] {
				states = append(states, c.State)
			}
			return len(states) >= len(strings.Fields(row.states))
		})
		if got := strings.Join(states, " "); got != row.states {
			t.Errorf("%s: shown %q, not %q", row.body, got, row.states)
		}
	}
}
