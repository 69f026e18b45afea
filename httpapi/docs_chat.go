package httpapi

import (
	"net/http"

	"postern/event"
	"postern/httpapi/openapi"
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
		id: "archiveChat", summary: "Archive or unarchive a chat.", in: body[archiveRequest](),
		example: `{"chat":"4915112345678","archive":true}`, status: http.StatusNoContent, codes: aboutPeople("INVALID_MESSAGE", "APP_STATE_CONFLICT"),
	}
	archivePut := archive
	archivePut.id = "putArchivedChat"
	return map[string]description{
		"POST /instance/{i}/chat/is-account": {
			id: "checkNumbers", summary: "Check which numbers have an account.", in: body[numbersRequest](),
			example: `{"numbers":["4915112345678"]}`, out: body[[]event.Registration](), codes: aboutPeople(),
		},
		"POST /instance/{i}/chat/read-message":  read,
		"PUT /instance/{i}/chat/read-message":   put,
		"PATCH /instance/{i}/chat/read-message": patch,
		"POST /instance/{i}/chat/archive":       archive,
		"PUT /instance/{i}/chat/archive":        archivePut,
		"POST /instance/{i}/chat/pin": {
			id: "pinChat", summary: "Pin or unpin a chat.", in: body[pinRequest](), example: `{"chat":"4915112345678","pinned":true}`, out: body[chatState](), codes: aboutPeople("APP_STATE_CONFLICT"),
		},
		"POST /instance/{i}/chat/mute": {
			id: "muteChat", summary: "Mute or unmute a chat.", in: body[muteRequest](), example: `{"chat":"4915112345678","muted":true}`, out: body[chatState](), codes: aboutPeople("APP_STATE_CONFLICT"),
		},
		"POST /instance/{i}/chat/star": {
			id: "starMessage", summary: "Star or unstar a stored message.", in: body[starRequest](),
			example: `{"messageId":42,"starred":true}`, out: body[starAnswer](), codes: aboutPeople("APP_STATE_CONFLICT", "MESSAGE_NOT_FOUND", "INVALID_MESSAGE"),
		},
		"POST /instance/{i}/chat/block": {
			id: "blockPerson", summary: "Block or unblock a person.", in: body[blockRequest](), example: `{"number":"4915112345678","blocked":true}`, out: body[blockedPeople](), codes: aboutPeople(),
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
			id: "getProfilePicture", summary: "Get the URL of a profile picture.", in: body[profilePictureRequest](), example: `{"number":"4915112345678"}`,
			out: body[profilePictureAnswer](), codes: aboutPeople("ONE_RECIPIENT"),
		},
		"POST /instance/{i}/chat/history": {
			id: "askForHistory", summary: "Ask the account's phone for older messages of a chat.",
			about: "What the phone sends is stored with `metadata.source` \"history\" and reported by history.sync only. A phone that is switched off answers later.",
			in:    body[historyRequest](), example: `{"chat":"4915112345678","count":50}`, status: http.StatusAccepted, out: body[historyAnswer](),
			codes: aboutPeople("MESSAGE_NOT_FOUND", "NO_ANCHOR"),
		},
		"POST /instance/{i}/chat/reject-call": {
			id: "rejectCall", summary: "Reject an incoming call.", in: body[rejectRequest](), example: `{"callId":"6F1C1A520D6B4C56","callFrom":"4915112345678"}`,
			status: http.StatusNoContent, codes: aboutPeople(),
		},
		"POST /instance/{i}/chat/presence": {
			id: "setPresence", summary: "Show a presence, or subscribe to another's.", in: body[presenceRequest](), example: `{"presence":"composing","chat":"4915112345678"}`,
			out: body[presenceAnswer](), codes: aboutPeople(),
		},
	}
}

