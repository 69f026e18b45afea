package translate

import (
	"context"
	"errors"
	"fmt"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
	"go.mau.fi/whatsmeow/util/gcmutil"
	"go.mau.fi/whatsmeow/util/hkdfutil"
	"google.golang.org/protobuf/proto"
)

// errSealed is the error of an addition that cannot be decrypted.
var errSealed = errors.New("not sealed with the secret of another message")

// nonceLength is the length that the cipher requires; it panics at any other.
const nonceLength = 12

// sealed is a part of a message that is encrypted with the secret of another message.
type sealed interface {
	GetEncIV() []byte
	GetEncPayload() []byte
}

// reveal decrypts what is encrypted with the secret of another message: a reaction or
// comment in a community, the new form of a message, a vote, the answer to an
// invitation. The first three replace the message; the others are added to md. If the
// other message was never received, or the data is invalid, it stays encrypted.
func reveal(cli *whatsmeow.Client, evt *events.Message, u unwrapped, md *metadata) unwrapped {
	if u.message == nil || cli == nil {
		return u
	}
	bare := *evt // the library decrypts only the outermost message
	bare.Message = u.message
	ctx := context.Background()
	switch m := u.message; {
	case m.PollUpdateMessage != nil:
		if vote, err := openVote(ctx, cli, &bare); err == nil {
			md.Vote = objectOf(vote)
		}
	case m.EncEventResponseMessage != nil:
		if answer, err := openEventResponse(ctx, cli, &bare); err == nil {
			md.EventResponse = objectOf(answer)
		}
	case m.EncReactionMessage != nil:
		if reaction, err := openReaction(ctx, cli, &bare); err == nil {
			return u.replace("encReactionMessage", &waE2E.Message{ReactionMessage: reaction})
		}
	case m.EncCommentMessage != nil:
		if comment, err := openComment(ctx, cli, &bare); err == nil {
			return u.replace("encCommentMessage", &waE2E.Message{CommentMessage: comment})
		}
	case m.SecretEncryptedMessage != nil:
		if inner, err := openSecret(ctx, cli, &bare); err == nil {
			return u.replaceSecret(m.SecretEncryptedMessage, inner)
		}
	}
	return u
}

// replace replaces the message by the decrypted one.
func (u unwrapped) replace(wrapper string, inner *waE2E.Message) unwrapped {
	in := unwrap(inner)
	u.message = in.message
	u.wrappers = append(append(u.wrappers, wrapper), in.wrappers...)
	if in.edited {
		u.edited, u.editOf = true, in.editOf
	}
	if u.parent == nil {
		u.parent = in.parent
	}
	return u
}

func (u unwrapped) replaceSecret(outer *waE2E.SecretEncryptedMessage, inner *waE2E.Message) unwrapped {
	u = u.replace("secretEncryptedMessage", inner)
	if isEdit(outer) {
		u.edited = true
		if u.editOf == "" {
			u.editOf = keyID(outer.GetTargetMessageKey())
		}
	}
	return u
}

func openable(s sealed) error {
	if len(s.GetEncIV()) != nonceLength {
		return errSealed
	}
	return nil
}

func openVote(ctx context.Context, cli *whatsmeow.Client, evt *events.Message) (*waE2E.PollVoteMessage, error) {
	if err := openable(evt.Message.GetPollUpdateMessage().GetVote()); err != nil {
		return nil, err
	}
	return cli.DecryptPollVote(ctx, evt)
}

// openReaction sets the key of the message that the reaction is for, as in an
// unencrypted one.
func openReaction(ctx context.Context, cli *whatsmeow.Client, evt *events.Message) (*waE2E.ReactionMessage, error) {
	enc := evt.Message.GetEncReactionMessage()
	if err := openable(enc); err != nil {
		return nil, err
	}
	reaction, err := cli.DecryptReaction(ctx, evt)
	if err != nil {
		return nil, err
	}
	if reaction.Key == nil {
		reaction.Key = enc.GetTargetMessageKey()
	}
	return reaction, nil
}

func openComment(ctx context.Context, cli *whatsmeow.Client, evt *events.Message) (*waE2E.CommentMessage, error) {
	enc := evt.Message.GetEncCommentMessage()
	if err := openable(enc); err != nil {
		return nil, err
	}
	inner, err := cli.DecryptComment(ctx, evt)
	if err != nil {
		return nil, err
	}
	return &waE2E.CommentMessage{Message: inner, TargetMessageKey: enc.GetTargetMessageKey()}, nil
}

func openSecret(ctx context.Context, cli *whatsmeow.Client, evt *events.Message) (*waE2E.Message, error) {
	enc := evt.Message.GetSecretEncryptedMessage()
	if err := openable(enc); err != nil {
		return nil, err
	}
	if enc.SecretEncType == nil {
		return nil, errSealed // the library would panic
	}
	inner, err := cli.DecryptSecretEncryptedMessage(ctx, evt)
	if err != nil {
		return nil, err
	}
	if _, _, ok := contentOf(inner); !ok {
		return nil, errSealed
	}
	return inner, nil
}

// openEventResponse decrypts what the library has no call for yet. The key is derived
// from the secret of the event's message, its id and both people's addresses, as for a
// vote. People have two addresses: the one in the key of the event is tried first, then
// the one that the secret is stored under.
func openEventResponse(ctx context.Context, cli *whatsmeow.Client, evt *events.Message) (*waE2E.EventResponseMessage, error) {
	enc := evt.Message.GetEncEventResponseMessage()
	if err := openable(enc); err != nil {
		return nil, err
	}
	key := enc.GetEventCreationMessageKey()
	author := authorOf(evt, key)
	secret, stored, err := cli.Store.MsgSecrets.GetMessageSecret(ctx, evt.Info.Chat, author, key.GetID())
	if err != nil || secret == nil {
		return nil, fmt.Errorf("secret of the event %s: %w", key.GetID(), errors.Join(errSealed, err))
	}
	sender := evt.Info.Sender.ToNonAD().String()
	for _, author := range []types.JID{author, stored} {
		info := key.GetID() + author.ToNonAD().String() + sender + string(whatsmeow.EncSecretEventResponse)
		derived := hkdfutil.SHA256(secret, nil, []byte(info), 32)
		plain, err := gcmutil.Decrypt(derived, enc.GetEncIV(), enc.GetEncPayload(), []byte(key.GetID()+"\x00"+sender))
		if err != nil {
			continue
		}
		var answer waE2E.EventResponseMessage
		return &answer, proto.Unmarshal(plain, &answer)
	}
	return nil, errSealed
}

// authorOf returns the sender of the message that a key names, empty if it is unclear.
func authorOf(evt *events.Message, key *waCommon.MessageKey) types.JID {
	if key.GetFromMe() {
		return evt.Info.Sender
	}
	address := key.GetParticipant()
	if address == "" {
		address = key.GetRemoteJID()
	}
	author, err := types.ParseJID(address)
	if err != nil {
		return types.EmptyJID
	}
	return author
}

// objectOf returns a message as a JSON object.
func objectOf(m proto.Message) []byte {
	var w jsonWriter
	w.message(m.ProtoReflect(), 0)
	return w.buf
}
