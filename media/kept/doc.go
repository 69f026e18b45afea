// Package kept keeps the files of stored messages, so that they can be served when WhatsApp
// no longer has them, or the instance is offline. They are in a folder or in a bucket of S3.
//
// # Flow
//
// The commit that stores a message also stores the wish to keep its file ([Keeper.Wish]).
// Workers fetch the files, four at a time and one of an instance, instances in turn. They
// never ask the account's phone. After each fetch a worker rests for seven times as long, so
// that a backlog leaves the machine to messages. A commit says STORED after the place has the whole file: a
// folder after the file was written aside, synced and renamed, and the folder synced; a
// bucket after the server answered the PUT. So a record that says STORED has its whole file.
// A crash leaves at most a file whose record says PENDING, which the next attempt replaces.
//
// A file that is gone at WhatsApp, or is not the one of its message, fails at once. Other
// failures are tried again after 10 s, 1 min, 10 min, and then hourly for a day. While an
// instance is offline its files wait, and no attempt is counted. While a bucket cannot be
// used, attempts are counted and nothing is fetched.
//
// # Removal
//
// Files are removed at the end of Config.Retention, on request, with their message or
// instance, and when all together exceed Config.MaxBytes: then the oldest of the instance
// that holds most go first. Retention and quota leave a file alone while Config.OnWay says
// that an event with its address is on its way. Where the delivery log is off, nothing says
// when an event was delivered: the hour begins when the file was first to go.
//
// The commit that ends a record names the file in media_file_gone, and the file is removed
// after it, however long the place is unreachable. A put and a removal of one file exclude each other; a removal waits for a put.
//
// Files that no record names are removed in the background after a start. In a bucket that is
// repeated daily, and spares objects younger than an hour: another owner of the data may be
// about to commit their records.
//
// A folder, or a prefix of a bucket, belongs to one data file, which a file in it names. With
// another's folder a start fails. With another's prefix files stay PENDING. Nothing there is
// served or removed. The folder of an instance has such a file, too: without it nothing there
// is Postern's. It is on the disk before the first kept file, and goes after the last one.
//
// # Buckets
//
//	media_file      instance + message id               -> JSON of the state
//	media_file_due  instance + Unix ms + message id     -> nothing; files to fetch
//	media_file_old  instance + Unix ms + message id     -> nothing; kept files, by when they were stored
//	media_file_gone instance + message id, 0: all of it -> size of a file to remove that still counts
package kept
