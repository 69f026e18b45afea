package httpapi

import (
	"fmt"
	"net/http"
	"slices"

	"postern/batch"
	"postern/event"
	"postern/httpapi/batches"
	"postern/httpapi/deliveries"
	"postern/httpapi/instances"
	"postern/httpapi/openapi"
	"postern/httpapi/operator"
	"postern/httpapi/ref"
	"postern/httpapi/rest"
	"postern/httpapi/sockets"
	"postern/httpapi/standby"
	"postern/instance/pace"
)

// Code describes one machine code of the error body, for people.
type Code = openapi.Code

// Seconds to wait for temporary conditions. The first is the usual length of a reconnect, the second that of a
// restart, the third gives an operator time to make room.
const (
	retryConnection = 5
	retryRestart    = rest.RetryRestart
	retryDisk       = 60
	retryLimit      = 60
	retryOutdated   = 600 // the least time between two questions for a newer version
	retryFailures   = 60  // the most; the answer has what is left of the minute
)

// Codes returns every code of the interface, by status.
func Codes() []Code {
	var all []Code
	for _, part := range [][]Code{inputCodes(), credentialCodes(), accessCodes(), stateCodes(), ruleCodes(), faultCodes(), sandboxCodes()} {
		all = append(all, part...)
	}
	return all
}

// retryAfter returns the Retry-After of a code in seconds, 0 for none.
func retryAfter(code string) int {
	for _, c := range slices.Concat(faultCodes(), credentialCodes(), accessCodes()) {
		if c.Code == code {
			return c.RetryAfter
		}
	}
	return 0
}

// inputCodes are about requests that do not have the form that the route requires.
func inputCodes() []Code {
	return []Code{
		{Code: rest.CodeMalformedJSON, Status: http.StatusBadRequest, Meaning: "The body, or a part of a form, is not one JSON object in UTF-8, or something follows it.", Next: "Correct the body; the message says where the reader stopped."},
		{Code: rest.CodeTooDeep, Status: http.StatusBadRequest, Meaning: "The JSON of the body, or of a form's field, nests objects and arrays more than 64 deep. This is checked before all other rules of the body.", Next: "Flatten it, or send the nested part as a string."},
		{Code: rest.CodeMalformedForm, Status: http.StatusBadRequest, Meaning: "The multipart body is malformed or ended early.", Next: "Send the fields and the file as one multipart/form-data body, as curl -F does."},
		{Code: rest.CodeUnknownField, Status: http.StatusBadRequest, Meaning: "The body has a field that the route does not know. Names are case-sensitive.", Next: "Remove or rename the field that the message names."},
		{Code: rest.CodeDuplicateField, Status: http.StatusBadRequest, Meaning: "An object of the body has the same key twice.", Next: "Keep one of the two."},
		{Code: rest.CodeMissingField, Status: http.StatusBadRequest, Meaning: "A required field is missing.", Next: "Add the field that the message names."},
		{Code: rest.CodeInvalidType, Status: http.StatusBadRequest, Meaning: "A field has a value of the wrong type, or null where null is not accepted.", Next: "Send the type that the message names."},
		{Code: "INVALID_SEQUENCE", Status: http.StatusBadRequest, Meaning: "The sequence is greater than that of the newest event, or it is not said where to continue.", Next: "Acknowledge next of the answer that had the events; give sequence or time to seek."},
		{Code: rest.CodeInvalidQuery, Status: http.StatusBadRequest, Meaning: "A query parameter is unknown, repeated or outside its rule.", Next: "Correct the parameter that the message names."},
		{Code: rest.CodeNoCursor, Status: http.StatusBadRequest, Meaning: "A cursor was not made by this list.", Next: "Pass nextCursor or previousCursor on unchanged, or start from the first page."},
		{Code: sockets.CodeInvalidSubscription, Status: http.StatusBadRequest, Meaning: "The handshake of a WebSocket names no event, an unknown event, no token, or a position that does not exist.", Next: "Correct the query parameter that the message names."},
		{Code: "INVALID_WEBHOOK", Status: http.StatusBadRequest, Meaning: "The URL of a webhook or an endpoint is invalid, or is missing when the webhook is created; or an option is invalid.", Next: "Correct the field that the message names. A URL is http or https, of at most 500 characters, without user and password."},
		{Code: instances.CodeUnknownEvent, Status: http.StatusBadRequest, Meaning: "There is no instance event of that name.", Next: "Use a name of the event catalogue; the message suggests the nearest one."},
		{Code: "ONE_RECIPIENT", Status: http.StatusBadRequest, Meaning: "The body names no recipient, or more than one.", Next: "Give exactly one of number, chat and recipient."},
		{Code: rest.CodeKeyMismatch, Status: http.StatusBadRequest, Meaning: "The headers apikey and x-api-key carry different values.", Next: "Send the key once."},
		{Code: rest.CodeInvalidKey, Status: http.StatusBadRequest, Meaning: "The header Idempotency-Key is empty, too long, sent twice, or not printable ASCII.", Next: "Send one key of 1 to 255 characters, for example a UUID, or none."},
		{Code: rest.CodeBodyTooLarge, Status: http.StatusRequestEntityTooLarge, Meaning: "The body is longer than the route allows.", Next: "Send less. The limits are 1 MiB of JSON (more when a batch is created), media.max_bytes for files, and 64 KiB for each other field of a form."},
		{Code: "MEDIA_TYPE_UNSUPPORTED", Status: http.StatusUnsupportedMediaType, Meaning: "The audio would have to be converted, and the server has no ffmpeg.", Next: "Send OGG/Opus, or install ffmpeg on the server."},
		{Code: rest.CodeContentType, Status: http.StatusUnsupportedMediaType, Meaning: "The route does not accept this Content-Type.", Next: "Send JSON in UTF-8 as application/json or without a Content-Type, and a file as multipart/form-data."},
		{Code: rest.CodeUpgradeRequired, Status: http.StatusUpgradeRequired, Meaning: "The path is a WebSocket, and the request is not a handshake.", Next: "Use a WebSocket client."},
	}
}

