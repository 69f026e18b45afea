package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"filippo.io/age"
)

// DigestTrailer is the HTTP trailer of an encrypted backup that a program sends: the SHA-256
// of the body, in hexadecimal digits. It comes after the last byte, once the backup was
// verified.
const DigestTrailer = "X-Postern-Sha256"

// Checks are the rules for the content of an archive that this package does not know. A
// nil field accepts anything.
type Checks struct {
	// Secrets holds secrets.json against the rules by which a restore and a start read it.
	Secrets func(raw []byte) error
	// Data reads every page and record of a data file of size bytes.
	Data func(ctx context.Context, r io.ReaderAt, size int64) error
}

// ErrUnverified is wrapped by the errors of an archive that was written and cannot be
// restored.
var ErrUnverified = errors.New("the backup that was written cannot be restored")

func unverified(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrUnverified, err)
}

// Stream verifies a plain archive that cannot be read twice: the manifest, the digest of
// each member, and the secrets. Its memory is bounded.
func (c *Checks) Stream(ctx context.Context, r io.Reader) (Manifest, error) {
	return walk(reader{ctx, r}, func(want Member, from io.Reader) error {
		var secrets bytes.Buffer
		to := io.Discard
		if want.Name == SecretsMember { // of maxSecrets at most
			to = &secrets
		}
		if err := copyMember(to, from, want); err != nil {
			return err
		}
		if want.Name == SecretsMember && c.Secrets != nil {
			if err := c.Secrets(secrets.Bytes()); err != nil {
				return fmt.Errorf("%w: %s: %w", ErrDamaged, SecretsMember, err)
			}
		}
		return nil
	})
}

// File verifies a plain archive in a file: what Stream does, and every page and record of
// the data file. Its memory does not grow with the archive but for a bit a page.
func (c *Checks) File(ctx context.Context, f io.ReaderAt, size int64) (m Manifest, err error) {
	if m, err = c.Stream(ctx, io.NewSectionReader(f, 0, size)); err != nil || c.Data == nil {
		return m, err
	}
	// The tar reader takes whole blocks of a seekable file, so that after the header of a
	// member the file stands at its content.
	whole := io.NewSectionReader(f, 0, size)
	_, err = walk(whole, func(want Member, from io.Reader) error {
		if want.Name != DataMember {
			_, err := io.Copy(io.Discard, from)
			return err
		}
		at, err := whole.Seek(0, io.SeekCurrent)
		if err != nil {
			return err
		}
		if err := c.Data(ctx, io.NewSectionReader(f, at, want.Size), want.Size); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrDamaged, DataMember, err)
		}
		return nil
	})
	return m, err
}

// writeVerified writes the plain archive, and has it read at the same time when there are
// checks.
func (a *Archive) writeVerified(ctx context.Context, w io.Writer) error {
	if a.source.Verify == nil {
		return a.write(w)
	}
	r, tee := io.Pipe()
	read := make(chan error, 1)
	go func() { // ends with the archive, or with the first fault in it
		_, err := a.source.Verify.Stream(ctx, r)
		_ = r.CloseWithError(io.ErrClosedPipe)
		read <- err
	}()
	err := a.write(verifying{w, tee})
	_ = tee.CloseWithError(err) // nil: the end
	fault := <-read
	if err != nil {
		return err
	}
	return unverified(fault)
}

// verifying writes to w and, as long as somebody reads there, to tee.
type verifying struct {
	w   io.Writer
	tee *io.PipeWriter
}

// Write implements [io.Writer].
func (v verifying) Write(p []byte) (int, error) {
	n, err := v.w.Write(p)
	if err == nil {
		_, _ = v.tee.Write(p) // the reader has ended when it fails, and says why
	}
	return n, err
}

// Save writes the archive into a file, as [WriteFile] does. With Source.Verify it reads the
// file back from the disk before the file gets its name: a plain archive as
// [Checks.File] does, an encrypted one, which only its recipients can read, by the digest
// of what was written.
func (a *Archive) Save(ctx context.Context, path string, recipients ...age.Recipient) error {
	write := func(w io.Writer) error { return a.Write(ctx, w, recipients...) }
	switch {
	case a.source.Verify == nil:
		return WriteFile(path, write)
	case len(recipients) > 0:
		return WriteDigested(ctx, path, write)
	}
	return writeFile(path, write, func(f *os.File, size int64) error {
		_, err := a.source.Verify.File(ctx, reading{ctx, f}, size)
		return unverified(err)
	})
}

// WriteDigested is [WriteFile] that reads the file back from the disk and compares its
// digest with that of what was written.
func WriteDigested(ctx context.Context, path string, write func(io.Writer) error) error {
	sum := sha256.New()
	return writeFile(path, func(w io.Writer) error { return write(io.MultiWriter(w, sum)) }, func(f *os.File, size int64) error {
		return unverified(sameDigest(io.NewSectionReader(reading{ctx, f}, 0, size), sum))
	})
}

func sameDigest(r io.Reader, want hash.Hash) error {
	got := sha256.New()
	if _, err := io.CopyBuffer(struct{ io.Writer }{got}, r, make([]byte, 1<<20)); err != nil {
		return err
	}
	if !bytes.Equal(got.Sum(nil), want.Sum(nil)) {
		return fmt.Errorf("%w: the disk gives back other bytes than were written", ErrDamaged)
	}
	return nil
}

// WriteInspected is [WriteFile] of a plain archive that comes from elsewhere, read back as
// [Checks.File] does.
func WriteInspected(ctx context.Context, path string, write func(io.Writer) error, c *Checks) error {
	return writeFile(path, write, func(f *os.File, size int64) error {
		_, err := c.File(ctx, reading{ctx, f}, size)
		return unverified(err)
	})
}

// reading reads until ctx ends.
type reading struct {
	ctx context.Context
	r   io.ReaderAt
}

// ReadAt implements [io.ReaderAt].
func (r reading) ReadAt(p []byte, at int64) (int, error) {
	if r.ctx.Err() != nil {
		return 0, readError{context.Cause(r.ctx)}
	}
	return r.r.ReadAt(p, at)
}
