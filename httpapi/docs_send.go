package httpapi

import (
	"encoding/base64"
	"net/http"

	"postern/batch"
	"postern/event"
	"postern/httpapi/openapi"
)

// sendRow describes a send to a recipient: with mentionAll it is asynchronous.
func sendRow(d description) description {
	d.once, d.out = true, body[sentMessage]()
	d.also = []openapi.Answer{{
		Status: http.StatusAccepted, Type: body[acceptedSend](),
		About: "With `options.mentionAll` the message is sent asynchronously; the event `send.message` with this processId has the result.",
	}}
	return d
}

func sendDescriptions() map[string]description {
	all := map[string]description{
		"POST /instance/{i}/send/text": {
			id: "sendText", summary: "Send a text.", in: body[sendTextRequest](),
			example: `{"number":"4915112345678","textMessage":{"text":"Your order is on its way."}}`, codes: sendingTo(),
		},
		"POST /instance/{i}/send/link": {
			id: "sendLink", summary: "Send a link with its preview.", in: body[sendLinkRequest](),
			example: `{"number":"4915112345678","linkMessage":{"link":"https://example.org/offer","title":"This week's offer","description":"Until Sunday"}}`,
			codes:   sendingTo("INVALID_MEDIA"),
		},
		"POST /instance/{i}/send/media": {
			id: "sendMedia", summary: "Send an image, a video, a document, music or a round video note.", about: "The file is a URL or the id of an earlier upload.",
			in: body[sendMediaRequest](), example: `{"number":"4915112345678","mediaMessage":{"mediatype":"image","media":"https://example.org/cat.jpg","caption":"Our cat"}}`,
			codes: sendingFile(),
		},
		"POST /instance/{i}/send/ptt": {
			id: "sendVoiceNote", summary: "Send a voice note, by its URL or an earlier upload.", in: body[sendVoiceRequest](),
			example: `{"number":"4915112345678","audioMessage":{"audio":"https://example.org/note.ogg"}}`, codes: sendingFile(),
		},
		"POST /instance/{i}/send/contact": {
			id: "sendContact", summary: "Send one or more contacts.", in: body[sendContactRequest](),
			example: `{"number":"4915112345678","contactMessage":[{"fullName":"Ada Lovelace","phoneNumber":"4915187654321"}]}`, codes: sendingTo(),
		},
		"POST /instance/{i}/send/location": {
			id: "sendLocation", summary: "Send a location.", in: body[sendLocationRequest](),
			example: `{"number":"4915112345678","locationMessage":{"latitude":52.5163,"longitude":13.3777,"name":"Brandenburg Gate"}}`, codes: sendingTo(),
		},
		"POST /instance/{i}/send/reaction": {
			id: "sendReaction", summary: "React to a message, or remove the reaction.", in: body[sendReactionRequest](),
			example: `{"number":"4915112345678","reactionMessage":{"key":{"remoteJid":"4915112345678@s.whatsapp.net","id":"3EB0C767D097B7C7C030","fromMe":false},"reaction":"👍"}}`,
			codes:   sendingTo(),
		},
		"POST /instance/{i}/send/sticker": {
			id: "sendSticker", summary: "Send a sticker, by its URL or an earlier upload.", in: body[sendStickerRequest](),
			example: `{"number":"4915112345678","stickerMessage":{"sticker":"https://example.org/cat.webp"}}`, codes: sendingFile(),
		},
		"POST /instance/{i}/send/poll": {
			id: "sendPoll", summary: "Send a poll.", in: body[sendPollRequest](),
			example: `{"number":"4915112345678","pollMessage":{"name":"When?","options":["Today","Tomorrow"],"selectableCount":1}}`, codes: sendingTo(),
		},
		"POST /instance/{i}/send/forward": {
			id: "forwardMessage", summary: "Forward a stored message.", in: body[sendForwardRequest](),
			example: `{"number":"4915112345678","messageId":42}`, codes: sendingFile("MESSAGE_NOT_FOUND", "MESSAGE_WITHOUT_MEDIA", "MEDIA_GONE"),
		},

		"POST /instance/{i}/send/media-file": {
			id: "sendMediaFile", summary: "Send the uploaded file.", form: targetFields("mediaType", "caption", "fileName", "mimetype", "viewOnce"), codes: sendingFile(),
		},
		"POST /instance/{i}/send/ptt-file": {
			id: "sendVoiceNoteFile", summary: "Send the uploaded file as a voice note.", form: targetFields("viewOnce"), codes: sendingFile(),
		},
		"POST /instance/{i}/send/sticker-file": {
			id: "sendStickerFile", summary: "Send the uploaded file as a sticker.", form: targetFields(), codes: sendingFile(),
		},
	}
	for key, d := range all {
		all[key] = sendRow(d)
	}
	all["POST /instance/{i}/send/status"] = description{
		id: "sendStatus", summary: "Post a text status, which all contacts see for a day.", once: true, in: body[sendStatusRequest](),
		example: `{"statusMessage":{"text":"Open until eight today.","backgroundColor":"#1b5e20"}}`, out: body[event.Message](), codes: sending(),
	}
	return all
}

