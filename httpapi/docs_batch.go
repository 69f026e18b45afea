package httpapi

import (
	"maps"
	"net/http"

	"postern/batch"
	"postern/event"
	"postern/httpapi/openapi"
)

func batchDescriptions() map[string]description {
	filters := cursors("status", "instanceName", "createdFrom", "createdTo", "name", "query")
	items := cursors("status", "recipient", "instanceName")
	unknown := codes{"BATCH_NOT_FOUND"}
	command := unknown.and("INVALID_BATCH_TRANSITION")
	return map[string]description{
		"POST /message/batches": {
			id: "createBatch", summary: "Create a batch.", about: "It starts at once, or waits for its schedule or for a start command, depending on autoStart and schedule.",
			once: true, in: body[batchRequest](), status: http.StatusCreated, out: body[batch.View](),
			example: `{"name":"Summer offer","instances":["sales"],"recipients":["4915112345678","4915187654321"],"message":{"type":"text","payload":{"text":"Half price until Sunday."}},"options":{"delay":{"minMs":1000,"maxMs":5000}}}`,
			codes: codes{
				batch.InvalidName, batch.InvalidInstances, batch.InvalidRecipient, batch.TooManyRecipients, batch.InvalidMessage,
				batch.InvalidOptions, batch.InvalidSchedule, batch.InvalidAttributes, "UPLOAD_NOT_FOUND", "INVALID_MEDIA", codeNoQuoted, codeLimitReached, "BATCHES_BEING_CREATED",
			},
		},
		"GET /message/batches": {
			id: "listBatches", summary: "List batches, newest first.", about: boundedList, query: filters, out: body[batch.List[batch.View]](), codes: codes{codeNoCursor},
		},
		"POST /message/batches/list": {
			id: "searchBatches", summary: "List batches, newest first, with the filter in the body.", about: boundedList, in: body[batchFilter](), example: `{"status":["PROCESSING","PAUSED"],"limit":50}`,
			out: body[batch.List[batch.View]](), codes: codes{codeNoCursor, codeInvalidQuery},
		},
		"GET /message/batches/{id}": {id: "getBatch", summary: "Show a batch.", out: body[batch.View](), codes: unknown},
		"GET /message/batches/{id}/items": {
			id: "listBatchItems", summary: "List a batch's items by position.", query: items, out: body[batch.List[batch.Item]](), codes: unknown.and(codeNoCursor),
		},
		"GET /message/batches/{id}/items/{item}": {id: "getBatchItem", summary: "Show an item with its attempts.", out: body[batch.ItemWithAttempts](), codes: unknown},
		"GET /message/batches/{id}/attempts": {
			id: "listBatchAttempts", summary: "List a batch's attempts by position.", query: items, out: body[batch.List[batch.Attempt]](), codes: unknown.and(codeNoCursor),
		},
		"GET /message/batches/{id}/processing": {
			id: "getBatchProcessing", summary: "Show a batch with all its recipients and attempts.", out: body[processing](), codes: unknown,
		},
		"POST /message/batches/{id}/start": {id: "startBatch", summary: "Start or resume a batch.", out: body[batch.View](), codes: command.and("INVALID_MEDIA")},
		"POST /message/batches/{id}/pause": {id: "pauseBatch", summary: "Pause a batch.", out: body[batch.View](), codes: command},
		"POST /message/batches/{id}/stop":  {id: "stopBatch", summary: "Stop a batch permanently.", out: body[batch.View](), codes: command},
		"DELETE /message/batches/{id}": {
			id: "deleteBatch", summary: "Delete a final batch.", about: "The batch disappears at once. Its items are removed in the background, its events after their delivery.",
			status: http.StatusNoContent, codes: command,
		},
		"GET /admin/batches": {
			id: "listAllBatches", summary: "List the batches of all users, newest first.",
			query: cursors("ownerUserId", "status", "instanceName", "createdFrom", "createdTo", "name", "query"), out: body[batch.List[batch.View]](), codes: codes{codeNoCursor},
		},
		"POST /admin/batches/{id}/pause": {id: "pauseAnyBatch", summary: "Pause a batch of any user.", out: body[batch.View](), codes: command},
		"POST /admin/batches/{id}/stop":  {id: "stopAnyBatch", summary: "Stop a batch of any user permanently.", out: body[batch.View](), codes: command},
		"GET /message/batches/{id}/events": {
			id: "listBatchEvents", summary: "List a batch's events with their delivery, oldest first.", query: cursors(),
			out: body[batch.List[outboxRecord]](), codes: unknown.and(codeNoCursor),
		},
	}
}

