// Package digest answers which records of the delivery log match a filter. It holds the
// fields of every record that filters use, in blocks of [BlockRows] rows for as many
// consecutive ids, two blocks to a page of the file. A list with any filter scans all
// blocks, in some milliseconds per million records, and then reads only the records that
// it shows.
//
// The package knows no record: its user describes each record as [Fields], reports every
// change with [Digest.Note] in the commit that makes it, and returns the fields of existing
// records when a block has to be rebuilt ([Config]). States and events are numbers here.
//
// # What must hold
//
// Each record has its row, and each row its record. A block is written in the commit that
// writes its records; the changes of all transactions of one commit are written together,
// at its end or before one of them reads. A damaged block is rebuilt from its records. A
// start that does not follow an orderly stop compares all rows with the records
// ([Digest.Inspect]); after one, the blocks are verified in the background ([Digest.Verify]).
//
// Texts are compared by hash, and two texts may share one: a caller that shows a record
// compares it with the filter first. The key of the hashes is this file's own, so that those who
// send messages cannot cause collisions.
//
// # Buckets
//
//	Blocks   number of the block          the rows, column by column, little-endian words
//	Names    hash of a name + record      nothing; further names of a record
//	Keys     KeyName                      kind of the hashes, and their key
package digest
