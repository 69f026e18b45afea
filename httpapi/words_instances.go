package httpapi

import (
	"postern/event"
	"postern/httpapi/openapi"
)

// operationFields are those of the operator's routes and of the outbox.
func operationFields() openapi.Fields {
	codes := make([]string, 0, len(Codes()))
	for _, c := range Codes() {
		if !c.Sandbox {
			codes = append(codes, c.Code)
		}
	}
	return openapi.Fields{
		"Error.statusCode": say("The status of the answer.", 422, openapi.Range(400, 599)),
		"Error.error":      say("The status in words with hyphens.", "unprocessable-entity"),
		"Error.code":       say("What happened, for programs.", "INVALID_RECIPIENT", openapi.OneOf(unique(codes)...)),
		"Error.messages":   say("What happened, for people; each names the field and the rule.", []any{"number has 5 digits, 7 to 15 are allowed"}),
		"Error.message":    say("The same as messages.", []any{"number has 5 digits, 7 to 15 are allowed"}),
		"Error.requestId":  say("The id of the request, as in the header x-request-id and in the log.", exampleUUID),

		"Health.status":   say("ok of a process that lives, ready of one that can work, or that it is not.", "ready"),
		"Health.reasons":  say("Why the program cannot do its work.", nil),
		"Health.warnings": say("What an operator should look at, though the program works.", nil),

		"UserTokenRequest.userId":    say("The user; a new one when absent.", exampleUUID, openapi.Format("uuid")),
		"UserTokenRequest.expiresIn": say("How long the token is good, in seconds.", 86_400, openapi.Range(minExpiresIn, maxExpiresIn)),
		"UserToken.token":            say("The token, for Authorization: Bearer.", "eyJhbGciOiJIUzI1NiJ9.e30.signature"),
		"UserToken.userId":           say("The user that it is for.", exampleUUID, openapi.Format("uuid")),

		"OutboxEvent.id":            say("Its number among the events of all users, in the order in which they were committed.", 17, openapi.AtLeast(1)),
		"OutboxEvent.sequence":      say("Its number among the events of its user, from 1 and without holes; the WebSocket's since counts in it.", 5, openapi.AtLeast(1)),
		"OutboxEvent.event":         say("Its name.", string(event.BatchCompleted), openapi.OneOf(kinds(event.Batch)...)),
		"OutboxEvent.timestamp":     say("The time in the event's body.", exampleTime),
		"OutboxEvent.state":         say("Whether it waits for the receiver, was accepted by it, or was made while the global webhook was disabled.", "delivered", openapi.OneOf("pending", "delivered", "disabled")),
		"OutboxEvent.attempts":      say("How often it was sent.", 1, openapi.AtLeast(0)),
		"OutboxEvent.lastStatus":    say("The status that the receiver answered last; null when there was no answer.", 200),
		"OutboxEvent.lastError":     say("Why the last attempt failed; null when none did.", "connection refused"),
		"OutboxEvent.nextAttemptAt": say("When it is tried next; null unless it is pending.", exampleTime),
		"OutboxEvent.deliveredAt":   say("When the receiver accepted it; null until then.", exampleTime),
		"RetryAnswer.retried":       say("How many pending events are due now.", 3, openapi.AtLeast(0)),
	}
}

func unique(all []string) (each []string) {
	seen := map[string]bool{}
	for _, s := range all {
		if !seen[s] {
			seen[s] = true
			each = append(each, s)
		}
	}
	return each
}

// kinds are the events of a family.
func kinds(f event.Family) (all []event.Kind) {
	for _, d := range event.Catalogue() {
		if d.Family == f {
			all = append(all, d.Kind)
		}
	}
	return all
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
		"Instance.Webhook":                   say("Its webhook; null when it has none.", nil),
		"ShownInstance.Webhook":              say("Its webhook; null when it has none.", nil),
		"DeletedInstance.deleted":            say("That it is gone.", true),
		"DeletedInstance.forced":             say("Whether stored messages were deleted too.", false),
		"DeletedInstance.message":            say("What happened, for people.", "the instance was deleted"),

		"ConnectAnswer.count":             say("How many codes this attempt made.", 1, openapi.AtLeast(0)),
		"ConnectAnswer.code":              say("The text of the code to scan, when there is one.", "2@abc"),
		"ConnectAnswer.base64":            say("The code to scan as a PNG in a data URL, when there is one.", "data:image/png;base64,iVBORw=="),
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
		"StatusAnswer.restriction":      say("What WhatsApp forbids the account now; absent when it is nothing.", nil),
		"Restriction.type":              say("What it is.", string(event.StatusAccountReachoutTimelock)),
		"Restriction.until":             say("When it ends.", exampleTime),
		"Restriction.reason":            say("WhatsApp's word or code for it.", "BIZ_QUALITY"),
		"LogoutAnswer.state":            say("The state of the instance now.", "logged_out"),
		"LogoutAnswer.connectionStatus": state,
		"LogoutAnswer.message":          say("What happened, for people.", "the instance was logged out"),
		"PhoneRequest.phoneNumber":      say("The number of the phone that is to be linked, with its country code.", examplePhone, openapi.AtLeastChars(7)),
		"PairingCode.code":              say("The code to type on the phone.", "ABCD-EFGH"),

		"ChallengeAnswer.connectionStatus":   state,
		"ChallengeAnswer.requestId":          say("The id of what is waited for; another one follows the next step.", exampleUUID),
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
		"ChallengeAnswer.publicKey":          say("The options for navigator.credentials.get(); null when a code is to be compared.", object{"challenge": "AAAA"}, openapi.Kind("object"), openapi.OrNull()),
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
