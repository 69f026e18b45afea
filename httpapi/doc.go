// Package httpapi is the program's HTTP and WebSocket interface: it turns
// requests into calls of the packages below it and their errors into answers.
//
// A request passes, in this order: its id, the log and the panic guard; the
// table of legacy paths ([aliases]); the route table ([routes]), which answers
// 404 and then 405; the credential of the route (401, 403, and 404 for an
// unknown instance); the body (413, 415, 400); the handler. Nothing is ever
// redirected.
//
// # Where things are
//
//   - routes.go holds every path, method and credential; a file per resource
//     holds the handlers.
//   - errors.go holds the one table that maps the errors of every package to
//     a status and a code, and writes the one error body.
//   - strict.go decodes bodies. It refuses what encoding/json forgives.
//   - auth.go checks the three credentials; token.go makes and reads tokens.
//
// # What it promises
//
// Every answer has an x-request-id, and every refusal the same body. A 2xx for
// a change is written after the change was committed. A handler that panics is
// answered with 500 and logged, and the process goes on. Tokens, keys, message
// texts and query strings are never logged.
//
// The package keeps no state: what it knows is in the store and in the
// engines, so nothing is lost when it stops.
package httpapi
