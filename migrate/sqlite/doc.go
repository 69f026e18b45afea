// Package sqlite reads the tables of an SQLite file, page by page and without
// trusting it: every length and every page number is checked against the file before
// it is used, every page is read once at most, and keys have to rise, so that a
// damaged or made-up file gives an error with its page and neither a crash nor an
// endless loop. A row takes [table.MaxRow] at most, and nothing else grows with the
// file but one bit for each page.
//
// # What it does not read
//
// The file is opened for reading only and no lock is taken, so no process may write it
// meanwhile: one that another program has open for writing is refused, as far as the
// system tells. So is what SQLite itself would first bring into the file: a
// write-ahead log that is not empty, and the journal of a program that was killed.
// So are texts that are not in UTF-8, tables WITHOUT ROWID and computed columns, which
// no gateway uses; the text of `sqlite3 FILE .dump` has them all.
//
// The format is described at https://www.sqlite.org/fileformat2.html.
package sqlite
