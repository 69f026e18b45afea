package sandbox

import (
	"context"
	"crypto/rand"
	"net/http"
	"slices"

	"go.mau.fi/whatsmeow/proto/waE2E"

	"postern/sandbox/network"
	"postern/sandbox/phone"
)

// maxPollOptions is WhatsApp's limit.
const maxPollOptions = 12

type pollFields struct {
	To         string   `json:"to" help:"the recipient: a number or an address, also of a group"`
	Name       string   `json:"name" help:"the question"`
	Options    []string `json:"options" help:"2 to 12 different options"`
	Selectable int      `json:"selectable" help:"how many may be chosen; 0, the default: any number"`
	ID         string   `json:"id" help:"the message id; missing: a new one"`
}

func actPoll(ctx context.Context, _ *network.Server, p *phone.Phone, f pollFields) (any, error) {
	if f.Name == "" {
		return nil, invalidField("name", "is missing")
	}
	if len(f.Options) < 2 || len(f.Options) > maxPollOptions || repeats(f.Options) || slices.Contains(f.Options, "") {
		return nil, invalidField("options", "are not 2 to 12 different texts")
	}
	if f.Selectable < 0 || f.Selectable > len(f.Options) {
		return nil, invalidField("selectable", "is not from 0 to the number of options")
	}
	poll := &waE2E.PollCreationMessage{Name: &f.Name, SelectableOptionsCount: new(uint32(f.Selectable))}
	for _, option := range f.Options {
		poll.Options = append(poll.Options, &waE2E.PollCreationMessage_Option{OptionName: &option})
	}
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // crypto/rand never fails
	m := &waE2E.Message{MessageContextInfo: &waE2E.MessageContextInfo{MessageSecret: secret}}
	if f.Selectable == 1 {
		m.PollCreationMessageV3 = poll
	} else {
		m.PollCreationMessage = poll
	}
	return sendAs(ctx, p, f.To, m, phone.SendOptions{ID: f.ID})
}

func repeats(texts []string) bool {
	sorted := slices.Sorted(slices.Values(texts))
	return len(slices.Compact(sorted)) != len(texts)
}

type pollVoteFields struct {
	To      string   `json:"to" help:"the chat of the poll: a number or an address, also of a group"`
	ID      string   `json:"id" help:"the poll, which the phone sent or received"`
	Options []string `json:"options" help:"the chosen options; none withdraws the vote"`
}

func actPollVote(ctx context.Context, s *network.Server, p *phone.Phone, f pollVoteFields) (any, error) {
	chat, err := chatOf(s, f.To)
	if err != nil {
		return nil, err
	}
	if f.ID == "" {
		return nil, invalidField("id", "is missing")
	}
	poll, ok := p.Poll(chat, f.ID)
	if !ok {
		return nil, refusef(http.StatusUnprocessableEntity, "INVALID_VALUE", "id: the phone knows no poll %.100q in this chat", f.ID)
	}
	for _, option := range f.Options {
		if !slices.Contains(poll.Options, option) {
			return nil, invalidField("options", "names an answer that the poll does not have")
		}
	}
	vote, err := poll.Vote(p.LID(), f.Options)
	if err != nil {
		return nil, err
	}
	return sendAs(ctx, p, f.To, &waE2E.Message{PollUpdateMessage: vote}, phone.SendOptions{})
}
