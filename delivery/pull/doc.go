// Package pull keeps consumers: names with a position in the durable events of an instance, or in the stream of all
// instances and batches, for receivers that ask for events instead of having an address.
//
// A consumer holds nothing back: events are kept for as long as the options of the webhook say, and a consumer that
// is slower gets [GoneError] until it moves its position. A position moves only by [Consumers.Ack] and
// [Consumers.Seek], each a commit of its own, so an answered call holds through a crash, and events that were not
// acknowledged are read again.
//
// # Events that were not stored
//
// While the disk is nearly full, events are delivered from memory, once, and have no number. The commit that
// stores what such an event is about also notes the place where the series has lost some ([Consumers.NoteLost]); what
// stores nothing has a commit for the note ([Consumers.Lost]). A consumer that reaches the place gets [GoneError] as
// well, until a seek. A seek passes only the losses up to its target, and those that the consumer had reached.
//
// # Buckets
//
// Numbers are eight bytes, big-endian.
//
//	delivery_consumer  instance or 0, name   JSON: the position, and how many losses it has passed
//	delivery_loss      instance or 0, number  how many events were lost so far; the last one before the loss
package pull
