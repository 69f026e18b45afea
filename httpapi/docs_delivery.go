package httpapi

import (
	"net/http"
	"strconv"

	"postern/batch"
	"postern/delivery"
	"postern/event"
	"postern/httpapi/openapi"
	"postern/instance"
)

func deliveryDescriptions() map[string]description {
	filters := cursors("state", "event", "target", "endpointId", "from", "to", "minDurationMs", "query")
	const example = `{"from":"2026-03-01T12:00:00Z","to":"2026-03-01T13:00:00Z","events":["messages.upsert"],"state":["FAILED","DROPPED"],"target":"webhook"}`
	const replayAbout = "The oldest first, by the same ways as new events, which are not held up. Each gets a record of its own; what a replay delivered is not selected again."
	const retryAbout = "One more attempt of the same record, whatever its state is. One that waits behind another in an order is not sent out of turn: the first of its line, which waitsFor names, is sent now, and when that is accepted those behind it follow at once."
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
			id: log.replay, summary: "Send deliveries of " + log.whose + " once more.", about: replayAbout, once: true,
			in: body[replayRequest](), example: example, status: http.StatusAccepted, out: body[replayAccepted](),
			codes: codes{codeInvalidReplay, "REPLAY_RUNNING", "LOG_OFF"},
		}
		all["GET "+log.base+"/replays/{id}"] = description{
			id: log.status, summary: "Show how far a replay is.", out: body[replayStatus](), codes: codes{codeNoReplay},
		}
		all["DELETE "+log.base+"/replays/{id}"] = description{
			id: log.cancel, summary: "Stop a replay.", about: "What it has begun to send goes its way. One that has ended stays as it is.",
			out: body[replayStatus](), codes: codes{codeNoReplay},
		}
	}
	return all
}

