package batches

import (
	"maps"
	"net/http"

	"postern/batch"
	"postern/event"
	"postern/httpapi/openapi"
	"postern/httpapi/ref"
	"postern/httpapi/rest"
)

func batchDescriptions() map[string]rest.Words {
	filters := rest.Cursors("status", "instanceName", "createdFrom", "createdTo", "name", "query")
	items := rest.Cursors("status", "recipient", "instanceName")
	unknown := rest.Codes{"BATCH_NOT_FOUND"}
	command := unknown.And("INVALID_BATCH_TRANSITION")
	return map[string]rest.Words{
		"POST /message/batches": {
			ID: "createBatch", Summary: "Create a batch.", About: "It starts at once, or waits for its schedule or for a start command, depending on autoStart and schedule.",
			Once: true, In: rest.TypeOf[BatchRequest](), Status: http.StatusCreated, Out: rest.TypeOf[batch.View](),
			Example: `{"name":"Summer offer","instances":["sales"],"recipients":["4915112345678","4915187654321"],"message":{"type":"text","payload":{"text":"Half price until Sunday."}},"options":{"delay":{"minMs":1000,"maxMs":5000}}}`,
			Codes: rest.Codes{
				batch.InvalidName, batch.InvalidInstances, batch.InvalidRecipient, batch.TooManyRecipients, batch.InvalidMessage,
				batch.InvalidOptions, batch.InvalidSchedule, batch.InvalidAttributes, "UPLOAD_NOT_FOUND", "INVALID_MEDIA", ref.CodeNoQuoted, rest.CodeLimitReached, "BATCHES_BEING_CREATED",
			},
		},
		"GET /message/batches": {
			ID: "listBatches", Summary: "List batches, newest first.", About: boundedList, Query: filters, Out: rest.TypeOf[batch.List[batch.View]](), Codes: rest.Codes{rest.CodeNoCursor},
		},
		"POST /message/batches/list": {
			ID: "searchBatches", Summary: "List batches, newest first, with the filter in the body.", About: boundedList, In: rest.TypeOf[BatchFilter](), Example: `{"status":["PROCESSING","PAUSED"],"limit":50}`,
			Out: rest.TypeOf[batch.List[batch.View]](), Codes: rest.Codes{rest.CodeNoCursor, rest.CodeInvalidQuery},
		},
		"GET /message/batches/{id}": {ID: "getBatch", Summary: "Show a batch.", Out: rest.TypeOf[batch.View](), Codes: unknown},
		"GET /message/batches/{id}/items": {
			ID: "listBatchItems", Summary: "List a batch's items by position.", Query: items, Out: rest.TypeOf[batch.List[batch.Item]](), Codes: unknown.And(rest.CodeNoCursor),
		},
		"GET /message/batches/{id}/items/{item}": {ID: "getBatchItem", Summary: "Show an item with its attempts.", Out: rest.TypeOf[batch.ItemWithAttempts](), Codes: unknown},
		"GET /message/batches/{id}/attempts": {
			ID: "listBatchAttempts", Summary: "List a batch's attempts by position.", Query: items, Out: rest.TypeOf[batch.List[batch.Attempt]](), Codes: unknown.And(rest.CodeNoCursor),
		},
		"GET /message/batches/{id}/processing": {
			ID: "getBatchProcessing", Summary: "Show a batch with all its recipients and attempts.", Out: rest.TypeOf[Processing](), Codes: unknown,
		},
		"POST /message/batches/{id}/start": {ID: "startBatch", Summary: "Start or resume a batch.", Out: rest.TypeOf[batch.View](), Codes: command.And("INVALID_MEDIA")},
		"POST /message/batches/{id}/pause": {ID: "pauseBatch", Summary: "Pause a batch.", Out: rest.TypeOf[batch.View](), Codes: command},
		"POST /message/batches/{id}/stop":  {ID: "stopBatch", Summary: "Stop a batch permanently.", Out: rest.TypeOf[batch.View](), Codes: command},
		"DELETE /message/batches/{id}": {
			ID: "deleteBatch", Summary: "Delete a final batch.", About: "The batch disappears at once. Its items are removed in the background, its events after their delivery.",
			Status: http.StatusNoContent, Codes: command,
		},
		"GET /admin/batches": {
			ID: "listAllBatches", Summary: "List the batches of all users, newest first.",
			Query: rest.Cursors("ownerUserId", "status", "instanceName", "createdFrom", "createdTo", "name", "query"), Out: rest.TypeOf[batch.List[batch.View]](), Codes: rest.Codes{rest.CodeNoCursor},
		},
		"POST /admin/batches/{id}/pause": {ID: "pauseAnyBatch", Summary: "Pause a batch of any user.", Out: rest.TypeOf[batch.View](), Codes: command},
		"POST /admin/batches/{id}/stop":  {ID: "stopAnyBatch", Summary: "Stop a batch of any user permanently.", Out: rest.TypeOf[batch.View](), Codes: command},
	}
}

