package chats

import (
	"postern/event"
	"postern/httpapi/openapi"
	"postern/httpapi/rest"
)

// MessageFields are the fields of stored messages, contacts and chats.
func MessageFields() openapi.Fields {
	list := rest.Say("The page.", nil)
	return openapi.Fields{
		"Message.id":                rest.Say("The message's id here.", 42, openapi.AtLeast(1)),
		"Message.keyRemoteJid":      rest.Say("The JID of the chat.", rest.ExampleJID),
		"Message.keyLid":            rest.Say("The LID of the chat; null when unknown.", rest.ExampleLID),
		"Message.keyParticipant":    rest.Say("The JID of the sender in a group; null elsewhere.", rest.ExampleJID),
		"Message.keyParticipantLid": rest.Say("The LID of the sender in a group; null elsewhere or when unknown.", rest.ExampleLID),
		"Message.content":           rest.Say("The content, as the protobuf JSON of the field that messageType names.", openapi.Object{"text": "Your order is on its way."}),
		"Message.messageTimestamp":  rest.Say("When WhatsApp accepted it, in Unix seconds.", 1772366400, openapi.AtLeast(0)),
		"Message.device":            rest.Say("The kind of device that sent it; null when unknown.", "web"),
		"Message.metadata":          rest.Say("Further data of the message; null when there is none.", nil),

		"StoredMessage.messageUpdates": rest.Say("Its status updates, oldest first.", nil),
		"StoredUpdate.status":          rest.Say("The status of the message.", string(event.StatusDelivered)),

		"MessageFilter.keyRemoteJid":   rest.Say("Only messages of this chat.", rest.ExampleJID),
		"MessageFilter.keyFromMe":      rest.Say("true: only messages that the account sent; false: only others.", true),
		"MessageFilter.messageType":    rest.Say("Only messages of this type.", "conversation"),
		"MessageFilter.status":         rest.Say("Only messages whose newest update has this status. The names of other gateways (ERROR, PENDING, SERVER_ACK, DELIVERY_ACK, READ, PLAYED) are accepted too, in upper or lower case.", string(event.StatusDelivered)),
		"MessageFilter.messageStatus":  rest.Say("The same as status.", string(event.StatusRead), openapi.OneOf(UpdateStatuses()...)),
		"MessageFilter.id":             rest.Say("The id of a message here, or its id at WhatsApp.", 42),
		"MessageFilter.keyParticipant": rest.Say("The sender in a group: the phone JID or the LID.", rest.ExampleJID),
		"MessageFilter.source":         rest.Say("The kind of device that sent it.", "web"),
		"MessageFilter.device":         rest.Say("The same as source.", "web"),
		"FoundFilter.keyid":            rest.Say("The same as keyId.", rest.ExampleKeyID),
		"ListMessagesRequest.cursor":   rest.Say("The start of the page, instead of the other cursors.", nil),
		"FindMessagesRequest.cursor":   rest.Say("The start of the page, instead of page.", nil),
		"MessagePlace.type":            rest.Say("next: older messages; previous: newer messages.", "next", openapi.OneOf("next", "previous")),
		"MessagePlace.id":              rest.Say("The message: its id here, or its id at WhatsApp. A cursor of pageInfo is accepted too.", 42),
		"FoundList.messages":           rest.Say("The page.", nil),
		"FoundRecords.total":           rest.Say("How many messages the filter selects, at most 200 000; if the filter has more than a chat, among the newest messages that one call scans.", 120, openapi.AtLeast(0)),
		"FoundRecords.pages":           rest.Say("The number of pages.", 3, openapi.AtLeast(0)),
		"FoundRecords.currentPage":     rest.Say("The number of this page, from 1.", 1, openapi.AtLeast(1)),
		"FoundRecords.pageInfo":        rest.Say("The position of the page.", nil),
		"FoundMessage.MessageUpdate":   rest.Say("The same as messageUpdates.", nil),

		"ListMessagesRequest.filter": rest.Say("The messages to select.", nil),
		"FindMessagesRequest.where":  rest.Say("The messages to select.", nil),
		"FindMessagesRequest.offset": rest.Say("The maximum number of records of a page.", rest.DefaultLimit, openapi.Range(1, maxMessageLimit)),
		"ListMessagesRequest.limit":  rest.Say("The maximum number of records of a page.", rest.DefaultLimit, openapi.Range(1, maxMessageLimit)),
		"FindMessagesRequest.page":   rest.Say("The number of the page, from 1.", 1, openapi.AtLeast(1)),
		"MessageList.messages":       list,
		"MessageRecords.pageInfo":    rest.Say("The position of the page.", nil),
		"PageInfo.hasNext":           rest.Say("Whether there is a next page.", true),
		"PageInfo.hasPrevious":       rest.Say("Whether there is a previous page.", false),

		"searchChat.?limit":         rest.Say("The maximum number of records of a page; 50 when absent.", rest.DefaultLimit, openapi.Kind("integer"), openapi.Range(1, maxMessageLimit), openapi.Default(rest.DefaultLimit)),
		"searchChat.?query":         rest.Say("Only messages that contain this text; case is ignored.", "order", openapi.Chars(1, maxSearch)),
		"ChatMessages.totalRecords": rest.Say("How many messages of the chat are stored; null with a query, or when there are too many to count.", 120, openapi.AtLeast(0)),

		"Contact.id":       rest.Say("The contact's id here.", 7),
		"Contact.fullName": rest.Say("Its name in the account's own address book.", "Ada Lovelace"),
		"Chat.name":        rest.Say("Its name, where it is known.", "Ada"),
		"Chat.lastMessage": rest.Say("Its newest stored message.", nil),
	}
}

