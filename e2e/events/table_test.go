package events

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"postern/e2e/rig"
	"postern/event"
)

// triggerRow is one trigger of the catalogue and how it is brought about.
type triggerRow struct {
	kind    event.Kind
	trigger string // the library's event, or the program's own step
	typ     string // the value that tells variants of the event apart, "" when there is one
	note    string // tells rows of one trigger and type apart

	unpaired bool                         // the instance need not be online
	before   []rig.Step                   // what makes the scene ready
	steps    []rig.Step                   // what provokes the trigger
	want     string                       // JSON; what data holds at least
	then     func(*testing.T, *rig.Scene) // looks at what else must be true now
}

func (r triggerRow) name() string {
	parts := []string{r.trigger}
	for _, p := range []string{r.typ, r.note} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	if r.trigger == "GroupInfo" { // two events have it
		parts = append(parts, strings.TrimPrefix(string(r.kind), "groups."))
	}
	return strings.Join(parts, " ")
}

func (r triggerRow) seenBy() string {
	return "TestEveryTrigger/" + strings.ReplaceAll(r.name(), " ", "_")
}

// variantKey returns the field whose values are the variants of an event.
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

This page is generated from the table in e2e/events by ` + "`make docs`" + `; a test fails when it is out of date, when a trigger
or a variant of an event has no row, and when a row's webhook does not arrive.

A trigger is an event of the client library, or a step of the program itself. Rows of TestEveryTrigger are provoked
by a simulated phone or the sandbox's network, travel through the unchanged client library, and are looked at when the webhook
arrives over HTTP: its fields, and its whole shape against the JSON Schema of its event. A gate is the setting without which
the event does not exist, because it is about a stored record.
`

const eventsOutro = `
## Events of the library that are deliberately not reported

| Event | Why | Seen by |
|---|---|---|
| QRScannedWithoutMultidevice | the pairing ends with the state connection_error; the status shows the reason | TestUnreportedEventsSendNoWebhook |
| PairPasskeyError | what the pairing comes to is reported by connection.update; the status shows the reason | TestPasskeyFailureIsAReasonWithoutWebhook |
| CallTransport, CallRelayLatency | measurements of a call's transport | TestUnreportedEventsSendNoWebhook |
| MediaRetryError, MexNotificationData, NewsletterMessageMeta | parts of other events; the last is reported along with its message | TestEveryTrigger |

## What cannot be provoked from the wire

Of the triggers, nothing: each one above was brought about by what the network sent. Three are brought about in a way that
needs a word:

- HistorySync: the client library is configured not to read histories, for it would hold them in memory whole. The notice of the
  phone is taken from the message that carries it, and the history is read in parts.
- CATRefreshError: a login refused with 413 or 414 makes the library ask for a token of Messenger, which there is none of here.
- AppStateSyncError: a change that the phone signed wrongly.

PairPasskeyError, which is not reported, is handed over by the test: the library makes it of answers that the sandbox does not give.

An event type that this version does not know is counted (` + "`" + `postern_whatsapp_unknown_events_total` + "`" + `), logged once, and dropped.
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

// triggerTable returns every trigger of the catalogue. The order matters where a
// row uses what an earlier one made: the group, the message.
func triggerTable() []triggerRow {
	return slices.Concat(
		pairingRows(), messageRows(), kindRows(), callRows(), groupRows(), peopleRows(), syncRows(), newsletterRows(), statusRows(), connectionRows(),
	)
}

