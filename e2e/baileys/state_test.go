package baileys

import (
	"net/http"
	"testing"

	"postern/e2e/rig"
	"postern/event"
)

func TestHistoryIsRead(t *testing.T) {
	t.Parallel()
	for name, blob := range map[string]string{"in the message": "", "in a file": `,"blob":true`} {
		t.Run(name, func(t *testing.T) {
			installed(t)
			s := rig.NewSendScene(t)
			s.Do(t, rig.Act("$anne", `{"do":"past","with":"$own","messages":20,"text":"long ago"`+blob+`}`))
			b := link(t, s.Sandbox, rig.AnneNumber, t.TempDir())
			b.event(0, "messaging-history.set", s.Fill(`{"messages":{"message":{"conversation":"long ago 20"}}}`))
		})
	}
}

// TestStateIsSharedByBothClients links Baileys to the account of the instance.
func TestStateIsSharedByBothClients(t *testing.T) {
	t.Parallel()
	installed(t)
	s := rig.NewSendScene(t)
	s.Do(t, rig.Act("$own", `{"do":"contact","to":"$bob","fullName":"Robert Baker","firstName":"Robert"}`))
	b := link(t, s.Sandbox, rig.OwnNumber, t.TempDir())
	b.event(0, "contacts.upsert", `{"name":"Robert Baker"}`)
	anne := rig.AnneNumber + "@s.whatsapp.net"

	seen := b.seen()
	if a := s.PostJSON(t, s.Fill("/instance/$name/chat/pin"), s.Fill(`{"chat":"$anne","pinned":true}`)); a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	b.event(seen, "chats.update", `{"pinned":"*"}`)
	from := len(s.Webhooks())
	b.call(nil, "chatModify", map[string]any{"mute": 8 * 60 * 60 * 1000}, anne)
	s.AwaitEvent(t, from, event.ChatsUpdated, `{"type":"mute"}`)
	b.call(nil, "chatModify", map[string]any{"pin": false}, anne)
	s.AwaitEvent(t, from, event.ChatsUpdated, `{"type":"pin","pinned":false}`)
}

// TestOwnMessagesReachTheOtherClient links Baileys to the account of the instance.
func TestOwnMessagesReachTheOtherClient(t *testing.T) {
	t.Parallel()
	installed(t)
	s := rig.NewSendScene(t)
	k := talk{s, link(t, s.Sandbox, rig.OwnNumber, t.TempDir())}
	k.posts(t, "/instance/$name/send/text", `{"number":"$anne","textMessage":{"text":"by Postern"}}`, `"key":{"fromMe":true},"message":{"conversation":"by Postern"}`)
	m, _ := k.says(t, rig.AnneNumber+"@s.whatsapp.net", map[string]any{"text": "by Baileys"}, `"keyFromMe":true,"keyRemoteJid":"$anne@s.whatsapp.net","content":{"text":"by Baileys"}`)
	k.DecryptedAs(t, rig.AnneNumber, m.Key.ID, `{"extendedTextMessage":{"text":"by Baileys"}}`)
	seen := k.b.seen()
	k.Do(t, rig.Act("$anne", `{"do":"text","to":"$own","text":"to both","id":"BOTH1"}`))
	k.arrives(t, seen, "BOTH1", `"message":{"conversation":"to both"}`)
	k.AwaitEvent(t, 0, event.MessagesUpsert, `{"keyId":"BOTH1"}`)
}
