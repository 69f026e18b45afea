package httpapi

import (
	"postern/event"
	"postern/httpapi/openapi"
)

// sendFields are those of the bodies that send.
func sendFields() openapi.Fields {
	content := say("The content of the message.", nil)
	return openapi.Fields{
		"SendTextRequest.textMessage":         content,
		"SendLinkRequest.linkMessage":         content,
		"SendMediaRequest.mediaMessage":       content,
		"SendVoiceRequest.audioMessage":       content,
		"SendStickerRequest.stickerMessage":   content,
		"SendLocationRequest.locationMessage": content,
		"SendReactionRequest.reactionMessage": content,
		"SendPollRequest.pollMessage":         content,
		"SendStatusRequest.statusMessage":     content,
		"SendContactRequest.contactMessage":   say("The contacts.", nil, openapi.Items(1, event.MaxContacts)),
		"SendForwardRequest.messageId":        say("The stored message: its id here, or its id at WhatsApp.", 42),
		"SendStatusRequest.options":           say("How it is sent.", nil),

		"SendTarget.options":           say("How it is sent.", nil),
		"SendOptions.delay":            say("Milliseconds to wait before the send; the chat shows the presence meanwhile. Up to 120000, for voice notes up to 300000.", 1200, openapi.Range(0, maxVoiceDelay)),
		"SendOptions.presence":         say("What is shown before the message comes. available and unavailable are of the account, the others of the chat.", string(event.PresenceComposing), openapi.OneOf(presences()[1:]...)),
		"SendOptions.quotedMessageId":  say("The stored message that this one answers: its id here, or its id at WhatsApp.", 42),
		"SendOptions.quotedMessage":    say("The message that this one answers, which need not be stored here.", nil),
		"QuotedMessage.key":            say("Which message it is.", nil),
		"QuotedMessage.message":        say("Its content: one field, named by its messageType.", object{"conversation": "When does it come?"}),
		"QuotedMessage.keyRemoteJid":   say("The JID of the chat, where key is not given.", exampleJID),
		"QuotedMessage.keyParticipant": say("The JID of who sent it in a group, where key is not given.", exampleJID),
		"QuotedMessage.content":        say("Its content as an event tells it, where message is not given.", nil, openapi.Kind("object")),
		"MessageKey.remoteJid":         say("The JID of the chat.", exampleJID, openapi.AtLeastChars(1)),
		"MessageKey.id":                say("The message's id at WhatsApp.", exampleKeyID, openapi.AtLeastChars(1)),
		"MessageKey.fromMe":            say("Whether the account itself sent it.", false),
		"MessageKey.participant":       say("The JID of who sent it; needed in groups.", exampleJID),

		"SendMediaFileForm.mediaType": say("What the file is sent as.", string(event.MediaImage), openapi.OneOf(mediaKinds()...)),

		"AcceptedSend.statusCode": say("The status of the answer.", 202),
		"AcceptedSend.status":     say("That it is being sent.", "processing"),
		"AcceptedSend.message":    say("What happens, for people.", "the message is being sent"),
		"AcceptedSend.processId":  say("What the event send.message will name with the result.", exampleUUID),

		"UploadRequest.media":         say("Where the file lies: an http or https URL.", "https://example.org/cat.jpg", openapi.Format("uri"), openapi.Chars(1, event.MaxURL)),
		"Upload.uuid":                 say("The upload's id, which names it as the number does.", exampleUUID),
		"Upload.externalId":           say("What the caller named it; null when that was nothing.", "cat-7"),
		"Upload.originalFileName":     say("The file's name.", "cat.jpg"),
		"Upload.originalFileSize":     say("How long the file is, in bytes.", 48213, openapi.AtLeast(0)),
		"Upload.expired":              say("Whether messages cannot point to it any more.", false),
		"Upload.upload":               say("Where the file lies at WhatsApp, encrypted, without the key that opens it.", nil),
		"UploadedFile.url":            say("The address of the encrypted file.", "https://mmg.whatsapp.net/v/t62.7118-24/1", openapi.Format("uri")),
		"UploadedFile.directPath":     say("Its path at any of WhatsApp's hosts.", "/v/t62.7118-24/1"),
		"UploadedFile.fileSha256":     say("The SHA-256 of the file.", "iFHmzHYLUhaZM3ZScsKTpinwJZaR1D41BnY2sIudWM0="),
		"UploadedFile.fileEncSha256":  say("The SHA-256 of the encrypted file.", "OvAA3++DhQrVBjQsrEhaOVU5q6M51ah6ujY0sryMdlo="),
		"UploadedFile.fileLength":     say("How long the file is, in bytes, before encryption.", 48213, openapi.AtLeast(0)),
		"UploadRequest.externalId":    say("A name of the caller's own, to find it by.", "cat-7", openapi.Chars(0, maxExternalID)),
		"CreateUploadForm.externalId": say("A name of the caller's own, to find it by.", "cat-7", openapi.Chars(0, maxExternalID)),
		"MediaDataRequest.id":         say("The stored message, as in messageId.", 42),
		"MediaDataRequest.content":    say("The content of a message as an event told it, with its messageType.", nil),
		"MediaFile.size":              say("How large the file is.", nil),
		"MediaFile.base64":            say("The file.", "/9j/4AAQSkZJRg=="),
		"FileSize.fileLength":         say("The file's length in bytes.", 48213, openapi.AtLeast(0)),
		"Upload.id":                   say("The upload's number, over all instances.", 17, openapi.AtLeast(1)),
		"MediaDataRequest.messageId":  say("The stored message: its id here, or its id at WhatsApp.", 42),
	}
}

