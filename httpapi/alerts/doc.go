// Package alerts makes one readable text of what monitoring posts: alerts as
// Alertmanager and Grafana post them, a group at a time, or a title with a message. And
// it remembers which alerts were told, so that the same one is not told twice.
//
// # What it promises
//
// An alert is told to a recipient once in [Life]: what makes it the same one are its
// status, its fingerprint, when it began and whom it is for. So a group that is posted
// again, since another alert has joined it or since its sender repeats itself, is a text
// about what is new, or none; the end of an alert is told after its beginning; and an
// alert that goes on is told again a day later.
//
// That an alert was told is written in the commit that stores its message, and that it
// is about to be in a commit before anything leaves ([Book.Begin]). So no kill has it told
// twice. Where one cuts off the send itself, or WhatsApp does not answer, nobody knows
// whether the text arrived: such an alert counts as told, and is counted as one whose
// outcome is not known ([Known.Unknown]). A send that certainly did not leave leaves no
// trace, and the next post of the alert is told. Posts to the same recipient wait for
// each other ([Book.Turn]): of two that come at once one is told.
//
// A title with a message is no alert: it is told each time, unless it names a fingerprint.
//
// # Bucket
//
//	notify  instance, recipient (8 bytes of a hash), n -> 0 before and 1 after it was sent, time, and 16 bytes of a
//	        hash of each alert of a text
//
// A row is a text. The rows of a recipient are read with each post to it. They go a day
// after they were written, the oldest sooner when there are more than [MaxKept] alerts.
package alerts
