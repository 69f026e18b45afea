package instances

import (
	"net/http"
	"slices"

	"postern/httpapi/openapi"
	"postern/httpapi/rest"
	"postern/instance"
	"postern/instance/pace"
	"postern/instance/webhooks"
)

// Routes returns the paths of the package, with their handlers and what the documents say about them.
func (a *API) Routes() []rest.Route {
	return slices.Concat(a.instanceRoutes(), a.connectionRoutes(), a.webhookRoutes(), a.portalRoutes(), a.proxyRoutes(), a.settingsRoutes(), a.limitsRoutes(), a.optionsRoutes())
}

// wrongNetworkConflict is codeWrongNetwork in the answers of requests that would
// connect, for openapi.Operation.Codes.
const wrongNetworkConflict = rest.CodeWrongNetwork + "/409"

func (a *API) instanceRoutes() []rest.Route {
	return []rest.Route{
		{
			Method: "POST", Path: "/instance", Auth: rest.GlobalKey, Secret: true, Right: rest.ScopeManage | rest.Everywhere, Handle: rest.Audited("instance.create", a.createInstance),
			ID: "createInstance", Summary: "Create an instance.", About: "It does not connect yet. The answer includes its token.",
			In: rest.TypeOf[CreateRequest](), Example: `{"instanceName":"sales","description":"Sales desk","externalAttributes":{"tenant":"7"}}`,
			Status: http.StatusCreated, Out: rest.TypeOf[CreatedInstance](), Codes: rest.Codes{"INSTANCE_EXISTS", "INVALID_INSTANCE", "DISK_FULL"},
		},
		{
			Method: "GET", Path: "/instance", Auth: rest.GlobalKey, Right: rest.ScopeRead, Handle: a.listInstances,
			ID: "listInstances", Summary: "List the instances.", About: "An array of those that the query selects; with limit or a cursor a page as of other lists, by id. Equal parameters are alternatives, except for tag; different ones must all hold.",
			Query: rest.Cursors("instanceName", "state", "trouble", "tag", "query"), Out: rest.TypeOf[[]ListedInstance](), Codes: rest.Codes{rest.CodeNoCursor, rest.CodeInvalidQuery},
		},
		{
			Method: "GET", Path: "/instance/{i}", Auth: rest.InstanceBearer, Right: rest.ScopeRead, Handle: a.showInstance,
			ID: "getInstance", Summary: "Show an instance.", Out: rest.TypeOf[ShownInstance](),
		},
		{
			Method: "PUT", Path: "/instance/{i}/tags", Auth: rest.InstanceBearer, Right: rest.ScopeManage, Handle: rest.Audited("instance.tags", a.setTags),
			ID: "setTags", Summary: "Replace the tags of an instance.", In: rest.TypeOf[tagsRequest](), Example: `{"tags":["north","paying"]}`,
			Out: rest.TypeOf[tagsAnswer](), Codes: rest.Codes{"INVALID_TAG"},
		},
		{
			Method: "DELETE", Path: "/instance/{i}", Auth: rest.InstanceBearer, Right: rest.ScopeManage, Handle: rest.Audited("instance.delete", a.deleteInstance),
			ID: "deleteInstance", Summary: "Delete an instance and all its stored data.", Query: []string{"force"},
			Out: rest.TypeOf[DeletedInstance](), Codes: rest.Codes{CodeInstanceInUse},
		},
		{
			Method: "PUT", Path: "/instance/{i}/refreshToken", Auth: rest.InstanceBearer, Secret: true, Right: rest.Never, Handle: rest.Audited("token.refresh", a.refreshToken),
			ID: "refreshInstanceToken", Summary: "Replace the instance's token with a new one.", About: "The old token becomes invalid at once, and WebSockets opened with it are closed.",
			In: rest.TypeOf[refreshRequest](), Example: `{"oldToken":"eyJhbGciOiJIUzI1NiJ9.e30.signature"}`, Out: rest.TypeOf[RotatedToken](), Codes: rest.Codes{"DISK_FULL"},
		},
		{
			Method: "PUT", Path: "/instance/{i}/token", Auth: rest.GlobalKey, Secret: true, Right: rest.Never, Handle: rest.Audited("token.create", a.issueInstanceToken),
			ID: "issueInstanceToken", Summary: "Issue a new token for an instance whose token expired or was lost.",
			Out: rest.TypeOf[RotatedToken](), Codes: rest.Codes{"INSTANCE_NOT_FOUND", "DISK_FULL"},
		},
		{
			Method: "POST", Path: "/instance/{i}/export", Auth: rest.GlobalKey, Right: rest.Never, Handle: rest.Audited("instance.export", a.exportInstance),
			ID: "exportInstance", Summary: "Export the account of an instance, for import by another Postern.",
			About: "The instance is disconnected and marked as moved before the first byte is sent, and no longer connects here. " +
				"If sending the answer fails, the export is undone automatically; otherwise DELETE undoes it.",
			In: rest.TypeOf[exportRequest](), Example: `{"messages":true}`, Media: rest.MediaBytes,
			Codes: rest.Codes{"INSTANCE_NOT_FOUND", "INSTANCE_NOT_CONNECTED", "INSTANCE_BUSY", "TRANSFER_RUNNING", rest.CodeRecipient, "DISK_FULL"},
		},
		{
			Method: "DELETE", Path: "/instance/{i}/export", Auth: rest.GlobalKey, Right: rest.Never, Handle: rest.Audited("instance.export.undo", a.undoExport),
			ID: "undoExport", Summary: "Undo an export that was never imported, and connect the instance.", Query: []string{"requestId"},
			Status: http.StatusNoContent, Codes: rest.Codes{"INSTANCE_NOT_FOUND", "INSTANCE_NOT_MOVED", "TRANSFER_RUNNING", "INSTANCE_EXISTS"},
		},
		{
			Method: "POST", Path: "/admin/import", Auth: rest.GlobalKey, Right: rest.Never, Handle: rest.Audited("instance.import", a.importInstance),
			ID: "importInstance", Summary: "Create an instance from an exported account, and connect it.",
			About: "attachment is the decrypted file. The whole file is checked first and stored in one commit.",
			Form:  []string{"name"}, Status: http.StatusCreated, Out: rest.TypeOf[ImportedInstance](),
			Codes: rest.Codes{"INVALID_ARCHIVE", "INSTANCE_EXISTS", "INVALID_INSTANCE", "INVALID_WEBHOOK", "INVALID_PROXY", "INVALID_LIMITS", "INVALID_ARGUMENT", "INVALID_RECIPIENT", "TOO_DEEP", "TRANSFER_RUNNING", "DISK_FULL"},
		},
	}
}

