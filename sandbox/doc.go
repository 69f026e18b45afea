// Package sandbox is a local network that speaks WhatsApp's multi-device protocol: a server
// and the simulated phones of its accounts. The real client library, unchanged, pairs with
// it, logs in, encrypts, sends and receives, with no phone and no internet.
//
// # The way of a stanza
//
// A client connects over TLS and WebSocket (conn), proves who it is in a Noise handshake
// (noise.go) and then exchanges encrypted stanzas (frame.go, stanza.go). Requests are
// answered from one table (iq.go). Messages, receipts, presence and typing go through
// Server.route, whoever sent them: a linked device by its connection or a Phone by a call.
// Stanzas for linked devices are queued for each device; those for device 0 are handed to
// its Phone, which really decrypts them. So a test can assert what a recipient read.
//
// # Accounts
//
// Any number is an account, except those that end in 0000. One that was merely looked up is
// a few hundred bytes; its keys are made when somebody needs them. Every account has a
// phone number and a LID, both of which address it.
//
// # Groups
//
// A group's members and settings are the server's; it refuses what the real one refuses to
// those who are no admins. Each change is one notification to every member's linked devices,
// queued like messages. Phones are not told, they look. Messages come encrypted with their
// sender's key, which is distributed with each of them, and every device of every member
// gets them. Phones do not echo in groups: all would answer each other.
//
// # Guarantees
//
// What a device must acknowledge stays in its queue until it does, and comes again at each
// login: at least once, in order. A queue holds at most 100 000 stanzas. Presence and typing
// reach only who is there.
//
// # What a restart and a crash lose
//
// With a Path, everything but media, groups' pictures, presence and the messages that phones
// remember is kept: certificates, accounts with what they show and have set, keys, sessions,
// links, groups, pre-keys and queues. Closing loses nothing.
// Changes are written behind in groups, so a crash may lose those of the last moments (a
// completed pairing never): a phone then behaves as if restored from a backup, and the retry
// receipts of the protocol repair its sessions. Without a Path everything ends with the process.
//
// # What it is not
//
// It is for development, demonstrations and tests on one machine. It checks what a client
// needs checked and no more; there are no rate limits, and whoever reaches Control owns it.
// Hostile bytes cost their sender the connection: frames are at most 1 MiB, a handshake has
// 10 seconds, and connections, waiting codes and media are bounded.
//
// # Who owns what
//
// The server's mutex guards accounts, devices, groups and queues; nothing waits while holding it.
// Each Phone guards its own state and is never called with that mutex held, except to hand
// it a name. A connection's reading belongs to the goroutine of its request, its writing to
// one other. Close waits for all of them.
package sandbox
