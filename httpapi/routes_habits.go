package httpapi

// Habit is a compatibility rule for programs written for older gateways of this family, besides the forms of the routes
// themselves. A test sends at least one request for each.
type Habit struct {
	Name    string
	Routes  []string // method and path, or a path's end; none: all
	Takes   string   // what is accepted in addition
	Answers string   // what is answered
}

// Habits returns the compatibility rules.
func Habits() []Habit {
	return []Habit{
		{Name: "slash", Takes: "a slash at the end of any path, which changes nothing"},
		{Name: "any case", Takes: "the words of a legacy path in upper or lower case, but not under /instance/, where a word could be a name"},
		{Name: "unknown fields", Takes: "unknown fields of the body on a legacy path: they are ignored", Answers: "the header warning names them"},
		{Name: "null", Takes: "null for any optional field"},
		{Name: "no quote", Takes: "0 for quotedMessageId and {} for quotedMessage: none"},
		{Name: "texts", Takes: "booleans and numbers as texts in forms, queries and filter.keyFromMe"},
		{Name: "phone numbers", Takes: "a phone number as people write it, wherever there is one"},
		{Name: "GET create", Routes: []string{"GET /instance"}, Takes: "GET /instance/create"},
		{Name: "apikey", Routes: []string{"/instance/{i}…"}, Takes: "the instance's token in the header apikey"},

		{Name: "presence", Routes: []string{"…/send/…"}, Takes: "options.presence available and unavailable: shown for the account before the send", Answers: "the header warning names a presence that could not be sent"},
		{Name: "white space", Routes: []string{"…/send/…"}, Answers: "422 for a text of nothing but white space"},
		{Name: "upload beside the content", Routes: []string{"…/send/media", "…/send/ptt"}, Takes: "mediaUploadId beside the content instead of in it"},
		{Name: "reaction without recipient", Routes: []string{"…/send/reaction"}, Takes: "no recipient: the chat of the message is meant"},
		{Name: "voice note", Routes: []string{"…/send/ptt"}, Takes: "audioMessage.ptt (of no effect), waveform (base64 of 64 bytes) and seconds"},
		{Name: "flat quote", Routes: []string{"…/send/…"}, Takes: "options.quotedMessage with the fields of an event: keyId, keyRemoteJid, keyFromMe, keyParticipant, messageType, content"},
		{Name: "flat options", Routes: []string{"…/send/media-file", "…/send/ptt-file", "…/send/sticker-file"}, Takes: "the options as fields of the form, and the file in the part attachment or file"},

		{Name: "upload", Routes: []string{"POST …/media/uploads"}, Takes: "the file in the part file or attachment, externalId and externalAttributes", Answers: "id (an integer), uuid, instanceId, externalId, externalAttributes, mediaType, originalFileName, originalFileSize, mimetype, width, height, upload (with fileSHA256 and fileEncSHA256), expired, expiresAt, createdAt, updatedAt"},
		{Name: "uploads", Routes: []string{"GET …/media/uploads"}, Takes: "mediaType, expired, externalId, createdFrom, createdTo, limit and both cursors", Answers: "nextCursor, previousCursor, totalRecords, records; an expired upload is listed for two weeks more"},
		{Name: "either id", Routes: []string{"…/media/{id}/uploads", "…/upload/{id}", "mediaUploadId"}, Takes: "the integer or the UUID of an upload"},
		{Name: "media data", Routes: []string{"…/media/data"}, Takes: "exactly one of messageId, id, keyId, or messageType with content as in an event, optionally with keyId", Answers: "mediaType, fileName, mimetype, size and base64; with binary=true the bytes"},
		{Name: "read", Routes: []string{"…/chat/read-message"}, Takes: "PATCH; ids (as they are here), or sender, chat and messageIds (WhatsApp's)", Answers: "message: Read messages, read: success"},
		{Name: "profile picture", Routes: []string{"…/chat/profile-picture"}, Takes: "number, chat or recipient"},
		{Name: "ids as texts", Routes: []string{"…/chat/edit-message", "…/chat/delete-message"}, Takes: "the id of a stored message as a string of digits"},
		{Name: "no body", Routes: []string{"…/chat/archive", "…/chat/reject-call", "…/chat/delete-message", "DELETE …/upload/{id}", "…/group/update-participants", "…/group/revoke-invitation", "…/group/leave"}, Answers: "204; the result of a change of members when one failed; with details=true always, and the new invitation too"},
		{Name: "messages", Routes: []string{"…/db/messages"}, Takes: "filter with id, keyId, keyFromMe, keyRemoteJid and keyParticipant (phone JID or LID, either finds both), messageType, messageStatus, source, pushName, isGroup; messageStatus and status also as ERROR, PENDING, SERVER_ACK, DELIVERY_ACK, READ, PLAYED in any case; cursor as a text of pageInfo or as {type: next or previous, id}", Answers: "each message of any list has instanceId"},
		{Name: "found messages", Routes: []string{"/chat/findMessages/{i}"}, Takes: "where with the same and keyid, page, offset (the length of a page), cursor instead of page", Answers: "messages with total, pages, currentPage, and records that have MessageUpdate"},
		{Name: "batches", Routes: []string{"POST /message/batches"}, Takes: "options.quotedMessageId, options.externalAttributes (of each message), options.replicable (of no effect); contacts as an array; a file by mediaUploadId without mediatype", Answers: "createdAt of attempts; message.batch.recovered carries the interruptionReason"},
		{Name: "not offered", Routes: []string{"…/send/buttons, reply, url, copy, list, carousel, form, pix, payment-request, review-order", "/message/sendButtons, sendList, reviewOrder", "/call/…"}, Takes: "POST, PATCH and PUT", Answers: "501 NOT_OFFERED and what to send instead, after the credential"},
		{Name: "passkey", Routes: []string{"…/connect/passkey/challenge", "…/connect/passkey/assertion"}, Takes: "{requestId, assertion}", Answers: "requestId, state (AWAITING_ASSERTION or AWAITING_CONFIRMATION), message, expiresAt"},
		{Name: "ready", Routes: []string{"GET /ready"}, Answers: "status ready"},
		{Name: "left out", Routes: []string{"…/connect", "…/connection/status", "/message/batches…"}, Answers: "absent instead of null: code and base64 when there is nothing to scan, times of a batch for phases not reached, delays and errors of items and attempts without any; statusReason is 0"},
		{Name: "logout", Routes: []string{"…/logout"}, Answers: "200 and logged_out for an instance that was never paired"},
		{Name: "device", Routes: []string{"…/send/…"}, Answers: "device web of what was sent"},
		{Name: "invitation", Routes: []string{"…/group/invitation-code"}, Answers: "invitation (a URL), inviteCode, groupJid"},
		{Name: "group picture", Routes: []string{"…/group/update-picture"}, Answers: "the group as …/group shows it, and pictureId"},
	}
}
