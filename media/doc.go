// Package media prepares files for sending and manages uploads, files already stored at
// WhatsApp.
//
// # Processing
//
// A file comes from a URL or a request body. It is streamed to the spool folder, up to
// Config.MaxBytes, so that files are never held in memory. Its first bytes determine the
// type; a name or header that disagrees is ignored. Pictures get their size and a
// thumbnail, voice notes their length and waveform, and audio other than OGG/Opus is
// converted by ffmpeg if available. The connector encrypts and uploads the result, and
// the file is removed.
//
// # Guarantees
//
// An error of this package is a certain failure: no message was sent. Errors caused by
// the caller wrap [event.ErrMedia] or [event.ErrMediaType].
//
// URLs are fetched without credentials, through the configured address guard, with at
// most five redirects, each of them guarded too. A hostile file cannot make this package
// read another file, use more memory than [maxPicture] for a picture, take more processor
// time than [maxWork], or be converted for longer than Config.Timeout. The cost of a
// JPEG's scans is computed from its markers before decoding. Only JPEG and PNG are
// decoded. A picture that is too expensive is sent without a thumbnail, and rejected as a
// profile picture.
//
// At most two files are inspected and two converted concurrently, one of each per
// instance. Others wait, instances in turn, so that no instance waits for the whole queue
// of another. A converter receives no secrets in its environment, and ends with its
// caller.
//
// While the disk is nearly full nothing is written to the spool folder, and partial files
// are removed.
//
// # Crashes
//
// A crash loses the files in the spool folder, which the next start removes. Uploads are
// stored before their ids are returned.
//
// # Buckets
//
//	media_upload     instance + UUID  -> JSON of what a message needs to point to the file
//	media_upload_id  UUID             -> instance + number
//	                 number           -> instance + UUID
package media
