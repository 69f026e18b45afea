package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestImageIsALayoutOfVerifiedBlobs, whose program runs as an
// unprivileged user with a health check.
func TestImageIsALayoutOfVerifiedBlobs(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no rights of files here")
	}
	out := filepath.Join(t.TempDir(), "out")
	smallRelease(t, out, "linux/amd64,linux/arm64")
	files := map[string][]byte{}
	readTar(t, open(t, filepath.Join(out, "postern_1.2.0_image.tar")), func(h *tar.Header, content []byte) { files[h.Name] = content })
	get := func(name string, into any) {
		t.Helper()
		if err := json.Unmarshal(files[name], into); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	follow := func(d descriptor, into any) {
		t.Helper()
		name := blobPath(d)
		if sum := fmt.Sprintf("sha256:%x", sha256.Sum256(files[name])); sum != d.Digest || len(files[name]) != d.Size {
			t.Errorf("%s is %s of %d bytes", name, sum, len(files[name]))
		}
		get(name, into)
	}
	var index, images imageIndex
	get("index.json", &index)
	if len(index.Manifests) != 1 || index.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "1.2.0" {
		t.Fatalf("%+v", index)
	}
	follow(index.Manifests[0], &images)
	var loads []loadable
	get("manifest.json", &loads)
	if len(images.Manifests) != 2 || len(loads) != 2 {
		t.Fatalf("%+v %+v", images, loads)
	}
	for i, d := range images.Manifests {
		var m imageManifest
		follow(d, &m)
		var c imageConfig
		follow(m.Config, &c)
		if c.Architecture != d.Platform.Architecture || c.OS != "linux" || !c.Created.Equal(someTime) {
			t.Errorf("%+v", c)
		}
		if c.Config.User != "65532:65532" || !slices.Equal(c.Config.Healthcheck.Test, []string{"CMD", "/usr/bin/postern", "healthcheck"}) || len(c.Config.Volumes) != 1 {
			t.Errorf("%+v", c.Config)
		}
		if loads[i].Config != blobPath(m.Config) || loads[i].Layers[0] != blobPath(m.Layers[0]) || loads[i].RepoTags[0] != "postern:1.2.0-"+c.Architecture {
			t.Errorf("%+v", loads[i])
		}
		checkLayer(t, files[blobPath(m.Layers[0])], c.RootFS.DiffIDs[0])
	}
}

// checkLayer looks at the file system of an image.
func checkLayer(t *testing.T, packed []byte, diffID string) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if sum := fmt.Sprintf("sha256:%x", sha256.Sum256(plain)); sum != diffID {
		t.Errorf("the layer is %s instead of %s", sum, diffID)
	}
	seen := map[string]*tar.Header{}
	readTar(t, bytes.NewReader(plain), func(h *tar.Header, content []byte) {
		if above := path.Dir(strings.TrimSuffix(h.Name, "/")) + "/"; above != "./" && seen[above] == nil {
			t.Errorf("%s comes before its folder", h.Name)
		}
		seen[h.Name] = h
		if h.Name == "etc/ssl/certs/ca-certificates.crt" {
			if pool := x509.NewCertPool(); !pool.AppendCertsFromPEM(content) || bytes.Count(content, []byte("BEGIN")) < 100 {
				t.Errorf("%d bytes of authorities", len(content))
			}
		}
	})
	for name, want := range map[string]struct {
		mode  int64
		owner int
	}{"usr/bin/postern": {0o755, 0}, "data/": {0o700, imageUser}, "tmp/": {0o1777, 0}, "etc/passwd": {0o644, 0}} {
		if h := seen[name]; h == nil || h.Mode != want.mode || h.Uid != want.owner || h.Gid != want.owner {
			t.Errorf("%s is %+v", name, h)
		}
	}
}

func readTar(t *testing.T, from io.Reader, each func(*tar.Header, []byte)) {
	t.Helper()
	for r := tar.NewReader(from); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		each(h, content)
	}
}