func (a *API) connectionRoutes() []rest.Route {
	connect := rest.Route{
		Method: "GET", Path: "/instance/{i}/connect", Auth: rest.InstanceBearer, Right: rest.ScopePair, Handle: a.connect,
		ID: "connectInstance", Summary: "Connect, and wait for the first code to scan or for the login.",
		About: "The codes change every few seconds; the event `qrcode.updated` has each one.", Query: []string{"network"}, Out: rest.TypeOf[ConnectAnswer](), Codes: rest.Codes{"INSTANCE_MOVED", wrongNetworkConflict, "CONNECT_TIMEOUT", "INSTANCE_NOT_CONNECTED", "CLIENT_OUTDATED"},
	}
	start := connect
	start.Method, start.ID = "POST", "startConnection"
	pairing := rest.Codes{wrongNetworkConflict, "CONNECT_TIMEOUT", "INVALID_RECIPIENT", "ALREADY_CONNECTED", "WHATSAPP_TIMEOUT", "REFUSED_BY_WHATSAPP", "INSTANCE_NOT_CONNECTED", "CLIENT_OUTDATED"}
	passkey := rest.Codes{wrongNetworkConflict, "PASSKEY_NOT_EXPECTED", "PASSKEY_REFUSED", "CONNECT_TIMEOUT", "ALREADY_CONNECTED", "WHATSAPP_TIMEOUT", "INSTANCE_NOT_CONNECTED"}
	return []rest.Route{
		connect,
		start,
		{
			Method: "GET", Path: "/instance/{i}/connect/code/{phone}", Auth: rest.InstanceBearer, Right: rest.ScopePair, Handle: a.pairByPath,
			ID: "getPairingCode", Summary: "Ask for a code to type on a phone.", Query: []string{"network"}, Out: rest.TypeOf[PairingCode](), Codes: pairing,
		},
		{
			Method: "POST", Path: "/instance/{i}/connect/code", Auth: rest.InstanceBearer, Right: rest.ScopePair, Handle: a.pairByBody,
			ID: "createPairingCode", Summary: "Ask for a code to type on a phone.", Query: []string{"network"},
			In: rest.TypeOf[phoneRequest](), Example: `{"phoneNumber":"4915112345678"}`, Out: rest.TypeOf[PairingCode](), Codes: pairing,
		},
		{
			Method: "POST", Path: "/instance/{i}/connect/passkey/challenge", Auth: rest.InstanceBearer, Right: rest.ScopePair, Handle: a.passkeyChallenge,
			ID: "getPasskeyChallenge", Summary: "Wait for the passkey challenge of a pairing.", Out: rest.TypeOf[ChallengeAnswer](), Codes: passkey,
		},
		{
			Method: "GET", Path: "/instance/{i}/connect/passkey/script", Auth: rest.InstanceBearer, Right: rest.ScopePair, Handle: a.passkeyScript,
			ID: "getPasskeyScript", Summary: "Get a script to paste on web.whatsapp.com, which signs with the passkey.",
			About: "One line for the browser's developer console. It copies the answer to the clipboard, in the form that the assertion route accepts.",
			Media: "text/javascript", Codes: rest.Codes{"PASSKEY_NOT_EXPECTED"},
		},
		{
			Method: "POST", Path: "/instance/{i}/connect/passkey/assertion", Auth: rest.InstanceBearer, Right: rest.ScopePair, Handle: a.passkeyAssertion,
			ID: "answerPasskeyChallenge", Summary: "Submit the authenticator's answer.", In: rest.TypeOf[assertionRequest](),
			Example: `{"id":"AAAA","rawId":"AAAA","type":"public-key","response":{"clientDataJSON":"e30","authenticatorData":"AAAA","signature":"AAAA"}}`,
			Status:  http.StatusAccepted, Out: rest.TypeOf[passkeyAnswer](), Codes: passkey.And(CodeInvalidAssertion),
		},
		{
			Method: "POST", Path: "/instance/{i}/connect/passkey/confirm", Auth: rest.InstanceBearer, Right: rest.ScopePair, Handle: a.confirmPasskey,
			ID: "confirmPasskey", Summary: "Confirm that the code matches the one on the phone.", Status: http.StatusAccepted, Out: rest.TypeOf[passkeyAnswer](), Codes: passkey,
		},
		{
			Method: "GET", Path: "/instance/{i}/qr.png", Auth: rest.InstanceBearer, Right: rest.ScopePair, Handle: a.showCode,
			ID: "getQRCode", Summary: "Get the code to scan, as an image.", Media: "image/png", Codes: rest.Codes{wrongNetworkConflict, "CONNECT_TIMEOUT", "ALREADY_CONNECTED", CodeNoQRCode, "INSTANCE_NOT_CONNECTED", "CLIENT_OUTDATED"},
		},
		{
			Method: "GET", Path: "/instance/{i}/connection/status", Auth: rest.InstanceBearer, Right: rest.ScopeRead | rest.ScopePair, Handle: a.connectionStatus,
			ID: "getConnectionStatus", Summary: "Show the state of the connection.", Out: rest.TypeOf[StatusAnswer](),
		},
		{
			Method: "DELETE", Path: "/instance/{i}/logout", Auth: rest.InstanceBearer, Right: rest.ScopeManage, Handle: rest.Audited("instance.logout", a.logout),
			ID: "logoutInstance", Summary: "Unlink the instance from its phone.", Query: []string{"network"}, Out: rest.TypeOf[LogoutAnswer](), Codes: rest.Codes{"INSTANCE_MOVED", wrongNetworkConflict},
		},
		{
			Method: "POST", Path: "/instance/{i}/restart", Auth: rest.InstanceBearer, Right: rest.ScopeManage, Handle: a.restart,
			ID: "restartInstance", Summary: "Drop and reopen the connection.",
			About: "A logged-out account whose keys are still kept (whatsapp.keep_logged_out) is tried again.",
			Out:   rest.TypeOf[StatusAnswer](), Codes: rest.Codes{wrongNetworkConflict, "INSTANCE_NOT_CONNECTED", "CONNECT_TIMEOUT"},
		},
		{
			Method: "POST", Path: "/instance/{i}/app-state/reset", Auth: rest.InstanceBearer, Right: rest.ScopeManage, Handle: a.resetAppState,
			ID: "resetAppState", Summary: "Reset the app state that the account's devices share.",
			About: "The last resort when the app state cannot be verified: the phone unlinks all devices of the account, including this one.",
			Out:   rest.TypeOf[ResetAnswer](), Codes: rest.Codes{"INSTANCE_NOT_CONNECTED", "WHATSAPP_TIMEOUT", "REFUSED_BY_WHATSAPP"},
		},
	}
}

