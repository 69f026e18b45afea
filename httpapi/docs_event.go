package httpapi

import (
	"postern/event"
	"postern/httpapi/openapi"
)

// eventFields are the fields that only events have.
func eventFields() openapi.Fields {
	count := openapi.AtLeast(0)
	kind := say("What happened.", nil)
	all := openapi.Fields{
		"InstanceEnvelope.event":    say("The name of the event.", nil),
		"InstanceEnvelope.instance": say("The instance as it was then.", nil),
		"InstanceEnvelope.data":     say("The content of the event.", nil),
		"BatchEnvelope.event":       say("The name of the event.", nil),
		"BatchEnvelope.data":        say("The content of the event.", nil),

		"AboutUpdate.status":      say("The new text about the person.", "At work"),
		"PictureUpdate.jid":       say("The JID of the person or the group.", exampleJID),
		"PictureUpdate.remove":    say("Whether the picture was removed.", false),
		"PictureUpdate.isGroup":   say("Whether it is the picture of a group.", false),
		"IdentityChange.implicit": say("Whether it was inferred from a message rather than announced.", false),

		"PresenceUpdate.type":        say("Which of WhatsApp's notices it was.", nil),
		"PresenceUpdate.state":       say("What the person does in the chat.", "composing"),
		"PresenceUpdate.media":       say("What is being recorded, if anything.", "audio"),
		"PresenceUpdate.unavailable": say("Whether the person is away.", false),
		"PresenceUpdate.lastSeen":    say("When the person was last seen, where it is known.", exampleTime),

		"Call.chatId":    say("The JID of the call's chat.", exampleJID),
		"Call.from":      say("The JID of the caller.", exampleJID),
		"Call.callerPn":  say("The phone JID of the caller; null when unknown.", exampleJID),
		"Call.isGroup":   say("Whether it is a group call; null when unknown.", false),
		"Call.groupJid":  say("The JID of the group; null when unknown.", exampleGroup),
		"Call.id":        say("The id of the call.", "6F1C1A520D6B4C56"),
		"Call.date":      say("When it happened.", exampleTime),
		"Call.isVideo":   say("Whether it is a video call; null when unknown.", false),
		"Call.status":    kind,
		"Call.offline":   say("Whether it happened while the instance was offline.", false),
		"Call.latencyMs": say("WhatsApp's latency, in milliseconds; null when unknown.", 40),

		"ChatUpdate.type":                 kind,
		"ConnectionUpdate.type":           kind,
		"ConnectionUpdate.connection":     say("The state of the connection in a word.", string(event.ConnectionOpen)),
		"ConnectionUpdate.statusReason":   say("WhatsApp's code for it, where there is one.", 401),
		"ConnectionUpdate.lastConnection": say("When it was last connected; absent before the first time.", exampleTime),
		"ConnectionUpdate.message":        say("More about it, for people.", "logged out from the phone"),
		"ConnectionUpdate.passkey":        say("With the type passkey only: the step of a pairing with a passkey; null once it is paired or cancelled.", nil),
		"ContactUpdate.id":                say("The contact's id here.", 7),
		"ContactUpdate.action":            say("What happened to the contact.", nil),
		"ContactUpdate.source":            say("Which name changed.", string(event.SourcePushName)),
		"ContactUpsert.id":                say("The contact's id here.", 7),
		"ContactUpsert.action":            say("What happened to the contact.", nil),

		"GroupParticipantsUpdate.id":           say("The JID of the group.", exampleGroup),
		"GroupParticipantsUpdate.author":       say("The JID of who did it; empty when unknown.", exampleJID),
		"GroupParticipantsUpdate.authorPn":     say("The phone JID of who did it, where it is known.", exampleJID),
		"GroupParticipantsUpdate.participants": say("The participants concerned.", nil),
		"GroupParticipantsUpdate.action":       say("The change.", string(event.ParticipantAdd)),
		"GroupUpdate.partial":                  say("What changed.", nil),
		"GroupPartial.id":                      say("The JID of the group.", exampleGroup),
		"GroupPartial.subject":                 say("The new subject.", "Winter party"),

		"HistoryUpdate.type":           say("That it is history.", nil),
		"HistoryUpdate.data":           say("The contents of this chunk.", nil),
		"HistoryContent.syncType":      say("WhatsApp's name for the kind of history.", "RECENT"),
		"HistoryContent.progress":      say("The progress, in percent.", 50, openapi.Range(0, 100)),
		"HistoryContent.chunkOrder":    say("The number of this chunk.", 1, count),
		"HistoryContent.conversations": say("How many chats.", 3, count),
		"HistoryContent.messages":      say("How many messages.", 120, count),
		"HistoryContent.pushNames":     say("How many names.", 40, count),

		"InstanceStatus.type":    kind,
		"InstanceStatus.status":  say("The state that it leads to.", "ok"),
		"InstanceStatus.message": say("More about it, for people.", "the client is outdated"),
		"InstanceStatus.data":    say("Further data from WhatsApp.", object{}),

		"LabelAssociation.type":      say("What has the label.", string(event.LabelOnChat)),
		"LabelAssociation.messageId": say("The message's id at WhatsApp, where a message has the label.", exampleKeyID),
		"LabelAssociation.action":    say("Whether it was added or removed.", string(event.LabelAdd)),
		"LabelEdit.id":               say("The label's id: digits.", "4"),
		"LabelEdit.name":             say("Its name.", "Paid"),
		"LabelEdit.deleted":          say("Whether it was deleted.", false),

		"MediaAnswer.messageId":     say("The message's id at WhatsApp.", exampleKeyID),
		"MediaAnswer.hasCiphertext": say("Whether the phone sent the new address of the file.", true),
		"MediaAnswer.errorCode":     say("The phone's error code, when it could not.", 2),

		"MessageDelete.id":                     say("The message's id here, where it is stored.", 42),
		"MessageDelete.messageId":              say("The message's id at WhatsApp.", exampleKeyID),
		"MessageDelete.messageTime":            say("When the message was sent, where it is known.", exampleTime),
		"MessageStar.messageId":                say("The message's id at WhatsApp.", exampleKeyID),
		"MessageUpdate.messageId":              say("The message's id here.", 42),
		"MessageUpdate.status":                 say("The status of the message.", string(event.StatusRead)),
		"MessageUndecryptable.isUnavailable":   say("Whether WhatsApp withheld it from this device.", false),
		"MessageUndecryptable.unavailableType": say("Why it was withheld.", string(event.UnavailableViewOnce)),
		"MessageUndecryptable.decryptFailMode": say("How clients should show it.", string(event.DecryptFailHide)),

		"NewsletterUpdate.type": kind,

		"QRCode.count":            say("How many codes this attempt has produced.", 1, openapi.AtLeast(1)),
		"QRCode.code":             say("The text of the code.", "2@abc"),
		"QRCode.base64":           say("The code as a PNG in a data URL.", "data:image/png;base64,iVBORw=="),
		"QRCode.expiresInSeconds": say("How long this code is valid.", 20, count),

		"SendResult.processId":          say("The processId of the answer 202.", exampleUUID),
		"SendResult.status":             say("How the send ended.", nil),
		"SendResult.data":               say("The message, when it was sent.", nil),
		"SendResult.error":              say("Why it was not sent.", nil),
		"AsyncMessage.messageId":        say("The message's id at WhatsApp.", exampleKeyID),
		"AsyncMessage.participantCount": say("How many members were mentioned.", 12, count),
		"AsyncMessage.timestamp":        say("When WhatsApp accepted it.", exampleTime),
		"AsyncSendFail.code":            say("What happened, for programs.", "INSTANCE_NOT_CONNECTED"),
		"AsyncSendFail.message":         say("The same for people.", "instance is not connected"),

		"SettingsChange.type": kind,
		"SettingsChange.name": say("The new name of the account.", "Ada"),
	}
	return all
}
