// Package store is Postern's one data file: a bbolt database behind a small
// transactional interface.
//
// # What it promises
//
// An Update that returned nil is on disk and survives a kill -9 or a power cut. An Update
// that returned an error changed nothing. There is no third outcome: if the operating
// system reports a failed write whose effect is unknown, the store calls Options.Fatal,
// which ends the process, and the next start finds one of the two states.
//
// A View also sees only what is on disk, so that a power cut never undoes what a caller
// has read: during a commit it sees the state before it, and if the commit takes long it
// waits. The same holds for the reason of an Update that was refused. See durable.go.
//
// # Group commit
//
// One goroutine writes. It takes all waiting calls of Update, runs their closures one
// after the other in a single bbolt transaction and syncs the file once for all of them.
// It does not wait for more calls: a lone caller is committed at once. A closure that
// fails is undone alone, which may mean that the other closures of its group run a second
// time. It is answered with them after the commit, since its error may depend on what
// they wrote. Closures must therefore be pure: they read and write through their Tx and
// do nothing else. They must not call Update or View, block, send, log or change memory
// that outlives them. The caller acts on a change after Update has returned.
//
// # Records
//
// Every value is stored behind a CRC-32C over its key and itself, because bbolt checks
// its two meta pages only. A damaged record is never returned: Get returns ErrDamaged,
// Scan skips it, and both count and log it. The same holds for a record that its owner
// cannot decode, see Tx.Unreadable. Returned values are copies.
//
// # Damage
//
// Open reads the whole file with package survey before bbolt maps it: bbolt would crash on
// many kinds of damage and miss the rest. A large file that is as an orderly stop left it
// is not read again, see stopped.go. Each commit notes in meta, for each bucket that it
// changed, the number of records, the sum of their checksums and the number given last.
// Open refuses a file whose buckets do not match these notes, and one whose pages cannot
// be read (ErrCorrupt). A flipped bit that is known with certainty is repaired. A record
// that cannot be read stays where it is, a copy of its bytes goes into the bucket
// damaged, and the rest of the file works. Damage that a transaction meets later ends the
// process through Options.Fatal.
//
// Packages declare their buckets, see package schema. Open refuses two owners of one name
// and creates what is missing. Keys are built with Key, whose big-endian integers make
// bbolt's byte order equal to the numeric order.
package store
