package docs

import (
	"encoding/base64"
	"strings"
	"testing"

	"postern/e2e/rig"
)

const (
	sendText  = "POST /instance/$name/send/text"
	sendMedia = "POST /instance/$name/send/media"
	sendVoice = "POST /instance/$name/send/ptt"
)

// clientReading has what holds for all routes.
func clientReading() []clientRow {
	warned := func(want string) func(*testing.T, *rig.SendScene, rig.Answer) {
		return func(t *testing.T, _ *rig.SendScene, a rig.Answer) {
			if got := a.Header.Get("Warning"); !strings.Contains(got, want) || want == "" && got != "" {
				t.Errorf("warning %q, want %q in it", got, want)
			}
		}
	}
	const hello, greeting = `{"number":"$anne","textMessage":{"text":"hello"}}`, `{"conversation":"hello"}`
	return []clientRow{
		{habit: "slash", name: "at the end of a send", call: sendText + "/", body: hello, phone: greeting},
		{habit: "slash", name: "at the end of a legacy path", call: "POST /message/sendText/$name/", body: hello, phone: greeting},
		{habit: "slash", name: "after health", call: "GET /health/", answer: `{"status":"ok"}`},
		{habit: "slash", name: "two are an empty segment", call: sendText + "//", body: hello, status: 404},
		{habit: "any case", name: "a legacy path", call: "POST /message/sendtext/$name", body: hello, phone: greeting},
		{
			habit: "any case", name: "all of it", call: "GET /WEBHOOK/FIND/$name", answer: `{"instanceId":1}`,
			before: []rig.Step{rig.Route("PUT", "/webhook/SET/$name", `{"url":"$hook"}`)},
		},
		{habit: "any case", name: "not under instance", call: "GET /instance/connectionstate/$name", status: 404},
		{habit: "any case", name: "not on a current path", call: "POST /instance/$name/Send/text", body: hello, status: 404},
		{
			habit: "unknown fields", name: "of a legacy path are ignored and named", call: "POST /message/sendText/$name",
			body:  `{"number":"$anne","linkPreview":true,"options":{"linkPreview":true},"textMessage":{"text":"hello","mode":"x"}}`,
			phone: greeting, then: warned("linkPreview, textMessage.mode"),
		},
		{habit: "unknown fields", name: "nothing is named without them", call: "POST /message/sendText/$name", body: hello, phone: greeting, then: warned("")},
		{
			habit: "unknown fields", name: "of a form", call: "POST /message/sendMediaFile/$name", file: "attachment photo.jpg",
			form:   map[string]string{"number": "$anne", "mediaType": "image", "encoding": "true", "options": `{"linkPreview":true}`},
			answer: `{"messageType":"imageMessage"}`, then: warned("encoding"),
		},
		{habit: "unknown fields", name: "of a current path are refused", call: sendText, body: `{"number":"$anne","linkPreview":true,"textMessage":{"text":"x"}}`, status: 400, answer: `{"code":"UNKNOWN_FIELD"}`},
		{habit: "unknown fields", name: "the rest of a legacy path is read strictly", call: "POST /message/sendText/$name", body: `{"number":"$anne","textMessage":{"text":7}}`, status: 400, answer: `{"code":"INVALID_TYPE"}`},
		{habit: "unknown fields", name: "one given twice is refused there too", call: "POST /message/sendText/$name", body: `{"x":1,"x":1,"number":"$anne","textMessage":{"text":"x"}}`, status: 400, answer: `{"code":"DUPLICATE_FIELD"}`},
		{
			habit: "null", name: "for every option", call: sendText, phone: greeting,
			body: `{"number":"$anne","chat":null,"recipient":null,"textMessage":{"text":"hello"},"options":{"delay":null,"presence":null,"quotedMessageId":null,"quotedMessage":null,"externalAttributes":null,"mentionAll":null}}`,
		},
		{habit: "null", name: "for the options", call: sendText, body: `{"number":"$anne","textMessage":{"text":"hello"},"options":null}`, phone: greeting},
		{habit: "null", name: "for a webhook's url and events", call: "PUT /instance/$name/webhook", body: `{"url":null,"events":null,"enabled":true}`, answer: `{"url":"$hook","enabled":true}`},
		{habit: "null", name: "not for what is required", call: sendText, body: `{"number":"$anne","textMessage":null}`, status: 400, answer: `{"code":"INVALID_TYPE"}`},
		{habit: "no quote", name: "0 and {}", call: sendText, body: `{"number":"$anne","textMessage":{"text":"hello"},"options":{"quotedMessageId":0,"quotedMessage":{}}}`, phone: greeting},
		{habit: "no quote", name: "a negative one is refused", call: sendText, body: `{"number":"$anne","textMessage":{"text":"x"},"options":{"quotedMessageId":-1}}`, status: 400, answer: `{"code":"INVALID_TYPE"}`},
		{habit: "texts", name: "in the query", call: "GET /instance/$name/media/uploads?limit=1", answer: `{"records":[]}`},
		{habit: "texts", name: "not in JSON elsewhere", call: sendText, body: `{"number":"$anne","textMessage":{"text":"x"},"options":{"delay":"1"}}`, status: 400, answer: `{"code":"INVALID_TYPE"}`},
		{habit: "phone numbers", name: "of a recipient", call: sendText, body: `{"number":"+49 (151) 555-00.002","textMessage":{"text":"hello"}}`, phone: greeting},
		{habit: "phone numbers", name: "in the path", call: "GET /instance/$name/connect/code/%2B49%20151-555%2000002", status: 409, answer: `{"code":"ALREADY_CONNECTED"}`},
		{habit: "phone numbers", name: "to look up", call: "POST /instance/$name/chat/is-account", body: `{"numbers":["+49 151/555 000 02"]}`, answer: `[{"number":"$anne","exists":true}]`},
		{
			habit: "phone numbers", name: "copied with marks around", call: sendText, phone: greeting,
			body: `{"number":"\u202a+49\u00a0151\u2011555\u201100002\u202c","textMessage":{"text":"hello"}}`,
		},
		{habit: "phone numbers", name: "two are none", call: sendText, body: `{"number":"5550001,5550002","textMessage":{"text":"x"}}`, status: 422, answer: `{"code":"INVALID_RECIPIENT"}`},
		{habit: "GET create", name: "lists", call: "GET /instance/create", header: map[string]string{"apikey": "$key"}, answer: `[{"name":"$name"}]`},
		{habit: "apikey", name: "has the instance's token", call: "GET /instance/$name", header: map[string]string{"apikey": "$token"}, answer: `{"name":"$name"}`},
		{habit: "apikey", name: "not the operator's key", call: "GET /instance/$name", header: map[string]string{"apikey": "$key"}, status: 401},
		{habit: "apikey", name: "not a user's token", call: "GET /instance/$name", header: map[string]string{"apikey": "$user"}, status: 401},
	}
}

