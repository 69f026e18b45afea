package chats

import (
	"net/http"

	"postern/event"
	"postern/httpapi/openapi"
	"postern/httpapi/rest"
)

func chatDescriptions() map[string]rest.Words {
	read := rest.Words{
		ID: "readMessages", Summary: "Mark messages as read.", In: rest.TypeOf[readRequest](),
		Example: `{"readMessages":[{"remoteJid":"4915112345678@s.whatsapp.net","id":"3EB0C767D097B7C7C030"}]}`,
		Out:     rest.TypeOf[readAnswer](), Codes: rest.AboutPeople("MESSAGE_NOT_FOUND", "INVALID_MESSAGE"),
	}
	put := read
	put.ID = "putReadMessages"
	patch := read
	patch.ID = "patchReadMessages"
	archive := rest.Words{
		ID: "archiveChat", Summary: "Archive or unarchive a chat.", In: rest.TypeOf[archiveRequest](),
		Example: `{"chat":"4915112345678","archive":true}`, Status: http.StatusNoContent, Codes: rest.AboutPeople("INVALID_MESSAGE", "APP_STATE_CONFLICT"),
	}
	archivePut := archive
	archivePut.ID = "putArchivedChat"
	return map[string]rest.Words{
		"POST /instance/{i}/chat/is-account": {
			ID: "checkNumbers", Summary: "Check which numbers have an account.", In: rest.TypeOf[numbersRequest](),
			Example: `{"numbers":["4915112345678"]}`, Out: rest.TypeOf[[]event.Registration](), Codes: rest.AboutPeople(),
		},
		"POST /instance/{i}/chat/read-message":  read,
		"PUT /instance/{i}/chat/read-message":   put,
		"PATCH /instance/{i}/chat/read-message": patch,
		"POST /instance/{i}/chat/archive":       archive,
		"PUT /instance/{i}/chat/archive":        archivePut,
		"POST /instance/{i}/chat/pin": {
			ID: "pinChat", Summary: "Pin or unpin a chat.", In: rest.TypeOf[pinRequest](), Example: `{"chat":"4915112345678","pinned":true}`, Out: rest.TypeOf[chatState](), Codes: rest.AboutPeople("APP_STATE_CONFLICT"),
		},
		"POST /instance/{i}/chat/mute": {
			ID: "muteChat", Summary: "Mute or unmute a chat.", In: rest.TypeOf[MuteRequest](), Example: `{"chat":"4915112345678","muted":true}`, Out: rest.TypeOf[chatState](), Codes: rest.AboutPeople("APP_STATE_CONFLICT"),
		},
		"POST /instance/{i}/chat/star": {
			ID: "starMessage", Summary: "Star or unstar a stored message.", In: rest.TypeOf[starRequest](),
			Example: `{"messageId":42,"starred":true}`, Out: rest.TypeOf[starAnswer](), Codes: rest.AboutPeople("APP_STATE_CONFLICT", "MESSAGE_NOT_FOUND", "INVALID_MESSAGE"),
		},
		"POST /instance/{i}/chat/block": {
			ID: "blockPerson", Summary: "Block or unblock a person.", In: rest.TypeOf[blockRequest](), Example: `{"number":"4915112345678","blocked":true}`, Out: rest.TypeOf[blockedPeople](), Codes: rest.AboutPeople(),
		},
		"GET /instance/{i}/chat/blocked": {ID: "listBlocked", Summary: "List the blocked people.", Out: rest.TypeOf[blockedPeople](), Codes: rest.Asking()},
		"POST /instance/{i}/chat/profile-picture": {
			ID: "getProfilePicture", Summary: "Get the URL of a profile picture.", In: rest.TypeOf[profilePictureRequest](), Example: `{"number":"4915112345678"}`,
			Out: rest.TypeOf[profilePictureAnswer](), Codes: rest.AboutPeople("ONE_RECIPIENT"),
		},
		"POST /instance/{i}/chat/history": {
			ID: "askForHistory", Summary: "Ask the account's phone for older messages of a chat.",
			About: "What the phone sends is stored with `metadata.source` \"history\" and reported by history.sync only. A phone that is switched off answers later.",
			In:    rest.TypeOf[historyRequest](), Example: `{"chat":"4915112345678","count":50}`, Status: http.StatusAccepted, Out: rest.TypeOf[historyAnswer](),
			Codes: rest.AboutPeople("MESSAGE_NOT_FOUND", "NO_ANCHOR"),
		},
		"POST /instance/{i}/chat/reject-call": {
			ID: "rejectCall", Summary: "Reject an incoming call.", In: rest.TypeOf[rejectRequest](), Example: `{"callId":"6F1C1A520D6B4C56","callFrom":"4915112345678"}`,
			Status: http.StatusNoContent, Codes: rest.AboutPeople(),
		},
		"POST /instance/{i}/chat/presence": {
			ID: "setPresence", Summary: "Show a presence, or subscribe to another's.", In: rest.TypeOf[presenceRequest](), Example: `{"presence":"composing","chat":"4915112345678"}`,
			Out: rest.TypeOf[presenceAnswer](), Codes: rest.AboutPeople(),
		},
	}
}

