package sends

import (
	"encoding/base64"

	"postern/event"
	"postern/httpapi/alerts"
	"postern/httpapi/openapi"
	"postern/httpapi/rest"
	"postern/instance/later"
)

// Fields describes parameters, and the fields of bodies that need more than their tags: a constant or a long text.
func Fields() openapi.Fields {
	labels := openapi.Object{"alertname": "DiskFull", "instance": "db1"}
	flag := openapi.OneOf("true", "false")
	chars, uri := openapi.Chars, openapi.Format("uri")
	return openapi.Fields{
		"notify.?to": rest.Say("Who gets the text: a phone number with its country code, or the JID of a person or a group.", rest.ExamplePhone, openapi.Required()),

		"Notification.alerts":      rest.Say("The alerts of a group.", nil, openapi.Items(0, alerts.MaxAlerts)),
		"Notification.groupLabels": rest.Say("The labels that the alerts of the group share; they name the group when the alerts have different names.", labels),
		"Alert.labels":             rest.Say("What it is about. alertname is its name; severity is shown first.", labels),
		"Alert.annotations":        rest.Say("Words for people: summary, description and runbook_url are shown.", openapi.Object{"summary": "4 % are free"}),

		"SendContactRequest.contactMessage": rest.Say("The contacts.", nil, openapi.Items(1, event.MaxContacts)),
		"deleteMessage.?id":                 rest.Say("A stored message: its id here, or its id at WhatsApp.", "42", openapi.Required()),
		"getPoll.?messageId":                rest.Say("A stored poll: its id here, or its id at WhatsApp.", "42", openapi.Required()),
		"PollVoteRequest.options":           rest.Say("The chosen options, by their names; none takes the vote back.", []any{"now"}, openapi.Items(0, event.MaxPollOptions)),
		"PinMessageRequest.duration":        rest.Say("How many seconds it is pinned; 604800 when absent.", defaultPin, openapi.Object{"enum": numbersOf(pins())}),
		"ExpirationRequest.seconds":         rest.Say("The time after which messages disappear; 0: never.", week, openapi.Object{"enum": numbersOf(timers())}),
		"EditRequest.text":                  rest.Say("The new text, or the new caption.", "Your order arrives tomorrow.", openapi.Chars(1, event.MaxText)),

		"SendOptions.delay":     rest.Say("Milliseconds to wait before the send, while the chat shows the presence. Up to 120000, for voice notes up to 300000.", 1200, openapi.Range(0, maxVoiceDelay)),
		"SendOptions.mentions":  rest.Say("The people that the text or the caption mentions, as @ and their number: phone numbers or JIDs. In a group each must be a member.", []any{rest.ExamplePhone}, openapi.Items(1, maxMentions)),
		"SendOptions.presence":  rest.Say("The presence shown before the message. auto shows a text as typed, and a voice message as recorded, for as long as its length or delay says. available and unavailable apply to the account, the others to the chat. If it cannot be sent, the message is sent anyway, and the header warning says why.", string(event.PresenceComposing), openapi.OneOf(presences()[1:]...)),
		"LaterOptions.sendAt":   rest.Say("When to send it, up to 90 days ahead. The answer is then 202 with a scheduledId, and a file is kept until then. Absent: now.", rest.ExampleTime, openapi.Format("date-time")),
		"LaterOptions.lateMax":  rest.Say("How many milliseconds after sendAt it may be sent at the latest, when the instance is offline or a limit holds it back; then it fails with TOO_LATE. 600000 when absent.", later.DefaultLateMax.Milliseconds(), openapi.Range(int(later.MinLateMax.Milliseconds()), int(later.MaxLateMax.Milliseconds()))),
		"QuotedMessage.message": rest.Say("Its content: one field, named by its messageType.", openapi.Object{"conversation": "When does it come?"}),

		"SendMediaFileForm.mediaType": rest.Say("The kind of message to send the file as.", string(event.MediaImage), openapi.OneOf(mediaKinds()...)),

		"AcceptedSend.statusCode": rest.Say("The status of the answer.", 202, openapi.Object{"enum": []any{202}}),

		"UploadRequest.media":         rest.Say("The http or https URL of the file.", "https://example.org/cat.jpg", openapi.Format("uri"), openapi.Chars(1, event.MaxURL)),
		"UploadRequest.externalId":    rest.Say("A name chosen by the caller, to find it by.", "cat-7", openapi.Chars(0, maxExternalID)),
		"CreateUploadForm.externalId": rest.Say("A name chosen by the caller, to find it by.", "cat-7", openapi.Chars(0, maxExternalID)),

		"Form.options":            rest.Say("The options of the other send routes, as JSON. They may also be fields of the form.", `{"delay":1200}`),
		"Form.delay":              rest.Say("Milliseconds to wait before the send.", "1200", openapi.Pattern("^[0-9]*$")),
		"Form.presence":           rest.Say("The presence shown before the message.", string(event.PresenceComposing), openapi.OneOf(presences()[1:]...)),
		"Form.quotedMessageId":    rest.Say("The stored message to quote: its id here, or its id at WhatsApp.", "42"),
		"Form.quotedMessage":      rest.Say("The message to quote, as JSON.", `{"key":{"remoteJid":"`+rest.ExampleJID+`","id":"`+rest.ExampleKeyID+`"},"message":{"conversation":"hi"}}`),
		"Form.mentionAll":         rest.Say("Whether every member of the group is mentioned.", "false", flag),
		"Form.sendAt":             rest.Say("When to send it, up to 90 days ahead. Empty: now.", rest.ExampleTime),
		"Form.lateMax":            rest.Say("How many milliseconds after sendAt it may be sent at the latest.", "600000", openapi.Pattern("^[0-9]*$")),
		"Form.externalAttributes": rest.Say("An object attached by the caller, as JSON.", `{"order":42}`),
		"Form.viewOnce":           rest.Say("Whether the recipient can view it only once. For images, videos and voice notes.", "false", flag),

		"Form.gifPlayback":   rest.Say("Whether the video plays like a GIF. For videos.", "false", flag),
		"Form.convert":       rest.Say("Whether to convert a file of another format, with ffmpeg on the server. For videos and voice notes.", "false", flag),
		"Form.packName":      rest.Say("The name of the sticker's pack.", "Cats", openapi.Chars(0, event.MaxPackName)),
		"Form.packPublisher": rest.Say("Who publishes the sticker's pack.", "Ada", openapi.Chars(0, event.MaxPackName)),

		"TextContent.text": rest.Say("The text.", "Your order is on its way.", chars(1, event.MaxText)),

		"LinkContent.link":         rest.Say("The link: http or https.", "https://example.org/offer", uri, chars(1, event.MaxURL)),
		"LinkContent.title":        rest.Say("The title of the preview.", "This week's offer", chars(0, event.MaxName)),
		"LinkContent.description":  rest.Say("The text of the preview.", "Until Sunday", chars(0, event.MaxText)),
		"LinkContent.thumbnailUrl": rest.Say("The image of the preview: an http or https URL.", "https://example.org/offer.jpg", uri, chars(0, event.MaxURL)),

		"MediaContent.mediatype": rest.Say("The kind of message to send the file as.", string(event.MediaImage), openapi.OneOf(mediaKinds()...)),
		"MediaContent.media":     rest.Say("The http or https URL of the file, of at most 2048 characters; of a send also the file itself in base64. Either this or mediaUploadId.", "https://example.org/cat.jpg"),
		"AudioContent.audio":     rest.Say("The http or https URL of the voice note, of at most 2048 characters; of a send also the file itself in base64. Either this or mediaUploadId.", "https://example.org/note.ogg"),
		"AudioContent.seconds":   rest.Say("Length in seconds; 0: taken from the file.", 12, openapi.Range(0, event.MaxSeconds)),
		"AudioContent.waveform":  rest.Say("64 volumes of 0 to 100 in base64, for the waveform display; empty: computed from the file.", base64.StdEncoding.EncodeToString(make([]byte, event.WaveformLength)), openapi.Pattern("^([A-Za-z0-9+/]{86}==)?$")),
		"StickerContent.sticker": rest.Say("The http or https URL of the WebP image, or of a JPEG, PNG, GIF or MP4 where the server has ffmpeg; of a send also the file itself in base64. Either this or mediaUploadId.", "https://example.org/cat.webp"),

		"AlbumItems.items":    rest.Say("The pictures and videos, in the order in which they are shown.", nil, openapi.Items(event.MinAlbum, event.MaxAlbum)),
		"AlbumItem.mediatype": rest.Say("The kind of the file.", string(event.MediaImage), openapi.OneOf(event.MediaImage, event.MediaVideo)),
		"AlbumItem.media":     rest.Say("The http or https URL of the file; of a send also the file itself in base64. Either this or mediaUploadId.", "https://example.org/1.jpg"),
		"AlbumItem.caption":   rest.Say("The text below it.", "The harbour", chars(0, event.MaxText)),

		"StickerContent.packName":      rest.Say("The name of its pack, written into the file.", "Cats", chars(0, event.MaxPackName)),
		"StickerContent.packPublisher": rest.Say("Who publishes the pack, written into the file.", "Ada", chars(0, event.MaxPackName)),

		"ContactContent.fullName":     rest.Say("The name of the contact.", "Ada Lovelace", chars(1, event.MaxName)),
		"ContactContent.organization": rest.Say("The organization of the contact.", "Analytical Engines Ltd", chars(0, event.MaxName)),

		"LocationContent.name":    rest.Say("The name of the place.", "Brandenburg Gate", chars(0, event.MaxName)),
		"LocationContent.address": rest.Say("Its address.", "Pariser Platz, Berlin", chars(0, event.MaxText)),
		"LocationContent.url":     rest.Say("A page about it.", "https://example.org/gate", uri, chars(0, event.MaxURL)),

		"ReactionContent.reaction": rest.Say("One emoji; empty to remove the reaction. At most 32 bytes.", "👍", chars(0, event.MaxReaction)),

		"PollContent.name":            rest.Say("The question.", "When?", chars(1, event.MaxName)),
		"PollContent.options":         rest.Say("The answers to choose from, distinct and of 1 to 100 characters each.", []any{"Today", "Tomorrow"}, openapi.Items(event.MinPollOptions, event.MaxPollOptions), openapi.Object{"uniqueItems": true}),
		"PollContent.selectableCount": rest.Say("How many answers may be chosen; 0: any number.", 1, openapi.Range(0, event.MaxPollOptions)),

		"StatusContent.text":      rest.Say("The text.", "Open until eight today.", chars(1, event.MaxText)),
		"StatusMessage.audience":  rest.Say("Who gets this status: phone numbers or JIDs. Of these, those get it to whom the account's privacy of statuses shows it, and the own account always. Absent: everybody to whom it does.", []any{rest.ExamplePhone}, openapi.Items(1, maxAudience)),
		"StatusContent.mediatype": rest.Say("The kind of the file, for a status with one.", string(event.MediaImage), openapi.OneOf(event.MediaImage, event.MediaVideo, event.MediaVoice)),
		"StatusContent.media":     rest.Say("The http or https URL of the file. Either this or mediaUploadId.", "https://example.org/cat.jpg", uri, chars(0, event.MaxURL)),
		"StatusContent.caption":   rest.Say("The text below the image or the video.", "Our cat", chars(0, event.MaxText)),
		"StatusContent.font":      rest.Say("One of WhatsApp's fonts.", 0, openapi.Range(0, event.MaxStatusFont)),
	}
}

