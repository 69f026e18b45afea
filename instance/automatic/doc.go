// Package automatic does what the settings of an instance ask for by itself: it marks
// messages as read, rejects calls and answers the caller, and shows the account as
// available.
//
// [Actions] are those of one instance. They learn from the stored facts of its account what
// there is to do, and do it beside them.
//
// # Guarantee
//
// A message that is to be marked as read is stored in the commit of the message, so that a
// crash leaves none unmarked. A caller is sent a text at most once an hour: that is stored
// before the text leaves, so a crash may lose the text, but never sends it twice.
//
// # Buckets
//
//	call_answer   instance + caller   -> when the text that answers calls was last sent, in milliseconds
//	read_due      instance + n        -> JSON of a message that is to be marked as read
package automatic
