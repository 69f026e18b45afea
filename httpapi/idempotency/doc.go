// Package idempotency stores idempotency keys, with which a caller can safely repeat
// a request, and the answers for repetitions.
//
// # Guarantees
//
// A request with a key is executed once, even across crashes. A key goes through
// these states, in this order:
//
//	free        nothing is in the file; a crash leaves a free key
//	in flight   Begin committed the record; a crash, a panic or a failed commit
//	            leaves it, and every retry gets the answer that the outcome is unknown
//	kept        the record has the answer, committed before the caller gets it
//
// A change made by one commit takes its key from free to kept in that commit, see
// [Request.InCommit]. A send costs one more commit with a key than without: the
// record in flight must be on disk before the message is sent. The answer is stored
// in the commit that stores the message. Both share their fsync with
// concurrent commits. A refusal after which a retry is safe deletes the record
// again.
//
// Nothing is done at start: a record in flight without a handler in this process
// means an unknown outcome. Keys are kept for [Life]; a [Pruner] removes them.
//
// # Buckets
//
//	idempotency_key    i|instance|key, u|user|key or o|key -> record and answer
//	idempotency_time   time|key of the record       -> nothing
//
// The first bucket is bounded by what arrives in a day, and a record by the
// answer in it: a stored message, or a batch whose message and attributes are
// in the file once already.
package idempotency
