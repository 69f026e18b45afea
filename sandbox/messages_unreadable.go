package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waConsumerApplication"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/proto/waMsgApplication"
	"go.mau.fi/whatsmeow/proto/waMsgTransport"
	"google.golang.org/protobuf/proto"
)

type undecryptableFields struct {
	To     string `json:"to" help:"the account: a number or an address; with corrupted, of a group too"`
	Kind   string `json:"kind" help:"corrupted (default): the ciphertext is damaged, and the client asks again; view_once or another word: kept from linked devices"`
	Hide   bool   `json:"hide" help:"with corrupted, ask for no placeholder"`
	Resend *bool  `json:"resend" help:"with corrupted, whether the phone sends it again when asked; default true"`
	Text   string `json:"text" help:"the text that cannot be read"`
}

func actUndecryptable(ctx context.Context, s *Server, p *Phone, f undecryptableFields) (any, error) {
	if f.To == "" {
		return nil, invalidField("to", "is missing")
	}
	if f.Kind == "" || f.Kind == "corrupted" {
		o := SendOptions{Corrupt: true, NoResend: f.Resend != nil && !*f.Resend}
		if f.Hide {
			o.DecryptFail = "hide"
		}
		return sendAs(ctx, p, f.To, &waE2E.Message{Conversation: &f.Text}, o)
	}
	if f.Hide || f.Resend != nil {
		return nil, invalidField("hide and resend", "are only for the kind corrupted")
	}
	id := messageID()
	err := s.between(p, "to", f.To, func(from, to *account) {
		s.queueForAll(to, waBinary.Node{
			Tag:     "message",
			Attrs:   waBinary.Attrs{"id": id, "from": from.lid, "sender_pn": from.pn, "type": "media", "t": time.Now().Unix(), "notify": from.pushName},
			Content: []waBinary.Node{{Tag: "unavailable", Attrs: waBinary.Attrs{"type": f.Kind}}},
		})
	})
	if err != nil {
		return nil, err
	}
	return sentResult{id}, nil
}

type fbMessageFields struct {
	To   string `json:"to" help:"the account, which needs a linked device: a number or an address"`
	Text string `json:"text" help:"the text"`
	ID   string `json:"id" help:"the message id; missing: a new one"`
}

// actFBMessage sends what Messenger's encrypted chats consist of: another encoding within
// the same Signal session, as version 3 of the format.
func actFBMessage(ctx context.Context, _ *Server, p *Phone, f fbMessageFields) (any, error) {
	if f.Text == "" {
		return nil, invalidField("text", "is missing")
	}
	to, err := address("to", f.To)
	if err != nil {
		return nil, err
	}
	transport, err := messengerText(f.Text)
	if err != nil {
		return nil, err
	}
	id, err := p.send(ctx, to, sentMessage{id: f.ID, transport: transport})
	if errors.Is(err, errNoKeys) {
		return nil, invalidField("to", "has no linked device, and phones do not read Messenger's messages")
	}
	if err != nil {
		return nil, err
	}
	return sentResult{id}, nil
}

// messengerText wraps a text as Messenger does: content, application, transport.
func messengerText(text string) ([]byte, error) {
	var consumer waMsgApplication.MessageApplication_SubProtocolPayload_ConsumerMessage
	err := consumer.Set(&waConsumerApplication.ConsumerApplication{
		Payload: &waConsumerApplication.ConsumerApplication_Payload{
			Payload: &waConsumerApplication.ConsumerApplication_Payload_Content{
				Content: &waConsumerApplication.ConsumerApplication_Content{
					Content: &waConsumerApplication.ConsumerApplication_Content_MessageText{
						MessageText: &waCommon.MessageText{Text: &text},
					},
				},
			},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("encode the content of a Messenger text: %w", err)
	}
	application, err := proto.Marshal(&waMsgApplication.MessageApplication{
		Payload: &waMsgApplication.MessageApplication_Payload{
			Content: &waMsgApplication.MessageApplication_Payload_SubProtocol{
				SubProtocol: &waMsgApplication.MessageApplication_SubProtocolPayload{SubProtocol: &consumer},
			},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("encode a Messenger text: %w", err)
	}
	return proto.Marshal(&waMsgTransport.MessageTransport{
		Payload: &waMsgTransport.MessageTransport_Payload{
			ApplicationPayload: &waCommon.SubProtocol{
				Payload: application, Version: new(int32(waMsgTransport.FBMessageApplicationVersion)),
			},
		},
	})
}
