package sends

import (
	"encoding/base64"
	"net/http"

	"postern/batch"
	"postern/event"
	"postern/httpapi/openapi"
	"postern/httpapi/rest"
)

// sendRow describes a send to a recipient: with mentionAll it is asynchronous.
func sendRow(d rest.Words) rest.Words {
	d.Once, d.Out = true, rest.TypeOf[SentMessage]()
	d.Also = []openapi.Answer{{
		Status: http.StatusAccepted, Type: rest.TypeOf[acceptedSend](),
		About: "With `options.mentionAll` the message is sent asynchronously; the event `send.message` with this processId has the result.",
	}}
	return d
}

func sendDescriptions() map[string]rest.Words {
	all := map[string]rest.Words{
		"POST /instance/{i}/send/text": {
			ID: "sendText", Summary: "Send a text.", In: rest.TypeOf[SendTextRequest](),
			Example: `{"number":"4915112345678","textMessage":{"text":"Your order is on its way."}}`, Codes: rest.SendingTo(),
		},
		"POST /instance/{i}/send/link": {
			ID: "sendLink", Summary: "Send a link with its preview.", In: rest.TypeOf[sendLinkRequest](),
			Example: `{"number":"4915112345678","linkMessage":{"link":"https://example.org/offer","title":"This week's offer","description":"Until Sunday"}}`,
			Codes:   rest.SendingTo("INVALID_MEDIA"),
		},
		"POST /instance/{i}/send/media": {
			ID: "sendMedia", Summary: "Send an image, a video, a document, music or a round video note.", About: "The file is a URL or the id of an earlier upload.",
			In: rest.TypeOf[sendMediaRequest](), Example: `{"number":"4915112345678","mediaMessage":{"mediatype":"image","media":"https://example.org/cat.jpg","caption":"Our cat"}}`,
			Codes: rest.SendingFile(),
		},
		"POST /instance/{i}/send/ptt": {
			ID: "sendVoiceNote", Summary: "Send a voice note, by its URL or an earlier upload.", In: rest.TypeOf[sendVoiceRequest](),
			Example: `{"number":"4915112345678","audioMessage":{"audio":"https://example.org/note.ogg"}}`, Codes: rest.SendingFile(),
		},
		"POST /instance/{i}/send/contact": {
			ID: "sendContact", Summary: "Send one or more contacts.", In: rest.TypeOf[sendContactRequest](),
			Example: `{"number":"4915112345678","contactMessage":[{"fullName":"Ada Lovelace","phoneNumber":"4915187654321"}]}`, Codes: rest.SendingTo(),
		},
		"POST /instance/{i}/send/location": {
			ID: "sendLocation", Summary: "Send a location.", In: rest.TypeOf[sendLocationRequest](),
			Example: `{"number":"4915112345678","locationMessage":{"latitude":52.5163,"longitude":13.3777,"name":"Brandenburg Gate"}}`, Codes: rest.SendingTo(),
		},
		"POST /instance/{i}/send/reaction": {
			ID: "sendReaction", Summary: "React to a message, or remove the reaction.", In: rest.TypeOf[sendReactionRequest](),
			Example: `{"number":"4915112345678","reactionMessage":{"key":{"remoteJid":"4915112345678@s.whatsapp.net","id":"3EB0C767D097B7C7C030","fromMe":false},"reaction":"👍"}}`,
			Codes:   rest.SendingTo(),
		},
		"POST /instance/{i}/send/sticker": {
			ID: "sendSticker", Summary: "Send a sticker, by its URL or an earlier upload.", In: rest.TypeOf[sendStickerRequest](),
			Example: `{"number":"4915112345678","stickerMessage":{"sticker":"https://example.org/cat.webp"}}`, Codes: rest.SendingFile(),
		},
		"POST /instance/{i}/send/poll": {
			ID: "sendPoll", Summary: "Send a poll.", In: rest.TypeOf[sendPollRequest](),
			Example: `{"number":"4915112345678","pollMessage":{"name":"When?","options":["Today","Tomorrow"],"selectableCount":1}}`, Codes: rest.SendingTo(),
		},
		"POST /instance/{i}/send/forward": {
			ID: "forwardMessage", Summary: "Forward a stored message.", In: rest.TypeOf[sendForwardRequest](),
			Example: `{"number":"4915112345678","messageId":42}`, Codes: rest.SendingFile("MESSAGE_NOT_FOUND", "MESSAGE_WITHOUT_MEDIA", "MEDIA_GONE"),
		},

		"POST /instance/{i}/send/media-file": {
			ID: "sendMediaFile", Summary: "Send the uploaded file.", Form: targetFields("mediaType", "caption", "fileName", "mimetype", "viewOnce"), Codes: rest.SendingFile(),
		},
		"POST /instance/{i}/send/ptt-file": {
			ID: "sendVoiceNoteFile", Summary: "Send the uploaded file as a voice note.", Form: targetFields("viewOnce"), Codes: rest.SendingFile(),
		},
		"POST /instance/{i}/send/sticker-file": {
			ID: "sendStickerFile", Summary: "Send the uploaded file as a sticker.", Form: targetFields(), Codes: rest.SendingFile(),
		},
	}
	for key, d := range all {
		all[key] = sendRow(d)
	}
	all["POST /instance/{i}/send/status"] = rest.Words{
		ID: "sendStatus", Summary: "Post a text status, which all contacts see for a day.", Once: true, In: rest.TypeOf[sendStatusRequest](),
		Example: `{"statusMessage":{"text":"Open until eight today.","backgroundColor":"#1b5e20"}}`, Out: rest.TypeOf[event.Message](), Codes: rest.Sending(),
	}
	return all
}

