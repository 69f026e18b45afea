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

// Source is what is to be kept.
type Source struct {
	Data    *store.Snapshot
	Secrets []byte // secrets.json; nil: left out
	Counts  Counts
	Version string // of the program
	At      time.Time

	// Verify holds the archive against its manifest and its own rules while it is written,
	// and again after that where it can be read back; nil: it is not verified.
	Verify *Checks
}

// Archive is a Source that was looked at and can be written, once or more often.
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

// Manifest says what the archive holds.
func (a *Archive) Manifest() (m Manifest) {
	_ = json.Unmarshal(a.manifest, &m) // it was made of one
	return m
}

// Size is how many bytes Write writes when nothing is encrypted.
func (a *Archive) Size() int64 {
	const block = 512
	padded := func(n int64) int64 { return block + (n+block-1)/block*block }
	size := padded(int64(len(a.manifest))) + padded(a.source.Data.Size()) + 2*block
	if a.source.Data.Size() >= maxUSTAR {
		size += padded(block) // the header that has the size in another form
	}
	if a.source.Secrets != nil {
		size += padded(int64(len(a.source.Secrets)))
	}
	return size
}

// maxUSTAR is the size from which on a member has a header more.
const maxUSTAR = 8 << 30

// Write writes the archive, encrypted for the recipients if there are any. With
// Source.Verify it reads what it writes, before the encryption, as a restore would: the
// bytes of a snapshot may change on the disk after New computed their digests. The error
// comes after the last byte then; the archive must not be used.
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

// until is a writer that takes nothing more once ctx has ended.
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

// Recipients reads public keys of age, such as age1…. An error names the one that is
// none.
func Recipients(keys []string) (all []age.Recipient, err error) {
	for _, key := range keys {
		parsed, err := age.ParseRecipients(strings.NewReader(key))
		if err != nil || len(parsed) != 1 {
			return nil, fmt.Errorf("%w: %.100q; one begins with age1, and age-keygen prints it", ErrRecipient, key)
		}
		all = append(all, parsed...)
	}
	return all, nil
}

// ErrRecipient is what is no public key of age.
var ErrRecipient = errors.New("no recipient of age")