func (a *API) webhookRoutes() []rest.Route {
	return []rest.Route{
		{
			Method: "PUT", Path: "/instance/{i}/webhook", Auth: rest.InstanceBearer, Right: rest.ScopeWebhook, Handle: rest.Audited(rest.ActionWebhook, a.putWebhook),
			ID: "setWebhook", Summary: "Set the instance's webhook, or a part of it.", About: "Fields absent from the body are not changed.",
			In: rest.TypeOf[webhookRequest](), Example: `{"url":"https://example.org/hook","enabled":true,"events":{"messagesUpsert":true,"sendMessage":true}}`,
			Out: rest.TypeOf[webhooks.Webhook](), Codes: rest.Codes{"INVALID_WEBHOOK", "DISK_FULL"},
		},
		{
			Method: "GET", Path: "/instance/{i}/webhook", Auth: rest.InstanceBearer, Right: rest.ScopeWebhook, Handle: a.showWebhook,
			ID: "getWebhook", Summary: "Show the instance's webhook.", Out: rest.TypeOf[webhooks.Webhook](), Codes: rest.Codes{"WEBHOOK_NOT_FOUND"},
		},
		{
			Method: "POST", Path: "/instance/{i}/webhook/test", Auth: rest.InstanceBearer, Right: rest.ScopeWebhook, Handle: a.tryWebhook,
			ID: "testWebhook", Summary: "Send an example event to the webhook.", About: "The event flags are ignored; the answer has the receiver's response.",
			In: rest.TypeOf[TryRequest](), Example: `{"event":"messages.upsert"}`, Out: rest.TypeOf[TryAnswer](), Codes: rest.Codes{"WEBHOOK_NOT_FOUND", CodeUnknownEvent, "RECORD_DAMAGED"},
		},
	}
}

