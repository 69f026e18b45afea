// Package clientversion keeps the announced version of WhatsApp's client up to date.
//
// WhatsApp rejects clients that are too old, all of them on one day. A [Refresher] is
// called for each rejection. Unless the operator set the version, it requests the current
// one from WhatsApp's site, once for all instances, stores and uses it, and reports that
// the rejected instances may dial again. Without a rejection there are no requests.
//
// # Guarantees
//
// Two requests are at least ten minutes apart. The time is stored before a request is
// sent, so that no restart or crash shortens the interval. A request without a result is
// repeated after 10 and 30 minutes, then every hour, as long as an instance is rejected;
// the time of the next one is in the file.
//
// An answer is accepted if it is newer than the version in use and of the same kind of
// client. It is stored, then used, at each start too, until the version of the client
// library is as new. If WhatsApp rejects a version with which it never accepted a login,
// the answer was wrong: the next one only has to be newer than the last accepted version.
//
// # Bucket
//
//	client_version  "state" -> JSON: the version, the time of the last request and of the next one
package clientversion
