package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"filippo.io/age"

	"postern/event"
	"postern/store"
)

// Source is the input of a backup.
type Source struct {
	Data    *store.Snapshot
	Secrets []byte // secrets.json; nil: left out
	Counts  Counts
	Version string // of the program
	At      time.Time

	// Verify checks the archive against its manifest and the content rules while it is
	// written, and again afterwards where it can be read back; nil: no verification.
	Verify *Checks
}

// Archive is a prepared Source. It can be written more than once.
type Archive struct {
	source   Source
	manifest []byte
}

// New computes the digests of s, which reads all of it.
func New(ctx context.Context, s Source) (*Archive, error) {
	m := Manifest{Format: Format, Version: s.Version, At: event.At(s.At), Counts: s.Counts}
	sum := sha256.New()
	if _, err := s.Data.WriteTo(until{ctx, sum}); err != nil {
		return nil, fmt.Errorf("backup: read the snapshot: %w", err)
	}
	m.Members = append(m.Members, Member{DataMember, hex.EncodeToString(sum.Sum(nil)), s.Data.Size()})
	if s.Secrets != nil {
		digest := sha256.Sum256(s.Secrets)
		m.Members = append(m.Members, Member{SecretsMember, hex.EncodeToString(digest[:]), int64(len(s.Secrets))})
	}
	raw, err := json.MarshalIndent(m, "", "  ")
	return &Archive{s, append(raw, '\n')}, err
}

// Manifest returns the archive's manifest.
func (a *Archive) Manifest() (m Manifest) {
	_ = json.Unmarshal(a.manifest, &m) // it was marshaled from one
	return m
}

// Size returns the number of bytes that Write writes without encryption.
func (a *Archive) Size() int64 {
	const block = 512
	padded := func(n int64) int64 { return block + (n+block-1)/block*block }
	size := padded(int64(len(a.manifest))) + padded(a.source.Data.Size()) + 2*block
	if a.source.Data.Size() >= maxUSTAR {
		size += padded(block) // the extra header for large sizes
	}
	if a.source.Secrets != nil {
		size += padded(int64(len(a.source.Secrets)))
	}
	return size
}

// maxUSTAR is the size from which a member needs an extra header.
const maxUSTAR = 8 << 30

// Write writes the archive, encrypted for the recipients if there are any. With
// Source.Verify it verifies the plain output as a restore would: a snapshot's bytes may
// change on the disk after New computed their digests. The verification error comes after
// the last byte; the archive must not be used then.
func (a *Archive) Write(ctx context.Context, w io.Writer, recipients ...age.Recipient) error {
	w = until{ctx, w}
	if len(recipients) == 0 {
		return a.writeVerified(ctx, w)
	}
	sealed, err := age.Encrypt(w, recipients...)
	if err != nil {
		return fmt.Errorf("backup: encrypt: %w", err)
	}
	if err := a.writeVerified(ctx, sealed); err != nil {
		return err
	}
	if err := sealed.Close(); err != nil {
		return fmt.Errorf("backup: encrypt: %w", err)
	}
	return nil
}

func (a *Archive) write(w io.Writer) error {
	t := tar.NewWriter(w)
	member := func(name string, size int64, from io.WriterTo) error {
		err := t.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o600, ModTime: a.source.At.UTC().Truncate(time.Second)})
		if err == nil {
			_, err = from.WriteTo(t)
		}
		if err != nil {
			return fmt.Errorf("backup: write %s: %w", name, err)
		}
		return nil
	}
	if err := member(manifestMember, int64(len(a.manifest)), bytes.NewReader(a.manifest)); err != nil {
		return err
	}
	if err := member(DataMember, a.source.Data.Size(), a.source.Data); err != nil {
		return err
	}
	if s := a.source.Secrets; s != nil {
		if err := member(SecretsMember, int64(len(s)), bytes.NewReader(s)); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return nil
}

// until is a writer that fails once ctx has ended.
type until struct {
	ctx context.Context
	w   io.Writer
}

func (u until) Write(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.w.Write(p)
}

// Recipients parses public keys of age, such as age1…. An error names the invalid one.
func Recipients(keys []string) (all []age.Recipient, err error) {
	for _, key := range keys {
		parsed, err := age.ParseRecipients(strings.NewReader(key))
		if err != nil || len(parsed) != 1 {
			return nil, fmt.Errorf("%w: %.100q; expected an age1… key as printed by age-keygen", ErrRecipient, key)
		}
		all = append(all, parsed...)
	}
	return all, nil
}

// ErrRecipient reports an invalid public key of age.
var ErrRecipient = errors.New("not an age recipient")
