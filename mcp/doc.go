// Package mcp lets agent programs use accounts through the Model Context Protocol.
//
// A [Server] offers a few coarse tools and the chats of instances as resources. It has
// no access of its own to an account: each call becomes requests to the HTTP API, with
// the caller's scoped key as their credential. So a key has the same rights
// here as there, and its instances, recipients, limits and rate apply: this package
// makes no such decision.
//
// # Authorization
//
// Each request is authorized by its own key: that of the POST to ServeHTTP, or the one
// passed to ServeStream, looked up for every call. A key that is deleted or narrowed
// during a session is refused from the next call on. A session belongs to the key that opened
// it; to another key it does not exist. Tools for which the key lacks the scopes are not
// listed, and calls of them are refused.
//
// # Repeated calls
//
// A call that sends has an Idempotency-Key made of the key's id, the tool, its arguments
// and the JSON-RPC id. A client that repeats a call because its answer was lost gets the
// first answer, and the message is sent once, even when the client or the program was
// restarted in between: the session is not part of the key. A different id or different
// arguments make a new call. The API keeps these keys for 24 hours.
//
// # Untrusted text
//
// Text and names chosen by other people are only in fields named untrustedText, without
// control and invisible characters, and truncated. Addresses, types and times have
// formats that cannot contain sentences. Files are returned as bytes, never as text.
//
// # Limits
//
// A request has at most 1 MiB and nests as deep as package nesting allows; it is one
// message. There are at most 512 sessions, 16 of one key; the least recently used is ended
// for a new one, and a session ends after half an hour without a request. At most 32 calls run
// at once, 8 of one key, which may make 120 a minute; more are refused. What a call reads
// from the API, and what it returns, is limited. The server sends no requests to clients
// and keeps no stream open.
package mcp
