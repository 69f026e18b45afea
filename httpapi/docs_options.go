package httpapi

import (
	"reflect"

	"postern/event"
	"postern/httpapi/openapi"
	"postern/instance"
)

// Words that both scopes share.
const (
	aboutOptions = "What the body does not name takes its default. Events follow them from the answer on. " +
		"Values of headers are shown as `***`, and `***` keeps the one that a header has. A signing secret is in the answer to the request that made it, and nowhere else."
	aboutDrop = "Headers, secrets and endpoints are gone. What is durable goes on being so when webhook.durable_default is set."
)

func optionsDescriptions() map[string]description {
	const rotate = "Deliveries are signed with the former secret too for 24 hours. A further rotation keeps the newest two."
	return map[string]description{
		"PUT /instance/{i}/webhook/options": {
			id: "setWebhookOptions", summary: "Set how events reach the instance's webhook, and where else they go.", about: aboutOptions + " The webhook need not exist.",
			in: body[optionsRequest](), example: `{"durable":true,"order":"chat","headers":{"X-Api-Key":"secret"},"signing":{"enabled":true},"endpoints":[{"id":"crm","url":"https://example.org/crm","events":{"messagesUpsert":true}}]}`,
			out: body[instance.Options](), codes: codes{"INVALID_WEBHOOK", "DISK_FULL"},
		},
		"GET /instance/{i}/webhook/options": {
			id: "getWebhookOptions", summary: "Show the options of the instance's webhook, without secrets.", out: body[instance.Options](), codes: codes{"RECORD_DAMAGED"},
		},
		"DELETE /instance/{i}/webhook/options": {
			id: "deleteWebhookOptions", summary: "Take the options of the instance's webhook back to the defaults.", about: aboutDrop, out: body[instance.Options](), codes: codes{"DISK_FULL"},
		},
		"POST /instance/{i}/webhook/options/rotate-secret": {
			id: "rotateWebhookSecret", summary: "Replace the signing secret of the webhook, or of an endpoint.", about: rotate, query: []string{endpointID},
			out: body[instance.Options](), codes: codes{"ENDPOINT_NOT_FOUND", "SIGNING_OFF", "RECORD_DAMAGED", "DISK_FULL"},
		},
		"PUT /webhook/options": {
			id: "setGlobalWebhookOptions", summary: "Set how events reach the global webhook.",
			about: aboutOptions + " Batch events are durable in any case: durable, order and maxAge are about instance events.",
			in:    body[globalOptionsRequest](), example: `{"durable":true,"maxAge":"24h","headers":{"Authorization":"Bearer secret"},"signing":{"enabled":true}}`,
			out: body[instance.GlobalOptions](), codes: codes{"INVALID_WEBHOOK", "DISK_FULL"},
		},
		"GET /webhook/options": {
			id: "getGlobalWebhookOptions", summary: "Show the options of the global webhook, without secrets.", out: body[instance.GlobalOptions](), codes: codes{"RECORD_DAMAGED"},
		},
		"DELETE /webhook/options": {
			id: "deleteGlobalWebhookOptions", summary: "Take the options of the global webhook back to the defaults.", about: aboutDrop, out: body[instance.GlobalOptions](), codes: codes{"DISK_FULL"},
		},
		"POST /webhook/options/rotate-secret": {
			id: "rotateGlobalWebhookSecret", summary: "Replace the signing secret of the global webhook.", about: rotate,
			out: body[instance.GlobalOptions](), codes: codes{codeInvalidQuery, "SIGNING_OFF", "RECORD_DAMAGED", "DISK_FULL"},
		},
	}
}

