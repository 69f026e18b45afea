package httpapi

import (
	"reflect"

	"postern/event"
	"postern/httpapi/openapi"
	"postern/instance/webhooks"
)

// Texts that both scopes share.
const (
	aboutOptions = "Options absent from the body get their defaults. They apply to events from the answer on. " +
		"Values of headers are shown as `***`, and `***` keeps the stored value. Only the answer to the request that created a signing secret has it."
	aboutDrop = "Headers, secrets and endpoints are removed. Delivery stays durable when webhook.durable_default is set."
)

func optionsDescriptions() map[string]description {
	const rotate = "For 24 hours deliveries are also signed with the previous secret. A further rotation keeps the newest two."
	return map[string]description{
		"PUT /instance/{i}/webhook/options": {
			id: "setWebhookOptions", summary: "Set the delivery options of the instance's webhook, and further endpoints.", about: aboutOptions + " The webhook need not exist.",
			in: body[optionsRequest](), example: `{"durable":true,"order":"chat","headers":{"X-Api-Key":"secret"},"signing":{"enabled":true},"endpoints":[{"id":"crm","url":"https://example.org/crm","events":{"messagesUpsert":true}}]}`,
			out: body[webhooks.Options](), codes: codes{"INVALID_WEBHOOK", "DISK_FULL"},
		},
		"GET /instance/{i}/webhook/options": {
			id: "getWebhookOptions", summary: "Show the options of the instance's webhook, without secrets.", out: body[webhooks.Options](), codes: codes{"RECORD_DAMAGED"},
		},
		"DELETE /instance/{i}/webhook/options": {
			id: "deleteWebhookOptions", summary: "Reset the options of the instance's webhook to the defaults.", about: aboutDrop, out: body[webhooks.Options](), codes: codes{"DISK_FULL"},
		},
		"POST /instance/{i}/webhook/options/rotate-secret": {
			id: "rotateWebhookSecret", summary: "Replace the signing secret of the webhook, or of an endpoint.", about: rotate, query: []string{endpointID},
			out: body[webhooks.Options](), codes: codes{"ENDPOINT_NOT_FOUND", "SIGNING_OFF", "RECORD_DAMAGED", "DISK_FULL"},
		},
		"PUT /webhook/options": {
			id: "setGlobalWebhookOptions", summary: "Set the delivery options of the global webhook.",
			about: aboutOptions + " Batch events are always durable: durable, order and maxAge apply to instance events.",
			in:    body[globalOptionsRequest](), example: `{"durable":true,"maxAge":"24h","headers":{"Authorization":"Bearer secret"},"signing":{"enabled":true}}`,
			out: body[webhooks.GlobalOptions](), codes: codes{"INVALID_WEBHOOK", "DISK_FULL"},
		},
		"GET /webhook/options": {
			id: "getGlobalWebhookOptions", summary: "Show the options of the global webhook, without secrets.", out: body[webhooks.GlobalOptions](), codes: codes{"RECORD_DAMAGED"},
		},
		"DELETE /webhook/options": {
			id: "deleteGlobalWebhookOptions", summary: "Reset the options of the global webhook to the defaults.", about: aboutDrop, out: body[webhooks.GlobalOptions](), codes: codes{"DISK_FULL"},
		},
		"POST /webhook/options/rotate-secret": {
			id: "rotateGlobalWebhookSecret", summary: "Replace the signing secret of the global webhook.", about: rotate,
			out: body[webhooks.GlobalOptions](), codes: codes{codeInvalidQuery, "SIGNING_OFF", "RECORD_DAMAGED", "DISK_FULL"},
		},
	}
}

