// Package clientversion keeps the version of WhatsApp's client that connections
// say they are of in step with what WhatsApp takes.
//
// WhatsApp refuses clients that are too old, all of them on one day. A
// [Refresher] is told of each refusal. Unless the version is set by the
// operator, it asks WhatsApp's site for the current one, once for all
// instances, stores the answer, has it used, and tells that the refused
// instances may dial again. Nothing is asked unless an instance was refused.
//
// # What is promised
//
// Between two questions lie ten minutes or more. That is written before a
// question leaves, so that no restart, and no crash in the middle of it, brings
// the next one earlier. A question that found nothing is repeated after 10 and
// 30 minutes, then every hour, for as long as an instance is refused; the time
// of the next is in the file, and a timer waits for it.
//
// An answer counts when it is newer than what is in use and of the same kind of
// client. It is stored first, then used. It is used at each start until the
// version of the client library is as new. When one is refused with which
// WhatsApp never let anybody in, the answer was wrong: then the next one has to be
// newer than what was let in before, and not newer than that.
//
// # Bucket
//
//	client_version  "state" -> JSON: the version, when it was asked for last, the next question
package clientversion