// formFields are those of multipart bodies, where all values are texts.
func formFields() openapi.Fields {
	flag := openapi.OneOf("true", "false")
	return openapi.Fields{
		"Form.options":            say("The options of the other send routes, as JSON. They may stand in the form itself instead.", `{"delay":1200}`),
		"Form.delay":              say("Milliseconds to wait before the send.", "1200", openapi.Pattern("^[0-9]*$")),
		"Form.presence":           say("What is shown before the message comes.", string(event.PresenceComposing), openapi.OneOf(presences()[1:]...)),
		"Form.quotedMessageId":    say("The stored message that this one answers: its id here, or its id at WhatsApp.", "42"),
		"Form.quotedMessage":      say("The message that this one answers, as JSON.", `{"key":{"remoteJid":"`+exampleJID+`","id":"`+exampleKeyID+`"},"message":{"conversation":"hi"}}`),
		"Form.mentionAll":         say("Whether every member of the group is mentioned.", "false", flag),
		"Form.externalAttributes": say("An object that the caller attached, as JSON.", `{"order":42}`),
		"Form.viewOnce":           say("Whether the recipient can look at it once only. For images, videos and voice notes.", "false", flag),
	}
}

// contentFields are those of what a message can hold.
func contentFields() openapi.Fields {
	chars, uri := openapi.Chars, openapi.Format("uri")
	link := chars(1, event.MaxURL)
	return openapi.Fields{
		"TextContent.text": say("The text.", "Your order is on its way.", chars(1, event.MaxText)),

		"LinkContent.link":         say("The link: http or https.", "https://example.org/offer", uri, link),
		"LinkContent.title":        say("The title of the preview.", "This week's offer", chars(0, event.MaxName)),
		"LinkContent.description":  say("The text of the preview.", "Until Sunday", chars(0, event.MaxText)),
		"LinkContent.thumbnailUrl": say("The picture of the preview: an image behind an http or https URL.", "https://example.org/offer.jpg", uri, chars(0, event.MaxURL)),

		"MediaContent.mediatype": say("What the file is sent as.", string(event.MediaImage), openapi.OneOf(mediaKinds()...)),
		"MediaContent.media":     say("Where the file lies: an http or https URL. Either this or mediaUploadId.", "https://example.org/cat.jpg", uri, chars(0, event.MaxURL)),
		"AudioContent.audio":     say("Where the voice note lies: an http or https URL. Either this or mediaUploadId.", "https://example.org/note.ogg", uri, chars(0, event.MaxURL)),
		"AudioContent.ptt":       say("Taken without effect: it is a voice note.", true),
		"AudioContent.waveform":  say("64 volumes of 0 to 100 in base64, for the picture of the voice note.", nil),
		"StickerContent.sticker": say("Where the WebP image lies: an http or https URL. Either this or mediaUploadId.", "https://example.org/cat.webp", uri, chars(0, event.MaxURL)),

		"ContactContent.fullName":     say("The name of the contact.", "Ada Lovelace", chars(1, event.MaxName)),
		"ContactContent.phoneNumber":  say("Its number with country code. One of phoneNumber, wuid and vcard is needed.", "4915187654321"),
		"ContactContent.wuid":         say("Its JID, where that is not the number's.", "4915187654321@s.whatsapp.net"),
		"ContactContent.vcard":        say("A whole card, which goes out as it is; at most 65536 bytes.", "BEGIN:VCARD\nVERSION:3.0\nFN:Ada Lovelace\nEND:VCARD"),
		"ContactContent.organization": say("The organization of the contact.", "Analytical Engines Ltd", chars(0, event.MaxName)),

		"LocationContent.latitude":  say("Degrees north.", 52.5163, openapi.Range(-90, 90)),
		"LocationContent.longitude": say("Degrees east.", 13.3777, openapi.Range(-180, 180)),
		"LocationContent.name":      say("The name of the place.", "Brandenburg Gate", chars(0, event.MaxName)),
		"LocationContent.address":   say("Its address.", "Pariser Platz, Berlin", chars(0, event.MaxText)),
		"LocationContent.url":       say("A page about it.", "https://example.org/gate", uri, chars(0, event.MaxURL)),

		"ReactionContent.key":      say("The message that it is a reaction to.", nil),
		"ReactionContent.reaction": say("One emoji; empty to take the reaction back. At most 32 bytes.", "👍", chars(0, event.MaxReaction)),

		"PollContent.name":            say("The question.", "When?", chars(1, event.MaxName)),
		"PollContent.options":         say("The answers to choose from, each of 1 to 100 characters and there once.", []any{"Today", "Tomorrow"}, openapi.Items(event.MinPollOptions, event.MaxPollOptions), object{"uniqueItems": true}),
		"PollContent.selectableCount": say("How many may be chosen; 0: any number.", 1, openapi.Range(0, event.MaxPollOptions)),

		"StatusContent.text":            say("The text.", "Open until eight today.", chars(1, event.MaxText)),
		"StatusContent.backgroundColor": say("The background, as #rrggbb.", "#1b5e20", openapi.Pattern("^(#[0-9A-Fa-f]{6})?$")),
		"StatusContent.font":            say("One of WhatsApp's fonts.", 0, openapi.Range(0, event.MaxStatusFont)),
	}
}

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
		"MessageFilter.status":         say("Only messages whose newest update is this.", string(event.StatusDelivered)),
		"MessageFilter.messageStatus":  say("The same as status.", string(event.StatusRead), openapi.OneOf(updateStatuses()...)),
		"MessageFilter.id":             say("The id of a message here, or its id at WhatsApp.", 42),
		"MessageFilter.keyParticipant": say("Who sent it in a group: the JID of the phone, or the LID.", exampleJID),
		"MessageFilter.source":         say("The kind of device that sent it.", "web"),
		"MessageFilter.device":         say("The same as source.", "web"),
		"FoundFilter.keyid":            say("The same as keyId.", exampleKeyID),
		"ListMessagesRequest.cursor":   say("The message at which the page begins, instead of the other cursors.", nil),
		"MessageCursor.type":           say("next: what is older; previous: what is newer.", "next", openapi.OneOf("next", "previous")),
		"MessageCursor.id":             say("The message: its id here, or its id at WhatsApp.", 42),
		"FoundList.messages":           say("The page.", nil),
		"FoundRecords.total":           say("How many messages the filter selects; with more than a chat in it, among the newest 50 000.", 120, openapi.AtLeast(0)),
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

		"Contact.id":       say("The contact's id here.", 7),
		"Contact.fullName": say("Its name in the account's own address book.", "Ada Lovelace"),
		"Chat.name":        say("Its name, where it is known.", "Ada"),
		"Chat.lastMessage": say("Its newest stored message.", nil),
	}
}

