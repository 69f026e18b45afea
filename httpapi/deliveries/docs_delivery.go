package deliveries

import (
	"net/http"
	"strconv"

	"postern/batch"
	"postern/delivery"
	"postern/delivery/logbook"
	"postern/event"
	"postern/httpapi/openapi"
	"postern/httpapi/rest"
	"postern/instance/webhooks"
)

func deliveryDescriptions() map[string]rest.Words {
	filters := rest.Cursors("state", "event", "target", "endpointId", "from", "to", "minDurationMs", "query")
	const example = `{"from":"2026-03-01T12:00:00Z","to":"2026-03-01T13:00:00Z","events":["messages.upsert"],"state":["FAILED","DROPPED"],"target":"webhook"}`
	const replayAbout = "Oldest first, through the same queues as new events, which are not delayed. Each delivery gets a new record; deliveries that a replay has delivered are not selected again."
	const retryAbout = "One more attempt of the same record, in any state. A delivery that waits in an ordered line is not sent out of order: the first of its line, which waitsFor names, is sent now, and when it is accepted the others follow at once."
	all := map[string]rest.Words{}
	for _, log := range []struct{ base, list, get, retry, replay, status, cancel, whose string }{
		{"/instance/{i}/webhook", "listDeliveries", "getDelivery", "retryDelivery", "replayDeliveries", "getReplay", "cancelReplay", "the instance"},
		{"/webhook", "listAllDeliveries", "getAnyDelivery", "retryAnyDelivery", "replayAllDeliveries", "getAnyReplay", "cancelAnyReplay", "all instances, and of batch events"},
	} {
		all["GET "+log.base+"/deliveries"] = rest.Words{
			ID: log.list, Summary: "List the webhook deliveries of " + log.whose + ", newest first.", Query: filters,
			Out: rest.TypeOf[batch.List[DeliveryRecord]](), Codes: rest.Codes{rest.CodeNoCursor},
		}
		all["GET "+log.base+"/deliveries/{id}"] = rest.Words{
			ID: log.get, Summary: "Show a delivery with its body and attempts.", Out: rest.TypeOf[DeliveryDetails](), Codes: rest.Codes{"DELIVERY_NOT_FOUND"},
		}
		all["POST "+log.base+"/deliveries/{id}/retry"] = rest.Words{
			ID: log.retry, Summary: "Send a delivery now.", About: retryAbout,
			Status: http.StatusAccepted, Out: rest.TypeOf[DeliveryRecord](), Codes: rest.Codes{"DELIVERY_NOT_FOUND", "BODY_GONE", "ENDPOINT_GONE", "LOG_OFF"},
		}
		all["POST "+log.base+"/deliveries/replay"] = rest.Words{
			ID: log.replay, Summary: "Send deliveries of " + log.whose + " again.", About: replayAbout, Once: true,
			In: rest.TypeOf[ReplayRequest](), Example: example, Status: http.StatusAccepted, Out: rest.TypeOf[ReplayAccepted](),
			Codes: rest.Codes{CodeInvalidReplay, "REPLAY_RUNNING", "LOG_OFF"},
		}
		all["GET "+log.base+"/replays/{id}"] = rest.Words{
			ID: log.status, Summary: "Show the progress of a replay.", Out: rest.TypeOf[ReplayStatus](), Codes: rest.Codes{CodeNoReplay},
		}
		all["DELETE "+log.base+"/replays/{id}"] = rest.Words{
			ID: log.cancel, Summary: "Stop a replay.", About: "Deliveries already started are not cancelled. A replay that has ended does not change.",
			Out: rest.TypeOf[ReplayStatus](), Codes: rest.Codes{CodeNoReplay},
		}
	}
	return all
}

