// Package phone is what a simulated phone does: device 0 of an account, which decrypts what
// reaches it and answers as a phone with WhatsApp does.
//
// A Phone sends messages, receipts and polls, reads what it gets and remembers it, answers with
// delivery receipts, asks again for what it cannot read and sends again what another device
// could not. What its linked devices ask of it in messages that nobody sees, it answers too
// (request.go). So a test can ask a phone what a recipient really read. Its keys and sessions are
// those of package handset.
//
// # What it needs
//
// A phone has no connection of its own. It hands its stanzas to a Network and gets those for
// device 0 by Deliver, which never waits. The phone calls the network without a lock of its own
// that Deliver, Rename or PushName needs; the network calls the phone from any goroutine.
//
// # What is kept
//
// Keys and sessions are saved by the Network after each change, before a message is
// acknowledged. What was sent and received is remembered in memory, within bounds, until the
// process ends.
package phone
