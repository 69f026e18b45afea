// Package pages reads a bbolt file without trusting it: every length and every
// page number is held against the file before it is used, so that a damaged
// file gives faults and never a crash. bbolt itself maps the file and follows
// what it finds, partly in goroutines of its own where nobody can recover.
//
// # What is held
//
// A head page (bbolt calls it meta) has a checksum; the other pages have none,
// but little freedom either. bbolt writes a page's elements one after the
// other without gaps, so each element's position follows from the sizes before
// it, and a page's overflow from the sum. Each page carries its own number and
// is reached once. Keys rise through a whole bucket, and the key of a branch is
// the first key of the page it points to. The root holds buckets only, and
// buckets hold records only.
//
// What remains is what a record says, and whether a page is an older state of
// itself; both are the caller's to check, who sees every record.
package pages