// credentialCodes are about credentials.
func credentialCodes() []Code {
	return []Code{
		{Code: rest.CodeUnauthorized, Status: http.StatusUnauthorized, Meaning: "The credential is missing, malformed, expired, revoked or wrong. The answer does not say which.", Next: "Send the credential that the second message names; get a new token when it may have expired or been replaced."},
		{Code: rest.CodeTooManyFailures, Status: http.StatusTooManyRequests, Meaning: "This address has reached the limit of wrong credentials per minute (authentication.failures_per_minute), and sent another. Requests with a valid credential are still served.", Next: "Correct the credential; wait as long as Retry-After says before the next guess.", RetryAfter: retryFailures},
		{Code: rest.CodeForbidden, Status: http.StatusForbidden, Meaning: "The token is valid, but for another instance or, on a WebSocket, of the other kind.", Next: "Use the token of the instance in the path."},
		{Code: rest.CodeLimitReached, Status: http.StatusTooManyRequests, Meaning: "A user, a token or an instance has reached a limit, which the message names: unfinished batches (message.batch.max_open), WebSockets (websocket.max_per_token), uploads (media.max_uploads), scheduled sends (message.scheduled.max), their files (message.scheduled.max_bytes), portal links, or files served at once (64, of one instance 16).", Next: "Try again when one of them has ended, or end one.", RetryAfter: retryLimit},
		{Code: "ORIGIN_REFUSED", Status: http.StatusForbidden, Meaning: "A browser page of this origin may not open the WebSocket.", Next: "Add the origin to websocket.allowed_origins."},
	}
}

