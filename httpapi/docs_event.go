package httpapi

import (
	"postern/event"
	"postern/httpapi/openapi"
)

// eventFields are those that only events have.
func eventFields() openapi.Fields {
	count := openapi.AtLeast(0)
	kind := say("What happened.", nil)
	all := openapi.Fields{
		"InstanceEnvelope.event":    say("The name of the event.", nil),
		"InstanceEnvelope.instance": say("The instance as it was then.", nil),
		"InstanceEnvelope.data":     say("What the event tells.", nil),
		"BatchEnvelope.event":       say("The name of the event.", nil),
		"BatchEnvelope.data":        say("What the event tells.", nil),

		"AboutUpdate.status":      say("The new text about the person.", "At work"),
		"PictureUpdate.jid":       say("The JID of the person or the group.", exampleJID),
		"PictureUpdate.remove":    say("Whether the picture was removed.", false),
		"PictureUpdate.isGroup":   say("Whether it is the picture of a group.", false),
		"IdentityChange.implicit": say("Whether it was noticed from a message, and not announced.", false),

		"PresenceUpdate.type":        say("Which of WhatsApp's notices it was.", nil),
		"PresenceUpdate.state":       say("What the person does in the chat.", "composing"),
		"PresenceUpdate.media":       say("What is being recorded, if anything.", "audio"),
		"PresenceUpdate.unavailable": say("Whether the person is away.", false),
		"PresenceUpdate.lastSeen":    say("When the person was last there, where it is told.", exampleTime),

		"Call.chatId":    say("The JID of the call's chat.", exampleJID),
		"Call.from":      say("The JID of who calls.", exampleJID),
		"Call.callerPn":  say("The phone JID of who calls; null where it is not known.", exampleJID),
		"Call.isGroup":   say("Whether it is the call of a group; null where it is not known.", false),
		"Call.groupJid":  say("The JID of the group; null where it is not known.", exampleGroup),
		"Call.id":        say("The id of the call.", "6F1C1A520D6B4C56"),
		"Call.date":      say("When it happened.", exampleTime),
		"Call.isVideo":   say("Whether it has pictures; null where it is not known.", false),
		"Call.status":    kind,
		"Call.offline":   say("Whether it happened while the instance was away.", false),
		"Call.latencyMs": say("WhatsApp's latency, in milliseconds; null where it is not told.", 40),

		"ChatUpdate.type":                 kind,
		"ConnectionUpdate.type":           kind,
		"ConnectionUpdate.connection":     say("The state of the connection in a word.", string(event.ConnectionOpen)),
		"ConnectionUpdate.statusReason":   say("WhatsApp's code for it, where there is one.", 401),
		"ConnectionUpdate.lastConnection": say("When it was last connected; absent before the first time.", exampleTime),
		"ConnectionUpdate.message":        say("More about it, for people.", "logged out from the phone"),
		"ConnectionUpdate.passkey":        say("With the type passkey only: how far a pairing with a passkey is; null once it is paired or given up.", nil),
		"ContactUpdate.id":                say("The contact's id here.", 7),
		"ContactUpdate.action":            say("What became of the contact.", nil),
		"ContactUpdate.source":            say("Which name changed.", string(event.SourcePushName)),
		"ContactUpsert.id":                say("The contact's id here.", 7),
		"ContactUpsert.action":            say("What became of the contact.", nil),

		"GroupParticipantsUpdate.id":           say("The JID of the group.", exampleGroup),
		"GroupParticipantsUpdate.author":       say("The JID of who did it; empty where it is not known.", exampleJID),
		"GroupParticipantsUpdate.authorPn":     say("The phone JID of who did it, where it is known.", exampleJID),
		"GroupParticipantsUpdate.participants": say("Whom it is about.", nil),
		"GroupParticipantsUpdate.action":       say("What became of them.", string(event.ParticipantAdd)),
		"GroupUpdate.partial":                  say("What changed.", nil),
		"GroupPartial.id":                      say("The JID of the group.", exampleGroup),
		"GroupPartial.subject":                 say("The new subject.", "Winter party"),

		"HistoryUpdate.type":           say("That it is history.", nil),
		"HistoryUpdate.data":           say("What this piece held.", nil),
		"HistoryContent.syncType":      say("WhatsApp's name of the kind of history.", "RECENT"),
		"HistoryContent.progress":      say("How far it is, in percent.", 50, openapi.Range(0, 100)),
		"HistoryContent.chunkOrder":    say("The number of this piece.", 1, count),
		"HistoryContent.conversations": say("How many chats.", 3, count),
		"HistoryContent.messages":      say("How many messages.", 120, count),
		"HistoryContent.pushNames":     say("How many names.", 40, count),

		"InstanceStatus.type":    kind,
		"InstanceStatus.status":  say("The state that it leads to.", "ok"),
		"InstanceStatus.message": say("More about it, for people.", "the client is outdated"),
		"InstanceStatus.data":    say("What else WhatsApp told.", object{}),

		"LabelAssociation.type":      say("What has the label.", string(event.LabelOnChat)),
		"LabelAssociation.messageId": say("The message's id at WhatsApp, where a message has the label.", exampleKeyID),
		"LabelAssociation.action":    say("Whether it was put on or taken off.", string(event.LabelAdd)),
		"LabelEdit.id":               say("The label's id: digits.", "4"),
		"LabelEdit.name":             say("Its name.", "Paid"),
		"LabelEdit.deleted":          say("Whether it was deleted.", false),

		"MediaAnswer.messageId":     say("The message's id at WhatsApp.", exampleKeyID),
		"MediaAnswer.hasCiphertext": say("Whether the phone sent where the file lies now.", true),
		"MediaAnswer.errorCode":     say("The phone's code when it could not.", 2),

		"MessageDelete.id":                     say("The message's id here, where it is stored.", 42),
		"MessageDelete.messageId":              say("The message's id at WhatsApp.", exampleKeyID),
		"MessageDelete.messageTime":            say("When the message was sent, where it is known.", exampleTime),
		"MessageStar.messageId":                say("The message's id at WhatsApp.", exampleKeyID),
		"MessageUpdate.messageId":              say("The message's id here.", 42),
		"MessageUpdate.status":                 say("What became of the message.", string(event.StatusRead)),
		"MessageUndecryptable.isUnavailable":   say("Whether WhatsApp kept it from this device.", false),
		"MessageUndecryptable.unavailableType": say("Why it did.", string(event.UnavailableViewOnce)),
		"MessageUndecryptable.decryptFailMode": say("How clients are to show it.", string(event.DecryptFailHide)),

		"NewsletterUpdate.type": kind,

		"QRCode.count":            say("How many codes this attempt made.", 1, openapi.AtLeast(1)),
		"QRCode.code":             say("The text of the code.", "2@abc"),
		"QRCode.base64":           say("The code as a PNG in a data URL.", "data:image/png;base64,iVBORw=="),
		"QRCode.expiresInSeconds": say("How long this code is good.", 20, count),

		"SendResult.processId":          say("What the answer 202 named.", exampleUUID),
		"SendResult.status":             say("How the send ended.", nil),
		"SendResult.data":               say("The message, when it was sent.", nil),
		"SendResult.error":              say("Why it was not sent.", nil),
		"AsyncMessage.messageId":        say("The message's id at WhatsApp.", exampleKeyID),
		"AsyncMessage.participantCount": say("How many members were mentioned.", 12, count),
		"AsyncMessage.timestamp":        say("When WhatsApp took it.", exampleTime),
		"AsyncSendFail.code":            say("What happened, for programs.", "INSTANCE_NOT_CONNECTED"),
		"AsyncSendFail.message":         say("The same for people.", "instance is not connected"),

		"SettingsChange.type": kind,
		"SettingsChange.name": say("The new name of the account.", "Ada"),
	}
	return all
}
