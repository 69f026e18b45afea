// Package translate converts between the client library's events and messages and the types of
// package event.
//
// A [Translator] turns events into facts, and messages into their content and metadata as JSON
// ([Translator.Message], [Sent]); [Rebuild] reverses the latter. [ConnectionFact] and [Refusal] are
// the facts of the connection itself.
//
// The package keeps no state, uses no network and decides nothing about a session. Except for
// [Translator.Message], which decrypts additions with the secrets of a client's store, results
// depend only on the arguments. Input comes from strangers: no value of it causes a panic, and the
// size and depth of the result are limited.
package translate
