// Package network is the server of WhatsApp's multi-device protocol: it accepts the connections
// of clients, pairs them, answers their requests, and delivers what accounts and groups send each
// other.
//
// # The way of a stanza
//
// A client connects over TLS and WebSocket and authenticates in a Noise handshake (conn.go,
// package wire). It then logs in (login.go) or waits for a pairing (pair.go, pair_code.go,
// pair_passkey.go). Its requests are answered from one table (iq.go). Messages, receipts, presence
// and typing go through Server.Route (route.go), whether a linked device sent them by its
// connection or a phone by a call. Stanzas for linked devices are queued for each device; those
// for device 0 are passed to its Phone, which decrypts them.
//
// # Where something new belongs
//
//	a request of clients             a row in iq.go, or in the table of its family: appstate,
//	                                 iq_group, iq_newsletter, iq_people; handlers beside it;
//	                                 those of keys in prekeys.go, of privacy tokens in timelock.go
//	a stanza between accounts        dispatch in route.go, its fan-out there, in a route_ file
//	                                 or in presence.go
//	what channels publish            package posts; who gets it, route_newsletter.go
//	a message that is refused        ackErrorOf in route.go; on request, clientMessage in session.go
//	a way to connect                 server.go and conn.go; bytes on it, package wire
//	a login refused, a stream ended  login.go
//	a way to pair                    a pair_ file
//	state that devices share         package appstate; requests and notifications, appstate.go
//	what a phone sends to its own devices
//	                                 package phone, by Phone.SendPeer; their requests to it, its request.go
//	what a phone has from before     package phone, by Phone.Recall; sent after a link by history.go
//	a fault of the whole network     Faults, and the place that it affects
//	a fault of one account           a field of account, set by a method beside RefuseNext, Deafen
//	                                 and BreakPairing, or of its devices, as Quieten; Heal ends it and
//	                                 Healthy reports it
//	something that an account shows or sets
//	                                 profile in profile.go, changed in people.go
//	a notification                   notify.go sends it; the code of a change calls it
//	a record of the data file        Buckets in persist.go, written in persist_records.go, read in
//	                                 persist_load.go; the authority, authority.go
//
// An act calls an exported method of Server: it takes addresses, does one thing under the lock,
// sends the notifications, and returns ErrClosed or phone.ErrNoAccount if it cannot.
//
// # Accounts
//
// Any number is an account, except those that end in 0000. An account that was only looked up
// takes a few hundred bytes; its keys are created when needed. Every account has a phone number
// and a LID, both of which address it. A look-up of a registered number (Register) answers with
// the account of another one.
//
// # Groups
//
// A group's members and settings belong to the server, which rejects changes by members who are
// no admins like the real one. Each change is one notification to every member's linked devices,
// queued like messages. Phones get none; they read the group. Messages are encrypted with their
// sender's key, which is distributed with each of them, and go to every device of every member.
// Phones do not echo in groups: all would answer each other.
//
// # Guarantees
//
// What a device must acknowledge stays in its queue until it does, and is sent again at each
// login: at least once, in order. A queue holds at most 100 000 stanzas. Presence and typing
// reach only connected devices.
//
// # What a restart and a crash lose
//
// With a Path, everything is kept except groups' pictures, presence and the messages that phones
// remember: certificates, accounts with their profiles and settings, keys, sessions, links,
// groups, posts, pre-keys and queues, and media in a folder beside the file, within the limits of package
// mediahost. Closing loses nothing. Changes are written in the background in groups, so a crash
// may lose those of the last moments (a completed pairing never): a phone then behaves as if
// restored from a backup, and the retry receipts of the protocol repair its sessions. Without a
// Path everything ends with the process.
//
// # Limits
//
// Hostile bytes end their sender's connection: frames are at most 4 MiB, a handshake has
// 10 seconds, and connections, waiting codes and media are limited.
//
// # Locks
//
// The server's mutex guards accounts, devices, groups and queues; nothing waits while holding it.
// Each phone guards its own state and is never called with that mutex held, except to give it
// its name. A connection is read by the goroutine of its request and written by one other. Close
// waits for all of them.
package network
