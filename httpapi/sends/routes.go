package sends

import (
	"net/http"
	"slices"

	"postern/batch"
	"postern/event"
	"postern/httpapi/alerts"
	"postern/httpapi/openapi"
	"postern/httpapi/rest"
)

// Routes returns the paths of the package, with their handlers and what the documents say about them.
func (a *API) Routes() []rest.Route {
	return slices.Concat(a.sendRoutes(), a.laterRoutes(), a.fileRoutes(), a.editRoutes(), a.notifyRoutes())
}

func (a *API) sendRoutes() []rest.Route {
	all := []rest.Route{
		{
			Method: "POST", Path: "/instance/{i}/send/text", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: Send[SendTextRequest](a),
			ID: "sendText", Summary: "Send a text.", In: rest.TypeOf[SendTextRequest](),
			Example: `{"number":"4915112345678","textMessage":{"text":"Your order is on its way."}}`, Codes: rest.SendingTo(),
		},
		{
			Method: "POST", Path: "/instance/{i}/send/link", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: Send[sendLinkRequest](a),
			ID: "sendLink", Summary: "Send a link with its preview.", In: rest.TypeOf[sendLinkRequest](),
			Example: `{"number":"4915112345678","linkMessage":{"link":"https://example.org/offer","title":"This week's offer","description":"Until Sunday"}}`,
			Codes:   rest.SendingTo("INVALID_MEDIA"),
		},
		{
			Method: "POST", Path: "/instance/{i}/send/media", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: Send[sendMediaRequest](a),
			ID: "sendMedia", Summary: "Send an image, a video, a document, music or a round video note.", About: "The file is a URL or the id of an earlier upload.",
			In: rest.TypeOf[sendMediaRequest](), Example: `{"number":"4915112345678","mediaMessage":{"mediatype":"image","media":"https://example.org/cat.jpg","caption":"Our cat"}}`,
			Codes: rest.SendingFile("MESSAGE_NOT_FOUND", "MESSAGE_WITHOUT_MEDIA", "MEDIA_GONE"),
		},
		{
			Method: "POST", Path: "/instance/{i}/send/media-file", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: a.sendMediaFile,
			ID: "sendMediaFile", Summary: "Send the uploaded file.", Form: targetFields(mediaFields()...), Codes: rest.SendingFile(),
		},
		{
			Method: "POST", Path: "/instance/{i}/send/ptt", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: Send[sendVoiceRequest](a),
			ID: "sendVoiceNote", Summary: "Send a voice note, by its URL or an earlier upload.", In: rest.TypeOf[sendVoiceRequest](),
			Example: `{"number":"4915112345678","audioMessage":{"audio":"https://example.org/note.ogg"}}`, Codes: rest.SendingFile("MESSAGE_NOT_FOUND", "MESSAGE_WITHOUT_MEDIA", "MEDIA_GONE"),
		},
		{
			Method: "POST", Path: "/instance/{i}/send/ptt-file", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: a.sendVoiceFile,
			ID: "sendVoiceNoteFile", Summary: "Send the uploaded file as a voice note.", Form: targetFields(voiceFields()...), Codes: rest.SendingFile(),
		},
		{
			Method: "POST", Path: "/instance/{i}/send/contact", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: Send[sendContactRequest](a),
			ID: "sendContact", Summary: "Send one or more contacts.", In: rest.TypeOf[sendContactRequest](),
			Example: `{"number":"4915112345678","contactMessage":[{"fullName":"Ada Lovelace","phoneNumber":"4915187654321"}]}`, Codes: rest.SendingTo(),
		},
		{
			Method: "POST", Path: "/instance/{i}/send/location", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: Send[sendLocationRequest](a),
			ID: "sendLocation", Summary: "Send a location.", In: rest.TypeOf[sendLocationRequest](),
			Example: `{"number":"4915112345678","locationMessage":{"latitude":52.5163,"longitude":13.3777,"name":"Brandenburg Gate"}}`, Codes: rest.SendingTo(),
		},
		{
			Method: "POST", Path: "/instance/{i}/send/reaction", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: a.sendReaction,
			ID: reactionID, Summary: "React to a message, or remove the reaction.", In: rest.TypeOf[sendReactionRequest](),
			Example: `{"number":"4915112345678","reactionMessage":{"key":{"remoteJid":"4915112345678@s.whatsapp.net","id":"3EB0C767D097B7C7C030","fromMe":false},"reaction":"👍"}}`,
			About:   "A reaction to a post of a newsletter names it by its stored message or by serverId. WhatsApp does not acknowledge it: the answer is 202 and has only a status, and no event follows.",
			Codes:   rest.SendingTo("MESSAGE_NOT_FOUND"),
		},
		{
			Method: "POST", Path: "/instance/{i}/send/sticker", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: Send[sendStickerRequest](a),
			ID: "sendSticker", Summary: "Send a sticker, by its URL or an earlier upload.", In: rest.TypeOf[sendStickerRequest](),
			Example: `{"number":"4915112345678","stickerMessage":{"sticker":"https://example.org/cat.webp"}}`, Codes: rest.SendingFile("MESSAGE_NOT_FOUND", "MESSAGE_WITHOUT_MEDIA", "MEDIA_GONE"),
		},
		{
			Method: "POST", Path: "/instance/{i}/send/sticker-file", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: a.sendStickerFile,
			ID: "sendStickerFile", Summary: "Send the uploaded file as a sticker.", Form: targetFields(stickerFields()...), Codes: rest.SendingFile(),
		},
		{
			Method: "POST", Path: "/instance/{i}/send/poll", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: Send[sendPollRequest](a),
			ID: "sendPoll", Summary: "Send a poll.", In: rest.TypeOf[sendPollRequest](),
			Example: `{"number":"4915112345678","pollMessage":{"name":"When?","options":["Today","Tomorrow"],"selectableCount":1}}`, Codes: rest.SendingTo(),
		},
		{
			Method: "POST", Path: "/instance/{i}/send/forward", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: a.sendForward,
			ID: "forwardMessage", Summary: "Forward a stored message.", In: rest.TypeOf[sendForwardRequest](),
			Example: `{"number":"4915112345678","messageId":42}`, Codes: rest.SendingFile("MESSAGE_NOT_FOUND", "MESSAGE_WITHOUT_MEDIA", "MEDIA_GONE"),
		},
	}
	for i := range all { // those to a recipient, asynchronous with mentionAll
		accepted := rest.TypeOf[AcceptedAnswer]()
		if all[i].ID == reactionID {
			accepted = rest.TypeOf[AcceptedReaction]()
		}
		all[i].Once, all[i].Out = true, rest.TypeOf[SentMessage]()
		all[i].Also = []openapi.Answer{{
			Status: http.StatusAccepted, Type: accepted,
			About: "With `options.mentionAll` the message is sent asynchronously; the event `send.message` with this processId has the result. With `options.sendAt` it is sent at that time; the event has the scheduledId.",
		}}
	}
	return append(all, rest.Route{
		Method: "POST", Path: "/instance/{i}/send/album", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: a.sendAlbum,
		ID: "sendAlbum", Summary: "Send 2 to 30 pictures and videos that are shown as one album.", Once: true, In: rest.TypeOf[sendAlbumRequest](),
		About:   "All files are uploaded before anything is sent. A message that WhatsApp refuses does not end the album: its entry has the error.",
		Example: `{"number":"4915112345678","albumMessage":{"items":[{"mediatype":"image","media":"https://example.org/1.jpg","caption":"The harbour"},{"mediatype":"video","media":"https://example.org/2.mp4"}]}}`,
		Out:     rest.TypeOf[albumAnswer](), Codes: rest.SendingFile("MESSAGE_NOT_FOUND", "MESSAGE_WITHOUT_MEDIA", "MEDIA_GONE"),
	}, rest.Route{
		Method: "POST", Path: "/instance/{i}/send/status", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: a.sendStatus,
		ID: "sendStatus", Summary: "Post a status, which all contacts see for a day, or those of its audience.", About: "A text, or an image, a video or a voice note with a caption.", Once: true, In: rest.TypeOf[sendStatusRequest](),
		Example: `{"statusMessage":{"text":"Open until eight today.","backgroundColor":"#1b5e20"}}`, Out: rest.TypeOf[SentMessage](), Codes: rest.Sending(rest.CodeLimitReached, "INVALID_MEDIA", "MEDIA_TYPE_UNSUPPORTED", "MESSAGE_NOT_FOUND", "MESSAGE_WITHOUT_MEDIA", "MEDIA_GONE", "AUDIENCE_EMPTY", "AUDIENCE_NOT_POSSIBLE"),
		Also: []openapi.Answer{{
			Status: http.StatusAccepted, Type: rest.TypeOf[acceptedLater](), About: "With `options.sendAt` the status is posted at that time; the event `send.message` has the scheduledId.",
		}},
	})
}

