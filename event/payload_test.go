package event

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

var at = time.Date(2026, 3, 4, 5, 6, 7, 89_999_999, time.FixedZone("x", 3600))

// Each case is the smallest and the fullest form of a payload, byte for byte:
// what is required is there, what may be null is null, what is optional is
// absent when empty.
func TestPayloadsHaveExactlyTheFieldsOfTheCatalogue(t *testing.T) {
	for name, c := range map[string]struct {
		data any
		want string
	}{
		"qrcode.updated": {
			QRCode{1, "2@x", "data:image/png;base64,AA==", 60, At(at)},
			`{"count":1,"code":"2@x","base64":"data:image/png;base64,AA==","expiresInSeconds":60,"expiresAt":"2026-03-04T04:06:07.089Z"}`,
		},
		"connection.update, least": {
			ConnectionUpdate{Type: TypeConnected, Connection: ConnectionOpen},
			`{"type":"connected","connection":"open"}`,
		},
		"connection.update, all": {
			ConnectionUpdate{TypeLoggedOut, ConnectionClose, 401, At(at), "gone", nil},
			`{"type":"logged.out","connection":"close","statusReason":401,"lastConnection":"2026-03-04T04:06:07.089Z","message":"gone"}`,
		},
		"connection.update, a passkey": {
			ConnectionUpdate{Type: TypePasskey, Connection: ConnectionConnecting, Passkey: &PasskeyState{Step: PasskeyRequired}},
			`{"type":"passkey","connection":"connecting","passkey":{"step":"required","code":null}}`,
		},
		"connection.update, a passkey that is over": {
			ConnectionUpdate{Type: TypePasskey, Connection: ConnectionClose, Passkey: &PasskeyState{}},
			`{"type":"passkey","connection":"close","passkey":null}`,
		},
		"messages.upsert, least": {
			Message{ID: 1, KeyID: "K", MessageType: "conversation", Content: json.RawMessage(`{"text":"<&>"}`), MessageTimestamp: 7},
			`{"id":1,"keyId":"K","keyRemoteJid":null,"keyLid":null,"keyFromMe":false,"keyParticipant":null,"keyParticipantLid":null,` +
				`"pushName":null,"messageType":"conversation","content":{"text":"<&>"},"messageTimestamp":7,"device":null,"isGroup":false,"metadata":null}`,
		},
		"send.message, all": {
			Message{
				1, "K", new("r"), new("l"), true, new("p"), new("pl"), new("n"), "conversation", json.RawMessage(`{}`), 7, new("web"), true,
				json.RawMessage(`{"a":1}`), 3, Attributes(`{"b":2}`), nil, true,
			},
			`{"id":1,"keyId":"K","keyRemoteJid":"r","keyLid":"l","keyFromMe":true,"keyParticipant":"p","keyParticipantLid":"pl",` +
				`"pushName":"n","messageType":"conversation","content":{},"messageTimestamp":7,"device":"web","isGroup":true,"metadata":{"a":1},` +
				`"instanceId":3,"externalAttributes":{"b":2}}`,
		},
		"messages.update": {
			MessageUpdate{5, StatusRead, At(at)},
			`{"messageId":5,"status":"read","dateTime":"2026-03-04T04:06:07.089Z"}`,
		},
		"message.batch.item.failed": {
			BatchItemData{"b", "i", "4915", BatchItemSender{2, "n"}, BatchItemError{SendMessageFailed, "why"}},
			`{"batchId":"b","itemId":"i","recipient":"4915","instance":{"id":2,"name":"n"},"error":{"code":"SEND_MESSAGE_FAILED","message":"why"}}`,
		},
		"batch, least": {
			BatchData{BatchView{ID: "b", Status: BatchQueued, CreatedAt: At(at), UpdatedAt: At(at), Message: BatchMessage{"text", json.RawMessage(`{"text":"x"}`)}, Instances: []BatchInstance{}}},
			`{"batch":{"id":"b","name":"","status":"QUEUED","progress":0,"counts":{"failed":0,"pending":0,"processed":0,"sending":0,"skipped":0,"success":0,"total":0,"unknown":0},` +
				`"createdAt":"2026-03-04T04:06:07.089Z","updatedAt":"2026-03-04T04:06:07.089Z","nextRunAt":null,"schedule":null,"autoResume":false,` +
				`"options":{"delay":{"minMs":0,"maxMs":0}},"message":{"type":"text","payload":{"text":"x"}},"ownerUserId":"","instances":[],` +
				`"interruptionReason":null,"lastInterruptedAt":null,"lastRecoveredAt":null}}`,
		},
		"reduced progress": {
			BatchProgressReduced{ID: "b", CurrentItem: &BatchItemRef{"i", "n", 3, "4915"}, Instances: []BatchInstanceReduced{{1, "n", Online, 2}}, CreatedAt: At(at), StartedAt: At(at), UpdatedAt: At(at), Status: BatchProcessing},
			`{"counts":{"failed":0,"pending":0,"processed":0,"sending":0,"skipped":0,"success":0,"total":0,"unknown":0},"createdAt":"2026-03-04T04:06:07.089Z",` +
				`"currentItem":{"id":"i","instanceName":"n","position":3,"recipient":"4915"},"id":"b","instances":[{"id":1,"name":"n","connectionStatus":"online","selectedCount":2}],` +
				`"name":"","progress":0,"startedAt":"2026-03-04T04:06:07.089Z","status":"PROCESSING","updatedAt":"2026-03-04T04:06:07.089Z"}`,
		},
		"reduced completed-with-errors": {
			BatchCompletedReduced{CompletedAt: At(at), ID: "b", Progress: 100, Status: BatchIsWithErrors, UpdatedAt: At(at)},
			`{"completedAt":"2026-03-04T04:06:07.089Z","counts":{"failed":0,"pending":0,"processed":0,"sending":0,"skipped":0,"success":0,"total":0,"unknown":0},` +
				`"id":"b","name":"","progress":100,"status":"COMPLETED_WITH_ERRORS","updatedAt":"2026-03-04T04:06:07.089Z"}`,
		},
	} {
		got, err := Marshal(c.data)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %v\n got %s\nwant %s", name, err, got, c.want)
		}
	}
}

