// Package alerts formats the posts of monitoring systems as one readable text: alerts as
// Alertmanager and Grafana post them, a group at a time, or a title with a message. It
// stores which alerts were sent, so that the same alert is not sent twice.
//
// # Guarantees
//
// An alert is sent to a recipient once in [Life]. Two alerts are the same when their
// status, fingerprint, start and recipient are equal. So when a group is posted again,
// because it has a new alert or its sender repeats it, the text has only the new alerts,
// and none is sent without any. The end of an alert is sent after its start, and an alert
// that continues is sent again a day later.
//
// The commit that stores the message records that its alerts were sent, and an earlier
// commit that they are about to be ([Book.Begin]). So no crash makes an alert be sent
// twice. When a crash interrupts the send, or WhatsApp does not answer, the outcome is
// unknown: the alert counts as sent, and is reported in [Known.Unknown]. A send that
// definitely did not happen leaves no record, and the next post of the alert is sent.
// Posts to the same recipient wait for each other ([Book.Turn]): of two equal concurrent
// ones, one is sent.
//
// A title with a message is sent each time, unless it has a fingerprint.
//
// # Bucket
//
//	notify  instance, recipient (8 bytes of a hash), n -> 0 before and 1 after it was sent, time, and 16 bytes of a
//	        hash of each alert of a text
//
// A row is a text. The rows of a recipient are read with each post to it. They are
// removed after a day, the oldest sooner when there are more than [MaxKept] alerts.
package alerts