// batchFields are the fields of batches in requests, answers and events.
func batchFields() openapi.Fields {
	uuid, chars, none := openapi.Format("uuid"), openapi.Chars, openapi.AtLeast(0)
	all := openapi.Fields{
		"CreateBatchRequest.name":            say("A name for people.", "Summer offer", chars(1, batch.MaxName)),
		"CreateBatchRequest.instances":       say("The names of the instances that send; the items are shared among them.", []any{exampleName}, object{"minItems": 1}),
		"CreateBatchRequest.recipients":      say("Phone numbers with their country codes; duplicates are ignored.", []any{examplePhone}, object{"minItems": 1}),
		"CreateBatchRequest.message":         say("The message to send.", nil),
		"CreateBatchRequest.options":         say("The send options.", nil),
		"CreateBatchRequest.autoStart":       say("Whether it starts by itself; true when absent.", true),
		"CreateBatchRequest.autoResume":      say("Whether it resumes by itself after a restart of the program; true when absent.", true),
		"CreateBatchRequest.schedule":        say("The time windows for sending; absent: at any time.", nil, openapi.As[batchSchedule]()),
		"BatchOptions.quotedMessageId":       say("The stored message that each message of the batch quotes: its id here.", 42),
		"CreateBatchOptions.quotedMessageId": say("The stored message, of one of the instances, that each message quotes; 0: none.", 42),
		"CreateBatchOptions.replicable":      say("Accepted without effect.", true),
		"ContactsContent.contacts":           say("The contacts of one message.", nil),
		"BatchOptions.delay":                 say("The pause after each item.", nil),
		"BatchOptions.presence":              say("The presence that the chat shows before the message.", string(event.PresenceComposing), openapi.OneOf(batchPresences()...)),
		"BatchOptions.skipUnregistered":      say("Whether numbers without an account count as skipped instead of failed.", false),
		"BatchOptions.whenRestricted":        say("While an account may not write to people it does not know: known sends to known people, wait sends nothing.", "known", openapi.OneOf("known", "wait")),
		"BatchDelay.minMs":                   say("The shortest pause, in milliseconds.", 1000, none),
		"BatchDelay.maxMs":                   say("The longest pause, in milliseconds; not less than minMs, at most message.batch.max_delay_ms.", 5000, none),

		"BatchSchedule.windowStartAt": say("The start of the first window, as local time of the zone or RFC 3339.", "2026-03-01T09:00:00"),
		"BatchSchedule.windowEndAt":   say("The end of the first window.", "2026-03-01T17:00:00"),
		"BatchSchedule.recurrence":    say("Whether the window occurs once or daily.", "DAILY", openapi.OneOf("NONE", "DAILY")),
		"BatchSchedule.timezone":      say("An IANA time zone; that of the program when absent.", "Europe/Berlin"),

		"BatchFilter.status":       say("Only those with this status, or one of several.", "PAUSED"),
		"BatchFilter.instanceName": say("Only those with this instance.", exampleName),
		"BatchFilter.createdFrom":  say("Only those created at this time or later.", exampleTime, openapi.Format("date-time")),
		"BatchFilter.createdTo":    say("Only those created before this time.", exampleTime, openapi.Format("date-time")),
		"BatchFilter.name":         say("Only those whose name contains this text.", "offer"),
		"BatchFilter.query":        say("Only those with this text in their name, or with this id.", "offer"),

		"BatchItem.id":                   say("The item's id.", exampleUUID, uuid),
		"BatchItem.position":             say("Its position in the batch, from 0.", 0, none),
		"BatchItem.recipientInput":       say("The recipient as given.", "+49 151 1234-5678"),
		"BatchItem.normalizedRecipient":  say("The recipient, normalized.", examplePhone),
		"BatchItem.recipientJid":         say("The recipient's JID; null until it is known.", exampleJID),
		"BatchItem.status":               say("The status of the item.", "SUCCESS"),
		"BatchItem.selectedInstanceId":   say("The instance that it was assigned to; null until then.", 1),
		"BatchItem.selectedInstanceName": say("Its name; null until then.", exampleName),
		"BatchItem.clientMessageId":      say("The id at WhatsApp that was chosen for the message; null until then.", exampleKeyID),
		"BatchItem.whatsappMessageId":    say("The id at WhatsApp that was acknowledged; null until then.", exampleKeyID),
		"BatchItem.messageId":            say("The id of the stored message; null until then.", 42),
		"BatchItem.attemptCount":         say("The number of attempts.", 1, none),
		"BatchItem.selectedDelayMs":      say("The pause after it, in milliseconds.", 2300, none),
		"BatchItem.lastErrorCode":        say("Why the last attempt failed, as a code.", event.SendMessageFailed),
		"BatchItem.lastErrorMessage":     say("The same for people.", "recipient is not on WhatsApp"),
		"BatchItem.processingStartedAt":  say("When it was first tried; null until then.", exampleTime),
		"BatchItem.finishedAt":           say("When it ended; null until then.", exampleTime),
		"BatchItemWithAttempts.attempts": say("Its attempts, the oldest first.", nil),
		"BatchProcessing.held":           say("Instances of the batch that cannot send now, or not to people they do not know, and why; empty when all can.", nil),
		"BatchHeld.instanceId":           say("The instance.", 1),
		"BatchHeld.instanceName":         say("Its name.", exampleName),
		"BatchHeld.reason":               say("Why, as a code.", event.ReachoutTimelocked),
		"BatchHeld.message":              say("The same for people.", "WhatsApp does not let the account write to people it does not know"),
		"BatchHeld.until":                say("The time of the next try at the latest.", exampleTime),
		"BatchHeld.strangersOnly":        say("Whether messages to people whom the account knows are still sent.", true),
		"BatchProcessing.recipients":     say("All its items with their attempts, by position.", nil),

		"BatchAttempt.id":              say("The attempt's id.", exampleUUID, uuid),
		"BatchAttempt.batchItemId":     say("The item.", exampleUUID, uuid),
		"BatchAttempt.attemptNumber":   say("Its number within the item, from 1.", 1, openapi.AtLeast(1)),
		"BatchAttempt.clientMessageId": say("The id at WhatsApp that was chosen for it.", exampleKeyID),
		"BatchAttempt.status":          say("The status of the attempt.", "SUCCESS"),
		"BatchAttempt.errorCode":       say("Why it failed, as a code.", event.SendMessageFailed),
		"BatchAttempt.errorMessage":    say("The same for people.", "recipient is not on WhatsApp"),
		"BatchAttempt.finishedAt":      say("When it ended; null until then.", exampleTime),

		"BatchCounts.total":             say("How many items there are.", 2, none),
		"BatchCounts.pending":           say("How many wait.", 0, none),
		"BatchCounts.sending":           say("How many are being sent.", 0, none),
		"BatchCounts.success":           say("How many were sent.", 2, none),
		"BatchCounts.failed":            say("How many were definitely not sent.", 0, none),
		"BatchCounts.skipped":           say("How many were skipped.", 0, none),
		"BatchCounts.unknown":           say("How many have an unknown outcome.", 0, none),
		"BatchCounts.processed":         say("success, failed, skipped and unknown together.", 2, none),
		"BatchCounts.received":          say("How many recipients the request had.", 3, none),
		"BatchCounts.duplicatesIgnored": say("How many of them were duplicates.", 1, none),

		"BatchInstance.selectedCount": say("How many items were assigned to it.", 2, none),
		"BatchInstance.failedCount":   say("How many of them failed.", 0, none),
		"BatchInstance.successCount":  say("How many of them were sent.", 2, none),
		"BatchItemRef.id":             say("The item's id.", exampleUUID, uuid),
		"BatchItemRef.position":       say("Its position in the batch, from 0.", 0, none),
		"BatchItemRef.recipient":      say("Its recipient.", examplePhone),
		"BatchItemData.itemId":        say("The item.", exampleUUID, uuid),
		"BatchItemData.recipient":     say("Its recipient.", examplePhone),
		"BatchItemData.instance":      say("The instance that it was assigned to.", nil),
		"BatchItemData.error":         say("Why it failed.", nil),
		"BatchItemError.code":         say("What happened, for programs.", event.SendMessageFailed),
		"BatchItemError.message":      say("The same for people.", "recipient is not on WhatsApp"),
		"BatchData.batch":             say("The batch after the event.", nil),
	}
	for _, owner := range []string{"BatchInstance", "BatchItemSender"} {
		all[owner+".id"] = say("The instance's id.", 1)
		all[owner+".name"] = say("The instance's name.", exampleName)
	}
	maps.Copy(all, batchItself())
	return all
}

