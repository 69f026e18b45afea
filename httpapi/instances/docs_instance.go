package instances

import (
	"net/http"

	"postern/event"
	"postern/httpapi/openapi"
	"postern/httpapi/rest"
	"postern/httpapi/strict"
	"postern/instance/webhooks"
)

// wrongNetworkConflict is codeWrongNetwork in the answers of requests that would
// connect, for openapi.Operation.Codes.
const wrongNetworkConflict = rest.CodeWrongNetwork + "/409"

func instanceDescriptions() map[string]rest.Words {
	return map[string]rest.Words{
		"POST /instance": {
			ID: "createInstance", Summary: "Create an instance.", About: "It does not connect yet. The answer includes its token.",
			In: rest.TypeOf[CreateRequest](), Example: `{"instanceName":"sales","description":"Sales desk","externalAttributes":{"tenant":"7"}}`,
			Status: http.StatusCreated, Out: rest.TypeOf[CreatedInstance](), Codes: rest.Codes{"INSTANCE_EXISTS", "INVALID_INSTANCE", "DISK_FULL"},
		},
		"GET /instance": {
			ID: "listInstances", Summary: "List the instances, or the one with a name.", Query: []string{"instanceName"}, Out: rest.TypeOf[[]ListedInstance](),
		},
		"GET /instance/{i}": {ID: "getInstance", Summary: "Show an instance.", Out: rest.TypeOf[ShownInstance]()},
		"DELETE /instance/{i}": {
			ID: "deleteInstance", Summary: "Delete an instance and all its stored data.", Query: []string{"force"},
			Out: rest.TypeOf[DeletedInstance](), Codes: rest.Codes{CodeInstanceInUse},
		},
		"PUT /instance/{i}/refreshToken": {
			ID: "refreshInstanceToken", Summary: "Replace the instance's token with a new one.", About: "The old token becomes invalid at once, and WebSockets opened with it are closed.",
			In: rest.TypeOf[refreshRequest](), Example: `{"oldToken":"eyJhbGciOiJIUzI1NiJ9.e30.signature"}`, Out: rest.TypeOf[RotatedToken](), Codes: rest.Codes{"DISK_FULL"},
		},
		"PUT /instance/{i}/token": {
			ID: "issueInstanceToken", Summary: "Issue a new token for an instance whose token expired or was lost.",
			Out: rest.TypeOf[RotatedToken](), Codes: rest.Codes{"INSTANCE_NOT_FOUND", "DISK_FULL"},
		},
		"POST /instance/{i}/export": {
			ID: "exportInstance", Summary: "Export the account of an instance, for import by another Postern.",
			About: "The instance is disconnected and marked as moved before the first byte is sent, and no longer connects here. " +
				"If sending the answer fails, the export is undone automatically; otherwise DELETE undoes it.",
			In: rest.TypeOf[exportRequest](), Example: `{"messages":true}`, Media: rest.MediaBytes,
			Codes: rest.Codes{"INSTANCE_NOT_FOUND", "INSTANCE_NOT_CONNECTED", "INSTANCE_BUSY", "TRANSFER_RUNNING", rest.CodeRecipient, "DISK_FULL"},
		},
		"DELETE /instance/{i}/export": {
			ID: "undoExport", Summary: "Undo an export that was never imported, and connect the instance.", Query: []string{"requestId"},
			Status: http.StatusNoContent, Codes: rest.Codes{"INSTANCE_NOT_FOUND", "INSTANCE_NOT_MOVED", "TRANSFER_RUNNING", "INSTANCE_EXISTS"},
		},
		"POST /admin/import": {
			ID: "importInstance", Summary: "Create an instance from an exported account, and connect it.",
			About: "attachment is the decrypted file. The whole file is checked first and stored in one commit.",
			Form:  []string{"name"}, Status: http.StatusCreated, Out: rest.TypeOf[ImportedInstance](),
			Codes: rest.Codes{"INVALID_ARCHIVE", "INSTANCE_EXISTS", "INVALID_INSTANCE", "INVALID_WEBHOOK", "INVALID_PROXY", "INVALID_LIMITS", "INVALID_ARGUMENT", "INVALID_RECIPIENT", "TOO_DEEP", "TRANSFER_RUNNING", "DISK_FULL"},
		},
	}
}

