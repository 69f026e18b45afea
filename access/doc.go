// Package access implements authorization: scoped API keys, browser sessions, portal
// links and the audit log.
//
// # Keys
//
// A key grants its scopes on its instances. Its text is shown once, when the key is
// created; the store keeps only the SHA-256. Keys refer to instances by id: a new
// instance that reuses the name of a deleted one is not accessible with the old one's
// keys.
//
// All keys are held in memory, at most [MaxKeys]; a check reads no file. The time of last
// use is written asynchronously, at most a minute late.
//
// A deleted key is invalid from the commit of its deletion. Stopping the work that it
// left running may take more commits: until the last of them the key is recorded as
// ending, and a restart after a crash resumes there. Work that a request starts with a
// key commits only while the key exists, see [While], so that none starts after the
// deletion.
//
// # Sessions
//
// A session stands for the credential that it was made with, for at most [SessionLife].
// Each request is checked against that credential: a session ends with its scoped key, or
// when the operator's key is replaced. The store keeps the digest of the cookie, so that
// sessions survive a restart, and a random CSRF token that pages send with every change.
//
// # Audit
//
// A record commits in the transaction of the change that it describes; see [Book.Note].
//
// # Buckets
//
//	access_key      UUID    -> JSON of a [Key] and the SHA-256 of its text
//	access_use      UUID    -> JSON: when and from where the key was used last
//	access_ending   UUID    -> JSON of a [Key] that was deleted, while what it left running is stopped
//	access_session  SHA-256               -> JSON: whom the session stands for and until when
//	                UUID, time, SHA-256   -> time of its end; zeros: the operator's
//	access_link     SHA-256               -> JSON: which instance a portal link leads to, what made it
//	                number, time, SHA-256 -> time of its end; number: of the instance
//	                24 zeros, number      -> JSON: when links of the instance asked for pairing codes
//	access_audit    number  -> JSON of a [Record]
package access