// optionsTypes are the types of options and their names.
func optionsTypes() map[reflect.Type]openapi.Type {
	return map[reflect.Type]openapi.Type{
		body[webhooks.Options]():       {Name: "WebhookOptions", Words: "GlobalWebhookOptions", About: "How the events of an instance are delivered, without secrets."},
		body[optionsRequest]():         {Name: "WebhookOptionsRequest", Words: "WebhookOptions"},
		body[webhooks.GlobalOptions](): {Name: "GlobalWebhookOptions", About: "How events are delivered to the global webhook, without secrets."},
		body[globalOptionsRequest]():   {Name: "GlobalWebhookOptionsRequest", Words: "GlobalWebhookOptions"},
		body[webhooks.Endpoint]():      {Name: "WebhookEndpoint", About: "A further receiver of an instance's events."},
		body[endpointRequest]():        {Name: "WebhookEndpointRequest", Words: "WebhookEndpoint"},
		body[webhooks.Filter]():        {Name: "WebhookFilter", About: "What the webhook and its endpoints receive; false excludes it."},
		body[filterRequest]():          {Name: "WebhookFilterRequest", Words: "WebhookFilter"},
		body[webhooks.Signing]():       {Name: "WebhookSigning", About: "Whether deliveries are signed, as Standard Webhooks describe."},
		body[signingRequest]():         {Name: "WebhookSigningRequest", Words: "WebhookSigning"},
		body[event.Order]():            {Name: "WebhookOrder", About: "The order in which a receiver gets events.", Schema: openapi.Words(event.OrderNone, event.OrderChat, event.OrderInstance)},
	}
}

// optionsFields are the fields of delivery options.
func optionsFields() openapi.Fields {
	headers := say("Additional headers of every delivery by name, 16 at most. Values are up to 4096 characters of visible ASCII and inner spaces; they are shown as ***, which keeps the stored value. Headers that deliveries set themselves, connection headers, content-* and webhook-* are refused.",
		object{"X-Api-Key": "***"}, object{"maxProperties": webhooks.MaxHeaders})
	return openapi.Fields{
		"GlobalWebhookOptions.durable": say("Whether events are stored in the commit that they report, and tried until accepted or older than maxAge; otherwise they are tried once.", false),
		"GlobalWebhookOptions.order":   say("none: as fast as possible. chat: one at a time per chat. instance: one at a time per instance. chat and instance require durable.", string(event.OrderNone)),
		"GlobalWebhookOptions.maxAge":  say("How long a durable event is tried, from 1s to 720h; fixed when it is created.", webhooks.DefaultMaxAge),
		"GlobalWebhookOptions.headers": headers,
		"GlobalWebhookOptions.signing": say("Whether deliveries are signed.", nil),
		"WebhookOptions.filter":        say("What the webhook and the endpoints receive.", nil),
		"WebhookOptions.endpoints":     say("Further receivers, each delivered to independently. They also work without a webhook.", nil, openapi.Items(0, webhooks.MaxEndpoints)),

		"WebhookSigning.enabled": say("Whether webhook-id, webhook-timestamp and webhook-signature are sent.", true),
		"WebhookSigning.secret":  say("The secret, whsec_ and base64; only in the answer to the request that created it.", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="),

		"WebhookFilter.groups":      say("Events of groups.", true),
		"WebhookFilter.status":      say("Status posts of contacts.", false),
		"WebhookFilter.newsletters": say("Events of newsletters, and the event news.letter.", true),
		"WebhookFilter.broadcasts":  say("Messages to broadcast lists that include the account.", true),
		"WebhookFilter.fromMe":      say("messages.upsert for messages that the account itself sent.", false),

		"WebhookEndpoint.id":      say("A name chosen by the caller, case-sensitive.", "crm", openapi.Chars(1, webhooks.MaxEndpointID), openapi.Pattern("^[A-Za-z0-9._-]{1,64}$")),
		"WebhookEndpoint.url":     say("An http or https URL without user and password.", "https://example.org/crm", openapi.Format("uri"), openapi.Chars(1, webhooks.MaxURL)),
		"WebhookEndpoint.enabled": say("Whether events are sent at all; true when absent.", true),
		"WebhookEndpoint.events":  say("Which events are sent, by flag. Absent flags are off.", object{"messagesUpsert": true}, object{"propertyNames": openapi.OneOf(flags()...)}),
		"WebhookEndpoint.headers": headers,
		"WebhookEndpoint.signing": say("Whether its deliveries are signed, with a secret of its own.", nil),

		"rotateWebhookSecret.?endpointId": say("The endpoint whose secret to rotate; the webhook itself when absent.", "crm"),
	}
}