func connectionDescriptions() map[string]rest.Words {
	connect := rest.Words{
		ID: "connectInstance", Summary: "Connect, and wait for the first code to scan or for the login.",
		About: "The codes change every few seconds; the event `qrcode.updated` has each one.", Query: []string{"network"}, Out: rest.TypeOf[ConnectAnswer](), Codes: rest.Codes{"INSTANCE_MOVED", wrongNetworkConflict, "CONNECT_TIMEOUT", "CLIENT_OUTDATED"},
	}
	start := connect
	start.ID = "startConnection"
	pairing := rest.Codes{wrongNetworkConflict, "CONNECT_TIMEOUT", "INVALID_RECIPIENT", "ALREADY_CONNECTED", "WHATSAPP_TIMEOUT", "REFUSED_BY_WHATSAPP", "INSTANCE_NOT_CONNECTED", "CLIENT_OUTDATED"}
	passkey := rest.Codes{wrongNetworkConflict, "PASSKEY_NOT_EXPECTED", "PASSKEY_REFUSED", "CONNECT_TIMEOUT", "ALREADY_CONNECTED", "WHATSAPP_TIMEOUT", "INSTANCE_NOT_CONNECTED"}
	return map[string]rest.Words{
		"GET /instance/{i}/connect":  connect,
		"POST /instance/{i}/connect": start,
		"GET /instance/{i}/connect/code/{phone}": {
			ID: "getPairingCode", Summary: "Ask for a code to type on a phone.", Query: []string{"network"}, Out: rest.TypeOf[PairingCode](), Codes: pairing,
		},
		"POST /instance/{i}/connect/code": {
			ID: "createPairingCode", Summary: "Ask for a code to type on a phone.", Query: []string{"network"},
			In: rest.TypeOf[phoneRequest](), Example: `{"phoneNumber":"4915112345678"}`, Out: rest.TypeOf[PairingCode](), Codes: pairing,
		},
		"POST /instance/{i}/connect/passkey/challenge": {
			ID: "getPasskeyChallenge", Summary: "Wait for the passkey challenge of a pairing.", Out: rest.TypeOf[ChallengeAnswer](), Codes: passkey,
		},
		"GET /instance/{i}/connect/passkey/script": {
			ID: "getPasskeyScript", Summary: "Get a script to paste on web.whatsapp.com, which signs with the passkey.",
			About: "One line for the browser's developer console. It copies the answer to the clipboard, in the form that the assertion route accepts.",
			Media: "text/javascript", Codes: rest.Codes{"PASSKEY_NOT_EXPECTED"},
		},
		"POST /instance/{i}/connect/passkey/assertion": {
			ID: "answerPasskeyChallenge", Summary: "Submit the authenticator's answer.", In: rest.TypeOf[assertionRequest](),
			Example: `{"id":"AAAA","rawId":"AAAA","type":"public-key","response":{"clientDataJSON":"e30","authenticatorData":"AAAA","signature":"AAAA"}}`,
			Status:  http.StatusAccepted, Out: rest.TypeOf[passkeyAnswer](), Codes: passkey.And(CodeInvalidAssertion),
		},
		"POST /instance/{i}/connect/passkey/confirm": {
			ID: "confirmPasskey", Summary: "Confirm that the code matches the one on the phone.", Status: http.StatusAccepted, Out: rest.TypeOf[passkeyAnswer](), Codes: passkey,
		},
		"GET /instance/{i}/qr.png": {
			ID: "getQRCode", Summary: "Get the code to scan, as an image.", Media: "image/png", Codes: rest.Codes{wrongNetworkConflict, "CONNECT_TIMEOUT", "ALREADY_CONNECTED", CodeNoQRCode, "INSTANCE_NOT_CONNECTED", "CLIENT_OUTDATED"},
		},
		"GET /instance/{i}/connection/status": {ID: "getConnectionStatus", Summary: "Show the state of the connection.", Out: rest.TypeOf[StatusAnswer]()},
		"DELETE /instance/{i}/logout":         {ID: "logoutInstance", Summary: "Unlink the instance from its phone.", Query: []string{"network"}, Out: rest.TypeOf[LogoutAnswer](), Codes: rest.Codes{"INSTANCE_MOVED", wrongNetworkConflict}},
		"POST /instance/{i}/app-state/reset": {
			ID: "resetAppState", Summary: "Reset the app state that the account's devices share.",
			About: "The last resort when the app state cannot be verified: the phone unlinks all devices of the account, including this one.",
			Out:   rest.TypeOf[ResetAnswer](), Codes: rest.Codes{"INSTANCE_NOT_CONNECTED", "WHATSAPP_TIMEOUT", "REFUSED_BY_WHATSAPP"},
		},
		"POST /instance/{i}/restart": {
			ID: "restartInstance", Summary: "Drop and reopen the connection.",
			About: "A logged-out account whose keys are still kept (whatsapp.keep_logged_out) is tried again.",
			Out:   rest.TypeOf[StatusAnswer](), Codes: rest.Codes{wrongNetworkConflict, "INSTANCE_NOT_CONNECTED", "CONNECT_TIMEOUT"},
		},
	}
}

