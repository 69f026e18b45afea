package httpapi

import "postern/event"

// The bodies of the send routes that take JSON. Each names its content as
// existing clients do.

type sendTextRequest struct {
	sendTarget
	TextMessage event.TextContent `json:"textMessage" strict:"required"`
}

func (r *sendTextRequest) content() (event.Content, error) { return r.TextMessage.Content() }

type sendLinkRequest struct {
	sendTarget
	LinkMessage event.LinkContent `json:"linkMessage" strict:"required"`
}

func (r *sendLinkRequest) content() (event.Content, error) { return r.LinkMessage.Content() }

type sendMediaRequest struct {
	sendTarget
	MediaMessage event.MediaContent `json:"mediaMessage" strict:"required"`
}

func (r *sendMediaRequest) content() (event.Content, error) { return r.MediaMessage.Content() }

type sendVoiceRequest struct {
	sendTarget
	AudioMessage event.AudioContent `json:"audioMessage" strict:"required"`
}

func (r *sendVoiceRequest) content() (event.Content, error) { return r.AudioMessage.Content() }

type sendStickerRequest struct {
	sendTarget
	StickerMessage event.StickerContent `json:"stickerMessage" strict:"required"`
}

func (r *sendStickerRequest) content() (event.Content, error) { return r.StickerMessage.Content() }

type sendContactRequest struct {
	sendTarget
	ContactMessage []event.ContactContent `json:"contactMessage" strict:"required"`
}

func (r *sendContactRequest) content() (event.Content, error) {
	return event.Contacts(r.ContactMessage)
}

type sendLocationRequest struct {
	sendTarget
	LocationMessage event.LocationContent `json:"locationMessage" strict:"required"`
}

func (r *sendLocationRequest) content() (event.Content, error) { return r.LocationMessage.Content() }

type sendReactionRequest struct {
	sendTarget
	ReactionMessage event.ReactionContent `json:"reactionMessage" strict:"required"`
}

func (r *sendReactionRequest) content() (event.Content, error) { return r.ReactionMessage.Content() }

type sendPollRequest struct {
	sendTarget
	PollMessage event.PollContent `json:"pollMessage" strict:"required"`
}

func (r *sendPollRequest) content() (event.Content, error) { return r.PollMessage.Content() }

type sendForwardRequest struct {
	sendTarget
	MessageID messageRef `json:"messageId" strict:"required"` // a stored message
}

// sendStatusRequest has no recipient: a status is for the account's contacts.
type sendStatusRequest struct {
	StatusMessage event.StatusContent `json:"statusMessage" strict:"required"`
	Options       statusOptions       `json:"options"`
}

type statusOptions struct {
	ExternalAttributes *jsonObject `json:"externalAttributes"`
}
