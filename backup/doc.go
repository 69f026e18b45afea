// Package backup writes a copy of what a Postern must not lose into one archive, and
// reads it back.
//
// # The archive
//
// A tar file with these members, in this order:
//
//	manifest.json  what follows: see [Manifest]
//	postern.db     the data file as it was at one moment
//	secrets.json   the API key and the secret of tokens; absent when they were left out
//
// With recipients it is encrypted by age (https://age-encryption.org), as a whole.
//
// # What is promised
//
// What [Write] wrote without an error is whole: the data file was copied aside at disk
// speed, its pages and the checksum of each record were held against what was written,
// and what goes out has the digests that the manifest names. A slow reader of the
// archive keeps nobody waiting. An archive that was cut off anywhere is noticed by
// [Extract], which holds every member against the manifest and refuses any other.
//
// With [Source].Verify an archive is read as a restore would read it while it is written,
// before it is encrypted, and a file is read back from the disk before it gets its name:
// manifest, digests, secrets, every page and record of a plain one; the digest of what was
// written of an encrypted one, which only its recipients can read.
//
// [Keeper] makes backups by itself. One is in the folder under its name when it is
// whole and on the disk; a failure is told and deletes nothing.
package backup