// deliveryFields are those of the log of deliveries.
func deliveryFields() openapi.Fields {
	uuid, none, endpoint := openapi.Format("uuid"), openapi.AtLeast(0), openapi.Pattern(`^[A-Za-z0-9._-]{1,`+strconv.Itoa(instance.MaxEndpointID)+`}$`)
	events := openapi.OneOf(append(kinds(event.Instance), kinds(event.Batch)...)...)
	targets := openapi.OneOf(event.TargetWebhook, event.TargetGlobal, event.TargetEndpoint)
	from, to := "Only those made at this time or later.", "Only those made at this time or earlier."
	time := openapi.Format("date-time")
	return openapi.Fields{
		"Delivery.id":            say("Its number, ascending in the order in which deliveries were made.", 17, openapi.AtLeast(1)),
		"Delivery.eventId":       say("The event's id, which the receiver sees as webhook-id: the same at every attempt, every destination and every replay.", exampleUUID, uuid),
		"Delivery.event":         say("The event's name.", string(event.MessagesUpsert), events),
		"Delivery.flow":          say("Whether it is an event of an instance or of a batch.", "instance", openapi.OneOf(delivery.FlowInstance, delivery.FlowBatch)),
		"Delivery.instanceId":    say("The instance that the event is of; null of a batch.", 1),
		"Delivery.instanceName":  say("Its name when the event happened.", exampleName),
		"Delivery.batchId":       say("The batch that the event is of; null of an instance.", exampleUUID, uuid),
		"Delivery.target":        say("What kind of destination it is for: the webhook of the instance, one of its further endpoints, or the global webhook.", "webhook", targets),
		"Delivery.endpointId":    say("Which endpoint; null for other targets.", "crm"),
		"Delivery.url":           say("Where it goes, without the query.", "https://example.org/hook"),
		"Delivery.state":         say("What became of it.", "FAILED"),
		"Delivery.attemptCount":  say("How often it was sent.", 1, none),
		"Delivery.lastStatus":    say("The status of the last answer; null when there was none.", 503),
		"Delivery.lastError":     say("Why the last attempt was not accepted, or why there will be none; null when it was accepted.", "receiver answered 503"),
		"Delivery.durationMs":    say("How long the last attempt took, in milliseconds; null when there was none.", 31, none),
		"Delivery.bytes":         say("How long the body is.", 1204, none),
		"Delivery.requestId":     say("The x-request-id of the last attempt, or of the first while there was none; each attempt has its own.", exampleUUID),
		"Delivery.lastAttemptAt": say("When it was sent last; null when it never was.", exampleTime),
		"Delivery.nextAttemptAt": say("When it is sent next; null when it goes out as soon as its turn has come, and when it has ended.", exampleTime),
		"Delivery.replayOf":      say("The delivery that it repeats; null of a first one.", 12),
		"Delivery.replayable":    say("Whether it can be sent again: its body is still in the file, and its destination is there.", true),
		"Delivery.waitsFor":      say("The delivery that has to end before this one leaves, for the sake of the order: the first of its line. Told of a single delivery and by a retry, in no list; absent when it waits for none.", 16, openapi.AtLeast(1)),
		"Delivery.body":          say("The body as it was sent, byte for byte; null when it is not kept, and of qrcode.updated for a key without the scope pair.", `{"event":"messages.upsert"}`),
		"Delivery.attempts":      say("Its attempts, the newest 1000 of them, the oldest of these first.", nil),

		"DeliveryAttempt.number":     say("Its number among those of the delivery, from 1.", 1, openapi.AtLeast(1)),
		"DeliveryAttempt.durationMs": say("How long it took, in milliseconds.", 31, none),
		"DeliveryAttempt.status":     say("The status of the answer; null when there was none.", 503),
		"DeliveryAttempt.error":      say("Why it was not accepted; null when it was.", "receiver answered 503"),
		"DeliveryAttempt.requestId":  say("Its x-request-id.", exampleUUID),
		"DeliveryAttempt.answer":     say("The beginning of the body of an answer other than 2xx, up to 2 KiB; null when there is none, and of qrcode.updated for a key without the scope pair.", "upstream is down"),

		"ReplayRequest.from":       say(from, exampleTime, time),
		"ReplayRequest.to":         say(to, exampleTime, time),
		"ReplayRequest.events":     say("Only these events; all when absent.", []any{string(event.MessagesUpsert)}, object{"minItems": 1}),
		"ReplayRequest.state":      say("Only those in these states; FAILED, DROPPED and EXPIRED when absent. What is PENDING goes out by itself.", []any{"FAILED"}, object{"minItems": 1}),
		"ReplayRequest.target":     say("Only those for this kind of destination.", "webhook", targets),
		"ReplayRequest.endpointId": say("Only those for this endpoint.", "crm", endpoint),
		"ReplayRequest.limit":      say("How many at most, the oldest first.", 1000, openapi.Range(1, delivery.MaxReplay), openapi.Default(delivery.MaxReplay)),
		"ReplayAccepted.replayId":  say("The replay's id.", 3, openapi.AtLeast(1)),
		"ReplayAccepted.matched":   say("How many deliveries it will repeat.", 41, none),
		"Replay.matched":           say("How many deliveries it repeats.", 41, none),
		"Replay.sent":              say("How many of them it has handed over for delivery.", 20, none),
		"Replay.delivered":         say("How many of those a receiver accepted.", 18, none),
		"Replay.failed":            say("How many of those ended otherwise.", 1, none),
		"Replay.state":             say("Whether it goes on.", "RUNNING", openapi.OneOf(delivery.ReplayRunning, delivery.ReplayDone, delivery.ReplayCancelled)),

		"{deliveryId}":   say("The delivery's id.", 17, openapi.Kind("integer"), object{"minimum": 1}),
		"{replayId}":     say("The replay's id.", 3, openapi.Kind("integer"), object{"minimum": 1}),
		"?target":        say("Only those for this kind of destination.", "webhook", targets),
		"?endpointId":    say("Only those for this endpoint.", "crm", endpoint),
		"?from":          say(from, exampleTime, time),
		"?to":            say(to, exampleTime, time),
		"?minDurationMs": say("Only those whose last attempt took at least so many milliseconds.", 1000, openapi.Kind("integer"), openapi.Range(0, maxDurationMs)),
	}
}

// deliveryParameters are those of the lists, whose names mean something else
// elsewhere.
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
