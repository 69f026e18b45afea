// Package mediahost is the network's host of encrypted files: clients upload to it and download
// from it by HTTP, and phones put there what they send.
//
// A file is encrypted by whoever uploads it; the host has no key. It is found by its direct path
// until WhatsApp has forgotten it; phones may have it longer and upload it again, by a new path.
//
// # Bounds and what is lost
//
// A file has at most 128 MiB; all together have at most 1 GiB, the oldest go first. Files larger
// than 1 MiB lie on the disk, without a name where the system allows that. Nothing survives Close.
package mediahost
