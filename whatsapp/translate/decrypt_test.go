package translate

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
	"go.mau.fi/whatsmeow/util/gcmutil"
	"go.mau.fi/whatsmeow/util/hkdfutil"
	"google.golang.org/protobuf/proto"

	"postern/event"
	"postern/store"
	"postern/whatsapp/device"
)

const targetID = "3EB0000000000000000001"

// secretOfTarget is the secret of Anne's message that the additions are for.
func secretOfTarget() []byte { return bytes.Repeat([]byte{7}, 32) }

// seal encrypts an addition by Anne to her own message, like a phone.
func seal(t *testing.T, purpose whatsmeow.MsgSecretType, bound bool, m proto.Message) (payload, iv []byte) {
	t.Helper()
	return sealFor(t, anneLID, purpose, bound, m)
}

// sealFor is seal with one of the two addresses of the target's author.
func sealFor(t *testing.T, author types.JID, purpose whatsmeow.MsgSecretType, bound bool, m proto.Message) (payload, iv []byte) {
	t.Helper()
	plain, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	key := hkdfutil.SHA256(secretOfTarget(), nil, []byte(targetID+author.String()+anneLID.String()+string(purpose)), 32)
	var bond []byte
	if bound {
		bond = []byte(targetID + "\x00" + anneLID.String())
	}
	iv = bytes.Repeat([]byte{9}, nonceLength)
	payload, err = gcmutil.Encrypt(key, iv, plain, bond)
	if err != nil {
		t.Fatal(err)
	}
	return payload, iv
}

func targetKey() *waCommon.MessageKey {
	return &waCommon.MessageKey{RemoteJID: new(anneLID.String()), FromMe: new(false), ID: new(targetID)}
}

// sealedCases are the additions, with the expected payload of each.
func sealedCases(t *testing.T) map[string]struct {
	m                       *waE2E.Message
	kind, content, metadata string
} {
	vote, voteIV := seal(t, whatsmeow.EncSecretPollVote, true, &waE2E.PollVoteMessage{SelectedOptions: [][]byte{{1, 2, 0xff}}})
	none, noneIV := seal(t, whatsmeow.EncSecretPollVote, true, &waE2E.PollVoteMessage{})
	answer, answerIV := seal(t, whatsmeow.EncSecretEventResponse, true, &waE2E.EventResponseMessage{
		Response: waE2E.EventResponseMessage_GOING.Enum(), ExtraGuestCount: new(int32(2)),
	})
	reaction, reactionIV := seal(t, whatsmeow.EncSecretReaction, false, &waE2E.ReactionMessage{Text: new("👍")})
	comment, commentIV := seal(t, whatsmeow.EncSecretComment, false, text("c"))
	edit, editIV := seal(t, whatsmeow.EncSecretMessageEdit, false, text("new"))
	envelope, envelopeIV := seal(t, whatsmeow.EncSecretMessageEdit, false, &waE2E.Message{ProtocolMessage: &waE2E.ProtocolMessage{
		Type: waE2E.ProtocolMessage_MESSAGE_EDIT.Enum(), Key: &waCommon.MessageKey{ID: new("INNER")}, EditedMessage: text("new"),
	}})
	key := `{"remoteJid":"100000000000002@lid","fromMe":false,"id":"` + targetID + `"}`
	edited := func(payload, iv []byte) *waE2E.Message {
		return &waE2E.Message{SecretEncryptedMessage: &waE2E.SecretEncryptedMessage{
			TargetMessageKey: targetKey(), EncPayload: payload, EncIV: iv, SecretEncType: waE2E.SecretEncryptedMessage_MESSAGE_EDIT.Enum(),
		}}
	}
	return map[string]struct {
		m                       *waE2E.Message
		kind, content, metadata string
	}{
		"vote": {&waE2E.Message{PollUpdateMessage: &waE2E.PollUpdateMessage{
			PollCreationMessageKey: targetKey(), Vote: &waE2E.PollEncValue{EncPayload: vote, EncIV: voteIV},
		}}, "pollUpdateMessage", "", `{"vote":{"selectedOptions":["AQL/"]}}`},
		"vote taken back": {&waE2E.Message{PollUpdateMessage: &waE2E.PollUpdateMessage{
			PollCreationMessageKey: targetKey(), Vote: &waE2E.PollEncValue{EncPayload: none, EncIV: noneIV},
		}}, "pollUpdateMessage", "", `{"vote":{}}`},
		"answer": {&waE2E.Message{EncEventResponseMessage: &waE2E.EncEventResponseMessage{
			EventCreationMessageKey: targetKey(), EncPayload: answer, EncIV: answerIV,
		}}, "encEventResponseMessage", "", `{"eventResponse":{"response":"GOING","extraGuestCount":2}}`},
		"reaction": {
			&waE2E.Message{EphemeralMessage: wrapped(&waE2E.Message{EncReactionMessage: &waE2E.EncReactionMessage{
				TargetMessageKey: targetKey(), EncPayload: reaction, EncIV: reactionIV,
			}})},
			"reactionMessage", `{"key":` + key + `,"text":"👍"}`, `{"wrappers":["ephemeralMessage","encReactionMessage"],"ephemeral":true}`,
		},
		"comment": {
			&waE2E.Message{EncCommentMessage: &waE2E.EncCommentMessage{TargetMessageKey: targetKey(), EncPayload: comment, EncIV: commentIV}},
			"commentMessage", `{"message":{"conversation":"c"},"targetMessageKey":` + key + `}`, `{"wrappers":["encCommentMessage"]}`,
		},
		"edit": {
			edited(edit, editIV),
			"conversation", `{"text":"new"}`, `{"wrappers":["secretEncryptedMessage"],"edited":true,"editOf":"` + targetID + `"}`,
		},
		"edit in its envelope": {
			edited(envelope, envelopeIV),
			"conversation", `{"text":"new"}`, `{"wrappers":["secretEncryptedMessage"],"edited":true,"editOf":"INNER"}`,
		},
	}
}

