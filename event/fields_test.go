package event

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const groupMetadataFields = `notify:s addressingMode:s owner:s ownerPn:s ownerUsername:s ownerCountryCode:s
subjectOwner:s subjectOwnerPn:s subjectOwnerUsername:s subjectTime:n creation:n desc:s descOwner:s descOwnerPn:s
descOwnerUsername:s descId:s descTime:n linkedParent:s restrict:b announce:b memberAddMode:b joinApprovalMode:b
isCommunity:b isCommunityAnnounce:b size:n ephemeralDuration:n inviteCode:s author:s authorPn:s authorUsername:s`

// The fields as consumers integrate against them, written down a second time
// on purpose. After the name comes the type: s string, t time, n number,
// b boolean, o object, a array; ! is required, ? accepts null, and a lone +
// allows extra keys.
var contractFields = map[Kind]string{
	CallUpsert: `chatId:s! from:s! callerPn:s!? isGroup:b!? groupJid:s!? id:s! date:t! isVideo:b!? status:s! offline:b! latencyMs:n!?`,

	ChatsDelete:  `chatJid:s! dateTime:t! deleteMedia:b +`,
	ChatsUpdated: `type:s! dateTime:t! chatJid:s fromFullSync:b +`,

	ConnectionUpdated: `type:s! connection:s! statusReason:n lastConnection:t message:s passkey:o?`,

	ContactsUpdate: `id:n! remoteJid:s! lid:s!? pushName:s? businessName:s? action:s! source:s!`,
	ContactsUpsert: `id:n! remoteJid:s! lid:s!? pushName:s!? profilePicUrl:s!? action:s!`,

	GroupsParticipantsEvent: `id:s! author:s! authorPn:s participants:a! action:s!`,
	GroupsUpdate:            `id:s! subject:s ` + groupMetadataFields, // inside partial
	GroupsUpsert:            `id:s! subject:s! participants:a! ` + groupMetadataFields,

	HistorySync:    `type:s! dateTime:t! data:o`,
	IdentityUpdate: `jid:s! dateTime:t! implicit:b!`,

	LabelsAssociation: `type:s! chatJid:s! messageId:s labelId:s! action:s dateTime:t! +`,
	LabelsEdit:        `id:s! name:s color:n deleted:b +`,

	MediaRetry:            `messageId:s! chatJid:s! senderJid:s keyFromMe:b! hasCiphertext:b! errorCode:n dateTime:t!`,
	MessagesDelete:        `id:n chatJid:s! senderJid:s keyFromMe:b! messageId:s! deleteMedia:b! fromFullSync:b! dateTime:t! messageTime:t`,
	MessagesStar:          `chatJid:s! senderJid:s keyFromMe:b! messageId:s! starred:b! fromFullSync:b! dateTime:t!`,
	MessagesUndecryptable: `keyId:s! chatJid:s! senderJid:s keyFromMe:b! isUnavailable:b! unavailableType:s decryptFailMode:s dateTime:t!`,
	MessagesUpdate:        `messageId:n! status:s! dateTime:t!`,
	MessagesUpsert:        messageFields,
	SendMessage:           messageFields + ` instanceId:n externalAttributes:o`,

	NewsLetter:           `type:s! newsletterJid:s dateTime:t! +`,
	PresenceUpdated:      `type:s chatJid:s senderJid:s state:s media:s jid:s unavailable:b lastSeen:t dateTime:t! +`,
	ProfilePictureUpdate: `jid:s! author:s dateTime:t! remove:b! pictureId:s isGroup:b!`,
	QRCodeUpdated:        `count:n! code:s! base64:s! expiresInSeconds:n! expiresAt:t!`,
	SettingsUpdate:       `type:s! jid:s name:s muted:b fromFullSync:b! dateTime:t!`,
	StatusInstance:       `type:s! status:s message:s data:o +`,
	UserAboutUpdate:      `jid:s! status:s dateTime:t!`,
}

const messageFields = `id:n! keyId:s! keyRemoteJid:s!? keyLid:s!? keyFromMe:b! keyParticipant:s!? keyParticipantLid:s!?
pushName:s!? messageType:s! content:o! messageTimestamp:n! device:s!? isGroup:b! metadata:o!?`

func TestTheSchemasHaveTheFieldsOfTheContract(t *testing.T) {
	for _, d := range Catalogue() {
		if d.Family == Batch {
			continue
		}
		schema := dataSchema(d.Kind)
		if d.Kind == GroupsUpdate {
			schema = propertiesOf(schema)["partial"].(object)
		}
		if shapes, ok := schema["oneOf"].([]object); ok {
			schema = shapes[0]
		}
		got, want := describe(t, schema), strings.Fields(contractFields[d.Kind])
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n got %v\nwant %v", d.Kind, got, want)
		}
	}
}

