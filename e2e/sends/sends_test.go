package sends

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"postern/e2e/rig"
)

// sendRow is a send to Anne. A row with a file is a form.
type sendRow struct {
	paths  []string // the route and its other names
	body   string   // JSON beside the recipient
	file   string
	fields map[string]string
	answer string // what the stored message holds at least
	phone  string // and what the phone decrypted
}

func sendTable() []sendRow {
	const photo = `{"url":"*","directPath":"*","mediaKey":"*","fileSha256":"*","fileEncSha256":"*","fileLength":"5905","mimetype":"image/jpeg","width":160,"jpegThumbnail":"*","caption":"look"}`
	phonePhoto := `{"imageMessage":` + strings.NewReplacer(`"url"`, `"URL"`, "Sha256", "SHA256", "jpegT", "JPEGT").Replace(photo) + `}`
	const voice = `{"ptt":true,"mimetype":"audio/ogg; codecs=opus","seconds":"*","waveform":"*","fileLength":"7827"}`
	phoneVoice := `{"audioMessage":` + strings.Replace(voice, "ptt", "PTT", 1) + `}`
	return []sendRow{
		{
			paths:  []string{"/instance/$name/send/text", "/message/sendText/$name"},
			body:   `"textMessage":{"text":"good morning ☀"}`,
			answer: `{"messageType":"conversation","content":{"text":"good morning ☀"}}`,
			phone:  `{"conversation":"good morning ☀"}`,
		}, {
			paths:  []string{"/instance/$name/send/link", "/message/sendLink/$name"},
			body:   `"linkMessage":{"link":"https://example.org/a","title":"A","description":"B","thumbnailUrl":"$files/photo.jpg"}`,
			answer: `{"messageType":"extendedTextMessage","content":{"text":"https://example.org/a","matchedText":"https://example.org/a","title":"A","description":"B","jpegThumbnail":"*"}}`,
			phone:  `{"extendedTextMessage":{"text":"https://example.org/a","matchedText":"https://example.org/a","title":"A","description":"B","JPEGThumbnail":"*"}}`,
		}, {
			paths:  []string{"/instance/$name/send/media", "/message/sendMedia/$name"},
			body:   `"mediaMessage":{"mediatype":"image","media":"$files/photo.jpg","caption":"look"}`,
			answer: `{"messageType":"imageMessage","content":` + photo + `}`,
			phone:  phonePhoto,
		}, {
			paths: []string{"/instance/$name/send/media-file", "/message/sendMediaFile/$name"},
			file:  "photo.jpg", fields: map[string]string{"mediaType": "image", "caption": "look"},
			answer: `{"messageType":"imageMessage","content":` + photo + `}`,
			phone:  phonePhoto,
		}, {
			paths:  []string{"/instance/$name/send/ptt", "/instance/$name/send/ppt", "/message/sendWhatsAppAudio/$name"},
			body:   `"audioMessage":{"audio":"$files/note.ogg"}`,
			answer: `{"messageType":"audioMessage","content":` + voice + `}`,
			phone:  phoneVoice,
		}, {
			paths:  []string{"/instance/$name/send/ptt-file", "/instance/$name/send/ppt-file", "/message/sendWhatsAppAudioFile/$name"},
			file:   "note.ogg",
			answer: `{"messageType":"audioMessage","content":` + voice + `}`,
			phone:  phoneVoice,
		}, {
			paths:  []string{"/instance/$name/send/contact", "/message/sendContact/$name"},
			body:   `"contactMessage":[{"fullName":"Bob","phoneNumber":"+49 151 555 00003","organization":"Baker"}]`,
			answer: `{"messageType":"contactMessage","content":{"displayName":"Bob","vcard":"*"}}`,
			phone:  `{"contactMessage":{"displayName":"Bob","vcard":"BEGIN:VCARD\nVERSION:3.0\nN:;Bob;;;\nFN:Bob\nORG:Baker;\nTEL;type=CELL;type=VOICE;waid=4915155500003:+4915155500003\nEND:VCARD"}}`,
		}, {
			paths:  []string{"/instance/$name/send/location", "/message/sendLocation/$name"},
			body:   `"locationMessage":{"latitude":52.5,"longitude":13.25,"name":"Here","address":"Street 1"}`,
			answer: `{"messageType":"locationMessage","content":{"degreesLatitude":52.5,"degreesLongitude":13.25,"name":"Here","address":"Street 1"}}`,
			phone:  `{"locationMessage":{"degreesLatitude":52.5,"degreesLongitude":13.25,"name":"Here","address":"Street 1"}}`,
		}, {
			paths:  []string{"/instance/$name/send/reaction", "/message/sendReaction/$name"},
			body:   `"reactionMessage":{"key":{"remoteJid":"$anne@s.whatsapp.net","id":"3EB0AA","fromMe":false},"reaction":"👍"}`,
			answer: `{"messageType":"reactionMessage","content":{"text":"👍","key":{"id":"3EB0AA","fromMe":false}}}`,
			phone:  `{"reactionMessage":{"text":"👍","key":{"ID":"3EB0AA","fromMe":false}}}`,
		}, {
			paths:  []string{"/instance/$name/send/sticker"},
			body:   `"stickerMessage":{"sticker":"$files/sticker.webp"}`,
			answer: `{"messageType":"stickerMessage","content":{"mimetype":"image/webp","fileLength":"1520"}}`,
			phone:  `{"stickerMessage":{"mimetype":"image/webp","fileLength":"1520","mediaKey":"*"}}`,
		}, {
			paths: []string{"/instance/$name/send/sticker-file"}, file: "sticker.webp",
			answer: `{"messageType":"stickerMessage","content":{"mimetype":"image/webp","fileLength":"1520"}}`,
			phone:  `{"stickerMessage":{"mimetype":"image/webp","fileLength":"1520","mediaKey":"*"}}`,
		}, {
			paths:  []string{"/instance/$name/send/poll"},
			body:   `"pollMessage":{"name":"When?","options":["now","later"],"selectableCount":1}`,
			answer: `{"messageType":"pollCreationMessage","content":{"name":"When?","selectableOptionsCount":1}}`,
			phone:  `{"pollCreationMessage":{"name":"When?","options":[{"optionName":"now"},{"optionName":"later"}],"selectableOptionsCount":1}}`,
		},
	}
}

