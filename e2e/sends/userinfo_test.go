package sends

import (
	"encoding/json"
	"net/http"
	"testing"

	"postern/e2e/rig"
)

func TestUserInfoKeepsTheOrderOfNumbers(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t)
	s.Do(t, rig.Act("$anne", `{"do":"about","text":"At work"}`))
	register(t, s, askedNumber, registeredNumber)
	a := s.PostJSON(t, s.Fill("/instance/$name/chat/user-info"), s.Fill(`{"numbers":["+49 151 5550 0000","$anne","`+askedNumber+`"]}`))
	var got, want any
	phone, _ := s.Sandbox.Phone(registeredNumber)
	wanted := s.Fill(`[
		{"number":"4915155500000","exists":false,"jid":null,"lid":null,"about":null,"pictureId":null,"devices":[],"businessName":null},
		{"number":"$anne","exists":true,"jid":"$anne@s.whatsapp.net","lid":"$anneLID","about":"At work"},
		{"number":"` + askedNumber + `","exists":true,"jid":"` + registeredNumber + `@s.whatsapp.net","lid":"` + phone.LID().String() + `"}
	]`)
	if json.Unmarshal(a.Body, &got) != nil || json.Unmarshal([]byte(wanted), &want) != nil || a.Status != http.StatusOK || !rig.Holds(got, want) {
		t.Errorf("%d %s, not %s", a.Status, a.Body, wanted)
	}
	if a := s.PostJSON(t, s.Fill("/instance/$name/chat/user-info"), `{"numbers":[]}`); a.Status != http.StatusUnprocessableEntity {
		t.Errorf("no numbers: %d %s", a.Status, a.Body)
	}
}
