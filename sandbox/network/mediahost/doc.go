// Package mediahost is the network's host of encrypted files: clients upload to it and download
// from it by HTTP, and phones put there what they send.
//
// A file is encrypted by whoever uploads it; the host has no key. It is found by its direct path
// until WhatsApp has forgotten it; phones may have it longer and upload it again, by a new path.
//
// # Bounds and what is lost
//
// A file has at most 128 MiB; all together have at most 1 GiB, the oldest go first, and those of
// 30 days. A host with a folder keeps them there, each in a file that is named by its id, so
// that the next host has them. What a crash of the machine cut short, or the disk did not take, is
// missing, as are the paths by which phones uploaded files again. Without a folder files
// larger than 1 MiB lie on the disk, without a name where the system allows that, and nothing
// survives Close.
package mediahost
