// Package logbook is the log of webhook deliveries: its lists, the records of the in-memory
// flow, how long records are kept, and replays. The records themselves are those of a
// [delivery.Ledger], which changes them in its commits.
//
// # Lists
//
// [Log.List] scans the digest of the records once ([digest]), and reads the records that the
// page shows. It matches each with the filter, because rows may share a hash. Before it reads,
// it writes the records that are in memory.
//
// # The in-memory flow
//
// A delivery that waits in memory makes an [Entry] ([Log.Queued]). Its record waits in memory
// (behind.go) for at most a second, and many are written in one commit
// ([delivery.Ledger.PutFlow]). The code that delivers holds a lock for some nanoseconds; if
// the file cannot keep up, records are lost and counted.
//
// # Retention
//
// A record ends with its delivery and is kept for Config.Retention from then on. If there are
// more than Config.MaxEntries, the oldest go sooner.
//
// # Replays
//
// A replay stores the list of the records that it repeats, and its progress ([Replays]). Its
// deliveries are made in the commit that advances it, and its numbers change in the commits
// that end them ([delivery.Hooks]), so that no kill repeats or loses a delivery. In a lane with
// an order they have lines of their own: they leave one after the other and hold up no live event.
//
// # Buckets
//
//	delivery_replay    replay                 how far a replay is, its numbers
//	                   replay, part (4 bytes) records that it repeats
package logbook
