package phone

import (
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/util/gcmutil"
	"go.mau.fi/whatsmeow/util/hkdfutil"
	"google.golang.org/protobuf/proto"
)

// ErrNoSecret reports that a message came without the secret that an addition to it is encrypted with.
var ErrNoSecret = errors.New("the message came without a secret, so that nothing can be added to it")

// Purposes of a key derived from a message's secret.
const (
	sealedVote     = "Poll Vote"
	sealedReaction = "Enc Reaction"
	sealedEdit     = "Message Edit"
)

// target is a message that a phone adds something to.
type target struct {
	id           string
	chat, author types.JID // without a device
	secret       []byte
}

// seal encrypts an addition by somebody with a key that is derived from the secret of the message, its
// author and them. data is authenticated with it.
func (t *target) seal(purpose string, by types.JID, data []byte, addition proto.Message) (iv, ciphertext []byte, err error) {
	plaintext, err := proto.Marshal(addition)
	if err != nil {
		return nil, nil, fmt.Errorf("encode an addition to message %s: %w", t.id, err)
	}
	iv = make([]byte, 12)
	_, _ = rand.Read(iv) // crypto/rand never fails
	key := hkdfutil.SHA256(t.secret, nil, []byte(t.id+t.author.String()+by.String()+purpose), 32)
	if ciphertext, err = gcmutil.Encrypt(key, iv, plaintext, data); err != nil {
		return nil, nil, fmt.Errorf("encrypt an addition to message %s: %w", t.id, err)
	}
	return iv, ciphertext, nil
}

// key returns the key of the message for somebody.
func (t *target) key(by types.JID) *waCommon.MessageKey {
	key := &waCommon.MessageKey{RemoteJID: new(t.chat.String()), FromMe: new(t.author == by), ID: &t.id}
	if t.chat.Server == types.GroupServer {
		key.Participant = new(t.author.String())
	}
	return key
}

// target returns a message of a chat that the phone sent or received.
func (p *Phone) target(chat types.JID, id string) (target, *waE2E.Message, bool) {
	p.mu.Lock()
	m, sent := p.sent.find(id)
	p.mu.Unlock()
	if sent && m.chat == chat {
		return target{id, chat, p.lid, m.message.GetMessageContextInfo().GetMessageSecret()}, m.message, true
	}
	r, ok := p.ReceivedIn(chat, id)
	return target{id, chat, r.From.ToNonAD(), r.Message.GetMessageContextInfo().GetMessageSecret()}, r.Message, ok
}

// SealedReaction returns a reaction as it is sent in the announcements of a community, where only the
// members may see who reacts. Errors: ErrNoSecret, also for a message that the phone does not have.
func (p *Phone) SealedReaction(chat types.JID, id, emoji string) (*waE2E.Message, error) {
	t, _, ok := p.target(chat, id)
	if !ok || len(t.secret) == 0 {
		return nil, ErrNoSecret
	}
	iv, ciphertext, err := t.seal(sealedReaction, p.lid, nil, &waE2E.ReactionMessage{Text: &emoji, SenderTimestampMS: new(time.Now().UnixMilli())})
	if err != nil {
		return nil, err
	}
	return &waE2E.Message{EncReactionMessage: &waE2E.EncReactionMessage{TargetMessageKey: t.key(p.lid), EncPayload: ciphertext, EncIV: iv}}, nil
}

// SealedEdit returns an edit of a text of the account, encrypted with the secret of the text. Errors are
// those of SealedReaction.
func (p *Phone) SealedEdit(chat types.JID, id, text string) (*waE2E.Message, error) {
	t, _, ok := p.target(chat, id)
	if !ok || len(t.secret) == 0 {
		return nil, ErrNoSecret
	}
	iv, ciphertext, err := t.seal(sealedEdit, p.lid, nil, &waE2E.Message{Conversation: &text})
	if err != nil {
		return nil, err
	}
	return &waE2E.Message{SecretEncryptedMessage: &waE2E.SecretEncryptedMessage{
		TargetMessageKey: t.key(p.lid), EncPayload: ciphertext, EncIV: iv, SecretEncType: waE2E.SecretEncryptedMessage_MESSAGE_EDIT.Enum(),
	}}, nil
}
