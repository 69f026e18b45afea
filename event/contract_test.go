package event

import (
	"slices"
	"strings"
	"testing"
)

// contract is the catalogue as consumers integrate against it and as it is in data
// files, repeated on purpose: a typing error in the catalogue must not pass. Numbers never
// change.
var contract = []struct {
	number byte
	kind   Kind
	flag   Flag
	gate   Gate
	about  string // "chat" if the event concerns a chat or person, "array" if data is one

	// fields are those of data; of partial in groups.update. After the name comes the
	// type: s string, t time, n number, b boolean, o object, a array; ! is required, ?
	// accepts null, and a lone + allows extra keys. The payload types of batch events
	// have tests of their own.
	fields string
}{
	{1, "call.upsert", "callUpsert", "", "chat", `chatId:s! from:s! callerPn:s!? isGroup:b!? groupJid:s!? id:s! date:t! isVideo:b!? status:s! offline:b! latencyMs:n!?`},
	{2, "chats.delete", "chatsDeleted", "", "chat", `chatJid:s! dateTime:t! deleteMedia:b +`},
	{3, "chats.updated", "chatsUpdated", "", "chat", `type:s! dateTime:t! chatJid:s fromFullSync:b +`},
	{4, "connection.update", "connectionUpdated", "", "", `type:s! connection:s! statusReason:n lastConnection:t message:s passkey:o?`},
	{5, "contacts.update", "contactsUpdated", "DATABASE_SAVE_DATA_CONTACTS", "chat array", `id:n! remoteJid:s! lid:s!? pushName:s? businessName:s? action:s! source:s!`},
	{6, "contacts.upsert", "contactsUpsert", "DATABASE_SAVE_DATA_CONTACTS", "chat", `id:n! remoteJid:s! lid:s!? pushName:s!? profilePicUrl:s!? action:s!`},
	{7, "groups.participants.update", "groupsParticipantsUpdated", "", "chat", `id:s! author:s! authorPn:s participants:a! action:s!`},
	{8, "groups.update", "groupsUpdated", "", "chat array", `id:s! subject:s ` + groupMetadataFields},
	{9, "groups.upsert", "groupsUpsert", "", "chat array", `id:s! subject:s! participants:a! ` + groupMetadataFields},
	{10, "history.sync", "historySync", "", "", `type:s! dateTime:t! data:o`},
	{11, "identity.update", "identityUpdated", "", "chat", `jid:s! dateTime:t! implicit:b!`},
	{12, "labels.association", "labelsAssociation", "", "chat", `type:s! chatJid:s! messageId:s labelId:s! action:s dateTime:t! +`},
	{13, "labels.edit", "labelsEdit", "", "", `id:s! name:s color:n deleted:b +`},
	{14, "media.retry", "mediaRetry", "", "chat", `messageId:s! chatJid:s! senderJid:s keyFromMe:b! hasCiphertext:b! errorCode:n dateTime:t!`},
	{15, "messages.delete", "messagesDeleted", "", "chat", `id:n chatJid:s! senderJid:s keyFromMe:b! messageId:s! deleteMedia:b! fromFullSync:b! dateTime:t! messageTime:t`},
	{16, "messages.star", "messagesStarred", "", "chat", `chatJid:s! senderJid:s keyFromMe:b! messageId:s! starred:b! fromFullSync:b! dateTime:t!`},
	{17, "messages.undecryptable", "messagesUndecryptable", "", "chat", `keyId:s! chatJid:s! senderJid:s keyFromMe:b! isUnavailable:b! unavailableType:s decryptFailMode:s dateTime:t!`},
	{18, "messages.update", "messagesUpdated", "DATABASE_SAVE_MESSAGE_UPDATE", "", `messageId:n! status:s! dateTime:t!`},
	{19, "messages.upsert", "messagesUpsert", "DATABASE_SAVE_DATA_NEW_MESSAGE", "chat", messageFields},
	{20, "news.letter", "newsLetter", "", "chat", `type:s! newsletterJid:s dateTime:t! +`},
	{21, "presence.updated", "presenceUpdated", "", "chat", `type:s chatJid:s senderJid:s state:s media:s jid:s unavailable:b lastSeen:t dateTime:t! +`},
	{22, "profile.picture.update", "profilePictureUpdated", "", "chat", `jid:s! author:s dateTime:t! remove:b! pictureId:s isGroup:b!`},
	{23, "qrcode.updated", "qrcodeUpdated", "", "", `count:n! code:s! base64:s! expiresInSeconds:n! expiresAt:t!`},
	{24, "send.message", "sendMessage", "", "chat", messageFields + ` instanceId:n externalAttributes:o`},
	{25, "settings.update", "settingsUpdated", "", "", `type:s! jid:s name:s muted:b fromFullSync:b! dateTime:t!`},
	{26, "status.instance", "statusInstance", "", "", `type:s! status:s message:s data:o +`},
	{27, "user.about.update", "userAboutUpdated", "", "chat", `jid:s! status:s dateTime:t!`},

	{number: 28, kind: "message.batch.created"},
	{number: 29, kind: "message.batch.scheduled"},
	{number: 30, kind: "message.batch.started"},
	{number: 31, kind: "message.batch.window-started"},
	{number: 32, kind: "message.batch.waiting-window"},
	{number: 33, kind: "message.batch.recovered"},
	{number: 34, kind: "message.batch.progress"},
	{number: 35, kind: "message.batch.pause-requested"},
	{number: 36, kind: "message.batch.paused"},
	{number: 37, kind: "message.batch.waiting-instance"},
	{number: 38, kind: "message.batch.resumed"},
	{number: 39, kind: "message.batch.stop-requested"},
	{number: 40, kind: "message.batch.stopped"},
	{number: 41, kind: "message.batch.interrupted"},
	{number: 42, kind: "message.batch.completed"},
	{number: 43, kind: "message.batch.completed-with-errors"},
	{number: 44, kind: "message.batch.item.failed"},
	{number: 45, kind: "message.batch.item.unknown"},
}

