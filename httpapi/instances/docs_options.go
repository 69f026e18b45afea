package instances

import (
	"reflect"

	"postern/event"
	"postern/httpapi/openapi"
	"postern/httpapi/rest"
	"postern/instance/webhooks"
)

// Texts that both scopes share.
const (
	aboutOptions = "Options absent from the body get their defaults. They apply to events from the answer on. " +
		"Values of headers are shown as `***`, and `***` keeps the stored value. Only the answer to the request that created a signing secret has it."
	aboutDrop = "Headers, secrets and endpoints are removed. Delivery stays durable when webhook.durable_default is set."
)

func optionsDescriptions() map[string]rest.Words {
	const rotate = "For 24 hours deliveries are also signed with the previous secret. A further rotation keeps the newest two."
	return map[string]rest.Words{
		"PUT /instance/{i}/webhook/options": {
			ID: "setWebhookOptions", Summary: "Set the delivery options of the instance's webhook, and further endpoints.", About: aboutOptions + " The webhook need not exist.",
			In: rest.TypeOf[optionsRequest](), Example: `{"durable":true,"order":"chat","headers":{"X-Api-Key":"secret"},"signing":{"enabled":true},"endpoints":[{"id":"crm","url":"https://example.org/crm","events":{"messagesUpsert":true}}]}`,
			Out: rest.TypeOf[webhooks.Options](), Codes: rest.Codes{"INVALID_WEBHOOK", "DISK_FULL"},
		},
		"GET /instance/{i}/webhook/options": {
			ID: "getWebhookOptions", Summary: "Show the options of the instance's webhook, without secrets.", Out: rest.TypeOf[webhooks.Options](), Codes: rest.Codes{"RECORD_DAMAGED"},
		},
		"DELETE /instance/{i}/webhook/options": {
			ID: "deleteWebhookOptions", Summary: "Reset the options of the instance's webhook to the defaults.", About: aboutDrop, Out: rest.TypeOf[webhooks.Options](), Codes: rest.Codes{"DISK_FULL"},
		},
		"POST /instance/{i}/webhook/options/rotate-secret": {
			ID: "rotateWebhookSecret", Summary: "Replace the signing secret of the webhook, or of an endpoint.", About: rotate, Query: []string{endpointID},
			Out: rest.TypeOf[webhooks.Options](), Codes: rest.Codes{"ENDPOINT_NOT_FOUND", "SIGNING_OFF", "RECORD_DAMAGED", "DISK_FULL"},
		},
		"PUT /webhook/options": {
			ID: "setGlobalWebhookOptions", Summary: "Set the delivery options of the global webhook.",
			About: aboutOptions + " Batch events are always durable: durable, order and maxAge apply to instance events.",
			In:    rest.TypeOf[globalOptionsRequest](), Example: `{"durable":true,"maxAge":"24h","headers":{"Authorization":"Bearer secret"},"signing":{"enabled":true}}`,
			Out: rest.TypeOf[webhooks.GlobalOptions](), Codes: rest.Codes{"INVALID_WEBHOOK", "DISK_FULL"},
		},
		"GET /webhook/options": {
			ID: "getGlobalWebhookOptions", Summary: "Show the options of the global webhook, without secrets.", Out: rest.TypeOf[webhooks.GlobalOptions](), Codes: rest.Codes{"RECORD_DAMAGED"},
		},
		"DELETE /webhook/options": {
			ID: "deleteGlobalWebhookOptions", Summary: "Reset the options of the global webhook to the defaults.", About: aboutDrop, Out: rest.TypeOf[webhooks.GlobalOptions](), Codes: rest.Codes{"DISK_FULL"},
		},
		"POST /webhook/options/rotate-secret": {
			ID: "rotateGlobalWebhookSecret", Summary: "Replace the signing secret of the global webhook.", About: rotate,
			Out: rest.TypeOf[webhooks.GlobalOptions](), Codes: rest.Codes{rest.CodeInvalidQuery, "SIGNING_OFF", "RECORD_DAMAGED", "DISK_FULL"},
		},
	}
}