func clientSends() []clientRow {
	waveform := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x01\x32", 32)))
	quoted := func(of string) string {
		return `{"extendedTextMessage":{"text":"the answer","contextInfo":{"stanzaID":"` + of + `","quotedMessage":{"conversation":"the question"}}}}`
	}
	answer := func(options string) string {
		return `{"number":"$anne","textMessage":{"text":"the answer"},"options":` + options + `}`
	}
	shown := func(online bool) func(*testing.T, *rig.SendScene, rig.Answer) {
		return func(t *testing.T, s *rig.SendScene, _ rig.Answer) {
			phone, _ := s.Sandbox.Phone(rig.OwnNumber)
			if got, known := s.Sandbox.Available(phone); !known || got != online {
				t.Errorf("the account shows available %v (%v)", got, known)
			}
		}
	}
	return []clientRow{
		{habit: "presence", name: "available", call: sendText, body: `{"number":"$anne","textMessage":{"text":"here"},"options":{"presence":"available"}}`, phone: `{"conversation":"here"}`, then: shown(true)},
		{habit: "presence", name: "unavailable", call: sendText, body: `{"number":"$anne","textMessage":{"text":"away"},"options":{"presence":"unavailable"}}`, phone: `{"conversation":"away"}`, then: shown(false)},
		{habit: "white space", name: "is no text", call: sendText, body: `{"number":"$anne","textMessage":{"text":" \n\t\u00a0"}}`, status: 422, answer: `{"code":"INVALID_MESSAGE"}`},
		{
			habit: "upload beside the content", name: "of a file", call: sendMedia, body: `{"number":"$anne","mediaUploadId":"$photo.id","mediaMessage":{"mediatype":"image","caption":"look"}}`,
			before: []rig.Step{rig.Route("POST", "/instance/$name/media/uploads", `{"mediaType":"image","media":"$files/photo.jpg"}`).As("photo")},
			phone:  `{"imageMessage":{"caption":"look","mediaKey":"*"}}`,
		},
		{
			habit: "upload beside the content", name: "of a voice note, whose content is empty", call: sendVoice, body: `{"number":"$anne","mediaUploadId":"$note.id","audioMessage":{}}`,
			before: []rig.Step{rig.Route("POST", "/instance/$name/media/uploads", `{"mediaType":"voice","media":"$files/note.ogg"}`).As("note")},
			phone:  `{"audioMessage":{"PTT":true,"mediaKey":"*"}}`,
		},
		{habit: "upload beside the content", name: "by the other name of the path", call: "POST /instance/$name/send/ppt", body: `{"number":"$anne","mediaUploadId":"$note.id","audioMessage":{}}`, phone: `{"audioMessage":{"PTT":true}}`},
		{
			habit: "upload beside the content", name: "of an audio file that is a voice note", call: sendVoice, body: `{"number":"$anne","mediaUploadId":"$sound.id","audioMessage":{}}`,
			before: []rig.Step{rig.Route("POST", "/instance/$name/media/uploads", `{"mediaType":"audio","media":"$files/note.ogg"}`).As("sound")},
			phone:  `{"audioMessage":{"PTT":true,"mediaKey":"*"}}`,
		},
		{habit: "upload beside the content", name: "not two of them", call: sendMedia, body: `{"number":"$anne","mediaUploadId":"$photo.id","mediaMessage":{"mediatype":"image","mediaUploadId":"$note.id"}}`, status: 422, answer: `{"code":"INVALID_MESSAGE"}`},
		{habit: "upload beside the content", name: "and no URL", call: sendMedia, body: `{"number":"$anne","mediaUploadId":"$photo.id","mediaMessage":{"mediatype":"image","media":"$files/photo.jpg"}}`, status: 422, answer: `{"code":"INVALID_MESSAGE"}`},
		{
			habit: "reaction without recipient", name: "goes to the chat of the message", call: "POST /instance/$name/send/reaction",
			body: `{"reactionMessage":{"key":{"remoteJid":"$anne@s.whatsapp.net","id":"3EB0AA","fromMe":false},"reaction":"👍"}}`, answer: `{"keyRemoteJid":"$anne@s.whatsapp.net"}`,
			phone: `{"reactionMessage":{"text":"👍","key":{"ID":"3EB0AA"}}}`,
		},
		{habit: "reaction without recipient", name: "not two", call: "POST /instance/$name/send/reaction", body: `{"number":"$anne","chat":"$anne","reactionMessage":{"key":{"remoteJid":"$anne","id":"3EB0AA"},"reaction":"👍"}}`, status: 400, answer: `{"code":"ONE_RECIPIENT"}`},
		{
			habit: "voice note", name: "with its length and waveform", call: sendVoice,
			body:  `{"number":"$anne","audioMessage":{"audio":"$files/note.ogg","ptt":false,"seconds":7,"waveform":"` + waveform + `"}}`,
			phone: `{"audioMessage":{"PTT":true,"seconds":7,"waveform":"` + waveform + `"}}`,
		},
		{habit: "voice note", name: "a short waveform is refused", call: sendVoice, body: `{"number":"$anne","audioMessage":{"audio":"$files/note.ogg","waveform":"AAAA"}}`, status: 422, answer: `{"code":"INVALID_MESSAGE"}`},
		{
			habit: "flat quote", name: "a text", call: sendText, body: answer(`{"quotedMessage":{"keyId":"$q.keyId","keyRemoteJid":"$anne@s.whatsapp.net","keyFromMe":true,"messageType":"conversation","content":{"text":"the question"}}}`),
			before: []rig.Step{rig.Route("POST", "/instance/$name/send/text", `{"number":"$anne","textMessage":{"text":"the question"}}`).As("q")},
			phone:  quoted("$q.keyId"),
		},
		{habit: "flat quote", name: "as a string", call: sendText, body: answer(`{"quotedMessage":{"keyId":"$q.keyId","keyRemoteJid":"+49 151 555 00002","keyParticipant":null,"messageType":"conversation","content":"the question"}}`), phone: quoted("$q.keyId")},
		{habit: "flat quote", name: "without its content", call: sendText, body: answer(`{"quotedMessage":{"keyId":"1","keyRemoteJid":"$anne","messageType":"conversation"}}`), status: 400, answer: `{"code":"MISSING_FIELD"}`},
		{habit: "flat quote", name: "mixed with the other form", call: sendText, body: answer(`{"quotedMessage":{"keyId":"1","key":{"remoteJid":"$anne","id":"1"}}}`), status: 422, answer: `{"code":"INVALID_MESSAGE"}`},
		{
			habit: "flat options", name: "of a file, in the part file", call: "POST /instance/$name/send/media-file", file: "file photo.jpg",
			form: map[string]string{
				"chat": "+49 151 555 00002", "mediaType": "image", "caption": "", "delay": "10", "presence": "composing",
				"quotedMessageId": "0", "quotedMessage": `{"keyId":"$q.keyId","keyRemoteJid":"$anne@s.whatsapp.net","messageType":"conversation","content":{"text":"the question"}}`,
				"mentionAll": "false", "externalAttributes": `{"order":8}`,
			},
			answer: `{"externalAttributes":{"order":8}}`,
			phone:  `{"imageMessage":{"mediaKey":"*","contextInfo":{"stanzaID":"$q.keyId"}}}`,
		},
		{
			habit: "flat options", name: "of a voice note, quoting by the id here", call: "POST /instance/$name/send/ptt-file", file: "attachment note.ogg",
			form:  map[string]string{"number": "$anne", "quotedMessageId": "$q.id", "delay": "", "mentionAll": "", "externalAttributes": "", "quotedMessage": ""},
			phone: `{"audioMessage":{"PTT":true,"contextInfo":{"stanzaID":"$q.keyId"}}}`,
		},
		{
			habit: "flat options", name: "of a sticker", call: "POST /instance/$name/send/sticker-file", file: "file sticker.webp",
			form: map[string]string{"recipient": "$anne", "externalAttributes": `{"a":[1]}`}, answer: `{"externalAttributes":{"a":[1]}}`, phone: `{"stickerMessage":{"mediaKey":"*"}}`,
		},
		{habit: "flat options", name: "not beside options", call: "POST /instance/$name/send/media-file", file: "file photo.jpg", form: map[string]string{"number": "$anne", "mediaType": "image", "options": `{}`, "delay": "1"}, status: 400, answer: `{"code":"DUPLICATE_FIELD"}`},
		{habit: "flat options", name: "a delay that is no number", call: "POST /instance/$name/send/media-file", file: "file photo.jpg", form: map[string]string{"number": "$anne", "mediaType": "image", "delay": "soon"}, status: 400, answer: `{"code":"INVALID_TYPE"}`},
		{habit: "flat options", name: "attributes that are no object", call: "POST /instance/$name/send/media-file", file: "file photo.jpg", form: map[string]string{"number": "$anne", "mediaType": "image", "externalAttributes": `[1]`}, status: 400, answer: `{"code":"INVALID_TYPE"}`},
		{habit: "flat options", name: "an unknown one", call: "POST /instance/$name/send/media-file", file: "file photo.jpg", form: map[string]string{"number": "$anne", "mediaType": "image", "encoding": "x"}, status: 400, answer: `{"code":"UNKNOWN_FIELD"}`},
	}
}