// stateCodes are about what exists and its state.
func stateCodes() []Code {
	return []Code{
		{Code: rest.CodeNotFound, Status: http.StatusNotFound, Meaning: "There is no such path.", Next: "Compare the path with the documentation; nothing is redirected, and a slash at the end counts."},
		{Code: "INSTANCE_NOT_FOUND", Status: http.StatusNotFound, Meaning: "There is no instance of that name.", Next: "Create it, or list the instances to see their names."},
		{Code: "WEBHOOK_NOT_FOUND", Status: http.StatusNotFound, Meaning: "The instance has no webhook.", Next: "Set one with PUT."},
		{Code: "ENDPOINT_NOT_FOUND", Status: http.StatusNotFound, Meaning: "The options of the webhook have no endpoint of that id.", Next: "Read the options to see the ids; they are case-sensitive."},
		{Code: "PROXY_NOT_FOUND", Status: http.StatusNotFound, Meaning: "The instance has no proxy of its own.", Next: "Set one with PUT. A proxy that the operator set for all instances is not shown."},
		{Code: "OUTBOX_ENTRY_NOT_FOUND", Status: http.StatusNotFound, Meaning: "The outbox has no event with that id, or has removed it.", Next: "List the outbox; delivered events are removed after outbox.retention."},
		{Code: "DELIVERY_NOT_FOUND", Status: http.StatusNotFound, Meaning: "The log has no delivery with that id or has removed it, or the delivery belongs to another instance or to the global webhook.", Next: "List the deliveries; those that ended are removed after webhook.log_retention."},
		{Code: deliveries.CodeNoReplay, Status: http.StatusNotFound, Meaning: "There is no replay of that id, or it is another instance's.", Next: "Use the replayId of the answer that started the replay."},
		{Code: "BATCH_NOT_FOUND", Status: http.StatusNotFound, Meaning: "There is no such batch or item, or it belongs to another user.", Next: "Check the id and the user of the token."},
		{Code: "POLL_NOT_FOUND", Status: http.StatusNotFound, Meaning: "No such message is stored for the instance, or it is no poll.", Next: "Give the id, or the key id, of the message that created the poll."},
		{Code: "MESSAGE_NOT_FOUND", Status: http.StatusNotFound, Meaning: "No such message is stored for the instance.", Next: "Check the id; old messages are removed after database.message_retention."},
		{Code: "SCHEDULED_NOT_FOUND", Status: http.StatusNotFound, Meaning: "The instance has no scheduled send of that id: it was sent, it failed, or it was deleted.", Next: "List the scheduled sends; the event send.message with the scheduledId has the end of one that ended."},
		{Code: "LABEL_NOT_FOUND", Status: http.StatusNotFound, Meaning: "The account has no label of that id.", Next: "List the labels."},
		{Code: codeNotOffered, Status: http.StatusNotImplemented, Meaning: "Other gateways of this family offer this; this program does not.", Next: "Send what the message names instead."},
		{Code: "RECEIVER_NOT_FOUND", Status: http.StatusNotFound, Meaning: "There is no receiver of this id here: it was removed, or is of another instance.", Next: "List the receivers and take the id of one."},
		{Code: "ERASURE_NOT_FOUND", Status: http.StatusNotFound, Meaning: "The instance has no erasure of this id; of more than 1000 the oldest that are done are removed.", Next: "Take the erasureId of the answer to DELETE /instance/{instance}/people/{jid}, or ask for the erasure again."},
		{Code: "CONSUMER_NOT_FOUND", Status: http.StatusNotFound, Meaning: "The instance has no consumer of this name.", Next: "Make it by its first GET /instance/{instance}/events."},
		{Code: "UPLOAD_NOT_FOUND", Status: http.StatusNotFound, Meaning: "The instance has no upload of that id, or it expired.", Next: "Upload the file again; uploads are kept for 14 days."},
		{Code: rest.CodeMethodNotAllowed, Status: http.StatusMethodNotAllowed, Meaning: "The path exists, but not with this method.", Next: "Use a method of the Allow header."},
		{Code: "SENT_BUT_NOT_STORED", Status: http.StatusNotAcceptable, Meaning: "WhatsApp accepted the message, but it could not be stored here.", Next: "Do not send it again; the log has the error of the store."},
		{Code: rest.CodeBodyTimeout, Status: http.StatusRequestTimeout, Meaning: "The body did not arrive within a minute, or a file within a quarter of an hour.", Next: "Send it again over a better connection."},
		{Code: "CONNECT_TIMEOUT", Status: http.StatusRequestTimeout, Meaning: "WhatsApp did not answer in time with a code.", Next: "Try again; if it persists, see lastError of the connection status."},
		{Code: "WHATSAPP_TIMEOUT", Status: http.StatusRequestTimeout, Meaning: "WhatsApp did not answer in time. The change may have been made.", Next: "Check the current state, then try again."},
		{Code: event.SendResultUnknown, Status: http.StatusRequestTimeout, Meaning: "The connection was lost, or no acknowledgement came, after the message left: it may have arrived.", Next: "Check the phone or the receipts before you send it again."},
		{Code: pace.Code, Status: http.StatusTooManyRequests, Meaning: "The message would exceed a limit of the instance, which the text names first, or falls into its quiet hours. Nothing was sent.", Next: "Send it after Retry-After, by another instance, or as a batch, which waits by itself.", RetryAfter: retryLimit},
		{Code: "INSTANCE_EXISTS", Status: http.StatusConflict, Meaning: "The name is taken.", Next: "Choose another name, or use the instance that has it."},
		{Code: instances.CodeInstanceInUse, Status: http.StatusConflict, Meaning: "The instance has stored messages or an unfinished batch.", Next: "Delete with force=true, or stop the batch first."},
		{Code: "SIGNING_OFF", Status: http.StatusConflict, Meaning: "There is no signing secret to replace.", Next: "Enable signing with a PUT of the options; its answer has the secret."},
		{Code: "NOT_DURABLE", Status: http.StatusConflict, Meaning: "The events of the instance are not stored, so none can be replayed from a position or wait for the end of a pause.", Next: "Subscribe without since, or set durable with PUT /instance/{instance}/webhook/options first."},
		{Code: "TOO_MANY_CONSUMERS", Status: http.StatusConflict, Meaning: "The instance has 16 consumers.", Next: "Delete one that is not used: GET /instance/{instance}/events/consumers shows when each last asked."},
		{Code: "ALREADY_CONNECTED", Status: http.StatusConflict, Meaning: "A phone is linked already, so there is no code to show.", Next: "Nothing, or log out first to link another phone."},
		{Code: instances.CodeNoQRCode, Status: http.StatusConflict, Meaning: "The current pairing uses no QR code: WhatsApp waits for a passkey, or for a code typed on the phone.", Next: "Continue that pairing; passkey of the connection status shows the state of a passkey. Or log out, which ends the pairing, and connect again."},
		{Code: "APP_STATE_CONFLICT", Status: http.StatusConflict, Meaning: "The state of the account's labels and chats here conflicts with WhatsApp's, even after it was read again; nothing was changed.", Next: "Repeat the request a minute later; if it persists, see accounts.md."},
		{Code: "NO_ADDRESS", Status: http.StatusConflict, Meaning: "The receiver is a consumer that pulls: it has no address to test or pause.", Next: "See to the program that pulls; GET …/events/consumers shows when it asked last."},
		{Code: "NO_ANCHOR", Status: http.StatusConflict, Meaning: "No message of the chat is stored from which older history could be requested.", Next: "Wait for a message of the chat, or send one; or name a stored one in before."},
		{Code: "PASSKEY_NOT_EXPECTED", Status: http.StatusConflict, Meaning: "The pairing does not wait for this step.", Next: "Scan the code with the phone, then get the challenge and follow it."},
		{Code: "INVALID_BATCH_TRANSITION", Status: http.StatusConflict, Meaning: "The batch cannot take this command in its status.", Next: "Read the batch and act on its status."},
		{Code: "SCHEDULED_BEGUN", Status: http.StatusConflict, Meaning: "The scheduled message is being sent and may have left.", Next: "Wait for the event send.message; delete the message for everyone if it was sent."},
		{Code: "OUTBOX_ENTRY_NOT_PENDING", Status: http.StatusConflict, Meaning: "The event was delivered, or was created while the global webhook was disabled and is kept for replay only.", Next: "None: the event is never sent again. Read it from the WebSocket with since."},
		{Code: "BODY_GONE", Status: http.StatusConflict, Meaning: "The body of the delivery is no longer stored (replayable is false), so it cannot be sent again.", Next: "Read the current state from the API. webhook.log_bodies sets which bodies are kept, webhook.log_retention how long."},
		{Code: "ENDPOINT_GONE", Status: http.StatusConflict, Meaning: "The destination of the delivery no longer exists: its endpoint or instance was removed, the instance has no webhook, or the global webhook is disabled (replayable is false).", Next: "Add the endpoint again under the same id, or enable the global webhook; events that other destinations received need no retry."},
		{Code: "LOG_OFF", Status: http.StatusConflict, Meaning: "The log of deliveries is off (webhook.log), so only durable deliveries that are pending are known.", Next: "Ask the operator to enable it; deliveries made while it was off stay unknown."},
		{Code: "REPLAY_RUNNING", Status: http.StatusConflict, Meaning: "Another replay of the instance, or of the operator, is running.", Next: "Wait until its state is DONE, or delete it."},
		{Code: rest.CodeKeyInUse, Status: http.StatusConflict, Meaning: "A request with this Idempotency-Key is in progress.", Next: "Wait for its answer, or repeat the request after some seconds to get the same answer."},
		{Code: "INSTANCE_MOVED", Status: http.StatusConflict, Meaning: "The account of the instance was exported to another Postern, so it does not connect here.", Next: "Use it where it was imported, and delete the instance here; nothing is unlinked. `postern instance export --undo` undoes an export that was never imported."},
		{Code: "INSTANCE_NOT_MOVED", Status: http.StatusConflict, Meaning: "The instance has no export to undo, or not the one of requestId.", Next: "None, if the instance is to connect here: it can."},
		{Code: "TRANSFER_RUNNING", Status: http.StatusConflict, Meaning: "An export of the instance or an import of an account is in progress.", Next: "Wait for its end and try again."},
		{Code: operator.CodeBackup, Status: http.StatusConflict, Meaning: "Another backup or check is taking a snapshot of the data file.", Next: "Wait for its end, some seconds per gigabyte, and try again."},
		{Code: operator.CodeSupport, Status: http.StatusConflict, Meaning: "Another support bundle is being written.", Next: "Wait some ten seconds for its end and try again."},
		{Code: operator.CodeProfiling, Status: http.StatusConflict, Meaning: "Another profile is being taken.", Next: "Wait for its end: it takes the seconds that were requested."},
		{Code: rest.CodeKeyReused, Status: http.StatusConflict, Meaning: "This Idempotency-Key belongs to a request with another body, or to another route. Nothing was done.", Next: "Use a new key for a new request, and repeat a request unchanged."},
		{Code: "MEDIA_GONE", Status: http.StatusGone, Meaning: "WhatsApp no longer has the file, and the phone did not upload it again in time.", Next: "Switch the phone on and try again, or ask the sender to send it again; WhatsApp keeps files for some weeks."},
		{Code: "LINK_EXPIRED", Status: http.StatusGone, Meaning: "The media link has expired.", Next: "Make a new link to the message's file."},
		{Code: "PRECONDITION_FAILED", Status: http.StatusPreconditionFailed, Meaning: "If-Match or If-Unmodified-Since does not apply to the file.", Next: "Drop what is cached, and download the file without the header."},
		{Code: "RANGE_NOT_SATISFIABLE", Status: http.StatusRequestedRangeNotSatisfiable, Meaning: "The file ends before the Range. Content-Range has its size.", Next: "Request a range within the file."},
		{Code: "EVENTS_GONE", Status: http.StatusGone, Meaning: "The events after since, or after the position of the consumer, have been removed or were never stored.", Next: "Read the current state of batches or messages, then subscribe without since, or seek to the sequence that the text names."},
	}
}

