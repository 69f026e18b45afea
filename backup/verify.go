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

// DigestTrailer is the HTTP trailer of an encrypted backup: the SHA-256 of the body in
// hexadecimal. It is sent after the last byte, once the backup has been verified.
const DigestTrailer = "X-Postern-Sha256"

// Checks are the content rules of other packages. A nil field accepts anything.
type Checks struct {
	// Secrets checks secrets.json as a restore and a start do.
	Secrets func(raw []byte) error
	// Data reads every page and record of a data file of size bytes.
	Data func(ctx context.Context, r io.ReaderAt, size int64) error
}

// ErrUnverified is wrapped by the error of an archive that was written but cannot be
// restored.
var ErrUnverified = errors.New("the backup was written but cannot be restored")

func unverified(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrUnverified, err)
}

// Stream verifies a plain archive that can be read only once: the manifest, the digest of
// each member, and the secrets. It uses bounded memory.
func (c *Checks) Stream(ctx context.Context, r io.Reader) (Manifest, error) {
	return walk(reader{ctx, r}, func(want Member, from io.Reader) error {
		var secrets bytes.Buffer
		to := io.Discard
		if want.Name == SecretsMember { // at most maxSecrets bytes
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

// File verifies a plain archive in a file: as Stream does, and every page and record of
// the data file. Besides one bit per page, its memory does not grow with the archive.
func (c *Checks) File(ctx context.Context, f io.ReaderAt, size int64) (m Manifest, err error) {
	if m, err = c.Stream(ctx, io.NewSectionReader(f, 0, size)); err != nil || c.Data == nil {
		return m, err
	}
	// The tar reader takes whole blocks of a seekable file, so that after a member's
	// header the file is positioned at its content.
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

// writeVerified writes the plain archive and, with checks, verifies it concurrently.
func (a *Archive) writeVerified(ctx context.Context, w io.Writer) error {
	if a.source.Verify == nil {
		return a.write(w)
	}
	r, tee := io.Pipe()
	read := make(chan error, 1)
	go func() { // ends with the archive, or at the first fault in it
		_, err := a.source.Verify.Stream(ctx, r)
		_ = r.CloseWithError(io.ErrClosedPipe)
		read <- err
	}()
	err := a.write(verifying{w, tee})
	_ = tee.CloseWithError(err) // nil means EOF
	fault := <-read
	if err != nil {
		return err
	}
	return unverified(fault)
}

// verifying writes to w and, until its reader ends, to tee.
type verifying struct {
	w   io.Writer
	tee *io.PipeWriter
}

// Write implements [io.Writer].
func (v verifying) Write(p []byte) (int, error) {
	n, err := v.w.Write(p)
	if err == nil {
		_, _ = v.tee.Write(p) // fails once the reader has ended, which returns the cause
	}
	return n, err
}

// Save writes the archive to a file, as [WriteFile] does. With Source.Verify it reads the
// file back from the disk before it gets its name: a plain archive as by [Checks.File];
// of an encrypted one, which only its recipients can read, it compares the digest of the
// bytes written.
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

// WriteDigested is [WriteFile] that reads the file back from the disk and compares the
// digest of the bytes written.
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
		return fmt.Errorf("%w: the bytes read back differ from those written", ErrDamaged)
	}
	return nil
}

// WriteInspected is [WriteFile] for a plain archive from elsewhere, which it reads back
// as by [Checks.File].
func WriteInspected(ctx context.Context, path string, write func(io.Writer) error, c *Checks) error {
	return writeFile(path, write, func(f *os.File, size int64) error {
		_, err := c.File(ctx, reading{ctx, f}, size)
		return unverified(err)
	})
}

// reading is a ReaderAt that fails once ctx ends.
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