const groupMetadataFields = `notify:s addressingMode:s owner:s ownerPn:s ownerUsername:s ownerCountryCode:s
subjectOwner:s subjectOwnerPn:s subjectOwnerUsername:s subjectTime:n creation:n desc:s descOwner:s descOwnerPn:s
descOwnerUsername:s descId:s descTime:n linkedParent:s restrict:b announce:b memberAddMode:b joinApprovalMode:b
isCommunity:b isCommunityAnnounce:b size:n ephemeralDuration:n inviteCode:s author:s authorPn:s authorUsername:s`

const messageFields = `media:o id:n! keyId:s! keyRemoteJid:s!? keyLid:s!? keyFromMe:b! keyParticipant:s!? keyParticipantLid:s!?
pushName:s!? messageType:s! content:o! messageTimestamp:n! device:s!? isGroup:b! metadata:o!?`

func TestCatalogueMatchesContract(t *testing.T) {
	var order []Kind
	for _, c := range contract {
		order = append(order, c.kind)
		d, ok := Lookup(c.kind)
		family := Instance
		if strings.HasPrefix(string(c.kind), "message.batch.") {
			family = Batch
		}
		if !ok || d.Kind != c.kind || d.Number != c.number || d.Flag != c.flag || d.Gate != c.gate || d.Family != family || d.Array != strings.Contains(c.about, "array") {
			t.Errorf("%s is %+v, want %+v", c.kind, d, c)
		}
		if KnownFlag(d.Flag) != (d.Family == Instance) {
			t.Errorf("KnownFlag(%q) = %t", d.Flag, KnownFlag(d.Flag))
		}
	}
	var kinds []Kind
	for _, d := range Catalogue() {
		kinds = append(kinds, d.Kind)
		if !slices.Contains(order, d.Kind) {
			t.Errorf("%s is not in the contract: add a row to event/contract_test.go", d.Kind)
		}
	}
	if !slices.Equal(kinds, order) {
		t.Errorf("the catalogue has the order\n%v, the contract\n%v", kinds, order)
	}
}

func TestNumbersInTheFileAreUnique(t *testing.T) {
	seen := map[byte]Kind{0: "no event"}
	for _, d := range Catalogue() {
		if other, taken := seen[d.Number]; taken {
			t.Errorf("%s has the number %d of %s", d.Kind, d.Number, other)
		}
		seen[d.Number] = d.Kind
	}
}

func TestSchemasHaveTheFieldsOfTheContract(t *testing.T) {
	for _, c := range contract {
		d, _ := Lookup(c.kind)
		if d.Family == Batch {
			continue
		}
		schema := dataSchema(c.kind)
		if c.kind == GroupsUpdate {
			schema = propertiesOf(schema)["partial"].(object)
		}
		if shapes, ok := schema["oneOf"].([]object); ok {
			schema = shapes[0]
		}
		got, want := describe(t, schema), strings.Fields(c.fields)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n got %v\nwant %v", c.kind, got, want)
		}
		if declared := names(d.payload.data); len(declared) != len(propertiesOf(schemaOf(d.payload.data))) {
			t.Errorf("%s: the schema lacks some of the fields %v", c.kind, declared)
		}
	}
}

// describe writes a schema in the notation of the contract.
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
