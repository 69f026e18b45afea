package httpapi

import (
	"postern/event"
	"postern/httpapi/openapi"
)

// The docs_ files say what the fields of bodies, answers and events mean; see
// [openapi.Fields].

// say is [openapi.Say], shorter, for there are many.
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

// sharedFields are those that mean the same wherever they stand.
func sharedFields() openapi.Fields {
	uuid, chars, least := openapi.Format("uuid"), openapi.Chars, openapi.AtLeastChars
	return openapi.Fields{
		// Who and where.
		"instanceName":       say("The instance's name.", exampleName, chars(1, 255), openapi.Pattern(namePattern)),
		"instanceId":         say("The instance's id.", 1, openapi.AtLeast(1)),
		"connectionStatus":   say("The state of the instance's connection.", string(event.Online)),
		"ownerJid":           say("The account that is linked, by its JID; null until a phone is linked.", exampleJID),
		"externalAttributes": say("An object that the caller attached; it is given back as it was.", object{"order": 42}),
		"batchId":            say("The batch.", exampleUUID, uuid),
		"ownerUserId":        say("The user who owns the batch.", exampleUUID, uuid),
		"messageId":          say("The message's id here, or its id at WhatsApp.", 42),
		"number":             say("Whom it is for: a phone number with its country code, or a JID. Spaces and + ( ) - . are ignored in numbers.", examplePhone, least(1)),
		"chat":               say("The chat: a phone number with its country code, or the JID of a person or a group.", exampleJID, least(1)),
		"recipient":          say("Whom it is for, as number.", examplePhone),
		"chatJid":            say("The JID of the chat.", exampleJID),
		"senderJid":          say("The JID of who sent the message, where it is known.", exampleJID),
		"groupJid":           say("The JID of the group.", exampleGroup),
		"newsletterJid":      say("The JID of the newsletter.", "120363012345678901@newsletter"),
		"lid":                say("The hidden address of the person, where it is known.", exampleLID),
		"jid":                say("The address: of the phone where it is known, else the LID; of a group its JID.", exampleJID),
		"remoteJid":          say("The JID of the chat.", exampleJID),
		"isGroup":            say("Whether the chat is a group.", false),
		"pushName":           say("The name that the person chose.", "Ada"),
		"businessName":       say("The verified name of a business.", "Analytical Engines Ltd"),
		"profilePicUrl":      say("Where the profile picture lies; null when there is none to see.", "https://pps.whatsapp.net/v/t61/1.jpg", openapi.Format("uri")),
		"pictureId":          say("WhatsApp's id of the picture.", "1709294400"),
		"author":             say("The JID of who did it.", exampleJID),

		// Messages.
		"keyId":        say("The message's id at WhatsApp.", exampleKeyID),
		"keyFromMe":    say("Whether the account itself sent it.", true),
		"messageType":  say("What the message is: the name of its field in WhatsApp's protocol.", "conversation"),
		"caption":      say("The text under the file.", "Our cat", chars(0, event.MaxText)),
		"fileName":     say("The file's name, as the recipient sees it.", "invoice.pdf", chars(0, event.MaxName)),
		"mimetype":     say("The file's media type; what the file itself says wins.", "image/jpeg"),
		"mediaType":    say("What the file is to be sent as.", string(event.MediaImage), openapi.OneOf(uploadKinds()...)),
		"viewOnce":     say("Whether the recipient can look at it once only. For images, videos and voice notes.", false),
		"mentionAll":   say("Whether every member of the group is mentioned. The send is carried out later; see 202.", false),
		"fromFullSync": say("Whether it was learned from the first synchronisation, and is no news.", false),
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
		"createdAt": say("When it was made.", exampleTime),
		"updatedAt": say("When it last changed.", exampleTime),
		"startedAt": say("When it began.", exampleTime),
		"expiresAt": say("When it ends to be good.", exampleTime),
		"dateTime":  say("When it happened, as far as WhatsApp tells, else when it was learned.", exampleTime),
		"timestamp": say("When the event was made.", exampleTime),

		// Lists.
		"limit":          say("How many records a page has at most.", defaultLimit, openapi.Range(1, maxLimit)),
		"nextCursor":     say("Where the next page begins; null at the end. Pass it on unchanged.", "djE6MTIzNDU2", openapi.OrNull()),
		"previousCursor": say("Where the page before ends; null at the beginning. Pass it on unchanged.", "djE6MTIzNDU1", openapi.OrNull()),
		"records":        say("The records of this page.", nil),
		"totalRecords":   say("How many records there are on all pages; at least so many where totalIsMinimum is true.", 1, openapi.AtLeast(0)),
		"totalIsMinimum": say("True where there may be more than totalRecords, since a filter has to be held against more records than one call looks at; absent otherwise. A page may then have fewer records than its limit, even none, and still a next one.", true),
	}
}

