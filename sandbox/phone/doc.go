// Package phone is a simulated phone: device 0 of an account, which decrypts what reaches it and
// answers like a phone with WhatsApp.
//
// A Phone sends messages, receipts and polls, stores the messages that it receives, answers with
// delivery receipts, requests again what it cannot decrypt, and sends again what another device
// could not decrypt. It also answers the hidden requests of its linked devices (request.go). A test
// can therefore ask a phone what a recipient really read. Its keys and sessions are those of
// package handset.
//
// # The network
//
// A phone has no connection of its own. It passes its stanzas to a Network and gets those for
// device 0 by Deliver, which never waits. The phone calls the network without holding a lock that
// Deliver, Rename or PushName needs; the network calls the phone from any goroutine.
//
// # Storage
//
// The Network saves keys and sessions after each change, before a message is acknowledged. Sent
// and received messages are kept in memory, within limits, until the process ends.
package phone