func TestAdditionsDecryptWithTheirMessageSecret(t *testing.T) {
	cli := paired(t)
	if err := cli.Store.MsgSecrets.PutMessageSecret(t.Context(), anneLID, anneLID, targetID, secretOfTarget()); err != nil {
		t.Fatal(err)
	}
	for name, tc := range sealedCases(t) {
		t.Run(name, func(t *testing.T) {
			m := translated(t, cli, fromAnne(tc.m))
			if m.MessageType != tc.kind || tc.content != "" && string(m.Content) != tc.content {
				t.Errorf("got %s %s, want %s %s", m.MessageType, m.Content, tc.kind, tc.content)
			}
			if diff := cmp.Diff(tc.metadata, string(m.Metadata)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEventResponseDecryptsForEitherAuthorAddress(t *testing.T) {
	cli := paired(t)
	if err := errors.Join(
		cli.Store.LIDs.PutLIDMapping(t.Context(), anneLID, annePN),
		cli.Store.MsgSecrets.PutMessageSecret(t.Context(), anneLID, anneLID, targetID, secretOfTarget()),
	); err != nil {
		t.Fatal(err)
	}
	for _, sealedFor := range []types.JID{anneLID, annePN} {
		payload, iv := sealFor(t, sealedFor, whatsmeow.EncSecretEventResponse, true, &waE2E.EventResponseMessage{
			Response: waE2E.EventResponseMessage_MAYBE.Enum(),
		})
		key := targetKey()
		key.RemoteJID = new(annePN.String()) // the secret is stored under the LID
		m := translated(t, cli, fromAnne(&waE2E.Message{EncEventResponseMessage: &waE2E.EncEventResponseMessage{
			EventCreationMessageKey: key, EncPayload: payload, EncIV: iv,
		}}))
		if got, want := string(m.Metadata), `{"eventResponse":{"response":"MAYBE"}}`; got != want {
			t.Errorf("sealed for %s: got %s, want %s", sealedFor, got, want)
		}
	}
}

func TestUndecryptableAdditionIsReportedUnchanged(t *testing.T) {
	cli := paired(t)
	if err := cli.Store.MsgSecrets.PutMessageSecret(t.Context(), anneLID, anneLID, targetID, secretOfTarget()); err != nil {
		t.Fatal(err)
	}
	for name, tc := range sealedCases(t) {
		for how, spoil := range map[string]func(*waE2E.Message){
			"nonce of a wrong length": func(m *waE2E.Message) { alterSealed(m, func(_, iv *[]byte) { *iv = []byte("short") }) },
			"no nonce":                func(m *waE2E.Message) { alterSealed(m, func(_, iv *[]byte) { *iv = nil }) },
			"payload of nothing":      func(m *waE2E.Message) { alterSealed(m, func(p, _ *[]byte) { *p = nil }) },
			"payload altered":         func(m *waE2E.Message) { alterSealed(m, func(p, _ *[]byte) { *p = append([]byte{1}, *p...) }) },
		} {
			t.Run(name+"/"+how, func(t *testing.T) {
				spoilt := proto.Clone(tc.m).(*waE2E.Message)
				spoil(spoilt)
				m := translated(t, cli, fromAnne(spoilt))
				want, content, _ := normalise(spoilt)
				if m.MessageType != want || !bytes.Equal(m.Content, content) || bytes.Contains(m.Metadata, []byte("ote\":")) {
					t.Errorf("got %s %s %s, want %s %s", m.MessageType, m.Content, m.Metadata, want, content)
				}
			})
		}
	}
	for name, m := range map[string]*waE2E.Message{
		"vote without anything":     {PollUpdateMessage: &waE2E.PollUpdateMessage{}},
		"answer without anything":   {EncEventResponseMessage: &waE2E.EncEventResponseMessage{}},
		"reaction without anything": {EncReactionMessage: &waE2E.EncReactionMessage{}},
		"comment without anything":  {EncCommentMessage: &waE2E.EncCommentMessage{}},
		"secret without anything":   {SecretEncryptedMessage: &waE2E.SecretEncryptedMessage{}},
		"secret of no known kind":   {SecretEncryptedMessage: &waE2E.SecretEncryptedMessage{EncIV: make([]byte, nonceLength)}},
		"answer to an unknown event": {EncEventResponseMessage: &waE2E.EncEventResponseMessage{
			EncIV: make([]byte, nonceLength), EventCreationMessageKey: &waCommon.MessageKey{RemoteJID: new("@@"), ID: new("?")},
		}},
	} {
		if got := translated(t, cli, fromAnne(m)); !json.Valid(got.Content) {
			t.Errorf("%s: %s", name, got.Content)
		}
	}
}

// paired returns a client with the store of a paired device.
func paired(t *testing.T) *whatsmeow.Client {
	t.Helper()
	st, err := store.Open(store.Options{NoSync: true, Path: filepath.Join(t.TempDir(), "postern.db"), Buckets: device.Buckets()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	devices, err := device.Open(st, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := devices.New(1)
	d.ID = &ownPN
	if err := d.Save(t.Context()); err != nil {
		t.Fatal(err)
	}
	return whatsmeow.NewClient(d, nil)
}

func translated(t *testing.T, cli *whatsmeow.Client, evt *events.Message) *event.Message {
	t.Helper()
	evt.Info.Chat, evt.Info.Sender = anneLID, types.JID{User: anneLID.User, Device: 4, Server: types.HiddenUserServer}
	f, ok := testTranslator().Message(cli, evt)
	if !ok {
		t.Fatal("the message is not reported")
	}
	checkFact(t, f)
	return f.Data.(*event.Message)
}

func alterSealed(m *waE2E.Message, alter func(payload, iv *[]byte)) {
	inner := unwrap(m).message
	if v := inner.PollUpdateMessage; v != nil {
		alter(&v.Vote.EncPayload, &v.Vote.EncIV)
	}
	if v := inner.EncEventResponseMessage; v != nil {
		alter(&v.EncPayload, &v.EncIV)
	}
	if v := inner.EncReactionMessage; v != nil {
		alter(&v.EncPayload, &v.EncIV)
	}
	if v := inner.EncCommentMessage; v != nil {
		alter(&v.EncPayload, &v.EncIV)
	}
	if v := inner.SecretEncryptedMessage; v != nil {
		alter(&v.EncPayload, &v.EncIV)
	}
}
