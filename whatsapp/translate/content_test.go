package translate

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/reflect/protoreflect"

	"postern/event"
)

// contents is one message of each kind, as protobuf text. The golden file of
// that name under testdata/content is what a consumer gets.
func contents() map[string]string {
	const (
		key   = `{remoteJID: "100000000000002@lid" fromMe: false ID: "3EB0F00D"}`
		media = `URL: "https://mmg.whatsapp.net/x" mimetype: "a/b" fileSHA256: "\001\377" fileLength: 70000 mediaKey: "k" fileEncSHA256: "e" directPath: "/x"`
		quote = `contextInfo: {stanzaID: "3EB0F00D" participant: "100000000000002@lid" quotedMessage: {conversation: "before"} mentionedJID: "1@lid" isForwarded: true forwardingScore: 2}`
		text  = `conversation: "x"`
		poll  = `name: "When?" options: {optionName: "Monday"} options: {optionName: "Tuesday"} selectableOptionsCount: 1`
	)
	return map[string]string{
		"text":              `conversation: "two loaves, \"please\" <b> & ü"`,
		"extendedText":      `extendedTextMessage: {text: "https://example.com" matchedText: "https://example.com" title: "t" previewType: NONE ` + quote + `}`,
		"image":             `imageMessage: {` + media + ` caption: "bread" height: 7 width: 9 JPEGThumbnail: "j" ` + quote + `}`,
		"video":             `videoMessage: {` + media + ` seconds: 3 gifPlayback: true}`,
		"audio":             `audioMessage: {` + media + ` seconds: 3}`,
		"voice":             `audioMessage: {` + media + ` seconds: 3 PTT: true waveform: "\000\001"}`,
		"ptv":               `ptvMessage: {` + media + ` seconds: 3}`,
		"document":          `documentMessage: {` + media + ` fileName: "a.pdf" title: "a" pageCount: 2}`,
		"sticker":           `stickerMessage: {` + media + ` isAnimated: true}`,
		"stickerPack":       `stickerPackMessage: {stickerPackID: "p" name: "n" stickers: {fileName: "f" emojis: "👍"}}`,
		"contact":           `contactMessage: {displayName: "Ada" vcard: "BEGIN:VCARD\nEND:VCARD"}`,
		"contacts":          `contactsArrayMessage: {displayName: "2" contacts: {displayName: "Ada"} contacts: {displayName: "Bo"}}`,
		"location":          `locationMessage: {degreesLatitude: 52.5 degreesLongitude: -1.25 name: "n" address: "a"}`,
		"liveLocation":      `liveLocationMessage: {degreesLatitude: 52.5 degreesLongitude: 13 accuracyInMeters: 5 speedInMps: 1.5 sequenceNumber: 1}`,
		"reaction":          `reactionMessage: {key: ` + key + ` text: "👍" senderTimestampMS: 5}`,
		"reactionRemoved":   `reactionMessage: {key: ` + key + ` text: ""}`,
		"reactionSealed":    `encReactionMessage: {targetMessageKey: ` + key + ` encPayload: "p" encIV: "i"}`,
		"comment":           `commentMessage: {message: {conversation: "c"} targetMessageKey: ` + key + `}`,
		"commentSealed":     `encCommentMessage: {targetMessageKey: ` + key + ` encPayload: "p" encIV: "i"}`,
		"poll":              `pollCreationMessage: {` + poll + `} messageContextInfo: {messageSecret: "never reported"}`,
		"pollV2":            `pollCreationMessageV2: {` + poll + `}`,
		"pollV3":            `pollCreationMessageV3: {` + poll + `}`,
		"pollV4":            `pollCreationMessageV4: {message: {pollCreationMessageV3: {` + poll + `}}}`,
		"pollV5":            `pollCreationMessageV5: {` + poll + `}`,
		"pollV6":            `pollCreationMessageV6: {` + poll + ` endTime: 9}`,
		"pollVoteSealed":    `pollUpdateMessage: {pollCreationMessageKey: ` + key + ` vote: {encPayload: "p" encIV: "i"} senderTimestampMS: 5}`,
		"pollOption":        `pollAddOptionMessage: {pollCreationMessageKey: ` + key + ` addOption: {optionName: "Friday"}}`,
		"pollOptionImage":   `pollCreationOptionImageMessage: {message: {imageMessage: {caption: "Monday"}}}`,
		"pollResult":        `pollResultSnapshotMessage: {name: "When?" pollVotes: {optionName: "Monday" optionVoteCount: 2}}`,
		"buttons":           `buttonsMessage: {contentText: "?" buttons: {buttonID: "1" buttonText: {displayText: "yes"} type: RESPONSE} headerType: EMPTY}`,
		"buttonsReply":      `buttonsResponseMessage: {selectedButtonID: "1" selectedDisplayText: "yes" type: DISPLAY_TEXT ` + quote + `}`,
		"list":              `listMessage: {title: "t" buttonText: "b" listType: SINGLE_SELECT sections: {title: "s" rows: {title: "r" rowID: "1"}}}`,
		"listReply":         `listResponseMessage: {title: "r" listType: SINGLE_SELECT singleSelectReply: {selectedRowID: "1"}}`,
		"template":          `templateMessage: {templateID: "9" hydratedTemplate: {hydratedContentText: "c" hydratedButtons: {index: 0 quickReplyButton: {displayText: "d" ID: "1"}}}}`,
		"templateReply":     `templateButtonReplyMessage: {selectedID: "1" selectedDisplayText: "d" selectedIndex: 0}`,
		"highlyStructured":  `highlyStructuredMessage: {namespace: "n" elementName: "e" params: "p"}`,
		"interactive":       `interactiveMessage: {body: {text: "b"} nativeFlowMessage: {buttons: {name: "quick_reply" buttonParamsJSON: "{\"id\":1}"}}}`,
		"interactiveReply":  `interactiveResponseMessage: {body: {text: "b"} nativeFlowResponseMessage: {name: "flow" paramsJSON: "{}" version: 3}}`,
		"viewOnce":          `viewOnceMessage: {message: {imageMessage: {viewOnce: true}}}`,
		"viewOnceV2":        `viewOnceMessageV2: {message: {videoMessage: {viewOnce: true}}}`,
		"viewOnceVoice":     `viewOnceMessageV2Extension: {message: {audioMessage: {PTT: true viewOnce: true}}}`,
		"edit":              `editedMessage: {message: {protocolMessage: {type: MESSAGE_EDIT key: ` + key + ` editedMessage: {` + text + `} timestampMS: 5}}}`,
		"editBare":          `protocolMessage: {type: MESSAGE_EDIT key: ` + key + ` editedMessage: {ephemeralMessage: {message: {` + text + `}}}}`,
		"editEmpty":         `editedMessage: {message: {protocolMessage: {type: MESSAGE_EDIT key: ` + key + `}}}`,
		"editSealed":        `secretEncryptedMessage: {targetMessageKey: ` + key + ` encPayload: "p" encIV: "i" secretEncType: MESSAGE_EDIT}`,
		"revoke":            `protocolMessage: {type: REVOKE key: ` + key + `}`,
		"ephemeralSetting":  `protocolMessage: {type: EPHEMERAL_SETTING ephemeralExpiration: 86400}`,
		"album":             `albumMessage: {expectedImageCount: 2 expectedVideoCount: 0}`,
		"albumPart":         `imageMessage: {caption: "1"} messageContextInfo: {messageAssociation: {associationType: MEDIA_ALBUM parentMessageKey: ` + key + `}}`,
		"event":             `eventMessage: {name: "Market" startTime: 1777887000 location: {name: "square"} extraGuestsAllowed: true isCanceled: false}`,
		"eventCover":        `eventCoverImage: {message: {imageMessage: {caption: "c"}}}`,
		"eventAnswerSealed": `encEventResponseMessage: {eventCreationMessageKey: ` + key + ` encPayload: "p" encIV: "i"}`,
		"eventInvite":       `eventInviteMessage: {eventID: "3EB0F00D" eventTitle: "Market"}`,
		"pin":               `pinInChatMessage: {key: ` + key + ` type: PIN_FOR_ALL senderTimestampMS: 5}`,
		"keep":              `keepInChatMessage: {key: ` + key + ` keepType: KEEP_FOR_ALL timestampMS: 5}`,
		"groupInvite":       `groupInviteMessage: {groupJID: "120363000000000001@g.us" inviteCode: "c" inviteExpiration: 9 groupName: "Bakers"}`,
		"newsletterAdmin":   `newsletterAdminInviteMessage: {newsletterJID: "120363000000000007@newsletter" newsletterName: "Bread" inviteExpiration: 9}`,
		"newsletterInvite":  `newsletterFollowerInviteMessageV2: {newsletterJID: "120363000000000007@newsletter" newsletterName: "Bread"}`,
		"product":           `productMessage: {product: {productID: "1" title: "Rye" priceAmount1000: 4500 currencyCode: "EUR"} businessOwnerJID: "1@s.whatsapp.net"}`,
		"order":             `orderMessage: {orderID: "1" itemCount: 2 status: INQUIRY surface: CATALOG totalAmount1000: 9000 totalCurrencyCode: "EUR"}`,
		"invoice":           `invoiceMessage: {note: "n" token: "t" attachmentType: PDF}`,
		"paymentSent":       `sendPaymentMessage: {noteMessage: {` + text + `} requestMessageKey: ` + key + `}`,
		"paymentRequest":    `requestPaymentMessage: {noteMessage: {` + text + `} currencyCodeIso4217: "EUR" amount1000: 4500}`,
		"paymentDeclined":   `declinePaymentRequestMessage: {key: ` + key + `}`,
		"paymentCancelled":  `cancelPaymentRequestMessage: {key: ` + key + `}`,
		"paymentInvite":     `paymentInviteMessage: {serviceType: UPI expiryTimestamp: 9}`,
		"paymentReminder":   `paymentReminderMessage: {}`,
		"call":              `call: {callKey: "k"}`,
		"callLog":           `callLogMesssage: {isVideo: true callOutcome: MISSED durationSecs: 0 participants: {JID: "1@lid" callOutcome: MISSED}}`,
		"scheduledCall":     `scheduledCallCreationMessage: {scheduledTimestampMS: 9 callType: VIDEO title: "t"}`,
		"phoneNumberAsked":  `requestPhoneNumberMessage: {}`,
		"placeholder":       `placeholderMessage: {type: MASK_LINKED_DEVICES}`,
		"richResponse":      `richResponseMessage: {messageType: AI_RICH_RESPONSE_TYPE_STANDARD}`,
		"deviceSent":        `deviceSentMessage: {destinationJID: "1@lid" message: {` + text + `}}`,
		"ephemeral":         `deviceSentMessage: {message: {ephemeralMessage: {message: {extendedTextMessage: {text: "x" contextInfo: {expiration: 86400}}}}}}`,
		"captionedDocument": `documentWithCaptionMessage: {message: {documentMessage: {fileName: "a.pdf" caption: "c"}}}`,
		"groupMentioned":    `groupMentionedMessage: {message: {` + text + `}}`,
		"botInvoke":         `botInvokeMessage: {message: {` + text + `}}`,
		"lottieSticker":     `lottieStickerMessage: {message: {stickerMessage: {isLottie: true}}}`,
		"associatedChild":   `associatedChildMessage: {message: {imageMessage: {caption: "HD"} messageContextInfo: {messageAssociation: {associationType: HD_IMAGE_DUAL_UPLOAD parentMessageKey: ` + key + `}}}}`,
		"statusMention":     `statusMentionMessage: {message: {protocolMessage: {type: STATUS_MENTION_MESSAGE key: ` + key + `}}}`,
		"groupStatus":       `groupStatusMessageV2: {message: {` + text + `}}`,
		"spoiler":           `spoilerMessage: {message: {` + text + `}}`,
		"emptyWrapper":      `viewOnceMessage: {}`,
	}
}

