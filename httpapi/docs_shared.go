package httpapi

import (
	"postern/event"
	"postern/httpapi/instances"
	"postern/httpapi/openapi"
	"postern/httpapi/operator"
	"postern/httpapi/rest"
	"postern/httpapi/sends"
)

// The rest of the fields have their descriptions in tags, or in fields.go of their resource; see [openapi.Fields].

// sharedFields are the fields that mean the same in every type.
func sharedFields() openapi.Fields {
	uuid, chars, least := openapi.Format("uuid"), openapi.Chars, openapi.AtLeastChars
	return openapi.Fields{
		// Who and where.
		"instanceName":       rest.Say("The instance's name.", rest.ExampleName, chars(1, 255), openapi.Pattern(instances.NamePattern)),
		"instanceId":         rest.Say("The instance's id.", 1, openapi.AtLeast(1)),
		"connectionStatus":   rest.Say("The state of the instance's connection.", string(event.Online)),
		"ownerJid":           rest.Say("The JID of the linked account; null until a phone is linked.", rest.ExampleJID),
		"externalAttributes": rest.Say("An object attached by the caller, returned unchanged.", openapi.Object{"order": 42}),
		"batchId":            rest.Say("The batch.", rest.ExampleUUID, uuid),
		"ownerUserId":        rest.Say("The user who owns the batch.", rest.ExampleUUID, uuid),
		"messageId":          rest.Say("The message's id here, or its id at WhatsApp.", 42),
		"number":             rest.Say("The recipient: a phone number with its country code, or a JID. Spaces and + ( ) - . are ignored in numbers.", rest.ExamplePhone, least(1)),
		"chat":               rest.Say("The chat: a phone number with its country code, or the JID of a person or a group.", rest.ExampleJID, least(1)),
		"recipient":          rest.Say("The recipient, as number.", rest.ExamplePhone),
		"chatJid":            rest.Say("The JID of the chat.", rest.ExampleJID),
		"senderJid":          rest.Say("The JID of the sender, where it is known.", rest.ExampleJID),
		"groupJid":           rest.Say("The JID of the group.", rest.ExampleGroup),
		"newsletterJid":      rest.Say("The JID of the newsletter.", "120363012345678901@newsletter"),
		"lid":                rest.Say("The hidden address of the person, where it is known.", rest.ExampleLID),
		"jid":                rest.Say("The address: the phone JID where it is known, else the LID; for a group its JID.", rest.ExampleJID),
		"remoteJid":          rest.Say("The JID of the chat.", rest.ExampleJID),
		"isGroup":            rest.Say("Whether the chat is a group.", false),
		"pushName":           rest.Say("The name that the person chose.", "Ada"),
		"businessName":       rest.Say("The verified name of a business.", "Analytical Engines Ltd"),
		"phoneLastSeenAt":    rest.Say("When the account's phone last gave a sign, to the hour; null until it did. WhatsApp unlinks devices whose phone it has not seen for about 14 days.", rest.ExampleTime),
		"profilePicUrl":      rest.Say("The URL of the profile picture; null when none is visible.", "https://pps.whatsapp.net/v/t61/1.jpg", openapi.Format("uri")),
		"pictureId":          rest.Say("WhatsApp's id of the picture.", "1709294400"),
		"author":             rest.Say("The JID of who did it.", rest.ExampleJID),

		// Messages.
		"keyId":        rest.Say("The message's id at WhatsApp.", rest.ExampleKeyID),
		"keyFromMe":    rest.Say("Whether the account itself sent it.", true),
		"messageType":  rest.Say("The type of the message: the name of its field in WhatsApp's protocol.", "conversation"),
		"caption":      rest.Say("The text under the file.", "Our cat", chars(0, event.MaxText)),
		"fileName":     rest.Say("The file's name, as the recipient sees it.", "invoice.pdf", chars(0, event.MaxName)),
		"mimetype":     rest.Say("The file's media type; the type detected from the file takes precedence.", "image/jpeg"),
		"mediaType":    rest.Say("The kind of message to send the file as.", string(event.MediaImage), openapi.OneOf(sends.UploadKinds()...)),
		"viewOnce":     rest.Say("Whether the recipient can view it only once. For images, videos and voice notes.", false),
		"mentionAll":   rest.Say("Whether every member of the group is mentioned. The message is then sent asynchronously; see 202.", false),
		"fromFullSync": rest.Say("Whether it comes from the initial synchronisation rather than from a new change.", false),
		"deleteMedia":  rest.Say("Whether the files on the devices are deleted too.", false),
		"starred":      rest.Say("Whether it has a star.", true),
		"muted":        rest.Say("Whether it is muted.", true),

		// Files.
		"mediaUploadId": rest.Say("The id of an earlier upload, instead of a URL.", rest.ExampleUUID),
		"width":         rest.Say("Width in pixels.", 1280, openapi.AtLeast(0)),
		"height":        rest.Say("Height in pixels.", 720, openapi.AtLeast(0)),
		"seconds":       rest.Say("Length in seconds.", 12, openapi.AtLeast(0)),

		// Groups and labels.
		"subject":           rest.Say("The group's subject.", "Summer party", chars(1, event.MaxSubject)),
		"announce":          rest.Say("Whether only admins may write.", false),
		"restrict":          rest.Say("Whether only admins may change subject, description and picture.", false),
		"memberAddMode":     rest.Say("Whether every member may add others.", true),
		"joinApprovalMode":  rest.Say("Whether admins decide who joins by the invitation.", false),
		"ephemeralDuration": rest.Say("Seconds after which messages disappear; 0: never.", 0, openapi.Object{"enum": []any{0, 86400, 604800, 7776000}}),
		"inviteCode":        rest.Say("The code of an invitation, or the link that ends in it.", "AbCdEfGhIjKlMnOpQrStUv", least(1)),
		"labelId":           rest.Say("The label's id: digits.", "4", openapi.Pattern("^[0-9]{1,9}$")),
		"color":             rest.Say("An index into the palette of WhatsApp's clients.", 3, openapi.Range(0, event.MaxLabelColor)),

		// Times.
		"createdAt": rest.Say("When it was created.", rest.ExampleTime),
		"updatedAt": rest.Say("When it last changed.", rest.ExampleTime),
		"startedAt": rest.Say("When it began.", rest.ExampleTime),
		"expiresAt": rest.Say("When it expires.", rest.ExampleTime),
		"dateTime":  rest.Say("When it happened according to WhatsApp, else when it was received.", rest.ExampleTime),
		"timestamp": rest.Say("When the event was created.", rest.ExampleTime),

		// Events.
		"ConnectionUpdate.passkey":  rest.Say("With the type passkey only: the step of a pairing with a passkey; null once it is paired or cancelled.", nil),
		"InstanceStatusUpdate.data": rest.Say("Further data from WhatsApp.", openapi.Object{}),

		// Lists.
		"limit":          rest.Say("The maximum number of records of a page.", rest.DefaultLimit, openapi.Range(1, rest.MaxLimit)),
		"nextCursor":     rest.Say("The cursor of the next page; null at the end. Pass it unchanged.", "djE6MTIzNDU2", openapi.OrNull()),
		"previousCursor": rest.Say("The cursor of the previous page; null at the beginning. Pass it unchanged.", "djE6MTIzNDU1", openapi.OrNull()),
		"records":        rest.Say("The records of this page.", nil),
		"totalRecords":   rest.Say("The number of records on all pages; a lower bound when totalIsMinimum is true.", 1, openapi.AtLeast(0)),
		"totalIsMinimum": rest.Say("True when there may be more than totalRecords, because the filter must test more records than one call scans; absent otherwise. A page may then have fewer records than its limit, even none, and still a next page.", true),
	}
}