// DeliveryFields are the fields of the delivery log.
func DeliveryFields() openapi.Fields {
	uuid, none, endpoint := openapi.Format("uuid"), openapi.AtLeast(0), openapi.Pattern(`^[A-Za-z0-9._-]{1,`+strconv.Itoa(webhooks.MaxEndpointID)+`}$`)
	events := openapi.OneOf(append(rest.EventKinds(event.Instance), rest.EventKinds(event.Batch)...)...)
	targets := openapi.OneOf(event.TargetWebhook, event.TargetGlobal, event.TargetEndpoint)
	from, to := "Only those created at this time or later.", "Only those created at this time or earlier."
	time := openapi.Format("date-time")
	return openapi.Fields{
		"Delivery.id":            rest.Say("Its number, ascending in the order of creation.", 17, openapi.AtLeast(1)),
		"Delivery.eventId":       rest.Say("The event's id, which the receiver sees as webhook-id: the same at every attempt, every destination and every replay.", rest.ExampleUUID, uuid),
		"Delivery.event":         rest.Say("The event's name.", string(event.MessagesUpsert), events),
		"Delivery.flow":          rest.Say("Whether it is an event of an instance or of a batch.", "instance", openapi.OneOf(delivery.FlowInstance, delivery.FlowBatch)),
		"Delivery.instanceId":    rest.Say("The instance of the event; null for batch events.", 1),
		"Delivery.instanceName":  rest.Say("Its name when the event happened.", rest.ExampleName),
		"Delivery.batchId":       rest.Say("The batch of the event; null for instance events.", rest.ExampleUUID, uuid),
		"Delivery.target":        rest.Say("What kind of destination it is for: the webhook of the instance, one of its further endpoints, or the global webhook.", "webhook", targets),
		"Delivery.endpointId":    rest.Say("Which endpoint; null for other targets.", "crm"),
		"Delivery.url":           rest.Say("Where it goes, without the query.", "https://example.org/hook"),
		"Delivery.state":         rest.Say("The state of the delivery.", "FAILED"),
		"Delivery.attemptCount":  rest.Say("The number of attempts.", 1, none),
		"Delivery.lastStatus":    rest.Say("The status of the last answer; null when there was none.", 503),
		"Delivery.lastError":     rest.Say("Why the last attempt failed, or why there will be none; null when it was accepted.", "receiver answered 503"),
		"Delivery.durationMs":    rest.Say("How long the last attempt took, in milliseconds; null when there was none.", 31, none),
		"Delivery.bytes":         rest.Say("The length of the body in bytes.", 1204, none),
		"Delivery.requestId":     rest.Say("The x-request-id of the last attempt, or of the first one to come; each attempt has its own.", rest.ExampleUUID),
		"Delivery.lastAttemptAt": rest.Say("The time of the last attempt; null when there was none.", rest.ExampleTime),
		"Delivery.nextAttemptAt": rest.Say("The time of the next attempt; null when it is sent as soon as its turn comes, and when it has ended.", rest.ExampleTime),
		"Delivery.replayOf":      rest.Say("The delivery that it replays; null when it is no replay.", 12),
		"Delivery.replayable":    rest.Say("Whether it can be sent again: its body is still stored, and its destination exists.", true),
		"Delivery.waitsFor":      rest.Say("The delivery that must end before this one is sent: the first of its ordered line. Present only for a single delivery and in the answer to a retry; absent when it waits for none.", 16, openapi.AtLeast(1)),
		"Delivery.body":          rest.Say("The body as sent, byte for byte; null when it is not kept, and for qrcode.updated when the key lacks the scope pair.", `{"event":"messages.upsert"}`),
		"Delivery.attempts":      rest.Say("Its newest 1000 attempts, oldest first.", nil),

		"DeliveryAttempt.number":     rest.Say("The number of the attempt, from 1.", 1, openapi.AtLeast(1)),
		"DeliveryAttempt.durationMs": rest.Say("How long it took, in milliseconds.", 31, none),
		"DeliveryAttempt.status":     rest.Say("The status of the answer; null when there was none.", 503),
		"DeliveryAttempt.error":      rest.Say("Why it failed; null when it was accepted.", "receiver answered 503"),
		"DeliveryAttempt.requestId":  rest.Say("Its x-request-id.", rest.ExampleUUID),
		"DeliveryAttempt.answer":     rest.Say("The beginning of the body of an answer other than 2xx, up to 2 KiB; null when there is none, and for qrcode.updated when the key lacks the scope pair.", "upstream is down"),

		"ReplayRequest.from":       rest.Say(from, rest.ExampleTime, time),
		"ReplayRequest.to":         rest.Say(to, rest.ExampleTime, time),
		"ReplayRequest.events":     rest.Say("Only these events; all when absent.", []any{string(event.MessagesUpsert)}, openapi.Object{"minItems": 1}),
		"ReplayRequest.state":      rest.Say("Only those in these states; FAILED, DROPPED and EXPIRED when absent. PENDING deliveries are sent by themselves.", []any{"FAILED"}, openapi.Object{"minItems": 1}),
		"ReplayRequest.target":     rest.Say("Only those for this kind of destination.", "webhook", targets),
		"ReplayRequest.endpointId": rest.Say("Only those for this endpoint.", "crm", endpoint),
		"ReplayRequest.limit":      rest.Say("The maximum number, oldest first.", 1000, openapi.Range(1, logbook.MaxReplay), openapi.Default(logbook.MaxReplay)),
		"ReplayAccepted.replayId":  rest.Say("The replay's id.", 3, openapi.AtLeast(1)),
		"ReplayAccepted.matched":   rest.Say("How many deliveries it will send again.", 41, none),
		"Replay.matched":           rest.Say("How many deliveries it sends again.", 41, none),
		"Replay.sent":              rest.Say("How many of them it has queued for delivery.", 20, none),
		"Replay.delivered":         rest.Say("How many of those a receiver accepted.", 18, none),
		"Replay.failed":            rest.Say("How many of those ended otherwise.", 1, none),
		"Replay.state":             rest.Say("The state of the replay.", "RUNNING", openapi.OneOf(logbook.ReplayRunning, logbook.ReplayDone, logbook.ReplayCancelled)),

		"{deliveryId}":   rest.Say("The delivery's id.", 17, openapi.Kind("integer"), openapi.Object{"minimum": 1}),
		"{replayId}":     rest.Say("The replay's id.", 3, openapi.Kind("integer"), openapi.Object{"minimum": 1}),
		"?target":        rest.Say("Only those for this kind of destination.", "webhook", targets),
		"?endpointId":    rest.Say("Only those for this endpoint.", "crm", endpoint),
		"?from":          rest.Say(from, rest.ExampleTime, time),
		"?to":            rest.Say(to, rest.ExampleTime, time),
		"?minDurationMs": rest.Say("Only those whose last attempt took at least this many milliseconds.", 1000, openapi.Kind("integer"), openapi.Range(0, maxDurationMs)),
	}
}