func pairingRows() []triggerRow {
	const connect = "/instance/$name/connect"
	scan := rig.Step{Method: http.MethodPost, Path: "/sandbox/scan", Body: `{"phone":"$own","code":"$qr.code"}`}
	return []triggerRow{
		{
			kind: event.QRCodeUpdated, trigger: "QR channel", unpaired: true,
			steps: []rig.Step{rig.Route(http.MethodGet, connect, "").As("qr")},
			want:  `{"count":1,"code":"$qr.code","base64":"$qr.base64","expiresInSeconds":60,"expiresAt":"*"}`,
		},
		{
			kind: event.ConnectionUpdated, trigger: "PairError", typ: string(event.PairError), unpaired: true,
			before: []rig.Step{rig.Act("$own", `{"do":"pair-error"}`)},
			steps:  []rig.Step{scan.Failing()},
			want:   `{"type":"pair.error","connection":"close","message":"*"}`,
		},
		{
			kind: event.ConnectionUpdated, trigger: "PairSuccess", typ: string(event.PairSuccess), unpaired: true,
			before: []rig.Step{rig.Route(http.MethodPost, connect, "").As("qr")},
			steps:  []rig.Step{scan},
			want:   `{"type":"pair.success","connection":"connecting"}`,
		},
		{
			kind: event.ConnectionUpdated, trigger: "Connected", typ: string(event.TypeConnected),
			steps: []rig.Step{rig.Act("$own", `{"do":"drop"}`)},
			want:  `{"type":"connected","connection":"open","lastConnection":"*"}`,
		},
		{
			kind: event.ConnectionUpdated, trigger: "ManualLoginReconnect", typ: string(event.TypeManualReconnect),
			steps: []rig.Step{rig.Act("$own", `{"do":"manual-reconnect"}`)},
			want:  `{"type":"manual.reconnect","connection":"connecting"}`,
		},
		{
			kind: event.ConnectionUpdated, trigger: "PairPasskeyRequest", typ: string(event.TypePasskey), unpaired: true,
			before: []rig.Step{
				rig.Route(http.MethodDelete, "/instance/$name/logout", ""), rig.Act("$own", `{"do":"passkey"}`),
				rig.Route(http.MethodPost, connect, "").As("qr"),
			},
			steps: []rig.Step{scan},
			want:  `{"type":"passkey","connection":"connecting","passkey":{"step":"required","code":null}}`,
		},
		{
			kind: event.ConnectionUpdated, trigger: "PairPasskeyConfirmation", typ: string(event.TypePasskey), unpaired: true,
			steps: []rig.Step{
				rig.Route(http.MethodPost, connect+"/passkey/challenge", "").As("ask"),
				rig.Act("$own", `{"do":"passkey-assert","challenge":"$ask.publicKey.challenge"}`).As("signed"),
				rig.Route(http.MethodPost, connect+"/passkey/assertion", "$signed.*"),
			},
			want: `{"type":"passkey","connection":"connecting","passkey":{"step":"done","code":null}}`,
			then: func(t *testing.T, s *rig.Scene) {
				s.AwaitEvent(t, 0, event.ConnectionUpdated, `{"type":"passkey","connection":"connecting","passkey":null}`)
				s.Do(t, rig.Act("$own", `{"do":"passkey","remove":true}`))
			},
		},
	}
}

