package sandbox

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/encoding/protojson"
)

// messageActs are the acts of a phone that writes and reads.
func messageActs() []act {
	return []act{
		row("text", "the phone sends a text", actText),
		row("image", "the phone sends a picture", actImage),
		row("media", "the phone sends a file", actMedia),
		row("message", "the phone sends any message", actMessage),
		row("reaction", "the phone reacts to a message", actReaction),
		row("edit", "the phone edits a text that it sent", actEdit),
		row("revoke", "the phone deletes a message that it sent, for everyone", actRevoke),
		row("receipt", "the phone tells an account what became of its messages", actReceipt),
		row("undecryptable", "the phone sends a message that the linked devices of the account cannot read", actUndecryptable),
	}
}

// sentResult is the answer of every act that sends a message.
type sentResult struct {
	ID string `json:"id"`
}

// sendAs is the end of such an act.
func sendAs(ctx context.Context, p *Phone, to string, m *waE2E.Message, o SendOptions) (any, error) {
	jid, err := chatAddress("to", to)
	if err != nil {
		return nil, err
	}
	id, err := p.Send(ctx, jid, m, o)
	if err != nil {
		return nil, err
	}
	return sentResult{id}, nil
}

// chatAddress reads a number, or the address of a person or a group.
func chatAddress(field, text string) (types.JID, error) {
	if jid, err := types.ParseJID(text); err == nil && jid.Server == types.GroupServer {
		return groupAddress(field, text)
	}
	return address(field, text)
}

type textFields struct {
	To   string `json:"to" help:"whom to write to: a number or an address, of a group too"`
	Text string `json:"text" help:"the text"`
	ID   string `json:"id" help:"the message id; missing: a new one"`
}

func actText(ctx context.Context, _ *Server, p *Phone, f textFields) (any, error) {
	if f.Text == "" {
		return nil, invalidField("text", "is missing")
	}
	return sendAs(ctx, p, f.To, &waE2E.Message{Conversation: &f.Text}, SendOptions{ID: f.ID})
}

type imageFields struct {
	To      string `json:"to" help:"whom to write to: a number or an address, of a group too"`
	Caption string `json:"caption" help:"the text below the picture"`
	Image   string `json:"image" help:"a JPEG in base64; missing: a small grey one"`
}

func actImage(ctx context.Context, s *Server, p *Phone, f imageFields) (any, error) {
	return actMedia(ctx, s, p, mediaFields{To: f.To, Kind: "image", Caption: f.Caption, Data: f.Image})
}

type mediaFields struct {
	To       string `json:"to" help:"whom to write to: a number or an address, of a group too"`
	Kind     string `json:"kind" help:"image, video, voice, audio, document or sticker"`
	Caption  string `json:"caption" help:"the text below it"`
	FileName string `json:"fileName" help:"of a document"`
	MimeType string `json:"mimetype" help:"missing: the usual one of the kind"`
	Data     string `json:"data" help:"the file in base64; missing: some bytes"`
}

func actMedia(ctx context.Context, s *Server, p *Phone, f mediaFields) (any, error) {
	data := greyJPEG()
	if f.Data != "" {
		var err error
		if data, err = base64.StdEncoding.DecodeString(f.Data); err != nil {
			return nil, invalidField("data", "is not base64")
		}
	}
	m, err := s.mediaMessage(f, data)
	if err != nil {
		return nil, err
	}
	return sendAs(ctx, p, f.To, m, SendOptions{Type: "media"})
}

