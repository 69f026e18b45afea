package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/encoding/protojson"

	"postern/sandbox/network"
	"postern/sandbox/phone"
)

// messageActs are the acts of a phone that sends and reads messages.
func messageActs() []act {
	return []act{
		row("text", "the phone sends a text; linked devices of the account receive their own phone's messages as sent by themselves", actText),
		row("status", "the phone's user posts a status that an account sees", actStatus),
		row("broadcast", "the phone sends a text to a broadcast list that an account is on", actBroadcast),
		row("image", "the phone sends a picture", actImage),
		row("media", "the phone sends a file", actMedia),
		row("message", "the phone sends any message", actMessage),
		row("reaction", "the phone reacts to a message", actReaction),
		row("edit", "the phone edits a text that it sent", actEdit),
		row("revoke", "the phone deletes a message that it sent, for everyone", actRevoke),
		row("poll", "the phone sends a poll", actPoll),
		row("poll-vote", "the phone votes in a poll that it sent or received", actPollVote),
		row("vote", "the same as poll-vote", actPollVote),
		row("fb-message", "a Messenger user writes to the linked devices of the account", actFBMessage),
		row("set-timer", "the phone sets the disappearing timer of a direct chat (of a group: group-update)", actSetTimer),
		row("receipt", "the phone sends an account a receipt for its messages", actReceipt),
		row("undecryptable", "the phone sends a message that the linked devices of the account cannot read", actUndecryptable),
	}
}

// sentResult is the answer of every act that sends a message.
type sentResult struct {
	ID string `json:"id"`
}

