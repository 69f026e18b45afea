package httpapi

import (
	"net/http"

	"postern/event"
	"postern/httpapi/openapi"
	"postern/httpapi/strict"
	"postern/instance"
)

func instanceDescriptions() map[string]description {
	return map[string]description{
		"POST /instance": {
			id: "createInstance", summary: "Create an instance.", about: "It connects to nothing yet. The answer is the one place that shows its token without being asked for it.",
			in: body[createRequest](), example: `{"instanceName":"sales","description":"Sales desk","externalAttributes":{"tenant":"7"}}`,
			status: http.StatusCreated, out: body[createdInstance](), codes: codes{"INSTANCE_EXISTS", "INVALID_INSTANCE", "DISK_FULL"},
		},
		"GET /instance": {
			id: "listInstances", summary: "List the instances, or the one of a name.", query: []string{"instanceName"}, out: body[[]listedInstance](),
		},
		"GET /instance/{i}": {id: "getInstance", summary: "Show an instance.", out: body[shownInstance]()},
		"DELETE /instance/{i}": {
			id: "deleteInstance", summary: "Delete an instance and everything stored of it.", query: []string{"force"},
			out: body[deletedInstance](), codes: codes{codeInstanceInUse},
		},
		"PUT /instance/{i}/refreshToken": {
			id: "refreshInstanceToken", summary: "Replace the instance's token by a new one.", about: "The old token is worth nothing from then on, and WebSockets that were opened with it are closed.",
			in: body[refreshRequest](), example: `{"oldToken":"eyJhbGciOiJIUzI1NiJ9.e30.signature"}`, out: body[rotatedToken](), codes: codes{"DISK_FULL"},
		},
		"PUT /instance/{i}/token": {
			id: "issueInstanceToken", summary: "Issue a new token for an instance whose old one expired or was lost.",
			out: body[rotatedToken](), codes: codes{"INSTANCE_NOT_FOUND", "DISK_FULL"},
		},
		"POST /instance/{i}/export": {
			id: "exportInstance", summary: "The account of an instance, to be imported by another Postern.",
			about: "The instance is disconnected and marked as moved before the first byte leaves, and does not connect here any more. " +
				"An answer that is cut off while the program sends it is taken back; DELETE does it otherwise.",
			in: body[exportRequest](), example: `{"messages":true}`, media: mediaBytes,
			codes: codes{"INSTANCE_NOT_FOUND", "INSTANCE_NOT_CONNECTED", "INSTANCE_BUSY", "TRANSFER_RUNNING", codeRecipient, "DISK_FULL"},
		},
		"DELETE /instance/{i}/export": {
			id: "undoExport", summary: "Take an export back that was never imported, and connect the instance.", query: []string{"requestId"},
			status: http.StatusNoContent, codes: codes{"INSTANCE_NOT_FOUND", "INSTANCE_NOT_MOVED", "TRANSFER_RUNNING", "INSTANCE_EXISTS"},
		},
		"POST /admin/import": {
			id: "importInstance", summary: "Make an instance of an exported account, and connect it.",
			about: "attachment is the file, decrypted. All of it is looked at before anything is stored, and stored in one commit.",
			form:  []string{"name"}, status: http.StatusCreated, out: body[importedInstance](),
			codes: codes{"INVALID_ARCHIVE", "INSTANCE_EXISTS", "INVALID_INSTANCE", "INVALID_WEBHOOK", "INVALID_PROXY", "INVALID_LIMITS", "INVALID_ARGUMENT", "INVALID_RECIPIENT", "TOO_DEEP", "TRANSFER_RUNNING", "DISK_FULL"},
		},
	}
}

