package events

import (
	"slices"
	"testing"

	"postern/e2e/rig"
	"postern/event"
)

// kindRows is one message of each type as a person's phone sends it. What the
// content of each looks like to the last field is in the golden files of
// package whatsapp; here they come over the wire.
func kindRows() []triggerRow {
	row := func(note, body, want string) triggerRow {
		return triggerRow{
			kind: event.MessagesUpsert, trigger: "Message", note: note, steps: []rig.Step{rig.Act("$anne", body).As("kind")},
			want: `{"keyRemoteJid":"$anne@s.whatsapp.net","keyLid":"$anneLID","keyFromMe":false,"isGroup":false,` + want + `}`,
		}
	}
	sent := func(note, content, want string) triggerRow {
		return row(note, `{"do":"message","to":"$own","content":`+content+`}`, `"keyId":"$kind.id",`+want)
	}
	rows := []triggerRow{
		sent("extended text", `{"extendedTextMessage":{"text":"https://example.com","title":"t","contextInfo":{"stanzaID":"$msg.id","participant":"$anneLID"}}}`,
			`"messageType":"extendedTextMessage","content":{"text":"https://example.com","title":"t","contextInfo":{"stanzaId":"$msg.id","participant":"$anneLID"}}`),
		sent("contact", `{"contactMessage":{"displayName":"Ada","vcard":"BEGIN:VCARD"}}`, `"messageType":"contactMessage","content":{"displayName":"Ada","vcard":"BEGIN:VCARD"}`),
		sent("contacts", `{"contactsArrayMessage":{"displayName":"2","contacts":[{"displayName":"Ada"},{"displayName":"Bo"}]}}`,
			`"messageType":"contactsArrayMessage","content":{"contacts":[{"displayName":"Ada"},{"displayName":"Bo"}]}`),
		sent("location", `{"locationMessage":{"degreesLatitude":52.5,"degreesLongitude":-1.25,"name":"n"}}`,
			`"messageType":"locationMessage","content":{"degreesLatitude":52.5,"degreesLongitude":-1.25,"name":"n"}`),
		sent("live location", `{"liveLocationMessage":{"degreesLatitude":52.5,"sequenceNumber":"7"}}`,
			`"messageType":"liveLocationMessage","content":{"degreesLatitude":52.5,"sequenceNumber":"7"}`),
		sent("buttons", `{"buttonsMessage":{"contentText":"?","buttons":[{"buttonID":"1","buttonText":{"displayText":"yes"}}]}}`,
			`"messageType":"buttonsMessage","content":{"buttons":[{"buttonId":"1","buttonText":{"displayText":"yes"}}]}`),
		sent("buttons reply", `{"buttonsResponseMessage":{"selectedButtonID":"1","selectedDisplayText":"yes"}}`,
			`"messageType":"buttonsResponseMessage","content":{"selectedButtonId":"1","selectedDisplayText":"yes"}`),
		sent("list reply", `{"listResponseMessage":{"title":"r","singleSelectReply":{"selectedRowID":"1"}}}`,
			`"messageType":"listResponseMessage","content":{"title":"r","singleSelectReply":{"selectedRowId":"1"}}`),
		sent("template", `{"templateMessage":{"templateID":"9","hydratedTemplate":{"hydratedContentText":"c"}}}`,
			`"messageType":"templateMessage","content":{"templateId":"9","hydratedTemplate":{"hydratedContentText":"c"}}`),
		sent("template reply", `{"templateButtonReplyMessage":{"selectedID":"1","selectedIndex":0}}`,
			`"messageType":"templateButtonReplyMessage","content":{"selectedId":"1","selectedIndex":0}`),
		sent("interactive", `{"interactiveMessage":{"body":{"text":"b"},"nativeFlowMessage":{"buttons":[{"name":"quick_reply","buttonParamsJSON":"{}"}]}}}`,
			`"messageType":"interactiveMessage","content":{"body":{"text":"b"},"nativeFlowMessage":{"buttons":[{"name":"quick_reply","buttonParamsJson":"{}"}]}}`),
		sent("interactive reply", `{"interactiveResponseMessage":{"body":{"text":"b"},"nativeFlowResponseMessage":{"name":"flow","paramsJSON":"{}"}}}`,
			`"messageType":"interactiveResponseMessage","content":{"nativeFlowResponseMessage":{"name":"flow","paramsJson":"{}"}}`),
		sent("view once", `{"viewOnceMessageV2":{"message":{"imageMessage":{"caption":"once","viewOnce":true}}}}`,
			`"messageType":"imageMessage","content":{"caption":"once","viewOnce":true},"metadata":{"viewOnce":true,"wrappers":["viewOnceMessageV2"]}`),
		sent("ephemeral", `{"ephemeralMessage":{"message":{"conversation":"soon gone"}}}`,
			`"messageType":"conversation","content":{"text":"soon gone"},"metadata":{"ephemeral":true,"wrappers":["ephemeralMessage"]}`),
		sent("album", `{"albumMessage":{"expectedImageCount":2}}`, `"messageType":"albumMessage","content":{"expectedImageCount":2}`),
		sent("part of an album", `{"imageMessage":{"caption":"1"},"messageContextInfo":{"messageAssociation":{"associationType":"MEDIA_ALBUM","parentMessageKey":{"ID":"ALBUM1"}}}}`,
			`"messageType":"imageMessage","content":{"caption":"1"},"metadata":{"parent":{"type":"MEDIA_ALBUM","id":"ALBUM1"}}`),
		sent("event", `{"eventMessage":{"name":"Market","startTime":"1777887000"}}`, `"messageType":"eventMessage","content":{"name":"Market","startTime":"1777887000"}`),
		row("reaction", `{"do":"reaction","to":"$own","id":"$msg.id","emoji":"👍","fromMe":true}`,
			`"messageType":"reactionMessage","content":{"text":"👍","key":{"id":"$msg.id"}}`),
		row("edited", `{"do":"edit","to":"$own","id":"$msg.id","text":"hello again"}`,
			`"messageType":"conversation","content":{"text":"hello again"},"metadata":{"edited":true,"editOf":"$msg.id"}`),
		row("revoked", `{"do":"revoke","to":"$own","id":"$msg.id"}`,
			`"messageType":"protocolMessage","content":{"type":"REVOKE","key":{"id":"$msg.id"}},"metadata":{"revoked":"$msg.id"}`),
		row("poll", `{"do":"poll","to":"$own","name":"When?","options":["Monday","Tuesday"]}`,
			`"keyId":"$kind.id","content":{"name":"When?","options":[{"optionName":"Monday"},{"optionName":"Tuesday"}]}`),
		row("poll vote", `{"do":"poll-vote","to":"$own","id":"$kind.id","options":["Monday"]}`,
			`"messageType":"pollUpdateMessage","content":{"pollCreationMessageKey":"*"},"metadata":{"vote":{"selectedOptions":["*"]}}`),
	}
	for _, media := range []struct{ kind, want string }{
		{"video", `"messageType":"videoMessage","content":{"url":"*","mimetype":"*"}`},
		{"voice", `"messageType":"audioMessage","content":{"ptt":true,"url":"*"}`},
		{"document", `"messageType":"documentMessage","content":{"url":"*"}`},
		{"sticker", `"messageType":"stickerMessage","content":{"url":"*"}`},
	} {
		rows = append(rows, row(media.kind, `{"do":"media","to":"$own","kind":"`+media.kind+`"}`, media.want))
	}
	return rows
}

