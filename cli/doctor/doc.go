// Package doctor looks at all that a Postern needs around it and tells what is wrong:
// its configuration, its disk, its network, its file.
//
// It changes nothing: what it writes is one temporary file beside the data file, which
// has no name from the moment that it is there. It calls nobody's webhook: it connects
// to their hosts and speaks TLS, and asks the host of one of them for nothing but its
// clock, by OPTIONS *, which is addressed to no resource.
//
// Each check has a name, and one finding or more. What depends on the network has some
// seconds, and goes on at the same time as all the rest.
package doctor
