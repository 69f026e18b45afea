// Package postgresql reads the tables of a PostgreSQL database that runs.
//
// All rows are of one snapshot, read in a transaction that writes nothing. Tables are those
// that the connection's search_path finds, "public" unless the URL says otherwise.
package postgresql