// parameterFields are the parameters of paths, queries and headers.
func parameterFields() openapi.Fields {
	return openapi.Fields{
		"{instanceName}":  rest.Say("The instance's name.", rest.ExampleName),
		"{again}":         rest.Say("The instance's name again.", rest.ExampleName),
		"{batchId}":       rest.Say("The batch's id.", rest.ExampleUUID, openapi.Format("uuid")),
		"{itemId}":        rest.Say("The item's id.", rest.ExampleUUID, openapi.Format("uuid")),
		"{jid}":           rest.Say("The chat: a phone number with its country code, or the JID of a person, a group or a newsletter.", rest.ExampleJID),
		"{uploadId}":      rest.Say("The upload's id.", rest.ExampleUUID),
		"{eventId}":       rest.Say("The event's id in the outbox.", 1, openapi.Kind("integer"), openapi.Object{"minimum": 1}),
		"{phoneNumber}":   rest.Say("A phone number with its country code.", rest.ExamplePhone),
		"Idempotency-Key": rest.Say("A key of the caller's choice. For 24 hours, a request with the same key and body gets the stored first answer.", rest.ExampleUUID, openapi.Chars(1, rest.MaxIdempotencyKey)),

		"?limit":          rest.Say("The maximum number of records of a page; 50 when absent.", rest.DefaultLimit, openapi.Kind("integer"), openapi.Range(1, rest.MaxLimit), openapi.Default(rest.DefaultLimit)),
		"?nextCursor":     rest.Say("The nextCursor of the previous page, unchanged.", nil),
		"?previousCursor": rest.Say("The previousCursor of the following page, unchanged.", nil),
		"?instanceName":   rest.Say("Only those of the instance with this name.", rest.ExampleName),
		"?status":         rest.Say("Only those with this status; several are separated by commas, or the parameter is repeated.", "PROCESSING"),
		"?ownerUserId":    rest.Say("Only those of this user.", rest.ExampleUUID, openapi.Format("uuid")),
		"?recipient":      rest.Say("Only those of this recipient, as given or normalized.", rest.ExamplePhone),
		"?createdFrom":    rest.Say("Only those created at this time or later.", rest.ExampleTime, openapi.Format("date-time")),
		"?createdTo":      rest.Say("Only those created before this time.", rest.ExampleTime, openapi.Format("date-time")),
		"?name":           rest.Say("Only those with this name.", "Summer offer"),
		"?query":          rest.Say("Only those with this text in their name, in upper or lower case.", "offer"),
		"?jid":            rest.Say("Only the one with this JID or LID.", rest.ExampleJID),
		"?state":          rest.Say("Only the events in this state.", "pending", openapi.OneOf("pending", "delivered", "disabled")),
		"?details":        rest.Say("Whether the answer has the result.", false, openapi.Kind("boolean"), openapi.Default(false)),
		"?mediaType":      rest.Say("The kind of message that the file was uploaded for.", string(event.MediaImage), openapi.OneOf(event.UploadKinds()...)),
		"?expired":        rest.Say("Whether it has expired.", false, openapi.Kind("boolean")),
		"?externalId":     rest.Say("The caller's name for it.", "cat-7"),
		"?groupJid":       rest.Say("The JID of the group, where the body does not name it.", rest.ExampleGroup),
		"?inviteCode":     rest.Say("The code of an invitation, or the link that ends in it.", "AbCdEfGhIjKlMnOpQrStUv"),
		"?newsletterJid":  rest.Say("The JID of the newsletter.", "120363012345678901@newsletter"),
		"?labelId":        rest.Say("The label's id: digits.", "4", openapi.Required()),
		"?network":        rest.Say("forget removes an account that belongs to another network than the program is connected to. That network is not notified, and the account has to be paired again.", "forget", openapi.OneOf("forget")),
		"?force":          rest.Say("Whether stored messages are deleted too.", false, openapi.Kind("boolean"), openapi.Default(false)),
		"?binary":         rest.Say("Whether the answer is the file itself.", false, openapi.Kind("boolean"), openapi.Default(false)),
		"?event":          rest.Say("The events to receive: names separated by commas, or the parameter repeated; * means all.", "*", openapi.Required()),
		"?token":          rest.Say("The token, where the client cannot send Authorization: Bearer.", nil),
		"?instance":       rest.Say("The instance; needed with a scoped key for several instances, or with a session.", rest.ExampleName),
		"?user":           rest.Say("The user whose batches to use, with the session of the GlobalApiKey.", rest.ExampleUUID, openapi.Format("uuid")),
		"?since":          rest.Say("A position: kept events after this sequence are sent first.", 0, openapi.Kind("integer"), openapi.Object{"minimum": 0}),
	}
}

// errorFields are those of the body of every refusal.
func errorFields() openapi.Fields {
	codes := make([]string, 0, len(Codes()))
	for _, c := range Codes() {
		if !c.Sandbox {
			codes = append(codes, c.Code)
		}
	}
	return openapi.Fields{
		"Error.code":     rest.Say("The error code, for programs.", "INVALID_RECIPIENT", openapi.OneOf(operator.Unique(codes)...)),
		"Error.messages": rest.Say("The error for people; each message names the field and the rule.", []any{"number has 5 digits, 7 to 15 are allowed"}),
		"Error.message":  rest.Say("The same as messages.", []any{"number has 5 digits, 7 to 15 are allowed"}),
	}
}
