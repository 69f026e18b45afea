package page

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// vendored is a row of vendored/README.md.
type vendored struct{ module, version, file, inside, sum string }

func vendoredFiles(t *testing.T) []vendored {
	t.Helper()
	readme, err := os.ReadFile("vendored/README.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []vendored
	for _, found := range regexp.MustCompile("(?m)^\\| (\\w+) \\| ([\\d.]+) \\| [\\w.-]+ \\| `([^`]+)` \\| `([^`]+)` \\| `([0-9a-f]{64})` \\|$").FindAllStringSubmatch(string(readme), -1) {
		rows = append(rows, vendored{found[1], found[2], found[3], found[4], found[5]})
	}
	return rows
}

func sumOf(r io.Reader) (string, error) {
	h := sha256.New()
	_, err := io.Copy(h, r)
	return hex.EncodeToString(h.Sum(nil)), err
}

func TestVendoredModulesMatchTheirDigests(t *testing.T) {
	listed := map[string]bool{"README.md": true}
	for _, row := range vendoredFiles(t) {
		listed[row.file] = true
		f, err := os.Open(filepath.Join("vendored", row.file))
		if err != nil {
			t.Error(err)
			continue
		}
		if sum, err := sumOf(f); err != nil || sum != row.sum {
			t.Errorf("%s has the digest %s, the table says %s (%v)", row.file, sum, row.sum, err)
		}
		_ = f.Close()
	}
	err := fs.WalkDir(os.DirFS("vendored"), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !listed[name] {
			t.Errorf("%s is not in the table", name)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestVendoredModulesMatchTheRegistry checks the files against the archives of
// their releases, where the registry can be reached.
func TestVendoredModulesMatchTheRegistry(t *testing.T) {
	if testing.Short() {
		t.Skip("asks the registry")
	}
	byModule := map[string][]vendored{}
	for _, row := range vendoredFiles(t) {
		byModule[row.module+"-"+row.version] = append(byModule[row.module+"-"+row.version], row)
	}
	for _, rows := range byModule {
		sums, err := archive(t.Context(), rows[0].module, rows[0].version)
		if err != nil {
			t.Skipf("the registry: %v", err)
		}
		for _, row := range rows {
			if sums[row.inside] != row.sum {
				t.Errorf("%s of %s %s has the digest %s there, %s here", row.inside, row.module, row.version, sums[row.inside], row.sum)
			}
		}
	}
}

// archive returns the digest of each file in a release.
func archive(ctx context.Context, name, version string) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://registry.npmjs.org/%s/-/%s-%s.tgz", name, name, version), nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, errors.New(res.Status)
	}
	plain, err := gzip.NewReader(res.Body)
	if err != nil {
		return nil, err
	}
	sums := map[string]string{}
	for tr := tar.NewReader(plain); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return sums, nil
		}
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(h.Name, "package/") {
			if sums[h.Name], err = sumOf(tr); err != nil {
				return nil, err
			}
		}
	}
}