func fileDescriptions() map[string]rest.Words {
	return map[string]rest.Words{
		"POST /instance/{i}/media/uploads": {
			ID: "createUpload", Summary: "Upload a file to WhatsApp ahead of a send: from a URL, or as a multipart body.",
			In: rest.TypeOf[uploadRequest](), Example: `{"mediaType":"image","media":"https://example.org/cat.jpg"}`,
			Form:   uploadFields(),
			Status: http.StatusCreated, Out: rest.TypeOf[UploadView](), Codes: rest.Asking("INVALID_MEDIA", "INVALID_MESSAGE", "MEDIA_TYPE_UNSUPPORTED", "DISK_FULL", rest.CodeLimitReached),
		},
		"GET /instance/{i}/media/uploads": {
			ID: "listUploads", Summary: "List the uploads, newest first.", Query: []string{"mediaType", "expired", "externalId", "createdFrom", "createdTo", "limit", "nextCursor", "previousCursor"},
			Out: rest.TypeOf[batch.List[UploadView]](), Codes: rest.Codes{rest.CodeNoCursor},
		},
		"GET /instance/{i}/upload/{id}":    {ID: "getUpload", Summary: "Show an upload.", Out: rest.TypeOf[UploadView](), Codes: rest.Codes{"UPLOAD_NOT_FOUND"}},
		"DELETE /instance/{i}/upload/{id}": {ID: "deleteUpload", Summary: "Delete an upload.", Status: http.StatusNoContent, Codes: rest.Codes{"UPLOAD_NOT_FOUND"}},
		"POST /instance/{i}/media/data": {
			ID: "getMediaData", Summary: "Download the file of a stored message.", In: rest.TypeOf[mediaDataRequest](), Example: `{"messageId":42}`,
			About: "With binary=true the answer is the file itself.", Query: []string{"binary"}, Out: rest.TypeOf[FileAnswer](), Media: "*/*",
			Codes: rest.Asking("MESSAGE_NOT_FOUND", "MESSAGE_WITHOUT_MEDIA", "MEDIA_GONE", "INVALID_MEDIA", "DISK_FULL"),
		},
	}
}

