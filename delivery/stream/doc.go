// Package stream numbers the events of all instances and batches together, for consumers that pull them: without
// holes, in the order of the commits.
//
// An instance event has a row while the options of the global webhook have durable; the row has its body, so that
// it does not depend on whom the event was delivered to. The row of a batch event names its entry of the outbox.
// Rows go when their events are over, see [Trim].
//
// # Buckets
//
//	delivery_stream  number (eight bytes, big-endian)  i: an instance event; b: the sequence of an entry of the outbox
package stream