func connectionDescriptions() map[string]description {
	connect := description{
		id: "connectInstance", summary: "Connect, and wait for the first code to scan or for the login.",
		about: "The codes change every few seconds; `qrcode.updated` tells each.", query: []string{"network"}, out: body[connectAnswer](), codes: codes{"INSTANCE_MOVED", wrongNetworkConflict, "CONNECT_TIMEOUT", "CLIENT_OUTDATED"},
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
			id: "getPasskeyScript", summary: "The line to paste on web.whatsapp.com, which signs with the passkey.",
			about: "One line for the browser's developer console. It copies the answer, which the assertion takes as it is.",
			media: "text/javascript", codes: codes{"PASSKEY_NOT_EXPECTED"},
		},
		"POST /instance/{i}/connect/passkey/assertion": {
			id: "answerPasskeyChallenge", summary: "Hand over the authenticator's answer.", in: body[assertionRequest](),
			example: `{"id":"AAAA","rawId":"AAAA","type":"public-key","response":{"clientDataJSON":"e30","authenticatorData":"AAAA","signature":"AAAA"}}`,
			status:  http.StatusAccepted, out: body[passkeyAnswer](), codes: passkey.and(codeInvalidAssertion),
		},
		"POST /instance/{i}/connect/passkey/confirm": {
			id: "confirmPasskey", summary: "Confirm that the code is the one on the phone.", status: http.StatusAccepted, out: body[passkeyAnswer](), codes: passkey,
		},
		"GET /instance/{i}/qr.png": {
			id: "getQRCode", summary: "The code to scan, as a picture.", media: "image/png", codes: codes{wrongNetworkConflict, "CONNECT_TIMEOUT", "ALREADY_CONNECTED", codeNoQRCode, "INSTANCE_NOT_CONNECTED", "CLIENT_OUTDATED"},
		},
		"GET /instance/{i}/connection/status": {id: "getConnectionStatus", summary: "The truth about the connection.", out: body[statusAnswer]()},
		"DELETE /instance/{i}/logout":         {id: "logoutInstance", summary: "Unlink the instance from its phone.", query: []string{"network"}, out: body[logoutAnswer](), codes: codes{"INSTANCE_MOVED", wrongNetworkConflict}},
		"POST /instance/{i}/app-state/reset": {
			id: "resetAppState", summary: "Have the phone begin anew with what the account's devices have in common.",
			about: "The last resort when it cannot be verified: the phone removes every linked device of the account, this one too.",
			out:   body[resetAnswer](), codes: codes{"INSTANCE_NOT_CONNECTED", "WHATSAPP_TIMEOUT", "REFUSED_BY_WHATSAPP"},
		},
		"POST /instance/{i}/restart": {
			id: "restartInstance", summary: "Drop and reopen the connection.",
			about: "An account that WhatsApp logged out, and of which the keys are still kept (whatsapp.keep_logged_out), is tried once more.",
			out:   body[statusAnswer](), codes: codes{wrongNetworkConflict, "INSTANCE_NOT_CONNECTED", "CONNECT_TIMEOUT"},
		},
	}
}

func webhookDescriptions() map[string]description {
	return map[string]description{
		"PUT /instance/{i}/webhook": {
			id: "setWebhook", summary: "Set the instance's webhook, or a part of it.", about: "What the body does not name stays as it is.",
			in: body[webhookRequest](), example: `{"url":"https://example.org/hook","enabled":true,"events":{"messagesUpsert":true,"sendMessage":true}}`,
			out: body[instance.Webhook](), codes: codes{"INVALID_WEBHOOK", "DISK_FULL"},
		},
		"GET /instance/{i}/webhook": {
			id: "getWebhook", summary: "Show the instance's webhook.", out: body[instance.Webhook](), codes: codes{"WEBHOOK_NOT_FOUND"},
		},
		"POST /instance/{i}/webhook/test": {
			id: "testWebhook", summary: "Send one example of an event to the webhook.", about: "Its flags do not count; the answer tells how the receiver took it.",
			in: body[tryRequest](), example: `{"event":"messages.upsert"}`, out: body[tryAnswer](), codes: codes{"WEBHOOK_NOT_FOUND", codeUnknownEvent, "RECORD_DAMAGED"},
		},
	}
}

