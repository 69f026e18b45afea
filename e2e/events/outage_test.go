package events

import (
	"fmt"
	"net/http"
	"testing"

	"postern/e2e/rig"
	"postern/event"
)

// TestChangesAfterAFirstLoginOutageAreReported: the state that a phone
// shares cannot be read when the instance logs in for the first time. It is read
// at the next login, and from then on each change has its webhook.
func TestChangesAfterAFirstLoginOutageAreReported(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	for name, again := range map[string]func(*rig.Scene){
		"after a lost connection": func(s *rig.Scene) { s.Sandbox.Drop(rig.OwnNumber) },
		"after a restart": func(s *rig.Scene) {
			s.Stop()
			s.Start()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := rig.NewScene(t)
			s.Do(t, rig.Step{Method: http.MethodPost, Path: "/sandbox/faults", Body: `{"stateError":503}`})
			s.Online(t) // and each collection was refused
			s.Do(t, rig.Step{Method: http.MethodPost, Path: "/sandbox/faults", Body: `{}`})
			again(s)
			for _, collection := range []string{"critical_block", "critical_unblock_low", "regular_high", "regular", "regular_low"} {
				s.AwaitEvent(t, 0, event.StatusInstance, fmt.Sprintf(`{"type":"app.state.sync.completed","data":{"name":%q}}`, collection))
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
				from := len(s.Webhooks())
				s.Do(t, rig.Act("$own", row.body))
				s.AwaitEvent(t, from, row.kind, row.want)
			}
			s.Stop()
		})
	}
}
