package docs

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"postern/e2e/rig"
	"postern/event"
)

// clientMedia has files: uploads, and what comes back.
func clientMedia() []clientRow {
	const uploads, data = "POST /instance/$name/media/uploads", "POST /instance/$name/media/data"
	is := func(file string) func(*testing.T, *rig.SendScene, rig.Answer) {
		return func(t *testing.T, _ *rig.SendScene, a rig.Answer) {
			want, err := os.ReadFile(filepath.Join("media", "testdata", file))
			if err != nil {
				t.Fatal(err)
			}
			var in struct{ Base64 string }
			got := a.Body
			if json.Unmarshal(a.Body, &in) == nil {
				got, _ = base64.StdEncoding.DecodeString(in.Base64)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%d bytes came back, not the %d of %s", len(got), len(want), file)
			}
		}
	}
	const shape = `{"id":"*","uuid":"*","instanceId":1,"externalId":"cat-7","externalAttributes":{"a":1},"mediaType":"image","originalFileName":"photo.jpg",
		"originalFileSize":5905,"mimetype":"image/jpeg","width":160,"height":120,"expired":false,"expiresAt":"*","createdAt":"*","updatedAt":"*",
		"upload":{"url":"*","directPath":"*","fileSha256":"*","fileEncSha256":"*","fileSHA256":"*","fileEncSHA256":"*","fileLength":5905,"mediaKey":"<absent>"},"mediaKey":"<absent>"}`
	return []clientRow{
		{
			habit: "upload", name: "in the part file", call: uploads, file: "file photo.jpg", form: map[string]string{"mediaType": "image", "externalId": "cat-7", "externalAttributes": `{"a":1}`},
			status: 201, answer: shape, keep: "up",
		},
		{habit: "upload", name: "without tags, from a URL", call: uploads, body: `{"mediaType":"image","media":"$files/photo.jpg"}`, status: 201, answer: `{"externalId":null,"externalAttributes":{}}`, keep: "plain"},
		{habit: "upload", name: "an id that is too long", call: uploads, file: "file photo.jpg", form: map[string]string{"mediaType": "image", "externalId": string(bytes.Repeat([]byte("x"), 256))}, status: 422, answer: `{"code":"INVALID_ARGUMENT"}`},
		{habit: "uploads", name: "by kind and external id", call: "GET /instance/$name/media/uploads?mediaType=image&expired=false&externalId=cat-7&createdFrom=2026-01-01T00:00:00Z&limit=1", answer: `{"nextCursor":null,"previousCursor":null,"totalRecords":1,"records":[{"externalId":"cat-7"}]}`},
		{habit: "uploads", name: "the expired ones", call: "GET /instance/$name/media/uploads?expired=true", answer: `{"totalRecords":0,"records":[]}`},
		{habit: "uploads", name: "a first page", call: "GET /instance/$name/media/uploads?limit=1", answer: `{"nextCursor":"*","previousCursor":null,"records":[{"uuid":"$plain.uuid"}]}`, keep: "page"},
		{habit: "uploads", name: "the one after it", call: "GET /instance/$name/media/uploads?limit=1&nextCursor=$page.nextCursor", answer: `{"previousCursor":"*","records":[{"uuid":"$up.uuid"}]}`, keep: "page"},
		{habit: "uploads", name: "and back", call: "GET /instance/$name/media/uploads?limit=1&previousCursor=$page.previousCursor", answer: `{"nextCursor":"*","previousCursor":null,"records":[{"uuid":"$plain.uuid"}]}`},
		{habit: "uploads", name: "a filter that is none", call: "GET /instance/$name/media/uploads?mediaType=photo", status: 400, answer: `{"code":"INVALID_QUERY"}`},
		{habit: "either id", name: "the integer", call: "GET /instance/$name/media/$up.id/uploads", answer: shape},
		{habit: "either id", name: "the UUID on the other path", call: "GET /instance/$name/upload/$up.uuid", answer: shape},
		{habit: "either id", name: "of a send, as a number", call: sendMedia, body: `{"number":"$anne","mediaMessage":{"mediatype":"image","mediaUploadId":$up.id}}`, phone: `{"imageMessage":{"mediaKey":"*"}}`, keep: "pic"},
		{habit: "either id", name: "of a send, 0 is none", call: sendMedia, body: `{"number":"$anne","mediaUploadId":0,"mediaMessage":{"mediatype":"image","media":"$files/photo.jpg"}}`, phone: `{"imageMessage":{"mediaKey":"*"}}`},
		{habit: "either id", name: "of no upload", call: sendMedia, body: `{"number":"$anne","mediaMessage":{"mediatype":"image","mediaUploadId":999999}}`, status: 422, answer: `{"code":"INVALID_MEDIA"}`},
		{habit: "no body", name: "the end of an upload", call: "DELETE /instance/$name/media/$plain.id/uploads", status: 204, answer: "none"},
		{habit: "no body", name: "it is gone then", call: "DELETE /instance/$name/upload/$plain.uuid", status: 404, answer: `{"code":"UPLOAD_NOT_FOUND"}`},

		{
			habit: "media data", name: "in JSON", call: data, body: `{"messageId":"$pic.keyId"}`, then: is("photo.jpg"),
			answer: `{"mediaType":"image","fileName":"*","mimetype":"image/jpeg","size":{"fileLength":5905,"height":120,"width":160},"base64":"*"}`,
		},
		{habit: "media data", name: "as it is", call: data + "?binary=true", body: `{"messageId":$pic.id}`, then: is("photo.jpg")},
		{habit: "media data", name: "by id", call: data + "?binary=true", body: `{"id":$pic.id}`, then: is("photo.jpg")},
		{habit: "media data", name: "by id as a text", call: data + "?binary=true", body: `{"id":"$pic.id"}`, then: is("photo.jpg")},
		{habit: "media data", name: "by key id", call: data + "?binary=true", body: `{"keyId":"$pic.keyId"}`, then: is("photo.jpg")},
		{habit: "media data", name: "of what an event reported", call: "POST /chat/mediaData/$name", body: `{"keyId":"$pic.keyId","messageType":"imageMessage","content":$pic.raw}`, then: is("photo.jpg"), answer: `{"size":{"fileLength":5905}}`},
		{habit: "media data", name: "of what an event reported, and nothing else", call: data + "?binary=true", body: `{"messageType":"imageMessage","content":$pic.raw}`, then: is("photo.jpg")},
		{habit: "media data", name: "two ways at once", call: data, body: `{"id":1,"keyId":"$pic.keyId"}`, status: 400, answer: `{"code":"MISSING_FIELD"}`},
		{habit: "media data", name: "a place that is none of WhatsApp's", call: data, body: `{"messageType":"imageMessage","content":{"directPath":".example.org/x","url":"$files/photo.jpg","fileSha256":"AAAA"}}`, status: 422, answer: `{"code":"MESSAGE_WITHOUT_MEDIA"}`},
	}
}

