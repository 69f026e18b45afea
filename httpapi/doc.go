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
// A request with an Idempotency-Key is carried out once, whatever happens to
// it: see below. But for the keys in work, the package keeps no state: what it
// knows is in the store and in the engines, so nothing is lost when it stops.
//
// # Idempotency keys
//
// A handler wrapped in once ends in one of three ways, in this order of time:
//
//	free        nothing is in the file; a crash leaves a free key
//	in flight   begin committed the record; a crash, a panic or a failed commit
//	            leaves it, and every retry is told that the outcome is unknown
//	kept        the record has the answer, committed before the caller gets it
//
// Batch creation goes from free to kept in the commit that makes the batch
// visible. A send costs one commit more with a key than without: the record in
// flight must be on disk before the message leaves. The answer is stored in the
// commit that stores the message. Both share their fsync with whatever else is
// committed then.
// A refusal after which a retry is safe deletes the record again.
//
// Nothing happens at start: in flight, without a handler in this process that
// works on it, is what the unknown outcome looks like in the file. Keys live
// for a day; [KeyPruner] removes them.
//
//	idempotency_key    i|instance|key or u|user|key -> record and answer
//	idempotency_time   time|key of the record       -> nothing
//
// The first bucket is bounded by what arrives in a day, and a record by the
// answer in it: a stored message, or a batch whose message and attributes are
// in the file once already.
package httpapi
