package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"postern/event"
)

// triggerRow is one trigger of the catalogue and how it is brought about.
type triggerRow struct {
	kind    event.Kind
	trigger string // the library's event, or the program's own step
	typ     string // the value that tells variants of the event apart, "" when there is one
	note    string // tells rows of one trigger and type apart

	unpaired bool                     // the instance need not be online
	before   []step                   // what makes the scene ready
	steps    []step                   // what provokes the trigger
	want     string                   // JSON; what data holds at least
	then     func(*testing.T, *scene) // looks at what else must be true now

	// struct_ says why the wire cannot provoke the trigger; the library's
	// struct is handed to the translator instead, in the test that byTest names.
	struct_ string
	byTest  string
}

func (r triggerRow) name() string {
	parts := []string{r.trigger}
	for _, p := range []string{r.typ, r.note} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	if event.Triggers(r.kind)[0] == "GroupInfo" {
		parts = append(parts, strings.TrimPrefix(string(r.kind), "groups."))
	}
	return strings.Join(parts, " ")
}

func (r triggerRow) seenBy() string {
	if r.struct_ != "" {
		return r.byTest + " (" + r.struct_ + ")"
	}
	return "TestEveryTrigger/" + strings.ReplaceAll(r.name(), " ", "_")
}

// variantKey is the field whose values are the variants of an event.
func variantKey(kind event.Kind) string {
	switch kind {
	case event.CallUpsert, event.MessagesUpdate:
		return "status"
	case event.GroupsParticipantsEvent:
		return "action"
	case event.ContactsUpdate:
		return "source"
	default:
		return "type"
	}
}

// typesOf reads the variants of an event from its schema.
func typesOf(kind event.Kind) []string {
	var schema struct {
		Properties struct {
			Data struct {
				Properties map[string]struct{ Enum []string }
				Items      struct {
					Properties map[string]struct{ Enum []string }
				}
			}
		}
	}
	raw, err := event.SchemaJSON(kind)
	if err != nil || json.Unmarshal(raw, &schema) != nil {
		return []string{"unreadable schema"}
	}
	data := schema.Properties.Data
	if of := data.Properties[variantKey(kind)].Enum; of != nil {
		return of
	}
	return data.Items.Properties[variantKey(kind)].Enum
}

// eventsPage is docs/events.md.
func eventsPage(rows []triggerRow) []byte {
	var page bytes.Buffer
	page.WriteString(eventsIntro)
	for _, d := range event.Catalogue() {
		if d.Family != event.Instance {
			continue
		}
		gate := string(d.Gate)
		if gate == "" {
			gate = "none"
		}
		fmt.Fprintf(&page, "\n## %s\n\nFlag `%s`, gate %s.\n\n| Trigger | %s | Seen by |\n|---|---|---|\n", d.Kind, d.Flag, gate, variantKey(d.Kind))
		for _, r := range rows {
			if r.kind == d.Kind {
				typ := r.typ
				if typ == "" {
					typ = "–"
				}
				fmt.Fprintf(&page, "| %s | %s | %s |\n", r.trigger, typ, r.seenBy())
			}
		}
	}
	page.WriteString(eventsOutro)
	return page.Bytes()
}

const eventsIntro = `# Where the instance events come from

This page is generated from the table in events_table_test.go by ` + "`make docs`" + `; a test fails when it is out of date, when a trigger
or a variant of an event has no row, and when a row's webhook does not arrive.

A trigger is an event of the client library, or a step of the program itself. Rows of TestEveryTrigger are provoked
by a simulated phone or the sandbox's network, travel through the unchanged client library, and are looked at when the webhook
arrives over HTTP: its fields, and its whole shape against the JSON Schema of its event. A gate is the setting without which
the event does not exist, because it is about a stored record.
`