func (s *Server) mediaMessage(f mediaFields, data []byte) (*waE2E.Message, error) {
	purpose := map[string][2]string{
		"image": {"WhatsApp Image Keys", "image/jpeg"}, "sticker": {"WhatsApp Image Keys", "image/webp"},
		"video": {"WhatsApp Video Keys", "video/mp4"}, "voice": {"WhatsApp Audio Keys", "audio/ogg; codecs=opus"},
		"audio": {"WhatsApp Audio Keys", "audio/mpeg"}, "document": {"WhatsApp Document Keys", "application/pdf"},
	}
	of, ok := purpose[f.Kind]
	if !ok {
		return nil, invalidField("kind", "is not one of image, video, voice, audio, document, sticker")
	}
	if f.MimeType == "" {
		f.MimeType = of[1]
	}
	file, err := s.sealMedia(data, of[0])
	if err != nil {
		return nil, err
	}
	now := new(time.Now().Unix())
	switch f.Kind {
	case "image":
		return &waE2E.Message{ImageMessage: &waE2E.ImageMessage{
			URL: &file.url, DirectPath: &file.path, MediaKey: file.key, FileSHA256: file.sum, FileEncSHA256: file.encSum, FileLength: &file.size,
			Mimetype: &f.MimeType, Caption: &f.Caption, MediaKeyTimestamp: now, Width: new(uint32(64)), Height: new(uint32(64)), JPEGThumbnail: greyJPEG(),
		}}, nil
	case "video":
		return &waE2E.Message{VideoMessage: &waE2E.VideoMessage{
			URL: &file.url, DirectPath: &file.path, MediaKey: file.key, FileSHA256: file.sum, FileEncSHA256: file.encSum, FileLength: &file.size,
			Mimetype: &f.MimeType, Caption: &f.Caption, MediaKeyTimestamp: now, Seconds: new(uint32(3)),
		}}, nil
	case "voice", "audio":
		return &waE2E.Message{AudioMessage: &waE2E.AudioMessage{
			URL: &file.url, DirectPath: &file.path, MediaKey: file.key, FileSHA256: file.sum, FileEncSHA256: file.encSum, FileLength: &file.size,
			Mimetype: &f.MimeType, PTT: new(f.Kind == "voice"), MediaKeyTimestamp: now, Seconds: new(uint32(3)),
		}}, nil
	case "sticker":
		return &waE2E.Message{StickerMessage: &waE2E.StickerMessage{
			URL: &file.url, DirectPath: &file.path, MediaKey: file.key, FileSHA256: file.sum, FileEncSHA256: file.encSum, FileLength: &file.size,
			Mimetype: &f.MimeType, MediaKeyTimestamp: now,
		}}, nil
	default:
		return &waE2E.Message{DocumentMessage: &waE2E.DocumentMessage{
			URL: &file.url, DirectPath: &file.path, MediaKey: file.key, FileSHA256: file.sum, FileEncSHA256: file.encSum, FileLength: &file.size,
			Mimetype: &f.MimeType, Caption: &f.Caption, FileName: &f.FileName, MediaKeyTimestamp: now,
		}}, nil
	}
}

type messageFields struct {
	To      string          `json:"to" help:"whom to write to: a number or an address, of a group too"`
	Content json.RawMessage `json:"content" help:"the message in protobuf's JSON, such as {\"locationMessage\":{\"degreesLatitude\":52.5}}"`
	ID      string          `json:"id" help:"the message id; missing: a new one"`
	Edit    string          `json:"edit" help:"the stanza's edit attribute: 1 for an edit, 7 for a deletion"`
}

func actMessage(ctx context.Context, _ *Server, p *Phone, f messageFields) (any, error) {
	var m waE2E.Message
	if len(f.Content) == 0 {
		return nil, invalidField("content", "is missing")
	}
	if err := protojson.Unmarshal(f.Content, &m); err != nil {
		return nil, invalidField("content", "is not a message: "+err.Error())
	}
	return sendAs(ctx, p, f.To, &m, SendOptions{ID: f.ID, Edit: f.Edit})
}

type reactionFields struct {
	To     string `json:"to" help:"the chat of the message: a number or an address, of a group too"`
	ID     string `json:"id" help:"the message"`
	FromMe bool   `json:"fromMe" help:"whether the phone sent that message itself"`
	Emoji  string `json:"emoji" help:"the reaction; empty takes it back"`
}

func actReaction(ctx context.Context, _ *Server, p *Phone, f reactionFields) (any, error) {
	key, err := messageKey(p, f.To, f.ID, f.FromMe)
	if err != nil {
		return nil, err
	}
	return sendAs(ctx, p, f.To, &waE2E.Message{ReactionMessage: &waE2E.ReactionMessage{
		Key: key, Text: &f.Emoji, SenderTimestampMS: new(time.Now().UnixMilli()),
	}}, SendOptions{Type: "reaction"})
}

// messageKey names a message in the phone's chat with somebody, as the phone
// sees it.
func messageKey(p *Phone, chat, id string, fromMe bool) (*waCommon.MessageKey, error) {
	if id == "" {
		return nil, invalidField("id", "is missing")
	}
	jid, err := chatAddress("to", chat)
	if err != nil {
		return nil, err
	}
	if _, lid, ok := p.net.identityOf(jid); ok {
		jid = lid
	}
	return &waCommon.MessageKey{RemoteJID: new(jid.String()), FromMe: &fromMe, ID: &id}, nil
}

type editFields struct {
	To   string `json:"to" help:"the chat of the message: a number or an address, of a group too"`
	ID   string `json:"id" help:"the message, which the phone sent"`
	Text string `json:"text" help:"the new text"`
}