// OptionsTypes are the types of options and their names.
func OptionsTypes() map[reflect.Type]openapi.Type {
	return map[reflect.Type]openapi.Type{
		rest.TypeOf[webhooks.Options]():       {Name: "WebhookOptions", Words: rest.TypeOf[webhooks.GlobalOptions](), About: "How the events of an instance are delivered, without secrets."},
		rest.TypeOf[optionsRequest]():         {Name: "WebhookOptionsRequest", Words: rest.TypeOf[webhooks.Options]()},
		rest.TypeOf[webhooks.GlobalOptions](): {Name: "GlobalWebhookOptions", About: "How events are delivered to the global webhook, without secrets."},
		rest.TypeOf[globalOptionsRequest]():   {Name: "GlobalWebhookOptionsRequest", Words: rest.TypeOf[webhooks.GlobalOptions]()},
		rest.TypeOf[webhooks.Endpoint]():      {Name: "WebhookEndpoint", About: "A further receiver of an instance's events."},
		rest.TypeOf[endpointRequest]():        {Name: "WebhookEndpointRequest", Words: rest.TypeOf[webhooks.Endpoint]()},
		rest.TypeOf[webhooks.Filter]():        {Name: "WebhookFilter", About: "What the webhook and its endpoints receive; false excludes it."},
		rest.TypeOf[filterRequest]():          {Name: "WebhookFilterRequest", Words: rest.TypeOf[webhooks.Filter]()},
		rest.TypeOf[webhooks.Signing]():       {Name: "WebhookSigning", About: "Whether deliveries are signed, as Standard Webhooks describe."},
		rest.TypeOf[signingRequest]():         {Name: "WebhookSigningRequest", Words: rest.TypeOf[webhooks.Signing]()},
		rest.TypeOf[event.Order]():            {Name: "WebhookOrder", About: "The order in which a receiver gets events.", Schema: openapi.Words(event.OrderNone, event.OrderChat, event.OrderInstance)},
	}
}

// OptionsFields are the fields of delivery options.
func OptionsFields() openapi.Fields {
	headers := rest.Say("Additional headers of every delivery by name, 16 at most. Values are up to 4096 characters of visible ASCII and inner spaces; they are shown as ***, which keeps the stored value. Headers that deliveries set themselves, connection headers, content-* and webhook-* are refused.",
		openapi.Object{"X-Api-Key": "***"}, openapi.Object{"maxProperties": webhooks.MaxHeaders})
	return openapi.Fields{
		"GlobalWebhookOptions.durable": rest.Say("Whether events are stored in the commit that they report, and tried until accepted or older than maxAge; otherwise they are tried once.", false),
		"GlobalWebhookOptions.order":   rest.Say("none: as fast as possible. chat: one at a time per chat. instance: one at a time per instance. chat and instance require durable.", string(event.OrderNone)),
		"GlobalWebhookOptions.maxAge":  rest.Say("How long a durable event is tried, from 1s to 720h; fixed when it is created.", webhooks.DefaultMaxAge),
		"GlobalWebhookOptions.headers": headers,
		"GlobalWebhookOptions.signing": rest.Say("Whether deliveries are signed.", nil),
		"WebhookOptions.filter":        rest.Say("What the webhook and the endpoints receive.", nil),
		"WebhookOptions.endpoints":     rest.Say("Further receivers, each delivered to independently. They also work without a webhook.", nil, openapi.Items(0, webhooks.MaxEndpoints)),

		"WebhookSigning.enabled": rest.Say("Whether webhook-id, webhook-timestamp and webhook-signature are sent.", true),
		"WebhookSigning.secret":  rest.Say("The secret, whsec_ and base64; only in the answer to the request that created it.", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="),

		"WebhookFilter.groups":      rest.Say("Events of groups.", true),
		"WebhookFilter.status":      rest.Say("Status posts of contacts.", false),
		"WebhookFilter.newsletters": rest.Say("Events of newsletters, and the event news.letter.", true),
		"WebhookFilter.broadcasts":  rest.Say("Messages to broadcast lists that include the account.", true),
		"WebhookFilter.fromMe":      rest.Say("messages.upsert for messages that the account itself sent.", false),

		"WebhookEndpoint.id":      rest.Say("A name chosen by the caller, case-sensitive.", "crm", openapi.Chars(1, webhooks.MaxEndpointID), openapi.Pattern("^[A-Za-z0-9._-]{1,64}$")),
		"WebhookEndpoint.url":     rest.Say("An http or https URL without user and password.", "https://example.org/crm", openapi.Format("uri"), openapi.Chars(1, webhooks.MaxURL)),
		"WebhookEndpoint.enabled": rest.Say("Whether events are sent at all; true when absent.", true),
		"WebhookEndpoint.events":  rest.Say("Which events are sent, by flag. Absent flags are off.", openapi.Object{"messagesUpsert": true}, openapi.Object{"propertyNames": openapi.OneOf(flags()...)}),
		"WebhookEndpoint.headers": headers,
		"WebhookEndpoint.signing": rest.Say("Whether its deliveries are signed, with a secret of its own.", nil),

		"rotateWebhookSecret.?endpointId": rest.Say("The endpoint whose secret to rotate; the webhook itself when absent.", "crm"),
	}
}
