// Package pages reads a bbolt file without trusting it: every length and every page
// number is checked against the file before it is used, so that a damaged file causes
// faults and never a crash. bbolt itself maps the file and follows what it finds, partly
// in goroutines of its own, where a panic cannot be recovered.
//
// # What is checked
//
// A head page (bbolt calls it meta) has a checksum. The other pages have none, but their
// layout is almost fixed. bbolt writes the elements of a page one after the other without
// gaps, so each element's position follows from the sizes before it, and a page's
// overflow from their sum. Each page carries its own number and is reached once. Keys
// rise through a whole bucket, and the key of a branch is the first key of the page that
// it points to. The root holds only buckets, and buckets hold only records.
//
// Two things remain for the caller, which sees every record: the contents of the records,
// and whether a page is an older state of itself.
package pages
