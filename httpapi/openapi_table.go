package httpapi

import (
	"net/http"
	"reflect"

	"postern/batch"
	"postern/instance"
)

// description is what the OpenAPI document says about a route beyond its
// method, path and credential.
type description struct {
	summary string
	in      reflect.Type // of a JSON body, nil when there is none
	form    []string     // fields of a multipart body, beside the file; nil when the body is none
	query   []string
	status  int          // of the success
	out     reflect.Type // of the answer, nil when it is no JSON
	media   string       // of an answer that is no JSON
	once    bool         // takes an Idempotency-Key
}

func body[T any]() reflect.Type { return reflect.TypeFor[T]() }

// descriptions has a row for each route, by method and path. A test holds it
// complete.
func descriptions() map[string]description {
	all := map[string]description{}
	for _, theme := range []map[string]description{operationDescriptions(), instanceDescriptions(), connectionDescriptions(), sendDescriptions(), chatDescriptions(), groupDescriptions(), batchDescriptions()} {
		for key, d := range theme {
			if d.status == 0 {
				d.status = http.StatusOK
			}
			all[key] = d
		}
	}
	return all
}

func operationDescriptions() map[string]description {
	pages := []string{"limit", "nextCursor", "previousCursor"}
	return map[string]description{
		"GET /health":                      {summary: "Whether the process is alive.", out: body[health]()},
		"GET /ready":                       {summary: "Whether the program can do its work, and if not, why.", out: body[health]()},
		"GET /metrics":                     {summary: "Metrics for Prometheus.", media: "text/plain"},
		"GET /openapi.json":                {summary: "This document.", media: "application/json"},
		"GET /docs":                        {summary: "This document as a page to read.", media: "text/html"},
		"POST /auth/user-token":            {summary: "Make a token for a user.", in: body[userTokenRequest](), status: http.StatusCreated, out: body[userToken]()},
		"GET /message/batches/{id}/events": {summary: "List a batch's events with their delivery, oldest first.", query: pages, out: body[batch.List[outboxRecord]]()},
		"GET /outbox":                      {summary: "List the events of all users with their delivery, newest first.", query: append([]string{"state"}, pages...), out: body[batch.List[outboxRecord]]()},
		"POST /outbox/{id}/retry":          {summary: "Try a pending event now.", out: body[outboxRecord]()},
		"POST /outbox/retry":               {summary: "Try all pending events now.", out: body[retryAnswer]()},
		"GET /ws/global/events": {
			summary: "A WebSocket with the batch events of the token's user.", query: []string{"event", "token", "since"}, status: http.StatusSwitchingProtocols,
		},
		"GET /ws/instance/events": {
			summary: "A WebSocket with the events of the token's instance.", query: []string{"event", "token"}, status: http.StatusSwitchingProtocols,
		},
	}
}

func instanceDescriptions() map[string]description {
	return map[string]description{
		"POST /instance":                  {summary: "Create an instance.", in: body[createRequest](), status: http.StatusCreated, out: body[createdInstance]()},
		"GET /instance":                   {summary: "List the instances, or the one of a name.", query: []string{"instanceName"}, out: body[[]listedInstance]()},
		"GET /instance/{i}":               {summary: "Show an instance.", out: body[shownInstance]()},
		"DELETE /instance/{i}":            {summary: "Delete an instance and everything stored of it.", query: []string{"force"}, out: body[deletedInstance]()},
		"PUT /instance/{i}/refreshToken":  {summary: "Replace the instance's token by a new one.", in: body[refreshRequest](), out: body[rotatedToken]()},
		"PUT /instance/{i}/token":         {summary: "Issue a new token for an instance whose old one expired or was lost.", out: body[rotatedToken]()},
		"PUT /instance/{i}/webhook":       {summary: "Set the instance's webhook, or a part of it.", in: body[webhookRequest](), out: body[instance.Webhook]()},
		"GET /instance/{i}/webhook":       {summary: "Show the instance's webhook.", out: body[instance.Webhook]()},
		"POST /instance/{i}/webhook/test": {summary: "Send one example of an event to the webhook.", in: body[tryRequest](), out: body[tryAnswer]()},
		"GET /instance/{i}/qr.png":        {summary: "The code to scan, as a picture.", media: "image/png"},
		"DELETE /instance/{i}/logout":     {summary: "Unlink the instance from its phone.", out: body[logoutAnswer]()},
		"POST /instance/{i}/restart":      {summary: "Drop and reopen the connection.", out: body[statusAnswer]()},
	}
}

func connectionDescriptions() map[string]description {
	return map[string]description{
		"GET /instance/{i}/connect":                    {summary: "Connect, and wait for the first code to scan or for the login.", out: body[connectAnswer]()},
		"POST /instance/{i}/connect":                   {summary: "Connect, and wait for the first code to scan or for the login.", out: body[connectAnswer]()},
		"GET /instance/{i}/connect/code/{phone}":       {summary: "Ask for a code to type on a phone.", out: body[pairingCode]()},
		"POST /instance/{i}/connect/code":              {summary: "Ask for a code to type on a phone.", in: body[phoneRequest](), out: body[pairingCode]()},
		"POST /instance/{i}/connect/passkey/challenge": {summary: "Wait for the passkey challenge of a pairing.", out: body[challengeAnswer]()},
		"POST /instance/{i}/connect/passkey/assertion": {summary: "Hand over the authenticator's answer.", in: body[assertionRequest](), status: http.StatusAccepted, out: body[passkeyAnswer]()},
		"POST /instance/{i}/connect/passkey/confirm":   {summary: "Confirm that the code is the one on the phone.", status: http.StatusAccepted, out: body[passkeyAnswer]()},
		"GET /instance/{i}/connection/status":          {summary: "The truth about the connection.", out: body[statusAnswer]()},
	}
}

func batchDescriptions() map[string]description {
	filters := []string{"status", "instanceName", "createdFrom", "createdTo", "name", "query", "limit", "nextCursor", "previousCursor"}
	items := []string{"status", "recipient", "instanceName", "limit", "nextCursor", "previousCursor"}
	return map[string]description{
		"POST /message/batches":                  {summary: "Create a batch.", once: true, in: body[batchRequest](), status: http.StatusCreated, out: body[batch.View]()},
		"GET /message/batches":                   {summary: "List batches, newest first.", query: filters, out: body[batch.List[batch.View]]()},
		"POST /message/batches/list":             {summary: "List batches, newest first.", in: body[batchFilter](), out: body[batch.List[batch.View]]()},
		"GET /message/batches/{id}":              {summary: "Show a batch.", out: body[batch.View]()},
		"GET /message/batches/{id}/items":        {summary: "List a batch's items by position.", query: items, out: body[batch.List[batch.Item]]()},
		"GET /message/batches/{id}/items/{item}": {summary: "Show an item with its attempts.", out: body[batch.ItemWithAttempts]()},
		"GET /message/batches/{id}/attempts":     {summary: "List a batch's attempts by position.", query: items, out: body[batch.List[batch.Attempt]]()},
		"GET /message/batches/{id}/processing":   {summary: "Show a batch with all its recipients and attempts.", out: body[processing]()},
		"POST /message/batches/{id}/start":       {summary: "Start a batch, or go on with it.", out: body[batch.View]()},
		"POST /message/batches/{id}/pause":       {summary: "Pause a batch.", out: body[batch.View]()},
		"POST /message/batches/{id}/stop":        {summary: "Stop a batch for good.", out: body[batch.View]()},
	}
}