func TestInstanceEnvelopeHasFourKeysAndNullOwner(t *testing.T) {
	got, err := MarshalInstance(ConnectionUpdated, Snapshot{ID: 7, Name: "n", ConnectionStatus: Online}, ConnectionUpdate{Type: TypeConnected, Connection: ConnectionOpen}, at)
	const want = `{"event":"connection.update","instance":{"id":7,"name":"n","connectionStatus":"online","ownerJid":null,"externalAttributes":{}},` +
		`"data":{"type":"connected","connection":"open"},"timestamp":"2026-03-04T04:06:07.089Z"}`
	if err != nil || string(got) != want {
		t.Errorf("%v\n got %s\nwant %s", err, got, want)
	}
}

func TestTheBatchEnvelopeHasNoInstance(t *testing.T) {
	got, err := MarshalBatch(BatchItemUnknown, map[string]int{"a": 1}, at)
	const want = `{"event":"message.batch.item.unknown","data":{"a":1},"timestamp":"2026-03-04T04:06:07.089Z"}`
	if err != nil || string(got) != want {
		t.Errorf("%v, %s", err, got)
	}
}

func TestAnEnvelopeIsRefusedForTheOtherFamily(t *testing.T) {
	if _, err := MarshalBatch(MessagesUpsert, 1, at); err == nil {
		t.Error("an instance event went into a batch envelope")
	}
	if _, err := MarshalInstance(BatchCreated, Snapshot{}, 1, at); err == nil {
		t.Error("a batch event went into an instance envelope")
	}
	if _, err := MarshalInstance("no.such", Snapshot{}, 1, at); err == nil {
		t.Error("an unknown event was accepted")
	}
}