func (a *API) portalRoutes() []rest.Route {
	of := map[string]rest.Route{}
	for _, r := range a.connectionRoutes() {
		of[r.Method+" "+r.Path] = r
	}
	by := func(method, path, id, summary string) rest.Route { // which does the same for the instance of the link
		r := of[method+" /instance/{i}"+path]
		r.ID, r.Summary, r.About, r.Query = id, summary, "As `"+r.Method+" "+r.Path+"`.", nil
		r.Path, r.Auth, r.Right = "/portal/{token}"+path, rest.PortalLink, rest.Never
		r.Handle, r.Codes = forCustomer(r.Handle), forCustomerCodes(r.Codes)
		return r
	}
	code := by("POST", "/connect/code", "pairByPortal", "Ask for a code to type on a phone.")
	code.About += " A link may request at most 5 codes in 15 minutes, all links of an instance together 20 a day."
	code.Codes = append(code.Codes, rest.CodeRateLimited)
	return []rest.Route{
		{
			Method: "POST", Path: "/instance/{i}/portal-link", Auth: rest.InstanceBearer, Right: rest.ScopePair, Handle: rest.Audited("portal.create", a.makePortalLink),
			ID: "createPortalLink", Summary: "Create a link that lets a person without a credential pair the instance, and nothing else.",
			About: "Its page shows the name of the instance, its state and the steps to link it. It expires at expiresAt, or when the key or token that created it becomes invalid.",
			In:    rest.TypeOf[portalLinkRequest](), Example: `{"expiresIn":3600}`, Status: http.StatusCreated, Out: rest.TypeOf[MadePortalLink](), Codes: rest.Codes{rest.CodeExpiresIn, rest.CodeLimitReached, "DISK_FULL"},
			Advice: map[string]string{rest.CodeExpiresIn: PortalLinkLife().Advice()},
		},
		{
			Method: "GET", Path: "/portal/{token}", Auth: rest.Public, Right: rest.Never, Handle: a.portalPage,
			ID: "getPortal", Summary: "Get the page of a portal link.", Media: "text/html", Also: []openapi.Answer{{Status: http.StatusNotFound, Media: "text/html", About: "The same page, with the message that the link has expired."}},
		},
		{
			Method: "GET", Path: "/portal/{token}/state", Auth: rest.PortalLink, Right: rest.Never, Handle: a.showPortal,
			ID: "getPortalState", Summary: "Get the state that the page of a portal link shows.", Out: rest.TypeOf[PortalState](),
		},
		{
			Method: "GET", Path: "/portal/{token}/logo", Auth: rest.PortalLink, Right: rest.Never, Handle: a.portalLogo,
			ID: "getPortalLogo", Summary: "Get the operator's logo, for the page of a portal link.", Media: "image/*", Codes: rest.Codes{rest.CodeNotFound},
		},
		by("GET", "/connect", "connectByPortal", "Connect the instance of a portal link. ownerJid is null."),
		code,
		by("GET", "/connect/passkey/script", "getPasskeyScriptByPortal", "Get the script that requests the passkey's signature."),
		by("POST", "/connect/passkey/assertion", "answerPasskeyByPortal", "Submit the authenticator's answer."),
		by("POST", "/connect/passkey/confirm", "confirmPasskeyByPortal", "Confirm that the code matches the one on the phone."),
		{
			Method: "DELETE", Path: "/portal/{token}/connect", Auth: rest.PortalLink, Right: rest.Never, Handle: forCustomer(a.giveUpPairing),
			ID: "giveUpByPortal", Summary: "Cancel a pairing that is in progress. A linked account is not affected.", Status: http.StatusNoContent, Codes: forCustomerCodes(rest.Codes{"ALREADY_CONNECTED"}),
		},
	}
}

