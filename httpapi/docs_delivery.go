package httpapi

import (
	"net/http"
	"strconv"

	"postern/batch"
	"postern/delivery"
	"postern/event"
	"postern/httpapi/openapi"
	"postern/instance/webhooks"
)

func deliveryDescriptions() map[string]description {
	filters := cursors("state", "event", "target", "endpointId", "from", "to", "minDurationMs", "query")
	const example = `{"from":"2026-03-01T12:00:00Z","to":"2026-03-01T13:00:00Z","events":["messages.upsert"],"state":["FAILED","DROPPED"],"target":"webhook"}`
	const replayAbout = "Oldest first, through the same queues as new events, which are not delayed. Each delivery gets a new record; deliveries that a replay has delivered are not selected again."
	const retryAbout = "One more attempt of the same record, in any state. A delivery that waits in an ordered line is not sent out of order: the first of its line, which waitsFor names, is sent now, and when it is accepted the others follow at once."
	all := map[string]description{}
	for _, log := range []struct{ base, list, get, retry, replay, status, cancel, whose string }{
		{"/instance/{i}/webhook", "listDeliveries", "getDelivery", "retryDelivery", "replayDeliveries", "getReplay", "cancelReplay", "the instance"},
		{"/webhook", "listAllDeliveries", "getAnyDelivery", "retryAnyDelivery", "replayAllDeliveries", "getAnyReplay", "cancelAnyReplay", "all instances, and of batch events"},
	} {
		all["GET "+log.base+"/deliveries"] = description{
			id: log.list, summary: "List the webhook deliveries of " + log.whose + ", newest first.", query: filters,
			out: body[batch.List[deliveryRecord]](), codes: codes{codeNoCursor},
		}
		all["GET "+log.base+"/deliveries/{id}"] = description{
			id: log.get, summary: "Show a delivery with its body and attempts.", out: body[deliveryDetails](), codes: codes{"DELIVERY_NOT_FOUND"},
		}
		all["POST "+log.base+"/deliveries/{id}/retry"] = description{
			id: log.retry, summary: "Send a delivery now.", about: retryAbout,
			status: http.StatusAccepted, out: body[deliveryRecord](), codes: codes{"DELIVERY_NOT_FOUND", "BODY_GONE", "ENDPOINT_GONE", "LOG_OFF"},
		}
		all["POST "+log.base+"/deliveries/replay"] = description{
			id: log.replay, summary: "Send deliveries of " + log.whose + " again.", about: replayAbout, once: true,
			in: body[replayRequest](), example: example, status: http.StatusAccepted, out: body[replayAccepted](),
			codes: codes{codeInvalidReplay, "REPLAY_RUNNING", "LOG_OFF"},
		}
		all["GET "+log.base+"/replays/{id}"] = description{
			id: log.status, summary: "Show the progress of a replay.", out: body[replayStatus](), codes: codes{codeNoReplay},
		}
		all["DELETE "+log.base+"/replays/{id}"] = description{
			id: log.cancel, summary: "Stop a replay.", about: "Deliveries already started are not cancelled. A replay that has ended does not change.",
			out: body[replayStatus](), codes: codes{codeNoReplay},
		}
	}
	return all
}

