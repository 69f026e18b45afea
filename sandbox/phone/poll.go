package phone

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"time"

	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/util/gcmutil"
	"go.mau.fi/whatsmeow/util/hkdfutil"
	"google.golang.org/protobuf/proto"
)

// Poll is a poll that a phone sent or received.
type Poll struct {
	Options []string // the options

	id           string
	chat, author types.JID // without a device
	secret       []byte
}

// Poll returns a poll of a chat that the phone keeps.
func (p *Phone) Poll(chat types.JID, id string) (Poll, bool) {
	p.mu.Lock()
	m, sent := p.sent.find(id)
	p.mu.Unlock()
	if sent && m.chat == chat {
		return pollOf(id, chat, p.lid, m.message)
	}
	r, ok := p.ReceivedIn(chat, id)
	if !ok {
		return Poll{}, false
	}
	return pollOf(id, chat, r.From.ToNonAD(), r.Message)
}

func pollOf(id string, chat, author types.JID, m *waE2E.Message) (Poll, bool) {
	k := Poll{id: id, chat: chat, author: author, secret: m.GetMessageContextInfo().GetMessageSecret()}
	for _, poll := range []*waE2E.PollCreationMessage{
		m.GetPollCreationMessage(), m.GetPollCreationMessageV2(), m.GetPollCreationMessageV3(), m.GetPollCreationMessageV5(),
	} {
		for _, option := range poll.GetOptions() {
			k.Options = append(k.Options, option.GetOptionName())
		}
	}
	return k, len(k.secret) > 0 && len(k.Options) > 0
}

// Vote returns a vote: the hashed options, encrypted with a key derived from the poll's
// secret, its author and the voter. No options withdraw the vote.
func (k *Poll) Vote(voter types.JID, options []string) (*waE2E.PollUpdateMessage, error) {
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

// key returns the key of the poll for the voter.
func (k *Poll) key(voter types.JID) *waCommon.MessageKey {
	key := &waCommon.MessageKey{RemoteJID: new(k.chat.String()), FromMe: new(k.author == voter), ID: &k.id}
	if k.chat.Server == types.GroupServer {
		key.Participant = new(k.author.String())
	}
	return key
}