const eventsOutro = `
## Events of the library that are deliberately not told

| Event | Why |
|---|---|
| PairPasskeyRequest, PairPasskeyConfirmation, PairPasskeyError | steps of a pairing; its outcome is told by connection.update |
| QRScannedWithoutMultidevice | the same code can still be scanned by another phone; the status shows the reason |
| CallTransport, CallRelayLatency | measurements of a call's transport |
| MediaRetryError, MexNotificationData, NewsletterMessageMeta | parts of other events; the last is told along with its message |

An event type that this version does not know is counted, logged once, and dropped.
`

// instanceKinds lists the instance events of the catalogue, in order.
func instanceKinds() []event.Kind {
	var kinds []event.Kind
	for _, d := range event.Catalogue() {
		if d.Family == event.Instance {
			kinds = append(kinds, d.Kind)
		}
	}
	return kinds
}

// triggerTable is every trigger of the catalogue. The order matters where a
// row uses what an earlier one made: the group, the message.
func triggerTable() []triggerRow {
	return slices.Concat(
		pairingRows(), messageRows(), callRows(), groupRows(), peopleRows(), syncRows(), newsletterRows(), statusRows(), connectionRows(),
	)
}

func pairingRows() []triggerRow {
	const connect = "/instance/$name/connect"
	scan := step{method: http.MethodPost, path: "/sandbox/scan", body: `{"phone":"$own","code":"$qr.code"}`}
	return []triggerRow{
		{
			kind: event.QRCodeUpdated, trigger: "QR channel", unpaired: true,
			steps: []step{api(http.MethodGet, connect, "").as("qr")},
			want:  `{"count":1,"code":"$qr.code","base64":"$qr.base64","expiresInSeconds":60,"expiresAt":"*"}`,
		},
		{
			kind: event.ConnectionUpdated, trigger: "PairError", typ: string(event.PairError), unpaired: true,
			before: []step{act("$own", `{"do":"pair-error"}`)},
			steps:  []step{scan.failing()},
			want:   `{"type":"pair.error","connection":"close","message":"*"}`,
		},
		{
			kind: event.ConnectionUpdated, trigger: "PairSuccess", typ: string(event.PairSuccess), unpaired: true,
			before: []step{api(http.MethodPost, connect, "").as("qr")},
			steps:  []step{scan},
			want:   `{"type":"pair.success","connection":"connecting"}`,
		},
		{
			kind: event.ConnectionUpdated, trigger: "Connected", typ: string(event.TypeConnected),
			steps: []step{act("$own", `{"do":"drop"}`)},
			want:  `{"type":"connected","connection":"open","lastConnection":"*"}`,
		},
		{
			kind: event.ConnectionUpdated, trigger: "ManualLoginReconnect", typ: string(event.TypeManualReconnect),
			steps: []step{act("$own", `{"do":"manual-reconnect"}`)},
			want:  `{"type":"manual.reconnect","connection":"connecting"}`,
		},
	}
}

