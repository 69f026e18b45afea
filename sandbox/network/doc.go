// Package network is the server's side of WhatsApp's multi-device protocol: it accepts the
// connections of clients, pairs them, answers their requests, and carries what accounts and groups
// send each other.
//
// # The way of a stanza
//
// A client connects over TLS and WebSocket and proves who it is in a Noise handshake (conn.go,
// package wire). It then logs in (login.go) or waits to be paired (pair.go, pair_code.go,
// pair_passkey.go). Its requests are answered from one table (iq.go). Messages, receipts, presence
// and typing go through Server.Route (route.go), whoever sent them: a linked device by its
// connection or a phone by a call. Stanzas for linked devices are queued for each device; those
// for device 0 are handed to its Phone, which really decrypts them.
//
// # Where something new belongs
//
//	a request of clients             a row in iq.go, or in the table of its family: iq_appstate,
//	                                 iq_group, iq_newsletter, iq_people, iq_users; handlers beside it
//	a stanza between accounts        dispatch in route.go, its fan-out in a route_ file
//	a message that is refused        ackErrorOf in route.go; on request, clientMessage in session.go
//	a way to connect                 server.go and conn.go; bytes on it, package wire
//	a login refused, a stream ended  login.go
//	a way to pair                    a pair_ file
//	state that devices synchronise   package appstate; who is told of it, appstate.go
//	what a phone says to its own devices
//	                                 package phone, by Phone.SendPeer; what they ask of it, its request.go
//	what a phone has had all along   package phone, by Phone.Recall; sent after a link by history_past.go
//	a fault of the whole network     Faults, and where it strikes
//	a fault of one account           a field of account, set by a method beside RefuseNext, Deafen
//	                                 and BreakPairing, or of its devices, as Quieten; Heal ends it and
//	                                 Healthy sees it
//	something that an account shows or sets
//	                                 profile in profile.go, changed in people.go
//	a notification                   notify.go sends it; who changes something sends it there
//	a record of the data file        Buckets in persist.go, written in a persist_ file, read in
//	                                 persist_load.go
//
// What an act asks for is an exported method of Server: it takes addresses, does one thing under
// the lock, tells whoever has to know, and returns ErrClosed or phone.ErrNoAccount when it cannot.
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
// With a Path, everything but groups' pictures, presence and the messages that phones
// remember is kept: certificates, accounts with what they show and have set, keys, sessions,
// links, groups, pre-keys and queues, and beside the file, in a folder, media as package
// mediahost bounds them. Closing loses nothing.
// Changes are written behind in groups, so a crash may lose those of the last moments (a
// completed pairing never): a phone then behaves as if restored from a backup, and the retry
// receipts of the protocol repair its sessions. Without a Path everything ends with the process.
//
// # Bounds
//
// Hostile bytes cost their sender the connection: frames are at most 4 MiB, a handshake has
// 10 seconds, and connections, waiting codes and media are bounded.
//
// # Who owns what
//
// The server's mutex guards accounts, devices, groups and queues; nothing waits while holding it.
// Each phone guards its own state and is never called with that mutex held, except to hand
// it a name. A connection's reading belongs to the goroutine of its request, its writing to
// one other. Close waits for all of them.
package network