func fileDescriptions() map[string]description {
	return map[string]description{
		"POST /instance/{i}/media/uploads": {
			id: "createUpload", summary: "Upload a file to WhatsApp ahead of a send: from a URL, or as a multipart body.",
			in: body[uploadRequest](), example: `{"mediaType":"image","media":"https://example.org/cat.jpg"}`,
			form:   uploadFields(),
			status: http.StatusCreated, out: body[uploadView](), codes: asking("INVALID_MEDIA", "INVALID_MESSAGE", "MEDIA_TYPE_UNSUPPORTED", "DISK_FULL", codeLimitReached),
		},
		"GET /instance/{i}/media/uploads": {
			id: "listUploads", summary: "List the uploads, newest first.", query: []string{"mediaType", "expired", "externalId", "createdFrom", "createdTo", "limit", "nextCursor", "previousCursor"},
			out: body[batch.List[uploadView]](), codes: codes{codeNoCursor},
		},
		"GET /instance/{i}/upload/{id}":    {id: "getUpload", summary: "Show an upload.", out: body[uploadView](), codes: codes{"UPLOAD_NOT_FOUND"}},
		"DELETE /instance/{i}/upload/{id}": {id: "deleteUpload", summary: "Delete an upload.", status: http.StatusNoContent, codes: codes{"UPLOAD_NOT_FOUND"}},
		"POST /instance/{i}/media/data": {
			id: "getMediaData", summary: "Download the file of a stored message.", in: body[mediaDataRequest](), example: `{"messageId":42}`,
			about: "With binary=true the answer is the file itself.", query: []string{"binary"}, out: body[fileAnswer](), media: "*/*",
			codes: asking("MESSAGE_NOT_FOUND", "MESSAGE_WITHOUT_MEDIA", "MEDIA_GONE", "INVALID_MEDIA", "DISK_FULL"),
		},
	}
}

