package sends

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
)

// The numbers of a person in Brazil: as it is written, and as it is registered.
const (
	askedNumber      = "5511987650001"
	registeredNumber = "551187650001"
	askedToo         = "5511987659999" // another one that is answered with the same account
	unrelatedAsked   = "4916012345678" // of a country without two forms
)

// register makes a look-up of a number answer with an account.
func register(t *testing.T, s *rig.SendScene, asked, registered string) {
	t.Helper()
	s.Do(t, rig.Route(http.MethodPost, "/sandbox/phones", fmt.Sprintf(`{"phone":%q,"registeredAs":%q}`, asked, registered)))
}

// textsOf returns the texts that the phone of a number got from the instance.
func textsOf(s *rig.SendScene, number string) (texts []string) {
	phone, _ := s.Sandbox.Phone(number)
	for _, m := range phone.Received() {
		for range m.Count {
			texts = append(texts, m.Text)
		}
	}
	return texts
}

func TestMessageNamesTheAccountThatAnswered(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t)
	register(t, s, askedNumber, registeredNumber)
	phone, _ := s.Sandbox.Phone(registeredNumber)
	want := fmt.Sprintf(`{"keyRemoteJid":"%s@s.whatsapp.net","keyLid":%q,"metadata":{"askedNumber":%q}}`, registeredNumber, phone.LID(), askedNumber)
	m := s.Sent(t, 0, s.PostJSON(t, s.Fill("/instance/$name/send/text"), `{"number":"+55 11 98765-0001","textMessage":{"text":"hello"}}`), want)
	s.DecryptedAs(t, registeredNumber, m.KeyID, `{"conversation":"hello"}`)
	var stored struct {
		Messages struct{ Records []json.RawMessage }
	}
	a := s.PostJSON(t, s.Fill("/instance/$name/db/messages"), fmt.Sprintf(`{"filter":{"keyId":%q}}`, m.KeyID))
	if err := json.Unmarshal(a.Body, &stored); err != nil || !strings.Contains(string(a.Body), `"askedNumber":"`+askedNumber+`"`) {
		t.Errorf("stored: %s", a.Body)
	}
	// The reply meets the chat, and its message has no askedNumber.
	from := len(s.Webhooks())
	s.Do(t, rig.Act(registeredNumber, `{"do":"text","to":"$own","text":"hi"}`))
	s.AwaitEvent(t, from, event.MessagesUpsert, fmt.Sprintf(`{"keyRemoteJid":"%s@s.whatsapp.net"}`, registeredNumber))
	m = s.Sent(t, 0, s.PostJSON(t, s.Fill("/instance/$name/send/text"), fmt.Sprintf(`{"number":%q,"textMessage":{"text":"as registered"}}`, registeredNumber)), `{}`)
	if a := s.PostJSON(t, s.Fill("/instance/$name/db/messages"), fmt.Sprintf(`{"filter":{"keyId":%q}}`, m.KeyID)); strings.Contains(string(a.Body), "askedNumber") {
		t.Errorf("a message to the number itself: %s", a.Body)
	}
	if _, chats := s.Raw(consumer.Bearer(s.Token), http.MethodGet, s.Fill("/instance/$name/chats"), ""); strings.Contains(chats, askedNumber+"@") || !strings.Contains(chats, registeredNumber+"@") {
		t.Errorf("the number that was asked has a chat: %s", chats)
	}
}

// TestPersonWithTwoNumbersIsOneContact sends to one person under two numbers: one new contact of two.
func TestPersonWithTwoNumbersIsOneContact(t *testing.T) {
	t.Parallel()
	s := newLimited(t)
	s.set(`{"newContactsPerDay":1}`)
	register(t, s.SendScene, askedNumber, registeredNumber)
	register(t, s.SendScene, unrelatedAsked, registeredNumber)
	for _, number := range []string{askedNumber, registeredNumber, unrelatedAsked, askedNumber} {
		if got := s.text(number, "to "+number); got != "200" {
			t.Errorf("%s: %s", number, got)
		}
	}
	if used := s.uses().NewContactsPerDay; used == nil || used.Used != 1 {
		t.Errorf("new contacts: %+v", used)
	}
	if got := s.text(rig.AnneNumber, "another person"); !strings.HasPrefix(got, "429") {
		t.Errorf("another new contact: %s", got)
	}
}

// items returns the status and code of each item of a batch, by number.
func items(s *rig.SendScene, b rig.BatchAnswer) map[string]string {
	all := map[string]string{}
	type item struct{ NormalizedRecipient, Status, LastErrorCode string }
	for _, i := range rig.Pages[item](s.World, s.User, "/message/batches/"+b.ID.String()+"/items") {
		all[i.NormalizedRecipient] = strings.TrimSpace(i.Status + " " + i.LastErrorCode)
	}
	return all
}

