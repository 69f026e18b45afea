package sends

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"postern/e2e/rig"
	"postern/event"
)

// contactsOf saves people as contacts of the instance's account.
func contactsOf(t *testing.T, s *rig.SendScene, numbers ...string) {
	t.Helper()
	for _, number := range numbers {
		s.Do(t, rig.Act("$own", fmt.Sprintf(`{"do":"contact","to":%q,"fullName":"Contact %s"}`, number, number)))
		s.AwaitEvent(t, 0, event.ContactsUpsert, fmt.Sprintf(`{"remoteJid":"%s@s.whatsapp.net"}`, number))
	}
}

// TestStatusTakesAFile that contacts see, and reports who viewed it.
func TestStatusTakesAFile(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t)
	contactsOf(t, s, rig.AnneNumber)
	post := func(body string) rig.Answer {
		t.Helper()
		return s.PostJSON(t, s.Fill("/instance/$name/send/status"), `{"statusMessage":`+body+`}`)
	}
	m := s.Sent(t, 0, post(`{"mediatype":"image","media":"$files/photo.jpg","caption":"the harbour"}`), `{"messageType":"imageMessage","keyRemoteJid":"status@broadcast"}`)
	s.DecryptedAs(t, rig.AnneNumber, m.KeyID, `{"imageMessage":{"caption":"the harbour"}}`)
	s.Do(t, rig.Act("$anne", fmt.Sprintf(`{"do":"view-status","from":"$own","ids":[%q]}`, m.KeyID)))
	s.AwaitEvent(t, 0, event.MessagesUpdate, fmt.Sprintf(`{"messageId":%d,"status":"read"}`, m.ID))
	m = s.Sent(t, 0, post(`{"mediatype":"video","media":"$files/clip.mp4"}`), `{"messageType":"videoMessage"}`)
	s.DecryptedAs(t, rig.AnneNumber, m.KeyID, `{"videoMessage":{"mimetype":"video/mp4"}}`)
	m = s.Sent(t, 0, post(`{"mediatype":"voice","media":"$files/note.ogg"}`), `{"messageType":"audioMessage"}`)
	s.DecryptedAs(t, rig.AnneNumber, m.KeyID, `{"audioMessage":{"PTT":true}}`)
	m = s.Sent(t, 0, post(`{"text":"today"}`), `{"messageType":"extendedTextMessage"}`)
	s.DecryptedAs(t, rig.AnneNumber, m.KeyID, `{"extendedTextMessage":{"text":"today"}}`)
	for body, want := range map[string]string{
		`{}`: "text", `{"text":"a","mediatype":"image","media":"$files/photo.jpg"}`: "text",
		`{"mediatype":"document","media":"$files/photo.jpg"}`:           "mediatype",
		`{"mediatype":"image"}`:                                         "media",
		`{"mediatype":"voice","media":"$files/note.ogg","caption":"a"}`: "caption",
	} {
		a := post(body)
		refused(t, a, http.StatusUnprocessableEntity, "INVALID_MESSAGE")
		if !strings.Contains(string(a.Body), want) {
			t.Errorf("%s: %s does not name %s", body, a.Body, want)
		}
	}
	refused(t, post(`{"mediatype":"image","media":"$files/missing.jpg"}`), http.StatusUnprocessableEntity, "INVALID_MEDIA")
}

// TestStatusForAnAudience reaches those of it whom the account's privacy allows and no other contact.
func TestStatusForAnAudience(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t)
	contactsOf(t, s, rig.AnneNumber, rig.BobNumber)
	post := func(audience string) rig.Answer {
		t.Helper()
		return s.PostJSON(t, s.Fill("/instance/$name/send/status"), `{"statusMessage":{"text":"for some","audience":[`+audience+`]}}`)
	}
	saw := func(number, id string) bool { return strings.Contains(strings.Join(received(s, number), " "), id) }
	m := s.Sent(t, 0, post(`"+$anne","4915155599999"`), `{"keyRemoteJid":"status@broadcast"}`)
	s.DecryptedAs(t, rig.AnneNumber, m.KeyID, `{"extendedTextMessage":{"text":"for some"}}`)
	s.DecryptedAs(t, s.Vars["own"], m.KeyID, `{}`)
	byLID := s.Sent(t, 0, post(`"$anneLID"`), `{}`)
	s.DecryptedAs(t, rig.AnneNumber, byLID.KeyID, `{"extendedTextMessage":{"text":"for some"}}`)
	all := s.Sent(t, 0, s.PostJSON(t, s.Fill("/instance/$name/send/status"), `{"statusMessage":{"text":"for all"}}`), `{}`)
	s.DecryptedAs(t, rig.BobNumber, all.KeyID, `{"extendedTextMessage":{"text":"for all"}}`)
	if saw(rig.BobNumber, m.KeyID) || saw(rig.BobNumber, byLID.KeyID) {
		t.Error("Bob, who was not in the audience, saw the status")
	}
	refused(t, post(`"4915155599999"`), http.StatusUnprocessableEntity, "AUDIENCE_EMPTY")
	s.Do(t, rig.Act("$own", `{"do":"status-privacy","type":"blacklist","users":["$anne"]}`))
	refused(t, post(`"$anne"`), http.StatusUnprocessableEntity, "AUDIENCE_EMPTY")
	both := s.Sent(t, 0, post(`"$anne","$bob"`), `{}`)
	s.DecryptedAs(t, rig.BobNumber, both.KeyID, `{"extendedTextMessage":{"text":"for some"}}`)
	if saw(rig.AnneNumber, both.KeyID) {
		t.Error("Anne, who is excluded from the statuses, saw one")
	}
	s.Do(t, rig.Act("$own", `{"do":"status-privacy","type":"whitelist","users":["$anne"]}`))
	refused(t, post(`"$anne"`), http.StatusUnprocessableEntity, "AUDIENCE_NOT_POSSIBLE")
	refused(t, post(``), http.StatusUnprocessableEntity, "INVALID_MESSAGE")
	refused(t, post(`"not a number"`), http.StatusUnprocessableEntity, "INVALID_RECIPIENT")
	refused(t, post(strings.TrimSuffix(strings.Repeat(`"$anne",`, 5001), ",")), http.StatusUnprocessableEntity, "INVALID_MESSAGE")
}

// TestAudienceIsFoundByEverySpelling has a contact saved in one spelling and the audience in the other.
func TestAudienceIsFoundByEverySpelling(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t)
	register(t, s, askedNumber, registeredNumber)
	contactsOf(t, s, registeredNumber)
	s.Sent(t, 0, s.PostJSON(t, s.Fill("/instance/$name/send/text"), fmt.Sprintf(`{"number":%q,"textMessage":{"text":"hello"}}`, askedNumber)), `{}`)
	a := s.PostJSON(t, s.Fill("/instance/$name/send/status"), fmt.Sprintf(`{"statusMessage":{"text":"for some","audience":[%q]}}`, askedNumber))
	m := s.Sent(t, 0, a, `{"keyRemoteJid":"status@broadcast"}`)
	s.DecryptedAs(t, registeredNumber, m.KeyID, `{"extendedTextMessage":{"text":"for some"}}`)
}