// ChatFields are the fields of the chat routes.
func ChatFields() openapi.Fields {
	presences, reads := append(rest.Presences()[1:], presenceSubscribe), openapi.Items(0, maxRead)
	return openapi.Fields{
		"NumbersRequest.numbers": rest.Say("Phone numbers with their country codes.", []any{rest.ExamplePhone}, openapi.Items(1, maxNumbers)),
		"Registration.number":    rest.Say("The digits that were asked for.", rest.ExamplePhone),
		"Registration.exists":    rest.Say("Whether the number has an account.", true),

		"ArchiveRequest.archive":       rest.Say("Whether to archive or unarchive it.", true),
		"ArchiveRequest.lastMessage":   rest.Say("The newest message of the chat, where the caller knows it; it may stand for chat.", nil),
		"LastMessage.key":              rest.Say("Which message it is.", nil),
		"LastMessage.messageTimestamp": rest.Say("When it was sent, in Unix seconds.", 1772366400, openapi.AtLeast(0)),
		"ChatState.chat":               rest.Say("The JID of the chat.", rest.ExampleJID),
		"ChatState.pinned":             rest.Say("Whether it is pinned.", true),
		"ChatState.until":              rest.Say("When the mute ends; absent: never.", rest.ExampleTime),
		"PinRequest.pinned":            rest.Say("Whether to pin or unpin it.", true),
		"MuteChatRequest.until":        rest.Say("When the mute ends; absent: never.", rest.ExampleTime, openapi.Format("date-time")),

		"BlockRequest.blocked":                   rest.Say("Whether to block or unblock the person.", true),
		"BlockedPeople.blocked":                  rest.Say("Whom the account blocks.", nil),
		"ProfilePictureRequest.preview":          rest.Say("Whether to get the small picture.", false),
		"ProfilePictureAnswer.wuid":              rest.Say("The JID of the person or the group.", rest.ExampleJID),
		"ProfilePictureAnswer.profilePictureUrl": rest.Say("The URL of the picture; null when the account can see none.", "https://pps.whatsapp.net/v/t61/1.jpg"),
		"HistoryRequest.before":                  rest.Say("The stored message before which to start; 0 or absent: the oldest of the chat.", 42),
		"HistoryRequest.count":                   rest.Say("How many messages to ask for; 50 when absent. Phones usually send up to 50.", rest.DefaultLimit, openapi.Range(1, maxHistoryCount)),
		"HistoryAnswer.before":                   rest.Say("The id of the message before which they start.", 42),
		"HistoryAnswer.count":                    rest.Say("How many messages were asked for.", 50),
		"RejectRequest.callId":                   rest.Say("The id of the call, from call.upsert.", "6F1C1A520D6B4C56", openapi.AtLeastChars(1)),
		"RejectRequest.callFrom":                 rest.Say("The caller, from call.upsert.", rest.ExampleJID),
		"PresenceRequest.presence":               rest.Say("What to show. available and unavailable apply to the account, the others to a chat; subscribe subscribes to the presence of the chat.", string(event.PresenceComposing), openapi.OneOf(presences...)),
		"PresenceAnswer.presence":                rest.Say("The presence shown now, or subscribe.", string(event.PresenceComposing)),

		"ReadRequest.messageId":    rest.Say("Stored messages: their ids here, or their ids at WhatsApp.", []any{42}, reads),
		"ReadRequest.readMessages": rest.Say("Messages by their keys.", nil, reads),
		"ReadRequest.chat":         rest.Say("The chat of keyIds: a phone number with its country code, or the JID of a person or a group.", rest.ExampleJID),
		"ReadRequest.sender":       rest.Say("Who sent the messages of keyIds; needed in groups.", rest.ExampleJID),
		"ReadRequest.keyIds":       rest.Say("Messages of chat, by their ids at WhatsApp.", []any{rest.ExampleKeyID}, reads),
		"ReadRequest.ids":          rest.Say("Stored messages, as in messageId.", []any{42}, reads),
		"ReadRequest.messageIds":   rest.Say("Messages of chat, as in keyIds.", []any{rest.ExampleKeyID}, reads),
		"ReadAnswer.message":       rest.Say("What was done, in words.", "Read messages"),
		"ReadAnswer.read":          rest.Say("That it was done.", "success"),
		"EditRequest.id":           rest.Say("The same as messageId, under its other name.", 42),
		"EditRequest.text":         rest.Say("The new text, or the new caption.", "Your order arrives tomorrow.", openapi.Chars(1, event.MaxText)),
	}
}
