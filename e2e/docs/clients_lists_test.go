package docs

import (
	"fmt"
	"testing"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
)

// clientLists has what is read: messages, and answers about the instance.
func clientLists() []clientRow {
	const list, find = "POST /instance/$name/db/messages", "POST /chat/findMessages/$name"
	one := `{"messages":{"records":[{"id":$m.id_,"keyId":"$m.keyId","instanceId":1}]}}`
	learn := func(t *testing.T, s *rig.SendScene) {
		s.Vars["m.id_"] = s.Vars["m.id"]
		s.DecryptedAs(t, rig.AnneNumber, s.Vars["m.keyId"], `{"conversation":"find me"}`)
		s.AwaitEvent(t, 0, event.MessagesUpdate, fmt.Sprintf(`{"messageId":%s,"status":"delivered"}`, s.Vars["m.id"]))
	}
	sent := []rig.Step{rig.Route("POST", "/instance/$name/send/text", `{"number":"$bob","textMessage":{"text":"to Bob"}}`), rig.Route("POST", "/instance/$name/send/text", `{"number":"$anne","textMessage":{"text":"find me"}}`).As("m")}
	return []clientRow{
		{habit: "messages", name: "by the phone's address", before: sent, ready: learn, call: list, body: `{"filter":{"keyRemoteJid":"$anne@s.whatsapp.net","messageType":"conversation","keyFromMe":"true"},"limit":1}`, answer: one},
		{habit: "messages", name: "by a number as people write it", call: list, body: `{"filter":{"keyRemoteJid":"+49 151 555 00002"},"limit":1}`, answer: one},
		{habit: "messages", name: "by the LID", call: list, body: `{"filter":{"keyRemoteJid":"$anneLID"},"limit":1}`, answer: one},
		{habit: "messages", name: "by id", call: list, body: `{"filter":{"id":$m.id_}}`, answer: one},
		{habit: "messages", name: "by key id", call: list, body: `{"filter":{"keyId":"$m.keyId","source":"web","messageStatus":"delivered"}}`, answer: one},
		{habit: "messages", name: "by another device", call: list, body: `{"filter":{"keyId":"$m.keyId","source":"ios"}}`, answer: `{"messages":{"records":[]}}`},
		{habit: "messages", name: "after a cursor", call: list, body: `{"filter":{"keyRemoteJid":"$bob"},"cursor":{"type":"next","id":$m.id_},"limit":1}`, answer: `{"messages":{"records":[{"content":{"text":"to Bob"}}]}}`},
		{habit: "messages", name: "the first page", call: list, body: `{"limit":1}`, answer: `{"messages":{"records":["*"],"pageInfo":{"nextCursor":"*"}}}`, then: func(t *testing.T, s *rig.SendScene, a rig.Answer) {
			var page struct {
				Messages struct{ PageInfo struct{ NextCursor string } }
			}
			decode(t, a.Body, &page)
			s.Vars["cursor"] = page.Messages.PageInfo.NextCursor
		}},
		{habit: "messages", name: "at a cursor of pageInfo", call: list, body: `{"limit":1,"cursor":"$cursor"}`, answer: `{"messages":{"records":[{"content":{"text":"to Bob"}}]}}`},
		{habit: "messages", name: "by a status of another gateway", call: list, body: `{"filter":{"keyId":"$m.keyId","messageStatus":"DELIVERY_ACK"}}`, answer: one},
		{habit: "messages", name: "that failed", call: list, body: `{"filter":{"keyId":"$m.keyId","status":"error"}}`, answer: `{"messages":{"records":[]}}`},
		{habit: "messages", name: "before a cursor", call: list, body: `{"cursor":{"type":"previous","id":"$m.id_"}}`, answer: `{"messages":{"records":[]}}`},
		{habit: "messages", name: "a cursor of another kind", call: list, body: `{"cursor":{"type":"first","id":1}}`, status: 400, answer: `{"code":"INVALID_QUERY"}`},
		{habit: "messages", name: "a filter that is none", call: list, body: `{"filter":{"keyid":"x"}}`, status: 400, answer: `{"code":"UNKNOWN_FIELD"}`},
		{
			habit: "messages", name: "in a group by its author", call: list, body: `{"filter":{"keyParticipant":"+49 151 555 00002"},"limit":1}`, answer: `{"messages":{"records":[{"content":{"text":"in the group"},"isGroup":true}]}}`,
			before: []rig.Step{
				rig.Act("$own", `{"do":"group-create","subject":"Talk","participants":["$anne"]}`).As("talk"),
				rig.Act("$anne", `{"do":"text","to":"$talk.group","text":"in the group"}`).As("said"),
			},
			ready: func(t *testing.T, s *rig.SendScene) { s.AwaitEvent(t, 0, event.MessagesUpsert, `{"keyId":"$said.id"}`) },
		},
		{habit: "messages", name: "in a group by the author's LID", call: list, body: `{"filter":{"keyParticipant":"$anneLID"},"limit":1}`, answer: `{"messages":{"records":[{"keyId":"$said.id"}]}}`},
		{habit: "messages", name: "chats have it too", call: "GET /instance/$name/chats?limit=1", answer: `{"records":[{"lastMessage":{"instanceId":1}}]}`},
		{
			habit: "found messages", name: "a page", call: find, body: `{"where":{"keyid":"$m.keyId","keyFromMe":"true","messageStatus":"delivered"},"page":1,"offset":10}`,
			answer: `{"messages":{"total":1,"pages":1,"currentPage":1,"records":[{"id":$m.id_,"instanceId":1,"messageUpdates":["*"],"MessageUpdate":[{"status":"delivered","dateTime":"*"}]}],"pageInfo":{"limit":10}}}`,
		},
		{
			habit: "found messages", name: "the second of a chat", call: find, body: `{"where":{"keyRemoteJid":"$anne@s.whatsapp.net"},"page":2,"offset":1}`,
			answer: `{"messages":{"total":"*","pages":"*","currentPage":2,"records":["*"]}}`,
			then: func(t *testing.T, s *rig.SendScene, a rig.Answer) {
				var all, of struct{ Messages struct{ Total, Pages int } }
				decode(t, a.Body, &of)
				decode(t, s.PostJSON(t, s.Fill("/chat/findMessages/$name"), `{}`).Body, &all)
				if of.Messages.Pages != of.Messages.Total || of.Messages.Total < 2 || all.Messages.Total <= of.Messages.Total {
					t.Errorf("of the chat %+v, of all %+v", of, all)
				}
			},
		},

		{
			habit: "passkey", name: "an answer to what is not waited for", call: "POST /instance/connect/$name/passkey/assertion", status: 409, answer: `{"code":"PASSKEY_NOT_EXPECTED"}`,
			body: `{"requestId":"01a2007d-b104-77f5-999a-27cc19e97c61","assertion":{"id":"AQI","rawId":"AQI","type":"public-key","response":{"clientDataJSON":"e30","authenticatorData":"AA","signature":"AQ"}}}`,
		},
		{habit: "ready", name: "says it", call: "GET /ready", answer: `{"status":"ready"}`},
		{habit: "left out", name: "the code of a connect that needs none", call: "GET /instance/connect/$name", answer: `{"count":0,"alreadyConnected":true,"code":"<absent>","base64":"<absent>"}`},
		{habit: "left out", name: "no reason is 0", call: "GET /instance/connectionState/$name", answer: `{"statusReason":0,"state":"open"}`},
		{
			habit: "logout", name: "of what was never paired", call: "DELETE /instance/logout/spare", header: map[string]string{"apikey": "$spare"},
			answer: `{"instanceName":"spare","state":"logged_out","connectionStatus":"LOGGED_OUT"}`,
			ready: func(_ *testing.T, s *rig.SendScene) {
				var made struct{ Auth struct{ Token string } }
				s.Call(consumer.Key(s.Sec.GlobalAuthToken), "POST", "/instance/create", map[string]any{"instanceName": "spare"}, &made)
				s.Vars["spare"] = made.Auth.Token
			},
		},
		{habit: "device", name: "of what was sent", call: sendText, body: `{"number":"$anne","textMessage":{"text":"from where?"}}`, answer: `{"device":"web"}`},
	}
}