func (a *API) proxyRoutes() []rest.Route {
	return []rest.Route{
		{
			Method: "PUT", Path: "/instance/{i}/proxy", Auth: rest.InstanceBearer, Right: rest.ScopeManage, Handle: rest.Audited("proxy.change", a.putProxy),
			ID: "setProxy", Summary: "Set the proxy through which the instance connects to WhatsApp.",
			About: "WhatsApp is first dialled through it; when that fails, nothing is changed. Then the instance reconnects, and never again dials without it. Files fetched from a URL for sending do not go through it.",
			In:    rest.TypeOf[proxyRequest](), Example: `{"url":"socks5://user:password@proxy.example.org:1080"}`,
			Out: rest.TypeOf[ProxyView](), Codes: rest.Codes{"INVALID_PROXY", CodeProxyUnreachable, "INSTANCE_NOT_CONNECTED", "DISK_FULL"},
		},
		{
			Method: "GET", Path: "/instance/{i}/proxy", Auth: rest.InstanceBearer, Right: rest.ScopeManage, Handle: a.showProxy,
			ID: "getProxy", Summary: "Show the instance's proxy, without its password.", Out: rest.TypeOf[ProxyView](), Codes: rest.Codes{"PROXY_NOT_FOUND", "RECORD_DAMAGED"},
		},
		{
			Method: "DELETE", Path: "/instance/{i}/proxy", Auth: rest.InstanceBearer, Right: rest.ScopeManage, Handle: rest.Audited("proxy.delete", a.deleteProxy),
			ID: "deleteProxy", Summary: "Delete the instance's proxy.",
			About: "The instance reconnects through the proxy that the operator set for all instances, or directly when there is none. The call may be repeated.",
			Out:   rest.TypeOf[DeletedProxy](), Codes: rest.Codes{"DISK_FULL"},
		},
		{
			Method: "POST", Path: "/instance/{i}/proxy/test", Auth: rest.InstanceBearer, Right: rest.ScopeManage, Handle: a.tryProxy,
			ID: "testProxy", Summary: "Dial WhatsApp through the instance's proxy.",
			About: "Uses the instance's own proxy, or else the one that the operator set for all instances. Nothing is changed; the answer has the result.",
			Out:   rest.TypeOf[ProxyTrial](), Codes: rest.Codes{"PROXY_NOT_FOUND", "RECORD_DAMAGED", "INSTANCE_NOT_CONNECTED"},
		},
		{
			Method: "POST", Path: "/admin/proxies/test", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.tryProxies,
			ID: "testProxies", Summary: "Dial WhatsApp through the proxies of all instances.",
			About: "Each proxy is tried once, for up to five seconds; at most 100 proxies, those of most instances first. Nothing is changed.",
			Out:   rest.TypeOf[proxyTrials](), Codes: rest.Codes{"INSTANCE_NOT_CONNECTED"},
		},
	}
}

