// Package media turns what a caller wants to send into a file that can be
// sent, and remembers files that lie at WhatsApp already.
//
// # The flow
//
// A file comes from a URL or from the body of a request. It is written to the
// spool folder as it arrives, at most Config.MaxBytes of it, so that neither a
// large file nor a thousand of them are ever in memory. Then its first bytes
// say what it is: a name or a header that says something else loses. Pictures
// get their size and a thumbnail, voice notes their length and waveform, and
// what is no OGG/Opus is converted by ffmpeg where there is one. The connector
// encrypts and uploads the result, and the file is removed.
//
// # What it promises
//
// An error of this package is a certain failure: no message was sent. Errors
// that are the caller's wrap [event.ErrMedia] or [event.ErrMediaType].
//
// URLs are fetched without credentials, through the address guard that the
// configuration sets, with at most five redirects, each of them guarded too.
// Nothing hostile in a file makes this package read another file, use more
// memory than [maxPicture] for a picture, look at it for longer than [maxWork]
// of a processor, or convert it for longer than Config.Timeout. What a JPEG's
// scans take is counted by its markers before it is decoded. Nothing but JPEG
// and PNG is decoded. Whatever is too dear is sent without a thumbnail, and is
// refused as the picture of a profile.
//
// Two files are looked at and two programs convert at a time, one of each for
// an instance; others wait for their turn, by instances in turn, so that
// nobody waits for the queue of somebody else. A program sees no secret of the
// environment, and ends with whoever waits for it.
//
// While the disk is nearly full nothing is written to the spool folder, and a
// file that is on its way is removed again.
//
// # What a crash loses
//
// Files in the spool folder, which the next start removes. Uploads are stored
// before their id is told.
//
// # Buckets
//
//	media_upload     instance + UUID  -> JSON of what a message needs to point to the file
//	media_upload_id  UUID             -> instance + number
//	                 number           -> instance + UUID
package media