func messageOfText(t *testing.T, source string) *waE2E.Message {
	t.Helper()
	var m waE2E.Message
	if err := prototext.Unmarshal([]byte(source), &m); err != nil {
		t.Fatal(err)
	}
	return &m
}

// fromAnne is a message in the chat with Anne, as in an event of the library.
func fromAnne(m *waE2E.Message) *events.Message {
	evt := &events.Message{RawMessage: m, Info: types.MessageInfo{
		MessageSource: types.MessageSource{Chat: anneLID, Sender: anneLID, SenderAlt: annePN},
		ID:            "3A0123456789ABCDEF01", PushName: "Anne", Timestamp: then,
	}}
	return evt.UnwrapRaw()
}

// reported is the payload of a message, checked against its schema.
func reported(t *testing.T, evt *events.Message) *event.Message {
	t.Helper()
	f, ok := testTranslator().Message(nil, evt)
	if !ok {
		t.Fatal("the message is not reported")
	}
	checkFact(t, f)
	return f.Data.(*event.Message)
}

// golden compares a payload with the file of that name.
func golden(t *testing.T, name string, m *event.Message) {
	t.Helper()
	body, err := event.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := json.Indent(&got, body, "", "  "); err != nil {
		t.Fatal(err)
	}
	got.WriteByte('\n')
	file := filepath.Join("testdata", "content", name+".json")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("differs from %s (-update rewrites it). Got:\n%s", file, got.Bytes())
	}
}