func TestBatchWritesToAPersonOnce(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t)
	register(t, s, askedNumber, registeredNumber)
	register(t, s, askedToo, registeredNumber)
	for name, recipients := range map[string][]string{
		"asked, registered, asked": {askedNumber, registeredNumber, askedToo},
		"registered, asked":        {registeredNumber, askedNumber},
	} {
		// What nothing is known of yet is learnt while the batch sends: each in a program of its own.
		t.Run(name, func(t *testing.T) {
			s := rig.NewSendScene(t)
			register(t, s, askedNumber, registeredNumber)
			register(t, s, askedToo, registeredNumber)
			b := s.CreateBatch("learnt", []string{rig.SceneName}, recipients)
			s.Await("the end of the batch", func() bool {
				b = s.Batch(b.ID)
				return b.Status == event.BatchIsCompleted || b.Status == event.BatchIsWithErrors
			})
			all := items(s, b)
			if all[recipients[0]] != "SUCCESS" || b.Counts.Skipped != len(recipients)-1 {
				t.Errorf("%v, %+v", all, b.Counts)
			}
			for _, other := range recipients[1:] {
				if all[other] != "SKIPPED DUPLICATE_RECIPIENT" {
					t.Errorf("%s is %s", other, all[other])
				}
			}
			if got := textsOf(s, registeredNumber); len(got) != 1 {
				t.Errorf("the person got %q", got)
			}
		})
	}
	// Creations ignore known duplicates.
	for _, number := range []string{askedNumber, askedToo} {
		if a := s.PostJSON(t, s.Fill("/instance/$name/send/text"), fmt.Sprintf(`{"number":%q,"textMessage":{"text":"before"}}`, number)); a.Status != http.StatusOK {
			t.Fatalf("%s", a.Body)
		}
	}
	var created json.RawMessage
	s.Call(consumer.Bearer(s.User), http.MethodPost, "/message/batches", map[string]any{
		"name": "known", "instances": []string{rig.SceneName}, "recipients": []string{askedNumber, registeredNumber, askedToo, rig.AnneNumber},
		"message": map[string]any{"type": "text", "payload": map[string]any{"text": "news"}},
	}, &created)
	if !strings.Contains(string(created), `"duplicatesIgnored":2`) {
		t.Errorf("two duplicates are known: %s", created)
	}
}

// TestOptOutHoldsForEveryNumber opts one number out, and writes to the others.
func TestOptOutHoldsForEveryNumber(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ out, to string }{{unrelatedAsked, registeredNumber}, {registeredNumber, unrelatedAsked}} {
		t.Run(row.out, func(t *testing.T) {
			s := rig.NewSendScene(t)
			register(t, s, unrelatedAsked, registeredNumber)
			s.Call(consumer.Bearer(s.User), http.MethodPost, "/optouts", map[string]any{"numbers": []string{row.out}}, nil)
			if row.to == registeredNumber { // it becomes known that they are one
				s.PostJSON(t, s.Fill("/instance/$name/send/text"), fmt.Sprintf(`{"number":%q,"textMessage":{"text":"no batch"}}`, unrelatedAsked))
			}
			to, codes := sentTo(t, s, "news", row.to)
			if len(to) != 0 || !slices.Equal(codes, []string{row.to + " SKIPPED OPTED_OUT"}) {
				t.Errorf("sent to %v; %v", to, codes)
			}
		})
	}
}

// TestKeyMayWriteToANumberItNamesOrWhoseAccountItNames: without a kept answer no look-up finds out.
func TestKeyMayWriteToTheAccountItNames(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t)
	register(t, s, askedNumber, registeredNumber)
	key := func(recipients ...string) string {
		var made struct{ Key string }
		s.Call(consumer.Key(s.Sec.GlobalAuthToken), http.MethodPost, "/keys", map[string]any{
			"name": "robot", "scopes": []string{"send"}, "instances": []string{rig.SceneName}, "recipients": recipients,
		}, &made)
		return made.Key
	}
	send := func(key, number string) string {
		status, answer := s.Raw(consumer.Bearer(key), http.MethodPost, s.Fill("/instance/$name/send/text"), fmt.Sprintf(`{"number":%q,"textMessage":{"text":"x"}}`, number))
		var refused struct{ Code string }
		_ = json.Unmarshal([]byte(answer), &refused)
		return strings.TrimSpace(fmt.Sprint(status, " ", refused.Code))
	}
	named, account := key(askedNumber), key(registeredNumber)
	if got := send(account, askedNumber); got != "403 RECIPIENT_NOT_ALLOWED" {
		t.Errorf("before a look-up: %s", got)
	}
	if got := send(named, askedNumber); got != "200" {
		t.Errorf("the number that the key names: %s", got)
	}
	if got := send(account, askedNumber); got != "200" {
		t.Errorf("with a kept answer: %s", got)
	}
	if got := send(named, registeredNumber); got != "403 RECIPIENT_NOT_ALLOWED" {
		t.Errorf("the account of the number that the key names: %s", got)
	}
}
