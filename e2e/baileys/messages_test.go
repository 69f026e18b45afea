package baileys

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
)

// talk is an instance of Postern and Baileys, linked to Anne's phone.
type talk struct {
	*rig.SendScene
	b *baileys
}

func talking(t *testing.T) talk {
	t.Helper()
	installed(t)
	s := rig.NewSendScene(t)
	return talk{s, link(t, s.Sandbox, rig.AnneNumber, t.TempDir())}
}

const shopJID = rig.OwnNumber + "@s.whatsapp.net"

// message is a message of Baileys.
type message struct {
	Key struct {
		RemoteJID   string `json:"remoteJid"`
		FromMe      bool   `json:"fromMe"`
		ID          string `json:"id"`
		Participant string `json:"participant,omitempty"`
	} `json:"key"`
	Message json.RawMessage `json:"message,omitempty"`
}

// says sends from Baileys, and waits until Postern reports it with want.
func (k talk) says(t *testing.T, to string, content map[string]any, want string) (m message, reported []byte) {
	t.Helper()
	from := len(k.Webhooks())
	k.b.call(&m, "sendMessage", k.Fill(to), content)
	return m, k.AwaitEvent(t, from, event.MessagesUpsert, fmt.Sprintf(`{"keyId":%q,%s}`, m.Key.ID, want))
}

// posts sends by Postern, and waits until Baileys reports it with want.
func (k talk) posts(t *testing.T, path, body, want string) (sent rig.SentMessage, got message) {
	t.Helper()
	from, hooks := k.b.seen(), len(k.Webhooks())
	sent = k.Sent(t, hooks, k.PostJSON(t, k.Fill(path), body), `{}`)
	return sent, k.arrives(t, from, sent.KeyID, want)
}

// arrives waits until Baileys reports a message with want.
func (k talk) arrives(t *testing.T, from int, id, want string) message {
	t.Helper()
	var upsert struct{ Messages []message }
	data := k.b.event(from, "messages.upsert", fmt.Sprintf(`{"messages":{"key":{"id":%q},%s}}`, id, k.Fill(want)))
	if err := json.Unmarshal(data, &upsert); err != nil || len(upsert.Messages) != 1 {
		t.Fatalf("%v: %s", err, data)
	}
	return upsert.Messages[0]
}

func TestTextsBothWays(t *testing.T) {
	t.Parallel()
	k := talking(t)
	sent, got := k.posts(t, "/instance/$name/send/text", `{"number":"$anne","textMessage":{"text":"good morning ☀"}}`,
		`"key":{"fromMe":false},"pushName":"Shop","message":{"conversation":"good morning ☀"}`)
	k.AwaitEvent(t, 0, event.MessagesUpdate, fmt.Sprintf(`{"messageId":%d,"status":"delivered"}`, sent.ID))
	from := len(k.Webhooks())
	k.b.call(nil, "readMessages", []any{got.Key})
	k.AwaitEvent(t, from, event.MessagesUpdate, fmt.Sprintf(`{"messageId":%d,"status":"read"}`, sent.ID))

	seen := k.b.seen()
	m, _ := k.says(t, shopJID, map[string]any{"text": "and to you"},
		`"keyRemoteJid":"$anne@s.whatsapp.net","keyLid":"$anneLID","pushName":"Anne","messageType":"extendedTextMessage","content":{"text":"and to you"}`)
	k.b.event(seen, "messages.update", fmt.Sprintf(`{"key":{"id":%q},"update":{"status":3}}`, m.Key.ID))
	// To the chat as Baileys reported it, with a quotation.
	k.says(t, got.Key.RemoteJID, map[string]any{"text": "once more"}, `"keyRemoteJid":"$anne@s.whatsapp.net","content":{"text":"once more"}`)
	// The phone of the account has what its other device sent.
	k.DecryptedAs(t, rig.AnneNumber, m.Key.ID, `{"extendedTextMessage":{"text":"and to you"}}`)
	a := k.PostJSON(t, k.Fill("/instance/$name/chat/read-message"), fmt.Sprintf(`{"chat":"$anne","keyIds":[%q]}`, m.Key.ID))
	if a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	k.b.event(seen, "messages.update", fmt.Sprintf(`{"key":{"id":%q},"update":{"status":4}}`, m.Key.ID))
}

