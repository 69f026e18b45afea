package batches

import (
	"postern/batch"
	"postern/event"
	"postern/httpapi/openapi"
	"postern/httpapi/ref"
	"postern/httpapi/rest"
)

// Fields describes the fields of bodies that need more than their tags: a constant, another type or a long text.
func Fields() openapi.Fields {
	return openapi.Fields{
		"BatchPlan.name":                 rest.Say("A name for people.", "Summer offer", openapi.Chars(1, batch.MaxName)),
		"BatchPlan.schedule":             rest.Say("The time windows for sending; absent: at any time.", nil, openapi.As[batchSchedule]()),
		"CreateBatchFromCSVForm.batch":   rest.Say("The body of createBatch without recipients, as JSON.", `{"name":"Invoices","instances":["sales"],"message":{"type":"text","payload":{"text":"Hello {{name}}"}}}`),
		"CreateBatchFromCSVForm.mapping": rest.Say("Which columns are the number, the externalId and the variables, as JSON; absent: the columns number and externalId, and every other column is a variable.", `{"number":"Phone","externalId":"Id","variables":{"name":"First name"}}`),
		"BatchFilter.status":             rest.Say("Only those with this status, or one of several.", "PAUSED"),
		"BatchOptions.presence":          rest.Say("The presence that the chat shows before the message.", string(event.PresenceComposing), openapi.OneOf(batchPresences()...)),
		"BatchOptions.whenRestricted":    rest.Say("While an account may not write to people it does not know: known sends to known people, wait sends nothing.", "known", openapi.OneOf("known", "wait")),
		"BatchProcessing.held":           rest.Say("Instances of the batch that cannot send now, or not to people they do not know, and why; empty when all can.", nil),
		"Batch.schedule":                 rest.Say("The schedule as given; null: it may send at any time.", nil, openapi.As[batchSchedule](), openapi.OrNull()),
		"ForwardContent.messageId":       rest.Say("The stored message, of one of the batch's instances: its id here, or its id at WhatsApp as a string.", 42, openapi.As[ref.Message]()),
		"AddOptOutsRequest.numbers":      rest.Say("Phone numbers with their country codes, or LIDs.", []string{"4915112345678"}, openapi.Items(1, MaxOptOuts)),
		"RemoveOptOutsRequest.numbers":   rest.Say("Phone numbers with their country codes, or LIDs.", []string{"4915112345678"}, openapi.Items(1, MaxOptOuts)),
		"AddOptOutsRequest.reason":       rest.Say("Why, in words.", "asked by phone", openapi.Chars(0, MaxOptOutText)),
		"AddOptOutsRequest.source":       rest.Say("Where it comes from.", "crm", openapi.Chars(0, MaxOptOutText)),
		"BatchChange.name":               rest.Say("A name for people.", "Autumn offer", openapi.Chars(1, batch.MaxName)),
		"BatchRetry.name":                rest.Say("The name of the new batch; the same as before when absent.", "Summer offer, again", openapi.Chars(1, batch.MaxName)),
		"BatchChange.schedule":           rest.Say("Other time windows for sending; an empty object: it may send at any time.", nil, openapi.As[batchSchedule]()),
	}
}

// batchPresences are the presences that a batch can show before a message.
func batchPresences() []event.Presence {
	return []event.Presence{event.PresenceComposing, event.PresenceRecording, event.PresencePaused}
}
