package main

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// documents are the paths below the source, with slashes, of what a release has to read: the
// README and the pages at the top, and everything in docs/ (pages, pictures, alert rules and
// the dashboard of Grafana). Links between them work wherever their folder lies.
func (r *release) documents() ([]string, error) {
	names := []string{"README.md", "CHANGELOG.md", "SECURITY.md", "BENCHMARKS.md", "CONTRIBUTING.md", "LICENSE", "config.toml.example"}
	err := fs.WalkDir(os.DirFS(r.source), "docs", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			names = append(names, name)
		}
		return err
	})
	return names, err
}

// packagedDocuments are the documents as files of a package.
func (r *release) packagedDocuments() ([]packaged, error) {
	names, err := r.documents()
	if err != nil {
		return nil, err
	}
	var files []packaged
	for _, name := range names {
		files = append(files, r.packaged(filepath.Join(r.source, filepath.FromSlash(name)), path.Join("/usr/share/doc/postern", name), 0o644))
	}
	return files, nil
}

// inArchive is where a file of the source lies in an archive: documents keep their folder, so
// that their links work; the others lie at the top.
func inArchive(name string) string {
	if strings.HasPrefix(name, "docs/") {
		return name
	}
	return path.Base(name)
}
