package whatsapp

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"

	"postern/event"
	"postern/whatsapp/translate"
)

// composeVote encrypts a vote with the secret of its poll. The key contains the addresses of both people in the
// form that the chat uses: the LID, where it is known.
func composeVote(ctx context.Context, cli *whatsmeow.Client, own translate.Account, v *event.VoteContent) (*waE2E.Message, error) {
	chat, sender, err := place(own, v.Poll)
	if err != nil {
		return nil, err
	}
	book := translate.AddressBook(cli.Store)
	hidden := func(jid types.JID) types.JID {
		if jid.ToNonAD() == own.JID.ToNonAD() {
			return own.LID.ToNonAD()
		}
		if lid := book(jid); jid.Server == types.DefaultUserServer && !lid.IsEmpty() {
			return lid
		}
		return jid
	}
	info := &types.MessageInfo{ID: v.Poll.ID, MessageSource: types.MessageSource{
		Chat: hidden(chat), Sender: hidden(sender), IsFromMe: v.Poll.FromMe, IsGroup: chat.Server == types.GroupServer,
	}}
	m, err := cli.BuildPollVote(ctx, info, v.Options)
	if errors.Is(err, whatsmeow.ErrOriginalMessageSecretNotFound) {
		return nil, event.ErrPollNotReadable
	}
	return m, err
}

// voteMetadata is the metadata of an own vote, as of one that was received.
func voteMetadata(v *event.VoteContent) json.RawMessage {
	var about struct {
		Vote struct {
			SelectedOptions [][]byte `json:"selectedOptions,omitempty"`
		} `json:"vote"`
	}
	for _, option := range v.Options {
		sum := sha256.Sum256([]byte(option))
		about.Vote.SelectedOptions = append(about.Vote.SelectedOptions, sum[:])
	}
	raw, _ := json.Marshal(about)
	return raw
}