// ruleCodes are about well-formed values that break a rule.
func ruleCodes() []Code {
	const status = http.StatusUnprocessableEntity
	user, link := operator.UserTokenLife(), instances.PortalLinkLife()
	return []Code{
		{Code: "MESSAGE_WITHOUT_MEDIA", Status: status, Meaning: "The message has no file, or no address of it.", Next: "Request the file of an image, a video, a document, a sticker or a voice note."},
		{Code: "INVALID_MEDIA", Status: status, Meaning: "The file could not be fetched, is too large, or does not match the declared media type.", Next: "Correct the problem that the message names; files are fetched from public addresses unless media.allow_private is set."},
		{Code: batches.CodeInvalidCSV, Status: status, Meaning: "The file cannot be read as CSV, or has no column that is asked for. Nothing was stored.", Next: "Correct the row and the column that the message names; row 1 is the header. Save spreadsheets as CSV, best in UTF-8."},
		{Code: "INVALID_ARGUMENT", Status: status, Meaning: "A value for a chat, a group, a newsletter or a label is invalid.", Next: "Correct the field that the message names."},
		{Code: "REFUSED_BY_WHATSAPP", Status: status, Meaning: "WhatsApp refused the request; nothing was changed.", Next: "See the message; often the account lacks the permission, or the target no longer exists."},
		{Code: ref.CodeNoQuoted, Status: status, Meaning: "options.quotedMessageId names no stored message of the instance.", Next: "Check the id, or give the message itself as options.quotedMessage."},
		{Code: deliveries.CodeInvalidReplay, Status: status, Meaning: "The selection of a replay is invalid. No replay was started.", Next: "Correct the field that the message names."},
		{Code: "INVALID_LIMITS", Status: status, Meaning: "A limit of the instance is invalid. Nothing was changed.", Next: "Correct the field that the message names."},
		{Code: "INVALID_INSTANCE", Status: status, Meaning: "The name, description or attributes of an instance are invalid.", Next: "Correct the field that the message names."},
		{Code: "INVALID_PROXY", Status: status, Meaning: "url or for of a proxy is invalid.", Next: "Correct the field that the message names."},
		{Code: instances.CodeProxyUnreachable, Status: status, Meaning: "WhatsApp could not be dialled through the proxy, and nothing was changed. step and the message name what failed: resolve (the proxy's name), connect (the proxy, or WhatsApp behind it), auth (user and password) or tls.", Next: "Correct the proxy or its URL and try again; POST …/proxy/test dials without changing anything."},
		{Code: instances.CodeInvalidAssertion, Status: status, Meaning: "A part of the authenticator's answer is empty or not base64url.", Next: "Send the toJSON() of what navigator.credentials.get() returned."},
		{Code: "PASSKEY_REFUSED", Status: status, Meaning: "WhatsApp rejected the authenticator's answer.", Next: "Get the challenge again and sign it with the account's own passkey."},
		{Code: "INVALID_USER_ID", Status: status, Meaning: "userId is not a UUID.", Next: "Send one in its usual form of 36 characters, or leave it out to get a new one."},
		{Code: rest.CodeRecipient, Status: status, Meaning: "A recipient of a backup or an export is not an age public key.", Next: "Send what age-keygen prints as the public key; it begins with age1."},
		{Code: "INVALID_ARCHIVE", Status: status, Meaning: "The file is not an exported account, or was truncated or changed. Nothing was imported.", Next: "Send the complete, decrypted file of an export; the message has the position of the error."},
		{Code: operator.CodeLogLevel, Status: status, Meaning: "The level or the minutes of PUT /admin/log are out of range.", Next: "Send debug, info, warn or error, and 1 to 1440 minutes."},
		{Code: rest.CodeExpiresIn, Status: status, Meaning: "expiresIn is out of the range of its route.", Next: fmt.Sprintf("Send a number of seconds in the range that the message names: %d to %d for a user token, %d to %d for a portal link.", user.Least, user.Most, link.Least, link.Most)},
		{Code: batch.InvalidRecipient, Status: status, Meaning: "A recipient is not a phone number or address that the route accepts.", Next: "Correct it: 7 to 15 digits with country code. A batch names each bad one by its index."},
		{Code: batch.TooManyRecipients, Status: status, Meaning: "A batch has more recipients than message.batch.max_recipients allows.", Next: "Split it."},
		{Code: "INVALID_CONSUMER", Status: status, Meaning: "The name of the consumer is missing or has other characters.", Next: "Use 1 to 64 of A-Z, a-z, 0-9, '.', '_' and '-'."},
		{Code: batch.InvalidMessage, Status: status, Meaning: "The content of the message breaks a rule.", Next: "Correct the field that the message names."},
		{Code: "POLL_NOT_READABLE", Status: status, Meaning: "The poll came without its secret, so that no vote can be encrypted for it; nothing was sent.", Next: "Vote on the phone."},
		{Code: "INVALID_TAG", Status: status, Meaning: "A tag is empty, too long or has a comma or a control character, or there are more than 16; nothing was changed.", Next: "Send up to 16 tags of 1 to 40 characters."},
		{Code: "OWN_ACCOUNT", Status: status, Meaning: "The person is the account of the instance itself, which everything stored names.", Next: "Delete the instance to remove its data."},
		{Code: "AUDIENCE_EMPTY", Status: status, Meaning: "The privacy of statuses of the account excludes the whole audience of this one; nothing was sent.", Next: "Name contacts of the account who are not excluded from its statuses."},
		{Code: "AUDIENCE_NOT_POSSIBLE", Status: status, Meaning: "The account shares its statuses only with a list of people, who get each of them; nothing was sent.", Next: "Change the privacy of statuses on the phone, or leave out audience."},
		{Code: "NOT_NEWSLETTER_ADMIN", Status: status, Meaning: "The account is neither owner nor admin of the newsletter; nothing was uploaded or sent.", Next: "Have its owner make the account an admin, or send from the account of an admin."},
		{Code: "NOT_A_MEMBER", Status: status, Meaning: "The message mentions people who are not members of the group; nothing was sent.", Next: "Take the people that the message names out of options.mentions."},
		{Code: "RECIPIENT_NOT_ON_WHATSAPP", Status: status, Meaning: "The number has no WhatsApp account.", Next: "Do not try this number again."},
		{Code: event.ReachoutTimelocked, Status: status, Meaning: "WhatsApp temporarily does not let the account write to people it does not know; nothing was sent. The message says until when.", Next: "Write to people who recently wrote to the account; try the others after that time. GET /instance/{i}/connection/status shows the restriction."},
		{Code: event.SendMessageFailed, Status: status, Meaning: "WhatsApp refused the message; it was not sent.", Next: "See the reason in the message; trying again is safe."},
		{Code: batch.MissingVariable, Status: status, Meaning: "A recipient of a batch has no value for a variable of the text that has no fallback. The first 100 are named. Nothing was stored.", Next: "Give the recipient the variable, which may be empty, or write a fallback: {{name|there}}."},
		{Code: batch.InvalidName, Status: status, Meaning: "The name of a batch is empty or longer than 255 characters.", Next: "Give it a name of 1 to 255 characters."},
		{Code: batch.InvalidInstances, Status: status, Meaning: "A batch names no instance, or one that does not exist.", Next: "Correct the entries that the messages name."},
		{Code: batch.InvalidRetry, Status: status, Meaning: "status of a retry has a status that cannot be retried, or UNKNOWN without includeUnknown.", Next: "Send FAILED, SKIPPED, PENDING or UNKNOWN; UNKNOWN only if these recipients may get the message twice."},
		{Code: batch.NothingToRetry, Status: status, Meaning: "No item of the batch has one of the statuses, and one of the error codes, of a retry.", Next: "Read the items of the batch and correct status or codes."},
		{Code: batch.InvalidOptions, Status: status, Meaning: "delay or presence of a batch is out of range.", Next: "Correct the option that the message names."},
		{Code: batch.InvalidSchedule, Status: status, Meaning: "The schedule has no usable window.", Next: "Correct it: end after start, a known time zone, DAILY at most 24 hours, NONE not in the past."},
		{Code: batch.InvalidAttributes, Status: status, Meaning: "externalAttributes of a batch is not an object or is too large.", Next: "Send an object of at most 64 KiB."},
	}
}

