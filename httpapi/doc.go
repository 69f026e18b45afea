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
// This package joins the tables of the resources and serves them. routes.txt lists every
// route on one page.
//
//   - routes….go are the tables of the older paths, of the compatibility rules for
//     their clients, and of the features not offered.
//   - rest processes requests and knows no resource: calls, credentials, rights,
//     bodies, pages, idempotency. errors.go holds the one table that maps the errors
//     of every package to a status and a code.
//   - instances, chats, sends, batches, deliveries, sockets and operator are the
//     resources: in each, routes.go has its rows with their descriptions. Fields are
//     described by the tags of their types, or in fields.go. None imports another.
//   - ref resolves references in bodies to stored messages and uploads.
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
