package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"

	"postern/store"
	"postern/store/schema"
)

// checks returns the program's checks, with the bucket of these tests.
func checks() *Checks {
	return &Checks{
		Secrets: func(raw []byte) error {
			if !bytes.Equal(raw, secrets) {
				return errors.New("too short")
			}
			return nil
		},
		Data: func(_ context.Context, r io.ReaderAt, size int64) error {
			return store.VerifyCopy(r, size, []schema.Bucket{thing})
		},
	}
}

func recipients(t *testing.T) map[string][]age.Recipient {
	t.Helper()
	return map[string][]age.Recipient{"plain": nil, "encrypted": {newIdentity(t).Recipient()}}
}

func TestVerifiedBackupIsSaved(t *testing.T) {
	for name, to := range recipients(t) {
		s := source(t)
		s.Verify = checks()
		a, err := New(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "b.tar")
		if err := a.Save(t.Context(), path, to...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if info, err := os.Stat(path); err != nil || len(to) == 0 && info.Size() != a.Size() {
			t.Errorf("%s: %v, want %d bytes; %v", name, info, a.Size(), err)
		}
	}
}

// TestUnrestorableBackupIsNeverSaved: archives with content that a restore rejects, and
// data that changes on the disk after its digest was computed.
func TestUnrestorableBackupIsNeverSaved(t *testing.T) {
	for recipient, to := range recipients(t) {
		for name, spoil := range map[string]func(s *Source) (later func()){
			"secrets": func(s *Source) func() { s.Secrets = []byte("{}"); return func() {} },
			"data": func(s *Source) func() {
				path := filepath.Join(t.TempDir(), "copy.db")
				var all bytes.Buffer
				if _, err := s.Data.WriteTo(&all); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, all.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
				n, err := store.SnapshotFile(path, []schema.Bucket{thing})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = n.Close() })
				s.Data = n
				return func() {
					raw := all.Bytes()
					raw[bytes.LastIndex(raw, bytes.Repeat([]byte{7}, 200))] ^= 1
					if err := os.WriteFile(path, raw, 0o600); err != nil {
						t.Fatal(err)
					}
				}
			},
		} {
			s := source(t)
			s.Verify = checks()
			later := spoil(&s)
			a, err := New(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			later()
			folder := t.TempDir()
			if err := a.Save(t.Context(), filepath.Join(folder, "b.tar"), to...); !errors.Is(err, ErrUnverified) || !errors.Is(err, ErrDamaged) {
				t.Errorf("%s, %s: %v", name, recipient, err)
			}
			if left, _ := os.ReadDir(folder); len(left) > 0 {
				t.Errorf("%s, %s: %v remains", name, recipient, left)
			}
			if err := a.Write(t.Context(), io.Discard, to...); !errors.Is(err, ErrUnverified) {
				t.Errorf("%s, %s, written: %v", name, recipient, err)
			}
			s.Verify = nil
			if a, err = New(t.Context(), s); err == nil {
				err = a.Save(t.Context(), filepath.Join(folder, "b.tar"), to...)
			}
			if err != nil {
				t.Errorf("%s, %s, not verified: %v", name, recipient, err)
			}
		}
	}
}

// TestCorruptionOnDiskIsDetected flips bytes of an archive between writing and reading
// back, except zeros, which may be padding.
func TestCorruptionOnDiskIsDetected(t *testing.T) {
	whole := archive(t, source(t))
	for at := 0; at < len(whole); at += 509 {
		if whole[at] == 0 {
			continue
		}
		folder := t.TempDir()
		err := writeFile(filepath.Join(folder, "b.tar"), func(w io.Writer) error {
			_, err := w.Write(whole)
			if err == nil {
				_, err = w.(*syncing).f.WriteAt([]byte{whole[at] ^ 1}, int64(at))
			}
			return err
		}, func(f *os.File, size int64) error {
			_, err := checks().File(t.Context(), f, size)
			return unverified(err)
		})
		if !errors.Is(err, ErrUnverified) {
			t.Errorf("byte %d of %d: %v", at, len(whole), err)
		}
		if left, _ := os.ReadDir(folder); len(left) > 0 {
			t.Fatalf("%v remains", left)
		}
	}
	err := WriteDigested(t.Context(), filepath.Join(t.TempDir(), "b.age"), func(w io.Writer) error {
		_, err := w.Write(whole)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	folder := t.TempDir()
	err = WriteDigested(t.Context(), filepath.Join(folder, "b.age"), func(w io.Writer) error {
		_, err := w.Write(whole)
		return errors.Join(err, spoil(folder))
	})
	if left, _ := os.ReadDir(folder); !errors.Is(err, ErrUnverified) || len(left) > 0 {
		t.Errorf("%v; %v remains", err, left)
	}
}

// spoil changes a byte of the only file in a folder.
func spoil(folder string) error {
	found, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(found) != 1 {
		return errors.Join(err, os.ErrNotExist)
	}
	f, err := os.OpenFile(found[0], os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte("x"), 700)
	return errors.Join(err, f.Close())
}

// TestVerifyReadsPages has an archive whose manifest matches a damaged data file.
func TestVerifyReadsPages(t *testing.T) {
	var data bytes.Buffer
	if _, err := source(t).Data.WriteTo(&data); err != nil {
		t.Fatal(err)
	}
	page := data.Bytes()
	copy(page[4096*3:], bytes.Repeat([]byte{0xff}, 4096))
	digest := sha256.Sum256(page)
	raw := made(t, manifestMember, fmt.Sprintf(`{"format":1,"members":[{"name":"postern.db","sha256":"%x","size":%d}]}`, digest, len(page)), DataMember, string(page))
	if _, err := checks().Stream(t.Context(), bytes.NewReader(raw)); err != nil {
		t.Fatalf("digests: %v", err)
	}
	if _, err := checks().File(t.Context(), bytes.NewReader(raw), int64(len(raw))); !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), DataMember) {
		t.Errorf("pages: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	cancel(gone)
	if _, err := checks().File(ctx, bytes.NewReader(raw), int64(len(raw))); !errors.Is(err, gone) {
		t.Errorf("after end: %v", err)
	}
}
