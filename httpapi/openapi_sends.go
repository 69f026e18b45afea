package httpapi

import (
	"net/http"

	"postern/batch"
	"postern/event"
	"postern/httpapi/openapi"
)

// sendRow describes a send to a recipient: with mentionAll it is accepted, and
// carried out later.
func sendRow(d description) description {
	d.once, d.out = true, body[event.Message]()
	d.also = []openapi.Answer{{
		Status: http.StatusAccepted, Type: body[acceptedSend](),
		About: "With `options.mentionAll` the message is sent later; the event `send.message` with this processId tells the result.",
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
			id: "sendMedia", summary: "Send an image, a video, a document, music or a round video note.", about: "The file is given by its URL or by the id of an earlier upload.",
			in: body[sendMediaRequest](), example: `{"number":"4915112345678","mediaMessage":{"mediatype":"image","media":"https://example.org/cat.jpg","caption":"Our cat"}}`,
			codes: sendingFile(),
		},
		"POST /instance/{i}/send/ptt": {
			id: "sendVoiceNote", summary: "Send a voice note, by its URL or an earlier upload.", in: body[sendVoiceRequest](),
			example: `{"number":"4915112345678","audioMessage":{"audio":"https://example.org/note.ogg"}}`, codes: sendingFile(),
		},
		"POST /instance/{i}/send/contact": {
			id: "sendContact", summary: "Send one contact or several.", in: body[sendContactRequest](),
			example: `{"number":"4915112345678","contactMessage":[{"fullName":"Ada Lovelace","phoneNumber":"4915187654321"}]}`, codes: sendingTo(),
		},
		"POST /instance/{i}/send/location": {
			id: "sendLocation", summary: "Send a place.", in: body[sendLocationRequest](),
			example: `{"number":"4915112345678","locationMessage":{"latitude":52.5163,"longitude":13.3777,"name":"Brandenburg Gate"}}`, codes: sendingTo(),
		},
		"POST /instance/{i}/send/reaction": {
			id: "sendReaction", summary: "React to a message, or take the reaction back.", in: body[sendReactionRequest](),
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
			id: "sendMediaFile", summary: "Send the file of the body.", form: targetFields("mediaType", "caption", "fileName", "mimetype", "viewOnce"), codes: sendingFile(),
		},
		"POST /instance/{i}/send/ptt-file": {
			id: "sendVoiceNoteFile", summary: "Send the file of the body as a voice note.", form: targetFields("viewOnce"), codes: sendingFile(),
		},
		"POST /instance/{i}/send/sticker-file": {
			id: "sendStickerFile", summary: "Send the file of the body as a sticker.", form: targetFields(), codes: sendingFile(),
		},
	}
	for key, d := range all {
		all[key] = sendRow(d)
	}
	all["POST /instance/{i}/send/status"] = description{
		id: "sendStatus", summary: "Show a text to all contacts for a day.", once: true, in: body[sendStatusRequest](),
		example: `{"statusMessage":{"text":"Open until eight today.","backgroundColor":"#1b5e20"}}`, out: body[event.Message](), codes: sending(),
	}
	return all
}

func fileDescriptions() map[string]description {
	return map[string]description{
		"POST /instance/{i}/media/uploads": {
			id: "createUpload", summary: "Bring a file to WhatsApp before it is needed: from a URL, or as a multipart body.",
			in: body[uploadRequest](), example: `{"mediaType":"image","media":"https://example.org/cat.jpg"}`,
			form:   uploadFields(),
			status: http.StatusCreated, out: body[uploadView](), codes: asking("INVALID_MEDIA", "INVALID_MESSAGE", "MEDIA_TYPE_UNSUPPORTED", "DISK_FULL", codeLimitReached),
		},
		"GET /instance/{i}/media/uploads": {
			id: "listUploads", summary: "List the uploads, the newest first.", query: []string{"mediaType", "expired", "externalId", "createdFrom", "createdTo", "limit", "nextCursor", "previousCursor"},
			out: body[batch.List[uploadView]](), codes: codes{codeNoCursor},
		},
		"GET /instance/{i}/upload/{id}":    {id: "getUpload", summary: "Show an upload.", out: body[uploadView](), codes: codes{"UPLOAD_NOT_FOUND"}},
		"DELETE /instance/{i}/upload/{id}": {id: "deleteUpload", summary: "Forget an upload.", status: http.StatusNoContent, codes: codes{"UPLOAD_NOT_FOUND"}},
		"POST /instance/{i}/media/data": {
			id: "getMediaData", summary: "Download the file of a stored message.", in: body[mediaDataRequest](), example: `{"messageId":42}`,
			about: "With binary=true the answer is the file itself.", query: []string{"binary"}, out: body[fileAnswer](), media: "*/*",
			codes: asking("MESSAGE_NOT_FOUND", "MESSAGE_WITHOUT_MEDIA", "MEDIA_GONE", "INVALID_MEDIA", "DISK_FULL"),
		},
	}
}
