// Package whatsapp connects instances to WhatsApp through the unpatched
// whatsmeow library and speaks only package event's words to the rest of the
// program.
//
// A [Connector] opens one [Session] per instance. A session dials when it is
// told to and never by itself: whatsmeow's own reconnecting is off, so that one
// supervisor owns backoff, limits and the stored state. Whatever happens on
// the account is told through the report function given to Open, as an
// [event.Fact], one call per happening and possibly from several goroutines.
//
// # What is promised
//
// Incoming messages and receipts are acknowledged to WhatsApp only after
// report returned nil. When it fails, the session drops the connection and
// reports that; the next login brings the message again, and its decrypted
// text waits in the device's event buffer meanwhile. The same holds when that
// buffer cannot be written, on a full disk. A crash therefore loses no message;
// it may bring one twice, with the same key id.
//
// A send ends in one of the errors of package event or in success, and
// [event.ErrOutcomeUnknown] is returned exactly when the frame may have been
// written and no answer came (see classify.go). The message id is chosen by
// the caller, and every sent message is kept in the device's retry buffer
// before its frame is written, so that a recipient who could not decrypt it
// is served after a restart too.
//
// Content from strangers never panics the process: a handler that panics is
// counted, logged and taken as done.
//
// # Pairing
//
// An unpaired session shows codes as WhatsApp hands them out: the first lives
// 60 s, later ones 20 s. After pairing WhatsApp closes the stream and expects
// a login. That request to log in is sometimes lost together with the
// connection, so the session watches for it and reports manual.reconnect
// itself; the supervisor answers by calling Connect.
//
// # Networks
//
// All sessions of a connector connect to one network, see [Endpoint.Network]. A session
// whose device belongs to another network never dials, see [Session.WrongNetwork].
//
// # What the devices of an account have in common
//
// Changes of chats, labels and contacts are told from the first read of their
// collection on, which itself tells nothing. What could not be read, at the
// first login or later, is read at the next, and before that as soon as
// WhatsApp answers again.
//
// # Parts
//
// A session holds parts, each with the state of one theme: connection (the client
// and the account behind it), reporter (facts, in order), linker (pairing), relogin,
// sender, historySync, and those that [Account] hands out. Calls go from the session
// to a part, from a part to connection and reporter, and never back.
//
// # Process-wide settings
//
// whatsmeow keeps its certificate root, its keep-alive times, the name shown
// under linked devices and its Signal logger in package variables. [New] sets
// them; a process therefore has one Connector, or several with equal settings.
package whatsapp
