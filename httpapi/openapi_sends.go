package httpapi

import (
	"net/http"

	"postern/event"
)

func sendDescriptions() map[string]description {
	pages := []string{"limit", "nextCursor"}
	return map[string]description{
		"POST /instance/{i}/send/text":     {summary: "Send a text.", once: true, in: body[sendTextRequest](), out: body[event.Message]()},
		"POST /instance/{i}/send/link":     {summary: "Send a link with its preview.", once: true, in: body[sendLinkRequest](), out: body[event.Message]()},
		"POST /instance/{i}/send/media":    {summary: "Send an image, a video, a document, music or a round video note, by its URL or an earlier upload.", once: true, in: body[sendMediaRequest](), out: body[event.Message]()},
		"POST /instance/{i}/send/ptt":      {summary: "Send a voice note, by its URL or an earlier upload.", once: true, in: body[sendVoiceRequest](), out: body[event.Message]()},
		"POST /instance/{i}/send/contact":  {summary: "Send one contact or several.", once: true, in: body[sendContactRequest](), out: body[event.Message]()},
		"POST /instance/{i}/send/location": {summary: "Send a place.", once: true, in: body[sendLocationRequest](), out: body[event.Message]()},
		"POST /instance/{i}/send/reaction": {summary: "React to a message, or take the reaction back.", once: true, in: body[sendReactionRequest](), out: body[event.Message]()},
		"POST /instance/{i}/send/sticker":  {summary: "Send a sticker, by its URL or an earlier upload.", once: true, in: body[sendStickerRequest](), out: body[event.Message]()},
		"POST /instance/{i}/send/poll":     {summary: "Send a poll.", once: true, in: body[sendPollRequest](), out: body[event.Message]()},

		"POST /instance/{i}/send/media-file":   {summary: "Send the file of the body.", once: true, form: targetFields("mediaType", "caption", "fileName", "mimetype", "viewOnce"), out: body[event.Message]()},
		"POST /instance/{i}/send/ptt-file":     {summary: "Send the file of the body as a voice note.", once: true, form: targetFields("viewOnce"), out: body[event.Message]()},
		"POST /instance/{i}/send/sticker-file": {summary: "Send the file of the body as a sticker.", once: true, form: targetFields(), out: body[event.Message]()},

		"POST /instance/{i}/media/uploads":     {summary: "Bring a file to WhatsApp before it is needed: from a URL, or as a multipart body.", in: body[uploadRequest](), form: []string{"mediaType", "fileName", "mimetype"}, status: http.StatusCreated, out: body[uploadView]()},
		"POST /instance/{i}/db/messages":       {summary: "List stored messages, the newest first, with what became of them.", in: body[listMessagesRequest](), out: body[messageList]()},
		"POST /instance/{i}/db/messages/pages": {summary: "List stored messages by numbered pages.", in: body[findMessagesRequest](), out: body[messageList]()},
		"GET /instance/{i}/contacts":           {summary: "List the contacts.", query: []string{"limit", "nextCursor", "jid", "name"}, out: body[contactList]()},
		"GET /instance/{i}/chats":              {summary: "List the chats that have stored messages, the latest first.", query: pages, out: body[chatList]()},

		"GET /instance/{i}/media/uploads":  {summary: "List the uploads, the newest first.", query: pages, out: body[uploadList]()},
		"GET /instance/{i}/upload/{id}":    {summary: "Show an upload.", out: body[uploadView]()},
		"DELETE /instance/{i}/upload/{id}": {summary: "Forget an upload.", out: body[uploadView]()},
	}
}