// SendFields are the fields of send bodies.
func SendFields() openapi.Fields {
	content := rest.Say("The content of the message.", nil)
	return openapi.Fields{
		"SendTextRequest.textMessage":         content,
		"SendLinkRequest.linkMessage":         content,
		"SendMediaRequest.mediaMessage":       content,
		"SendVoiceRequest.audioMessage":       content,
		"SendStickerRequest.stickerMessage":   content,
		"SendLocationRequest.locationMessage": content,
		"SendReactionRequest.reactionMessage": content,
		"SendPollRequest.pollMessage":         content,
		"SendStatusRequest.statusMessage":     content,
		"SendContactRequest.contactMessage":   rest.Say("The contacts.", nil, openapi.Items(1, event.MaxContacts)),
		"EditRequest.text":                    rest.Say("The new text, or the new caption.", "Your order arrives tomorrow.", openapi.Chars(1, event.MaxText)),
		"SendForwardRequest.messageId":        rest.Say("The stored message: its id here, or its id at WhatsApp.", 42),
		"SendStatusRequest.options":           rest.Say("How it is sent.", nil),

		"SendTarget.options":           rest.Say("How it is sent.", nil),
		"SendOptions.delay":            rest.Say("Milliseconds to wait before the send, while the chat shows the presence. Up to 120000, for voice notes up to 300000.", 1200, openapi.Range(0, maxVoiceDelay)),
		"SendOptions.presence":         rest.Say("The presence shown before the message. available and unavailable apply to the account, the others to the chat. If it cannot be sent, the message is sent anyway, and the header warning says why.", string(event.PresenceComposing), openapi.OneOf(rest.Presences()[1:]...)),
		"SendOptions.quotedMessageId":  rest.Say("The stored message to quote: its id here, or its id at WhatsApp.", 42),
		"SendOptions.quotedMessage":    rest.Say("The message to quote, which need not be stored here.", nil),
		"QuotedMessage.key":            rest.Say("Which message it is.", nil),
		"QuotedMessage.message":        rest.Say("Its content: one field, named by its messageType.", openapi.Object{"conversation": "When does it come?"}),
		"QuotedMessage.keyRemoteJid":   rest.Say("The JID of the chat, where key is not given.", rest.ExampleJID),
		"QuotedMessage.keyParticipant": rest.Say("The JID of the sender in a group, where key is not given.", rest.ExampleJID),
		"QuotedMessage.content":        rest.Say("Its content in the form of an event, where message is not given.", nil),
		"MessageKey.remoteJid":         rest.Say("The JID of the chat.", rest.ExampleJID, openapi.AtLeastChars(1)),
		"MessageKey.id":                rest.Say("The message's id at WhatsApp.", rest.ExampleKeyID, openapi.AtLeastChars(1)),
		"MessageKey.fromMe":            rest.Say("Whether the account itself sent it.", false),
		"MessageKey.participant":       rest.Say("The JID of the sender; needed in groups.", rest.ExampleJID),

		"SendMediaFileForm.mediaType": rest.Say("The kind of message to send the file as.", string(event.MediaImage), openapi.OneOf(mediaKinds()...)),

		"AcceptedSend.statusCode": rest.Say("The status of the answer.", 202, openapi.Object{"enum": []any{202}}),
		"AcceptedSend.status":     rest.Say("Always processing; distinguishes this answer from one with the message.", "processing", openapi.OneOf("processing")),
		"AcceptedSend.message":    rest.Say("What happens, for people.", "the message is being sent"),
		"AcceptedSend.processId":  rest.Say("The processId of the event send.message with the result.", rest.ExampleUUID),

		"UploadRequest.media":         rest.Say("The http or https URL of the file.", "https://example.org/cat.jpg", openapi.Format("uri"), openapi.Chars(1, event.MaxURL)),
		"Upload.uuid":                 rest.Say("The upload's UUID, an alternative to its number.", rest.ExampleUUID),
		"Upload.externalId":           rest.Say("The caller's name for it; null when none was given.", "cat-7"),
		"Upload.originalFileName":     rest.Say("The file's name.", "cat.jpg"),
		"Upload.originalFileSize":     rest.Say("The length of the file in bytes.", 48213, openapi.AtLeast(0)),
		"Upload.expired":              rest.Say("Whether it has expired, so that messages can no longer use it.", false),
		"Upload.upload":               rest.Say("The address of the encrypted file at WhatsApp, without its key.", nil),
		"UploadedFile.url":            rest.Say("The address of the encrypted file.", "https://mmg.whatsapp.net/v/t62.7118-24/1", openapi.Format("uri")),
		"UploadedFile.directPath":     rest.Say("Its path on any of WhatsApp's hosts.", "/v/t62.7118-24/1"),
		"UploadedFile.fileSha256":     rest.Say("The SHA-256 of the file.", "iFHmzHYLUhaZM3ZScsKTpinwJZaR1D41BnY2sIudWM0="),
		"UploadedFile.fileEncSha256":  rest.Say("The SHA-256 of the encrypted file.", "OvAA3++DhQrVBjQsrEhaOVU5q6M51ah6ujY0sryMdlo="),
		"UploadedFile.fileSHA256":     rest.Say("The same as fileSha256.", "iFHmzHYLUhaZM3ZScsKTpinwJZaR1D41BnY2sIudWM0="),
		"UploadedFile.fileEncSHA256":  rest.Say("The same as fileEncSha256.", "OvAA3++DhQrVBjQsrEhaOVU5q6M51ah6ujY0sryMdlo="),
		"UploadedFile.fileLength":     rest.Say("The length of the file in bytes, before encryption.", 48213, openapi.AtLeast(0)),
		"UploadRequest.externalId":    rest.Say("A name chosen by the caller, to find it by.", "cat-7", openapi.Chars(0, maxExternalID)),
		"CreateUploadForm.externalId": rest.Say("A name chosen by the caller, to find it by.", "cat-7", openapi.Chars(0, maxExternalID)),
		"MediaDataRequest.id":         rest.Say("The stored message, as in messageId.", 42),
		"MediaDataRequest.content":    rest.Say("The content of a message as in an event, with its messageType.", nil),
		"MediaFile.size":              rest.Say("The size of the file.", nil),
		"MediaFile.base64":            rest.Say("The file.", "/9j/4AAQSkZJRg=="),
		"FileSize.fileLength":         rest.Say("The file's length in bytes.", 48213, openapi.AtLeast(0)),
		"Upload.id":                   rest.Say("The upload's number, over all instances.", 17, openapi.AtLeast(1)),
		"MediaDataRequest.messageId":  rest.Say("The stored message: its id here, or its id at WhatsApp.", 42),
	}
}

