package translate

import (
	"maps"
	"slices"
	"testing"

	armadillo "go.mau.fi/whatsmeow/proto"
	"go.mau.fi/whatsmeow/proto/instamadilloAddMessage"
	"go.mau.fi/whatsmeow/proto/instamadilloDeleteMessage"
	"go.mau.fi/whatsmeow/proto/instamadilloSupplementMessage"
	"go.mau.fi/whatsmeow/proto/waArmadilloApplication"
	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waConsumerApplication"
	"go.mau.fi/whatsmeow/proto/waMultiDevice"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"postern/event"
)

func fbEvent(m armadillo.MessageApplicationSub) *events.FBMessage {
	return &events.FBMessage{Message: m, Info: types.MessageInfo{
		MessageSource: types.MessageSource{Chat: annePN, Sender: annePN},
		ID:            "7100000000000000001", Timestamp: then,
	}}
}

func consumer(t testing.TB, source string) *waConsumerApplication.ConsumerApplication {
	t.Helper()
	var m waConsumerApplication.ConsumerApplication
	if err := prototext.Unmarshal([]byte(source), &m); err != nil {
		t.Fatal(err)
	}
	return &m
}

// fbMessages is one message of each kind.
func fbMessages(t testing.TB) map[string]armadillo.MessageApplicationSub {
	const key = `key: {remoteJID: "1@msgr" fromMe: true ID: "71"}`
	return map[string]armadillo.MessageApplicationSub{
		"fbText":     consumer(t, `payload: {content: {messageText: {text: "x" mentionedJID: "1@msgr"}}}`),
		"fbImage":    consumer(t, `payload: {content: {imageMessage: {image: {payload: "p" version: 1} caption: {text: "c"}}}}`),
		"fbViewOnce": consumer(t, `payload: {content: {viewOnceMessage: {imageMessage: {caption: {text: "c"}}}}}`),
		"fbReaction": consumer(t, `payload: {content: {reactionMessage: {`+key+` text: "👍"}}}`),
		"fbEdit":     consumer(t, `payload: {content: {editMessage: {`+key+` message: {text: "new"} timestampMS: 5}}}`),
		"fbRevoke":   consumer(t, `payload: {applicationData: {revoke: {`+key+`}}}`),
		"fbArmadillo": &waArmadilloApplication.Armadillo{Payload: &waArmadilloApplication.Armadillo_Payload{
			Payload: &waArmadilloApplication.Armadillo_Payload_Content{Content: &waArmadilloApplication.Armadillo_Content{
				Content: &waArmadilloApplication.Armadillo_Content_BumpExistingMessage_{
					BumpExistingMessage: &waArmadilloApplication.Armadillo_Content_BumpExistingMessage{Key: &waCommon.MessageKey{ID: new("71")}},
				},
			}},
		}},
		"fbAdd":        &instamadilloAddMessage.AddMessagePayload{},
		"fbSupplement": &instamadilloSupplementMessage.SupplementMessagePayload{},
		"fbDelete":     &instamadilloDeleteMessage.DeleteMessagePayload{},
		"fbBusiness":   (*armadillo.Unsupported_BusinessApplication)(&waCommon.SubProtocol{Payload: []byte("p"), Version: new(int32(1))}),
		"fbPayment":    (*armadillo.Unsupported_PaymentApplication)(&waCommon.SubProtocol{Payload: []byte("p")}),
	}
}

func TestMessengerMessagesHaveTheUsualForm(t *testing.T) {
	cases := fbMessages(t)
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		t.Run(name, func(t *testing.T) {
			f, ok := testTranslator().Messenger(fbEvent(cases[name]))
			if !ok {
				t.Fatal("the message is not reported")
			}
			checkFact(t, f)
			golden(t, name, f.Data.(*event.Message))
		})
	}
}

func TestMessengerDeviceMessagesAreNotReported(t *testing.T) {
	peer := fbEvent(consumer(t, `payload: {content: {messageText: {text: "x"}}}`))
	peer.Info.Category = "peer"
	for name, evt := range map[string]*events.FBMessage{
		"nothing":          fbEvent(nil),
		"nil":              fbEvent((*waConsumerApplication.ConsumerApplication)(nil)),
		"nil armadillo":    fbEvent((*waArmadilloApplication.Armadillo)(nil)),
		"nil of Instagram": fbEvent((*instamadilloAddMessage.AddMessagePayload)(nil)),
		"nil business":     fbEvent((*armadillo.Unsupported_BusinessApplication)(nil)),
		"empty":            fbEvent(consumer(t, ``)),
		"empty content":    fbEvent(consumer(t, `payload: {content: {}}`)),
		"empty view once":  fbEvent(consumer(t, `payload: {signal: {}}`)),
		"keys":             fbEvent(&waMultiDevice.MultiDevice{}),
		"call":             fbEvent((*armadillo.Unsupported_Voip)(&waCommon.SubProtocol{})),
		"between devices":  peer,
	} {
		if f, ok := testTranslator().Messenger(evt); ok {
			t.Errorf("%s: reported %+v", name, f.Data)
		}
	}
}

// FuzzFBMessage takes any bytes as each kind of message of Messenger and Instagram.
func FuzzFBMessage(f *testing.F) {
	for _, m := range fbMessages(f) {
		known, ok := m.(proto.Message)
		if !ok {
			continue // of other programs: bytes that are passed on
		}
		b, err := proto.Marshal(known)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, []byte("\x03abc\x03\x01\x01\x04\xff\x00\"\\"))
	}
	f.Fuzz(func(t *testing.T, b, where []byte) {
		for _, m := range []armadillo.MessageApplicationSub{
			&waConsumerApplication.ConsumerApplication{}, &waArmadilloApplication.Armadillo{}, &instamadilloAddMessage.AddMessagePayload{},
			&instamadilloSupplementMessage.SupplementMessagePayload{}, &instamadilloDeleteMessage.DeleteMessagePayload{},
		} {
			if proto.Unmarshal(b, m.(proto.Message)) != nil {
				continue
			}
			evt, in := fbEvent(m), filler{raw: where}
			evt.Info.Chat, evt.Info.Sender, evt.Info.IsFromMe, evt.Info.ID, evt.Info.PushName = in.jid(), in.jid(), in.byte()&1 == 1, in.text(), in.text()
			if fact, ok := testTranslator().Messenger(evt); ok {
				checkFact(t, fact)
			}
		}
	})
}
