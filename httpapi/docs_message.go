package httpapi

import (
	"postern/event"
	"postern/httpapi/openapi"
)

// messageFields are those of stored messages, contacts and chats.
func messageFields() openapi.Fields {
	list := say("The page.", nil)
	return openapi.Fields{
		"Message.id":                say("The message's id here.", 42, openapi.AtLeast(1)),
		"Message.keyRemoteJid":      say("The JID of the chat.", exampleJID),
		"Message.keyLid":            say("The hidden address of the chat; null where it is not known.", exampleLID),
		"Message.keyParticipant":    say("The JID of who sent it in a group; null elsewhere.", exampleJID),
		"Message.keyParticipantLid": say("The hidden address of who sent it in a group; null elsewhere or where it is not known.", exampleLID),
		"Message.content":           say("The content, as the protobuf JSON of the field that messageType names.", object{"text": "Your order is on its way."}),
		"Message.messageTimestamp":  say("When WhatsApp took it, in Unix seconds.", 1772366400, openapi.AtLeast(0)),
		"Message.device":            say("What kind of device it was sent from; null where it is not known.", "web"),
		"Message.metadata":          say("What else is known of it; null when it is nothing.", nil),

		"StoredMessage.messageUpdates": say("What became of it, the oldest first.", nil),
		"StoredUpdate.status":          say("What became of the message.", string(event.StatusDelivered)),

		"MessageFilter.keyRemoteJid":   say("Only messages of this chat.", exampleJID),
		"MessageFilter.keyFromMe":      say("Only messages that the account sent, or only others.", true),
		"MessageFilter.messageType":    say("Only messages of this type.", "conversation"),
		"MessageFilter.status":         say("Only messages whose newest update is this. The words of other gateways (ERROR, PENDING, SERVER_ACK, DELIVERY_ACK, READ, PLAYED) are accepted in any case.", string(event.StatusDelivered)),
		"MessageFilter.messageStatus":  say("The same as status.", string(event.StatusRead), openapi.OneOf(updateStatuses()...)),
		"MessageFilter.id":             say("The id of a message here, or its id at WhatsApp.", 42),
		"MessageFilter.keyParticipant": say("Who sent it in a group: the JID of the phone, or the LID.", exampleJID),
		"MessageFilter.source":         say("The kind of device that sent it.", "web"),
		"MessageFilter.device":         say("The same as source.", "web"),
		"FoundFilter.keyid":            say("The same as keyId.", exampleKeyID),
		"ListMessagesRequest.cursor":   say("Where the page begins, instead of the other cursors.", nil),
		"FindMessagesRequest.cursor":   say("Where the page begins, instead of page.", nil),
		"MessagePlace.type":            say("next: older messages; previous: newer messages.", "next", openapi.OneOf("next", "previous")),
		"MessagePlace.id":              say("The message: its id here, or its id at WhatsApp. A cursor of pageInfo is accepted too.", 42),
		"FoundList.messages":           say("The page.", nil),
		"FoundRecords.total":           say("How many messages the filter selects; at most 200 000; with more than a chat in it, among the newest that one call looks at.", 120, openapi.AtLeast(0)),
		"FoundRecords.pages":           say("How many pages they make.", 3, openapi.AtLeast(0)),
		"FoundRecords.currentPage":     say("The number of this page, from 1.", 1, openapi.AtLeast(1)),
		"FoundRecords.pageInfo":        say("Where the page lies.", nil),
		"FoundMessage.MessageUpdate":   say("The same as messageUpdates.", nil),

		"ListMessagesRequest.filter": say("Which messages.", nil),
		"FindMessagesRequest.where":  say("Which messages.", nil),
		"FindMessagesRequest.offset": say("How many records a page has at most.", defaultLimit, openapi.Range(1, maxMessageLimit)),
		"ListMessagesRequest.limit":  say("How many records a page has at most.", defaultLimit, openapi.Range(1, maxMessageLimit)),
		"FindMessagesRequest.page":   say("The number of the page, from 1.", 1, openapi.AtLeast(1)),
		"MessageList.messages":       list,
		"MessageRecords.pageInfo":    say("Where the page lies.", nil),
		"PageInfo.hasNext":           say("Whether there is a page behind it.", true),
		"PageInfo.hasPrevious":       say("Whether there is a page before it.", false),

		"searchChat.?limit":         say("How many records a page has at most; 50 when absent.", defaultLimit, openapi.Kind("integer"), openapi.Range(1, maxMessageLimit), openapi.Default(defaultLimit)),
		"searchChat.?query":         say("Only messages that have this text in them, whatever its case.", "order", openapi.Chars(1, maxSearch)),
		"ChatMessages.totalRecords": say("How many messages of the chat are stored; null with a query, and when they are too many to count.", 120, openapi.AtLeast(0)),

		"Contact.id":       say("The contact's id here.", 7),
		"Contact.fullName": say("Its name in the account's own address book.", "Ada Lovelace"),
		"Chat.name":        say("Its name, where it is known.", "Ada"),
		"Chat.lastMessage": say("Its newest stored message.", nil),
	}
}

func storedDescriptions() map[string]description {
	return map[string]description{
		"POST /instance/{i}/db/messages": {
			id: "listMessages", summary: "List stored messages, the newest first, with what became of them.",
			about:   "A call looks at 50 000 messages, and at 5000 where the filter needs them decoded: a page may have fewer records than its limit, even none, and still a next one.",
			in:      body[listMessagesRequest](),
			example: `{"filter":{"keyRemoteJid":"4915112345678@s.whatsapp.net"},"limit":50}`, out: body[messageList](), codes: codes{codeNoCursor, codeInvalidQuery},
		},
		"POST /instance/{i}/db/messages/pages": {
			id: "findMessages", summary: "List stored messages by numbered pages.", in: body[findMessagesRequest](),
			example: `{"where":{"keyFromMe":true},"page":1,"offset":50}`, out: body[foundList](), codes: codes{codeInvalidQuery},
		},
		"GET /instance/{i}/contacts": {
			id: "listContacts", summary: "List the contacts.",
			about: "With a name, a call looks at 5000 contacts: a page may have fewer records than its limit, even none, and still a next one.",
			query: []string{"limit", "nextCursor", "jid", "name"}, out: body[contactList](), codes: codes{codeNoCursor},
		},
		"GET /instance/{i}/chats": {
			id: "listChats", summary: "List the chats that have stored messages, the latest first.",
			about: "An instance with more than 1500 chats has them listed by its newest messages, 4000 a call: a page may have fewer records than its limit, even none, and still a next one.",
			query: []string{"limit", "nextCursor"}, out: body[chatList](), codes: codes{codeNoCursor},
		},
		"GET /instance/{i}/chats/{jid}/messages": {
			id: "searchChat", summary: "Find text in a chat, the newest messages first.",
			about: "Case is ignored. A page looks at 20 000 messages and reads 64 MiB of content at most: it may have fewer records than its limit, even none, and still have a next one.",
			query: cursors("query"), out: body[chatMessages](), codes: codes{codeNoCursor, "INVALID_RECIPIENT"},
		},
	}
}