// DeliveryParameters are the parameters of the lists whose names mean something
// else in other routes.
func DeliveryParameters() openapi.Fields {
	all := openapi.Fields{}
	for _, operation := range []string{"listDeliveries", "listAllDeliveries"} {
		all[operation+".?state"] = rest.Say("Only those in this state; the parameter may be repeated.", []any{"FAILED"},
			openapi.Kind("array"), openapi.Object{"items": openapi.Object{"type": "string", "enum": anyOf(delivery.States())}})
		all[operation+".?event"] = rest.Say("Only this event.", string(event.MessagesUpsert))
		all[operation+".?query"] = rest.Say("Only those with this request id or event id, or about the chat of this JID or LID, in full.", rest.ExampleJID, openapi.Chars(0, maxDeliveryQuery))
	}
	return all
}

func anyOf[S ~string](values []S) (all []any) {
	for _, v := range values {
		all = append(all, string(v))
	}
	return all
}

func outboxDescriptions() map[string]rest.Words {
	return map[string]rest.Words{
		"GET /message/batches/{id}/events": {
			ID: "listBatchEvents", Summary: "List a batch's events with their delivery, oldest first.", Query: rest.Cursors(),
			Out: rest.TypeOf[batch.List[OutboxRecord]](), Codes: rest.Codes{"BATCH_NOT_FOUND"}.And(rest.CodeNoCursor),
		},
		"GET /outbox": {
			ID: "listOutbox", Summary: "List the batch events of all users with their delivery state, newest first.",
			Query: rest.Cursors("state"), Out: rest.TypeOf[batch.List[OutboxRecord]](), Codes: rest.Codes{rest.CodeNoCursor},
		},
		"POST /outbox/{id}/retry": {
			ID: "retryOutboxEvent", Summary: "Retry a pending event now.", Out: rest.TypeOf[OutboxRecord](),
			Codes: rest.Codes{"OUTBOX_ENTRY_NOT_FOUND", "OUTBOX_ENTRY_NOT_PENDING", "ENDPOINT_GONE"},
		},
		"POST /outbox/retry": {ID: "retryOutbox", Summary: "Retry all pending events now.", Out: rest.TypeOf[RetryAnswer]()},
	}
}