func messageRows() []triggerRow {
	sent := api(http.MethodPost, "/instance/$name/send/text", `{"number":"$anne","textMessage":{"text":"good morning"}}`).as("sent")
	receipt := func(kind string) []step {
		return []step{act("$anne", `{"do":"receipt","to":"$own","type":"`+kind+`","ids":["$sent.keyId"]}`)}
	}
	var rows []triggerRow
	rows = append(rows,
		triggerRow{
			kind: event.SendMessage, trigger: "send route", steps: []step{sent},
			want: `{"id":"*","keyId":"*","keyRemoteJid":"$anne@s.whatsapp.net","keyLid":"$anneLID","keyFromMe":true,
				"keyParticipant":null,"messageType":"conversation","content":{"text":"good morning"},"isGroup":false}`,
		},
		triggerRow{
			kind: event.MessagesUpsert, trigger: "Message",
			steps: []step{act("$anne", `{"do":"text","to":"$own","text":"hello"}`).as("msg")},
			want: `{"id":"*","keyId":"$msg.id","keyRemoteJid":"$anne@s.whatsapp.net","keyLid":"$anneLID","keyFromMe":false,
				"keyParticipant":null,"pushName":"Anne","messageType":"conversation","content":{"text":"hello"},"isGroup":false}`,
		},
		triggerRow{
			kind: event.MessagesUpsert, trigger: "Message", note: "of the own phone",
			steps: []step{act("$own", `{"do":"text","to":"$anne","text":"from the phone"}`)},
			want: `{"keyRemoteJid":"$anne@s.whatsapp.net","keyLid":"$anneLID","keyFromMe":true,
				"messageType":"conversation","content":{"text":"from the phone"}}`,
		},
		triggerRow{
			kind: event.MessagesUpsert, trigger: "Message", note: "image",
			steps: []step{act("$anne", `{"do":"image","to":"$own","caption":"a loaf"}`)},
			want:  `{"messageType":"imageMessage","content":{"caption":"a loaf","mimetype":"image/jpeg","url":"*","mediaKey":"*"}}`,
		},
	)
	for _, status := range []struct{ wire, told string }{
		{"delivery", "delivered"}, {"sender", "sent"}, {"read", "read"}, {"played", "played"},
		{"server-error", "server_error"}, {"retry", "retry"}, {"unknown", "unknown"},
	} {
		rows = append(rows, triggerRow{
			kind: event.MessagesUpdate, trigger: "Receipt", typ: status.told, steps: receipt(status.wire),
			want: `{"messageId":$sent.id,"status":"` + status.told + `","dateTime":"*"}`,
		})
	}
	return append(rows,
		triggerRow{
			kind: event.MessagesUpsert, trigger: "FBMessage", byTest: "whatsapp: TestMessagesOfMessengerHaveTheShapeOfAnyOther",
			struct_: "only accounts of Messenger get them, whose encryption the sandbox does not speak",
		},
		triggerRow{
			kind: event.MessagesUndecryptable, trigger: "UndecryptableMessage", typ: "",
			steps: []step{act("$anne", `{"do":"undecryptable","to":"$own"}`)},
			want:  `{"keyId":"*","chatJid":"$anne@s.whatsapp.net","keyFromMe":false,"isUnavailable":false,"dateTime":"*"}`,
		},
		triggerRow{
			kind: event.MessagesUndecryptable, trigger: "UndecryptableMessage", note: "view once",
			steps: []step{act("$anne", `{"do":"undecryptable","to":"$own","kind":"view_once"}`)},
			want:  `{"isUnavailable":true,"unavailableType":"view_once"}`,
		},
	)
}

func callRows() []triggerRow {
	offered := func(status event.CallStatus, trigger, body, want string) triggerRow {
		return triggerRow{
			kind: event.CallUpsert, trigger: trigger, typ: string(status), steps: []step{act("$anne", body).as("call")},
			want: `{"chatId":"$anne@s.whatsapp.net","from":"$anne@s.whatsapp.net","callerPn":"$anne@s.whatsapp.net","id":"*","date":"*",
				"status":"` + string(status) + `","offline":false` + want + `}`,
		}
	}
	return []triggerRow{
		offered(event.CallOffer, "CallOffer", `{"do":"call-offer","to":"$own","video":true}`, `,"isVideo":true,"isGroup":false,"groupJid":null`),
		offered(event.CallRinging, "CallOfferNotice", `{"do":"call-offer","to":"$own","notice":true}`, ``),
		offered(event.CallPreAccept, "CallPreAccept", `{"do":"call-preaccept","to":"$own"}`, `,"isVideo":null`),
		offered(event.CallAccept, "CallAccept", `{"do":"call-accept","to":"$own"}`, ``),
		offered(event.CallReject, "CallReject", `{"do":"call-reject","to":"$own"}`, ``),
		offered(event.CallTerminate, "CallTerminate", `{"do":"call-terminate","to":"$own"}`, ``),
		offered(event.CallTimeout, "CallTerminate", `{"do":"call-terminate","to":"$own","reason":"timeout"}`, ``),
		offered(event.CallUnknown, "UnknownCallEvent", `{"do":"call-unknown","to":"$own"}`, ``),
	}
}