// deliveryFields are the fields of the delivery log.
func deliveryFields() openapi.Fields {
	uuid, none, endpoint := openapi.Format("uuid"), openapi.AtLeast(0), openapi.Pattern(`^[A-Za-z0-9._-]{1,`+strconv.Itoa(webhooks.MaxEndpointID)+`}$`)
	events := openapi.OneOf(append(kinds(event.Instance), kinds(event.Batch)...)...)
	targets := openapi.OneOf(event.TargetWebhook, event.TargetGlobal, event.TargetEndpoint)
	from, to := "Only those created at this time or later.", "Only those created at this time or earlier."
	time := openapi.Format("date-time")
	return openapi.Fields{
		"Delivery.id":            say("Its number, ascending in the order of creation.", 17, openapi.AtLeast(1)),
		"Delivery.eventId":       say("The event's id, which the receiver sees as webhook-id: the same at every attempt, every destination and every replay.", exampleUUID, uuid),
		"Delivery.event":         say("The event's name.", string(event.MessagesUpsert), events),
		"Delivery.flow":          say("Whether it is an event of an instance or of a batch.", "instance", openapi.OneOf(delivery.FlowInstance, delivery.FlowBatch)),
		"Delivery.instanceId":    say("The instance of the event; null for batch events.", 1),
		"Delivery.instanceName":  say("Its name when the event happened.", exampleName),
		"Delivery.batchId":       say("The batch of the event; null for instance events.", exampleUUID, uuid),
		"Delivery.target":        say("What kind of destination it is for: the webhook of the instance, one of its further endpoints, or the global webhook.", "webhook", targets),
		"Delivery.endpointId":    say("Which endpoint; null for other targets.", "crm"),
		"Delivery.url":           say("Where it goes, without the query.", "https://example.org/hook"),
		"Delivery.state":         say("The state of the delivery.", "FAILED"),
		"Delivery.attemptCount":  say("The number of attempts.", 1, none),
		"Delivery.lastStatus":    say("The status of the last answer; null when there was none.", 503),
		"Delivery.lastError":     say("Why the last attempt failed, or why there will be none; null when it was accepted.", "receiver answered 503"),
		"Delivery.durationMs":    say("How long the last attempt took, in milliseconds; null when there was none.", 31, none),
		"Delivery.bytes":         say("The length of the body in bytes.", 1204, none),
		"Delivery.requestId":     say("The x-request-id of the last attempt, or of the first one to come; each attempt has its own.", exampleUUID),
		"Delivery.lastAttemptAt": say("The time of the last attempt; null when there was none.", exampleTime),
		"Delivery.nextAttemptAt": say("The time of the next attempt; null when it is sent as soon as its turn comes, and when it has ended.", exampleTime),
		"Delivery.replayOf":      say("The delivery that it replays; null when it is no replay.", 12),
		"Delivery.replayable":    say("Whether it can be sent again: its body is still stored, and its destination exists.", true),
		"Delivery.waitsFor":      say("The delivery that must end before this one is sent: the first of its ordered line. Present only for a single delivery and in the answer to a retry; absent when it waits for none.", 16, openapi.AtLeast(1)),
		"Delivery.body":          say("The body as sent, byte for byte; null when it is not kept, and for qrcode.updated when the key lacks the scope pair.", `{"event":"messages.upsert"}`),
		"Delivery.attempts":      say("Its newest 1000 attempts, oldest first.", nil),

		"DeliveryAttempt.number":     say("The number of the attempt, from 1.", 1, openapi.AtLeast(1)),
		"DeliveryAttempt.durationMs": say("How long it took, in milliseconds.", 31, none),
		"DeliveryAttempt.status":     say("The status of the answer; null when there was none.", 503),
		"DeliveryAttempt.error":      say("Why it failed; null when it was accepted.", "receiver answered 503"),
		"DeliveryAttempt.requestId":  say("Its x-request-id.", exampleUUID),
		"DeliveryAttempt.answer":     say("The beginning of the body of an answer other than 2xx, up to 2 KiB; null when there is none, and for qrcode.updated when the key lacks the scope pair.", "upstream is down"),

		"ReplayRequest.from":       say(from, exampleTime, time),
		"ReplayRequest.to":         say(to, exampleTime, time),
		"ReplayRequest.events":     say("Only these events; all when absent.", []any{string(event.MessagesUpsert)}, object{"minItems": 1}),
		"ReplayRequest.state":      say("Only those in these states; FAILED, DROPPED and EXPIRED when absent. PENDING deliveries are sent by themselves.", []any{"FAILED"}, object{"minItems": 1}),
		"ReplayRequest.target":     say("Only those for this kind of destination.", "webhook", targets),
		"ReplayRequest.endpointId": say("Only those for this endpoint.", "crm", endpoint),
		"ReplayRequest.limit":      say("The maximum number, oldest first.", 1000, openapi.Range(1, delivery.MaxReplay), openapi.Default(delivery.MaxReplay)),
		"ReplayAccepted.replayId":  say("The replay's id.", 3, openapi.AtLeast(1)),
		"ReplayAccepted.matched":   say("How many deliveries it will send again.", 41, none),
		"Replay.matched":           say("How many deliveries it sends again.", 41, none),
		"Replay.sent":              say("How many of them it has queued for delivery.", 20, none),
		"Replay.delivered":         say("How many of those a receiver accepted.", 18, none),
		"Replay.failed":            say("How many of those ended otherwise.", 1, none),
		"Replay.state":             say("The state of the replay.", "RUNNING", openapi.OneOf(delivery.ReplayRunning, delivery.ReplayDone, delivery.ReplayCancelled)),

		"{deliveryId}":   say("The delivery's id.", 17, openapi.Kind("integer"), object{"minimum": 1}),
		"{replayId}":     say("The replay's id.", 3, openapi.Kind("integer"), object{"minimum": 1}),
		"?target":        say("Only those for this kind of destination.", "webhook", targets),
		"?endpointId":    say("Only those for this endpoint.", "crm", endpoint),
		"?from":          say(from, exampleTime, time),
		"?to":            say(to, exampleTime, time),
		"?minDurationMs": say("Only those whose last attempt took at least this many milliseconds.", 1000, openapi.Kind("integer"), openapi.Range(0, maxDurationMs)),
	}
}

// deliveryParameters are the parameters of the lists whose names mean something
// else in other routes.
func deliveryParameters() openapi.Fields {
	all := openapi.Fields{}
	for _, operation := range []string{"listDeliveries", "listAllDeliveries"} {
		all[operation+".?state"] = say("Only those in this state; the parameter may be repeated.", []any{"FAILED"},
			openapi.Kind("array"), object{"items": object{"type": "string", "enum": anyOf(delivery.States())}})
		all[operation+".?event"] = say("Only this event.", string(event.MessagesUpsert))
		all[operation+".?query"] = say("Only those with this request id or event id, or about the chat of this JID or LID, in full.", exampleJID, openapi.Chars(0, maxDeliveryQuery))
	}
	return all
}

func anyOf[S ~string](values []S) (all []any) {
	for _, v := range values {
		all = append(all, string(v))
	}
	return all
}
