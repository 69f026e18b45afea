package main

import (
	"fmt"
	"net/http"
	"testing"

	"postern/event"
)

// TestTheFirstChangesAfterAnOutageAtTheFirstLoginAreTold: the state that a phone
// shares cannot be read when the instance logs in for the first time. It is read
// at the next login, and from then on each change has its webhook.
func TestTheFirstChangesAfterAnOutageAtTheFirstLoginAreTold(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	for name, again := range map[string]func(*scene){
		"after a lost connection": func(s *scene) { s.sandbox.Drop(ownNumber) },
		"after a restart": func(s *scene) {
			s.stop()
			s.start()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.do(t, step{method: http.MethodPost, path: "/sandbox/faults", body: `{"stateError":503}`})
			s.online(t) // and each collection was refused
			s.do(t, step{method: http.MethodPost, path: "/sandbox/faults", body: `{}`})
			again(s)
			for _, collection := range []string{"critical_block", "critical_unblock_low", "regular_high", "regular", "regular_low"} {
				s.awaitEvent(t, 0, event.StatusInstance, fmt.Sprintf(`{"type":"app.state.sync.completed","data":{"name":%q}}`, collection))
			}
			for _, row := range []struct {
				kind       event.Kind
				body, want string
			}{
				{event.ChatsUpdated, `{"do":"archive","chat":"$anne"}`, `{"type":"archive","chatJid":"$anne@s.whatsapp.net","fromFullSync":false}`},
				{event.ChatsUpdated, `{"do":"pin","chat":"$anne"}`, `{"type":"pin","chatJid":"$anne@s.whatsapp.net","fromFullSync":false}`},
				{event.ChatsUpdated, `{"do":"mute","chat":"$anne"}`, `{"type":"mute","chatJid":"$anne@s.whatsapp.net","fromFullSync":false}`},
				{event.LabelsEdit, `{"do":"label-edit","label":"7","name":"Paid","color":3}`, `{"id":"7","name":"Paid"}`},
				{event.LabelsAssociation, `{"do":"label-chat","label":"7","chat":"$anne"}`, `{"type":"chat","labelId":"7"}`},
				{event.ContactsUpsert, `{"do":"contact","to":"$anne","fullName":"Anne Ames","firstName":"Anne"}`, `{"remoteJid":"$anne@s.whatsapp.net"}`},
				{event.SettingsUpdate, `{"do":"push-name-setting","name":"The Shop"}`, `{"type":"push.name","name":"The Shop","fromFullSync":false}`},
			} {
				s.mu.Lock()
				from := len(s.log)
				s.mu.Unlock()
				s.do(t, act("$own", row.body))
				s.awaitEvent(t, from, row.kind, row.want)
			}
			s.stop()
		})
	}
}
