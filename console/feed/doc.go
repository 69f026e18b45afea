// Package feed streams changes of instances, batches, deliveries and figures to operator
// pages. Each message is one JSON object.
//
// # Delivery
//
// The code that commits a change reports it by a method of [Feed], after the commit. While
// no client is connected that costs one atomic load. Each [Stream] keeps only the names of
// changed rows and reads a row when the client takes its message, so repeated changes
// collapse into one message with the latest state. A message therefore never precedes its
// commit, a row never goes back to an older state, and the last change of each row is sent.
//
// Rows are sent every [Pause], at most [AtOnce] at a time, so that two thousand flapping
// instances or a batch at full speed overload neither the page nor the program. If more
// than [MostDeliveries] deliveries change within one pause, only their number is sent.
//
// # Limits
//
// The feed keeps no history. A client that connects or reconnects loads the current state
// over HTTP after the first message and applies later messages to it. A stream with more
// than [MostWaiting] pending rows ends with [ErrBehind].
//
// # Cost
//
// Reporting a change never blocks: a stream is a map of names behind a mutex. An idle
// stream holds two timers. A stream holds at most [MostWaiting] names of 64 bytes and the
// messages of one read, 100 deliveries.
package feed