// describe writes a schema in the notation of contractFields.
func describe(t *testing.T, schema object) []string {
	t.Helper()
	letters := map[any]string{"string": "s", "integer": "n", "boolean": "b", "object": "o", "array": "a"}
	var all []string
	for name, p := range propertiesOf(schema) {
		p := p.(object)
		kind, null := p["type"], ""
		if types, ok := kind.([]any); ok {
			kind, null = types[0], "?"
		}
		letter := letters[kind]
		if p["const"] != nil {
			letter = "s"
		}
		if p["format"] == "date-time" {
			letter = "t"
		}
		must := ""
		if slices.Contains(schema["required"].([]string), name) {
			must = "!"
		}
		all = append(all, name+":"+letter+must+null)
	}
	if schema["additionalProperties"] != false {
		all = append(all, "+")
	}
	slices.Sort(all)
	return all
}

// The values as the contract lists them, by the Go type that enumerates them.
var contractValues = map[string]string{
	"CallStatus":         "offer ringing preaccept timeout reject accept terminate unknown",
	"ChatUpdateType":     "blocklist blocklist.change archive unarchive.setting clear pin mute mark.read",
	"ConnectionType":     "pair.success connected disconnected logged.out stream.replaced keepalive.timeout keepalive.restored connect.failure manual.reconnect pair.error stream.error cat.refresh.error passkey",
	"Connection":         "connecting open close replaced timeout",
	"ContactSource":      "pushName businessName",
	"ParticipantAction":  "add remove promote demote",
	"PasskeyStep":        "required compare done",
	"GroupRole":          "admin superadmin",
	"LabelTarget":        "chat message",
	"LabelAction":        "add remove",
	"UnavailableType":    "view_once",
	"DecryptFailMode":    "hide",
	"AsyncStatus":        "sent failed",
	"UpdateStatus":       "delivered sent read played server_error retry unknown",
	"NewsletterType":     "join leave live.update message.meta mute.change",
	"SettingsType":       "push.name user.status.mute",
	"InstanceStatusType": "client.outdated temporary.ban offline.sync.preview offline.sync.completed privacy.settings app.state app.state.sync.completed app.state.sync.error account.reachout.timelock account.restricted",
	"WhenRestricted":     "known wait",
	"State":              "offline connecting qr_code pairing_code pairing online reconnecting disconnected connection_timeout logged_out session_missing stream_replaced keepalive_timeout client_outdated temporary_ban connection_error",
	"BatchStatus":        "QUEUED SCHEDULED PROCESSING WAITING_FOR_WINDOW PAUSE_REQUESTED PAUSED WAITING_FOR_INSTANCE STOP_REQUESTED STOPPED INTERRUPTED COMPLETED COMPLETED_WITH_ERRORS",
}

var enumerations = []enumerated{
	CallStatus(""), ChatUpdateType(""), ConnectionType(""), Connection(""), ContactSource(""), ParticipantAction(""),
	GroupRole(""), LabelTarget(""), LabelAction(""), UnavailableType(""), DecryptFailMode(""), AsyncStatus(""),
	UpdateStatus(""), NewsletterType(""), SettingsType(""), InstanceStatusType(""), State(""), BatchStatus(""),
	PasskeyStep(""), WhenRestricted(""),
}

func TestEveryEnumerationHasTheValuesOfTheContractAndAllItsConstants(t *testing.T) {
	constants := constantsByType(t)
	for _, e := range enumerations {
		name := reflect.TypeOf(e).Name()
		got, want := slices.Sorted(slices.Values(e.values())), strings.Fields(contractValues[name])
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n got %v\nwant %v", name, got, want)
		}
		declared := slices.DeleteFunc(constants[name], func(v string) bool { return v == string(BatchDraft) })
		slices.Sort(declared)
		if !slices.Equal(got, declared) {
			t.Errorf("%s: constants %v, values %v", name, declared, got)
		}
		delete(constants, name)
	}
	// The last ones are words of requests, of deliveries and of records, not of payloads.
	for _, other := range []string{"Kind", "Flag", "Gate", "MediaKind", "Presence", "Target", "Order", "Network"} {
		delete(constants, other)
	}
	if len(constants) > 0 {
		t.Errorf("types with constants that this test does not know: %v", slices.Sorted(maps.Keys(constants)))
	}
}

// constantsByType reads the typed string constants of the package's source.
func constantsByType(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	//nolint:staticcheck // one folder without build tags is all that is to be read
	packages, err := parser.ParseDir(token.NewFileSet(), ".", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(packages["event"], func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		typeName, ok := spec.Type.(*ast.Ident)
		if !ok {
			return true
		}
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
			v, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			all[typeName.Name] = append(all[typeName.Name], v)
		}
		return true
	})
	return all
}

func TestNoPayloadFieldIsForgottenByTheSchema(t *testing.T) {
	for kind, p := range payloads {
		if d, ok := Lookup(kind); !ok || d.Family != Instance {
			t.Errorf("%s is not an instance event", kind)
		}
		if got := names(p); len(got) != len(propertiesOf(schemaOf(p))) {
			t.Errorf("%s: fields %v", kind, got)
		}
	}
	if len(payloads) != 27 {
		t.Errorf("%d payload types", len(payloads))
	}
}
