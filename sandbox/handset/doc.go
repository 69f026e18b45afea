// Package handset is the cryptography of one primary phone: the identity that links
// companion devices, the Signal sessions that read and write messages, and the public keys as
// stanzas carry them.
//
// A test that talks to a Handset can assert what the recipient decrypted, not merely
// what was put on the wire. The package opens no socket and no file. Its caller carries
// the bytes, and stores State after every call that changes it (Bundle, Encrypt,
// Decrypt and their like for groups): a Handset restored from older bytes behaves like a phone restored from an
// old backup, so its peers see repeated counters and it loses the pre-keys issued since.
//
// Sessions are keyed by Signal address, `user_1:device` for a hidden user (LID), so
// callers pass LIDs and never phone numbers for the peer.
package handset
