package httpapi

import (
	"postern/event"
	"postern/httpapi/openapi"
)

// The docs_ files say what the fields of bodies, answers and events mean; see
// [openapi.Fields].

// say is short for [openapi.Say].
func say(about string, example any, rules ...openapi.Object) openapi.Field {
	return openapi.Say(about, example, rules...)
}

// Values that many examples share.
const (
	examplePhone = "4915112345678"
	exampleJID   = "4915112345678@s.whatsapp.net"
	exampleLID   = "133742133742133@lid"
	exampleKeyID = "3EB0C767D097B7C7C030"
	exampleUUID  = "6f1c1a52-0d6b-4c56-9c0e-6d1a3f4b2c10"
	exampleTime  = "2026-03-01T12:00:00.000Z"
	exampleName  = "sales"
)

// sharedFields are the fields that mean the same in every type.
func sharedFields() openapi.Fields {
	uuid, chars, least := openapi.Format("uuid"), openapi.Chars, openapi.AtLeastChars
	return openapi.Fields{
		// Who and where.
		"instanceName":       say("The instance's name.", exampleName, chars(1, 255), openapi.Pattern(namePattern)),
		"instanceId":         say("The instance's id.", 1, openapi.AtLeast(1)),
		"connectionStatus":   say("The state of the instance's connection.", string(event.Online)),
		"ownerJid":           say("The JID of the linked account; null until a phone is linked.", exampleJID),
		"externalAttributes": say("An object attached by the caller, returned unchanged.", object{"order": 42}),
		"batchId":            say("The batch.", exampleUUID, uuid),
		"ownerUserId":        say("The user who owns the batch.", exampleUUID, uuid),
		"messageId":          say("The message's id here, or its id at WhatsApp.", 42),
		"number":             say("The recipient: a phone number with its country code, or a JID. Spaces and + ( ) - . are ignored in numbers.", examplePhone, least(1)),
		"chat":               say("The chat: a phone number with its country code, or the JID of a person or a group.", exampleJID, least(1)),
		"recipient":          say("The recipient, as number.", examplePhone),
		"chatJid":            say("The JID of the chat.", exampleJID),
		"senderJid":          say("The JID of the sender, where it is known.", exampleJID),
		"groupJid":           say("The JID of the group.", exampleGroup),
		"newsletterJid":      say("The JID of the newsletter.", "120363012345678901@newsletter"),
		"lid":                say("The hidden address of the person, where it is known.", exampleLID),
		"jid":                say("The address: the phone JID where it is known, else the LID; for a group its JID.", exampleJID),
		"remoteJid":          say("The JID of the chat.", exampleJID),
		"isGroup":            say("Whether the chat is a group.", false),
		"pushName":           say("The name that the person chose.", "Ada"),
		"businessName":       say("The verified name of a business.", "Analytical Engines Ltd"),
		"profilePicUrl":      say("The URL of the profile picture; null when none is visible.", "https://pps.whatsapp.net/v/t61/1.jpg", openapi.Format("uri")),
		"pictureId":          say("WhatsApp's id of the picture.", "1709294400"),
		"author":             say("The JID of who did it.", exampleJID),

		// Messages.
		"keyId":        say("The message's id at WhatsApp.", exampleKeyID),
		"keyFromMe":    say("Whether the account itself sent it.", true),
		"messageType":  say("The type of the message: the name of its field in WhatsApp's protocol.", "conversation"),
		"caption":      say("The text under the file.", "Our cat", chars(0, event.MaxText)),
		"fileName":     say("The file's name, as the recipient sees it.", "invoice.pdf", chars(0, event.MaxName)),
		"mimetype":     say("The file's media type; the type detected from the file takes precedence.", "image/jpeg"),
		"mediaType":    say("The kind of message to send the file as.", string(event.MediaImage), openapi.OneOf(uploadKinds()...)),
		"viewOnce":     say("Whether the recipient can view it only once. For images, videos and voice notes.", false),
		"mentionAll":   say("Whether every member of the group is mentioned. The message is then sent asynchronously; see 202.", false),
		"fromFullSync": say("Whether it comes from the initial synchronisation rather than from a new change.", false),
		"deleteMedia":  say("Whether the files on the devices are deleted too.", false),
		"starred":      say("Whether it has a star.", true),
		"muted":        say("Whether it is muted.", true),

		// Files.
		"mediaUploadId": say("The id of an earlier upload, instead of a URL.", exampleUUID),
		"width":         say("Width in pixels.", 1280, openapi.AtLeast(0)),
		"height":        say("Height in pixels.", 720, openapi.AtLeast(0)),
		"seconds":       say("Length in seconds.", 12, openapi.AtLeast(0)),

		// Groups and labels.
		"subject":           say("The group's subject.", "Summer party", chars(1, event.MaxSubject)),
		"announce":          say("Whether only admins may write.", false),
		"restrict":          say("Whether only admins may change subject, description and picture.", false),
		"memberAddMode":     say("Whether every member may add others.", true),
		"joinApprovalMode":  say("Whether admins decide who joins by the invitation.", false),
		"ephemeralDuration": say("Seconds after which messages disappear; 0: never.", 0, object{"enum": []any{0, 86400, 604800, 7776000}}),
		"inviteCode":        say("The code of an invitation, or the link that ends in it.", "AbCdEfGhIjKlMnOpQrStUv", least(1)),
		"labelId":           say("The label's id: digits.", "4", openapi.Pattern("^[0-9]{1,9}$")),
		"color":             say("An index into the palette of WhatsApp's clients.", 3, openapi.Range(0, event.MaxLabelColor)),

		// Times.
		"createdAt": say("When it was created.", exampleTime),
		"updatedAt": say("When it last changed.", exampleTime),
		"startedAt": say("When it began.", exampleTime),
		"expiresAt": say("When it expires.", exampleTime),
		"dateTime":  say("When it happened according to WhatsApp, else when it was received.", exampleTime),
		"timestamp": say("When the event was created.", exampleTime),

		// Lists.
		"limit":          say("The maximum number of records of a page.", defaultLimit, openapi.Range(1, maxLimit)),
		"nextCursor":     say("The cursor of the next page; null at the end. Pass it unchanged.", "djE6MTIzNDU2", openapi.OrNull()),
		"previousCursor": say("The cursor of the previous page; null at the beginning. Pass it unchanged.", "djE6MTIzNDU1", openapi.OrNull()),
		"records":        say("The records of this page.", nil),
		"totalRecords":   say("The number of records on all pages; a lower bound when totalIsMinimum is true.", 1, openapi.AtLeast(0)),
		"totalIsMinimum": say("True when there may be more than totalRecords, because the filter must test more records than one call scans; absent otherwise. A page may then have fewer records than its limit, even none, and still a next page.", true),
	}
}

