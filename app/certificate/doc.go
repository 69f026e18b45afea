// Package certificate serves the certificate of the API, from one of two sources: [Files],
// which are read again when they change, and [ACME], which gets certificates from an
// authority and keeps them beside the data file. Neither breaks a connection, and while no
// other certificate can be had, both serve the last one.
package certificate
