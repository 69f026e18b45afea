package httpapi

import (
	"net/http"

	"postern/event"
	"postern/httpapi/openapi"
	"postern/httpapi/strict"
	"postern/instance/webhooks"
)

func instanceDescriptions() map[string]description {
	return map[string]description{
		"POST /instance": {
			id: "createInstance", summary: "Create an instance.", about: "It does not connect yet. The answer includes its token.",
			in: body[createRequest](), example: `{"instanceName":"sales","description":"Sales desk","externalAttributes":{"tenant":"7"}}`,
			status: http.StatusCreated, out: body[createdInstance](), codes: codes{"INSTANCE_EXISTS", "INVALID_INSTANCE", "DISK_FULL"},
		},
		"GET /instance": {
			id: "listInstances", summary: "List the instances, or the one with a name.", query: []string{"instanceName"}, out: body[[]listedInstance](),
		},
		"GET /instance/{i}": {id: "getInstance", summary: "Show an instance.", out: body[shownInstance]()},
		"DELETE /instance/{i}": {
			id: "deleteInstance", summary: "Delete an instance and all its stored data.", query: []string{"force"},
			out: body[deletedInstance](), codes: codes{codeInstanceInUse},
		},
		"PUT /instance/{i}/refreshToken": {
			id: "refreshInstanceToken", summary: "Replace the instance's token with a new one.", about: "The old token becomes invalid at once, and WebSockets opened with it are closed.",
			in: body[refreshRequest](), example: `{"oldToken":"eyJhbGciOiJIUzI1NiJ9.e30.signature"}`, out: body[rotatedToken](), codes: codes{"DISK_FULL"},
		},
		"PUT /instance/{i}/token": {
			id: "issueInstanceToken", summary: "Issue a new token for an instance whose token expired or was lost.",
			out: body[rotatedToken](), codes: codes{"INSTANCE_NOT_FOUND", "DISK_FULL"},
		},
		"POST /instance/{i}/export": {
			id: "exportInstance", summary: "Export the account of an instance, for import by another Postern.",
			about: "The instance is disconnected and marked as moved before the first byte is sent, and no longer connects here. " +
				"If sending the answer fails, the export is undone automatically; otherwise DELETE undoes it.",
			in: body[exportRequest](), example: `{"messages":true}`, media: mediaBytes,
			codes: codes{"INSTANCE_NOT_FOUND", "INSTANCE_NOT_CONNECTED", "INSTANCE_BUSY", "TRANSFER_RUNNING", codeRecipient, "DISK_FULL"},
		},
		"DELETE /instance/{i}/export": {
			id: "undoExport", summary: "Undo an export that was never imported, and connect the instance.", query: []string{"requestId"},
			status: http.StatusNoContent, codes: codes{"INSTANCE_NOT_FOUND", "INSTANCE_NOT_MOVED", "TRANSFER_RUNNING", "INSTANCE_EXISTS"},
		},
		"POST /admin/import": {
			id: "importInstance", summary: "Create an instance from an exported account, and connect it.",
			about: "attachment is the decrypted file. The whole file is checked first and stored in one commit.",
			form:  []string{"name"}, status: http.StatusCreated, out: body[importedInstance](),
			codes: codes{"INVALID_ARCHIVE", "INSTANCE_EXISTS", "INVALID_INSTANCE", "INVALID_WEBHOOK", "INVALID_PROXY", "INVALID_LIMITS", "INVALID_ARGUMENT", "INVALID_RECIPIENT", "TOO_DEEP", "TRANSFER_RUNNING", "DISK_FULL"},
		},
	}
}