func webhookDescriptions() map[string]rest.Words {
	return map[string]rest.Words{
		"PUT /instance/{i}/webhook": {
			ID: "setWebhook", Summary: "Set the instance's webhook, or a part of it.", About: "Fields absent from the body are not changed.",
			In: rest.TypeOf[webhookRequest](), Example: `{"url":"https://example.org/hook","enabled":true,"events":{"messagesUpsert":true,"sendMessage":true}}`,
			Out: rest.TypeOf[webhooks.Webhook](), Codes: rest.Codes{"INVALID_WEBHOOK", "DISK_FULL"},
		},
		"GET /instance/{i}/webhook": {
			ID: "getWebhook", Summary: "Show the instance's webhook.", Out: rest.TypeOf[webhooks.Webhook](), Codes: rest.Codes{"WEBHOOK_NOT_FOUND"},
		},
		"POST /instance/{i}/webhook/test": {
			ID: "testWebhook", Summary: "Send an example event to the webhook.", About: "The event flags are ignored; the answer has the receiver's response.",
			In: rest.TypeOf[TryRequest](), Example: `{"event":"messages.upsert"}`, Out: rest.TypeOf[TryAnswer](), Codes: rest.Codes{"WEBHOOK_NOT_FOUND", CodeUnknownEvent, "RECORD_DAMAGED"},
		},
	}
}