// instanceFields are those of instances, their connection and their webhook.
func instanceFields() openapi.Fields {
	const token = "eyJhbGciOiJIUzI1NiJ9.e30.signature"
	state := say("The state of the connection, in capitals.", "ONLINE", openapi.As[stateInCapitals]())
	return openapi.Fields{
		"CreateInstanceRequest.instanceName": say("Letters, digits, dot, hyphen and underline, no dot in front; instance- and a UUID when absent. Words of older paths are no names.", exampleName, openapi.Chars(1, 255), openapi.Pattern(namePattern)),
		"CreateInstanceRequest.description":  say("A description for people.", "Sales desk", openapi.Chars(0, 255)),
		"CreatedInstance.id":                 say("The instance's id.", 1),
		"CreatedInstance.name":               say("The instance's name.", exampleName),
		"CreatedInstance.description":        say("Its description.", "Sales desk"),
		"CreatedInstance.Auth":               say("Its token.", nil),
		"ExportRequest.messages":             say("Whether its contacts and stored messages go along.", true),
		"ExportRequest.recipients":           say("Public keys of age, each of which can read the file with its private one; empty: it is not encrypted.", []string{"age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"}),
		"?requestId":                         say("The id of the request that exported the instance: only the mark that it left is taken away. Absent: whichever there is.", exampleUUID),
		"ImportInstanceForm.name":            say("The name of the instance, when it is to have another one than it had.", exampleName, openapi.Chars(1, 255), openapi.Pattern(namePattern)),
		"ImportedInstance.contacts":          say("Contacts that came along.", 12, openapi.AtLeast(0)),
		"ImportedInstance.messages":          say("Stored messages that came along.", 240, openapi.AtLeast(0)),
		"ImportedInstance.tokenReplaced":     say("Whether the token is another one, since the old one is not good here.", false),
		"ImportedInstance.Auth":              say("Its token; null for a session.", nil),
		"IssuedToken.id":                     say("The token's id.", 1),
		"IssuedToken.token":                  say("The token, for Authorization: Bearer.", token),
		"AuthView.id":                        say("The token's id.", 1),
		"AuthView.token":                     say("The token, for Authorization: Bearer.", token),
		"RotatedToken.id":                    say("The token's id.", 1),
		"RotatedToken.token":                 say("The new token.", token),
		"RefreshRequest.oldToken":            say("The token that is to be replaced.", token),
		"InstanceView.id":                    say("The instance's id.", 1),
		"InstanceView.name":                  say("The instance's name.", exampleName),
		"InstanceView.description":           say("Its description.", "Sales desk"),
		"InstanceView.status":                say("Whether it can send and receive.", "ONLINE", openapi.OneOf("ONLINE", "OFFLINE")),
		"InstanceSnapshot.id":                say("The instance's id.", 1),
		"InstanceSnapshot.name":              say("The instance's name.", exampleName),
		"Instance.Auth":                      say("Its token; null when it has none.", nil),
		"Instance.Webhook":                   say("Its webhook; null when it has none, and for a scoped key without the scope webhook.", nil),
		"ShownInstance.Webhook":              say("Its webhook; null when it has none, and for a scoped key without the scope webhook.", nil),
		"DeletedInstance.deleted":            say("That it is gone.", true),
		"DeletedInstance.forced":             say("Whether stored messages were deleted too.", false),
		"DeletedInstance.message":            say("What happened, for people.", "the instance was deleted"),

		"ConnectAnswer.count":             say("How many codes this attempt made.", 1, openapi.AtLeast(0)),
		"ConnectAnswer.code":              say("The text of the code to scan, when there is one.", "2@abc"),
		"ConnectAnswer.base64":            say("The code to scan as a PNG in a data URL, when there is one.", "data:image/png;base64,iVBORw=="),
		"ConnectAnswer.expiresAt":         say("Until when the code is good, when there is one.", nil),
		"ConnectAnswer.connectionStatus":  state,
		"ConnectAnswer.alreadyConnected":  say("Whether it was connected before.", false),
		"ConnectAnswer.alreadyConnecting": say("Whether somebody else was connecting it already.", false),

		"StatusAnswer.state":            say("The state of the connection in three words.", "open", openapi.OneOf("open", "close", "connecting")),
		"StatusAnswer.statusReason":     say("WhatsApp's code for the last failure.", 401),
		"StatusAnswer.connectionStatus": state,
		"StatusAnswer.connected":        say("Whether there is a connection to WhatsApp.", true),
		"StatusAnswer.loggedIn":         say("Whether the account is logged in on it.", true),
		"StatusAnswer.lastConnectedAt":  say("When it was last connected; null before the first time.", exampleTime),
		"StatusAnswer.lastReceivedAt":   say("When something last came; null until then since the start.", exampleTime),
		"StatusAnswer.lastSentAt":       say("When something last went out; null until then since the start.", exampleTime),
		"StatusAnswer.lastError":        say("The last failure of the connection; null when there was none.", "stream error 503"),
		"StatusAnswer.passkey":          say("What the pairing of an account with a passkey waits for; null when none was asked for, and again once it is paired or given up.", nil),
		"StatusAnswer.limits":           say("How much of its own limits the instance used; null when it has none.", nil),
		"PasskeyState.step":             say("required: somebody has to sign with the passkey. compare: somebody has to compare the code with the phone's. done: WhatsApp completes the link.", string(event.PasskeyCompare)),
		"PasskeyState.code":             say("The code to compare with the phone's; null in the other steps.", "ABCD-EFGH"),
		"StatusAnswer.restriction":      say("What WhatsApp forbids the account now, or what its refusals show; null when it is nothing.", nil),
		"Restriction.kind":              say("What it is: no messages to strangers, a ban, or refusals in a row.", "reachout_timelock", openapi.OneOf("reachout_timelock", "temporary_ban", "failure_streak")),
		"Restriction.since":             say("When it began; null when that is not known.", exampleTime),
		"Restriction.until":             say("When it ends.", exampleTime),
		"Restriction.source":            say("Whether WhatsApp gave notice, or its refusals showed it.", "notified", openapi.OneOf("notified", "inferred")),
		"Restriction.reason":            say("WhatsApp's word or code for it.", "BIZ_QUALITY"),
		"ResetAnswer.message":           say("What happens now, for people.", "the phone was asked to begin anew"),
		"Restriction.code":              say("The code of the refusals.", 463),
		"Restriction.count":             say("How many refusals there were in a row.", 10),
		"LogoutAnswer.state":            say("The state of the instance now.", "logged_out"),
		"LogoutAnswer.connectionStatus": state,
		"LogoutAnswer.message":          say("What happened, for people.", "the instance was logged out"),
		"PhoneRequest.phoneNumber":      say("The number of the phone that is to be linked, with its country code.", examplePhone, openapi.AtLeastChars(7)),
		"PairingCode.code":              say("The code to type on the phone.", "ABCD-EFGH"),

		"ChallengeAnswer.connectionStatus":   state,
		"ChallengeAnswer.requestId":          say("The id of what is waited for; another one follows the next step.", exampleUUID),
		"ChallengeAnswer.message":            say("What to do next, for people.", "sign publicKey with the account's passkey and post the assertion"),
		"ChallengeAnswer.state":              say("What is waited for: an assertion, or the confirmation of the code.", awaitsAssertion, openapi.OneOf(awaitsAssertion, awaitsConfirmation)),
		"ChallengeAnswer.expiresAt":          say("When the pairing ends.", nil),
		"AssertionRequest.requestId":         say("The requestId of the challenge; 409 when another one is waited for.", exampleUUID),
		"AssertionRequest.assertion":         say("The authenticator's answer, instead of its fields here.", nil),
		"Credential.id":                      say("The id of the credential.", "AAAA", openapi.Chars(1, maxAssertionPart)),
		"Credential.rawId":                   say("The same in base64url.", "AAAA", openapi.Chars(1, maxAssertionPart)),
		"Credential.type":                    say("What it is.", "public-key", openapi.OneOf("public-key")),
		"Credential.response":                say("What the authenticator answered.", nil),
		"Credential.authenticatorAttachment": say("Where the authenticator is; not used.", "platform"),
		"Credential.clientExtensionResults":  say("What extensions answered; not used.", object{}),
		"ChallengeAnswer.publicKey":          say("The options for navigator.credentials.get(); null when a code is to be compared.", object{"challenge": "AAAA"}, openapi.As[strict.Object](), openapi.OrNull()),
		"ChallengeAnswer.code":               say("The code to compare with the phone's; null when a signature is needed.", "ABCD-EFGH"),
		"PasskeyAnswer.connectionStatus":     state,
		"PasskeyAnswer.message":              say("What happened, for people.", "the passkey was taken; the pairing goes on"),

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

		"WebhookRequest.url":     say("An http or https URL without user and password; required when the webhook is made.", "https://example.org/hook", openapi.Format("uri"), openapi.Chars(1, 500)),
		"WebhookRequest.enabled": say("Whether events are sent at all; true when the webhook is made.", true),
		"WebhookRequest.events":  say("Which events are sent, by flag. A flag that was never set is off.", object{"messagesUpsert": true}, object{"propertyNames": openapi.OneOf(flags()...)}),
		"Webhook.id":             say("The webhook's id.", 1),
		"Webhook.url":            say("Where events go.", "https://example.org/hook", openapi.Format("uri")),
		"Webhook.enabled":        say("Whether events are sent at all.", true),
		"Webhook.events":         say("The flags that were set.", object{"messagesUpsert": true}),

		"TestWebhookRequest.event":     say("The event to send an example of.", string(event.MessagesUpsert), openapi.OneOf(kinds(event.Instance)...)),
		"TestWebhookAnswer.delivered":  say("Whether the receiver accepted it.", true),
		"TestWebhookAnswer.statusCode": say("What it answered; 0 when there was no answer.", 200),
		"TestWebhookAnswer.durationMs": say("How long it took, in milliseconds.", 35, openapi.AtLeast(0)),
		"TestWebhookAnswer.error":      say("Why it was not accepted; null when it was.", "connection refused"),
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
