// Package rest processes the requests of the HTTP interface and knows none of
// its resources: a [Server] finds the [Route] of a request, checks the credential
// and the rights, and passes a [Call] to the route's [Handler].
//
// A request passes, in this order: its id, the log and the panic guard; the table
// of older paths ([Alias]); the routes, which answer 404 and then 405; the
// credential of the route (401, 403, and 404 for an unknown instance); the handler,
// which reads the body (413, 415, 400) with [Call.Decode] or [Call.ReadForm].
// Nothing is ever redirected.
//
// A handler answers, or returns an error. Every refusal has the same body
// ([ErrorBody]); an error is an [Error] or one that [Config.Errors] maps to an
// answer, and any other is an internal fault: 500, with the error in the log only.
//
// A route with [Route.Once] takes an Idempotency-Key, [Audited] records it in the
// audit log.
package rest