// namePattern is what the name of an instance is made of.
const namePattern = `^[A-Za-z0-9_-][A-Za-z0-9._-]*$`

// uploadKinds are what a file can be uploaded as.
func uploadKinds() []event.MediaKind {
	return []event.MediaKind{
		event.MediaImage, event.MediaDocument, event.MediaVideo, event.MediaAudio, event.MediaPTV, event.MediaVoice, event.MediaSticker,
	}
}

// mediaKinds are what a file can be sent as by the routes of media.
func mediaKinds() []event.MediaKind { return uploadKinds()[:5] }

// parameterFields are those of paths, queries and headers.
func parameterFields() openapi.Fields {
	return openapi.Fields{
		"{instanceName}":  say("The instance's name.", exampleName),
		"{again}":         say("The instance's name once more.", exampleName),
		"{batchId}":       say("The batch's id.", exampleUUID, openapi.Format("uuid")),
		"{itemId}":        say("The item's id.", exampleUUID, openapi.Format("uuid")),
		"{jid}":           say("The chat: a phone number with its country code, or the JID of a person, a group or a newsletter.", exampleJID),
		"{uploadId}":      say("The upload's id.", exampleUUID),
		"{eventId}":       say("The event's id in the outbox.", 1, openapi.Kind("integer"), object{"minimum": 1}),
		"{phoneNumber}":   say("A phone number with its country code.", examplePhone),
		"Idempotency-Key": say("A key of the caller's choice. A repeated request with the same key and body gets the first answer again, for 24 hours.", exampleUUID, openapi.Chars(1, maxIdempotencyKey)),

		"?limit":          say("How many records a page has at most; 50 when absent.", defaultLimit, openapi.Kind("integer"), openapi.Range(1, maxLimit), openapi.Default(defaultLimit)),
		"?nextCursor":     say("The nextCursor of the page before, unchanged.", nil),
		"?previousCursor": say("The previousCursor of the page behind, unchanged.", nil),
		"?instanceName":   say("Only what is about the instance of this name.", exampleName),
		"?status":         say("Only those with this status; several with commas between, or the parameter repeated.", "PROCESSING"),
		"?ownerUserId":    say("Only those of this user.", exampleUUID, openapi.Format("uuid")),
		"?recipient":      say("Only those of this recipient, as it was given or as it was understood.", examplePhone),
		"?createdFrom":    say("Only what was made at this time or later.", exampleTime, openapi.Format("date-time")),
		"?createdTo":      say("Only what was made before this time.", exampleTime, openapi.Format("date-time")),
		"?name":           say("Only those whose name has this text in it.", "offer"),
		"?query":          say("Only those with this text in their name, or with this id.", "offer"),
		"?jid":            say("Only the one of this JID or LID.", exampleJID),
		"?state":          say("Only the events in this state.", "pending", openapi.OneOf("pending", "delivered", "disabled")),
		"?details":        say("Whether the answer tells what became of it.", false, openapi.Kind("boolean"), openapi.Default(false)),
		"?mediaType":      say("What the file was made to be sent as.", string(event.MediaImage), openapi.OneOf(event.UploadKinds()...)),
		"?expired":        say("Whether it has expired.", false, openapi.Kind("boolean")),
		"?externalId":     say("What the caller named it.", "cat-7"),
		"?groupJid":       say("The JID of the group, where the body does not name it.", exampleGroup),
		"?inviteCode":     say("The code of an invitation, or the link that ends in it.", "AbCdEfGhIjKlMnOpQrStUv"),
		"?newsletterJid":  say("The JID of the newsletter.", "120363012345678901@newsletter"),
		"?labelId":        say("The label's id: digits.", "4", openapi.Required()),
		"?network":        say("forget removes an account that belongs to another network than the program is connected to. That network is not told, and the account has to be paired again.", "forget", openapi.OneOf("forget")),
		"?force":          say("Whether stored messages are deleted too.", false, openapi.Kind("boolean"), openapi.Default(false)),
		"?binary":         say("Whether the answer is the file alone.", false, openapi.Kind("boolean"), openapi.Default(false)),
		"?event":          say("The events to hear: names, with commas between or the parameter repeated; * is all.", "*", openapi.Required()),
		"?token":          say("The token, where the client cannot send Authorization: Bearer.", nil),
		"?instance":       say("The instance that is meant, with a scoped key for several, or with a session.", exampleName),
		"?user":           say("The user whose batches are meant, with the session of the GlobalApiKey.", exampleUUID, openapi.Format("uuid")),
		"?seconds":        say("How long the profile takes.", profileSeconds, openapi.Kind("integer"), openapi.Range(1, maxProfileSeconds), openapi.Default(profileSeconds)),
		"?since":          say("A position: events after this sequence that are still kept come first.", 0, openapi.Kind("integer"), object{"minimum": 0}),

		"deleteMessage.?id": say("A stored message: its id here, or its id at WhatsApp.", "42", openapi.Required()),
	}
}
