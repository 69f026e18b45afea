package httpapi

import "postern/event"

func chatDescriptions() map[string]description {
	read := description{summary: "Mark messages as read.", in: body[readRequest](), out: body[readAnswer]()}
	archive := description{summary: "Archive a chat, or take it out again.", in: body[archiveRequest](), out: body[chatState]()}
	return map[string]description{
		"POST /instance/{i}/send/forward": {summary: "Forward a stored message.", once: true, in: body[sendForwardRequest](), out: body[event.Message]()},
		"POST /instance/{i}/send/status":  {summary: "Show a text to all contacts for a day.", once: true, in: body[sendStatusRequest](), out: body[event.Message]()},

		"POST /instance/{i}/chat/is-account":       {summary: "Tell which numbers have an account.", in: body[numbersRequest](), out: body[[]event.Registration]()},
		"POST /instance/{i}/chat/read-message":     read,
		"PUT /instance/{i}/chat/read-message":      read,
		"PATCH /instance/{i}/chat/read-message":    read,
		"POST /instance/{i}/chat/archive":          archive,
		"PUT /instance/{i}/chat/archive":           archive,
		"POST /instance/{i}/chat/pin":              {summary: "Pin a chat, or unpin it.", in: body[pinRequest](), out: body[chatState]()},
		"POST /instance/{i}/chat/mute":             {summary: "Mute a chat, or unmute it.", in: body[muteRequest](), out: body[chatState]()},
		"POST /instance/{i}/chat/star":             {summary: "Star a stored message, or take the star away.", in: body[starRequest](), out: body[starAnswer]()},
		"POST /instance/{i}/chat/block":            {summary: "Block a person, or end that.", in: body[blockRequest](), out: body[blockedPeople]()},
		"GET /instance/{i}/chat/blocked":           {summary: "List the blocked people.", out: body[blockedPeople]()},
		"POST /instance/{i}/chat/edit-message":     {summary: "Replace the text or the caption of an own message.", once: true, in: body[editRequest](), out: body[event.Message]()},
		"DELETE /instance/{i}/chat/delete-message": {summary: "Delete a message for everyone.", once: true, query: []string{"id"}, out: body[event.Message]()},
		"POST /instance/{i}/chat/profile-picture":  {summary: "Tell where a profile picture lies.", in: body[profilePictureRequest](), out: body[profilePictureAnswer]()},
		"POST /instance/{i}/chat/reject-call":      {summary: "Reject an incoming call.", in: body[rejectRequest](), out: body[rejectAnswer]()},
		"POST /instance/{i}/chat/presence":         {summary: "Show a presence, or watch somebody's.", in: body[presenceRequest](), out: body[presenceAnswer]()},

		"POST /instance/{i}/media/data": {summary: "Download the file of a stored message.", in: body[mediaDataRequest](), query: []string{"binary"}, media: "multipart/form-data"},
	}
}