// chatFields are the fields of the chat routes.
func chatFields() openapi.Fields {
	presences, reads := append(presences()[1:], presenceSubscribe), openapi.Items(0, maxRead)
	return openapi.Fields{
		"NumbersRequest.numbers": say("Phone numbers with their country codes.", []any{examplePhone}, openapi.Items(1, maxNumbers)),
		"Registration.number":    say("The digits that were asked for.", examplePhone),
		"Registration.exists":    say("Whether the number has an account.", true),

		"ArchiveRequest.archive":       say("Whether to archive or unarchive it.", true),
		"ArchiveRequest.lastMessage":   say("The newest message of the chat, where the caller knows it; it may stand for chat.", nil),
		"LastMessage.key":              say("Which message it is.", nil),
		"LastMessage.messageTimestamp": say("When it was sent, in Unix seconds.", 1772366400, openapi.AtLeast(0)),
		"ChatState.chat":               say("The JID of the chat.", exampleJID),
		"ChatState.pinned":             say("Whether it is pinned.", true),
		"ChatState.until":              say("When the mute ends; absent: never.", exampleTime),
		"PinRequest.pinned":            say("Whether to pin or unpin it.", true),
		"MuteChatRequest.until":        say("When the mute ends; absent: never.", exampleTime, openapi.Format("date-time")),

		"BlockRequest.blocked":                   say("Whether to block or unblock the person.", true),
		"BlockedPeople.blocked":                  say("Whom the account blocks.", nil),
		"ProfilePictureRequest.preview":          say("Whether to get the small picture.", false),
		"ProfilePictureAnswer.wuid":              say("The JID of the person or the group.", exampleJID),
		"ProfilePictureAnswer.profilePictureUrl": say("The URL of the picture; null when the account can see none.", "https://pps.whatsapp.net/v/t61/1.jpg"),
		"HistoryRequest.before":                  say("The stored message before which to start; 0 or absent: the oldest of the chat.", 42),
		"HistoryRequest.count":                   say("How many messages to ask for; 50 when absent. Phones usually send up to 50.", defaultLimit, openapi.Range(1, maxHistoryCount)),
		"HistoryAnswer.before":                   say("The id of the message before which they start.", 42),
		"HistoryAnswer.count":                    say("How many messages were asked for.", 50),
		"RejectRequest.callId":                   say("The id of the call, from call.upsert.", "6F1C1A520D6B4C56", openapi.AtLeastChars(1)),
		"RejectRequest.callFrom":                 say("The caller, from call.upsert.", exampleJID),
		"PresenceRequest.presence":               say("What to show. available and unavailable apply to the account, the others to a chat; subscribe subscribes to the presence of the chat.", string(event.PresenceComposing), openapi.OneOf(presences...)),
		"PresenceAnswer.presence":                say("The presence shown now, or subscribe.", string(event.PresenceComposing)),

		"ReadRequest.messageId":    say("Stored messages: their ids here, or their ids at WhatsApp.", []any{42}, reads),
		"ReadRequest.readMessages": say("Messages by their keys.", nil, reads),
		"ReadRequest.chat":         say("The chat of keyIds: a phone number with its country code, or the JID of a person or a group.", exampleJID),
		"ReadRequest.sender":       say("Who sent the messages of keyIds; needed in groups.", exampleJID),
		"ReadRequest.keyIds":       say("Messages of chat, by their ids at WhatsApp.", []any{exampleKeyID}, reads),
		"ReadRequest.ids":          say("Stored messages, as in messageId.", []any{42}, reads),
		"ReadRequest.messageIds":   say("Messages of chat, as in keyIds.", []any{exampleKeyID}, reads),
		"ReadAnswer.message":       say("What was done, in words.", "Read messages"),
		"ReadAnswer.read":          say("That it was done.", "success"),
		"EditRequest.id":           say("The same as messageId, under its other name.", 42),
		"EditRequest.text":         say("The new text, or the new caption.", "Your order arrives tomorrow.", openapi.Chars(1, event.MaxText)),
	}
}
