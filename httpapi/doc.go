// Package httpapi is the program's HTTP and WebSocket interface: it turns
// requests into calls of the packages below it and their errors into answers.
//
// A request passes, in this order: its id, the log and the panic guard; the
// table of legacy paths ([aliases]); the route table ([routes]), which answers
// 404 and then 405; the credential of the route (401, 403, and 404 for an
// unknown instance); the body (413, 415, 400); the handler. Nothing is ever
// redirected.
//
// # Layout
//
// Calls go from the route to its handler, and from there to the packages below,
// none of which knows a resource.
//
//   - routes….go are tables: every path, method and credential, the older paths,
//     the compatibility rules for their clients, and the features not offered.
//   - rest processes requests and knows no resource: calls, credentials, rights,
//     bodies, pages, idempotency. errors.go holds the one table that maps the errors
//     of every package to a status and a code.
//   - batch_…, chat_…, group_…, instance_…, media_…, message_…, send_… and the
//     others named after a resource hold its handlers.
//   - docs_….go describe them: what the documents say of each route and field.
//   - strict reads JSON, tokens makes and reads tokens, idempotency keeps keys,
//     openapi writes the documents from the tables.
//
// # Guarantees
//
// Every answer has an x-request-id, and every refusal the same body. A 2xx for
// a change is written after the change was committed. A handler that panics is
// answered with 500 and logged, and the process continues. Tokens, keys, message
// texts and query strings are never logged.
//
// A request with an Idempotency-Key is executed once, even across crashes: see
// package idempotency. Except for the keys in progress, this package keeps no
// state: all state is in the store and the engines.
package httpapi