func groupRows() []triggerRow {
	created := act("$anne", `{"do":"group-create","subject":"Bakers","description":"Bread","participants":["$own","$bob"]}`).as("g")
	people := func(action string) triggerRow {
		return triggerRow{
			kind: event.GroupsParticipantsEvent, trigger: "GroupInfo", typ: action,
			steps: []step{act("$anne", `{"do":"group-participants","group":"$g.group","action":"`+action+`","participants":["$bob"]}`)},
			want: `{"id":"$g.group","author":"$anneLID","authorPn":"$anne@s.whatsapp.net","action":"` + action + `",
				"participants":[{"id":"$bob@s.whatsapp.net","lid":"$bobLID","isSuperAdmin":false}]}`,
		}
	}
	change := func(note, field, want string) triggerRow {
		return triggerRow{
			kind: event.GroupsUpdate, trigger: "GroupInfo", note: note,
			steps: []step{act("$anne", `{"do":"group-update","group":"$g.group",`+field+`}`)},
			want:  `[{"partial":{"id":"$g.group","author":"$anneLID","authorPn":"$anne@s.whatsapp.net",` + want + `}}]`,
		}
	}
	return []triggerRow{
		{
			kind: event.GroupsUpsert, trigger: "JoinedGroup", steps: []step{created},
			want: `[{"id":"$g.group","subject":"Bakers","participants":["*","*","*"],"desc":"Bread","addressingMode":"lid","owner":"$anneLID",
				"ownerPn":"$anne@s.whatsapp.net","creation":"*","announce":false,"restrict":false,"size":3}]`,
		},
		change("subject", `"subject":"Millers"`, `"subject":"Millers","subjectOwner":"$anneLID","subjectTime":"*"`),
		change("description", `"description":"Flour"`, `"desc":"Flour","descId":"*"`),
		change("announce", `"announce":true`, `"announce":true`),
		change("locked", `"locked":true`, `"restrict":true`),
		change("ephemeral", `"ephemeralSeconds":86400`, `"ephemeralDuration":86400`),
		change("ephemeral off", `"ephemeralSeconds":0`, `"ephemeralDuration":0`),
		change("member add mode", `"memberAddMode":"all_member_add"`, `"memberAddMode":true`),
		change("join approval", `"joinApproval":true`, `"joinApprovalMode":true`),
		people("promote"), people("demote"), people("remove"), people("add"),
		{
			kind: event.MessagesUpsert, trigger: "Message", note: "in a group",
			steps: []step{act("$anne", `{"do":"text","to":"$g.group","text":"hello all"}`)},
			want: `{"keyRemoteJid":"$g.group","keyLid":null,"keyFromMe":false,"keyParticipant":"$anne@s.whatsapp.net","keyParticipantLid":"$anneLID",
				"isGroup":true,"content":{"text":"hello all"}}`,
		},
	}
}

