// Package erasure removes what an instance has stored about a person.
//
// [Book.Accept] stores an erasure and returns its id; one goroutine carries erasures out, one
// after the other, in steps that are each a search without a commit and a small commit. The
// commit of a step also stores how far the erasure is, so that a crash neither repeats nor
// skips anything. What is stored after Accept stays: each part ends at the id that was the
// newest then.
//
// # Parts
//
// In this order: the messages of the direct chat and those that the person wrote in groups,
// with their receipts, votes and kept files; the contact, the timer and the names of the
// chat; the device's copies of what was sent to the person, the secrets of the chat's
// messages and the names in its address book; the kept answers to look-ups of the number; bodies of deliveries, of batch events
// that name the instance, and of the stream of all events.
//
// Not touched: batches, opt-outs, the audit log, backups, and the keys and sessions of the
// linked device, with which number has which LID.
//
// # Names
//
// The addresses of a person are those known at Accept: phone number and LID, of the contact,
// of the chat and of the device. The record keeps them until the erasure is done.
//
// # Buckets
//
//	erasure   instance + UUID -> JSON: whose, how far it is, and what was removed
package erasure
