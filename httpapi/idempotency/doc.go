// Package idempotency keeps the keys with which a caller makes a repetition of a
// request harmless, and the answers that repetitions get.
//
// # What it promises
//
// A request with a key is carried out once, whatever happens to it. A handler
// that runs under a [Request] ends in one of three ways, in this order of time:
//
//	free        nothing is in the file; a crash leaves a free key
//	in flight   Begin committed the record; a crash, a panic or a failed commit
//	            leaves it, and every retry gets the answer that the outcome is unknown
//	kept        the record has the answer, committed before the caller gets it
//
// What is done by one commit goes from free to kept in that commit, see
// [Request.InCommit]. A send costs one commit more with a key than without: the
// record in flight must be on disk before the message leaves. The answer is stored
// in the commit that stores the message. Both share their fsync with whatever else
// is committed then. A refusal after which a retry is safe deletes the record
// again.
//
// Nothing happens at start: in flight, without a handler in this process that
// works on it, is what the unknown outcome looks like in the file. Keys live for
// [Life]; a [Pruner] removes them.
//
// # The file
//
//	idempotency_key    i|instance|key, u|user|key or o|key -> record and answer
//	idempotency_time   time|key of the record       -> nothing
//
// The first bucket is bounded by what arrives in a day, and a record by the
// answer in it: a stored message, or a batch whose message and attributes are
// in the file once already.
package idempotency
