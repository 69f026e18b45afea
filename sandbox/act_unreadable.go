package sandbox

import (
	"context"
	"errors"
	"fmt"

	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waConsumerApplication"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/proto/waMsgApplication"
	"go.mau.fi/whatsmeow/proto/waMsgTransport"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"

	"postern/sandbox/network"
	"postern/sandbox/phone"
)

type undecryptableFields struct {
	To     string `json:"to" help:"the account: a number or an address; with corrupted, also of a group"`
	Kind   string `json:"kind" help:"corrupted (default): the ciphertext is damaged, and the client requests it again; view_once or another word: withheld from linked devices"`
	Hide   bool   `json:"hide" help:"with corrupted, request no placeholder"`
	Resend *bool  `json:"resend" help:"with corrupted, whether the phone sends it again on request; default true"`
	Copy   *bool  `json:"copy" help:"whether the account's own phone has it, and sends its linked devices a copy on request; default true, and never for view_once"`
	Text   string `json:"text" help:"the unreadable text"`
}

func actUndecryptable(ctx context.Context, s *network.Server, p *phone.Phone, f undecryptableFields) (any, error) {
	if f.To == "" {
		return nil, invalidField("to", "is missing")
	}
	if f.Kind == "" || f.Kind == "corrupted" {
		o := phone.SendOptions{Corrupt: true, NoResend: f.Resend != nil && !*f.Resend, NoCopy: !orTrue(f.Copy)}
		if f.Hide {
			o.DecryptFail = "hide"
		}
		return sendAs(ctx, p, f.To, &waE2E.Message{Conversation: &f.Text}, o)
	}
	if f.Hide || f.Resend != nil {
		return nil, invalidField("hide and resend", "are only for the kind corrupted")
	}
	id := phone.MessageID()
	if f.Kind != "view_once" && orTrue(f.Copy) {
		if _, err := sendAs(ctx, p, f.To, &waE2E.Message{Conversation: &f.Text}, phone.SendOptions{ID: id, PhoneOnly: true}); err != nil {
			return nil, err
		}
	}
	err := towards(p, "to", f.To, func(from, to types.JID) error { return s.SendUnavailable(from, to, id, f.Kind) })
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

// actFBMessage sends a message of Messenger's encrypted chats: another encoding in the
// same Signal session, as version 3 of the format.
func actFBMessage(ctx context.Context, _ *network.Server, p *phone.Phone, f fbMessageFields) (any, error) {
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
	id, err := p.SendTransport(ctx, to, f.ID, transport)
	if errors.Is(err, phone.ErrNoKeys) {
		return nil, invalidField("to", "has no linked device, and phones do not read Messenger's messages")
	}
	if err != nil {
		return nil, err
	}
	return sentResult{id}, nil
}

// messengerText wraps a text like Messenger: content, application, transport.
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
