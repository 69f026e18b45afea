// Package device stores the WhatsApp devices: for every paired instance its keys, its
// Signal sessions and the other data that the whatsmeow library keeps between two
// connections. It implements the library's store interfaces on package store.
//
// # Guarantees
//
// A write that returned is on disk, except for the writes of a send. The writes of one
// received message, made inside DoDecryptionTxn, are committed together or not at all:
// they are collected in an overlay that the context carries, reads with that context see
// them first, and one commit at the end stores them. No transaction is open while a
// message is decrypted, so devices do not wait for each other. With [Riding] that commit
// is the one that stores the message, and [Container.Settle] reports when it is on disk.
//
// A message may be sent while the sessions that encrypted it, and the data for a retry,
// are not yet in the file (see [Container.Sending]). They ride on the next commit of any
// caller, usually that of the message's result, so that a message costs one commit; after
// a second they request a commit themselves. A crash loses them for at most the last
// eight messages of an instance. A write that failed on a full disk is repeated before
// further messages are sent. A session key must never encrypt twice. Each session is
// therefore stored with the number of crashes that the file had seen, and one from before
// a crash is moved ahead by as many keys as can have been used. Recipients tolerate
// messages that never come.
//
// The library reads a session, advances it and writes it back, in sends and decryptions
// at the same time, without a lock. Here they exclude each other: otherwise a text that
// crosses another one would be encrypted with a used key, and its recipient would drop
// it. A message that is sent again is encrypted outside of both, so its key is reserved
// when the session is read.
//
// Data that is not yet in the file belongs to the device that sent it. A device that is
// paired in its place does not see it, nothing of it is written after the device was
// deleted, and no message is sent after [Container.Close].
//
// The record of a device contains the network that paired it, from the commit of the
// pairing on; records of earlier releases get it with the first successful login. A
// logout by that network deletes nothing: the device is put aside with all its keys until
// [Container.DropAside], the next pairing or [Container.Delete] removes it. A logout by
// another network, or while the network is unknown, changes nothing.
//
// Unchanged values are not written again. The library stores the same identity with every
// message, which would cost a commit each.
//
// # Buckets
//
// All records of a device have keys that begin with its instance's id and one byte for
// the kind, so that deleting the device is deleting one range:
//
//	device  instance + 'D'                         -> JSON of the device record
//	        instance + 'I' + address               -> identity key
//	        instance + 'S' + address               -> crashes before it was written, session
//	        instance + 'P' + pre-key id            -> 1 when uploaded, private key
//	        instance + 'p'                         -> next pre-key id
//	        instance + 'q'                         -> ids of the last pre-keys made one at a time
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
//	        instance + 'A' + kind                  -> times of requests to the phone in the last hour
//	        instance + 'B' + hash                  -> times, plaintext of a received message
//	        instance + 'Y' + message id            -> notice of unread history
//	        instance + 'O' + [chat] + id           -> time, format, plaintext of a sent message
//	lid_map 'l' + LID -> phone; 'p' + phone -> LID
//	number_answer phone that was looked up -> JSON: the account of the answer, and when; for 30 days
//	device_run "run" -> JSON of the crashes so far, and whether the file is in use
//
// Parts in brackets are preceded by their length in two bytes. An address is
// a Signal address, "user:device", with "_1" after the user of a
// LID. The LID map is shared by all devices and held in memory.
package device
