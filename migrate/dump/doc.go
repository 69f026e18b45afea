// Package dump reads the tables in the text of `sqlite3 FILE .dump` and of
// `pg_dump`, whose rows stand in INSERT statements or in COPY blocks.
//
// The text is gone through once to find where the rows of each table are, and each
// table is read from there as often as it is asked for; a statement takes
// [table.MaxRow] at most, and nothing of it is kept. An error names its line. A text
// that is cut off is refused: both programs say at the end that it is one.
package dump
