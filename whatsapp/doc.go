// Package whatsapp connects instances to WhatsApp with the unpatched whatsmeow
// library. The rest of the program sees only the types of package event.
//
// A [Connector] opens one [Session] per instance. A session dials only when Connect is
// called: whatsmeow's own reconnecting is off, so that one supervisor owns backoff,
// limits and the stored state. A session reports what happens on the account as
// [event.Fact], by the function given to Open: one call per fact, possibly from several
// goroutines.
//
// # Guarantees
//
// Incoming messages and receipts are acknowledged to WhatsApp only after report returned
// nil. If report fails, the session drops the connection and reports the loss. WhatsApp
// sends the message again after the next login; meanwhile its decrypted text is kept in
// the device's event buffer. The same happens if that buffer cannot be written, for
// example on a full disk. A crash therefore loses no message, but may duplicate one,
// with the same key id.
//
// A send ends in success or in one of the errors of package event.
// [event.ErrOutcomeUnknown] means that the frame may have been written and no answer
// came (see classify.go). The caller chooses the message id. Every sent message is stored
// in the device's retry buffer before its frame is written, so that a recipient who could
// not decrypt it can request it again, also after a restart.
//
// Incoming content never panics the process: an event whose handler panics is counted,
// logged and treated as handled.
//
// # Pairing
//
// An unpaired session reports QR codes as WhatsApp issues them: the first is valid for
// 60 s, later ones for 20 s. After pairing, WhatsApp closes the stream and expects a
// login. Its request for that login is sometimes lost with the connection, so the session
// has a watchdog that reports manual.reconnect in its place. The supervisor then calls
// Connect.
//
// # Networks
//
// All sessions of a connector connect to one network, see [Endpoint.Network]. A session
// whose device belongs to another network never dials, see [Session.WrongNetwork].
//
// # App state
//
// Changes of chats, labels and contacts are reported from the first complete read of
// their collection on; that read itself reports nothing. A collection that could not be
// read is read again after a while and after the next login.
//
// # Parts
//
// A session holds parts, each with the state of one theme: connection (the client
// and the account behind it), reporter (facts, in order), linker (pairing), relogin,
// sender, historySync, and those that [Account] hands out. Calls go from the session
// to a part, and from a part to connection and reporter; never back. Package translate
// turns the library's events and messages into facts.
//
// # Process-wide settings
//
// whatsmeow keeps its certificate root, its keep-alive intervals, the name shown under
// linked devices and its Signal logger in package variables, which [New] sets. A process
// therefore has one Connector, or several with equal settings.
package whatsapp