func (a *API) settingsRoutes() []rest.Route {
	return []rest.Route{
		{
			Method: "PUT", Path: "/instance/{i}/settings", Auth: rest.InstanceBearer, Right: rest.ScopeManage, Handle: rest.Audited("settings.change", a.putSettings),
			ID: "setSettings", Summary: "Set the automatic behaviour of the instance.", About: "Settings absent from the body are off.",
			In: rest.TypeOf[instance.Settings](), Example: `{"ignore":{"groups":true,"jids":["120363012345678901@newsletter"]},"rejectCalls":{"enabled":true,"message":"Please write."}}`,
			Out: rest.TypeOf[instance.Settings](), Codes: rest.Codes{"INVALID_ARGUMENT", "INVALID_RECIPIENT", rest.CodeRecipientNotAllowed, "DISK_FULL"},
		},
		{
			Method: "GET", Path: "/instance/{i}/settings", Auth: rest.InstanceBearer, Right: rest.ScopeRead | rest.ScopeManage, Handle: a.showSettings,
			ID: "getSettings", Summary: "Show the automatic behaviour of the instance.", Out: rest.TypeOf[instance.Settings](),
		},
	}
}

func (a *API) limitsRoutes() []rest.Route {
	return []rest.Route{
		{
			Method: "PUT", Path: "/instance/{i}/limits", Auth: rest.InstanceBearer, Right: rest.ScopeManage, Handle: rest.Audited("limits.change", a.putLimits),
			ID: "setLimits", Summary: "Set what the instance may send.", About: "Limits absent from the body are removed; `{}` removes all.",
			In:      rest.TypeOf[pace.Limits](),
			Example: `{"perMinute":12,"perHour":200,"perDay":1000,"newContactsPerDay":50,"quietHours":{"from":"22:00","to":"07:00"},"timezone":"Europe/Berlin"}`,
			Out:     rest.TypeOf[pace.Limits](), Codes: rest.Codes{"INVALID_LIMITS", "DISK_FULL"},
		},
		{
			Method: "GET", Path: "/instance/{i}/limits", Auth: rest.InstanceBearer, Right: rest.ScopeRead | rest.ScopeManage, Handle: a.showLimits,
			ID: "getLimits", Summary: "Show what the instance may send.", Out: rest.TypeOf[pace.Limits](),
		},
	}
}

// Texts that both scopes share.
const (
	aboutOptions = "Options absent from the body get their defaults. They apply to events from the answer on. " +
		"Values of headers are shown as `***`, and `***` keeps the stored value. Only the answer to the request that created a signing secret has it."
	aboutDrop = "Headers, secrets and endpoints are removed. Delivery stays durable when webhook.durable_default is set."
)