// BatchFields are the fields of batches in requests, answers and events.
func BatchFields() openapi.Fields {
	uuid, chars, none := openapi.Format("uuid"), openapi.Chars, openapi.AtLeast(0)
	all := openapi.Fields{
		"CreateBatchRequest.name":            rest.Say("A name for people.", "Summer offer", chars(1, batch.MaxName)),
		"CreateBatchRequest.instances":       rest.Say("The names of the instances that send; the items are shared among them.", []any{rest.ExampleName}, openapi.Object{"minItems": 1}),
		"CreateBatchRequest.recipients":      rest.Say("Phone numbers with their country codes; duplicates are ignored.", []any{rest.ExamplePhone}, openapi.Object{"minItems": 1}),
		"CreateBatchRequest.message":         rest.Say("The message to send.", nil),
		"CreateBatchRequest.options":         rest.Say("The send options.", nil),
		"CreateBatchRequest.autoStart":       rest.Say("Whether it starts by itself; true when absent.", true),
		"CreateBatchRequest.autoResume":      rest.Say("Whether it resumes by itself after a restart of the program; true when absent.", true),
		"CreateBatchRequest.schedule":        rest.Say("The time windows for sending; absent: at any time.", nil, openapi.As[batchSchedule]()),
		"BatchOptions.quotedMessageId":       rest.Say("The stored message that each message of the batch quotes: its id here.", 42),
		"CreateBatchOptions.quotedMessageId": rest.Say("The stored message, of one of the instances, that each message quotes; 0: none.", 42),
		"CreateBatchOptions.replicable":      rest.Say("Accepted without effect.", true),
		"ContactsContent.contacts":           rest.Say("The contacts of one message.", nil),
		"BatchOptions.delay":                 rest.Say("The pause after each item.", nil),
		"BatchOptions.presence":              rest.Say("The presence that the chat shows before the message.", string(event.PresenceComposing), openapi.OneOf(batchPresences()...)),
		"BatchOptions.skipUnregistered":      rest.Say("Whether numbers without an account count as skipped instead of failed.", false),
		"BatchOptions.whenRestricted":        rest.Say("While an account may not write to people it does not know: known sends to known people, wait sends nothing.", "known", openapi.OneOf("known", "wait")),
		"BatchDelay.minMs":                   rest.Say("The shortest pause, in milliseconds.", 1000, none),
		"BatchDelay.maxMs":                   rest.Say("The longest pause, in milliseconds; not less than minMs, at most message.batch.max_delay_ms.", 5000, none),

		"BatchSchedule.windowStartAt": rest.Say("The start of the first window, as local time of the zone or RFC 3339.", "2026-03-01T09:00:00"),
		"BatchSchedule.windowEndAt":   rest.Say("The end of the first window.", "2026-03-01T17:00:00"),
		"BatchSchedule.recurrence":    rest.Say("Whether the window occurs once or daily.", "DAILY", openapi.OneOf("NONE", "DAILY")),
		"BatchSchedule.timezone":      rest.Say("An IANA time zone; that of the program when absent.", "Europe/Berlin"),

		"BatchFilter.status":       rest.Say("Only those with this status, or one of several.", "PAUSED"),
		"BatchFilter.instanceName": rest.Say("Only those with this instance.", rest.ExampleName),
		"BatchFilter.createdFrom":  rest.Say("Only those created at this time or later.", rest.ExampleTime, openapi.Format("date-time")),
		"BatchFilter.createdTo":    rest.Say("Only those created before this time.", rest.ExampleTime, openapi.Format("date-time")),
		"BatchFilter.name":         rest.Say("Only those whose name contains this text.", "offer"),
		"BatchFilter.query":        rest.Say("Only those with this text in their name, or with this id.", "offer"),

		"BatchItem.id":                   rest.Say("The item's id.", rest.ExampleUUID, uuid),
		"BatchItem.position":             rest.Say("Its position in the batch, from 0.", 0, none),
		"BatchItem.recipientInput":       rest.Say("The recipient as given.", "+49 151 1234-5678"),
		"BatchItem.normalizedRecipient":  rest.Say("The recipient, normalized.", rest.ExamplePhone),
		"BatchItem.recipientJid":         rest.Say("The recipient's JID; null until it is known.", rest.ExampleJID),
		"BatchItem.status":               rest.Say("The status of the item.", "SUCCESS"),
		"BatchItem.selectedInstanceId":   rest.Say("The instance that it was assigned to; null until then.", 1),
		"BatchItem.selectedInstanceName": rest.Say("Its name; null until then.", rest.ExampleName),
		"BatchItem.clientMessageId":      rest.Say("The id at WhatsApp that was chosen for the message; null until then.", rest.ExampleKeyID),
		"BatchItem.whatsappMessageId":    rest.Say("The id at WhatsApp that was acknowledged; null until then.", rest.ExampleKeyID),
		"BatchItem.messageId":            rest.Say("The id of the stored message; null until then.", 42),
		"BatchItem.attemptCount":         rest.Say("The number of attempts.", 1, none),
		"BatchItem.selectedDelayMs":      rest.Say("The pause after it, in milliseconds.", 2300, none),
		"BatchItem.lastErrorCode":        rest.Say("Why the last attempt failed, as a code.", event.SendMessageFailed),
		"BatchItem.lastErrorMessage":     rest.Say("The same for people.", "recipient is not on WhatsApp"),
		"BatchItem.processingStartedAt":  rest.Say("When it was first tried; null until then.", rest.ExampleTime),
		"BatchItem.finishedAt":           rest.Say("When it ended; null until then.", rest.ExampleTime),
		"BatchItemWithAttempts.attempts": rest.Say("Its attempts, the oldest first.", nil),
		"BatchProcessing.held":           rest.Say("Instances of the batch that cannot send now, or not to people they do not know, and why; empty when all can.", nil),
		"BatchHeld.instanceId":           rest.Say("The instance.", 1),
		"BatchHeld.instanceName":         rest.Say("Its name.", rest.ExampleName),
		"BatchHeld.reason":               rest.Say("Why, as a code.", event.ReachoutTimelocked),
		"BatchHeld.message":              rest.Say("The same for people.", "WhatsApp does not let the account write to people it does not know"),
		"BatchHeld.until":                rest.Say("The time of the next try at the latest.", rest.ExampleTime),
		"BatchHeld.strangersOnly":        rest.Say("Whether messages to people whom the account knows are still sent.", true),
		"BatchProcessing.recipients":     rest.Say("All its items with their attempts, by position.", nil),

		"BatchAttempt.id":              rest.Say("The attempt's id.", rest.ExampleUUID, uuid),
		"BatchAttempt.batchItemId":     rest.Say("The item.", rest.ExampleUUID, uuid),
		"BatchAttempt.attemptNumber":   rest.Say("Its number within the item, from 1.", 1, openapi.AtLeast(1)),
		"BatchAttempt.clientMessageId": rest.Say("The id at WhatsApp that was chosen for it.", rest.ExampleKeyID),
		"BatchAttempt.status":          rest.Say("The status of the attempt.", "SUCCESS"),
		"BatchAttempt.errorCode":       rest.Say("Why it failed, as a code.", event.SendMessageFailed),
		"BatchAttempt.errorMessage":    rest.Say("The same for people.", "recipient is not on WhatsApp"),
		"BatchAttempt.finishedAt":      rest.Say("When it ended; null until then.", rest.ExampleTime),

		"BatchCounts.total":             rest.Say("How many items there are.", 2, none),
		"BatchCounts.pending":           rest.Say("How many wait.", 0, none),
		"BatchCounts.sending":           rest.Say("How many are being sent.", 0, none),
		"BatchCounts.success":           rest.Say("How many were sent.", 2, none),
		"BatchCounts.failed":            rest.Say("How many were definitely not sent.", 0, none),
		"BatchCounts.skipped":           rest.Say("How many were skipped.", 0, none),
		"BatchCounts.unknown":           rest.Say("How many have an unknown outcome.", 0, none),
		"BatchCounts.processed":         rest.Say("success, failed, skipped and unknown together.", 2, none),
		"BatchCounts.received":          rest.Say("How many recipients the request had.", 3, none),
		"BatchCounts.duplicatesIgnored": rest.Say("How many of them were duplicates.", 1, none),

		"BatchInstance.selectedCount": rest.Say("How many items were assigned to it.", 2, none),
		"BatchInstance.failedCount":   rest.Say("How many of them failed.", 0, none),
		"BatchInstance.successCount":  rest.Say("How many of them were sent.", 2, none),
		"BatchItemRef.id":             rest.Say("The item's id.", rest.ExampleUUID, uuid),
		"BatchItemRef.position":       rest.Say("Its position in the batch, from 0.", 0, none),
		"BatchItemRef.recipient":      rest.Say("Its recipient.", rest.ExamplePhone),
		"BatchItemData.itemId":        rest.Say("The item.", rest.ExampleUUID, uuid),
		"BatchItemData.recipient":     rest.Say("Its recipient.", rest.ExamplePhone),
		"BatchItemData.instance":      rest.Say("The instance that it was assigned to.", nil),
		"BatchItemData.error":         rest.Say("Why it failed.", nil),
		"BatchItemError.code":         rest.Say("What happened, for programs.", event.SendMessageFailed),
		"BatchItemError.message":      rest.Say("The same for people.", "recipient is not on WhatsApp"),
		"BatchData.batch":             rest.Say("The batch after the event.", nil),
	}
	for _, owner := range []string{"BatchInstance", "BatchItemSender"} {
		all[owner+".id"] = rest.Say("The instance's id.", 1)
		all[owner+".name"] = rest.Say("The instance's name.", rest.ExampleName)
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
		"Batch.id":                 rest.Say("The batch's id.", rest.ExampleUUID, openapi.Format("uuid")),
		"Batch.name":               rest.Say("Its name.", "Summer offer"),
		"Batch.status":             rest.Say("The status of the batch.", string(event.BatchIsCompleted)),
		"Batch.progress":           rest.Say("How much of it is processed, in percent.", 100, openapi.Range(0, 100)),
		"Batch.counts":             rest.Say("The number of items in each state.", nil),
		"Batch.startedAt":          rest.Say("When it last started to send.", rest.ExampleTime),
		"Batch.completedAt":        rest.Say("When it was completed.", rest.ExampleTime),
		"Batch.pausedAt":           rest.Say("When it was paused.", rest.ExampleTime),
		"Batch.stoppedAt":          rest.Say("When it was stopped.", rest.ExampleTime),
		"Batch.interruptedAt":      rest.Say("When it was interrupted.", rest.ExampleTime),
		"Batch.nextRunAt":          rest.Say("The start of its next window; null when it waits for none.", rest.ExampleTime),
		"Batch.schedule":           rest.Say("The schedule as given; null: it may send at any time.", nil, openapi.As[batchSchedule](), openapi.OrNull()),
		"Batch.autoResume":         rest.Say("Whether it resumes by itself after a restart of the program.", true),
		"Batch.options":            rest.Say("The send options.", nil),
		"Batch.message":            rest.Say("The message to send.", nil),
		"Batch.instances":          rest.Say("The instances that send, with counts of their items.", nil),
		"Batch.interruptionReason": rest.Say("Why it was interrupted; null when it is not.", "PROCESS_RESTART"),
		"Batch.lastInterruptedAt":  rest.Say("When it was last interrupted; null when it never was.", rest.ExampleTime),
		"Batch.lastRecoveredAt":    rest.Say("When it last resumed after an interruption; null when it never did.", rest.ExampleTime),
		"Batch.currentItem":        rest.Say("The item that the event is about.", nil),
	}
}

// boundedList is the text of lists whose filter may select few of many records.
const boundedList = "A call scans a bounded number of batches: with a filter other than status, a page may have fewer records than its limit, even none, and still a next page."
