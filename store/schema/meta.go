package schema

// Version is the version of the file's layout. It is raised when the previous
// release can no longer read a file of the new one, or when a bucket is dropped. A new
// bucket needs no upgrade step: the release that declares it creates it, and a release
// that does not know it refuses the file as newer. Version 1 had no tallies, which Open
// makes from what it finds, and no guards, which are added with the first
// record. Version 2 had no packed items of batches, which are written as they are sent.
// Version 3 had the buckets of the outbox in every file; where no package declares them
// they are empty, and Open removes them.
const Version = 4

// Application marks the file as Postern's, so that the bbolt file of another program is
// not mistaken for an empty one.
const Application = "postern"

// Meta is the bucket of the store's records about the file.
var Meta = Bucket{
	Name: "meta", Owner: "store", Key: "name",
	Value: "application, schema version, clean-shutdown mark, version of the program that opened the file last, mark of a file that came from a backup, id of the file, last trusted time of day, steady time; bucket/NAME: its records, the sum of their checksums, the last number given; left/NAME: what an orderly stop found out about buckets, after their bucket/NAME of that time",
}

// Damaged is the bucket of records that were set aside.
var Damaged = Bucket{
	Name: "damaged", Owner: "store", Key: "bucket, 0, key",
	Value: "the bytes of a record that cannot be read, as they were found",
}
