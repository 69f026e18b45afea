package instances

import (
	"postern/httpapi/openapi"
	"postern/httpapi/rest"
	"postern/whatsapp/proxy"
)

func proxyDescriptions() map[string]rest.Words {
	return map[string]rest.Words{
		"PUT /instance/{i}/proxy": {
			ID: "setProxy", Summary: "Set the proxy through which the instance connects to WhatsApp.",
			About: "WhatsApp is first dialled through it; when that fails, nothing is changed. Then the instance reconnects, and never again dials without it. Files fetched from a URL for sending do not go through it.",
			In:    rest.TypeOf[proxyRequest](), Example: `{"url":"socks5://user:password@proxy.example.org:1080"}`,
			Out: rest.TypeOf[ProxyView](), Codes: rest.Codes{"INVALID_PROXY", CodeProxyUnreachable, "INSTANCE_NOT_CONNECTED", "DISK_FULL"},
		},
		"GET /instance/{i}/proxy": {
			ID: "getProxy", Summary: "Show the instance's proxy, without its password.", Out: rest.TypeOf[ProxyView](), Codes: rest.Codes{"PROXY_NOT_FOUND", "RECORD_DAMAGED"},
		},
		"DELETE /instance/{i}/proxy": {
			ID: "deleteProxy", Summary: "Delete the instance's proxy.",
			About: "The instance reconnects through the proxy that the operator set for all instances, or directly when there is none. The call may be repeated.",
			Out:   rest.TypeOf[DeletedProxy](), Codes: rest.Codes{"DISK_FULL"},
		},
		"POST /instance/{i}/proxy/test": {
			ID: "testProxy", Summary: "Dial WhatsApp through the instance's proxy.",
			About: "Uses the instance's own proxy, or else the one that the operator set for all instances. Nothing is changed; the answer has the result.",
			Out:   rest.TypeOf[ProxyTrial](), Codes: rest.Codes{"PROXY_NOT_FOUND", "RECORD_DAMAGED", "INSTANCE_NOT_CONNECTED"},
		},
		"POST /admin/proxies/test": {
			ID: "testProxies", Summary: "Dial WhatsApp through the proxies of all instances.",
			About: "Each proxy is tried once, for up to five seconds; at most 100 proxies, those of most instances first. Nothing is changed.",
			Out:   rest.TypeOf[proxyTrials](), Codes: rest.Codes{"INSTANCE_NOT_CONNECTED"},
		},
	}
}

func ProxyFields() openapi.Fields {
	return openapi.Fields{
		"ProxyRequest.url": rest.Say("Scheme http (CONNECT), https (CONNECT inside TLS) or socks5, with user and password where the proxy requires them, percent-encoded. The proxy resolves host names. Addresses of metadata services are refused, private ones are not.",
			"socks5://user:password@proxy.example.org:1080", openapi.Format("uri"), openapi.Chars(1, proxy.MaxURL)),
		"ProxyRequest.for":          rest.Say("What goes through it: the socket (login, pairing, messages), media (files to and from WhatsApp), or both, which is the default.", []any{"socket", "media"}, openapi.Items(1, len(proxy.Uses()))),
		"Proxy.url":                 rest.Say("Its URL, with *** in place of the password.", "socks5://user:***@proxy.example.org:1080"),
		"Proxy.for":                 rest.Say("What goes through it.", []any{"socket", "media"}),
		"DeletedProxy.instanceName": rest.Say("The instance's name.", rest.ExampleName),
		"DeletedProxy.deleted":      rest.Say("Whether there was one.", true),
		"ProxyTrials.proxies":       rest.Say("The results, those of most instances first.", nil),
		"ProxyTrials.untried":       rest.Say("How many proxies were not tried, beyond 100.", 0, openapi.AtLeast(0)),
		"SharedTrial.url":           rest.Say("The URL of the proxy, without user and password.", "socks5://proxy.example.org:1080"),
		"SharedTrial.instances":     rest.Say("The instances that have it.", []string{rest.ExampleName}),
		"SharedTrial.trial":         rest.Say("The result.", nil),
		"ProxyTrial.ok":             rest.Say("Whether WhatsApp answered through it.", true),
		"ProxyTrial.latencyMs":      rest.Say("The duration of the attempt, in milliseconds.", 180, openapi.AtLeast(0)),
		"ProxyTrial.step":           rest.Say("The step that failed; null when none did.", "auth"),
		"ProxyTrial.error":          rest.Say("Why it failed; null when it did not.", "the proxy failed at auth: it requires a user and password"),
	}
}
