package sends

import (
	"fmt"

	"postern/event"
	"postern/httpapi/ref"
	"postern/httpapi/rest"
	"postern/httpapi/strict"
)

// The bodies of the send routes that take JSON. Each names its content as existing clients do.

// SendTextRequest sends a text.
type SendTextRequest struct {
	sendTarget
	TextMessage event.TextContent `json:"textMessage" strict:"required" doc:"The content of the message."`
}

func (r *SendTextRequest) content() (event.Content, error) { return r.TextMessage.Content() }

type sendLinkRequest struct {
	sendTarget
	LinkMessage event.LinkContent `json:"linkMessage" strict:"required" doc:"The content of the message."`
}

func (r *sendLinkRequest) content() (event.Content, error) { return r.LinkMessage.Content() }

type sendMediaRequest struct {
	sendTarget
	MediaMessage event.MediaContent `json:"mediaMessage" strict:"required" doc:"The content of the message."`
	UploadID     event.UploadID     `json:"mediaUploadId"` // beside the content instead of in it
}

func (r *sendMediaRequest) content() (event.Content, error) {
	if err := oneUpload(&r.MediaMessage.UploadID, r.UploadID); err != nil {
		return event.Content{}, err
	}
	if err := rest.NeedKind(&r.MediaMessage); err != nil {
		return event.Content{}, strict.Under(err, "mediaMessage")
	}
	return r.MediaMessage.Content()
}

type sendVoiceRequest struct {
	sendTarget
	AudioMessage event.AudioContent `json:"audioMessage" strict:"required" doc:"The content of the message."`
	UploadID     event.UploadID     `json:"mediaUploadId"` // beside the content instead of in it
}

func (r *sendVoiceRequest) content() (event.Content, error) {
	if err := oneUpload(&r.AudioMessage.UploadID, r.UploadID); err != nil {
		return event.Content{}, err
	}
	return r.AudioMessage.Content()
}

// oneUpload copies an upload that is named beside a content into the content.
func oneUpload(inside *event.UploadID, beside event.UploadID) error {
	if *inside != "" && beside != "" && *inside != beside {
		return fmt.Errorf("%w: mediaUploadId is given twice with different values", event.ErrContent)
	}
	if *inside == "" {
		*inside = beside
	}
	return nil
}

type sendStickerRequest struct {
	sendTarget
	StickerMessage event.StickerContent `json:"stickerMessage" strict:"required" doc:"The content of the message."`
}

func (r *sendStickerRequest) content() (event.Content, error) { return r.StickerMessage.Content() }

type sendContactRequest struct {
	sendTarget
	ContactMessage []event.ContactContent `json:"contactMessage" strict:"required"`
}

func (r *sendContactRequest) content() (event.Content, error) {
	return event.Contacts("contactMessage", r.ContactMessage)
}

type sendLocationRequest struct {
	sendTarget
	LocationMessage event.LocationContent `json:"locationMessage" strict:"required" doc:"The content of the message."`
}

func (r *sendLocationRequest) content() (event.Content, error) { return r.LocationMessage.Content() }

type sendReactionRequest struct {
	sendTarget
	ReactionMessage event.ReactionContent `json:"reactionMessage" strict:"required" doc:"The content of the message."`
}

// content is addressed to the chat of the message that it reacts to, unless another chat is named.
func (r *sendReactionRequest) content() (event.Content, error) {
	if r.ReactionMessage.Key == (event.MessageKey{}) && r.ReactionMessage.ServerID == nil {
		return event.Content{}, strict.Missing("reactionMessage.key", "is required")
	}
	if r.Number == nil && r.Chat == nil && r.Recipient == nil {
		r.Chat = &r.ReactionMessage.Key.RemoteJID
	}
	return r.ReactionMessage.Content()
}

type sendPollRequest struct {
	sendTarget
	PollMessage event.PollContent `json:"pollMessage" strict:"required" doc:"The content of the message."`
}

func (r *sendPollRequest) content() (event.Content, error) { return r.PollMessage.Content() }

type sendForwardRequest struct {
	sendTarget
	MessageID ref.Message `json:"messageId" strict:"required" doc:"The stored message: its id here, or its id at WhatsApp." example:"42"`
}

// sendStatusRequest has no recipient: a status is for the account's contacts.
type sendStatusRequest struct {
	StatusMessage statusMessage `json:"statusMessage" strict:"required" doc:"The content of the message."`
	Options       statusOptions `json:"options" doc:"How it is sent."`
}

// statusMessage is the content of a status, and who gets it.
type statusMessage struct {
	event.StatusContent
	Audience []string `json:"audience"`
}

// maxAudience is how many people the audience of a status can name.
const maxAudience = 5000

// audience returns the JIDs of those who get the status, nil for all whom the account's privacy says.
func (m *statusMessage) audience(c *rest.Call) (all []string, err error) {
	if m.Audience == nil {
		return nil, c.MayWriteTo(event.StatusBroadcast)
	}
	if len(m.Audience) == 0 || len(m.Audience) > maxAudience {
		return nil, fmt.Errorf("%w: statusMessage.audience must have 1 to %d entries", event.ErrContent, maxAudience)
	}
	for i, name := range m.Audience {
		if err := mentionable(c, &name); err != nil {
			return nil, fmt.Errorf("statusMessage.audience[%d]: %w", i, err)
		}
		all = append(all, name)
	}
	return all, nil
}

type statusOptions struct {
	ExternalAttributes *strict.Object `json:"externalAttributes"`
	laterOptions
}