// optionsTypes are the names of what options are made of.
func optionsTypes() map[reflect.Type]openapi.Type {
	return map[reflect.Type]openapi.Type{
		body[instance.Options]():       {Name: "WebhookOptions", Words: "GlobalWebhookOptions", About: "How the events of an instance are delivered, without secrets."},
		body[optionsRequest]():         {Name: "WebhookOptionsRequest", Words: "WebhookOptions"},
		body[instance.GlobalOptions](): {Name: "GlobalWebhookOptions", About: "How events are delivered to the global webhook, without secrets."},
		body[globalOptionsRequest]():   {Name: "GlobalWebhookOptionsRequest", Words: "GlobalWebhookOptions"},
		body[instance.Endpoint]():      {Name: "WebhookEndpoint", About: "A further receiver of an instance's events."},
		body[endpointRequest]():        {Name: "WebhookEndpointRequest", Words: "WebhookEndpoint"},
		body[instance.Filter]():        {Name: "WebhookFilter", About: "What the webhook and its endpoints receive; what is false they do not."},
		body[filterRequest]():          {Name: "WebhookFilterRequest", Words: "WebhookFilter"},
		body[instance.Signing]():       {Name: "WebhookSigning", About: "Whether deliveries are signed, as Standard Webhooks describe."},
		body[signingRequest]():         {Name: "WebhookSigningRequest", Words: "WebhookSigning"},
		body[event.Order]():            {Name: "WebhookOrder", About: "What a receiver may rely on.", Schema: openapi.Words(event.OrderNone, event.OrderChat, event.OrderInstance)},
	}
}

// optionsFields are those of how events are delivered.
func optionsFields() openapi.Fields {
	headers := say("Further headers of every delivery, 16 at most, by name. Values are visible ASCII with spaces between, up to 4096 characters; they are shown as ***, which keeps the one that the header has. Headers that deliveries have of their own, those of the connection, content-* and webhook-* are refused.",
		object{"X-Api-Key": "***"}, object{"maxProperties": instance.MaxHeaders})
	return openapi.Fields{
		"GlobalWebhookOptions.durable": say("Whether an event is stored with what it tells of, and tried until it is accepted or maxAge is over; else it is tried once.", false),
		"GlobalWebhookOptions.order":   say("none: as fast as possible. chat: those of one chat one after the other. instance: all of an instance so. Others than none only where durable is true.", string(event.OrderNone)),
		"GlobalWebhookOptions.maxAge":  say("How long a durable event is tried, from 1s to 720h; fixed when it is made.", instance.DefaultMaxAge),
		"GlobalWebhookOptions.headers": headers,
		"GlobalWebhookOptions.signing": say("Whether deliveries are signed.", nil),
		"WebhookOptions.filter":        say("What the webhook and the endpoints receive.", nil),
		"WebhookOptions.endpoints":     say("Further receivers, each judged alone. They are there without a webhook too.", nil, openapi.Items(0, instance.MaxEndpoints)),

		"WebhookSigning.enabled": say("Whether webhook-id, webhook-timestamp and webhook-signature are sent.", true),
		"WebhookSigning.secret":  say("The secret, whsec_ and base64; only in the answer to the request that made it.", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="),

		"WebhookFilter.groups":      say("What happens in groups.", true),
		"WebhookFilter.status":      say("What contacts show as their status.", false),
		"WebhookFilter.newsletters": say("What happens in newsletters, and the event news.letter.", true),
		"WebhookFilter.broadcasts":  say("What comes by a broadcast list that the account is on.", true),
		"WebhookFilter.fromMe":      say("Messages that the account itself sent, of messages.upsert.", false),

		"WebhookEndpoint.id":      say("A name of the caller's choice, in capitals or small letters as it is given.", "crm", openapi.Chars(1, instance.MaxEndpointID), openapi.Pattern("^[A-Za-z0-9._-]{1,64}$")),
		"WebhookEndpoint.url":     say("An http or https URL without user and password.", "https://example.org/crm", openapi.Format("uri"), openapi.Chars(1, instance.MaxURL)),
		"WebhookEndpoint.enabled": say("Whether events are sent at all; true when absent.", true),
		"WebhookEndpoint.events":  say("Which events are sent, by flag. A flag that is not there is off.", object{"messagesUpsert": true}, object{"propertyNames": openapi.OneOf(flags()...)}),
		"WebhookEndpoint.headers": headers,
		"WebhookEndpoint.signing": say("Whether its deliveries are signed, with a secret of its own.", nil),

		"rotateWebhookSecret.?endpointId": say("The endpoint whose secret is meant; the webhook itself when absent.", "crm"),
	}
}