func (a *API) laterRoutes() []rest.Route {
	return []rest.Route{
		{
			Method: "GET", Path: "/instance/{i}/scheduled", Auth: rest.InstanceBearer, Right: rest.ScopeRead, Handle: a.listScheduled,
			ID: "listScheduledSends", Summary: "List the scheduled sends, the next one first.", Query: rest.Cursors(), Out: rest.TypeOf[batch.List[ScheduledView]](), Codes: rest.Codes{rest.CodeNoCursor},
		},
		{
			Method: "DELETE", Path: "/instance/{i}/scheduled/{id}", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: a.deleteScheduled,
			ID: "deleteScheduledSend", Summary: "Delete a scheduled send. No event follows.", Status: http.StatusNoContent, Codes: rest.Codes{"SCHEDULED_NOT_FOUND", "SCHEDULED_BEGUN"},
		},
	}
}

func (a *API) fileRoutes() []rest.Route {
	return []rest.Route{
		{
			Method: "POST", Path: "/instance/{i}/media/data", Auth: rest.InstanceBearer, Right: rest.ScopeMedia, Handle: a.mediaData,
			ID: "getMediaData", Summary: "Download the file of a stored message.", In: rest.TypeOf[mediaDataRequest](), Example: `{"messageId":42}`,
			About: "With binary=true the answer is the file itself.", Query: []string{"binary"}, Out: rest.TypeOf[FileAnswer](), Media: "*/*",
			Codes: rest.Asking("MESSAGE_NOT_FOUND", "MESSAGE_WITHOUT_MEDIA", "MEDIA_GONE", "INVALID_MEDIA", "DISK_FULL"),
		},
		{
			Method: "POST", Path: "/instance/{i}/media/uploads", Auth: rest.InstanceBearer, Right: rest.ScopeMedia, Handle: a.createUpload,
			ID: "createUpload", Summary: "Upload a file to WhatsApp ahead of a send: from a URL, or as a multipart body.",
			In: rest.TypeOf[uploadRequest](), Example: `{"mediaType":"image","media":"https://example.org/cat.jpg"}`,
			Form:   uploadFields(),
			Status: http.StatusCreated, Out: rest.TypeOf[UploadView](), Codes: rest.Asking("INVALID_MEDIA", "INVALID_MESSAGE", "MEDIA_TYPE_UNSUPPORTED", "DISK_FULL", rest.CodeLimitReached),
		},
		{
			Method: "GET", Path: "/instance/{i}/media/uploads", Auth: rest.InstanceBearer, Right: rest.ScopeMedia, Handle: a.listUploads,
			ID: "listUploads", Summary: "List the uploads, newest first.", Query: []string{"mediaType", "expired", "externalId", "createdFrom", "createdTo", "limit", "nextCursor", "previousCursor"},
			Out: rest.TypeOf[batch.List[UploadView]](), Codes: rest.Codes{rest.CodeNoCursor},
		},
		{
			Method: "GET", Path: "/instance/{i}/upload/{id}", Auth: rest.InstanceBearer, Right: rest.ScopeMedia, Handle: a.showUpload,
			ID: "getUpload", Summary: "Show an upload.", Out: rest.TypeOf[UploadView](), Codes: rest.Codes{"UPLOAD_NOT_FOUND"},
		},
		{
			Method: "DELETE", Path: "/instance/{i}/upload/{id}", Auth: rest.InstanceBearer, Right: rest.ScopeMedia, Handle: a.deleteUpload,
			ID: "deleteUpload", Summary: "Delete an upload.", Status: http.StatusNoContent, Codes: rest.Codes{"UPLOAD_NOT_FOUND"},
		},
	}
}

