// Package access knows who may do what: scoped keys that an operator gives away,
// the sessions of browsers that were signed in with one, and the log of what was
// changed by whom.
//
// # Keys
//
// A key opens the routes of its scopes, for its instances. Its text is told once,
// when it is made; kept is its SHA-256. An instance is meant by its id: one that
// is deleted and made anew under the same name, perhaps for somebody else, is not
// opened by the keys of the former.
//
// All keys are in memory, at most [MaxKeys]; a check reads no file. When a key was
// used last is written behind, at most a minute late.
//
// A key that is deleted is worth nothing from that commit on. Who deletes it may want what
// it left running to be stopped, which takes more commits: until the last of them, the key
// is noted as ending, and a start goes on where a crash cut that off. What a request with a
// key sets running commits only while there is the key, see [While]: nothing is set running
// behind the back of a deletion.
//
// # Sessions
//
// A session stands for the credential that it was made with, for [SessionLife] at
// most, and never for more than that is worth at the moment of a request: it ends
// with a scoped key, and with the operator's key when that is replaced. Kept is
// the digest of its cookie, so that signed in browsers outlive a restart, and a random
// value that a page of the session sends along with what it changes.
//
// # Audit
//
// A record commits in the transaction of what it tells of; see [Book.Note].
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
