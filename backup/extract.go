package backup

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"

	"filippo.io/age"
	"filippo.io/age/armor"
)

// Extract reads an archive into folder, which must be empty, and returns its manifest.
// After an error the contents of folder must not be used. The error wraps ErrForeign,
// ErrDamaged, ErrEncrypted or ErrIdentity unless it comes from r, the folder or ctx.
// Extract syncs the files.
func Extract(ctx context.Context, r io.Reader, folder string, identities ...age.Identity) (Manifest, error) {
	r, err := Opened(ctx, r, identities)
	if err != nil {
		return Manifest{}, err
	}
	return walk(r, func(want Member, from io.Reader) error {
		if err := room(folder, want.Size); err != nil {
			return err
		}
		return extract(from, want, filepath.Join(folder, want.Name))
	})
}

// walk reads a plain archive to its end and calls member for each member except the
// manifest. member must read from to its end and compare the digest.
func walk(r io.Reader, member func(want Member, from io.Reader) error) (Manifest, error) {
	t := tar.NewReader(r)
	m, err := readManifest(t)
	if err != nil {
		return m, err
	}
	for _, want := range m.Members {
		h, err := t.Next()
		if err != nil {
			return m, cut(err, want.Name)
		}
		if h.Name != want.Name || h.Typeflag != tar.TypeReg || h.Size != want.Size {
			return m, fmt.Errorf("%w: found %.100q (%d bytes) instead of %s (%d bytes)", ErrDamaged, h.Name, h.Size, want.Name, want.Size)
		}
		if err := member(want, t); err != nil {
			return m, err
		}
	}
	switch h, err := t.Next(); {
	case err == nil:
		return m, fmt.Errorf("%w: member %.100q is not in its manifest", ErrForeign, h.Name)
	case !errors.Is(err, io.EOF):
		return m, cut(err, "the end")
	}
	// The rest of the stream shows whether an encrypted archive is complete.
	if err := onlyPadding(r); err != nil {
		return m, err
	}
	return m, nil
}

// maxPadding bounds the zeros after an archive, added by tools that write in blocks.
const maxPadding = 16 << 20

// onlyPadding reads r to its end and rejects anything but zeros. Other data would mean
// that the archive was altered, for example two archives in one file, of which only the
// first is read.
func onlyPadding(r io.Reader) error {
	block, zeros := make([]byte, 64<<10), make([]byte, 64<<10)
	for n := 0; ; {
		got, err := r.Read(block)
		n += got
		switch {
		case !bytes.Equal(block[:got], zeros[:got]):
			return fmt.Errorf("%w: unexpected data after its end", ErrDamaged)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return cut(err, "the end")
		case n > maxPadding:
			return fmt.Errorf("%w: more than %d MiB of zeros after its end", ErrDamaged, maxPadding>>20)
		}
	}
}

// Opened returns the decrypted archive, readable until ctx ends. Errors are those of
// Extract.
func Opened(ctx context.Context, r io.Reader, identities []age.Identity) (io.Reader, error) {
	b := bufio.NewReaderSize(reader{ctx, r}, 64<<10)
	begins, _ := b.Peek(len(armor.Header))
	var sealed io.Reader
	switch {
	case bytes.HasPrefix(begins, []byte("age-encryption.org/")):
		sealed = b
	case string(begins) == armor.Header:
		sealed = armor.NewReader(b)
	default:
		return b, nil
	}
	if len(identities) == 0 {
		return nil, ErrEncrypted
	}
	plain, err := age.Decrypt(sealed, identities...)
	if errors.As(err, new(*age.NoIdentityMatchError)) {
		return nil, ErrIdentity
	}
	if err != nil {
		return nil, cut(err, "the encryption layer")
	}
	return plain, nil
}

func readManifest(t *tar.Reader) (m Manifest, err error) {
	h, err := t.Next()
	switch {
	case errors.Is(err, tar.ErrHeader), errors.Is(err, io.EOF):
		return m, ErrForeign
	case err != nil:
		return m, cut(err, manifestMember)
	case h.Name != manifestMember || h.Typeflag != tar.TypeReg:
		return m, fmt.Errorf("%w: the first member is %.100q, not %s", ErrForeign, h.Name, manifestMember)
	case h.Size > maxManifest:
		return m, fmt.Errorf("%w: %s has %d bytes", ErrForeign, manifestMember, h.Size)
	}
	raw, err := io.ReadAll(t)
	if err != nil {
		return m, cut(err, manifestMember)
	}
	return decodeManifest(raw)
}

// extract writes a member to the file at path and syncs it.
func extract(from io.Reader, want Member, path string) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := copyMember(f, from, want); err != nil {
		return err
	}
	return f.Sync()
}

func copyMember(to io.Writer, from io.Reader, want Member) error {
	d := digesting{to: to, sum: sha256.New()}
	if _, err := io.CopyBuffer(&d, from, make([]byte, 1<<20)); err != nil {
		if d.failed {
			return err
		}
		return cut(err, want.Name)
	}
	if got := hex.EncodeToString(d.sum.Sum(nil)); got != want.SHA256 {
		return fmt.Errorf("%w: the digest of %s is %s, but the manifest has %s", ErrDamaged, want.Name, got, want.SHA256)
	}
	return nil
}

// digesting writes to a file and computes the digest of the data.
type digesting struct {
	to     io.Writer
	sum    hash.Hash
	failed bool // the file failed, not the source
}

func (d *digesting) Write(p []byte) (int, error) {
	_, _ = d.sum.Write(p)
	n, err := d.to.Write(p)
	d.failed = err != nil
	return n, err
}

// reader reads until ctx ends. It tells its own errors from those of the underlying
// reader.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r reader) Read(p []byte) (n int, err error) {
	if r.ctx.Err() != nil {
		return 0, readError{context.Cause(r.ctx)}
	}
	if n, err = r.r.Read(p); err != nil && !errors.Is(err, io.EOF) {
		err = readError{err}
	}
	return n, err
}

type readError struct{ error }

func (e readError) Unwrap() error { return e.error }

func cut(err error, at string) error { return Cut(err, at, ErrDamaged) }

// Cut turns a read error of what Opened returned into damaged, at that position, unless
// the source could not be read at all.
func Cut(err error, at string, damaged error) error {
	if own, ok := errors.AsType[readError](err); ok {
		return own.error
	}
	return fmt.Errorf("%w, at %s: %w", damaged, at, err)
}
