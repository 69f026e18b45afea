// Package doctor diagnoses the environment of a Postern: its configuration, disk,
// network and data file.
//
// It changes nothing. It writes one temporary file beside the data file and unlinks it
// at once. It calls no webhook: it connects to their hosts by TLS, and asks one host
// for its clock by OPTIONS *, which addresses no resource.
//
// Each check has a name, and one finding or more. What depends on the network has some
// seconds, and continues at the same time as all the rest.
package doctor
