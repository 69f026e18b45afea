// Package stream numbers the events of all instances and batches together, for consumers that pull them: without
// holes, in the order of the commits.
//
// An instance event has a row while the options of the global webhook have durable; the row has its body, so that
// it does not depend on whom the event was delivered to. The row of a batch event names its entry of the outbox.
// Both are written in the commit of the event, so a crash leaves no event without a row and no number without one.
//
// An instance event expires at its ExpiresAt. These times ascend with the numbers, even if maxAge becomes shorter, so
// the expired rows come first. A batch event ends with its entry: a pending one stays, and older and
// younger rows around it may be gone. The body of an instance event is removed with its instance; the row stays
// and is passed over, and so does that of a batch event that was removed with its batch. Package pull removes rows.
//
// A file of an earlier version has no rows. The outbox gives its entries theirs when it is opened, see [Filled]. Instance
// events of such a file are not in the stream.
//
// # Buckets
//
//	delivery_stream  number (eight bytes, big-endian)  i: an instance event; b: the sequence of an entry of the outbox
package stream
