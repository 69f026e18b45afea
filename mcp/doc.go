// Package mcp lets agent programs work with accounts, by the Model Context Protocol.
//
// A [Server] offers a few coarse tools and the chats of instances as resources. It has
// no way of its own to an account: each call becomes requests of the HTTP interface,
// with the caller's scoped key as their credential. What a key may not do there cannot
// be done here, and its instances, recipients, limits and rate hold, because nobody here
// decides about them.
//
// # Whose key decides
//
// The key of the very request: of each POST to ServeHTTP, or the one that ServeStream was
// given, looked at anew for every call. A key that was deleted or narrowed in the middle
// of a session is refused from the next call on. A session belongs to the key that opened
// it; to another key it does not exist. Tools that the key lacks the scopes for are not
// listed, and refused when they are called all the same.
//
// # What a repeated call does
//
// A call that sends has an Idempotency-Key made of the key's id, the tool, its arguments
// and the JSON-RPC id. A client that repeats a call because its answer was lost gets the
// first answer, and the message leaves once, even when client or program have started
// again meanwhile: the session is not part of the key. Another id or other arguments
// make another call. The interface keeps these keys for 24 hours.
//
// # What strangers wrote
//
// Texts and names that other people chose are in fields called untrustedText and nowhere
// else, without control characters and invisible ones, and cut to a length. Addresses,
// types and times beside them are of a form that holds no sentence. Files are handed over
// as bytes, never as text.
//
// # Bounds
//
// A request has at most 1 MiB and nests as deep as package nesting allows; it is one
// message. There are 512 sessions and 16 of one key, the least recently used goes, and
// one without a request for half an hour ends. 32 calls run at once and 8 of one key,
// which makes 120 a minute; more are refused. What a call reads of the interface, and what it returns, is bounded.
// The server never asks a client for anything and keeps no stream open.
package mcp