// TestEverySendReachesTheOtherPhone sends by every route under every name, and
// compares the answer, the webhook, and what the recipient decrypted.
func TestEverySendReachesTheOtherPhone(t *testing.T) {
	s := rig.NewSendScene(t)
	for _, row := range sendTable() {
		for _, path := range row.paths {
			t.Run(strings.ReplaceAll(path, "$name", ""), func(t *testing.T) {
				from := len(s.Webhooks())
				var a rig.Answer
				if row.file == "" {
					a = s.PostJSON(t, s.Fill(path), `{"number":"$anne","options":{"externalAttributes":{"order":7}},`+row.body+`}`)
				} else {
					fields := map[string]string{"recipient": "$anne@s.whatsapp.net", "options": `{"externalAttributes":{"order":7}}`}
					maps.Copy(fields, row.fields)
					a = s.Multipart(t, s.Fill(path), row.file, fields)
				}
				m := s.Sent(t, from, a, row.answer)
				s.Sent(t, from, a, `{"keyFromMe":true,"keyRemoteJid":"$anne@s.whatsapp.net","keyLid":"$anneLID","instanceId":1,"externalAttributes":{"order":7},"isGroup":false}`)
				s.DecryptedAs(t, rig.AnneNumber, m.KeyID, row.phone)
			})
		}
	}
}

// TestASendQuotes answers a message that is named in each way.
func TestASendQuotes(t *testing.T) {
	s := rig.NewSendScene(t)
	from := len(s.Webhooks())
	first := s.Sent(t, from, s.PostJSON(t, s.Fill("/instance/$name/send/text"), `{"chat":"$anne","textMessage":{"text":"the question"}}`), `{}`)
	for name, option := range map[string]string{
		"by id":     fmt.Sprintf(`"quotedMessageId":%d`, first.ID),
		"by key id": fmt.Sprintf(`"quotedMessageId":%q`, first.KeyID),
		"by object": fmt.Sprintf(`"quotedMessage":{"key":{"remoteJid":"$anne@s.whatsapp.net","id":%q,"fromMe":true},"message":{"conversation":"the question"}}`, first.KeyID),
	} {
		t.Run(name, func(t *testing.T) {
			from := len(s.Webhooks())
			a := s.PostJSON(t, s.Fill("/instance/$name/send/text"), `{"number":"$anne","textMessage":{"text":"the answer"},"options":{`+option+`}}`)
			m := s.Sent(t, from, a, `{"messageType":"extendedTextMessage"}`)
			s.DecryptedAs(t, rig.AnneNumber, m.KeyID, fmt.Sprintf(`{"extendedTextMessage":{"text":"the answer","contextInfo":{"stanzaID":%q,"participant":"$own@s.whatsapp.net","quotedMessage":{"conversation":"the question"}}}}`, first.KeyID))
		})
	}
}

// TestADelayIsWaitedFor also holds for a send that shows that someone types.
func TestADelayIsWaitedFor(t *testing.T) {
	s := rig.NewSendScene(t)
	began := time.Now()
	from := len(s.Webhooks())
	a := s.PostJSON(t, s.Fill("/instance/$name/send/text"), `{"number":"$anne","textMessage":{"text":"slowly"},"options":{"presence":"composing","delay":300}}`)
	m := s.Sent(t, from, a, `{}`)
	if took := time.Since(began); took < 300*time.Millisecond {
		t.Errorf("the message left after %s", took)
	}
	s.DecryptedAs(t, rig.AnneNumber, m.KeyID, `{"conversation":"slowly"}`)
	phone, _ := s.Sandbox.Phone(rig.AnneNumber)
	notices := phone.ChatStates()
	if len(notices) == 0 || notices[0].State != "composing" || notices[0].From.User != s.OwnLID() {
		t.Errorf("Anne's phone saw %+v", notices)
	}
	received := phone.Received()
	if last := received[len(received)-1]; len(notices) > 0 && last.At.Sub(notices[0].At) < 250*time.Millisecond {
		t.Errorf("the notice came %s before the message", last.At.Sub(notices[0].At))
	}
}