// sendFields are the fields of send bodies.
func sendFields() openapi.Fields {
	content := say("The content of the message.", nil)
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
		"SendContactRequest.contactMessage":   say("The contacts.", nil, openapi.Items(1, event.MaxContacts)),
		"SendForwardRequest.messageId":        say("The stored message: its id here, or its id at WhatsApp.", 42),
		"SendStatusRequest.options":           say("How it is sent.", nil),

		"SendTarget.options":           say("How it is sent.", nil),
		"SendOptions.delay":            say("Milliseconds to wait before the send, while the chat shows the presence. Up to 120000, for voice notes up to 300000.", 1200, openapi.Range(0, maxVoiceDelay)),
		"SendOptions.presence":         say("The presence shown before the message. available and unavailable apply to the account, the others to the chat. If it cannot be sent, the message is sent anyway, and the header warning says why.", string(event.PresenceComposing), openapi.OneOf(presences()[1:]...)),
		"SendOptions.quotedMessageId":  say("The stored message to quote: its id here, or its id at WhatsApp.", 42),
		"SendOptions.quotedMessage":    say("The message to quote, which need not be stored here.", nil),
		"QuotedMessage.key":            say("Which message it is.", nil),
		"QuotedMessage.message":        say("Its content: one field, named by its messageType.", object{"conversation": "When does it come?"}),
		"QuotedMessage.keyRemoteJid":   say("The JID of the chat, where key is not given.", exampleJID),
		"QuotedMessage.keyParticipant": say("The JID of the sender in a group, where key is not given.", exampleJID),
		"QuotedMessage.content":        say("Its content in the form of an event, where message is not given.", nil),
		"MessageKey.remoteJid":         say("The JID of the chat.", exampleJID, openapi.AtLeastChars(1)),
		"MessageKey.id":                say("The message's id at WhatsApp.", exampleKeyID, openapi.AtLeastChars(1)),
		"MessageKey.fromMe":            say("Whether the account itself sent it.", false),
		"MessageKey.participant":       say("The JID of the sender; needed in groups.", exampleJID),

		"SendMediaFileForm.mediaType": say("The kind of message to send the file as.", string(event.MediaImage), openapi.OneOf(mediaKinds()...)),

		"AcceptedSend.statusCode": say("The status of the answer.", 202, object{"enum": []any{202}}),
		"AcceptedSend.status":     say("Always processing; distinguishes this answer from one with the message.", "processing", openapi.OneOf("processing")),
		"AcceptedSend.message":    say("What happens, for people.", "the message is being sent"),
		"AcceptedSend.processId":  say("The processId of the event send.message with the result.", exampleUUID),

		"UploadRequest.media":         say("The http or https URL of the file.", "https://example.org/cat.jpg", openapi.Format("uri"), openapi.Chars(1, event.MaxURL)),
		"Upload.uuid":                 say("The upload's UUID, an alternative to its number.", exampleUUID),
		"Upload.externalId":           say("The caller's name for it; null when none was given.", "cat-7"),
		"Upload.originalFileName":     say("The file's name.", "cat.jpg"),
		"Upload.originalFileSize":     say("The length of the file in bytes.", 48213, openapi.AtLeast(0)),
		"Upload.expired":              say("Whether it has expired, so that messages can no longer use it.", false),
		"Upload.upload":               say("The address of the encrypted file at WhatsApp, without its key.", nil),
		"UploadedFile.url":            say("The address of the encrypted file.", "https://mmg.whatsapp.net/v/t62.7118-24/1", openapi.Format("uri")),
		"UploadedFile.directPath":     say("Its path on any of WhatsApp's hosts.", "/v/t62.7118-24/1"),
		"UploadedFile.fileSha256":     say("The SHA-256 of the file.", "iFHmzHYLUhaZM3ZScsKTpinwJZaR1D41BnY2sIudWM0="),
		"UploadedFile.fileEncSha256":  say("The SHA-256 of the encrypted file.", "OvAA3++DhQrVBjQsrEhaOVU5q6M51ah6ujY0sryMdlo="),
		"UploadedFile.fileSHA256":     say("The same as fileSha256.", "iFHmzHYLUhaZM3ZScsKTpinwJZaR1D41BnY2sIudWM0="),
		"UploadedFile.fileEncSHA256":  say("The same as fileEncSha256.", "OvAA3++DhQrVBjQsrEhaOVU5q6M51ah6ujY0sryMdlo="),
		"UploadedFile.fileLength":     say("The length of the file in bytes, before encryption.", 48213, openapi.AtLeast(0)),
		"UploadRequest.externalId":    say("A name chosen by the caller, to find it by.", "cat-7", openapi.Chars(0, maxExternalID)),
		"CreateUploadForm.externalId": say("A name chosen by the caller, to find it by.", "cat-7", openapi.Chars(0, maxExternalID)),
		"MediaDataRequest.id":         say("The stored message, as in messageId.", 42),
		"MediaDataRequest.content":    say("The content of a message as in an event, with its messageType.", nil),
		"MediaFile.size":              say("The size of the file.", nil),
		"MediaFile.base64":            say("The file.", "/9j/4AAQSkZJRg=="),
		"FileSize.fileLength":         say("The file's length in bytes.", 48213, openapi.AtLeast(0)),
		"Upload.id":                   say("The upload's number, over all instances.", 17, openapi.AtLeast(1)),
		"MediaDataRequest.messageId":  say("The stored message: its id here, or its id at WhatsApp.", 42),
	}
}

// formFields are the fields of multipart bodies, where all values are strings.
func formFields() openapi.Fields {
	flag := openapi.OneOf("true", "false")
	return openapi.Fields{
		"Form.options":            say("The options of the other send routes, as JSON. They may also be fields of the form.", `{"delay":1200}`),
		"Form.delay":              say("Milliseconds to wait before the send.", "1200", openapi.Pattern("^[0-9]*$")),
		"Form.presence":           say("The presence shown before the message.", string(event.PresenceComposing), openapi.OneOf(presences()[1:]...)),
		"Form.quotedMessageId":    say("The stored message to quote: its id here, or its id at WhatsApp.", "42"),
		"Form.quotedMessage":      say("The message to quote, as JSON.", `{"key":{"remoteJid":"`+exampleJID+`","id":"`+exampleKeyID+`"},"message":{"conversation":"hi"}}`),
		"Form.mentionAll":         say("Whether every member of the group is mentioned.", "false", flag),
		"Form.externalAttributes": say("An object attached by the caller, as JSON.", `{"order":42}`),
		"Form.viewOnce":           say("Whether the recipient can view it only once. For images, videos and voice notes.", "false", flag),
	}
}