// faultCodes are about faults and states of the server.
func faultCodes() []Code {
	return []Code{
		{Code: rest.CodeInternal, Status: http.StatusInternalServerError, Meaning: "A fault of the program.", Next: "Find the request id in the log and report it."},
		{Code: "RECORD_DAMAGED", Status: http.StatusInternalServerError, Meaning: "A record that the request needs is damaged in the data file and set aside.", Next: "Report it to the operator: the log names the record, and /ready warns."},
		{Code: "INSTANCE_NOT_CONNECTED", Status: http.StatusServiceUnavailable, Meaning: "The instance has no connection to WhatsApp now.", Next: "Wait and try again; when no phone is linked, connect it.", RetryAfter: retryConnection},
		{
			Code: rest.CodeWrongNetwork, Status: http.StatusServiceUnavailable, Also: http.StatusConflict,
			Meaning: "The account of the instance belongs to another network (WhatsApp, a sandbox or an endpoint) than the one that the program is connected to. Nothing was sent or changed. The status is 409 where the request would connect, pair or log out.",
			Next:    "Ask the operator to connect the program to that network; the message names both. With network=forget, connect and logout remove the account from this program.", RetryAfter: retryDisk,
		},
		{Code: "CLIENT_OUTDATED", Status: http.StatusServiceUnavailable, Meaning: "WhatsApp rejected the client version as outdated, and no newer version was found.", Next: "None for now: the program looks for a newer version by itself and then connects the instance. The log has the reason; see accounts.md.", RetryAfter: retryOutdated},
		{Code: "INSTANCE_BUSY", Status: http.StatusServiceUnavailable, Meaning: "The instance sends one message at a time, and this one waited longer than message.turn_timeout. Nothing was sent.", Next: "Send less at once, or spread it over more instances; try again with the same Idempotency-Key.", RetryAfter: retryConnection},
		{Code: "MEDIA_PENDING", Status: http.StatusServiceUnavailable, Meaning: "The file is still being fetched from WhatsApp (media.fetch_wait). The fetch continues.", Next: "Try again.", RetryAfter: retryConnection},
		{Code: "BATCHES_BEING_CREATED", Status: http.StatusServiceUnavailable, Meaning: "Batches of more than 250 recipients are created one after the other. This one waited for a minute, or the queue is full: it holds 128 batches, 64 of one user. Nothing was stored.", Next: "Try again with the same Idempotency-Key when the others have finished.", RetryAfter: retryConnection},
		{Code: "MESSAGE_PROCESSING_QUEUE_FULL", Status: http.StatusServiceUnavailable, Meaning: "The queue of asynchronous sends is full (message.processing.queue_size).", Next: "Try again when some of them have ended.", RetryAfter: retryConnection},
		{Code: "DISK_FULL", Status: http.StatusServiceUnavailable, Meaning: "The disk is full or nearly full; nothing was changed.", Next: "Free disk space; the program continues by itself.", RetryAfter: retryDisk},
		{Code: standby.CodeNoOwner, Status: http.StatusServiceUnavailable, Meaning: "With store.url: no node owns the data now, or the owner cannot be reached. Nothing was changed.", Next: "Try again: a standby takes over within a lease.", RetryAfter: 1},
		{Code: standby.CodeStandby, Status: http.StatusServiceUnavailable, Meaning: "With store.url: this node is a standby and does not forward requests. The header Postern-Owner names the owner.", Next: "Ask the owner.", RetryAfter: 1},
		{Code: standby.CodeLoading, Status: http.StatusServiceUnavailable, Meaning: "With store.url, in /ready: this node loads the data from the database.", Next: "Wait.", RetryAfter: 1},
		{Code: standby.CodeUnreachable, Status: http.StatusServiceUnavailable, Meaning: "With store.url: the database cannot be reached.", Next: "Start the database, or correct store.url; the node goes on by itself.", RetryAfter: 1},
		{Code: standby.CodeRefused, Status: http.StatusServiceUnavailable, Meaning: "With store.url: the database refuses the user, the password, the database or the number of connections.", Next: "Correct it in the database or in store.url.", RetryAfter: 1},
		{Code: standby.CodeReadOnly, Status: http.StatusServiceUnavailable, Meaning: "With store.url: the database server is read-only, such as a standby that was not promoted.", Next: "Promote it, or name the primary in store.url.", RetryAfter: 1},
		{Code: standby.CodeNotSynchronous, Status: http.StatusServiceUnavailable, Meaning: "With store.url: the database server waits for no second copy. Changes wait until it does.", Next: "Set synchronous_standby_names of the server, or store.accept_loss.", RetryAfter: 1},
		{Code: standby.CodeOwnerLost, Status: http.StatusBadGateway, Meaning: "With store.url: the owner was lost before it answered a request that this node forwarded.", Next: "Repeat it with the same Idempotency-Key; without one, see whether it happened."},
		{Code: operator.CodeNotClustered, Status: http.StatusNotFound, Meaning: "The program runs alone: store.url is not set.", Next: "None."},
		{Code: rest.CodeShuttingDown, Status: http.StatusServiceUnavailable, Meaning: "The program is stopping.", Next: "Try again after the restart.", RetryAfter: retryRestart},
	}
}

