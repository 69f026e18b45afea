package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"postern/event"
)

// Format is the archive format version that this release writes and reads.
const Format = 1

// The members of an archive, except the manifest.
const (
	manifestMember = "manifest.json"
	DataMember     = "postern.db"
	SecretsMember  = "secrets.json"
)

// maxManifest and maxSecrets bound manifest.json and secrets.json, in bytes: archives are
// untrusted input.
const (
	maxManifest = 1 << 20
	maxSecrets  = 4 << 20
)

// Manifest describes an archive.
type Manifest struct {
	Format  int        `json:"format"`
	Version string     `json:"version"` // of the program that wrote it
	At      event.Time `json:"at"`
	Members []Member   `json:"members"` // in archive order
	Counts  Counts     `json:"counts"`
}

// Member is a file of an archive.
type Member struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"` // hexadecimal
	Size   int64  `json:"size"`   // in bytes
}

// Counts summarizes the data file of an archive.
type Counts struct {
	Instances     uint64 `json:"instances"`
	Batches       uint64 `json:"batches"`
	PendingEvents uint64 `json:"pendingEvents"` // to be delivered to a webhook
}

// Name returns the file name of a backup made at that time. id is the ID of the data
// file; its prefix distinguishes the backups of several programs in one folder. It may be
// empty.
func Name(at time.Time, id string, encrypted bool) string {
	name := "postern-" + at.UTC().Format(stamp)
	if id != "" {
		name += "-" + short(id)
	}
	name += ".tar"
	if encrypted {
		name += ".age"
	}
	return name
}

const (
	stamp   = "20060102T150405Z"
	idShown = 8 // number of ID digits in a name
)

func short(id string) string { return id[:min(len(id), idShown)] }

func decodeManifest(raw []byte) (m Manifest, err error) {
	var is struct{ Format int }
	if err := json.Unmarshal(raw, &is); err != nil {
		return m, fmt.Errorf("%w: unreadable %s: %w", ErrForeign, manifestMember, err)
	}
	if is.Format != Format {
		return m, fmt.Errorf("%w: format %d is not supported; this release supports %d and may be too old", ErrForeign, is.Format, Format)
	}
	known := json.NewDecoder(bytes.NewReader(raw))
	known.DisallowUnknownFields()
	if err := known.Decode(&m); err != nil {
		return m, fmt.Errorf("%w: unreadable %s: %w", ErrForeign, manifestMember, err)
	}
	seen := map[string]bool{}
	for _, f := range m.Members {
		digest, err := hex.DecodeString(f.SHA256)
		switch {
		case f.Name != DataMember && f.Name != SecretsMember:
			return m, fmt.Errorf("%w: unknown member %.100q", ErrForeign, f.Name)
		case seen[f.Name]:
			return m, fmt.Errorf("%w: duplicate member %s", ErrDamaged, f.Name)
		case err != nil || len(digest) != sha256.Size || f.Size < 0 || f.Name == SecretsMember && f.Size > maxSecrets:
			return m, fmt.Errorf("%w: invalid digest or size of %s", ErrDamaged, f.Name)
		}
		seen[f.Name] = true
	}
	if !seen[DataMember] {
		return m, fmt.Errorf("%w: no data file", ErrForeign)
	}
	return m, nil
}

// Errors of [Extract].
var (
	ErrForeign   = errors.New("not a backup of Postern")
	ErrDamaged   = errors.New("the backup is damaged or truncated")
	ErrEncrypted = errors.New("the backup is encrypted: pass the identity file with --identity")
	ErrIdentity  = errors.New("the backup is not encrypted for any of the identities")
)
