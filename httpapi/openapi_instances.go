package httpapi

import (
	"net/http"

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
	}
}

func connectionDescriptions() map[string]description {
	connect := description{
		id: "connectInstance", summary: "Connect, and wait for the first code to scan or for the login.",
		about: "The codes change every few seconds; `qrcode.updated` tells each.", out: body[connectAnswer](), codes: codes{"CONNECT_TIMEOUT"},
	}
	start := connect
	start.id = "startConnection"
	pairing := codes{"CONNECT_TIMEOUT", "INVALID_RECIPIENT", "ALREADY_CONNECTED", "WHATSAPP_TIMEOUT", "REFUSED_BY_WHATSAPP", "INSTANCE_NOT_CONNECTED"}
	passkey := codes{"PASSKEY_NOT_EXPECTED", "PASSKEY_REFUSED", "CONNECT_TIMEOUT", "ALREADY_CONNECTED", "WHATSAPP_TIMEOUT", "INSTANCE_NOT_CONNECTED"}
	return map[string]description{
		"GET /instance/{i}/connect":  connect,
		"POST /instance/{i}/connect": start,
		"GET /instance/{i}/connect/code/{phone}": {
			id: "getPairingCode", summary: "Ask for a code to type on a phone.", out: body[pairingCode](), codes: pairing,
		},
		"POST /instance/{i}/connect/code": {
			id: "createPairingCode", summary: "Ask for a code to type on a phone.",
			in: body[phoneRequest](), example: `{"phoneNumber":"4915112345678"}`, out: body[pairingCode](), codes: pairing,
		},
		"POST /instance/{i}/connect/passkey/challenge": {
			id: "getPasskeyChallenge", summary: "Wait for the passkey challenge of a pairing.", out: body[challengeAnswer](), codes: passkey,
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
			id: "getQRCode", summary: "The code to scan, as a picture.", media: "image/png", codes: codes{"CONNECT_TIMEOUT", "ALREADY_CONNECTED"},
		},
		"GET /instance/{i}/connection/status": {id: "getConnectionStatus", summary: "The truth about the connection.", out: body[statusAnswer]()},
		"DELETE /instance/{i}/logout":         {id: "logoutInstance", summary: "Unlink the instance from its phone.", out: body[logoutAnswer]()},
		"POST /instance/{i}/restart": {
			id: "restartInstance", summary: "Drop and reopen the connection.", out: body[statusAnswer](), codes: codes{"INSTANCE_NOT_CONNECTED", "CONNECT_TIMEOUT"},
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
			in: body[tryRequest](), example: `{"event":"messages.upsert"}`, out: body[tryAnswer](), codes: codes{"WEBHOOK_NOT_FOUND", codeUnknownEvent},
		},
	}
}