// sandboxCodes are used by the sandbox's own paths only.
func sandboxCodes() []Code {
	const status = http.StatusUnprocessableEntity
	return []Code{
		{Sandbox: true, Code: "PHONE_NOT_FOUND", Status: http.StatusNotFound, Meaning: "No simulated phone has that number.", Next: "Add it with POST /sandbox/phones."},
		{Sandbox: true, Code: "PAIRING_NOT_FOUND", Status: http.StatusNotFound, Meaning: "No pairing waits for this code; codes change.", Next: "Get the current code from connect."},
		{Sandbox: true, Code: "TIMEOUT", Status: http.StatusRequestTimeout, Meaning: "The simulated phone did not finish in time.", Next: "Try again."},
		{Sandbox: true, Code: "PHONE_EXISTS", Status: http.StatusConflict, Meaning: "A phone with this number or LID exists.", Next: "Use it, or choose another."},
		{Sandbox: true, Code: "PAIRING_FAILED", Status: http.StatusConflict, Meaning: "The client did not accept the phone.", Next: "Connect again and scan the new code."},
		{Sandbox: true, Code: "INVALID_PHONE", Status: status, Meaning: "A number or LID is malformed, or is not an account of the network.", Next: "Send 7 to 15 digits that do not end in 0000."},
		{Sandbox: true, Code: "INVALID_CODE", Status: status, Meaning: "code is neither a QR text nor a link code.", Next: "Send the code of the connect answer, unchanged."},
		{Sandbox: true, Code: "INVALID_GROUP", Status: status, Meaning: "There is no such group, or the phone may not do this in it.", Next: "Create the group first, or act with an admin's phone."},
		{Sandbox: true, Code: "INVALID_VALUE", Status: status, Meaning: "A field of an act or fault breaks its rule.", Next: "Correct the field that the message names."},
		{Sandbox: true, Code: "INVALID_POST", Status: status, Meaning: "The channel has no such post.", Next: "newsletter-view lists the posts."},
		{Sandbox: true, Code: "UNKNOWN_ACT", Status: status, Meaning: "There is no act of that name.", Next: "GET /sandbox/help lists them."},
	}
}

