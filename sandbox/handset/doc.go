// Package handset is the cryptography of one primary phone: the identity that links
// companion devices, the Signal sessions that encrypt and decrypt messages, and the
// public keys in the form of stanzas.
//
// A test with a Handset can assert what the recipient decrypted, not merely the bytes
// on the wire. The package opens no socket and no file. Its caller transports the
// bytes, and stores State after every call that changes it (Bundle, Encrypt, Decrypt
// and their group forms): a Handset restored from older bytes behaves like a phone
// restored from an old backup, so its peers see repeated counters and it loses the
// pre-keys issued since.
//
// Sessions are stored by Signal address, `user_1:device` for a hidden user (LID), so
// callers pass LIDs and never phone numbers for the peer.
package handset