func peopleRows() []triggerRow {
	return []triggerRow{
		{
			kind: event.ContactsUpdate, trigger: "PushName", typ: string(event.SourcePushName),
			steps: []step{act("$anne", `{"do":"push-name","name":"Anne B","to":"$own"}`)},
			want:  `[{"id":"*","remoteJid":"$anne@s.whatsapp.net","lid":"$anneLID","pushName":"Anne B","action":"updated","source":"pushName"}]`,
		},
		{
			kind: event.ContactsUpdate, trigger: "BusinessName", typ: string(event.SourceBusinessName),
			steps: []step{act("$bob", `{"do":"business-name","name":"Bob's Mill","to":"$own"}`)},
			want:  `[{"id":"*","remoteJid":"$bob@s.whatsapp.net","businessName":"Bob's Mill","action":"updated","source":"businessName"}]`,
		},
		{
			kind: event.IdentityUpdate, trigger: "IdentityChange",
			steps: []step{act("$bob", `{"do":"identity-change","to":"$own"}`)},
			want:  `{"jid":"$bob@s.whatsapp.net","dateTime":"*","implicit":false}`,
		},
		{
			kind: event.PresenceUpdated, trigger: "Presence", typ: "",
			steps: []step{act("$anne", `{"do":"presence","to":"$own","online":false}`)},
			want:  `{"type":"presence","jid":"$anne@s.whatsapp.net","unavailable":true,"dateTime":"*","chatJid":"<absent>"}`,
		},
		{
			kind: event.PresenceUpdated, trigger: "ChatPresence",
			steps: []step{act("$anne", `{"do":"chat-presence","to":"$own","state":"composing"}`)},
			want:  `{"type":"<absent>","chatJid":"$anne@s.whatsapp.net","senderJid":"$anne@s.whatsapp.net","state":"composing","dateTime":"*"}`,
		},
		{
			kind: event.PresenceUpdated, trigger: "ChatPresence", note: "recording",
			steps: []step{act("$anne", `{"do":"chat-presence","to":"$own","state":"recording"}`)},
			want:  `{"state":"composing","media":"audio"}`,
		},
		{
			kind: event.ProfilePictureUpdate, trigger: "Picture",
			steps: []step{act("$anne", `{"do":"picture","to":"$own"}`)},
			want:  `{"jid":"$anne@s.whatsapp.net","remove":false,"pictureId":"*","isGroup":false,"dateTime":"*"}`,
		},
		{
			kind: event.ProfilePictureUpdate, trigger: "Picture", note: "own, stored first",
			steps: []step{act("$own", `{"do":"picture"}`)},
			want:  `{"jid":"$own@s.whatsapp.net","remove":false,"pictureId":"*","isGroup":false}`,
			then: func(t *testing.T, s *scene) {
				s.do(t, api(http.MethodGet, "/instance/$name", "").as("shown"))
				if url := s.vars["shown.profilePicUrl"]; !strings.HasPrefix(url, "https://") {
					t.Errorf("profilePicUrl is %q", url)
				}
			},
		},
		{
			kind: event.ProfilePictureUpdate, trigger: "Picture", note: "removed",
			steps: []step{act("$anne", `{"do":"picture","to":"$own","remove":true}`)},
			want:  `{"jid":"$anne@s.whatsapp.net","remove":true,"pictureId":"<absent>"}`,
		},
		{
			kind: event.UserAboutUpdate, trigger: "UserAbout",
			steps: []step{act("$anne", `{"do":"about","to":"$own","text":"baking"}`)},
			want:  `{"jid":"$anne@s.whatsapp.net","status":"baking","dateTime":"*"}`,
		},
		{
			kind: event.ChatsUpdated, trigger: "BlocklistChange", typ: string(event.ChatBlocklistChange),
			steps: []step{act("$own", `{"do":"blocklist","action":"block","target":"$bob"}`)},
			want:  `{"type":"blocklist.change","chatJid":"$bob@s.whatsapp.net","action":"block","dateTime":"*"}`,
		},
		{
			kind: event.ChatsUpdated, trigger: "Blocklist", typ: string(event.ChatBlocklist),
			steps: []step{act("$own", `{"do":"blocklist","action":"unblock","target":"$bob"}`)},
			want:  `{"type":"blocklist","dhash":"*","dateTime":"*"}`,
		},
		{
			kind: event.StatusInstance, trigger: "PrivacySettings", typ: string(event.StatusPrivacySettings),
			steps: []step{act("$own", `{"do":"privacy","name":"last","value":"none"}`)},
			want:  `{"type":"privacy.settings","data":{"lastSeen":"none","changed":["lastSeen"]}}`,
		},
	}
}

