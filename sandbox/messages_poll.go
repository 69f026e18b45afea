package sandbox

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"time"

	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/util/gcmutil"
	"go.mau.fi/whatsmeow/util/hkdfutil"
	"google.golang.org/protobuf/proto"
)

// maxPollOptions is WhatsApp's limit.
const maxPollOptions = 12

type pollFields struct {
	To         string   `json:"to" help:"whom to ask: a number or an address, of a group too"`
	Name       string   `json:"name" help:"the question"`
	Options    []string `json:"options" help:"2 to 12 different answers"`
	Selectable int      `json:"selectable" help:"how many of them one may choose; 0, the default: any number"`
	ID         string   `json:"id" help:"the message id; missing: a new one"`
}

func actPoll(ctx context.Context, _ *Server, p *Phone, f pollFields) (any, error) {
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
	return sendAs(ctx, p, f.To, m, SendOptions{ID: f.ID})
}

func repeats(texts []string) bool {
	sorted := slices.Sorted(slices.Values(texts))
	return len(slices.Compact(sorted)) != len(texts)
}

type pollVoteFields struct {
	To      string   `json:"to" help:"the chat of the poll: a number or an address, of a group too"`
	ID      string   `json:"id" help:"the poll, which the phone sent or received"`
	Options []string `json:"options" help:"the chosen answers; none takes the vote back"`
}

func actPollVote(ctx context.Context, _ *Server, p *Phone, f pollVoteFields) (any, error) {
	chat, err := p.chat(f.To)
	if err != nil {
		return nil, err
	}
	if f.ID == "" {
		return nil, invalidField("id", "is missing")
	}
	poll, ok := p.poll(chat, f.ID)
	if !ok {
		return nil, refusef(http.StatusUnprocessableEntity, "INVALID_VALUE", "id: the phone knows no poll %.100q in this chat", f.ID)
	}
	for _, option := range f.Options {
		if !slices.Contains(poll.options, option) {
			return nil, invalidField("options", "names an answer that the poll does not have")
		}
	}
	vote, err := poll.vote(p.LID(), f.Options)
	if err != nil {
		return nil, err
	}
	return sendAs(ctx, p, f.To, &waE2E.Message{PollUpdateMessage: vote}, SendOptions{})
}

// knownPoll is a poll that a phone sent or received.
type knownPoll struct {
	id           string
	chat, author types.JID // without a device
	secret       []byte
	options      []string
}

func (p *Phone) poll(chat types.JID, id string) (knownPoll, bool) {
	p.mu.Lock()
	m, sent := p.sent.find(id)
	p.mu.Unlock()
	if sent && m.chat == chat {
		return pollOf(id, chat, p.lid, m.message)
	}
	r, ok := p.received(chat, id)
	if !ok {
		return knownPoll{}, false
	}
	return pollOf(id, chat, r.From.ToNonAD(), r.Message)
}

func pollOf(id string, chat, author types.JID, m *waE2E.Message) (knownPoll, bool) {
	k := knownPoll{id: id, chat: chat, author: author, secret: m.GetMessageContextInfo().GetMessageSecret()}
	for _, poll := range []*waE2E.PollCreationMessage{
		m.GetPollCreationMessage(), m.GetPollCreationMessageV2(), m.GetPollCreationMessageV3(), m.GetPollCreationMessageV5(),
	} {
		for _, option := range poll.GetOptions() {
			k.options = append(k.options, option.GetOptionName())
		}
	}
	return k, len(k.secret) > 0 && len(k.options) > 0
}

// vote hashes the chosen answers and encrypts them with a key that the poll's secret, its
// author and the voter make.
func (k *knownPoll) vote(voter types.JID, options []string) (*waE2E.PollUpdateMessage, error) {
	chosen := &waE2E.PollVoteMessage{}
	for _, option := range options {
		sum := sha256.Sum256([]byte(option))
		chosen.SelectedOptions = append(chosen.SelectedOptions, sum[:])
	}
	plaintext, err := proto.Marshal(chosen)
	if err != nil {
		return nil, fmt.Errorf("encode a vote in poll %s: %w", k.id, err)
	}
	purpose := k.id + k.author.String() + voter.String() + "Poll Vote"
	iv := make([]byte, 12)
	_, _ = rand.Read(iv) // crypto/rand never fails
	ciphertext, err := gcmutil.Encrypt(hkdfutil.SHA256(k.secret, nil, []byte(purpose), 32), iv, plaintext, []byte(k.id+"\x00"+voter.String()))
	if err != nil {
		return nil, fmt.Errorf("encrypt a vote in poll %s: %w", k.id, err)
	}
	return &waE2E.PollUpdateMessage{
		PollCreationMessageKey: k.key(voter), SenderTimestampMS: new(time.Now().UnixMilli()),
		Vote: &waE2E.PollEncValue{EncPayload: ciphertext, EncIV: iv},
	}, nil
}

// key names the poll as the voter sees it.
func (k *knownPoll) key(voter types.JID) *waCommon.MessageKey {
	key := &waCommon.MessageKey{RemoteJID: new(k.chat.String()), FromMe: new(k.author == voter), ID: &k.id}
	if k.chat.Server == types.GroupServer {
		key.Participant = new(k.author.String())
	}
	return key
}
