// Package optout records who wants no more batches of a user, and adds those who answer a
// batch with one of its opt-out words.
//
// # Guarantees
//
// An opt-out holds for all batches of its user from the commit that adds it until a call
// removes it. It holds for the person: for each form of the phone number and for the LID,
// as far as they are known. Nothing else removes it: not the end or the deletion of a
// batch, not a restart.
//
// The engine asks [Book.OptedOut] in the commit that would make an item SENDING. So an
// opt-out that was committed before is never overtaken.
//
// # Words
//
// A batch with opt-out words is a campaign: [Book.Campaign] stores the words in the commit
// that creates it, and [Book.Contacted] each recipient in the commit that makes an item
// SENDING. [Book.Heed] compares an inbound text with the words of all campaigns, in memory.
// Only if it is one of them, the commit of the message looks for campaigns that contacted
// its sender in the last 30 days.
//
// Campaigns and contacts outlive their batch, which may be deleted earlier. They are
// removed 30 days after the contact; a campaign not before its batch is final.
//
// # Buckets
//
//	optout            owner + 0 + phone number -> JSON of the entry; the number in its canonical form
//	                  owner + 1 + LID          -> JSON of the entry of a person whose number is unknown
//	                  owner + 2 + LID          -> canonical number: the entry holds for this LID too
//	optout_campaign   batch                    -> JSON: owner, folded words, instances
//	optout_contacted  number + batch           -> when the batch was about to write to the number (milliseconds)
//
// Owners and batches are UUIDs of 16 bytes. A number in a key of optout_contacted has 8
// bytes: its digits after a 1, in binary.
package optout
