package httpapi

import (
	"net/http"

	"postern/event"
)

func chatDescriptions() map[string]description {
	read := description{
		id: "readMessages", summary: "Mark messages as read.", in: body[readRequest](),
		example: `{"readMessages":[{"remoteJid":"4915112345678@s.whatsapp.net","id":"3EB0C767D097B7C7C030"}]}`,
		out:     body[readAnswer](), codes: aboutPeople("MESSAGE_NOT_FOUND", "INVALID_MESSAGE"),
	}
	put := read
	put.id = "putReadMessages"
	patch := read
	patch.id = "patchReadMessages"
	archive := description{
		id: "archiveChat", summary: "Archive a chat, or take it out again.", in: body[archiveRequest](),
		example: `{"chat":"4915112345678","archive":true}`, status: http.StatusNoContent, codes: aboutPeople("INVALID_MESSAGE"),
	}
	archivePut := archive
	archivePut.id = "putArchivedChat"
	return map[string]description{
		"POST /instance/{i}/chat/is-account": {
			id: "checkNumbers", summary: "Tell which numbers have an account.", in: body[numbersRequest](),
			example: `{"numbers":["4915112345678"]}`, out: body[[]event.Registration](), codes: aboutPeople(),
		},
		"POST /instance/{i}/chat/read-message":  read,
		"PUT /instance/{i}/chat/read-message":   put,
		"PATCH /instance/{i}/chat/read-message": patch,
		"POST /instance/{i}/chat/archive":       archive,
		"PUT /instance/{i}/chat/archive":        archivePut,
		"POST /instance/{i}/chat/pin": {
			id: "pinChat", summary: "Pin a chat, or unpin it.", in: body[pinRequest](), example: `{"chat":"4915112345678","pinned":true}`, out: body[chatState](), codes: aboutPeople(),
		},
		"POST /instance/{i}/chat/mute": {
			id: "muteChat", summary: "Mute a chat, or unmute it.", in: body[muteRequest](), example: `{"chat":"4915112345678","muted":true}`, out: body[chatState](), codes: aboutPeople(),
		},
		"POST /instance/{i}/chat/star": {
			id: "starMessage", summary: "Star a stored message, or take the star away.", in: body[starRequest](),
			example: `{"messageId":42,"starred":true}`, out: body[starAnswer](), codes: aboutPeople("MESSAGE_NOT_FOUND", "INVALID_MESSAGE"),
		},
		"POST /instance/{i}/chat/block": {
			id: "blockPerson", summary: "Block a person, or end that.", in: body[blockRequest](), example: `{"number":"4915112345678","blocked":true}`, out: body[blockedPeople](), codes: aboutPeople(),
		},
		"GET /instance/{i}/chat/blocked": {id: "listBlocked", summary: "List the blocked people.", out: body[blockedPeople](), codes: asking()},
		"POST /instance/{i}/chat/edit-message": {
			id: "editMessage", summary: "Replace the text or the caption of an own message.", once: true, in: body[editRequest](),
			example: `{"messageId":42,"text":"Your order arrives tomorrow."}`, out: body[event.Message](), codes: sending("MESSAGE_NOT_FOUND", "INVALID_ARGUMENT"),
		},
		"DELETE /instance/{i}/chat/delete-message": {
			id: "deleteMessage", summary: "Delete a message for everyone.", once: true, query: []string{"id"}, status: http.StatusNoContent, codes: sending("MESSAGE_NOT_FOUND"),
		},
		"POST /instance/{i}/chat/profile-picture": {
			id: "getProfilePicture", summary: "Tell where a profile picture lies.", in: body[profilePictureRequest](), example: `{"number":"4915112345678"}`,
			out: body[profilePictureAnswer](), codes: aboutPeople("ONE_RECIPIENT"),
		},
		"POST /instance/{i}/chat/reject-call": {
			id: "rejectCall", summary: "Reject an incoming call.", in: body[rejectRequest](), example: `{"callId":"6F1C1A520D6B4C56","callFrom":"4915112345678"}`,
			status: http.StatusNoContent, codes: aboutPeople(),
		},
		"POST /instance/{i}/chat/presence": {
			id: "setPresence", summary: "Show a presence, or watch somebody's.", in: body[presenceRequest](), example: `{"presence":"composing","chat":"4915112345678"}`,
			out: body[presenceAnswer](), codes: aboutPeople(),
		},
	}
}

func storedDescriptions() map[string]description {
	return map[string]description{
		"POST /instance/{i}/db/messages": {
			id: "listMessages", summary: "List stored messages, the newest first, with what became of them.", in: body[listMessagesRequest](),
			example: `{"filter":{"keyRemoteJid":"4915112345678@s.whatsapp.net"},"limit":50}`, out: body[messageList](), codes: codes{codeNoCursor, codeInvalidQuery},
		},
		"POST /instance/{i}/db/messages/pages": {
			id: "findMessages", summary: "List stored messages by numbered pages.", in: body[findMessagesRequest](),
			example: `{"where":{"keyFromMe":true},"page":1,"offset":50}`, out: body[foundList](), codes: codes{codeInvalidQuery},
		},
		"GET /instance/{i}/contacts": {
			id: "listContacts", summary: "List the contacts.", query: []string{"limit", "nextCursor", "jid", "name"}, out: body[contactList](), codes: codes{codeNoCursor},
		},
		"GET /instance/{i}/chats": {
			id: "listChats", summary: "List the chats that have stored messages, the latest first.", query: []string{"limit", "nextCursor"}, out: body[chatList](), codes: codes{codeNoCursor},
		},
	}
}