// accessCodes are about keys, sessions and their rights.
func accessCodes() []Code {
	return []Code{
		{Code: rest.CodeScope, Status: http.StatusForbidden, Meaning: "The scoped key is valid, but lacks the scope that the message names, in general or for this instance, or the route accepts no scoped key.", Next: "Use a key with that scope and instance; GET /session shows what a key may do."},
		{Code: rest.CodeRecipientNotAllowed, Status: http.StatusForbidden, Meaning: "The scoped key may write only to its own recipients; nothing was sent.", Next: "Add the recipient to the key with PATCH /keys/{id}, or use another key."},
		{Code: rest.CodeCSRF, Status: http.StatusForbidden, Meaning: "A request with a session cookie would change something, but lacks the session's x-postern-csrf.", Next: "Send csrf of GET /session in that header; programs should use a key instead of a cookie."},
		{Code: rest.CodeRateLimited, Status: http.StatusTooManyRequests, Meaning: "A rate limit was reached: the requests of the scoped key per minute, the sessions started by the address, or the pairing codes requested by a portal link.", RetryAfter: retryLimit, Next: "Wait for Retry-After, or raise the rateLimit of the key."},
		{Code: "PORTAL_NOT_FOUND", Status: http.StatusNotFound, Meaning: "The portal link does not exist, has expired, or the key or token that created it is no longer valid.", Next: "Create another with POST /instance/{i}/portal-link."},
		{Code: instances.CodePortalNotAvailable, Status: http.StatusServiceUnavailable, Meaning: "The instance of the portal link cannot be paired now, for a reason that the customer can do nothing about.", Next: "Try again later. The operator finds the reason in the status of the instance, and in the log.", RetryAfter: retryDisk},
		{Code: "KEY_NOT_FOUND", Status: http.StatusNotFound, Meaning: "There is no scoped key with this id.", Next: "GET /keys lists them."},
		{Code: rest.CodeInvalidKeyRule, Status: http.StatusUnprocessableEntity, Meaning: "A scoped key breaks a rule.", Next: "Correct the fields that the messages name."},
	}
}