// UploadKinds are the kinds that a file can be uploaded as.
func UploadKinds() []event.MediaKind {
	return []event.MediaKind{
		event.MediaImage, event.MediaDocument, event.MediaVideo, event.MediaAudio, event.MediaPTV, event.MediaVoice, event.MediaSticker,
	}
}

// mediaKinds are the kinds that the media routes send.
func mediaKinds() []event.MediaKind { return UploadKinds()[:5] }

// AcceptedAnswer is the answer 202 to a send: of one that is performed asynchronously, or at a later time.
type AcceptedAnswer struct{}

// AcceptedAnswerSchema is either of the two.
func AcceptedAnswerSchema(r rest.Ref) openapi.Object {
	return openapi.Object{"oneOf": []openapi.Object{r(rest.TypeOf[acceptedSend]()), r(rest.TypeOf[acceptedLater]())}}
}

// AcceptedReaction is the answer 202 to a reaction, which may also be to a post of a newsletter.
type AcceptedReaction struct{}

// AcceptedReactionSchema is one of the three.
func AcceptedReactionSchema(r rest.Ref) openapi.Object {
	return openapi.Object{"oneOf": []openapi.Object{r(rest.TypeOf[acceptedSend]()), r(rest.TypeOf[acceptedLater]()), r(rest.TypeOf[reactionAnswer]())}}
}

// reactionID is the operation of reactions.
const reactionID = "sendReaction"

// SentMessage is a stored message as the answer to a send.
type SentMessage struct{}

// SentMessageSchema has the field that identifies the other answer to a send, so that
// generated types can distinguish the two. A field of type null would say more exactly
// that it is absent, but clients of openapi-fetch drop those.
func SentMessageSchema(r rest.Ref) openapi.Object {
	status := openapi.Object{"type": "string", "enum": []any{"sent"}, "description": "Absent. In an answer with the status 202 it is processing."}
	return openapi.Object{"allOf": []openapi.Object{r(rest.TypeOf[event.Message]()), {"type": "object", "properties": openapi.Object{"status": status}}}}
}

// numbersOf returns numbers as a document has them.
func numbersOf(all []int) (values []any) {
	for _, n := range all {
		values = append(values, n)
	}
	return values
}
