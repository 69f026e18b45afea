package httpapi

import (
	"postern/httpapi/openapi"
	"postern/whatsapp/proxy"
)

func proxyDescriptions() map[string]description {
	return map[string]description{
		"PUT /instance/{i}/proxy": {
			id: "setProxy", summary: "Set the proxy through which the instance connects to WhatsApp.",
			about: "WhatsApp is first dialled through it; when that fails, nothing is changed. Then the instance reconnects, and never again dials without it. Files fetched from a URL for sending do not go through it.",
			in:    body[proxyRequest](), example: `{"url":"socks5://user:password@proxy.example.org:1080"}`,
			out: body[proxyView](), codes: codes{"INVALID_PROXY", codeProxyUnreachable, "INSTANCE_NOT_CONNECTED", "DISK_FULL"},
		},
		"GET /instance/{i}/proxy": {
			id: "getProxy", summary: "Show the instance's proxy, without its password.", out: body[proxyView](), codes: codes{"PROXY_NOT_FOUND", "RECORD_DAMAGED"},
		},
		"DELETE /instance/{i}/proxy": {
			id: "deleteProxy", summary: "Delete the instance's proxy.",
			about: "The instance reconnects through the proxy that the operator set for all instances, or directly when there is none. The call may be repeated.",
			out:   body[deletedProxy](), codes: codes{"DISK_FULL"},
		},
		"POST /instance/{i}/proxy/test": {
			id: "testProxy", summary: "Dial WhatsApp through the instance's proxy.",
			about: "Uses the instance's own proxy, or else the one that the operator set for all instances. Nothing is changed; the answer has the result.",
			out:   body[proxyTrial](), codes: codes{"PROXY_NOT_FOUND", "RECORD_DAMAGED", "INSTANCE_NOT_CONNECTED"},
		},
		"POST /admin/proxies/test": {
			id: "testProxies", summary: "Dial WhatsApp through the proxies of all instances.",
			about: "Each proxy is tried once, for up to five seconds; at most 100 proxies, those of most instances first. Nothing is changed.",
			out:   body[proxyTrials](), codes: codes{"INSTANCE_NOT_CONNECTED"},
		},
	}
}

func proxyFields() openapi.Fields {
	return openapi.Fields{
		"ProxyRequest.url": say("Scheme http (CONNECT), https (CONNECT inside TLS) or socks5, with user and password where the proxy requires them, percent-encoded. The proxy resolves host names. Addresses of metadata services are refused, private ones are not.",
			"socks5://user:password@proxy.example.org:1080", openapi.Format("uri"), openapi.Chars(1, proxy.MaxURL)),
		"ProxyRequest.for":          say("What goes through it: the socket (login, pairing, messages), media (files to and from WhatsApp), or both, which is the default.", []any{"socket", "media"}, openapi.Items(1, len(proxy.Uses()))),
		"Proxy.url":                 say("Its URL, with *** in place of the password.", "socks5://user:***@proxy.example.org:1080"),
		"Proxy.for":                 say("What goes through it.", []any{"socket", "media"}),
		"DeletedProxy.instanceName": say("The instance's name.", exampleName),
		"DeletedProxy.deleted":      say("Whether there was one.", true),
		"ProxyTrials.proxies":       say("The results, those of most instances first.", nil),
		"ProxyTrials.untried":       say("How many proxies were not tried, beyond 100.", 0, openapi.AtLeast(0)),
		"SharedTrial.url":           say("The URL of the proxy, without user and password.", "socks5://proxy.example.org:1080"),
		"SharedTrial.instances":     say("The instances that have it.", []string{exampleName}),
		"SharedTrial.trial":         say("The result.", nil),
		"ProxyTrial.ok":             say("Whether WhatsApp answered through it.", true),
		"ProxyTrial.latencyMs":      say("The duration of the attempt, in milliseconds.", 180, openapi.AtLeast(0)),
		"ProxyTrial.step":           say("The step that failed; null when none did.", "auth"),
		"ProxyTrial.error":          say("Why it failed; null when it did not.", "the proxy failed at auth: it requires a user and password"),
	}
}