// clientChats has chats and groups.
func clientChats() []clientRow {
	readBy := func(ids ...string) func(*testing.T, *rig.SendScene, rig.Answer) {
		return func(t *testing.T, s *rig.SendScene, _ rig.Answer) {
			phone, _ := s.Sandbox.Phone(rig.AnneNumber)
			for _, id := range ids {
				id := s.Fill(id)
				s.Await(id+" is read", func() bool { return phone.WasRead(id) })
			}
		}
	}
	gone := func(t *testing.T, s *rig.SendScene, _ rig.Answer) {
		phone, _ := s.Sandbox.Phone(rig.AnneNumber)
		s.Await("the deletion", func() bool {
			for _, r := range phone.Received() {
				if p := r.Message.GetProtocolMessage(); p != nil && p.GetKey().GetID() == s.Vars["text.keyId"] && p.GetType().String() == "REVOKE" {
					return true
				}
			}
			return false
		})
	}
	const (
		chat   = " /instance/$name/chat/"
		read   = `{"message":"Read messages","read":"success"}`
		text   = `{"number":"$anne","textMessage":{"text":"hello"}}`
		group  = "?groupJid=$club.group"
		change = "PUT /instance/$name/group/update-participants" + group
	)
	anneWrites := rig.Act("$anne", `{"do":"text","to":"$own","text":"read me"}`).As("hers")
	return []clientRow{
		{
			habit: "read", name: "by the ids here", call: "PATCH" + chat + "read-message", body: `{"ids":[$received]}`, answer: read,
			before: []rig.Step{anneWrites}, then: readBy("$hers.id"),
			ready: func(t *testing.T, s *rig.SendScene) {
				var e struct{ Data struct{ ID int64 } }
				if err := json.Unmarshal(s.AwaitEvent(t, 0, event.MessagesUpsert, `{"keyId":"$hers.id"}`), &e); err != nil {
					t.Fatal(err)
				}
				s.Vars["received"] = fmt.Sprint(e.Data.ID)
			},
		},
		{habit: "read", name: "by key ids", call: "PATCH" + chat + "read-message", body: `{"sender":"+49 151 555 00002","chat":"$anne@s.whatsapp.net","messageIds":["$hers.id"]}`, answer: read, before: []rig.Step{anneWrites}, then: readBy("$hers.id")},
		{habit: "read", name: "with PUT", call: "PUT" + chat + "read-message", body: `{"sender":null,"chat":"$anne","keyIds":["$hers.id"]}`, answer: read, before: []rig.Step{anneWrites}, then: readBy("$hers.id")},
		{habit: "read", name: "by the older path", call: "PATCH /chat/readmessages/$name", body: `{"readMessages":[{"remoteJid":"$anne","id":"$hers.id"}]}`, answer: read, before: []rig.Step{anneWrites}, then: readBy("$hers.id")},
		{habit: "read", name: "not in two ways", call: "POST" + chat + "read-message", body: `{"ids":[1],"chat":"$anne","messageIds":["$hers.id"]}`, status: 422, answer: `{"code":"INVALID_ARGUMENT"}`},

		{habit: "profile picture", name: "of a number", call: "POST" + chat + "profile-picture", body: `{"number":"+49 151 555 00002"}`, answer: `{"wuid":"$anne@s.whatsapp.net"}`},
		{habit: "profile picture", name: "of a chat", call: "POST" + chat + "profile-picture", body: `{"chat":"$anne@s.whatsapp.net"}`, answer: `{"wuid":"$anne@s.whatsapp.net"}`},
		{habit: "profile picture", name: "of a recipient", call: "POST" + chat + "profile-picture", body: `{"recipient":"$anne"}`, answer: `{"wuid":"$anne@s.whatsapp.net"}`},
		{habit: "profile picture", name: "of two", call: "POST" + chat + "profile-picture", body: `{"number":"$anne","chat":"$anne"}`, status: 400, answer: `{"code":"ONE_RECIPIENT"}`},

		{
			habit: "ids as texts", name: "of an edit", call: "POST" + chat + "edit-message", body: `{"id":"$text.id","text":"better"}`, answer: `{"metadata":{"editOf":"$text.keyId"}}`,
			before: []rig.Step{rig.Route("POST", "/instance/$name/send/text", text).As("text")},
		},
		{habit: "ids as texts", name: "of a deletion", call: "DELETE" + chat + "delete-message?id=$text.id", status: 204, answer: "none", then: gone},
		{
			habit: "no body", name: "archive", call: "PUT" + chat + "archive", body: `{"archive":true,"lastMessage":{"key":{"remoteJid":"$anne@s.whatsapp.net","fromMe":true,"id":"$text.keyId"}}}`, status: 204, answer: "none",
		},
		{
			habit: "no body", name: "reject-call", call: "POST" + chat + "reject-call", body: `{"callId":"$ring.callId","callFrom":"$anne@s.whatsapp.net"}`, status: 204, answer: "none",
			before: []rig.Step{rig.Act("$anne", `{"do":"call-offer","to":"$own"}`).As("ring")},
		},

		{
			habit: "no body", name: "members", call: change, body: `{"action":"promote","participants":["$anne"]}`, status: 204, answer: "none",
			before: []rig.Step{rig.Act("$own", `{"do":"group-create","subject":"Club","participants":["$anne","$bob"]}`).As("club")},
		},
		{habit: "no body", name: "members in detail", call: change + "&details=true", body: `{"action":"demote","participants":["$anne"]}`, answer: `{"groupJid":"$club.group","action":"demote","participants":[{"jid":"*","status":200}]}`},
		{habit: "no body", name: "members, one of whom is refused", call: change, body: `{"action":"promote","participants":["$anne","4915155500099"]}`, answer: `{"action":"promote","participants":["*","*"]}`},
		{habit: "no body", name: "a new invitation", call: "PUT /instance/$name/group/revoke-invitation" + group, status: 204, answer: "none"},
		{habit: "no body", name: "a new invitation in detail", call: "PUT /instance/$name/group/revoke-invitation" + group + "&details=true", answer: `{"invitation":"*"}`, keep: "invite"},
		{habit: "no body", name: "details that are none", call: "PUT /instance/$name/group/revoke-invitation" + group + "&details=1", status: 400, answer: `{"code":"INVALID_QUERY"}`},
		{habit: "invitation", name: "with its URL", call: "GET /instance/$name/group/invitation-code" + group, answer: `{"invitation":"$invite.invitation","inviteCode":"*","groupJid":"$club.group"}`},
		{habit: "group picture", name: "shows the group", call: "PUT /instance/$name/group/update-picture" + group, file: "file photo.jpg", form: map[string]string{}, answer: `{"id":"$club.group","subject":"Club","participants":["*","*","*"],"pictureId":"*"}`},
		{habit: "no body", name: "leave", call: "DELETE /instance/$name/group/leave" + group, status: 204, answer: "none"},
	}
}
