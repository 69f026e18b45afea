// Package cache fetches the files of stored messages once for all who wait for them, and
// keeps what was fetched last.
//
// # Guarantees
//
// Concurrent calls of [Cache.Open] for one message share one fetch. It goes on when all of
// them leave, and its result is kept for the next. A file is handed out only if it is
// complete and has the SHA-256 of its message. An error that will not change, such as
// event.ErrMediaGone, is returned for a minute without another fetch.
//
// Files are in the spool folder, which a start empties. Together they have at most
// Config.Max bytes; the file that was not used for the longest time is removed first, and
// a file of more than Config.Max bytes when those who waited for it have opened it. Files
// that are open stay readable. Instances share no file.
//
// At most 64 files are fetched at a time, 16 of one instance. A call that finds no place
// returns [ErrPending], like one whose fetch takes longer than Config.Wait.
package cache