func storedDescriptions() map[string]rest.Words {
	return map[string]rest.Words{
		"POST /instance/{i}/db/messages": {
			ID: "listMessages", Summary: "List stored messages with their status updates, newest first.",
			About:   "A call scans 50 000 messages, or 5000 when the filter needs them decoded: a page may have fewer records than its limit, even none, and still a next page.",
			In:      rest.TypeOf[listMessagesRequest](),
			Example: `{"filter":{"keyRemoteJid":"4915112345678@s.whatsapp.net"},"limit":50}`, Out: rest.TypeOf[MessageList](), Codes: rest.Codes{rest.CodeNoCursor, rest.CodeInvalidQuery},
		},
		"POST /instance/{i}/db/messages/pages": {
			ID: "findMessages", Summary: "List stored messages in numbered pages.", In: rest.TypeOf[findMessagesRequest](),
			Example: `{"where":{"keyFromMe":true},"page":1,"offset":50}`, Out: rest.TypeOf[FoundList](), Codes: rest.Codes{rest.CodeInvalidQuery},
		},
		"GET /instance/{i}/contacts": {
			ID: "listContacts", Summary: "List the contacts.",
			About: "With a name, a call scans 5000 contacts: a page may have fewer records than its limit, even none, and still a next page.",
			Query: []string{"limit", "nextCursor", "jid", "name"}, Out: rest.TypeOf[contactList](), Codes: rest.Codes{rest.CodeNoCursor},
		},
		"GET /instance/{i}/chats": {
			ID: "listChats", Summary: "List the chats with stored messages, latest first.",
			About: "With more than 1500 chats, a call scans the 4000 next messages for chats: a page may have fewer records than its limit, even none, and still a next page.",
			Query: []string{"limit", "nextCursor"}, Out: rest.TypeOf[chatList](), Codes: rest.Codes{rest.CodeNoCursor},
		},
		"GET /instance/{i}/chats/{jid}/messages": {
			ID: "searchChat", Summary: "Search the text of a chat, newest messages first.",
			About: "Case is ignored. A call scans at most 20 000 messages and 64 MiB of content: a page may have fewer records than its limit, even none, and still a next page.",
			Query: rest.Cursors("query"), Out: rest.TypeOf[chatMessages](), Codes: rest.Codes{rest.CodeNoCursor, "INVALID_RECIPIENT"},
		},
	}
}