func (a *API) editRoutes() []rest.Route {
	return []rest.Route{
		{
			Method: "POST", Path: "/instance/{i}/chat/edit-message", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: a.editMessage,
			ID: "editMessage", Summary: "Replace the text or the caption of an own message.", Once: true, In: rest.TypeOf[editRequest](),
			Example: `{"messageId":42,"text":"Your order arrives tomorrow."}`, Out: rest.TypeOf[event.Message](), Codes: rest.Sending("MESSAGE_NOT_FOUND", "INVALID_ARGUMENT"),
		},
		{
			Method: "POST", Path: "/instance/{i}/send/poll-vote", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: a.votePoll,
			ID: "votePoll", Summary: "Vote in a stored poll.", About: "An empty array takes the vote back.", Once: true, In: rest.TypeOf[pollVoteRequest](),
			Example: `{"messageId":42,"options":["now"]}`, Out: rest.TypeOf[event.Message](), Codes: rest.Sending("POLL_NOT_FOUND", "POLL_NOT_READABLE"),
		},
		{
			Method: "GET", Path: "/instance/{i}/poll", Auth: rest.InstanceBearer, Right: rest.ScopeRead, Handle: a.showPoll,
			ID: "getPoll", Summary: "Show a stored poll and who voted for what.", Query: []string{"messageId"}, Out: rest.TypeOf[event.PollTally](), Codes: rest.Codes{"POLL_NOT_FOUND"},
		},
		{
			Method: "POST", Path: "/instance/{i}/chat/pin-message", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: a.pinMessage,
			ID: "pinMessage", Summary: "Pin a stored message in its chat, or unpin it.", Once: true, In: rest.TypeOf[pinMessageRequest](),
			Example: `{"messageId":42,"pinned":true}`, Out: rest.TypeOf[event.Message](), Codes: rest.Sending("MESSAGE_NOT_FOUND"),
		},
		{
			Method: "POST", Path: "/instance/{i}/chat/keep-message", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: a.keepMessage,
			ID: "keepMessage", Summary: "Keep a stored message that would disappear, or let it disappear.", Once: true, In: rest.TypeOf[keepMessageRequest](),
			Example: `{"messageId":42,"keep":true}`, Out: rest.TypeOf[event.Message](), Codes: rest.Sending("MESSAGE_NOT_FOUND"),
		},
		{
			Method: "POST", Path: "/instance/{i}/chat/expiration", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: a.setExpiration,
			ID: "setExpiration", Summary: "Set the disappearing timer of a chat.", In: rest.TypeOf[expirationRequest](),
			Example: `{"chat":"4915112345678","seconds":604800}`, Out: rest.TypeOf[expirationAnswer](), Codes: rest.Sending(),
		},
		{
			Method: "DELETE", Path: "/instance/{i}/chat/delete-message", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: a.deleteMessage,
			ID: "deleteMessage", Summary: "Delete a message for everyone.", Once: true, Query: []string{"id"}, Status: http.StatusNoContent, Codes: rest.Sending("MESSAGE_NOT_FOUND"),
		},
	}
}

func (a *API) notifyRoutes() []rest.Route {
	return []rest.Route{
		{
			Method: "POST", Path: "/instance/{i}/notify", Auth: rest.InstanceBearer, Right: rest.ScopeSendTo, Handle: a.notify,
			ID: "notify", Summary: "Send alerts as a message.", Once: true, In: rest.TypeOf[alerts.Notification](), Query: []string{"to"}, Out: rest.TypeOf[NotifyAnswer](),
			About:   "Sends one text with all alerts that the recipient did not get in the last 24 hours. Alerts with the same status, fingerprint and start are the same alert. A title or message is sent each time, unless it has a fingerprint.",
			Example: `{"alerts":[{"status":"firing","labels":{"alertname":"DiskFull","instance":"db1"},"annotations":{"summary":"4 % are free"},"startsAt":"2026-11-20T09:30:00Z","fingerprint":"c6eadffa33fcdf37"}]}`,
			Codes:   rest.Sending(),
		},
	}
}
