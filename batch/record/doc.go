// Package record is what the data file holds of batches: records, their encodings, their keys
// and buckets, the references between them, and the numbers of batches by status.
//
// A batch is its header, which every item that is sent changes; its spec and its message, which
// only calls change; and an item for each recipient, with details if it has any. The newest
// items may wait in the header for their own place, see [Header.Newest]. Attempts that found no
// instance have records of their own; any other attempt is in its item.
//
// The package decides nothing: package batch loads records in a transaction, changes them
// and puts them back.
package record