func connectionDescriptions() map[string]description {
	connect := description{
		id: "connectInstance", summary: "Connect, and wait for the first code to scan or for the login.",
		about: "The codes change every few seconds; the event `qrcode.updated` has each one.", query: []string{"network"}, out: body[connectAnswer](), codes: codes{"INSTANCE_MOVED", wrongNetworkConflict, "CONNECT_TIMEOUT", "CLIENT_OUTDATED"},
	}
	start := connect
	start.id = "startConnection"
	pairing := codes{wrongNetworkConflict, "CONNECT_TIMEOUT", "INVALID_RECIPIENT", "ALREADY_CONNECTED", "WHATSAPP_TIMEOUT", "REFUSED_BY_WHATSAPP", "INSTANCE_NOT_CONNECTED", "CLIENT_OUTDATED"}
	passkey := codes{wrongNetworkConflict, "PASSKEY_NOT_EXPECTED", "PASSKEY_REFUSED", "CONNECT_TIMEOUT", "ALREADY_CONNECTED", "WHATSAPP_TIMEOUT", "INSTANCE_NOT_CONNECTED"}
	return map[string]description{
		"GET /instance/{i}/connect":  connect,
		"POST /instance/{i}/connect": start,
		"GET /instance/{i}/connect/code/{phone}": {
			id: "getPairingCode", summary: "Ask for a code to type on a phone.", query: []string{"network"}, out: body[pairingCode](), codes: pairing,
		},
		"POST /instance/{i}/connect/code": {
			id: "createPairingCode", summary: "Ask for a code to type on a phone.", query: []string{"network"},
			in: body[phoneRequest](), example: `{"phoneNumber":"4915112345678"}`, out: body[pairingCode](), codes: pairing,
		},
		"POST /instance/{i}/connect/passkey/challenge": {
			id: "getPasskeyChallenge", summary: "Wait for the passkey challenge of a pairing.", out: body[challengeAnswer](), codes: passkey,
		},
		"GET /instance/{i}/connect/passkey/script": {
			id: "getPasskeyScript", summary: "Get a script to paste on web.whatsapp.com, which signs with the passkey.",
			about: "One line for the browser's developer console. It copies the answer to the clipboard, in the form that the assertion route accepts.",
			media: "text/javascript", codes: codes{"PASSKEY_NOT_EXPECTED"},
		},
		"POST /instance/{i}/connect/passkey/assertion": {
			id: "answerPasskeyChallenge", summary: "Submit the authenticator's answer.", in: body[assertionRequest](),
			example: `{"id":"AAAA","rawId":"AAAA","type":"public-key","response":{"clientDataJSON":"e30","authenticatorData":"AAAA","signature":"AAAA"}}`,
			status:  http.StatusAccepted, out: body[passkeyAnswer](), codes: passkey.and(codeInvalidAssertion),
		},
		"POST /instance/{i}/connect/passkey/confirm": {
			id: "confirmPasskey", summary: "Confirm that the code matches the one on the phone.", status: http.StatusAccepted, out: body[passkeyAnswer](), codes: passkey,
		},
		"GET /instance/{i}/qr.png": {
			id: "getQRCode", summary: "Get the code to scan, as an image.", media: "image/png", codes: codes{wrongNetworkConflict, "CONNECT_TIMEOUT", "ALREADY_CONNECTED", codeNoQRCode, "INSTANCE_NOT_CONNECTED", "CLIENT_OUTDATED"},
		},
		"GET /instance/{i}/connection/status": {id: "getConnectionStatus", summary: "Show the state of the connection.", out: body[statusAnswer]()},
		"DELETE /instance/{i}/logout":         {id: "logoutInstance", summary: "Unlink the instance from its phone.", query: []string{"network"}, out: body[logoutAnswer](), codes: codes{"INSTANCE_MOVED", wrongNetworkConflict}},
		"POST /instance/{i}/app-state/reset": {
			id: "resetAppState", summary: "Reset the app state that the account's devices share.",
			about: "The last resort when the app state cannot be verified: the phone unlinks all devices of the account, including this one.",
			out:   body[resetAnswer](), codes: codes{"INSTANCE_NOT_CONNECTED", "WHATSAPP_TIMEOUT", "REFUSED_BY_WHATSAPP"},
		},
		"POST /instance/{i}/restart": {
			id: "restartInstance", summary: "Drop and reopen the connection.",
			about: "A logged-out account whose keys are still kept (whatsapp.keep_logged_out) is tried again.",
			out:   body[statusAnswer](), codes: codes{wrongNetworkConflict, "INSTANCE_NOT_CONNECTED", "CONNECT_TIMEOUT"},
		},
	}
}

