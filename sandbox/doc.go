// Package sandbox is a local network that speaks WhatsApp's multi-device protocol: a server
// and the simulated phones of its accounts. The real client library, unchanged, pairs with
// it, logs in, encrypts, sends and receives, without a phone or the internet.
//
// Open starts one. This package adds the interface for people: the control routes below
// /sandbox, and the acts by which a phone or the network does something on request.
//
// # The packages, and who calls whom
//
//	sandbox                    control routes, acts, help
//	sandbox/network            the server: connections, requests, messages, groups, pairing, data file
//	sandbox/network/wire       frames, the Noise handshake, stanzas
//	sandbox/network/appstate   the state that the devices of an account share
//	sandbox/network/mediahost  the host of encrypted files
//	sandbox/phone              a simulated phone; the network is an interface to it
//	sandbox/handset            the keys and sessions of a phone
//
// Calls go down this list. The network calls a phone's methods; a phone calls the network
// by phone.Network.
//
// # A new act
//
// An act is a row in one of the tables messageActs, peopleActs, callActs, groupActs,
// newsletterActs, syncActs and connectionActs, in the act_ file of that name; the help and the
// routes follow. Its function decodes and checks its fields (act_fields.go), and then calls
// one method of a phone or of the network. It holds no lock and builds no stanza of the server.
// What the network needs for it goes to package network, whose comment names the file.
//
// # Limits
//
// The sandbox is for development, demonstrations and tests on one machine. It checks only
// what a client needs checked, has no rate limits, and gives full control to every caller of
// Control.
package sandbox
