// Package later sends messages after the calls that asked for them were answered: at a time
// that the caller chose, by a [Scheduler], or as soon as the instance can, by a [Processor].
//
// # Asynchronous sends
//
// [Processor.Accept] stores a send and returns its id. Workers take them in the order of their
// acceptance, wait for the connection and the turn of the instance for at most the timeout,
// and store that the message may have left before it does. One event send.message reports
// the end, in the commit that removes the send and stores the message. Waiting sends continue
// after a restart; those whose message may have left end with an unknown outcome.
//
// # Scheduled sends
//
// [Scheduler.Accept] stores a send, with the content of its file, and returns its id. When
// its time comes, the scheduler waits until the instance is connected and its limits allow
// the message, stores that it may have left, and sends it. The commit that stores the sent
// message removes the scheduled send. One that cannot begin within its own LateMax after
// its time ends with event.ErrTooLate.
//
// An instance has up to [perInstance] sends under way, those to one chat in the order of
// their times, and sends of the same time in the order in which they were accepted. A send
// that a limit of the instance holds back does not delay those behind it that the limit
// allows; the scheduler looks at the first [lookahead] due sends.
//
// # Guarantee
//
// An accepted send ends once, in the message or in one event send.message with the reason,
// or it is removed by [Scheduler.Delete] or with its instance. No message is sent twice.
// Before a byte leaves, a commit notes that the send has begun. A crash after that commit
// ends the send with an unknown outcome at the next start, and it is not repeated; a message
// that left and cannot be stored ends the send so at once. A crash before the commit changes
// nothing. A file that came from a backup ends all sends whose time has
// passed with an unknown outcome, since they may have been sent after the backup was made.
//
// On a full disk no send begins, and the result of one that has begun is stored when there
// is room again.
//
// # Clock
//
// Times are compared with the clock on the wall, so a send is at most a minute late when
// the clock is set forward. While the store does not trust the clock, no send ends as too
// late: a clock that is wrong by days would end all of them.
//
// # Memory
//
// Sends remain in the file until they begin. In memory there is one lane for each instance
// that has any, and one timer for all lanes.
//
// # Buckets
//
//	scheduled_send   instance + id            -> JSON of the send
//	scheduled_late   instance + deadline + id -> nothing
//	scheduled_begun  instance + id            -> nothing: the message may have left
//	scheduled_file   instance + id + n        -> the n-th piece of the file, from 0
//	processing       instance + process id    -> JSON of an asynchronous send that has not ended
//
// The id of a scheduled send is a UUID of version 7 whose time is that of the send, not of its acceptance. The
// order of the keys is therefore the order in which an instance sends. A deadline is in
// milliseconds since 1970.
package later
