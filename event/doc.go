// Package event is the vocabulary that Postern speaks to its consumers.
//
// It holds the catalogue of every event (27 of instances, 18 of message
// batches), the types of their payloads, the two envelopes, and the few words
// that several packages share: connection states, webhook flags, facts told by
// a connector, and notices on their way to a receiver. It imports no other
// package of this program, does no I/O and keeps no state: everything here is
// a value or a pure function.
//
// The payload types are the one source of what a payload looks like: [Schema]
// reads them by reflection, [Examples] are values of them, and the golden files
// under testdata are those examples byte for byte (go test -update rewrites
// them). A new field is one line in its type, one in the example named "full"
// and one in the test that repeats the contract.
//
// Two rules hold for every payload. A field is absent only when the contract
// calls it optional, and it is null only when the contract allows null; the
// types express both, pointers without omitempty for "required, may be null"
// and omitempty or omitzero for "optional". A pointer with omitempty is an
// optional field whose zero value says something too, as in "muted": false.
// Where extra keys are allowed the type has an [Extra]. All times are RFC 3339
// in UTC with millisecond precision, see [Time].
package event
