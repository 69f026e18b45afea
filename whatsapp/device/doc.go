// Package device keeps the WhatsApp devices: for every paired instance its
// keys, Signal sessions and everything else that the whatsmeow library wants
// kept between two connections. It implements the library's store interfaces
// on package store.
//
// # What is promised
//
// A write that returned is on disk, but for those of a send. The writes of one
// received message, made inside DoDecryptionTxn, are committed together or not
// at all: they gather in an overlay that travels in the context, reads through
// that context see it first, and one commit at the end stores it. No transaction
// is open while a message is decrypted, so that devices do not wait for each
// other. With [Riding] that commit is the one that stores the message, and
// [Container.Settle] says when it is on disk.
//
// A message leaves while the sessions that encrypted it, with what a retry needs,
// are on their way to the file (see [Container.Sending]). They go with the next
// commit that anybody asks for, which mostly is that of the message's result, so
// that a message costs one; after a second they ask for one themselves. A crash
// loses them at most for the last eight messages of an instance. A write that
// fails because the disk is full is done again before more than these leave. A
// key of a session must never encrypt twice, so each session has with it how many
// crashes the file had seen, and one from before a crash is moved ahead by as
// many keys as can have been used. Recipients allow for messages that never come.
//
// The library reads a session, moves it on and writes it back, in sends and
// decryptions at the same time, and does not keep them apart. Here they wait for
// each other: without that a text that crosses another one on the way would be
// encrypted with a used key, and its recipient would drop it. A message that is
// sent again is encrypted outside of both, so it gets its key for itself when
// the session is read.
//
// What is on its way to the file belongs to the device that sent it: one that
// is paired in its place does not see it, nothing of it is written once that was
// deleted, and nothing leaves after [Container.Close].
//
// The record of a device names the network that paired it, from the commit of the
// pairing on; records of earlier releases get it with the first login that succeeds. A
// log-out by that network removes nothing: the device is put aside, with all its keys,
// until [Container.DropAside], the next pairing or [Container.Delete] removes it. A log-out
// by another network, or while its network is not known, changes nothing.
//
// Values that did not change are not written again. The library stores the
// same identity with every message, which would cost a commit each.
//
// # Buckets
//
// All that belongs to one device has keys that begin with its instance's id and
// one byte for the kind, so that deleting it is one range:
//
//	device  instance + 'D'                         -> JSON of the device record
//	        instance + 'I' + address               -> identity key
//	        instance + 'S' + address               -> crashes before it was written, session
//	        instance + 'P' + pre-key id            -> 1 when uploaded, private key
//	        instance + 'p'                         -> next pre-key id
//	        instance + 'G' + [group] + user        -> sender key
//	        instance + 'g' + user, 0, group        -> nothing (index of 'G')
//	        instance + 'K' + key id                -> JSON of an app state key
//	        instance + 'V' + name                  -> app state version and hash
//	        instance + 'M' + [name] + [MAC] + version -> value MAC
//	        instance + 'C' + JID                   -> JSON of a contact
//	        instance + 'H' + JID                   -> JSON of chat settings
//	        instance + 'X' + [chat] + [id] + sender -> time, message secret
//	        instance + 'T' + JID                   -> JSON of a privacy token
//	        instance + 'N'                         -> NCT salt
//	        instance + 'A' + what for              -> times at which the phone was asked in the last hour
//	        instance + 'B' + hash                  -> times, plaintext of a received message
//	        instance + 'Y' + message id            -> notice of a piece of history that is not read yet
//	        instance + 'O' + [chat] + id           -> time, format, plaintext of a sent message
//	lid_map 'l' + LID -> phone; 'p' + phone -> LID
//	device_run "run" -> JSON of the crashes so far, and whether the file is in use
//
// Parts in brackets have their length before them, in two bytes. An address is
// a Signal address, "user:device", with "_1" after the user of a
// LID. The LID map is shared by all devices and held in memory.
package device