// FormFields are the fields of multipart bodies, where all values are strings.
func FormFields() openapi.Fields {
	flag := openapi.OneOf("true", "false")
	return openapi.Fields{
		"Form.options":            rest.Say("The options of the other send routes, as JSON. They may also be fields of the form.", `{"delay":1200}`),
		"Form.delay":              rest.Say("Milliseconds to wait before the send.", "1200", openapi.Pattern("^[0-9]*$")),
		"Form.presence":           rest.Say("The presence shown before the message.", string(event.PresenceComposing), openapi.OneOf(rest.Presences()[1:]...)),
		"Form.quotedMessageId":    rest.Say("The stored message to quote: its id here, or its id at WhatsApp.", "42"),
		"Form.quotedMessage":      rest.Say("The message to quote, as JSON.", `{"key":{"remoteJid":"`+rest.ExampleJID+`","id":"`+rest.ExampleKeyID+`"},"message":{"conversation":"hi"}}`),
		"Form.mentionAll":         rest.Say("Whether every member of the group is mentioned.", "false", flag),
		"Form.externalAttributes": rest.Say("An object attached by the caller, as JSON.", `{"order":42}`),
		"Form.viewOnce":           rest.Say("Whether the recipient can view it only once. For images, videos and voice notes.", "false", flag),
	}
}

