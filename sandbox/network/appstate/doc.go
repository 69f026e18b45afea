// Package appstate is the state that the devices of one account share: five collections of encrypted
// records, each a sequence of numbered patches, and the key that encrypts them. The key belongs to the
// phone: a server of the real network never has it.
//
// # Verification
//
// The client library's decoder verifies every patch, including the phone's own, before it becomes
// a collection's next version; one that is not based on the newest version is a conflict. Clients
// therefore read only what a client could have written.
//
// # First reads
//
// Clients do not report the content of their first read of a collection. A State records for each
// device the version with which that first read ends, and holds later ones back until the device's
// next request. A device whose first read was refused gets no such help, as from a real phone.
//
// # Storage
//
// A change and what it replaces are passed to the keeper together: half of them would be a hash that
// no client can follow. Without a keeper everything ends with the process. Of each collection
// 1 000 patches are kept; a device that starts from nothing after that gets a snapshot.
//
// States and State may be used from any goroutine. While holding a lock they call only the keeper,
// which must not wait.
package appstate