// chatFields are those of what a person does with chats.
func chatFields() openapi.Fields {
	presences := append(presences()[1:], presenceSubscribe)
	return openapi.Fields{
		"NumbersRequest.numbers": say("Phone numbers with their country codes.", []any{examplePhone}, openapi.Items(1, maxNumbers)),
		"Registration.number":    say("The digits that were asked for.", examplePhone),
		"Registration.exists":    say("Whether the number has an account.", true),

		"ArchiveRequest.archive":       say("Whether it is put into the archive, or taken out.", true),
		"ArchiveRequest.lastMessage":   say("The newest message of the chat, where the caller knows it; it may stand for chat.", nil),
		"LastMessage.key":              say("Which message it is.", nil),
		"LastMessage.messageTimestamp": say("When it was sent, in Unix seconds.", 1772366400, openapi.AtLeast(0)),
		"ChatState.chat":               say("The JID of the chat.", exampleJID),
		"ChatState.pinned":             say("Whether it is pinned.", true),
		"ChatState.until":              say("When it is not muted any more; absent: never.", exampleTime),
		"PinRequest.pinned":            say("Whether it is pinned, or not any more.", true),
		"MuteChatRequest.until":        say("When it is not muted any more; absent: never.", exampleTime, openapi.Format("date-time")),

		"BlockRequest.blocked":                   say("Whether the person is blocked, or not any more.", true),
		"BlockedPeople.blocked":                  say("Whom the account blocks.", nil),
		"ProfilePictureRequest.preview":          say("Whether the small picture is meant.", false),
		"ProfilePictureAnswer.wuid":              say("The JID of the person or the group.", exampleJID),
		"ProfilePictureAnswer.profilePictureUrl": say("Where the picture lies; null when there is none that the account may see.", "https://pps.whatsapp.net/v/t61/1.jpg"),
		"RejectRequest.callId":                   say("The id of the call, as call.upsert tells it.", "6F1C1A520D6B4C56", openapi.AtLeastChars(1)),
		"RejectRequest.callFrom":                 say("Who calls, as call.upsert tells it.", exampleJID),
		"PresenceRequest.presence":               say("What to show. available and unavailable are the account's, subscribe asks for another's, the others are a chat's.", string(event.PresenceComposing), openapi.OneOf(presences...)),
		"PresenceAnswer.presence":                say("What is shown now, or watched.", string(event.PresenceComposing)),

		"ReadRequest.messageId":    say("Stored messages: their ids here, or their ids at WhatsApp.", []any{42}),
		"ReadRequest.readMessages": say("Messages by their keys.", nil),
		"ReadRequest.chat":         say("The chat of keyIds: a phone number with its country code, or the JID of a person or a group.", exampleJID),
		"ReadRequest.sender":       say("Who sent the messages of keyIds; needed in groups.", exampleJID),
		"ReadRequest.keyIds":       say("Messages of chat, by their ids at WhatsApp.", []any{exampleKeyID}),
		"ReadRequest.ids":          say("Stored messages, as in messageId.", []any{42}),
		"ReadRequest.messageIds":   say("Messages of chat, as in keyIds.", []any{exampleKeyID}),
		"ReadAnswer.message":       say("What was done, in words.", "the messages were marked as read"),
		"ReadAnswer.read":          say("That it was done.", "success"),
		"EditRequest.id":           say("The same as messageId, under its other name.", 42),
		"EditRequest.text":         say("The new text, or the new caption.", "Your order arrives tomorrow.", openapi.Chars(1, event.MaxText)),
	}
}
