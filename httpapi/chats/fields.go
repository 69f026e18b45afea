package chats

import (
	"math"

	"postern/event"
	"postern/httpapi/openapi"
	"postern/httpapi/rest"
)

// Fields describes parameters, and the fields of bodies that need more than their tags: a constant or a long text.
func Fields() openapi.Fields {
	presences, reads := append(rest.Presences()[1:], presenceSubscribe), openapi.Items(0, maxRead)
	chars := openapi.Chars
	people := rest.Say("The people: phone numbers or JIDs.", []any{rest.ExamplePhone}, openapi.Items(1, event.MaxMembers-1))
	return openapi.Fields{
		"NumbersRequest.numbers": rest.Say("Phone numbers with their country codes.", []any{rest.ExamplePhone}, openapi.Items(1, maxNumbers)),

		"ProfileRequest.name":    rest.Say("The name that people see who do not know the account.", "Shop", chars(1, event.MaxProfileName)),
		"ProfileRequest.about":   rest.Say("The text that the account shows about itself.", "Open until six", chars(0, event.MaxProfileAbout)),
		"ProfileRequest.picture": rest.Say("The http or https URL of the picture; null removes the picture.", "https://example.org/shop.jpg"),

		"UserInfoRequest.numbers": rest.Say("Phone numbers with their country codes.", []any{rest.ExamplePhone}, openapi.Items(1, maxUserInfo)),

		"HistoryRequest.count":     rest.Say("How many messages to ask for; 50 when absent. Phones usually send up to 50.", rest.DefaultLimit, openapi.Range(1, maxHistoryCount)),
		"PresenceRequest.presence": rest.Say("What to show. available and unavailable apply to the account, the others to a chat; subscribe subscribes to the presence of the chat.", string(event.PresenceComposing), openapi.OneOf(presences...)),

		"ReadRequest.messageId":    rest.Say("Stored messages: their ids here, or their ids at WhatsApp.", []any{42}, reads),
		"ReadRequest.readMessages": rest.Say("Messages by their keys.", nil, reads),
		"ReadRequest.keyIds":       rest.Say("Messages of chat, by their ids at WhatsApp.", []any{rest.ExampleKeyID}, reads),
		"ReadRequest.ids":          rest.Say("Stored messages, as in messageId.", []any{42}, reads),
		"ReadRequest.messageIds":   rest.Say("Messages of chat, as in keyIds.", []any{rest.ExampleKeyID}, reads),

		"CreateGroupRequest.participants": people,
		"CreateGroupRequest.description":  rest.Say("The group's description.", "We meet at eight.", chars(0, event.MaxDescription)),
		"MembersRequest.participants":     people,
		"DecideRequest.participants":      people,
		"DecideRequest.action":            rest.Say("The decision.", string(approve), openapi.OneOf(approve, reject)),
		"DecideAnswer.action":             rest.Say("The decision.", string(approve), openapi.OneOf(approve, reject)),
		"DescriptionRequest.description":  rest.Say("The group's description; empty to remove it.", "We meet at eight.", chars(0, event.MaxDescription)),
		"PictureRequest.image":            rest.Say("The http or https URL of the picture; empty to remove the picture.", "https://example.org/group.jpg", chars(0, event.MaxURL)),

		"CreateLabelRequest.name": rest.Say("The label's name.", "Paid", chars(1, event.MaxLabelName)),
		"LabelChange.name":        rest.Say("The label's name.", "Paid", chars(1, event.MaxLabelName)),

		"Message.content": rest.Say("The content, as the protobuf JSON of the field that messageType names.", openapi.Object{"text": "Your order is on its way."}),

		"MessageFilter.status":        rest.Say("Only messages with this status, the highest of their updates; those of the account without an update are sent. The names of other gateways (ERROR, PENDING, SERVER_ACK, DELIVERY_ACK, READ, PLAYED) are accepted too, in upper or lower case.", string(event.StatusDelivered)),
		"MessageFilter.messageStatus": rest.Say("The same as status.", string(event.StatusRead), openapi.OneOf(UpdateStatuses()...)),
		"FoundRecords.total":          rest.Say("How many messages the filter selects, at most 200 000; if the filter has more than a chat, among the newest messages that one call scans.", 120, openapi.AtLeast(0)),

		"FindMessagesRequest.offset": rest.Say("The maximum number of records of a page.", rest.DefaultLimit, openapi.Range(1, maxMessageLimit)),
		"ListMessagesRequest.limit":  rest.Say("The maximum number of records of a page.", rest.DefaultLimit, openapi.Range(1, maxMessageLimit)),

		"deleteForMe.?messageId": rest.Say("A stored message: its id here, or its id at WhatsApp.", "42", openapi.Required()),
		"getErasure.{erasureId}": rest.Say("The erasure, as the answer to DELETE /instance/{i}/people/{jid} named it.", rest.ExampleUUID, openapi.Format("uuid")),

		"deleteChat.?stored": rest.Say("true: its stored messages are removed, too.", "true", openapi.OneOf("true", "false")),

		"listNewsletterPosts.?newsletterJid": rest.Say("The JID of the newsletter.", "120363012345678901@newsletter", openapi.Required()),
		"listNewsletterPosts.?before":        rest.Say("Only posts older than the one with this serverId.", 142, openapi.Kind("integer"), openapi.Range(1, math.MaxInt32)),
		"listNewsletterPosts.?limit":         rest.Say("The maximum number of records of a page; 50 when absent.", rest.DefaultLimit, openapi.Kind("integer"), openapi.Range(1, maxPosts), openapi.Default(rest.DefaultLimit)),

		"searchMessages.?query":  rest.Say("Only messages that contain this text; case is ignored.", "order", openapi.Required(), openapi.Chars(minSearch, maxSearchAll)),
		"searchMessages.?from":   rest.Say("Only messages sent then or later.", rest.ExampleTime, openapi.Format("date-time")),
		"searchMessages.?to":     rest.Say("Only messages sent before it.", rest.ExampleTime, openapi.Format("date-time")),
		"searchMessages.?type":   rest.Say("Only messages of this messageType.", "conversation"),
		"searchMessages.?fromMe": rest.Say("Only messages of the account itself, or only those of others.", "false", openapi.OneOf("true", "false")),
		"searchMessages.?chat":   rest.Say("Only messages of this chat: a phone number, or a JID.", rest.ExamplePhone),
		"searchMessages.?cursor": rest.Say("The nextCursor of the page before.", "MTIz"),
		"searchMessages.?limit":  rest.Say("The maximum number of records of a page; 50 when absent.", rest.DefaultLimit, openapi.Kind("integer"), openapi.Range(1, maxMessageLimit), openapi.Default(rest.DefaultLimit)),
		"searchChat.?limit":      rest.Say("The maximum number of records of a page; 50 when absent.", rest.DefaultLimit, openapi.Kind("integer"), openapi.Range(1, maxMessageLimit), openapi.Default(rest.DefaultLimit)),
		"searchChat.?query":      rest.Say("Only messages that contain this text; case is ignored.", "order", openapi.Chars(1, maxSearch)),
	}
}