// Each setting takes its own events away and no others.
func TestEachSavingSettingTakesItsOwnEventsAway(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	for setting, gone := range map[string][]event.Kind{
		string(event.GateNewMessage):    {event.MessagesUpsert},
		string(event.GateMessageUpdate): {event.MessagesUpdate},
		string(event.GateContacts):      {event.ContactsUpdate, event.ContactsUpsert},
	} {
		t.Run(setting, func(t *testing.T) {
			s := rig.NewScene(t, setting+"=false")
			s.Online(t)
			s.Do(t, rig.Route("POST", "/instance/$name/send/text", `{"number":"$anne","textMessage":{"text":"good morning"}}`).As("sent"))
			s.Do(t, rig.Act("$anne", `{"do":"text","to":"$own","text":"hello"}`))
			s.Do(t, rig.Act("$anne", `{"do":"receipt","to":"$own","type":"read","ids":["$sent.keyId"]}`))
			s.Do(t, rig.Act("$own", `{"do":"contact","to":"$anne","fullName":"Anne at work"}`))
			s.Do(t, rig.Act("$anne", `{"do":"push-name","name":"Anne B","to":"$own"}`))
			s.Do(t, rig.Act("$own", `{"do":"archive","chat":"$bob","archived":true}`)) // behind the contact in the account's state
			s.AwaitEvent(t, 0, event.ChatsUpdated, `{"type":"archive"}`)
			for kind, holds := range map[event.Kind]string{
				event.SendMessage: `{}`, event.MessagesUpsert: `{"content":{"text":"hello"}}`, event.MessagesUpdate: `{"status":"read"}`,
				event.ContactsUpdate: `[{"pushName":"Anne B"}]`, event.ContactsUpsert: `{"action":"upserted"}`,
			} {
				if !slices.Contains(gone, kind) {
					s.AwaitEvent(t, 0, kind, holds)
				}
			}
			s.Stop()
			for _, kind := range gone {
				if n := s.Seen(string(kind)); n != 0 {
					t.Errorf("%s reported %d times", kind, n)
				}
			}
		})
	}
}
