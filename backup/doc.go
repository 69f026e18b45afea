// Package backup writes the data and secrets of a Postern into one archive, and reads
// archives.
//
// # The archive
//
// A tar file with these members, in this order:
//
//	manifest.json  description of the members: see [Manifest]
//	postern.db     a consistent snapshot of the data file
//	secrets.json   the API key and the secret of tokens; optional
//
// With recipients, the whole archive is encrypted by age (https://age-encryption.org).
//
// # Guarantees
//
// An archive that [Write] wrote without an error is complete: the snapshot was copied to
// a separate file first, its pages and the checksum of each record were verified, and the
// output has the digests that the manifest names. A slow reader of the archive blocks no
// commits. [Extract] checks every member against the manifest and rejects other members
// and truncated archives.
//
// With [Source].Verify the archive is read back as by a restore while it is written,
// before encryption. A file is also read back from the disk before it gets its name: of a
// plain archive, the manifest, digests, secrets, and every page and record; of an
// encrypted one, which only its recipients can read, the digest of the bytes written.
//
// [Keeper] makes backups on a schedule. A backup appears in the folder under its name
// only when it is complete and synced. A failure is reported and removes no backup.
package backup