func TestTypeContentAndMetadataOfEachKind(t *testing.T) {
	for name, source := range contents() {
		t.Run(name, func(t *testing.T) { golden(t, name, reported(t, fromAnne(messageOfText(t, source)))) })
	}
	t.Run("unknown", func(t *testing.T) {
		m := &waE2E.Message{MessageContextInfo: &waE2E.MessageContextInfo{MessageSecret: []byte("never reported")}}
		m.ProtoReflect().SetUnknown([]byte{0xfa, 0x7f, 0x02, 'h', 'i', 0xd8, 0x7f, 0x01})
		golden(t, "unknown", reported(t, fromAnne(m)))
	})
}

func TestTheUnwrappingOfTheLibraryChangesNothing(t *testing.T) {
	for name, source := range contents() {
		evt := fromAnne(messageOfText(t, source))
		want := reported(t, evt)
		evt.RawMessage = nil // as in an event that was built by hand
		evt.Info.DeviceSentMeta = nil
		if got := reported(t, evt); got.MessageType != want.MessageType || !bytes.Equal(got.Content, want.Content) {
			t.Errorf("%s: %s %s, want %s %s", name, got.MessageType, got.Content, want.MessageType, want.Content)
		}
	}
}

// Every field of the schema is either content under its own name, a wrapper
// that is taken off, or never reported.
func TestEveryFieldOfTheSchemaIsDecided(t *testing.T) {
	decided := map[string][]string{}
	fields := contentFields((&waE2E.Message{}).ProtoReflect().Descriptor())
	for _, f := range fields {
		m := &waE2E.Message{}
		r := m.ProtoReflect()
		if f.Message() != nil {
			r.Set(f.FieldDescriptor, r.NewField(f.FieldDescriptor))
		} else {
			r.Set(f.FieldDescriptor, protoreflect.ValueOfString("x"))
		}
		kind, content, ok := normalise(m)
		switch {
		case f.rider && ok:
			t.Errorf("%s is reported as %s", f.name, kind)
		case !f.rider && (kind != f.name || !json.Valid(content)):
			t.Errorf("%s: %q %s", f.name, kind, content)
		case f.wrapper:
			decided["wrapper"] = append(decided["wrapper"], f.name)
			setWrapped(r, f.FieldDescriptor)
			if kind, _, _ := normalise(m); kind != "conversation" {
				t.Errorf("%s is not taken off: %s", f.name, kind)
			}
		case f.rider:
			decided["rider"] = append(decided["rider"], f.name)
		}
	}
	if n := len(decided["wrapper"]); n != 28 {
		t.Errorf("%d wrappers, look at the new ones: %s", n, strings.Join(slices.Sorted(slices.Values(decided["wrapper"])), " "))
	}
	if n := len(decided["rider"]); n != 5 {
		t.Errorf("%d riders: %v", n, decided["rider"])
	}
}

func setWrapped(r protoreflect.Message, f protoreflect.FieldDescriptor) {
	wrapper := r.Mutable(f).Message()
	inner := wrapper.Descriptor().Fields().ByName("message")
	wrapper.Set(inner, protoreflect.ValueOfMessage(text("x").ProtoReflect()))
}

func TestEveryGoldenFileHasACase(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "content", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Collect(maps.Keys(contents()))
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if !slices.Contains(names, name) && name != "unknown" && !strings.HasPrefix(name, "fb") {
			t.Errorf("%s belongs to no case", file)
		}
	}
}

// normalise returns the name and content of a message with wrappers.
func normalise(m *waE2E.Message) (name string, content json.RawMessage, ok bool) {
	name, w, ok := contentOf(unwrap(m).message)
	return name, w.buf, ok
}
