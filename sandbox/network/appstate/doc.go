// Package appstate is what the devices of one account synchronise: five collections of encrypted
// records, each a row of numbered patches, and the key that encrypts them. The key is the
// phone's: a server of the real network never sees it.
//
// # Order and truth
//
// Every patch, the phone's own too, is verified by the client library's decoder before it becomes
// a collection's next version; one that is not based on the newest version is a conflict. So what
// clients read is what a client could have written.
//
// # Who has read what
//
// Clients take their first read of a collection without a word. So a State remembers for each
// device which version that first read ends with, and holds later ones back until the device asks
// again. A device whose first read was refused gets no such help, as from a real phone.
//
// # What is kept
//
// A change and what it replaces are handed to the keeper as one: half of it would be a hash that
// no client can follow. Without a keeper everything ends with the process. Of each collection
// 1 000 patches are kept; a device that starts anew after that gets a snapshot.
//
// States and State are safe for concurrent use; nothing here calls out while it holds a lock, but
// the keeper, which must not wait.
package appstate