func newsletterRows() []triggerRow {
	row := func(trigger string, kind event.NewsletterType, body, want string) triggerRow {
		return triggerRow{
			kind: event.NewsLetter, trigger: trigger, typ: string(kind), steps: []step{act("$own", body).as("n")},
			want: `{"type":"` + string(kind) + `","newsletterJid":"$n.newsletter","dateTime":"*"` + want + `}`,
		}
	}
	return []triggerRow{
		row("NewsletterJoin", event.NewsletterJoin, `{"do":"newsletter-join","name":"Bread"}`, `,"name":"Bread"`),
		row("NewsletterMuteChange", event.NewsletterMuteChange, `{"do":"newsletter-mute","newsletter":"$n.newsletter","muted":true}`, `,"muted":true`),
		row("NewsletterLiveUpdate", event.NewsletterLiveUpdate, `{"do":"newsletter-live-update","newsletter":"$n.newsletter"}`, `,"messages":"*"`),
		{
			kind: event.NewsLetter, trigger: "NewsletterMessageMeta", typ: string(event.NewsletterMessageMeta),
			steps: []step{act("$own", `{"do":"newsletter-message","newsletter":"$n.newsletter","text":"corrected","id":"NEWS1"}`)},
			want:  `{"type":"message.meta","newsletterJid":"$n.newsletter","dateTime":"*","messageId":"NEWS1","editedAt":"*","originalAt":"*"}`,
		},
		{
			kind: event.MessagesUpsert, trigger: "Message", note: "of a channel",
			steps: []step{act("$own", `{"do":"newsletter-message","newsletter":"$n.newsletter","text":"news"}`)},
			want:  `{"keyRemoteJid":"$n.newsletter","keyFromMe":false,"messageType":"conversation","content":{"text":"news"},"isGroup":false}`,
		},
		row("NewsletterLeave", event.NewsletterLeave, `{"do":"newsletter-leave","newsletter":"$n.newsletter"}`, ``),
	}
}