func messageRows() []triggerRow {
	sent := rig.Route(http.MethodPost, "/instance/$name/send/text", `{"number":"$anne","textMessage":{"text":"good morning"}}`).As("sent")
	receipt := func(kind string) []rig.Step {
		return []rig.Step{rig.Act("$anne", `{"do":"receipt","to":"$own","type":"`+kind+`","ids":["$sent.keyId"]}`)}
	}
	var rows []triggerRow
	rows = append(rows,
		triggerRow{
			kind: event.SendMessage, trigger: "send route", steps: []rig.Step{sent},
			want: `{"id":"*","keyId":"*","keyRemoteJid":"$anne@s.whatsapp.net","keyLid":"$anneLID","keyFromMe":true,
				"keyParticipant":null,"messageType":"conversation","content":{"text":"good morning"},"isGroup":false}`,
		},
		triggerRow{
			kind: event.MessagesUpsert, trigger: "Message",
			steps: []rig.Step{rig.Act("$anne", `{"do":"text","to":"$own","text":"hello"}`).As("msg")},
			want: `{"id":"*","keyId":"$msg.id","keyRemoteJid":"$anne@s.whatsapp.net","keyLid":"$anneLID","keyFromMe":false,
				"keyParticipant":null,"pushName":"Anne","messageType":"conversation","content":{"text":"hello"},"isGroup":false}`,
		},
		triggerRow{
			kind: event.MessagesUpsert, trigger: "Message", note: "of the own phone",
			steps: []rig.Step{rig.Act("$own", `{"do":"text","to":"$anne","text":"from the phone"}`)},
			want: `{"keyRemoteJid":"$anne@s.whatsapp.net","keyLid":"$anneLID","keyFromMe":true,
				"messageType":"conversation","content":{"text":"from the phone"}}`,
		},
		triggerRow{
			kind: event.MessagesUpsert, trigger: "Message", note: "image",
			steps: []rig.Step{rig.Act("$anne", `{"do":"image","to":"$own","caption":"a loaf"}`)},
			want:  `{"messageType":"imageMessage","content":{"caption":"a loaf","mimetype":"image/jpeg","url":"*","mediaKey":"*"}}`,
		},
	)
	for _, status := range []struct{ wire, reported string }{
		{"delivery", "delivered"},
		{"sender", "sent"},
		{"read", "read"},
		{"played", "played"},
		{"server-error", "server_error"},
		{"retry", "retry"},
		{"unknown", "unknown"},
	} {
		rows = append(rows, triggerRow{
			kind: event.MessagesUpdate, trigger: "Receipt", typ: status.reported, steps: receipt(status.wire),
			want: `{"messageId":$sent.id,"status":"` + status.reported + `","dateTime":"*"}`,
		})
	}
	return append(rows,
		triggerRow{
			kind: event.MessagesUpsert, trigger: "FBMessage",
			steps: []rig.Step{rig.Act("$anne", `{"do":"fb-message","to":"$own","text":"from Messenger"}`).As("fb")},
			want: `{"keyId":"$fb.id","keyRemoteJid":"$anne@s.whatsapp.net","keyLid":"$anneLID","keyFromMe":false,
				"messageType":"conversation","content":{"text":"from Messenger"}}`,
		},
		triggerRow{
			kind: event.MessagesUndecryptable, trigger: "UndecryptableMessage", typ: "",
			steps: []rig.Step{rig.Act("$anne", `{"do":"undecryptable","to":"$own"}`)},
			want:  `{"keyId":"*","chatJid":"$anne@s.whatsapp.net","keyFromMe":false,"isUnavailable":false,"dateTime":"*"}`,
		},
		triggerRow{
			kind: event.MessagesUndecryptable, trigger: "UndecryptableMessage", note: "view once",
			steps: []rig.Step{rig.Act("$anne", `{"do":"undecryptable","to":"$own","kind":"view_once"}`)},
			want:  `{"isUnavailable":true,"unavailableType":"view_once"}`,
		},
	)
}

func callRows() []triggerRow {
	offered := func(status event.CallStatus, trigger, body, want string) triggerRow {
		return triggerRow{
			kind: event.CallUpsert, trigger: trigger, typ: string(status), steps: []rig.Step{rig.Act("$anne", body).As("call")},
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
	created := rig.Act("$anne", `{"do":"group-create","subject":"Bakers","description":"Bread","participants":["$own","$bob"]}`).As("g")
	people := func(action string) triggerRow {
		return triggerRow{
			kind: event.GroupsParticipantsEvent, trigger: "GroupInfo", typ: action,
			steps: []rig.Step{rig.Act("$anne", `{"do":"group-participants","group":"$g.group","action":"`+action+`","participants":["$bob"]}`)},
			want: `{"id":"$g.group","author":"$anneLID","authorPn":"$anne@s.whatsapp.net","action":"` + action + `",
				"participants":[{"id":"$bob@s.whatsapp.net","lid":"$bobLID","isSuperAdmin":false}]}`,
		}
	}
	change := func(note, field, want string) triggerRow {
		return triggerRow{
			kind: event.GroupsUpdate, trigger: "GroupInfo", note: note,
			steps: []rig.Step{rig.Act("$anne", `{"do":"group-update","group":"$g.group",`+field+`}`)},
			want:  `[{"partial":{"id":"$g.group","author":"$anneLID","authorPn":"$anne@s.whatsapp.net",` + want + `}}]`,
		}
	}
	return []triggerRow{
		{
			kind: event.GroupsUpsert, trigger: "JoinedGroup", steps: []rig.Step{created},
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
		change("join approval off", `"joinApproval":false`, `"joinApprovalMode":false`),
		people("promote"), people("demote"), people("remove"), people("add"),
		{
			kind: event.MessagesUpsert, trigger: "Message", note: "in a group",
			steps: []rig.Step{rig.Act("$anne", `{"do":"text","to":"$g.group","text":"hello all"}`)},
			want: `{"keyRemoteJid":"$g.group","keyLid":null,"keyFromMe":false,"keyParticipant":"$anne@s.whatsapp.net","keyParticipantLid":"$anneLID",
				"isGroup":true,"content":{"text":"hello all"}}`,
		},
	}
}
