// Package event is the vocabulary that Postern speaks to its consumers.
//
// It holds the catalogue of the events of instances and of message batches, the
// types of their payloads, the two envelopes, and the terms that several
// packages share: connection states, webhook flags, facts that a connector
// reports, and notices on their way to a receiver. It imports no other package
// of this program, does no I/O and keeps no state: it consists of values and
// pure functions.
//
// An event is one row in catalogue.go. Its payload type is the only source of
// its schema: [Schema] reads the type by reflection, [Examples] are values of
// it, and the golden files under testdata are those examples byte for byte (go
// test -update rewrites them). A new field is one line in its type, one in the
// example named "full" and one in contract_test.go.
//
// Two rules hold for every payload. A field is absent only if the contract calls
// it optional, and null only if the contract allows null. The types express
// both: a pointer without omitempty is required and may be null; omitempty or
// omitzero makes a field optional. A pointer with omitempty is an optional field
// whose zero value is sent as well, as in "muted": false. Where extra keys are
// allowed the type has an [Extra]. All times are RFC 3339 in UTC with
// millisecond precision, see [Time].
package event