func syncRows() []triggerRow {
	chat := func(trigger string, kind event.ChatUpdateType, body, want string) triggerRow {
		return triggerRow{
			kind: event.ChatsUpdated, trigger: trigger, typ: string(kind), steps: []step{act("$own", body)},
			want: `{"type":"` + string(kind) + `","dateTime":"*","fromFullSync":false` + want + `}`,
		}
	}
	const anne = `,"chatJid":"$anne@s.whatsapp.net"`
	return []triggerRow{
		{
			kind: event.StatusInstance, trigger: "AppStateSyncComplete", typ: string(event.StatusAppStateSyncCompleted),
			steps: []step{act("$own", `{"do":"app-state-keys"}`)},
			want:  `{"type":"app.state.sync.completed","status":"completed","data":{"name":"*","version":"*"}}`,
		},
		{
			kind: event.ContactsUpsert, trigger: "Contact",
			steps: []step{act("$own", `{"do":"contact","to":"$anne","fullName":"Anne Baker","firstName":"Anne"}`)},
			want:  `{"id":"*","remoteJid":"$anne@s.whatsapp.net","lid":"$anneLID","pushName":"*","profilePicUrl":null,"action":"upserted"}`,
		},
		chat("Archive", event.ChatArchive, `{"do":"archive","chat":"$anne","archived":true}`, anne+`,"archived":true`),
		chat("Pin", event.ChatPin, `{"do":"pin","chat":"$anne","pinned":true}`, anne+`,"pinned":true`),
		chat("Mute", event.ChatMute, `{"do":"mute","chat":"$anne","muted":true}`, anne+`,"muted":true`),
		chat("MarkChatAsRead", event.ChatMarkRead, `{"do":"mark-read","chat":"$anne","read":true}`, anne+`,"read":true`),
		chat("ClearChat", event.ChatClear, `{"do":"clear-chat","chat":"$anne"}`, anne),
		chat("UnarchiveChatsSetting", event.ChatUnarchiveSetting, `{"do":"unarchive-setting","unarchive":true}`, `,"chatJid":"<absent>","unarchiveChats":true`),
		{
			kind: event.ChatsDelete, trigger: "DeleteChat", steps: []step{act("$own", `{"do":"delete-chat","chat":"$anne"}`)},
			want: `{"chatJid":"$anne@s.whatsapp.net","dateTime":"*"}`,
		},
		{
			kind: event.MessagesStar, trigger: "Star",
			steps: []step{act("$own", `{"do":"star","chat":"$anne","id":"$msg.id","starred":true}`)},
			want:  `{"chatJid":"$anne@s.whatsapp.net","keyFromMe":false,"messageId":"$msg.id","starred":true,"fromFullSync":false,"dateTime":"*"}`,
		},
		{
			kind: event.MessagesDelete, trigger: "DeleteForMe",
			steps: []step{act("$own", `{"do":"delete-for-me","chat":"$anne","id":"$msg.id"}`)},
			want:  `{"id":"*","chatJid":"$anne@s.whatsapp.net","keyFromMe":false,"messageId":"$msg.id","deleteMedia":"*","fromFullSync":false,"dateTime":"*"}`,
		},
		{
			kind: event.LabelsEdit, trigger: "LabelEdit",
			steps: []step{act("$own", `{"do":"label-edit","label":"7","name":"late","color":3}`)},
			want:  `{"id":"7","name":"late","color":3}`,
		},
		{
			kind: event.LabelsAssociation, trigger: "LabelAssociationChat", typ: string(event.LabelOnChat),
			steps: []step{act("$own", `{"do":"label-chat","chat":"$anne","label":"7"}`)},
			want:  `{"type":"chat","chatJid":"$anne@s.whatsapp.net","labelId":"7","action":"add","dateTime":"*"}`,
		},
		{
			kind: event.LabelsAssociation, trigger: "LabelAssociationMessage", typ: string(event.LabelOnMessage),
			steps: []step{act("$own", `{"do":"label-message","chat":"$anne","id":"$msg.id","label":"7","labeled":false}`)},
			want:  `{"type":"message","chatJid":"$anne@s.whatsapp.net","messageId":"$msg.id","labelId":"7","action":"remove","dateTime":"*"}`,
		},
		{
			kind: event.SettingsUpdate, trigger: "PushNameSetting", typ: string(event.SettingPushName),
			steps: []step{act("$own", `{"do":"push-name-setting","name":"The Shop"}`)},
			want:  `{"type":"push.name","jid":"$own@s.whatsapp.net","name":"The Shop","fromFullSync":false,"dateTime":"*"}`,
		},
		{
			kind: event.SettingsUpdate, trigger: "UserStatusMute", typ: string(event.SettingUserStatusMute),
			steps: []step{act("$own", `{"do":"status-mute","to":"$anne","muted":true}`)},
			want:  `{"type":"user.status.mute","jid":"$anne@s.whatsapp.net","muted":true,"fromFullSync":false,"dateTime":"*"}`,
		},
		{
			kind: event.StatusInstance, trigger: "AppState", typ: string(event.StatusAppState),
			steps: []step{act("$own", `{"do":"archive","chat":"$bob","archived":false}`)},
			want:  `{"type":"app.state","data":{"index":["archive","*"],"value":"*"}}`,
		},
		{
			kind: event.StatusInstance, trigger: "AppStateSyncError", typ: string(event.StatusAppStateSyncError),
			steps: []step{act("$own", `{"do":"app-state-error"}`)},
			want:  `{"type":"app.state.sync.error","status":"error","message":"*","data":{"name":"*"}}`,
		},
		{
			kind: event.HistorySync, trigger: "HistorySync", typ: "history.sync",
			steps: []step{act("$own", `{"do":"history-sync","syncType":"RECENT","conversations":2,"messages":3,"progress":40}`)},
			want:  `{"type":"history.sync","dateTime":"*","data":{"syncType":"RECENT","progress":40,"conversations":2,"messages":6}}`,
		},
		{
			kind: event.MediaRetry, trigger: "MediaRetry",
			steps: []step{act("$own", `{"do":"media-retry","chat":"$anne","id":"$msg.id"}`)},
			want:  `{"messageId":"$msg.id","chatJid":"$anne@s.whatsapp.net","keyFromMe":false,"hasCiphertext":true,"dateTime":"*"}`,
		},
		{
			kind: event.MediaRetry, trigger: "MediaRetry", note: "refused",
			steps: []step{act("$own", `{"do":"media-retry","chat":"$anne","id":"$msg.id","error":2}`)},
			want:  `{"messageId":"$msg.id","hasCiphertext":false,"errorCode":2}`,
		},
	}
}