// InstanceFields are the fields of instances, their connection and their webhook.
func InstanceFields() openapi.Fields {
	const token = "eyJhbGciOiJIUzI1NiJ9.e30.signature"
	state := rest.Say("The state of the connection, in capitals.", "ONLINE", openapi.As[StateInCapitals]())
	return openapi.Fields{
		"CreateInstanceRequest.instanceName": rest.Say("Letters, digits, dots, hyphens and underscores, not starting with a dot; instance- and a UUID when absent. Words of older paths are not allowed.", rest.ExampleName, openapi.Chars(1, 255), openapi.Pattern(NamePattern)),
		"CreateInstanceRequest.description":  rest.Say("A description for people.", "Sales desk", openapi.Chars(0, 255)),
		"CreatedInstance.id":                 rest.Say("The instance's id.", 1),
		"CreatedInstance.name":               rest.Say("The instance's name.", rest.ExampleName),
		"CreatedInstance.description":        rest.Say("Its description.", "Sales desk"),
		"CreatedInstance.Auth":               rest.Say("Its token.", nil),
		"ExportRequest.messages":             rest.Say("Whether to include its contacts and stored messages.", true),
		"ExportRequest.recipients":           rest.Say("Public keys of age, any of which can decrypt the file; empty: it is not encrypted.", []string{"age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"}),
		"?requestId":                         rest.Say("The id of the request that exported the instance: only that export is undone. Absent: any export.", rest.ExampleUUID),
		"ImportInstanceForm.name":            rest.Say("A new name for the instance; absent: its old name.", rest.ExampleName, openapi.Chars(1, 255), openapi.Pattern(NamePattern)),
		"ImportedInstance.contacts":          rest.Say("Imported contacts.", 12, openapi.AtLeast(0)),
		"ImportedInstance.messages":          rest.Say("Imported messages.", 240, openapi.AtLeast(0)),
		"ImportedInstance.tokenReplaced":     rest.Say("Whether a new token was issued because the old one is not valid here.", false),
		"ImportedInstance.Auth":              rest.Say("Its token; null for a session.", nil),
		"IssuedToken.id":                     rest.Say("The token's id.", 1),
		"IssuedToken.token":                  rest.Say("The token, for Authorization: Bearer.", token),
		"AuthView.id":                        rest.Say("The token's id.", 1),
		"AuthView.token":                     rest.Say("The token, for Authorization: Bearer.", token),
		"RotatedToken.id":                    rest.Say("The token's id.", 1),
		"RotatedToken.token":                 rest.Say("The new token.", token),
		"RefreshRequest.oldToken":            rest.Say("The token to replace.", token),
		"InstanceView.id":                    rest.Say("The instance's id.", 1),
		"InstanceView.name":                  rest.Say("The instance's name.", rest.ExampleName),
		"InstanceView.description":           rest.Say("Its description.", "Sales desk"),
		"InstanceView.status":                rest.Say("Whether it can send and receive.", "ONLINE", openapi.OneOf("ONLINE", "OFFLINE")),
		"InstanceSnapshot.id":                rest.Say("The instance's id.", 1),
		"InstanceSnapshot.name":              rest.Say("The instance's name.", rest.ExampleName),
		"Instance.Auth":                      rest.Say("Its token; null when it has none.", nil),
		"Instance.Webhook":                   rest.Say("Its webhook; null when it has none, and for a scoped key without the scope webhook.", nil),
		"ShownInstance.Webhook":              rest.Say("Its webhook; null when it has none, and for a scoped key without the scope webhook.", nil),
		"DeletedInstance.deleted":            rest.Say("Always true.", true),
		"DeletedInstance.forced":             rest.Say("Whether stored messages were deleted too.", false),
		"DeletedInstance.message":            rest.Say("What happened, for people.", "the instance was deleted"),

		"ConnectAnswer.count":             rest.Say("How many codes this attempt has produced.", 1, openapi.AtLeast(0)),
		"ConnectAnswer.code":              rest.Say("The text of the code to scan, when there is one.", "2@abc"),
		"ConnectAnswer.base64":            rest.Say("The code to scan as a PNG in a data URL, when there is one.", "data:image/png;base64,iVBORw=="),
		"ConnectAnswer.expiresAt":         rest.Say("When the code expires, when there is one.", nil),
		"ConnectAnswer.connectionStatus":  state,
		"ConnectAnswer.alreadyConnected":  rest.Say("Whether it was already connected.", false),
		"ConnectAnswer.alreadyConnecting": rest.Say("Whether another request was already connecting it.", false),

		"StatusAnswer.state":            rest.Say("The state of the connection: open, close or connecting.", "open", openapi.OneOf("open", "close", "connecting")),
		"StatusAnswer.statusReason":     rest.Say("WhatsApp's code for the last failure.", 401),
		"StatusAnswer.connectionStatus": state,
		"StatusAnswer.connected":        rest.Say("Whether there is a connection to WhatsApp.", true),
		"StatusAnswer.loggedIn":         rest.Say("Whether the account is logged in on it.", true),
		"StatusAnswer.lastConnectedAt":  rest.Say("When it was last connected; null before the first time.", rest.ExampleTime),
		"StatusAnswer.lastReceivedAt":   rest.Say("When data was last received; null when none was since the start.", rest.ExampleTime),
		"StatusAnswer.lastSentAt":       rest.Say("When data was last sent; null when none was since the start.", rest.ExampleTime),
		"StatusAnswer.lastError":        rest.Say("The last failure of the connection; null when there was none.", "stream error 503"),
		"StatusAnswer.passkey":          rest.Say("The state of a passkey pairing; null when none was requested, and once it is paired or cancelled.", nil),
		"StatusAnswer.limits":           rest.Say("How much of its limits the instance has used; null when it has none.", nil),
		"PasskeyState.step":             rest.Say("required: a signature with the passkey is needed. compare: the code must be compared with the phone's. done: WhatsApp completes the link.", string(event.PasskeyCompare)),
		"PasskeyState.code":             rest.Say("The code to compare with the phone's; null in the other steps.", "ABCD-EFGH"),
		"StatusAnswer.restriction":      rest.Say("The restriction of the account by WhatsApp, as announced or inferred from refusals; null when there is none.", nil),
		"Restriction.kind":              rest.Say("The kind: no messages to strangers, a temporary ban, or consecutive refusals.", "reachout_timelock", openapi.OneOf("reachout_timelock", "temporary_ban", "failure_streak")),
		"Restriction.since":             rest.Say("When it began; null when unknown.", rest.ExampleTime),
		"Restriction.until":             rest.Say("When it ends.", rest.ExampleTime),
		"Restriction.source":            rest.Say("Whether WhatsApp announced it, or it was inferred from refusals.", "notified", openapi.OneOf("notified", "inferred")),
		"Restriction.reason":            rest.Say("WhatsApp's name or code for it.", "BIZ_QUALITY"),
		"ResetAnswer.message":           rest.Say("What happens now, for people.", "the phone was asked to reset the app state"),
		"Restriction.code":              rest.Say("The code of the refusals.", 463),
		"Restriction.count":             rest.Say("The number of consecutive refusals.", 10),
		"LogoutAnswer.state":            rest.Say("The state of the instance now.", "logged_out"),
		"LogoutAnswer.connectionStatus": state,
		"LogoutAnswer.message":          rest.Say("What happened, for people.", "the instance was logged out"),
		"PhoneRequest.phoneNumber":      rest.Say("The number of the phone to link, with its country code.", rest.ExamplePhone, openapi.AtLeastChars(7)),
		"PairingCode.code":              rest.Say("The code to type on the phone.", "ABCD-EFGH"),

		"ChallengeAnswer.connectionStatus":   state,
		"ChallengeAnswer.requestId":          rest.Say("The id of the current step; the next step has another one.", rest.ExampleUUID),
		"ChallengeAnswer.message":            rest.Say("What to do next, for people.", "sign publicKey with the account's passkey and post the assertion"),
		"ChallengeAnswer.state":              rest.Say("The expected step: an assertion, or the confirmation of the code.", awaitsAssertion, openapi.OneOf(awaitsAssertion, awaitsConfirmation)),
		"ChallengeAnswer.expiresAt":          rest.Say("When the pairing ends.", nil),
		"AssertionRequest.requestId":         rest.Say("The requestId of the challenge; 409 when it is not the current one.", rest.ExampleUUID),
		"AssertionRequest.assertion":         rest.Say("The authenticator's answer, instead of its fields here.", nil),
		"Credential.id":                      rest.Say("The id of the credential.", "AAAA", openapi.Chars(1, MaxAssertionPart)),
		"Credential.rawId":                   rest.Say("The same in base64url.", "AAAA", openapi.Chars(1, MaxAssertionPart)),
		"Credential.type":                    rest.Say("What it is.", "public-key", openapi.OneOf("public-key")),
		"Credential.response":                rest.Say("What the authenticator answered.", nil),
		"Credential.authenticatorAttachment": rest.Say("Where the authenticator is; not used.", "platform"),
		"Credential.clientExtensionResults":  rest.Say("What extensions answered; not used.", openapi.Object{}),
		"ChallengeAnswer.publicKey":          rest.Say("The options for navigator.credentials.get(); null when a code must be compared.", openapi.Object{"challenge": "AAAA"}, openapi.As[strict.Object](), openapi.OrNull()),
		"ChallengeAnswer.code":               rest.Say("The code to compare with the phone's; null when a signature is needed.", "ABCD-EFGH"),
		"PasskeyAnswer.connectionStatus":     state,
		"PasskeyAnswer.message":              rest.Say("What happened, for people.", "the passkey was accepted; the pairing continues"),

		"AssertionRequest.id":                      rest.Say("The id of the credential.", "AAAA", openapi.Chars(1, MaxAssertionPart)),
		"AssertionRequest.rawId":                   rest.Say("The same in base64url.", "AAAA", openapi.Chars(1, MaxAssertionPart)),
		"AssertionRequest.type":                    rest.Say("What it is.", "public-key", openapi.OneOf("public-key")),
		"AssertionRequest.response":                rest.Say("What the authenticator answered.", nil),
		"AssertionRequest.authenticatorAttachment": rest.Say("Where the authenticator is; not used.", "platform"),
		"AssertionRequest.clientExtensionResults":  rest.Say("What extensions answered; not used.", openapi.Object{}),
		"AssertionResponse.clientDataJSON":         rest.Say("In base64url.", "e30", openapi.Chars(1, MaxAssertionPart)),
		"AssertionResponse.authenticatorData":      rest.Say("In base64url.", "AAAA", openapi.Chars(1, MaxAssertionPart)),
		"AssertionResponse.signature":              rest.Say("In base64url.", "AAAA", openapi.Chars(1, MaxAssertionPart)),
		"AssertionResponse.userHandle":             rest.Say("In base64url, where there is one.", "AAAA", openapi.Chars(1, MaxAssertionPart)),

		"WebhookRequest.url":     rest.Say("An http or https URL without user and password; required when the webhook is created.", "https://example.org/hook", openapi.Format("uri"), openapi.Chars(1, 500)),
		"WebhookRequest.enabled": rest.Say("Whether events are sent at all; true when the webhook is created.", true),
		"WebhookRequest.events":  rest.Say("Which events are sent, by flag. Flags that were never set are off.", openapi.Object{"messagesUpsert": true}, openapi.Object{"propertyNames": openapi.OneOf(flags()...)}),
		"Webhook.id":             rest.Say("The webhook's id.", 1),
		"Webhook.url":            rest.Say("Where events go.", "https://example.org/hook", openapi.Format("uri")),
		"Webhook.enabled":        rest.Say("Whether events are sent at all.", true),
		"Webhook.events":         rest.Say("The flags that were set.", openapi.Object{"messagesUpsert": true}),

		"TestWebhookRequest.event":     rest.Say("The event to send an example of.", string(event.MessagesUpsert), openapi.OneOf(rest.EventKinds(event.Instance)...)),
		"TestWebhookAnswer.delivered":  rest.Say("Whether the receiver accepted it.", true),
		"TestWebhookAnswer.statusCode": rest.Say("What it answered; 0 when there was no answer.", 200),
		"TestWebhookAnswer.durationMs": rest.Say("How long it took, in milliseconds.", 35, openapi.AtLeast(0)),
		"TestWebhookAnswer.error":      rest.Say("Why the attempt failed; null when it was accepted.", "connection refused"),
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

// StateInCapitals is a state as the answers about the connection write it.
type StateInCapitals string

func StatesInCapitals() (all []StateInCapitals) {
	for _, s := range event.States() {
		all = append(all, StateInCapitals(upper(s)))
	}
	return all
}
