package phone

import (
	"crypto/sha256"
	"time"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
)

// Poll is a poll that a phone sent or received.
type Poll struct {
	Options []string // the options

	target
}

// Poll returns a poll of a chat that the phone keeps.
func (p *Phone) Poll(chat types.JID, id string) (Poll, bool) {
	t, m, ok := p.target(chat, id)
	if !ok {
		return Poll{}, false
	}
	k := Poll{target: t}
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
	iv, ciphertext, err := k.seal(sealedVote, voter, []byte(k.id+"\x00"+voter.String()), chosen)
	if err != nil {
		return nil, err
	}
	return &waE2E.PollUpdateMessage{
		PollCreationMessageKey: k.key(voter), SenderTimestampMS: new(time.Now().UnixMilli()),
		Vote: &waE2E.PollEncValue{EncPayload: ciphertext, EncIV: iv},
	}, nil
}