// ContentFields are the fields of message contents.
func ContentFields() openapi.Fields {
	chars, uri := openapi.Chars, openapi.Format("uri")
	link := chars(1, event.MaxURL)
	return openapi.Fields{
		"TextContent.text": rest.Say("The text.", "Your order is on its way.", chars(1, event.MaxText)),

		"LinkContent.link":         rest.Say("The link: http or https.", "https://example.org/offer", uri, link),
		"LinkContent.title":        rest.Say("The title of the preview.", "This week's offer", chars(0, event.MaxName)),
		"LinkContent.description":  rest.Say("The text of the preview.", "Until Sunday", chars(0, event.MaxText)),
		"LinkContent.thumbnailUrl": rest.Say("The image of the preview: an http or https URL.", "https://example.org/offer.jpg", uri, chars(0, event.MaxURL)),

		"MediaContent.mediatype": rest.Say("The kind of message to send the file as.", string(event.MediaImage), openapi.OneOf(mediaKinds()...)),
		"MediaContent.media":     rest.Say("The http or https URL of the file. Either this or mediaUploadId.", "https://example.org/cat.jpg", uri, chars(0, event.MaxURL)),
		"AudioContent.audio":     rest.Say("The http or https URL of the voice note. Either this or mediaUploadId.", "https://example.org/note.ogg", uri, chars(0, event.MaxURL)),
		"AudioContent.ptt":       rest.Say("Accepted without effect: it is always a voice note.", true),
		"AudioContent.seconds":   rest.Say("Length in seconds; 0: taken from the file.", 12, openapi.Range(0, event.MaxSeconds)),
		"AudioContent.waveform":  rest.Say("64 volumes of 0 to 100 in base64, for the waveform display; empty: computed from the file.", base64.StdEncoding.EncodeToString(make([]byte, event.WaveformLength)), openapi.Pattern("^([A-Za-z0-9+/]{86}==)?$")),
		"StickerContent.sticker": rest.Say("The http or https URL of the WebP image. Either this or mediaUploadId.", "https://example.org/cat.webp", uri, chars(0, event.MaxURL)),

		"ContactContent.fullName":     rest.Say("The name of the contact.", "Ada Lovelace", chars(1, event.MaxName)),
		"ContactContent.phoneNumber":  rest.Say("Its number with country code. One of phoneNumber, wuid and vcard is needed.", "4915187654321"),
		"ContactContent.wuid":         rest.Say("Its JID, where it differs from the number's.", "4915187654321@s.whatsapp.net"),
		"ContactContent.vcard":        rest.Say("A complete vCard, sent unchanged; at most 65536 bytes.", "BEGIN:VCARD\nVERSION:3.0\nFN:Ada Lovelace\nEND:VCARD"),
		"ContactContent.organization": rest.Say("The organization of the contact.", "Analytical Engines Ltd", chars(0, event.MaxName)),

		"LocationContent.latitude":  rest.Say("Degrees north.", 52.5163, openapi.Range(-90, 90)),
		"LocationContent.longitude": rest.Say("Degrees east.", 13.3777, openapi.Range(-180, 180)),
		"LocationContent.name":      rest.Say("The name of the place.", "Brandenburg Gate", chars(0, event.MaxName)),
		"LocationContent.address":   rest.Say("Its address.", "Pariser Platz, Berlin", chars(0, event.MaxText)),
		"LocationContent.url":       rest.Say("A page about it.", "https://example.org/gate", uri, chars(0, event.MaxURL)),

		"ReactionContent.key":      rest.Say("The message to react to.", nil),
		"ReactionContent.reaction": rest.Say("One emoji; empty to remove the reaction. At most 32 bytes.", "👍", chars(0, event.MaxReaction)),

		"PollContent.name":            rest.Say("The question.", "When?", chars(1, event.MaxName)),
		"PollContent.options":         rest.Say("The answers to choose from, distinct and of 1 to 100 characters each.", []any{"Today", "Tomorrow"}, openapi.Items(event.MinPollOptions, event.MaxPollOptions), openapi.Object{"uniqueItems": true}),
		"PollContent.selectableCount": rest.Say("How many answers may be chosen; 0: any number.", 1, openapi.Range(0, event.MaxPollOptions)),

		"StatusContent.text":            rest.Say("The text.", "Open until eight today.", chars(1, event.MaxText)),
		"StatusContent.backgroundColor": rest.Say("The background colour, as #rrggbb.", "#1b5e20", openapi.Pattern("^(#[0-9A-Fa-f]{6})?$")),
		"StatusContent.font":            rest.Say("One of WhatsApp's fonts.", 0, openapi.Range(0, event.MaxStatusFont)),
	}
}

func editDescriptions() map[string]rest.Words {
	return map[string]rest.Words{
		"POST /instance/{i}/chat/edit-message": {
			ID: "editMessage", Summary: "Replace the text or the caption of an own message.", Once: true, In: rest.TypeOf[editRequest](),
			Example: `{"messageId":42,"text":"Your order arrives tomorrow."}`, Out: rest.TypeOf[event.Message](), Codes: rest.Sending("MESSAGE_NOT_FOUND", "INVALID_ARGUMENT"),
		},
		"DELETE /instance/{i}/chat/delete-message": {
			ID: "deleteMessage", Summary: "Delete a message for everyone.", Once: true, Query: []string{"id"}, Status: http.StatusNoContent, Codes: rest.Sending("MESSAGE_NOT_FOUND"),
		},
	}
}

// UploadKinds are the kinds that a file can be uploaded as.
func UploadKinds() []event.MediaKind {
	return []event.MediaKind{
		event.MediaImage, event.MediaDocument, event.MediaVideo, event.MediaAudio, event.MediaPTV, event.MediaVoice, event.MediaSticker,
	}
}

// mediaKinds are the kinds that the media routes send.
func mediaKinds() []event.MediaKind { return UploadKinds()[:5] }

// SentMessage is a stored message as the answer to a send.
type SentMessage struct{}

// SentMessageSchema has the field that identifies the other answer to a send, so that
// generated types can distinguish the two. A field of type null would say more exactly
// that it is absent, but clients of openapi-fetch drop those.
func SentMessageSchema(r rest.Ref) openapi.Object {
	status := openapi.Object{"type": "string", "enum": []any{"sent"}, "description": "Absent. In an answer with the status 202 it is processing."}
	return openapi.Object{"allOf": []openapi.Object{r(rest.TypeOf[event.Message]()), {"type": "object", "properties": openapi.Object{"status": status}}}}
}
