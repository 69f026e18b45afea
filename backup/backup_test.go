package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"filippo.io/age/armor"

	"postern/store"
	"postern/store/schema"
)

var thing = schema.Bucket{Name: "thing", Owner: "test", Key: "any", Value: "any"}

var secrets = []byte(`{"globalAuthToken":"0123456789abcdef0123456789abcdef","jwtSecret":"fedcba9876543210fedcba9876543210"}`)

// source returns the source of a backup of a small data file.
func source(t *testing.T) Source {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p.db")
	s, err := store.Open(store.Options{Path: path, Buckets: []schema.Bucket{thing}, NoSync: true, MinFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Update(t.Context(), func(tx *store.Tx) error {
		for i := range 300 {
			if err := tx.Put("thing", store.Key(i), bytes.Repeat([]byte{byte(i)}, 200)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(snapshot.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	})
	return Source{Data: snapshot, Secrets: secrets, Counts: Counts{Instances: 1, Batches: 2, PendingEvents: 3}, Version: "v9", At: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)}
}

func archive(t *testing.T, s Source, to ...age.Recipient) []byte {
	t.Helper()
	a, err := New(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := a.Write(t.Context(), &out, to...); err != nil {
		t.Fatal(err)
	}
	if len(to) == 0 && int64(out.Len()) != a.Size() {
		t.Errorf("%d bytes, but Size says %d", out.Len(), a.Size())
	}
	return out.Bytes()
}

func newIdentity(t *testing.T) *age.X25519Identity {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestArchiveMembers(t *testing.T) {
	raw := archive(t, source(t))
	tr := tar.NewReader(bytes.NewReader(raw))
	var names []string
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
		if h.Mode != 0o600 {
			t.Errorf("%s has mode %o", h.Name, h.Mode)
		}
		if h.Name != "manifest.json" {
			continue
		}
		var m map[string]any
		if err := json.NewDecoder(tr).Decode(&m); err != nil {
			t.Fatal(err)
		}
		counts, _ := m["counts"].(map[string]any)
		if m["format"] != 1.0 || m["version"] != "v9" || m["at"] != "2026-05-04T03:02:01.000Z" || len(m["members"].([]any)) != 2 ||
			counts["instances"] != 1.0 || counts["batches"] != 2.0 || counts["pendingEvents"] != 3.0 || len(m) != 5 {
			t.Errorf("manifest %v", m)
		}
	}
	if !slices.Equal(names, []string{"manifest.json", "postern.db", "secrets.json"}) {
		t.Errorf("members %v", names)
	}
	folder := t.TempDir()
	m, err := Extract(t.Context(), bytes.NewReader(raw), folder)
	if err != nil || m.Version != "v9" || len(m.Members) != 2 {
		t.Fatalf("%+v %v", m, err)
	}
	if got, err := os.ReadFile(filepath.Join(folder, "secrets.json")); err != nil || !bytes.Equal(got, secrets) {
		t.Errorf("secrets %q %v", got, err)
	}
	if r, err := store.Check(t.Context(), filepath.Join(folder, "postern.db"), []schema.Bucket{thing}); err != nil || r.Records != 300 || len(r.Faults) > 0 {
		t.Errorf("data file: %+v %v", r, err)
	}
}

func TestWriteWithoutSecrets(t *testing.T) {
	s := source(t)
	s.Secrets = nil
	raw := archive(t, s)
	if bytes.Contains(raw, []byte("jwtSecret")) {
		t.Error("the archive has secrets")
	}
	folder := t.TempDir()
	if _, err := Extract(t.Context(), bytes.NewReader(raw), folder); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "secrets.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("secrets.json: %v", err)
	}
}

func TestEncryptedBackupRequiresItsIdentity(t *testing.T) {
	mine, yours, other := newIdentity(t), newIdentity(t), newIdentity(t)
	recipients, err := Recipients([]string{mine.Recipient().String(), yours.Recipient().String()})
	if err != nil {
		t.Fatal(err)
	}
	s := source(t)
	raw := archive(t, s, recipients...)
	for what, tc := range map[string]struct {
		raw  []byte
		ids  []age.Identity
		want error
	}{
		"mine":           {raw, []age.Identity{other, mine}, nil},
		"yours":          {raw, []age.Identity{yours}, nil},
		"another":        {raw, []age.Identity{other}, ErrIdentity},
		"none":           {raw, nil, ErrEncrypted},
		"in letters":     {armored(t, raw), []age.Identity{mine}, nil},
		"cut off":        {raw[:len(raw)-1], []age.Identity{mine}, ErrDamaged},
		"cut at a chunk": {raw[:len(raw)/2/65552*65552+200], []age.Identity{mine}, ErrDamaged},
		"flipped":        {flipped(raw, len(raw)/2), []age.Identity{mine}, ErrDamaged},
	} {
		_, err := inspect(t.Context(), bytes.NewReader(tc.raw), tc.ids...)
		if !errors.Is(err, tc.want) || tc.want == nil && err != nil {
			t.Errorf("%s: %v, want %v", what, err, tc.want)
		}
	}
	for _, bad := range []string{"", "age1", "AGE-SECRET-KEY-1", mine.String(), "age1xyz\nage1abc"} {
		if _, err := Recipients([]string{bad}); !errors.Is(err, ErrRecipient) {
			t.Errorf("recipient %q: %v", bad, err)
		}
	}
}

func armored(t *testing.T, raw []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := armor.NewWriter(&out)
	_, err := w.Write(raw)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func flipped(raw []byte, at int) []byte {
	raw = bytes.Clone(raw)
	raw[at] ^= 1
	return raw
}

func TestTruncatedOrModifiedBackupIsRejected(t *testing.T) {
	raw := archive(t, source(t))
	end := len(raw) - 1024 - 512 + len(secrets) // only zeros follow
	for n := 0; n < end; n += 97 {
		if _, err := inspect(t.Context(), bytes.NewReader(raw[:n])); !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrForeign) {
			t.Fatalf("the first %d bytes of %d: %v", n, len(raw), err)
		}
	}
	padding := 0
	for at := 0; at < end; at += 61 {
		_, err := inspect(t.Context(), bytes.NewReader(flipped(raw, at)))
		if err == nil {
			padding++ // of a header or after a member, or an irrelevant word of the manifest
		} else if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrForeign) && !strings.Contains(err.Error(), "manifest.json") {
			t.Fatalf("byte %d: %v", at, err)
		}
	}
	if padding > 40 {
		t.Errorf("%d flips went undetected", padding)
	}
}

// made returns an archive with the given members, in order.
func made(t *testing.T, members ...any) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for i := 0; i < len(members); i += 2 {
		h, _ := members[i].(*tar.Header)
		if name, ok := members[i].(string); ok {
			h = &tar.Header{Name: name, Mode: 0o600}
		}
		body, _ := members[i+1].(string)
		h.Size = int64(len(body))
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestForeignArchiveIsRejectedAndWritesNothing(t *testing.T) {
	const digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" // of an empty member
	manifest := func(members string) string { return `{"format":1,"members":[` + members + `]}` }
	data := `{"name":"postern.db","sha256":"` + digest + `","size":0}`
	for what, tc := range map[string]struct {
		raw  []byte
		want error
		says string
	}{
		"nothing":               {nil, ErrForeign, "not a backup"},
		"a picture":             {[]byte("\x89PNG\r\n\x1a\n" + strings.Repeat("x", 4000)), ErrForeign, "not a backup"},
		"another tar":           {made(t, "README", "hello"), ErrForeign, "the first member is"},
		"no manifest first":     {made(t, "postern.db", "", "manifest.json", manifest(data)), ErrForeign, "the first member is"},
		"a manifest of text":    {made(t, "manifest.json", "hello"), ErrForeign, "unreadable manifest.json"},
		"an unknown field":      {made(t, "manifest.json", `{"format":1,"members":[`+data+`],"extra":1}`, "postern.db", ""), ErrForeign, `"extra"`},
		"a field in its member": {made(t, "manifest.json", manifest(strings.Replace(data, `"size"`, `"mode":7,"size"`, 1)), "postern.db", ""), ErrForeign, `"mode"`},
		"a later format":        {made(t, "manifest.json", `{"format":2}`), ErrForeign, "format 2 is"},
		"no data file":          {made(t, "manifest.json", manifest("")), ErrForeign, "no data file"},
		"an unknown member":     {made(t, "manifest.json", manifest(data+`,{"name":"extra","sha256":"`+digest+`","size":0}`), "postern.db", "", "extra", ""), ErrForeign, `"extra"`},
		"a way out":             {made(t, "manifest.json", manifest(`{"name":"../../x","sha256":"`+digest+`","size":0}`), "../../x", ""), ErrForeign, "../../x"},
		"an extra member":       {made(t, "manifest.json", manifest(data), "postern.db", "", "more", "x"), ErrForeign, `"more"`},
		"twice":                 {made(t, "manifest.json", manifest(data+","+data), "postern.db", "", "postern.db", ""), ErrDamaged, "duplicate"},
		"another order":         {made(t, "manifest.json", manifest(data), "secrets.json", "x"), ErrDamaged, `"secrets.json"`},
		"a link":                {made(t, "manifest.json", manifest(data), &tar.Header{Name: "postern.db", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}, ""), ErrDamaged, "instead of"},
		"another size":          {made(t, "manifest.json", manifest(data), "postern.db", "x"), ErrDamaged, "(1 bytes)"},
		"another digest":        {made(t, "manifest.json", manifest(strings.Replace(data, "e3b0", "e3b1", 1)), "postern.db", ""), ErrDamaged, "digest"},
		"no digest":             {made(t, "manifest.json", manifest(strings.Replace(data, digest, "abc", 1)), "postern.db", ""), ErrDamaged, "invalid digest"},
		"endless secrets":       {made(t, "manifest.json", manifest(data+`,{"name":"secrets.json","sha256":"`+digest+`","size":9999999}`)), ErrDamaged, "secrets.json"},
		"an endless manifest":   {made(t, "manifest.json", strings.Repeat(" ", maxManifest+1)), ErrForeign, "bytes"},
	} {
		folder := t.TempDir()
		inside := filepath.Join(folder, "in", "side")
		if err := os.MkdirAll(inside, 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := Extract(t.Context(), bytes.NewReader(tc.raw), inside)
		if err == nil || tc.want != nil && !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", what, err)
		}
		outside, _ := filepath.Glob(filepath.Join(folder, "*"))
		outside2, _ := filepath.Glob(filepath.Join(folder, "in", "*"))
		if len(outside) != 1 || len(outside2) != 1 {
			t.Errorf("%s wrote %v %v", what, outside, outside2)
		}
	}
}

func TestReadAndWriteErrorsAreReported(t *testing.T) {
	boom := errors.New("boom")
	if _, err := inspect(t.Context(), io.MultiReader(bytes.NewReader(archive(t, source(t))[:5000]), failing{boom})); !errors.Is(err, boom) || errors.Is(err, ErrDamaged) {
		t.Errorf("reading: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(boom)
	a, err := New(t.Context(), source(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Write(ctx, io.Discard); !errors.Is(err, boom) {
		t.Errorf("writing with an ended context: %v", err)
	}
	path := filepath.Join(t.TempDir(), "b.tar")
	if err := WriteFile(path, func(w io.Writer) error { return a.Write(ctx, w) }); !errors.Is(err, boom) {
		t.Errorf("into a file: %v", err)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, func(w io.Writer) error { return a.Write(t.Context(), w) }); !errors.Is(err, fs.ErrExist) {
		t.Errorf("existing file: %v", err)
	}
	if raw, _ := os.ReadFile(path); string(raw) != "precious" {
		t.Error("the file was overwritten")
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// TestTrailingDataIsRejected, except zeros added by a tool: of two archives in one file
// only the first would be restored.
func TestTrailingDataIsRejected(t *testing.T) {
	raw := archive(t, source(t))
	for what, tc := range map[string]struct {
		behind io.Reader
		want   error
	}{
		"zeros":         {bytes.NewReader(make([]byte, 100_001)), nil},
		"a byte":        {strings.NewReader("x"), ErrDamaged},
		"a far byte":    {bytes.NewReader(append(make([]byte, 1<<20), 1)), ErrDamaged},
		"another":       {bytes.NewReader(raw), ErrDamaged},
		"no end at all": {endless{}, ErrDamaged},
	} {
		_, err := inspect(t.Context(), io.MultiReader(bytes.NewReader(raw), tc.behind))
		if !errors.Is(err, tc.want) || err != nil && !strings.Contains(err.Error(), "after its end") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// inspect verifies an archive as Extract does, without writing its members.
func inspect(ctx context.Context, r io.Reader, identities ...age.Identity) (Manifest, error) {
	r, err := Opened(ctx, r, identities)
	if err != nil {
		return Manifest{}, err
	}
	return walk(r, func(want Member, from io.Reader) error { return copyMember(io.Discard, from, want) })
}