// sendAs sends the message of such an act.
func sendAs(ctx context.Context, p *phone.Phone, to string, m *waE2E.Message, o phone.SendOptions) (any, error) {
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

type textFields struct {
	To   string `json:"to" help:"the recipient: a number or an address, also of a group"`
	Text string `json:"text" help:"the text"`
	ID   string `json:"id" help:"the message id; missing: a new one"`
}

func actText(ctx context.Context, _ *network.Server, p *phone.Phone, f textFields) (any, error) {
	if f.Text == "" {
		return nil, invalidField("text", "is missing")
	}
	return sendAs(ctx, p, f.To, &waE2E.Message{Conversation: &f.Text}, phone.SendOptions{ID: f.ID})
}

type timerFields struct {
	To      string `json:"to" help:"the other person of the chat: a number or an address"`
	Seconds uint32 `json:"seconds" help:"time until messages disappear; 0: never"`
}

func actSetTimer(ctx context.Context, _ *network.Server, p *phone.Phone, f timerFields) (any, error) {
	to, err := address("to", f.To)
	if err != nil {
		return nil, err
	}
	id, err := p.SetTimer(ctx, to, f.Seconds)
	if err != nil {
		return nil, err
	}
	return sentResult{id}, nil
}

type statusFields struct {
	To   string `json:"to" help:"the person who sees it: a number or an address"`
	Text string `json:"text" help:"the text"`
	ID   string `json:"id" help:"the message id; missing: a new one"`
}

func actStatus(ctx context.Context, _ *network.Server, p *phone.Phone, f statusFields) (any, error) {
	return broadcast(ctx, p, types.StatusBroadcastJID, f)
}

func actBroadcast(ctx context.Context, _ *network.Server, p *phone.Phone, f statusFields) (any, error) {
	return broadcast(ctx, p, types.NewJID("1600000000", types.BroadcastServer), f)
}

func broadcast(ctx context.Context, p *phone.Phone, list types.JID, f statusFields) (any, error) {
	if f.Text == "" {
		return nil, invalidField("text", "is missing")
	}
	to, err := address("to", f.To)
	if err != nil {
		return nil, err
	}
	id, err := p.Broadcast(ctx, list, to, &waE2E.Message{Conversation: &f.Text}, f.ID)
	if err != nil {
		return nil, err
	}
	return sentResult{id}, nil
}

type messageFields struct {
	To      string          `json:"to" help:"the recipient: a number or an address, also of a group"`
	Content json.RawMessage `json:"content" help:"the message in protobuf's JSON, such as {\"locationMessage\":{\"degreesLatitude\":52.5}}"`
	ID      string          `json:"id" help:"the message id; missing: a new one"`
	Edit    string          `json:"edit" help:"the stanza's edit attribute: 1 for an edit, 7 for a deletion, 8 for one by an admin"`
}

func actMessage(ctx context.Context, _ *network.Server, p *phone.Phone, f messageFields) (any, error) {
	var m waE2E.Message
	if len(f.Content) == 0 {
		return nil, invalidField("content", "is missing")
	}
	if err := protojson.Unmarshal(f.Content, &m); err != nil {
		return nil, invalidField("content", fmt.Sprintf("is not a message: %.100s", err.Error()))
	}
	return sendAs(ctx, p, f.To, &m, phone.SendOptions{ID: f.ID, Edit: f.Edit})
}

type reactionFields struct {
	To          string `json:"to" help:"the chat of the message: a number or an address, also of a group"`
	ID          string `json:"id" help:"the message"`
	FromMe      bool   `json:"fromMe" help:"whether the phone sent that message itself"`
	Participant string `json:"participant" help:"in a group, the sender of the message; missing: as the phone received it"`
	Emoji       string `json:"emoji" help:"the reaction; empty removes it"`
}

func actReaction(ctx context.Context, s *network.Server, p *phone.Phone, f reactionFields) (any, error) {
	if f.FromMe && f.Participant != "" {
		return nil, invalidField("participant", "cannot be given with fromMe")
	}
	key, err := messageKey(s, p, f.To, f.ID, f.FromMe, f.Participant)
	if err != nil {
		return nil, err
	}
	if chat, err := chatOf(s, f.To); err == nil && s.Announcements(chat) {
		sealed, err := p.SealedReaction(chat, f.ID, f.Emoji)
		if err != nil {
			return nil, invalidField("id", err.Error())
		}
		return sendAs(ctx, p, f.To, sealed, phone.SendOptions{})
	}
	return sendAs(ctx, p, f.To, &waE2E.Message{ReactionMessage: &waE2E.ReactionMessage{
		Key: key, Text: &f.Emoji, SenderTimestampMS: new(time.Now().UnixMilli()),
	}}, phone.SendOptions{})
}

// messageKey returns the key of a message in the phone's chat with a person or group.
// In groups it needs the sender of messages that the phone did not send.
func messageKey(s *network.Server, p *phone.Phone, to, id string, fromMe bool, participant string) (*waCommon.MessageKey, error) {
	if id == "" {
		return nil, invalidField("id", "is missing")
	}
	chat, err := chatOf(s, to)
	if err != nil {
		return nil, err
	}
	key := &waCommon.MessageKey{RemoteJID: new(chat.String()), FromMe: &fromMe, ID: &id}
	if chat.Server != types.GroupServer {
		if participant != "" {
			return nil, invalidField("participant", "is only for groups")
		}
		return key, nil
	}
	author := p.LID()
	if !fromMe {
		if author, err = authorIn(s, p, chat, id, participant); err != nil {
			return nil, err
		}
	}
	key.Participant = new(author.String())
	return key, nil
}

// authorIn returns the sender of a group message: the given one, or as the phone
// received it.
func authorIn(s *network.Server, p *phone.Phone, group types.JID, id, participant string) (types.JID, error) {
	if participant == "" {
		if r, ok := p.ReceivedIn(group, id); ok {
			return r.From.ToNonAD(), nil
		}
		return types.JID{}, invalidField("participant", "is missing: the phone did not receive this message")
	}
	jid, err := address("participant", participant)
	if err != nil {
		return types.JID{}, err
	}
	_, lid, ok := s.IdentityOf(jid)
	if !ok {
		return types.JID{}, fmt.Errorf("participant %.100q: %w", participant, phone.ErrNoAccount)
	}
	return lid, nil
}

type editFields struct {
	To   string `json:"to" help:"the chat of the message: a number or an address, also of a group"`
	ID   string `json:"id" help:"the message, which the phone sent"`
	Text string `json:"text" help:"the new text"`
	Seal bool   `json:"seal" help:"whether the edit is encrypted with the secret of the message, as newer phones do"`
}

func actEdit(ctx context.Context, s *network.Server, p *phone.Phone, f editFields) (any, error) {
	key, err := messageKey(s, p, f.To, f.ID, true, "")
	if err != nil {
		return nil, err
	}
	if f.Text == "" {
		return nil, invalidField("text", "is missing")
	}
	if f.Seal {
		chat, err := chatOf(s, f.To)
		if err != nil {
			return nil, err
		}
		sealed, err := p.SealedEdit(chat, f.ID, f.Text)
		if err != nil {
			return nil, invalidField("id", err.Error())
		}
		return sendAs(ctx, p, f.To, sealed, phone.SendOptions{Edit: string(types.EditAttributeMessageEdit)})
	}
	edited := &waE2E.Message{ProtocolMessage: &waE2E.ProtocolMessage{
		Key: key, Type: waE2E.ProtocolMessage_MESSAGE_EDIT.Enum(),
		EditedMessage: &waE2E.Message{Conversation: &f.Text}, TimestampMS: new(time.Now().UnixMilli()),
	}}
	m := &waE2E.Message{EditedMessage: &waE2E.FutureProofMessage{Message: edited}}
	return sendAs(ctx, p, f.To, m, phone.SendOptions{Edit: string(types.EditAttributeMessageEdit)})
}

type revokeFields struct {
	To          string `json:"to" help:"the chat of the message: a number or an address, also of a group"`
	ID          string `json:"id" help:"the message, which the phone sent"`
	Participant string `json:"participant" help:"in a group, the sender of the message if it is another person: the phone deletes it as an admin"`
}

func actRevoke(ctx context.Context, s *network.Server, p *phone.Phone, f revokeFields) (any, error) {
	own := f.Participant == ""
	key, err := messageKey(s, p, f.To, f.ID, own, f.Participant)
	if err != nil {
		return nil, err
	}
	edit := types.EditAttributeSenderRevoke
	if !own {
		edit = types.EditAttributeAdminRevoke
	}
	m := &waE2E.Message{ProtocolMessage: &waE2E.ProtocolMessage{Key: key, Type: waE2E.ProtocolMessage_REVOKE.Enum()}}
	return sendAs(ctx, p, f.To, m, phone.SendOptions{Edit: string(edit)})
}
