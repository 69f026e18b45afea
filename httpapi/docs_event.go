package httpapi

import (
	"postern/event"
	"postern/httpapi/openapi"
	"postern/httpapi/rest"
)

// eventFields are the fields that only events have.
func eventFields() openapi.Fields {
	count := openapi.AtLeast(0)
	kind := rest.Say("What happened.", nil)
	all := openapi.Fields{
		"InstanceEnvelope.event":    rest.Say("The name of the event.", nil),
		"InstanceEnvelope.instance": rest.Say("The instance as it was then.", nil),
		"InstanceEnvelope.data":     rest.Say("The content of the event.", nil),
		"BatchEnvelope.event":       rest.Say("The name of the event.", nil),
		"BatchEnvelope.data":        rest.Say("The content of the event.", nil),

		"AboutUpdate.status":      rest.Say("The new text about the person.", "At work"),
		"PictureUpdate.jid":       rest.Say("The JID of the person or the group.", rest.ExampleJID),
		"PictureUpdate.remove":    rest.Say("Whether the picture was removed.", false),
		"PictureUpdate.isGroup":   rest.Say("Whether it is the picture of a group.", false),
		"IdentityChange.implicit": rest.Say("Whether it was inferred from a message rather than announced.", false),

		"PresenceUpdate.type":        rest.Say("Which of WhatsApp's notices it was.", nil),
		"PresenceUpdate.state":       rest.Say("What the person does in the chat.", "composing"),
		"PresenceUpdate.media":       rest.Say("What is being recorded, if anything.", "audio"),
		"PresenceUpdate.unavailable": rest.Say("Whether the person is away.", false),
		"PresenceUpdate.lastSeen":    rest.Say("When the person was last seen, where it is known.", rest.ExampleTime),

		"Call.chatId":    rest.Say("The JID of the call's chat.", rest.ExampleJID),
		"Call.from":      rest.Say("The JID of the caller.", rest.ExampleJID),
		"Call.callerPn":  rest.Say("The phone JID of the caller; null when unknown.", rest.ExampleJID),
		"Call.isGroup":   rest.Say("Whether it is a group call; null when unknown.", false),
		"Call.groupJid":  rest.Say("The JID of the group; null when unknown.", rest.ExampleGroup),
		"Call.id":        rest.Say("The id of the call.", "6F1C1A520D6B4C56"),
		"Call.date":      rest.Say("When it happened.", rest.ExampleTime),
		"Call.isVideo":   rest.Say("Whether it is a video call; null when unknown.", false),
		"Call.status":    kind,
		"Call.offline":   rest.Say("Whether it happened while the instance was offline.", false),
		"Call.latencyMs": rest.Say("WhatsApp's latency, in milliseconds; null when unknown.", 40),

		"ChatUpdate.type":                 kind,
		"ConnectionUpdate.type":           kind,
		"ConnectionUpdate.connection":     rest.Say("The state of the connection in a word.", string(event.ConnectionOpen)),
		"ConnectionUpdate.statusReason":   rest.Say("WhatsApp's code for it, where there is one.", 401),
		"ConnectionUpdate.lastConnection": rest.Say("When it was last connected; absent before the first time.", rest.ExampleTime),
		"ConnectionUpdate.message":        rest.Say("More about it, for people.", "logged out from the phone"),
		"ConnectionUpdate.passkey":        rest.Say("With the type passkey only: the step of a pairing with a passkey; null once it is paired or cancelled.", nil),
		"ContactUpdate.id":                rest.Say("The contact's id here.", 7),
		"ContactUpdate.action":            rest.Say("What happened to the contact.", nil),
		"ContactUpdate.source":            rest.Say("Which name changed.", string(event.SourcePushName)),
		"ContactUpsert.id":                rest.Say("The contact's id here.", 7),
		"ContactUpsert.action":            rest.Say("What happened to the contact.", nil),

		"GroupParticipantsUpdate.id":           rest.Say("The JID of the group.", rest.ExampleGroup),
		"GroupParticipantsUpdate.author":       rest.Say("The JID of who did it; empty when unknown.", rest.ExampleJID),
		"GroupParticipantsUpdate.authorPn":     rest.Say("The phone JID of who did it, where it is known.", rest.ExampleJID),
		"GroupParticipantsUpdate.participants": rest.Say("The participants concerned.", nil),
		"GroupParticipantsUpdate.action":       rest.Say("The change.", string(event.ParticipantAdd)),
		"GroupUpdate.partial":                  rest.Say("What changed.", nil),
		"GroupPartial.id":                      rest.Say("The JID of the group.", rest.ExampleGroup),
		"GroupPartial.subject":                 rest.Say("The new subject.", "Winter party"),

		"HistoryUpdate.type":           rest.Say("That it is history.", nil),
		"HistoryUpdate.data":           rest.Say("The contents of this chunk.", nil),
		"HistoryContent.syncType":      rest.Say("WhatsApp's name for the kind of history.", "RECENT"),
		"HistoryContent.progress":      rest.Say("The progress, in percent.", 50, openapi.Range(0, 100)),
		"HistoryContent.chunkOrder":    rest.Say("The number of this chunk.", 1, count),
		"HistoryContent.conversations": rest.Say("How many chats.", 3, count),
		"HistoryContent.messages":      rest.Say("How many messages.", 120, count),
		"HistoryContent.pushNames":     rest.Say("How many names.", 40, count),

		"InstanceStatusUpdate.type":    kind,
		"InstanceStatusUpdate.status":  rest.Say("The state that it leads to.", "ok"),
		"InstanceStatusUpdate.message": rest.Say("More about it, for people.", "the client is outdated"),
		"InstanceStatusUpdate.data":    rest.Say("Further data from WhatsApp.", openapi.Object{}),

		"LabelAssociation.type":      rest.Say("What has the label.", string(event.LabelOnChat)),
		"LabelAssociation.messageId": rest.Say("The message's id at WhatsApp, where a message has the label.", rest.ExampleKeyID),
		"LabelAssociation.action":    rest.Say("Whether it was added or removed.", string(event.LabelAdd)),
		"LabelEdit.id":               rest.Say("The label's id: digits.", "4"),
		"LabelEdit.name":             rest.Say("Its name.", "Paid"),
		"LabelEdit.deleted":          rest.Say("Whether it was deleted.", false),

		"MediaAnswer.messageId":     rest.Say("The message's id at WhatsApp.", rest.ExampleKeyID),
		"MediaAnswer.hasCiphertext": rest.Say("Whether the phone sent the new address of the file.", true),
		"MediaAnswer.errorCode":     rest.Say("The phone's error code, when it could not.", 2),

		"MessageDelete.id":                     rest.Say("The message's id here, where it is stored.", 42),
		"MessageDelete.messageId":              rest.Say("The message's id at WhatsApp.", rest.ExampleKeyID),
		"MessageDelete.messageTime":            rest.Say("When the message was sent, where it is known.", rest.ExampleTime),
		"MessageStar.messageId":                rest.Say("The message's id at WhatsApp.", rest.ExampleKeyID),
		"MessageUpdate.messageId":              rest.Say("The message's id here.", 42),
		"MessageUpdate.status":                 rest.Say("The status of the message.", string(event.StatusRead)),
		"MessageUndecryptable.isUnavailable":   rest.Say("Whether WhatsApp withheld it from this device.", false),
		"MessageUndecryptable.unavailableType": rest.Say("Why it was withheld.", string(event.UnavailableViewOnce)),
		"MessageUndecryptable.decryptFailMode": rest.Say("How clients should show it.", string(event.DecryptFailHide)),

		"NewsletterUpdate.type": kind,

		"QRCode.count":            rest.Say("How many codes this attempt has produced.", 1, openapi.AtLeast(1)),
		"QRCode.code":             rest.Say("The text of the code.", "2@abc"),
		"QRCode.base64":           rest.Say("The code as a PNG in a data URL.", "data:image/png;base64,iVBORw=="),
		"QRCode.expiresInSeconds": rest.Say("How long this code is valid.", 20, count),

		"SendResult.processId":          rest.Say("The processId of the answer 202.", rest.ExampleUUID),
		"SendResult.status":             rest.Say("How the send ended.", nil),
		"SendResult.data":               rest.Say("The message, when it was sent.", nil),
		"SendResult.error":              rest.Say("Why it was not sent.", nil),
		"AsyncMessage.messageId":        rest.Say("The message's id at WhatsApp.", rest.ExampleKeyID),
		"AsyncMessage.participantCount": rest.Say("How many members were mentioned.", 12, count),
		"AsyncMessage.timestamp":        rest.Say("When WhatsApp accepted it.", rest.ExampleTime),
		"AsyncSendFail.code":            rest.Say("What happened, for programs.", "INSTANCE_NOT_CONNECTED"),
		"AsyncSendFail.message":         rest.Say("The same for people.", "instance is not connected"),

		"SettingsChange.type": kind,
		"SettingsChange.name": rest.Say("The new name of the account.", "Ada"),
	}
	return all
}