// contentFields are the fields of message contents.
func contentFields() openapi.Fields {
	chars, uri := openapi.Chars, openapi.Format("uri")
	link := chars(1, event.MaxURL)
	return openapi.Fields{
		"TextContent.text": say("The text.", "Your order is on its way.", chars(1, event.MaxText)),

		"LinkContent.link":         say("The link: http or https.", "https://example.org/offer", uri, link),
		"LinkContent.title":        say("The title of the preview.", "This week's offer", chars(0, event.MaxName)),
		"LinkContent.description":  say("The text of the preview.", "Until Sunday", chars(0, event.MaxText)),
		"LinkContent.thumbnailUrl": say("The image of the preview: an http or https URL.", "https://example.org/offer.jpg", uri, chars(0, event.MaxURL)),

		"MediaContent.mediatype": say("The kind of message to send the file as.", string(event.MediaImage), openapi.OneOf(mediaKinds()...)),
		"MediaContent.media":     say("The http or https URL of the file. Either this or mediaUploadId.", "https://example.org/cat.jpg", uri, chars(0, event.MaxURL)),
		"AudioContent.audio":     say("The http or https URL of the voice note. Either this or mediaUploadId.", "https://example.org/note.ogg", uri, chars(0, event.MaxURL)),
		"AudioContent.ptt":       say("Accepted without effect: it is always a voice note.", true),
		"AudioContent.seconds":   say("Length in seconds; 0: taken from the file.", 12, openapi.Range(0, event.MaxSeconds)),
		"AudioContent.waveform":  say("64 volumes of 0 to 100 in base64, for the waveform display; empty: computed from the file.", base64.StdEncoding.EncodeToString(make([]byte, event.WaveformLength)), openapi.Pattern("^([A-Za-z0-9+/]{86}==)?$")),
		"StickerContent.sticker": say("The http or https URL of the WebP image. Either this or mediaUploadId.", "https://example.org/cat.webp", uri, chars(0, event.MaxURL)),

		"ContactContent.fullName":     say("The name of the contact.", "Ada Lovelace", chars(1, event.MaxName)),
		"ContactContent.phoneNumber":  say("Its number with country code. One of phoneNumber, wuid and vcard is needed.", "4915187654321"),
		"ContactContent.wuid":         say("Its JID, where it differs from the number's.", "4915187654321@s.whatsapp.net"),
		"ContactContent.vcard":        say("A complete vCard, sent unchanged; at most 65536 bytes.", "BEGIN:VCARD\nVERSION:3.0\nFN:Ada Lovelace\nEND:VCARD"),
		"ContactContent.organization": say("The organization of the contact.", "Analytical Engines Ltd", chars(0, event.MaxName)),

		"LocationContent.latitude":  say("Degrees north.", 52.5163, openapi.Range(-90, 90)),
		"LocationContent.longitude": say("Degrees east.", 13.3777, openapi.Range(-180, 180)),
		"LocationContent.name":      say("The name of the place.", "Brandenburg Gate", chars(0, event.MaxName)),
		"LocationContent.address":   say("Its address.", "Pariser Platz, Berlin", chars(0, event.MaxText)),
		"LocationContent.url":       say("A page about it.", "https://example.org/gate", uri, chars(0, event.MaxURL)),

		"ReactionContent.key":      say("The message to react to.", nil),
		"ReactionContent.reaction": say("One emoji; empty to remove the reaction. At most 32 bytes.", "👍", chars(0, event.MaxReaction)),

		"PollContent.name":            say("The question.", "When?", chars(1, event.MaxName)),
		"PollContent.options":         say("The answers to choose from, distinct and of 1 to 100 characters each.", []any{"Today", "Tomorrow"}, openapi.Items(event.MinPollOptions, event.MaxPollOptions), object{"uniqueItems": true}),
		"PollContent.selectableCount": say("How many answers may be chosen; 0: any number.", 1, openapi.Range(0, event.MaxPollOptions)),

		"StatusContent.text":            say("The text.", "Open until eight today.", chars(1, event.MaxText)),
		"StatusContent.backgroundColor": say("The background colour, as #rrggbb.", "#1b5e20", openapi.Pattern("^(#[0-9A-Fa-f]{6})?$")),
		"StatusContent.font":            say("One of WhatsApp's fonts.", 0, openapi.Range(0, event.MaxStatusFont)),
	}
}
