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

// Format is the version of the archive's form that this release writes and reads.
const Format = 1

// The members of an archive but for the manifest.
const (
	manifestMember = "manifest.json"
	DataMember     = "postern.db"
	SecretsMember  = "secrets.json"
)

// maxManifest bounds manifest.json, and maxSecrets secrets.json, in bytes: an archive
// may come from anywhere.
const (
	maxManifest = 1 << 20
	maxSecrets  = 4 << 20
)

// Manifest says what an archive holds.
type Manifest struct {
	Format  int        `json:"format"`
	Version string     `json:"version"` // of the program that made it
	At      event.Time `json:"at"`
	Members []Member   `json:"members"` // in the order of the archive
	Counts  Counts     `json:"counts"`
}

// Member is a file of an archive.
type Member struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"` // hexadecimal
	Size   int64  `json:"size"`   // in bytes
}

// Counts is what the data file of an archive holds.
type Counts struct {
	Instances     uint64 `json:"instances"`
	Batches       uint64 `json:"batches"`
	PendingEvents uint64 `json:"pendingEvents"` // to be delivered to a webhook
}

// Name is how a backup of that moment is called in a folder of them. id is that of the
// data file, of which the beginning tells it from those of other programs in the same
// folder; empty: nothing does.
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
	idShown = 8 // so many digits of an ID are in a name
)

func short(id string) string { return id[:min(len(id), idShown)] }

func decodeManifest(raw []byte) (m Manifest, err error) {
	var is struct{ Format int }
	if err := json.Unmarshal(raw, &is); err != nil {
		return m, fmt.Errorf("%w: its %s cannot be read: %w", ErrForeign, manifestMember, err)
	}
	if is.Format != Format {
		return m, fmt.Errorf("%w: its format is %d, and this release (which knows %d) may be too old for it", ErrForeign, is.Format, Format)
	}
	known := json.NewDecoder(bytes.NewReader(raw))
	known.DisallowUnknownFields()
	if err := known.Decode(&m); err != nil {
		return m, fmt.Errorf("%w: its %s cannot be read: %w", ErrForeign, manifestMember, err)
	}
	seen := map[string]bool{}
	for _, f := range m.Members {
		digest, err := hex.DecodeString(f.SHA256)
		switch {
		case f.Name != DataMember && f.Name != SecretsMember:
			return m, fmt.Errorf("%w: it has the member %.100q, which no archive has", ErrForeign, f.Name)
		case seen[f.Name]:
			return m, fmt.Errorf("%w: it has %s twice", ErrDamaged, f.Name)
		case err != nil || len(digest) != sha256.Size || f.Size < 0 || f.Name == SecretsMember && f.Size > maxSecrets:
			return m, fmt.Errorf("%w: digest or size of %s cannot be", ErrDamaged, f.Name)
		}
		seen[f.Name] = true
	}
	if !seen[DataMember] {
		return m, fmt.Errorf("%w: it has no data file", ErrForeign)
	}
	return m, nil
}

// Errors of [Extract].
var (
	ErrForeign   = errors.New("this is no backup of Postern")
	ErrDamaged   = errors.New("the backup is damaged or cut off")
	ErrEncrypted = errors.New("the backup is encrypted: name the file with its identity by --identity")
	ErrIdentity  = errors.New("none of the identities is one that the backup was encrypted for")
)