// namePattern is the pattern of instance names.
const namePattern = `^[A-Za-z0-9_-][A-Za-z0-9._-]*$`

// uploadKinds are the kinds that a file can be uploaded as.
func uploadKinds() []event.MediaKind {
	return []event.MediaKind{
		event.MediaImage, event.MediaDocument, event.MediaVideo, event.MediaAudio, event.MediaPTV, event.MediaVoice, event.MediaSticker,
	}
}

// mediaKinds are the kinds that the media routes send.
func mediaKinds() []event.MediaKind { return uploadKinds()[:5] }

// parameterFields are the parameters of paths, queries and headers.
func parameterFields() openapi.Fields {
	return openapi.Fields{
		"{instanceName}":  say("The instance's name.", exampleName),
		"{again}":         say("The instance's name again.", exampleName),
		"{batchId}":       say("The batch's id.", exampleUUID, openapi.Format("uuid")),
		"{itemId}":        say("The item's id.", exampleUUID, openapi.Format("uuid")),
		"{jid}":           say("The chat: a phone number with its country code, or the JID of a person, a group or a newsletter.", exampleJID),
		"{uploadId}":      say("The upload's id.", exampleUUID),
		"{eventId}":       say("The event's id in the outbox.", 1, openapi.Kind("integer"), object{"minimum": 1}),
		"{phoneNumber}":   say("A phone number with its country code.", examplePhone),
		"Idempotency-Key": say("A key of the caller's choice. For 24 hours, a request with the same key and body gets the stored first answer.", exampleUUID, openapi.Chars(1, maxIdempotencyKey)),

		"?limit":          say("The maximum number of records of a page; 50 when absent.", defaultLimit, openapi.Kind("integer"), openapi.Range(1, maxLimit), openapi.Default(defaultLimit)),
		"?nextCursor":     say("The nextCursor of the previous page, unchanged.", nil),
		"?previousCursor": say("The previousCursor of the following page, unchanged.", nil),
		"?instanceName":   say("Only those of the instance with this name.", exampleName),
		"?status":         say("Only those with this status; several are separated by commas, or the parameter is repeated.", "PROCESSING"),
		"?ownerUserId":    say("Only those of this user.", exampleUUID, openapi.Format("uuid")),
		"?recipient":      say("Only those of this recipient, as given or normalized.", examplePhone),
		"?createdFrom":    say("Only those created at this time or later.", exampleTime, openapi.Format("date-time")),
		"?createdTo":      say("Only those created before this time.", exampleTime, openapi.Format("date-time")),
		"?name":           say("Only those whose name contains this text.", "offer"),
		"?query":          say("Only those with this text in their name, or with this id.", "offer"),
		"?jid":            say("Only the one with this JID or LID.", exampleJID),
		"?state":          say("Only the events in this state.", "pending", openapi.OneOf("pending", "delivered", "disabled")),
		"?details":        say("Whether the answer has the result.", false, openapi.Kind("boolean"), openapi.Default(false)),
		"?mediaType":      say("The kind of message that the file was uploaded for.", string(event.MediaImage), openapi.OneOf(event.UploadKinds()...)),
		"?expired":        say("Whether it has expired.", false, openapi.Kind("boolean")),
		"?externalId":     say("The caller's name for it.", "cat-7"),
		"?groupJid":       say("The JID of the group, where the body does not name it.", exampleGroup),
		"?inviteCode":     say("The code of an invitation, or the link that ends in it.", "AbCdEfGhIjKlMnOpQrStUv"),
		"?newsletterJid":  say("The JID of the newsletter.", "120363012345678901@newsletter"),
		"?labelId":        say("The label's id: digits.", "4", openapi.Required()),
		"?network":        say("forget removes an account that belongs to another network than the program is connected to. That network is not notified, and the account has to be paired again.", "forget", openapi.OneOf("forget")),
		"?force":          say("Whether stored messages are deleted too.", false, openapi.Kind("boolean"), openapi.Default(false)),
		"?binary":         say("Whether the answer is the file itself.", false, openapi.Kind("boolean"), openapi.Default(false)),
		"?event":          say("The events to receive: names separated by commas, or the parameter repeated; * means all.", "*", openapi.Required()),
		"?token":          say("The token, where the client cannot send Authorization: Bearer.", nil),
		"?instance":       say("The instance; needed with a scoped key for several instances, or with a session.", exampleName),
		"?user":           say("The user whose batches to use, with the session of the GlobalApiKey.", exampleUUID, openapi.Format("uuid")),
		"?seconds":        say("The duration of the profile, in seconds.", profileSeconds, openapi.Kind("integer"), openapi.Range(1, maxProfileSeconds), openapi.Default(profileSeconds)),
		"?since":          say("A position: kept events after this sequence are sent first.", 0, openapi.Kind("integer"), object{"minimum": 0}),

		"deleteMessage.?id": say("A stored message: its id here, or its id at WhatsApp.", "42", openapi.Required()),
	}
}
