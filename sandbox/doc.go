// Package sandbox is a local network that speaks WhatsApp's multi-device protocol: a server
// and the simulated phones of its accounts. The real client library, unchanged, pairs with
// it, logs in, encrypts, sends and receives, with no phone and no internet.
//
// Open starts one. This package adds to the network what people see of it: the control routes
// below /sandbox, and the acts by which a phone or the network does something on request.
//
// # The rooms, and who calls whom
//
//	sandbox                    control routes, acts, help
//	sandbox/network            the server: connections, requests, messages, groups, pairing, data file
//	sandbox/network/wire       frames, the Noise handshake, stanzas
//	sandbox/network/appstate   what the devices of an account synchronise
//	sandbox/network/mediahost  the host of encrypted files
//	sandbox/phone              what a phone does, with the network behind an interface
//	sandbox/handset            the keys and sessions of a phone
//
// Calls go down this list. The network reaches a phone by its methods; a phone reaches the network
// by phone.Network.
//
// # A new act
//
// An act is a row in one of the tables messageActs, peopleActs, callActs, groupActs,
// newsletterActs, syncActs and connectionActs, in the act_ file of that name; the help and the
// routes follow. Its function reads and checks its fields (act_fields.go), and then asks a phone
// or the network by one method. It holds no lock and knows no stanza of the server's. What the
// network has to learn for it goes to package network, whose comment says where.
//
// # What it is not
//
// It is for development, demonstrations and tests on one machine. It checks what a client
// needs checked and no more; there are no rate limits, and whoever reaches Control owns it.
package sandbox
