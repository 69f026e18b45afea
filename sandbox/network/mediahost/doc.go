// Package mediahost is the network's host of encrypted files: clients upload to it and download
// from it by HTTP, and phones store there what they send.
//
// The uploader encrypts a file, but one of a channel; the host has no key. It serves a file by its direct path until
// WhatsApp would have deleted it; phones may keep it longer and upload it again, with a new path.
//
// # Limits and losses
//
// A file has at most 128 MiB, and all files together at most 1 GiB: the oldest are removed first, and
// all after 30 days. A host with a folder keeps them there, each in a file named by its id, for
// the next host. Files that a crash of the machine interrupted or the disk rejected are missing, as
// are the paths of repeated uploads by phones. Without a folder, files larger than 1 MiB are on the
// disk, unlinked if the system allows it, and nothing survives Close.
package mediahost
