package sandbox

import (
	"context"
	"fmt"
	"time"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/network"
	"postern/sandbox/phone"
)

type pastFields struct {
	With     string `json:"with" help:"the chat: a number or an address, also of a group"`
	Messages *int   `json:"messages" help:"how many messages; default 1, at most 200000"`
	Text     string `json:"text" help:"their text, followed by the number of each; default past"`
	Ago      int    `json:"ago" help:"age of the newest in days; default 1"`
	Every    int    `json:"every" help:"seconds between two of them; default 60"`
	Sender   string `json:"sender" help:"in a group, the sender of those that the phone did not send"`
	Kind     string `json:"kind" help:"image, video, gif, voice, audio, document or sticker: each message has a file, and its text as the caption where the kind has one; missing: texts"`
	Data     string `json:"data" help:"with kind, the file in base64; missing: a small grey JPEG"`
	Blob     bool   `json:"blob" help:"true: all history of the phone is downloaded as a file, even if it is small"`
}

// actPast makes every second message the phone's own; the last one has the number 1.
func actPast(_ context.Context, s *network.Server, p *phone.Phone, f pastFields) (any, error) {
	chat, err := chatAddress("with", f.With)
	if err != nil {
		return nil, err
	}
	n := 1
	if f.Messages != nil {
		n = *f.Messages
	}
	if n < 1 || n > maxHistory {
		return nil, invalidField("messages", fmt.Sprintf("has to be 1 to %d", maxHistory))
	}
	if f.Ago < 0 || f.Ago > 3650 || f.Every < 0 || f.Every > 86400 {
		return nil, invalidField("ago", "has to be 0 to 3650, and every 0 to 86400")
	}
	if f.Text == "" {
		f.Text = "past"
	}
	var sender types.JID
	if f.Sender != "" {
		if sender, err = address("sender", f.Sender); err != nil {
			return nil, err
		}
	}
	newest, every := time.Now().AddDate(0, 0, -max(1, f.Ago)), time.Duration(max(1, f.Every))*time.Second
	if f.Every == 0 {
		every = time.Minute
	}
	file, err := f.file(s)
	if err != nil {
		return nil, err
	}
	past := make([]phone.PastMessage, n)
	for i := range past {
		past[i] = phone.PastMessage{
			ID: fmt.Sprintf("3APAST%s%08d", chat.User, i+1), FromMe: i%2 == 1, Sender: sender,
			At: newest.Add(-time.Duration(i) * every),
		}
		text := fmt.Sprintf("%s %d", f.Text, i+1)
		if past[i].Message = (&waE2E.Message{Conversation: &text}); file != nil {
			past[i].Message = file.message(mediaFields{Kind: f.Kind, MimeType: mediaKinds[f.Kind].mimetype, Caption: text}, past[i].At)
		}
	}
	p.Recall(chat, past)
	if f.Blob {
		p.GiveFiles()
	}
	return nil, nil
}

// file uploads the file of the messages; nil: they are texts.
func (f *pastFields) file(s *network.Server) (*sealed, error) {
	if f.Kind == "" {
		return nil, nil
	}
	kind, ok := mediaKinds[f.Kind]
	if !ok {
		return nil, invalidField("kind", notAKind)
	}
	data, err := fileOf("data", f.Data, 0)
	if err != nil {
		return nil, err
	}
	file, err := s.SealMedia(data, kind.purpose)
	return &sealed{file}, err
}