// batchPresences are the presences that a batch can show before a message.
func batchPresences() []event.Presence {
	return []event.Presence{event.PresenceComposing, event.PresenceRecording, event.PresencePaused}
}

// batchItself are the fields of all representations of a batch.
func batchItself() openapi.Fields {
	return openapi.Fields{
		"Batch.id":                 say("The batch's id.", exampleUUID, openapi.Format("uuid")),
		"Batch.name":               say("Its name.", "Summer offer"),
		"Batch.status":             say("The status of the batch.", string(event.BatchIsCompleted)),
		"Batch.progress":           say("How much of it is processed, in percent.", 100, openapi.Range(0, 100)),
		"Batch.counts":             say("The number of items in each state.", nil),
		"Batch.startedAt":          say("When it last started to send.", exampleTime),
		"Batch.completedAt":        say("When it was completed.", exampleTime),
		"Batch.pausedAt":           say("When it was paused.", exampleTime),
		"Batch.stoppedAt":          say("When it was stopped.", exampleTime),
		"Batch.interruptedAt":      say("When it was interrupted.", exampleTime),
		"Batch.nextRunAt":          say("The start of its next window; null when it waits for none.", exampleTime),
		"Batch.schedule":           say("The schedule as given; null: it may send at any time.", nil, openapi.As[batchSchedule](), openapi.OrNull()),
		"Batch.autoResume":         say("Whether it resumes by itself after a restart of the program.", true),
		"Batch.options":            say("The send options.", nil),
		"Batch.message":            say("The message to send.", nil),
		"Batch.instances":          say("The instances that send, with counts of their items.", nil),
		"Batch.interruptionReason": say("Why it was interrupted; null when it is not.", "PROCESS_RESTART"),
		"Batch.lastInterruptedAt":  say("When it was last interrupted; null when it never was.", exampleTime),
		"Batch.lastRecoveredAt":    say("When it last resumed after an interruption; null when it never did.", exampleTime),
		"Batch.currentItem":        say("The item that the event is about.", nil),
	}
}

// boundedList is the text of lists whose filter may select few of many records.
const boundedList = "A call scans a bounded number of batches: with a filter other than status, a page may have fewer records than its limit, even none, and still a next page."
