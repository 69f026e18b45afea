package phone

import "go.mau.fi/whatsmeow/proto/waE2E"

// stanzaType is the type of a message that clients send to the server, which cannot
// read it.
func stanzaType(m *waE2E.Message) string {
	m = unwrapped(m)
	switch {
	case m.GetReactionMessage() != nil, m.GetEncReactionMessage() != nil:
		return "reaction"
	case m.GetPollCreationMessage() != nil, m.GetPollCreationMessageV2() != nil,
		m.GetPollCreationMessageV3() != nil, m.GetPollUpdateMessage() != nil:
		return "poll"
	case mediaType(m) != "":
		return "media"
	default:
		return "text"
	}
}

// mediaType is the mediatype attribute of an <enc>, empty for texts and the like.
func mediaType(m *waE2E.Message) string {
	m = unwrapped(m)
	switch {
	case m.GetImageMessage() != nil:
		return "image"
	case m.GetVideoMessage().GetGifPlayback():
		return "gif"
	case m.GetVideoMessage() != nil:
		return "video"
	case m.GetAudioMessage().GetPTT():
		return "ptt"
	case m.GetAudioMessage() != nil:
		return "audio"
	case m.GetDocumentMessage() != nil:
		return "document"
	case m.GetStickerMessage() != nil:
		return "sticker"
	case m.GetContactMessage() != nil:
		return "vcard"
	case m.GetContactsArrayMessage() != nil:
		return "contact_array"
	default:
		return mediaTypeOfReply(m)
	}
}

func mediaTypeOfReply(m *waE2E.Message) string {
	switch {
	case m.GetListMessage() != nil:
		return "list"
	case m.GetListResponseMessage() != nil:
		return "list_response"
	case m.GetButtonsResponseMessage() != nil:
		return "buttons_response"
	case m.GetInteractiveResponseMessage() != nil:
		return "native_flow_response"
	case m.GetOrderMessage() != nil:
		return "order"
	case m.GetProductMessage() != nil:
		return "product"
	case m.GetExtendedTextMessage().GetTitle() != "":
		return "url"
	default:
		return ""
	}
}

// unwrapped returns the message inside wrappers that only determine how it is shown.
func unwrapped(m *waE2E.Message) *waE2E.Message {
	for _, wrapper := range []*waE2E.FutureProofMessage{
		m.GetViewOnceMessage(), m.GetViewOnceMessageV2(), m.GetViewOnceMessageV2Extension(),
		m.GetEphemeralMessage(), m.GetDocumentWithCaptionMessage(), m.GetLottieStickerMessage(),
	} {
		if inner := wrapper.GetMessage(); inner != nil {
			return unwrapped(inner)
		}
	}
	return m
}
