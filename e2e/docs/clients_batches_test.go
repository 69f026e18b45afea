package docs

import (
	"testing"

	"postern/cli/consumer"
	"postern/e2e/rig"

	"github.com/google/uuid"
)

// clientBatches has batches, and what is not offered.
func clientBatches() []clientRow {
	const create = "POST /message/batches"
	batch := func(message, options string) string {
		return `{"name":"b","instances":["$name"],"recipients":["+49 151 555 00002"],"message":` + message + `,"options":` + options + `}`
	}
	decrypted := func(want string) func(*testing.T, *rig.SendScene, rig.Answer) {
		return func(t *testing.T, s *rig.SendScene, a rig.Answer) {
			var made struct{ ID uuid.UUID }
			decode(t, a.Body, &made)
			s.Await("the batch is done", func() bool {
				var b struct{ Status string }
				s.Call(consumer.Bearer(s.User), "GET", "/message/batches/"+made.ID.String(), nil, &b)
				return b.Status == "COMPLETED"
			})
			s.DecryptedAs(t, rig.AnneNumber, s.SentID(t, made.ID, rig.AnneNumber), want)
		}
	}
	photo := []rig.Step{rig.Route("POST", "/instance/$name/media/uploads", `{"mediaType":"image","media":"$files/photo.jpg"}`).As("bphoto")}
	question := []rig.Step{rig.Route("POST", "/instance/$name/send/text", `{"number":"$anne","textMessage":{"text":"the question"}}`).As("bq")}
	const upload, text = `{"type":"media","payload":{"mediaUploadId":$bphoto.id,"caption":"look"}}`, `{"type":"text","payload":{"text":"the answer"}}`
	refused := func(name, call string) clientRow {
		return clientRow{habit: "not offered", name: name, call: call, body: `{"number":"$anne"}`, status: 501, answer: `{"statusCode":501,"error":"not-implemented","code":"NOT_OFFERED","messages":["*"]}`}
	}
	rows := []clientRow{
		{habit: "batches", name: "an upload without mediatype", before: photo, call: create, user: true, body: batch(upload, `{}`), status: 201, keep: "bsent", then: decrypted(`{"imageMessage":{"caption":"look","mediaKey":"*"}}`)},
		{habit: "batches", name: "attempts say when", call: "GET /message/batches/$bsent.id/attempts", user: true, answer: `{"records":[{"createdAt":"*","errorCode":"<absent>","errorMessage":"<absent>"}]}`},
		{
			habit: "left out", name: "the times of a batch", call: create, user: true, status: 201, keep: "bdraft",
			body:   `{"name":"draft","instances":["$name"],"recipients":["$anne"],"message":` + text + `,"autoStart":false}`,
			answer: `{"startedAt":"<absent>","pausedAt":"<absent>","stoppedAt":"<absent>","completedAt":"<absent>","interruptedAt":"<absent>"}`,
		},
		{habit: "left out", name: "the error of an item", call: "GET /message/batches/$bdraft.id/items", user: true, answer: `{"records":[{"lastErrorCode":"<absent>","lastErrorMessage":"<absent>","selectedDelayMs":"<absent>"}]}`},
		{habit: "batches", name: "a URL without mediatype", call: create, user: true, body: batch(`{"type":"media","payload":{"media":"$files/photo.jpg"}}`, `{}`), status: 400, answer: `{"code":"MISSING_FIELD"}`},
		{
			habit: "batches", name: "that answers a message", before: question, call: create, user: true, status: 201,
			body:   batch(text, `{"quotedMessageId":$bq.id,"externalAttributes":{"order":3},"replicable":true}`),
			answer: `{"options":{"quotedMessageId":$bq.id,"externalAttributes":{"order":3},"replicable":"<absent>"},"startedAt":"<absent>","completedAt":"<absent>","pausedAt":"<absent>"}`,
			then: func(t *testing.T, s *rig.SendScene, a rig.Answer) {
				decrypted(`{"extendedTextMessage":{"text":"the answer","contextInfo":{"stanzaID":"$bq.keyId","participant":"$own@s.whatsapp.net","quotedMessage":{"conversation":"the question"}}}}`)(t, s, a)
				s.AwaitEvent(t, 0, "send.message", `{"content":{"text":"the answer"},"externalAttributes":{"order":3}}`)
			},
		},
		{habit: "batches", name: "that answers no message", call: create, user: true, body: batch(text, `{"quotedMessageId":999999}`), status: 422, answer: `{"code":"QUOTED_MESSAGE_NOT_FOUND"}`},
		{habit: "batches", name: "0 quotes nothing", call: create, user: true, body: batch(text, `{"quotedMessageId":0}`), status: 201, then: decrypted(`{"conversation":"the answer"}`)},
		{habit: "batches", name: "a contact in an array", call: create, user: true, body: batch(`{"type":"contact","payload":[{"fullName":"Bob","phoneNumber":"$bob"}]}`, `{}`), status: 201, answer: `{"message":{"payload":{"fullName":"Bob"}}}`, then: decrypted(`{"contactMessage":{"displayName":"Bob"}}`)},
		{
			habit: "batches", name: "several contacts", call: create, user: true, status: 201,
			body:   batch(`{"type":"contact","payload":[{"fullName":"Bob","phoneNumber":"$bob"},{"fullName":"Anne","phoneNumber":"$anne"}]}`, `{}`),
			answer: `{"message":{"payload":{"contacts":[{"fullName":"Bob"},{"fullName":"Anne"}]}}}`,
			then:   decrypted(`{"contactsArrayMessage":{"contacts":[{"displayName":"Bob"},{"displayName":"Anne"}]}}`),
		},
		{habit: "batches", name: "an array of texts", call: create, user: true, body: batch(`{"type":"text","payload":[{"text":"a"},{"text":"b"}]}`, `{}`), status: 400, answer: `{"code":"UNKNOWN_FIELD"}`},
		{habit: "batches", name: "white space", call: create, user: true, body: batch(`{"type":"text","payload":{"text":"  "}}`, `{}`), status: 422, answer: `{"code":"INVALID_MESSAGE"}`},
		{habit: "batches", name: "an unknown option", call: create, user: true, body: batch(text, `{"priority":1}`), status: 400, answer: `{"code":"UNKNOWN_FIELD"}`},

		refused("an older name", "POST /message/sendbuttons/$name"),
		refused("another", "POST /message/sendList/$name"),
		refused("and an order", "POST /message/reviewOrder/$name"),
		refused("a call", "POST /call/$name"),
		refused("a call in another form", "POST /call/offer/$name"),
		refused("something of a call", "GET /call/$name/abc/recordings/audio/download"),
		{habit: "not offered", name: "an order by PATCH", call: "PATCH /message/reviewOrder/$name", body: `{"number":"$anne"}`, status: 501, answer: `{"code":"NOT_OFFERED"}`},
		{habit: "not offered", name: "without a credential", call: "POST /instance/$name/send/buttons", header: map[string]string{"x-none": "1"}, status: 401},
		{habit: "not offered", name: "a call of another instance", call: "POST /call/other", status: 403},
	}
	for _, end := range []string{"buttons", "reply", "url", "copy", "list", "carousel", "pix", "payment-request", "review-order", "form"} {
		rows = append(rows, refused(end, "POST /instance/$name/send/"+end))
	}
	return rows
}
