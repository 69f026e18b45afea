// Package store is Postern's one data file: a bbolt database behind a small
// transactional interface.
//
// # What it promises
//
// An Update that returned nil is on disk and survives a kill -9 or a power
// cut. An Update that returned an error changed nothing. There is no third
// outcome: when the operating system reports a failed write of which nobody
// can say whether it happened, the store calls Options.Fatal, which ends the
// process, and the next start finds one of the two states.
//
// A View sees only what is on disk too, so that nothing is ever told that a
// power cut takes back: during a commit it sees the state before it, and when
// the commit takes long it waits. The same holds for the reason of an Update
// that was refused. See durable.go.
//
// # Group commit
//
// One goroutine writes. It takes all calls of Update that are waiting, runs
// their closures one after the other in a single bbolt transaction and syncs
// the file once for all of them. Nobody waits for company: a lone caller is
// committed at once. A closure that fails is undone alone, which may mean that
// the other closures of its group run a second time. It is answered with them,
// after the commit, since it may have failed for what they wrote. Closures are
// therefore pure: they read and write through their Tx and do nothing else.
// They must not call Update or View, block, send, log or change memory that
// outlives them; whatever follows from a change is done after Update returned.
//
// # Records
//
// Every value is stored behind a CRC-32C over its key and itself, because
// bbolt checks its two meta pages only. A damaged record is never handed out:
// Get returns ErrDamaged, Scan skips it, and both are counted and logged. So
// is a record that its owner cannot decode, see Tx.Unreadable. Values handed
// out are copies.
//
// # Damage
//
// Open reads the whole file with package pages before bbolt maps it: bbolt
// would crash on much of what can be wrong, and not see the rest. A large file
// that is as an orderly stop left it is not read again, see stopped.go. Each commit
// notes in meta how many records the buckets that it changed have, the sum of
// their checksums and the number given last; a file whose buckets do not hold
// that is refused, as is one whose pages cannot be read (ErrCorrupt). A bit of
// which it is certain that it flipped is put right. A record that cannot be
// read stays where it is, a copy of its bytes goes into the bucket damaged,
// and the rest runs. Damage that a transaction meets later ends the process by
// Options.Fatal.
//
// Packages declare their buckets as Bucket values; Open refuses two owners of
// one name and creates what is missing. Keys are built with Key, whose
// big-endian integers keep bbolt's byte order equal to the numeric order.
package store