func actEdit(ctx context.Context, _ *Server, p *Phone, f editFields) (any, error) {
	key, err := messageKey(p, f.To, f.ID, true)
	if err != nil {
		return nil, err
	}
	edited := &waE2E.Message{ProtocolMessage: &waE2E.ProtocolMessage{
		Key: key, Type: waE2E.ProtocolMessage_MESSAGE_EDIT.Enum(),
		EditedMessage: &waE2E.Message{Conversation: &f.Text}, TimestampMS: new(time.Now().UnixMilli()),
	}}
	m := &waE2E.Message{EditedMessage: &waE2E.FutureProofMessage{Message: edited}}
	return sendAs(ctx, p, f.To, m, SendOptions{Edit: string(types.EditAttributeMessageEdit)})
}

type revokeFields struct {
	To string `json:"to" help:"the chat of the message: a number or an address, of a group too"`
	ID string `json:"id" help:"the message, which the phone sent"`
}

func actRevoke(ctx context.Context, _ *Server, p *Phone, f revokeFields) (any, error) {
	key, err := messageKey(p, f.To, f.ID, true)
	if err != nil {
		return nil, err
	}
	m := &waE2E.Message{ProtocolMessage: &waE2E.ProtocolMessage{Key: key, Type: waE2E.ProtocolMessage_REVOKE.Enum()}}
	return sendAs(ctx, p, f.To, m, SendOptions{Edit: string(types.EditAttributeSenderRevoke)})
}

type receiptFields struct {
	To   string   `json:"to" help:"the account that is told: a number or an address"`
	IDs  []string `json:"ids" help:"the message ids"`
	Type string   `json:"type" help:"delivery (default), inactive, read, read-self, played, played-self, sender, server-error, retry, or unknown: a type that clients do not know"`
}

func actReceipt(_ context.Context, s *Server, p *Phone, f receiptFields) (any, error) {
	if len(f.IDs) == 0 || slices.Contains(f.IDs, "") {
		return nil, invalidField("ids", "has to name messages")
	}
	if f.To == "" {
		return nil, invalidField("to", "is missing")
	}
	kinds := []string{"", "delivery", "inactive", "read", "read-self", "played", "played-self", "sender", "server-error", "retry", "unknown"}
	if !slices.Contains(kinds, f.Type) {
		return nil, invalidField("type", "is not one of "+strings.Join(kinds[1:], ", "))
	}
	return nil, s.between(p, "to", f.To, func(from, to *account) {
		s.queueForAll(to, receiptNode(from, f))
	})
}

// receiptNode is a receipt as the server passes it on. Some types never leave
// an account in the real network; here the act may send them all.
func receiptNode(from *account, f receiptFields) waBinary.Node {
	n := waBinary.Node{Tag: "receipt", Attrs: waBinary.Attrs{
		"id": f.IDs[0], "from": from.lid, "sender_pn": from.pn, "t": time.Now().Unix(),
	}}
	if f.Type != "" && f.Type != "delivery" {
		n.Attrs["type"] = f.Type
	}
	var children []waBinary.Node
	if f.Type == "retry" {
		children = append(children, waBinary.Node{Tag: "retry", Attrs: waBinary.Attrs{
			"count": 1, "id": f.IDs[0], "v": 1, "t": time.Now().Unix(),
		}})
	}
	if len(f.IDs) > 1 {
		var items []waBinary.Node
		for _, id := range f.IDs[1:] {
			items = append(items, waBinary.Node{Tag: "item", Attrs: waBinary.Attrs{"id": id}})
		}
		children = append(children, waBinary.Node{Tag: "list", Content: items})
	}
	if children != nil {
		n.Content = children
	}
	return n
}

type undecryptableFields struct {
	To   string `json:"to" help:"the account: a number or an address"`
	Kind string `json:"kind" help:"corrupted (default): the client asks again and gets it then; view_once or another word: kept from linked devices"`
	Hide bool   `json:"hide" help:"with corrupted, ask for no placeholder"`
	Text string `json:"text" help:"the text that cannot be read"`
}

func actUndecryptable(ctx context.Context, s *Server, p *Phone, f undecryptableFields) (any, error) {
	if f.To == "" {
		return nil, invalidField("to", "is missing")
	}
	if f.Kind == "" || f.Kind == "corrupted" {
		o := SendOptions{Corrupt: true}
		if f.Hide {
			o.DecryptFail = "hide"
		}
		return sendAs(ctx, p, f.To, &waE2E.Message{Conversation: &f.Text}, o)
	}
	id := messageID()
	err := s.between(p, "to", f.To, func(from, to *account) {
		s.queueForAll(to, waBinary.Node{
			Tag:     "message",
			Attrs:   waBinary.Attrs{"id": id, "from": from.lid, "sender_pn": from.pn, "type": "media", "t": time.Now().Unix(), "notify": from.pushName},
			Content: []waBinary.Node{{Tag: "unavailable", Attrs: waBinary.Attrs{"type": f.Kind}}},
		})
	})
	return sentResult{id}, err
}