func (a *API) optionsRoutes() []rest.Route {
	const rotate = "For 24 hours deliveries are also signed with the previous secret. A further rotation keeps the newest two."
	return []rest.Route{
		{
			Method: "PUT", Path: "/instance/{i}/webhook/options", Auth: rest.InstanceBearer, Right: rest.ScopeWebhook, Handle: rest.Audited(rest.ActionOptions, a.putOptions),
			ID: "setWebhookOptions", Summary: "Set the delivery options of the instance's webhook, and further endpoints.", About: aboutOptions + " The webhook need not exist.",
			In: rest.TypeOf[optionsRequest](), Example: `{"durable":true,"order":"chat","headers":{"X-Api-Key":"secret"},"signing":{"enabled":true},"endpoints":[{"id":"crm","url":"https://example.org/crm","events":{"messagesUpsert":true}}]}`,
			Out: rest.TypeOf[webhooks.Options](), Codes: rest.Codes{"INVALID_WEBHOOK", "DISK_FULL"},
		},
		{
			Method: "GET", Path: "/instance/{i}/webhook/options", Auth: rest.InstanceBearer, Right: rest.ScopeWebhook, Handle: a.showOptions,
			ID: "getWebhookOptions", Summary: "Show the options of the instance's webhook, without secrets.", Out: rest.TypeOf[webhooks.Options](), Codes: rest.Codes{"RECORD_DAMAGED"},
		},
		{
			Method: "DELETE", Path: "/instance/{i}/webhook/options", Auth: rest.InstanceBearer, Right: rest.ScopeWebhook, Handle: rest.Audited("webhook.options.delete", a.dropOptions),
			ID: "deleteWebhookOptions", Summary: "Reset the options of the instance's webhook to the defaults.", About: aboutDrop, Out: rest.TypeOf[webhooks.Options](), Codes: rest.Codes{"DISK_FULL"},
		},
		{
			Method: "POST", Path: "/instance/{i}/webhook/options/rotate-secret", Auth: rest.InstanceBearer, Right: rest.ScopeWebhook, Handle: rest.Audited("webhook.secret.rotate", a.rotateSecret),
			ID: "rotateWebhookSecret", Summary: "Replace the signing secret of the webhook, or of an endpoint.", About: rotate, Query: []string{endpointID},
			Out: rest.TypeOf[webhooks.Options](), Codes: rest.Codes{"ENDPOINT_NOT_FOUND", "SIGNING_OFF", "RECORD_DAMAGED", "DISK_FULL"},
		},
		{
			Method: "PUT", Path: "/webhook/options", Auth: rest.GlobalKey, Right: rest.Never, Handle: rest.Audited(rest.ActionOptions, a.putGlobalOptions),
			ID: "setGlobalWebhookOptions", Summary: "Set the delivery options of the global webhook.",
			About: aboutOptions + " Batch events are always durable: durable, order and maxAge apply to instance events.",
			In:    rest.TypeOf[globalOptionsRequest](), Example: `{"durable":true,"maxAge":"24h","headers":{"Authorization":"Bearer secret"},"signing":{"enabled":true}}`,
			Out: rest.TypeOf[webhooks.GlobalOptions](), Codes: rest.Codes{"INVALID_WEBHOOK", "DISK_FULL"},
		},
		{
			Method: "GET", Path: "/webhook/options", Auth: rest.GlobalKey, Right: rest.Never, Handle: a.showGlobalOptions,
			ID: "getGlobalWebhookOptions", Summary: "Show the options of the global webhook, without secrets.", Out: rest.TypeOf[webhooks.GlobalOptions](), Codes: rest.Codes{"RECORD_DAMAGED"},
		},
		{
			Method: "DELETE", Path: "/webhook/options", Auth: rest.GlobalKey, Right: rest.Never, Handle: rest.Audited("webhook.options.delete", a.dropGlobalOptions),
			ID: "deleteGlobalWebhookOptions", Summary: "Reset the options of the global webhook to the defaults.", About: aboutDrop, Out: rest.TypeOf[webhooks.GlobalOptions](), Codes: rest.Codes{"DISK_FULL"},
		},
		{
			Method: "POST", Path: "/webhook/options/rotate-secret", Auth: rest.GlobalKey, Right: rest.Never, Handle: rest.Audited("webhook.secret.rotate", a.rotateGlobalSecret),
			ID: "rotateGlobalWebhookSecret", Summary: "Replace the signing secret of the global webhook.", About: rotate,
			Out: rest.TypeOf[webhooks.GlobalOptions](), Codes: rest.Codes{rest.CodeInvalidQuery, "SIGNING_OFF", "RECORD_DAMAGED", "DISK_FULL"},
		},
	}
}
