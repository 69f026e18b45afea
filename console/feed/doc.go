// Package feed tells pages of operators what changes, while it changes: instances,
// batches, deliveries and figures, each message one JSON object.
//
// # What is told
//
// Whoever changes something says so by a method of [Feed], once the change is on the
// disk. That costs one look at a number while nobody listens. For each [Stream] the
// names of what changed are kept, and nothing else: the rows are read when the client
// takes them, so that it is told how things are then, however often they changed since
// the last time. What is told is therefore on the disk already, a row is never older
// than the one told before it, and the last change of each row is told in the end.
//
// Rows go out every [Pause], at most [AtOnce] of them, so that neither two thousand
// instances that flap nor a batch at full speed keep a page or this program busy. More
// than [MostDeliveries] deliveries that changed in one pause are only counted.
//
// # What it does not do
//
// It remembers nothing for clients that are away: whoever comes, or comes back, loads
// how things are over HTTP after the first message, and goes on from there with what
// is told. A stream that a client takes so slowly that more than [MostWaiting] rows
// wait for it ends by [ErrBehind].
//
// # Cost
//
// Whoever tells never waits: a stream is a map of names behind a mutex. One that
// nothing happens to holds two timers. The most that a stream can come to hold is
// [MostWaiting] names of 64 bytes and the messages of one read, 100 deliveries.
package feed