func webhookDescriptions() map[string]description {
	return map[string]description{
		"PUT /instance/{i}/webhook": {
			id: "setWebhook", summary: "Set the instance's webhook, or a part of it.", about: "Fields absent from the body are not changed.",
			in: body[webhookRequest](), example: `{"url":"https://example.org/hook","enabled":true,"events":{"messagesUpsert":true,"sendMessage":true}}`,
			out: body[webhooks.Webhook](), codes: codes{"INVALID_WEBHOOK", "DISK_FULL"},
		},
		"GET /instance/{i}/webhook": {
			id: "getWebhook", summary: "Show the instance's webhook.", out: body[webhooks.Webhook](), codes: codes{"WEBHOOK_NOT_FOUND"},
		},
		"POST /instance/{i}/webhook/test": {
			id: "testWebhook", summary: "Send an example event to the webhook.", about: "The event flags are ignored; the answer has the receiver's response.",
			in: body[tryRequest](), example: `{"event":"messages.upsert"}`, out: body[tryAnswer](), codes: codes{"WEBHOOK_NOT_FOUND", codeUnknownEvent, "RECORD_DAMAGED"},
		},
	}
}

// instanceFields are the fields of instances, their connection and their webhook.
func instanceFields() openapi.Fields {
	const token = "eyJhbGciOiJIUzI1NiJ9.e30.signature"
	state := say("The state of the connection, in capitals.", "ONLINE", openapi.As[stateInCapitals]())
	return openapi.Fields{
		"CreateInstanceRequest.instanceName": say("Letters, digits, dots, hyphens and underscores, not starting with a dot; instance- and a UUID when absent. Words of older paths are not allowed.", exampleName, openapi.Chars(1, 255), openapi.Pattern(namePattern)),
		"CreateInstanceRequest.description":  say("A description for people.", "Sales desk", openapi.Chars(0, 255)),
		"CreatedInstance.id":                 say("The instance's id.", 1),
		"CreatedInstance.name":               say("The instance's name.", exampleName),
		"CreatedInstance.description":        say("Its description.", "Sales desk"),
		"CreatedInstance.Auth":               say("Its token.", nil),
		"ExportRequest.messages":             say("Whether to include its contacts and stored messages.", true),
		"ExportRequest.recipients":           say("Public keys of age, any of which can decrypt the file; empty: it is not encrypted.", []string{"age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"}),
		"?requestId":                         say("The id of the request that exported the instance: only that export is undone. Absent: any export.", exampleUUID),
		"ImportInstanceForm.name":            say("A new name for the instance; absent: its old name.", exampleName, openapi.Chars(1, 255), openapi.Pattern(namePattern)),
		"ImportedInstance.contacts":          say("Imported contacts.", 12, openapi.AtLeast(0)),
		"ImportedInstance.messages":          say("Imported messages.", 240, openapi.AtLeast(0)),
		"ImportedInstance.tokenReplaced":     say("Whether a new token was issued because the old one is not valid here.", false),
		"ImportedInstance.Auth":              say("Its token; null for a session.", nil),
		"IssuedToken.id":                     say("The token's id.", 1),
		"IssuedToken.token":                  say("The token, for Authorization: Bearer.", token),
		"AuthView.id":                        say("The token's id.", 1),
		"AuthView.token":                     say("The token, for Authorization: Bearer.", token),
		"RotatedToken.id":                    say("The token's id.", 1),
		"RotatedToken.token":                 say("The new token.", token),
		"RefreshRequest.oldToken":            say("The token to replace.", token),
		"InstanceView.id":                    say("The instance's id.", 1),
		"InstanceView.name":                  say("The instance's name.", exampleName),
		"InstanceView.description":           say("Its description.", "Sales desk"),
		"InstanceView.status":                say("Whether it can send and receive.", "ONLINE", openapi.OneOf("ONLINE", "OFFLINE")),
		"InstanceSnapshot.id":                say("The instance's id.", 1),
		"InstanceSnapshot.name":              say("The instance's name.", exampleName),
		"Instance.Auth":                      say("Its token; null when it has none.", nil),
		"Instance.Webhook":                   say("Its webhook; null when it has none, and for a scoped key without the scope webhook.", nil),
		"ShownInstance.Webhook":              say("Its webhook; null when it has none, and for a scoped key without the scope webhook.", nil),
		"DeletedInstance.deleted":            say("Always true.", true),
		"DeletedInstance.forced":             say("Whether stored messages were deleted too.", false),
		"DeletedInstance.message":            say("What happened, for people.", "the instance was deleted"),

		"ConnectAnswer.count":             say("How many codes this attempt has produced.", 1, openapi.AtLeast(0)),
		"ConnectAnswer.code":              say("The text of the code to scan, when there is one.", "2@abc"),
		"ConnectAnswer.base64":            say("The code to scan as a PNG in a data URL, when there is one.", "data:image/png;base64,iVBORw=="),
		"ConnectAnswer.expiresAt":         say("When the code expires, when there is one.", nil),
		"ConnectAnswer.connectionStatus":  state,
		"ConnectAnswer.alreadyConnected":  say("Whether it was already connected.", false),
		"ConnectAnswer.alreadyConnecting": say("Whether another request was already connecting it.", false),

		"StatusAnswer.state":            say("The state of the connection: open, close or connecting.", "open", openapi.OneOf("open", "close", "connecting")),
		"StatusAnswer.statusReason":     say("WhatsApp's code for the last failure.", 401),
		"StatusAnswer.connectionStatus": state,
		"StatusAnswer.connected":        say("Whether there is a connection to WhatsApp.", true),
		"StatusAnswer.loggedIn":         say("Whether the account is logged in on it.", true),
		"StatusAnswer.lastConnectedAt":  say("When it was last connected; null before the first time.", exampleTime),
		"StatusAnswer.lastReceivedAt":   say("When data was last received; null when none was since the start.", exampleTime),
		"StatusAnswer.lastSentAt":       say("When data was last sent; null when none was since the start.", exampleTime),
		"StatusAnswer.lastError":        say("The last failure of the connection; null when there was none.", "stream error 503"),
		"StatusAnswer.passkey":          say("The state of a passkey pairing; null when none was requested, and once it is paired or cancelled.", nil),
		"StatusAnswer.limits":           say("How much of its limits the instance has used; null when it has none.", nil),
		"PasskeyState.step":             say("required: a signature with the passkey is needed. compare: the code must be compared with the phone's. done: WhatsApp completes the link.", string(event.PasskeyCompare)),
		"PasskeyState.code":             say("The code to compare with the phone's; null in the other steps.", "ABCD-EFGH"),
		"StatusAnswer.restriction":      say("The restriction of the account by WhatsApp, as announced or inferred from refusals; null when there is none.", nil),
		"Restriction.kind":              say("The kind: no messages to strangers, a temporary ban, or consecutive refusals.", "reachout_timelock", openapi.OneOf("reachout_timelock", "temporary_ban", "failure_streak")),
		"Restriction.since":             say("When it began; null when unknown.", exampleTime),
		"Restriction.until":             say("When it ends.", exampleTime),
		"Restriction.source":            say("Whether WhatsApp announced it, or it was inferred from refusals.", "notified", openapi.OneOf("notified", "inferred")),
		"Restriction.reason":            say("WhatsApp's name or code for it.", "BIZ_QUALITY"),
		"ResetAnswer.message":           say("What happens now, for people.", "the phone was asked to reset the app state"),
		"Restriction.code":              say("The code of the refusals.", 463),
		"Restriction.count":             say("The number of consecutive refusals.", 10),
		"LogoutAnswer.state":            say("The state of the instance now.", "logged_out"),
		"LogoutAnswer.connectionStatus": state,
		"LogoutAnswer.message":          say("What happened, for people.", "the instance was logged out"),
		"PhoneRequest.phoneNumber":      say("The number of the phone to link, with its country code.", examplePhone, openapi.AtLeastChars(7)),
		"PairingCode.code":              say("The code to type on the phone.", "ABCD-EFGH"),

		"ChallengeAnswer.connectionStatus":   state,
		"ChallengeAnswer.requestId":          say("The id of the current step; the next step has another one.", exampleUUID),
		"ChallengeAnswer.message":            say("What to do next, for people.", "sign publicKey with the account's passkey and post the assertion"),
		"ChallengeAnswer.state":              say("The expected step: an assertion, or the confirmation of the code.", awaitsAssertion, openapi.OneOf(awaitsAssertion, awaitsConfirmation)),
		"ChallengeAnswer.expiresAt":          say("When the pairing ends.", nil),
		"AssertionRequest.requestId":         say("The requestId of the challenge; 409 when it is not the current one.", exampleUUID),
		"AssertionRequest.assertion":         say("The authenticator's answer, instead of its fields here.", nil),
		"Credential.id":                      say("The id of the credential.", "AAAA", openapi.Chars(1, maxAssertionPart)),
		"Credential.rawId":                   say("The same in base64url.", "AAAA", openapi.Chars(1, maxAssertionPart)),
		"Credential.type":                    say("What it is.", "public-key", openapi.OneOf("public-key")),
		"Credential.response":                say("What the authenticator answered.", nil),
		"Credential.authenticatorAttachment": say("Where the authenticator is; not used.", "platform"),
		"Credential.clientExtensionResults":  say("What extensions answered; not used.", object{}),
		"ChallengeAnswer.publicKey":          say("The options for navigator.credentials.get(); null when a code must be compared.", object{"challenge": "AAAA"}, openapi.As[strict.Object](), openapi.OrNull()),
		"ChallengeAnswer.code":               say("The code to compare with the phone's; null when a signature is needed.", "ABCD-EFGH"),
		"PasskeyAnswer.connectionStatus":     state,
		"PasskeyAnswer.message":              say("What happened, for people.", "the passkey was accepted; the pairing continues"),

		"AssertionRequest.id":                      say("The id of the credential.", "AAAA", openapi.Chars(1, maxAssertionPart)),
		"AssertionRequest.rawId":                   say("The same in base64url.", "AAAA", openapi.Chars(1, maxAssertionPart)),
		"AssertionRequest.type":                    say("What it is.", "public-key", openapi.OneOf("public-key")),
		"AssertionRequest.response":                say("What the authenticator answered.", nil),
		"AssertionRequest.authenticatorAttachment": say("Where the authenticator is; not used.", "platform"),
		"AssertionRequest.clientExtensionResults":  say("What extensions answered; not used.", object{}),
		"AssertionResponse.clientDataJSON":         say("In base64url.", "e30", openapi.Chars(1, maxAssertionPart)),
		"AssertionResponse.authenticatorData":      say("In base64url.", "AAAA", openapi.Chars(1, maxAssertionPart)),
		"AssertionResponse.signature":              say("In base64url.", "AAAA", openapi.Chars(1, maxAssertionPart)),
		"AssertionResponse.userHandle":             say("In base64url, where there is one.", "AAAA", openapi.Chars(1, maxAssertionPart)),

		"WebhookRequest.url":     say("An http or https URL without user and password; required when the webhook is created.", "https://example.org/hook", openapi.Format("uri"), openapi.Chars(1, 500)),
		"WebhookRequest.enabled": say("Whether events are sent at all; true when the webhook is created.", true),
		"WebhookRequest.events":  say("Which events are sent, by flag. Flags that were never set are off.", object{"messagesUpsert": true}, object{"propertyNames": openapi.OneOf(flags()...)}),
		"Webhook.id":             say("The webhook's id.", 1),
		"Webhook.url":            say("Where events go.", "https://example.org/hook", openapi.Format("uri")),
		"Webhook.enabled":        say("Whether events are sent at all.", true),
		"Webhook.events":         say("The flags that were set.", object{"messagesUpsert": true}),

		"TestWebhookRequest.event":     say("The event to send an example of.", string(event.MessagesUpsert), openapi.OneOf(kinds(event.Instance)...)),
		"TestWebhookAnswer.delivered":  say("Whether the receiver accepted it.", true),
		"TestWebhookAnswer.statusCode": say("What it answered; 0 when there was no answer.", 200),
		"TestWebhookAnswer.durationMs": say("How long it took, in milliseconds.", 35, openapi.AtLeast(0)),
		"TestWebhookAnswer.error":      say("Why the attempt failed; null when it was accepted.", "connection refused"),
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
