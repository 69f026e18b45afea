package instances

import (
	"reflect"

	"postern/console/trouble"
	"postern/event"
	"postern/httpapi/openapi"
	"postern/httpapi/rest"
	"postern/httpapi/strict"
	"postern/instance"
	"postern/instance/pace"
	"postern/instance/webhooks"
	"postern/whatsapp/proxy"
)

// Fields describes parameters, and the fields of bodies that need more than their tags: a constant or a long text.
func Fields() openapi.Fields {
	count, clock := openapi.Range(1, pace.MaxCount), openapi.Pattern("^([01][0-9]|2[0-3]):[0-5][0-9]$")
	headers := rest.Say("Additional headers of every delivery by name, 16 at most. Values are up to 4096 characters of visible ASCII and inner spaces; they are shown as ***, which keeps the stored value. Headers that deliveries set themselves, connection headers, content-* and webhook-* are refused.",
		openapi.Object{"X-Api-Key": "***"}, openapi.Object{"maxProperties": webhooks.MaxHeaders})
	return openapi.Fields{
		"GlobalWebhookOptions.media":         rest.Say("link: events of stored messages with a file have a link to it. Absent: not set, as none.", string(event.MediaAsLink), openapi.OneOf(event.MediaNone, event.MediaAsLink)),
		"GlobalWebhookOptionsRequest.media":  rest.Say("link: events of stored messages with a file have a link to it; none when absent.", string(event.MediaAsLink), openapi.OneOf(event.MediaNone, event.MediaAsLink)),
		"CreateInstanceRequest.instanceName": rest.Say("Letters, digits, dots, hyphens and underscores, not starting with a dot; instance- and a UUID when absent. Words of older paths are not allowed.", rest.ExampleName, openapi.Chars(1, 255), openapi.Pattern(NamePattern)),
		"listInstances.?state":               rest.Say("Only those with this connectionStatus, in any case; the parameter may be repeated.", []any{"online"}, openapi.Kind("array"), openapi.Object{"items": openapi.Object{"type": "string"}}),
		"listInstances.?trouble":             rest.Say("Only those with this kind of trouble; the parameter may be repeated.", []any{"INSTANCE_OFFLINE"}, openapi.Kind("array"), openapi.Object{"items": openapi.Object{"type": "string", "enum": trouble.Kinds()}}),
		"listInstances.?tag":                 rest.Say("Only those with this tag; if the parameter is repeated, with all of them.", "north"),
		"listInstances.?query":               rest.Say("Only those with this text in the name, the description, the number or a tag; case and accents are ignored.", "shop"),
		"listInstances.?limit":               rest.Say("The maximum number of instances of a page; with it, or a cursor, the answer is a page.", 100, openapi.Kind("integer"), openapi.Range(1, maxInstances)),
		"?requestId":                         rest.Say("The id of the request that exported the instance: only that export is undone. Absent: any export.", rest.ExampleUUID),
		"ImportInstanceForm.name":            rest.Say("A new name for the instance; absent: its old name.", rest.ExampleName, openapi.Chars(1, 255), openapi.Pattern(NamePattern)),

		"PasskeyState.step":        rest.Say("required: a signature with the passkey is needed. compare: the code must be compared with the phone's. done: WhatsApp completes the link.", string(event.PasskeyCompare)),
		"StatusAnswer.restriction": rest.Say("The restriction of the account by WhatsApp, as announced or inferred from refusals; null when there is none.", nil),

		"ChallengeAnswer.state":             rest.Say("The expected step: an assertion, or the confirmation of the code.", awaitsAssertion, openapi.OneOf(awaitsAssertion, awaitsConfirmation)),
		"Credential.id":                     rest.Say("The id of the credential.", "AAAA", openapi.Chars(1, MaxAssertionPart)),
		"Credential.rawId":                  rest.Say("The same in base64url.", "AAAA", openapi.Chars(1, MaxAssertionPart)),
		"Credential.clientExtensionResults": rest.Say("What extensions answered; not used.", openapi.Object{}),
		"ChallengeAnswer.publicKey":         rest.Say("The options for navigator.credentials.get(); null when a code must be compared.", openapi.Object{"challenge": "AAAA"}, openapi.As[strict.Object](), openapi.OrNull()),

		"AssertionRequest.id":                     rest.Say("The id of the credential.", "AAAA", openapi.Chars(1, MaxAssertionPart)),
		"AssertionRequest.rawId":                  rest.Say("The same in base64url.", "AAAA", openapi.Chars(1, MaxAssertionPart)),
		"AssertionRequest.clientExtensionResults": rest.Say("What extensions answered; not used.", openapi.Object{}),
		"AssertionResponse.clientDataJSON":        rest.Say("In base64url.", "e30", openapi.Chars(1, MaxAssertionPart)),
		"AssertionResponse.authenticatorData":     rest.Say("In base64url.", "AAAA", openapi.Chars(1, MaxAssertionPart)),
		"AssertionResponse.signature":             rest.Say("In base64url.", "AAAA", openapi.Chars(1, MaxAssertionPart)),
		"AssertionResponse.userHandle":            rest.Say("In base64url, where there is one.", "AAAA", openapi.Chars(1, MaxAssertionPart)),

		"WebhookRequest.events": rest.Say("Which events are sent, by flag. Flags that were never set are off.", openapi.Object{"messagesUpsert": true}, openapi.Object{"propertyNames": openapi.OneOf(flags()...)}),
		"Webhook.events":        rest.Say("The flags that were set.", openapi.Object{"messagesUpsert": true}),

		"TestWebhookRequest.event": rest.Say("The event to send an example of.", string(event.MessagesUpsert), openapi.OneOf(rest.EventKinds(event.Instance)...)),

		"InstanceLimits.perMinute":         rest.Say("Messages in any 60 seconds.", 12, count),
		"InstanceLimits.perHour":           rest.Say("Messages in any 60 minutes.", 200, count),
		"InstanceLimits.perDay":            rest.Say("Messages per local day.", 1000, count),
		"InstanceLimits.newContactsPerDay": rest.Say("New contacts per local day: people with no stored message from them and no privacy token.", 50, openapi.Range(0, pace.MaxCount)),
		"WarmUp.from":                      rest.Say("The limit of the first day.", 20, count),
		"WarmUp.to":                        rest.Say("The limit of the last day, not less than from.", 500, count),
		"WarmUp.days":                      rest.Say("How many days it takes.", 14, openapi.Range(1, pace.MaxDays)),
		"QuietHours.from":                  rest.Say("When they begin, as HH:MM.", "22:00", clock),
		"QuietHours.to":                    rest.Say("When they end; on the next day when earlier than from.", "07:00", clock),
		"Jitter.min":                       rest.Say("The shortest, in milliseconds.", 2000, openapi.Range(0, pace.MaxJitter)),
		"Jitter.max":                       rest.Say("The longest, in milliseconds.", 6000, openapi.Range(0, pace.MaxJitter)),

		"GlobalWebhookOptions.durable": rest.Say("Whether events are stored in the commit that they report, and tried until accepted or older than maxAge; otherwise they are tried once.", false),
		"GlobalWebhookOptions.order":   rest.Say("none: as fast as possible. chat: one at a time per chat. instance: one at a time per instance. chat and instance require durable.", string(event.OrderNone)),
		"GlobalWebhookOptions.headers": headers,
		"WebhookOptions.endpoints":     rest.Say("Further receivers, each delivered to independently. They also work without a webhook.", nil, openapi.Items(0, webhooks.MaxEndpoints)),

		"WebhookEndpoint.id":      rest.Say("A name chosen by the caller, case-sensitive.", "crm", openapi.Chars(1, webhooks.MaxEndpointID), openapi.Pattern("^[A-Za-z0-9._-]{1,64}$")),
		"WebhookEndpoint.url":     rest.Say("An http or https URL without user and password.", "https://example.org/crm", openapi.Format("uri"), openapi.Chars(1, webhooks.MaxURL)),
		"WebhookEndpoint.events":  rest.Say("Which events are sent, by flag. Absent flags are off.", openapi.Object{"messagesUpsert": true}, openapi.Object{"propertyNames": openapi.OneOf(flags()...)}),
		"WebhookEndpoint.headers": headers,

		"rotateWebhookSecret.?endpointId": rest.Say("The endpoint whose secret to rotate; the webhook itself when absent.", "crm"),

		"{token}":                     rest.Say("The secret of the link.", "q2Zk"),
		"PortalLinkRequest.expiresIn": rest.Say("How long the link lasts, in seconds.", 3600, PortalLinkLife().Schema()),

		"ProxyRequest.url": rest.Say("Scheme http (CONNECT), https (CONNECT inside TLS) or socks5, with user and password where the proxy requires them, percent-encoded. The proxy resolves host names. Addresses of metadata services are refused, private ones are not.",
			"socks5://user:password@proxy.example.org:1080", openapi.Format("uri"), openapi.Chars(1, proxy.MaxURL)),
		"ProxyRequest.for": rest.Say("What goes through it: the socket (login, pairing, messages), media (files to and from WhatsApp), or both, which is the default.", []any{"socket", "media"}, openapi.Items(1, len(proxy.Uses()))),

		"Ignore.jids":         rest.Say("Single chats: people by number, JID or LID, which mean the same person, groups and newsletters by JID.", []any{"120363012345678901@newsletter"}, openapi.Items(0, instance.MaxIgnored)),
		"RejectCalls.message": rest.Say("A text for the caller, sent at most once an hour; empty: none.", "Please write.", openapi.Chars(0, event.MaxText)),
		"History.days":        rest.Say("How many days of history; 0: none.", 30, openapi.Range(0, instance.MaxHistoryDays)),
	}
}

// flags are the keys of a webhook's events.
func flags() (all []event.Flag) {
	for _, d := range event.Catalogue() {
		if d.Flag != "" {
			all = append(all, d.Flag)
		}
	}
	return all
}

// NamePattern is the pattern of instance names.
const NamePattern = `^[A-Za-z0-9_-][A-Za-z0-9._-]*$`

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