func TestMediaBothWays(t *testing.T) {
	t.Parallel()
	k := talking(t)
	photo, err := os.ReadFile(filepath.Join("media", "testdata", "photo.jpg"))
	if err != nil {
		t.Fatal(err)
	}
	_, got := k.posts(t, "/instance/$name/send/media", `{"number":"$anne","mediaMessage":{"mediatype":"image","media":"$files/photo.jpg","caption":"look"}}`,
		`"message":{"imageMessage":{"caption":"look","mimetype":"image/jpeg"}}`)
	var file struct{ Data []byte }
	k.b.call(&file, "download", got)
	if !bytes.Equal(file.Data, photo) {
		t.Errorf("Baileys decrypted %d bytes, not the %d that were sent", len(file.Data), len(photo))
	}
	m, _ := k.says(t, shopJID, map[string]any{"image": buffer(photo), "caption": "and this", "jpegThumbnail": base64.StdEncoding.EncodeToString([]byte{1})},
		`"messageType":"imageMessage","content":{"caption":"and this","mimetype":"image/jpeg"}`)
	if a := k.PostJSON(t, k.Fill("/instance/$name/media/data?binary=true"), fmt.Sprintf(`{"messageId":%q}`, m.Key.ID)); a.Status != http.StatusOK || !bytes.Equal(a.Body, photo) {
		t.Errorf("%d, %d bytes: %.200s", a.Status, len(a.Body), a.Body)
	}
	note, err := os.ReadFile(filepath.Join("media", "testdata", "note.ogg"))
	if err != nil {
		t.Fatal(err)
	}
	k.says(t, shopJID, map[string]any{"audio": buffer(note), "ptt": true, "seconds": 2, "mimetype": "audio/ogg; codecs=opus"}, `"messageType":"audioMessage","content":{"ptt":true}`)
	k.says(t, shopJID, map[string]any{"document": buffer([]byte("a,b\n")), "fileName": "people.csv", "mimetype": "text/csv"}, `"messageType":"documentMessage","content":{"fileName":"people.csv"}`)
}

// buffer is bytes as the program reads them.
func buffer(data []byte) map[string]any {
	return map[string]any{"type": "Buffer", "data": base64.StdEncoding.EncodeToString(data)}
}

func TestReactionsEditsRevocationsBothWays(t *testing.T) {
	t.Parallel()
	k := talking(t)
	sent, got := k.posts(t, "/instance/$name/send/text", `{"number":"$anne","textMessage":{"text":"first"}}`, `"message":{"conversation":"first"}`)
	k.says(t, shopJID, map[string]any{"react": map[string]any{"text": "👍", "key": got.Key}},
		fmt.Sprintf(`"messageType":"reactionMessage","content":{"text":"👍","key":{"id":%q}}`, sent.KeyID))
	from := k.b.seen()
	k.postsChange(t, http.MethodPost, "/instance/$name/chat/edit-message", fmt.Sprintf(`{"messageId":%q,"text":"second"}`, sent.KeyID))
	k.b.event(from, "messages.update", fmt.Sprintf(`{"key":{"id":%q},"update":{"message":{"editedMessage":{"message":{"conversation":"second"}}}}}`, sent.KeyID))
	k.postsChange(t, http.MethodDelete, "/instance/$name/chat/delete-message?id="+sent.KeyID, "")
	k.b.event(from, "messages.update", fmt.Sprintf(`{"key":{"id":%q},"update":{"messageStubType":1}}`, sent.KeyID))

	m, _ := k.says(t, shopJID, map[string]any{"text": "third"}, `"content":{"text":"third"}`)
	from = k.b.seen()
	k.PostJSON(t, k.Fill("/instance/$name/send/reaction"), fmt.Sprintf(`{"reactionMessage":{"key":{"remoteJid":"$anne@s.whatsapp.net","id":%q,"fromMe":false},"reaction":"🎉"}}`, m.Key.ID))
	k.b.event(from, "messages.reaction", fmt.Sprintf(`{"key":{"id":%q},"reaction":{"text":"🎉"}}`, m.Key.ID))
	k.says(t, shopJID, map[string]any{"text": "fourth", "edit": m.Key}, fmt.Sprintf(`"content":{"text":"fourth"},"metadata":{"edited":true,"editOf":%q}`, m.Key.ID))
	k.says(t, shopJID, map[string]any{"delete": m.Key}, fmt.Sprintf(`"metadata":{"revoked":%q}`, m.Key.ID))
}

func (k talk) postsChange(t *testing.T, method, path, body string) {
	t.Helper()
	if status, answer := k.Raw(consumer.Bearer(k.Token), method, k.Fill(path), k.Fill(body)); status >= 300 {
		t.Fatalf("%s: %d %s", path, status, answer)
	}
}
