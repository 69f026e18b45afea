package httpapi

import (
	"postern/event"
	"postern/httpapi/openapi"
)

// messageFields are the fields of stored messages, contacts and chats.
func messageFields() openapi.Fields {
	list := say("The page.", nil)
	return openapi.Fields{
		"Message.id":                say("The message's id here.", 42, openapi.AtLeast(1)),
		"Message.keyRemoteJid":      say("The JID of the chat.", exampleJID),
		"Message.keyLid":            say("The LID of the chat; null when unknown.", exampleLID),
		"Message.keyParticipant":    say("The JID of the sender in a group; null elsewhere.", exampleJID),
		"Message.keyParticipantLid": say("The LID of the sender in a group; null elsewhere or when unknown.", exampleLID),
		"Message.content":           say("The content, as the protobuf JSON of the field that messageType names.", object{"text": "Your order is on its way."}),
		"Message.messageTimestamp":  say("When WhatsApp accepted it, in Unix seconds.", 1772366400, openapi.AtLeast(0)),
		"Message.device":            say("The kind of device that sent it; null when unknown.", "web"),
		"Message.metadata":          say("Further data of the message; null when there is none.", nil),

		"StoredMessage.messageUpdates": say("Its status updates, oldest first.", nil),
		"StoredUpdate.status":          say("The status of the message.", string(event.StatusDelivered)),

		"MessageFilter.keyRemoteJid":   say("Only messages of this chat.", exampleJID),
		"MessageFilter.keyFromMe":      say("true: only messages that the account sent; false: only others.", true),
		"MessageFilter.messageType":    say("Only messages of this type.", "conversation"),
		"MessageFilter.status":         say("Only messages whose newest update has this status. The names of other gateways (ERROR, PENDING, SERVER_ACK, DELIVERY_ACK, READ, PLAYED) are accepted too, in upper or lower case.", string(event.StatusDelivered)),
		"MessageFilter.messageStatus":  say("The same as status.", string(event.StatusRead), openapi.OneOf(updateStatuses()...)),
		"MessageFilter.id":             say("The id of a message here, or its id at WhatsApp.", 42),
		"MessageFilter.keyParticipant": say("The sender in a group: the phone JID or the LID.", exampleJID),
		"MessageFilter.source":         say("The kind of device that sent it.", "web"),
		"MessageFilter.device":         say("The same as source.", "web"),
		"FoundFilter.keyid":            say("The same as keyId.", exampleKeyID),
		"ListMessagesRequest.cursor":   say("The start of the page, instead of the other cursors.", nil),
		"FindMessagesRequest.cursor":   say("The start of the page, instead of page.", nil),
		"MessagePlace.type":            say("next: older messages; previous: newer messages.", "next", openapi.OneOf("next", "previous")),
		"MessagePlace.id":              say("The message: its id here, or its id at WhatsApp. A cursor of pageInfo is accepted too.", 42),
		"FoundList.messages":           say("The page.", nil),
		"FoundRecords.total":           say("How many messages the filter selects, at most 200 000; if the filter has more than a chat, among the newest messages that one call scans.", 120, openapi.AtLeast(0)),
		"FoundRecords.pages":           say("The number of pages.", 3, openapi.AtLeast(0)),
		"FoundRecords.currentPage":     say("The number of this page, from 1.", 1, openapi.AtLeast(1)),
		"FoundRecords.pageInfo":        say("The position of the page.", nil),
		"FoundMessage.MessageUpdate":   say("The same as messageUpdates.", nil),

		"ListMessagesRequest.filter": say("The messages to select.", nil),
		"FindMessagesRequest.where":  say("The messages to select.", nil),
		"FindMessagesRequest.offset": say("The maximum number of records of a page.", defaultLimit, openapi.Range(1, maxMessageLimit)),
		"ListMessagesRequest.limit":  say("The maximum number of records of a page.", defaultLimit, openapi.Range(1, maxMessageLimit)),
		"FindMessagesRequest.page":   say("The number of the page, from 1.", 1, openapi.AtLeast(1)),
		"MessageList.messages":       list,
		"MessageRecords.pageInfo":    say("The position of the page.", nil),
		"PageInfo.hasNext":           say("Whether there is a next page.", true),
		"PageInfo.hasPrevious":       say("Whether there is a previous page.", false),

		"searchChat.?limit":         say("The maximum number of records of a page; 50 when absent.", defaultLimit, openapi.Kind("integer"), openapi.Range(1, maxMessageLimit), openapi.Default(defaultLimit)),
		"searchChat.?query":         say("Only messages that contain this text; case is ignored.", "order", openapi.Chars(1, maxSearch)),
		"ChatMessages.totalRecords": say("How many messages of the chat are stored; null with a query, or when there are too many to count.", 120, openapi.AtLeast(0)),

		"Contact.id":       say("The contact's id here.", 7),
		"Contact.fullName": say("Its name in the account's own address book.", "Ada Lovelace"),
		"Chat.name":        say("Its name, where it is known.", "Ada"),
		"Chat.lastMessage": say("Its newest stored message.", nil),
	}
}

func storedDescriptions() map[string]description {
	return map[string]description{
		"POST /instance/{i}/db/messages": {
			id: "listMessages", summary: "List stored messages with their status updates, newest first.",
			about:   "A call scans 50 000 messages, or 5000 when the filter needs them decoded: a page may have fewer records than its limit, even none, and still a next page.",
			in:      body[listMessagesRequest](),
			example: `{"filter":{"keyRemoteJid":"4915112345678@s.whatsapp.net"},"limit":50}`, out: body[messageList](), codes: codes{codeNoCursor, codeInvalidQuery},
		},
		"POST /instance/{i}/db/messages/pages": {
			id: "findMessages", summary: "List stored messages in numbered pages.", in: body[findMessagesRequest](),
			example: `{"where":{"keyFromMe":true},"page":1,"offset":50}`, out: body[foundList](), codes: codes{codeInvalidQuery},
		},
		"GET /instance/{i}/contacts": {
			id: "listContacts", summary: "List the contacts.",
			about: "With a name, a call scans 5000 contacts: a page may have fewer records than its limit, even none, and still a next page.",
			query: []string{"limit", "nextCursor", "jid", "name"}, out: body[contactList](), codes: codes{codeNoCursor},
		},
		"GET /instance/{i}/chats": {
			id: "listChats", summary: "List the chats with stored messages, latest first.",
			about: "With more than 1500 chats, a call scans the 4000 next messages for chats: a page may have fewer records than its limit, even none, and still a next page.",
			query: []string{"limit", "nextCursor"}, out: body[chatList](), codes: codes{codeNoCursor},
		},
		"GET /instance/{i}/chats/{jid}/messages": {
			id: "searchChat", summary: "Search the text of a chat, newest messages first.",
			about: "Case is ignored. A call scans at most 20 000 messages and 64 MiB of content: a page may have fewer records than its limit, even none, and still a next page.",
			query: cursors("query"), out: body[chatMessages](), codes: codes{codeNoCursor, "INVALID_RECIPIENT"},
		},
	}
}