func TestExternalAttributesAreAlwaysAnObject(t *testing.T) {
	for in, want := range map[string]string{
		"": "{}", "null": "{}", "[1]": "{}", `"x"`: "{}", "{bad": "{}", "7": "{}", ` {"a": 1} `: `{"a":1}`,
	} {
		got, err := json.Marshal(Attributes(in))
		if err != nil || string(got) != want {
			t.Errorf("%q: %s, %v", in, got, err)
		}
	}
}

func TestTimesRoundTripAndRejectOtherForms(t *testing.T) {
	var v Time
	if err := json.Unmarshal([]byte(`"2026-03-04T05:06:07.0899+01:00"`), &v); err != nil || v.String() != "2026-03-04T04:06:07.089Z" {
		t.Error(v, err)
	}
	for _, bad := range []string{`"2026-03-04"`, `7`, `""`, `{}`} {
		if err := json.Unmarshal([]byte(bad), &v); err == nil {
			t.Errorf("%s was read as %v", bad, v)
		}
	}
	if b, err := json.Marshal(Time{}); err != nil || string(b) != "null" {
		t.Error(string(b), err)
	}
	if AtPtr(time.Time{}) != nil || AtPtr(at) == nil {
		t.Error("AtPtr of a zero time must be nil")
	}
}

func TestRecipientsAreNormalisedAndTheRulesNamed(t *testing.T) {
	for in, want := range map[string]string{
		"+49 (151) 234-56.78": "491512345678@s.whatsapp.net", "4915123456@c.us": "4915123456@s.whatsapp.net",
		"4915123456@s.whatsapp.net": "4915123456@s.whatsapp.net", "123456789012345@lid": "123456789012345@lid",
		"120363-12345@g.us": "120363-12345@g.us", "1234567": "1234567@s.whatsapp.net", "123456789012345": "123456789012345@s.whatsapp.net",
	} {
		r, err := ParseRecipient(in)
		if err != nil || r.JID() != want || r.IsPhone() != strings.HasSuffix(want, UserServer) {
			t.Errorf("%q: %v, %v", in, r, err)
		}
	}
	for _, bad := range []string{"", "123456", "1234567890123456", "49151a2345", "١٢٣٤٥٦٧٨", "x@lid", "@g.us", "1-2-3@g.us", "4915123456@newsletter", "4915@4915@c.us", "49151234\x0056"} {
		if r, err := ParseRecipient(bad); !errors.Is(err, ErrRecipient) {
			t.Errorf("%q: accepted as %v (%v)", bad, r, err)
		}
	}
}

func TestTextContentIsValidated(t *testing.T) {
	if c, err := ParseContent("text", []byte(`{"text":"`+strings.Repeat("é", MaxText)+`"}`)); err != nil || c.Text == nil {
		t.Errorf("longest text: %v", err)
	}
	for name, c := range map[string][2]string{
		"too long": {"text", `{"text":"` + strings.Repeat("é", MaxText+1) + `"}`}, "empty": {"text", `{"text":""}`},
		"missing": {"text", `{}`}, "unknown field": {"text", `{"text":"x","Text2":1}`}, "wrong type": {"text", `{"text":1}`},
		"not JSON": {"text", `x`}, "unknown kind": {"smoke", `{}`},
	} {
		if _, err := ParseContent(c[0], []byte(c[1])); !errors.Is(err, ErrContent) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParseRecipient(f *testing.F) {
	f.Add("+49 151 2345678")
	f.Add("1@lid")
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRecipient(s)
		if err != nil {
			return
		}
		if again, err := ParseRecipient(r.JID()); err != nil || again != r {
			t.Errorf("%q became %v, which became %v (%v)", s, r, again, err)
		}
	})
}