func statusRows() []triggerRow {
	return []triggerRow{
		{
			kind: event.StatusInstance, trigger: "OfflineSyncPreview", typ: string(event.StatusOfflineSyncPreview),
			steps: []step{act("$own", `{"do":"offline-preview"}`)},
			want:  `{"type":"offline.sync.preview","data":{"total":"*","messages":"*"}}`,
		},
		{
			kind: event.StatusInstance, trigger: "OfflineSyncCompleted", typ: string(event.StatusOfflineSyncCompleted),
			steps: []step{act("$own", `{"do":"offline-preview"}`)},
			want:  `{"type":"offline.sync.completed","status":"completed","data":{"count":"*"}}`,
		},
		{
			kind: event.StatusInstance, trigger: "NotifyAccountReachoutTimelock", typ: string(event.StatusAccountReachoutTimelock),
			steps: []step{act("$own", `{"do":"reachout-timelock","seconds":3600}`)},
			want:  `{"type":"account.reachout.timelock","status":"active","data":{"active":true,"until":"*"}}`,
		},
		{
			kind: event.StatusInstance, trigger: "TemporaryBan", typ: string(event.StatusTemporaryBan),
			steps: []step{act("$own", `{"do":"temp-ban","code":102,"expire":3600}`)},
			want:  `{"type":"temporary.ban","status":"temporary_ban","message":"*","data":{"code":102,"expireSeconds":3600,"until":"*"}}`,
		},
		{
			kind: event.StatusInstance, trigger: "ClientOutdated", typ: string(event.StatusClientOutdated),
			steps: []step{act("$own", `{"do":"client-outdated"}`)},
			want:  `{"type":"client.outdated","status":"client_outdated","message":"*"}`,
		},
	}
}

func connectionRows() []triggerRow {
	row := func(trigger string, kind event.ConnectionType, body, want string) triggerRow {
		return triggerRow{
			kind: event.ConnectionUpdated, trigger: trigger, typ: string(kind), steps: []step{act("$own", body)},
			want: `{"type":"` + string(kind) + `"` + want + `}`,
		}
	}
	return []triggerRow{
		row("Disconnected", event.TypeDisconnected, `{"do":"drop"}`, `,"connection":"close"`),
		row("StreamReplaced", event.TypeStreamReplaced, `{"do":"stream-replaced"}`, `,"connection":"replaced"`),
		row("StreamError", event.TypeStreamError, `{"do":"stream-error","code":599}`, `,"connection":"close","statusReason":599`),
		row("ConnectFailure", event.TypeConnectFailure, `{"do":"connect-failure","reason":409}`, `,"connection":"close","statusReason":409`),
		row("CATRefreshError", event.TypeCATRefreshError, `{"do":"cat-refresh-error"}`, `,"connection":"close","message":"*"`),
		row("KeepAliveTimeout", event.TypeKeepAliveLost, `{"do":"keepalive-timeout","seconds":3}`, `,"connection":"timeout"`),
		row("KeepAliveRestored", event.TypeKeepAliveBack, `{"do":"keepalive-timeout","seconds":3}`, `,"connection":"open"`),
		row("LoggedOut", event.TypeLoggedOut, `{"do":"logout"}`, `,"connection":"close"`),
	}
}
