package deliveries

import (
	"strconv"

	"postern/delivery"
	"postern/delivery/logbook"
	"postern/delivery/pull"
	"postern/delivery/receivers"
	"postern/event"
	"postern/httpapi/openapi"
	"postern/httpapi/rest"
	"postern/instance/webhooks"
)

// Fields describes parameters, and the fields of bodies that need more than their tags: a constant or a long text.
func Fields() openapi.Fields {
	uuid, endpoint := openapi.Format("uuid"), openapi.Pattern(`^[A-Za-z0-9._-]{1,`+strconv.Itoa(webhooks.MaxEndpointID)+`}$`)
	events := openapi.OneOf(append(rest.EventKinds(event.Instance), rest.EventKinds(event.Batch)...)...)
	targets := openapi.OneOf(event.TargetWebhook, event.TargetGlobal, event.TargetEndpoint)
	time := openapi.Format("date-time")
	consumer := openapi.Pattern("^[A-Za-z0-9._-]{1,64}$")
	all := openapi.Fields{
		"Delivery.eventId":  rest.Say("The event's id, which the receiver sees as webhook-id: the same at every attempt, every destination and every replay.", rest.ExampleUUID, uuid),
		"Delivery.event":    rest.Say("The event's name.", string(event.MessagesUpsert), events),
		"Delivery.flow":     rest.Say("Whether it is an event of an instance or of a batch.", "instance", openapi.OneOf(delivery.FlowInstance, delivery.FlowBatch)),
		"Delivery.target":   rest.Say("What kind of destination it is for: the webhook of the instance, one of its further endpoints, or the global webhook.", "webhook", targets),
		"Delivery.waitsFor": rest.Say("The delivery that must end before this one is sent: the first of its ordered line. Present only for a single delivery and in the answer to a retry; absent when it waits for none.", 16, openapi.AtLeast(1)),
		"Delivery.body":     rest.Say("The body as sent, byte for byte; null when it is not kept, and for qrcode.updated when the key lacks the scope pair.", `{"event":"messages.upsert"}`),

		"DeliveryAttempt.answer": rest.Say("The beginning of the body of an answer other than 2xx, up to 2 KiB; null when there is none, and for qrcode.updated when the key lacks the scope pair.", "upstream is down"),

		"OutboxEvent.event": rest.Say("Its name.", string(event.BatchCompleted), openapi.OneOf(rest.EventKinds(event.Batch)...)),

		"ReplayRequest.state":      rest.Say("Only those in these states; FAILED, DROPPED and EXPIRED when absent. PENDING deliveries are sent by themselves.", []any{"FAILED"}, openapi.Object{"minItems": 1}),
		"ReplayRequest.target":     rest.Say("Only those for this kind of destination.", "webhook", targets),
		"ReplayRequest.endpointId": rest.Say("Only those for this endpoint.", "crm", endpoint),
		"ReplayRequest.limit":      rest.Say("The maximum number, oldest first.", 1000, openapi.Range(1, logbook.MaxReplay), openapi.Default(logbook.MaxReplay)),
		"Replay.state":             rest.Say("The state of the replay.", "RUNNING", openapi.OneOf(logbook.ReplayRunning, logbook.ReplayDone, logbook.ReplayCancelled)),

		"{consumer}":        rest.Say("The name of the consumer.", "crm", consumer),
		"PulledEvent.event": rest.Say("Its name.", string(event.MessagesUpsert), events),
		"SeekRequest.time":  rest.Say("Continue with the first event made then or later.", rest.ExampleTime, time),

		"{deliveryId}":   rest.Say("The delivery's id.", 17, openapi.Kind("integer"), openapi.Object{"minimum": 1}),
		"{replayId}":     rest.Say("The replay's id.", 3, openapi.Kind("integer"), openapi.Object{"minimum": 1}),
		"?target":        rest.Say("Only those for this kind of destination.", "webhook", targets),
		"?endpointId":    rest.Say("Only those for this endpoint.", "crm", endpoint),
		"?from":          rest.Say("Only those created at this time or later.", rest.ExampleTime, time),
		"?to":            rest.Say("Only those created at this time or earlier.", rest.ExampleTime, time),
		"?minDurationMs": rest.Say("Only those whose last attempt took at least this many milliseconds.", 1000, openapi.Kind("integer"), openapi.Range(0, maxDurationMs)),
	}
	states := openapi.OneOf(receivers.States()...)
	all["{receiver}"] = rest.Say("The receiver's id, as the list of receivers has it.", "1:webhook")
	all["Receiver.state"] = rest.Say("PAUSED: by a call. FAILING: three attempts in a row failed. OK. IDLE: no attempt for 24 hours, or since the start.", "OK", states)
	all["Receiver.target"] = rest.Say("What kind of destination it is; a consumer pulls and has no address.", "webhook", openapi.OneOf(receivers.TargetWebhook, receivers.TargetGlobal, receivers.TargetEndpoint, receivers.TargetConsumer))
	all["listAllReceivers.?instance"] = rest.Say("Only those of the instance with this name.", "shop")
	for _, operation := range []string{"listReceivers", "listAllReceivers"} {
		all[operation+".?state"] = rest.Say("Only those in this state; the parameter may be repeated.", []any{"FAILING"}, openapi.Kind("array"), openapi.Object{"items": openapi.Object{"type": "string", "enum": receivers.States()}})
		all[operation+".?origin"] = rest.Say("Only those at this scheme, host and port.", "https://hooks.example.org")
		all[operation+".?limit"] = rest.Say("The maximum number of receivers.", rest.DefaultLimit, openapi.Kind("integer"), openapi.Range(1, maxReceivers), openapi.Default(rest.DefaultLimit))
	}
	for _, operation := range []string{"pullEvents", "pullAllEvents"} {
		all[operation+".?consumer"] = rest.Say("The name of the consumer: 1 to 64 of A-Z, a-z, 0-9, '.', '_' and '-'. The first call with it makes the consumer.", "crm", openapi.Required())
		all[operation+".?limit"] = rest.Say("The maximum number of events; 100 when absent.", defaultPull, openapi.Kind("integer"), openapi.Range(1, pull.MaxLimit), openapi.Default(defaultPull))
		all[operation+".?wait"] = rest.Say("How many seconds to wait for an event while there is none; 0 when absent.", 0, openapi.Kind("integer"), openapi.Range(0, maxWait), openapi.Default(0))
		all[operation+".?event"] = rest.Say("Only these events, by name or * for all; the parameter may be repeated. All when absent.", string(event.MessagesUpsert))
		all[operation+".?from"] = rest.Say("now: a consumer that is made begins at the newest event; without it, at the oldest kept one.", "now", openapi.OneOf("now"))
	}
	// Parameters of the lists whose names mean something else in other routes.
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
