package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/flate"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// entry is a file or a folder of an archive.
type entry struct {
	name    string // with slashes; a folder's ends with one
	mode    fs.FileMode
	owner   int // uid and gid
	content []byte
}

// makeArchive packs the program for a platform with what belongs to it.
func (r *release) makeArchive(p platform) error {
	entries, err := r.archiveEntries(p)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	suffix, write := ".tar.gz", writeTarGz
	if p.os == "windows" {
		suffix, write = ".zip", writeZip
	}
	if err := write(&out, r.at, entries); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.made, r.file(p.name()+suffix)), out.Bytes(), 0o644)
}

func (r *release) archiveEntries(p platform) ([]entry, error) {
	top := r.file(p.name()) + "/"
	program, err := os.ReadFile(r.programOf(p))
	if err != nil {
		return nil, err
	}
	entries := []entry{
		{name: top + p.program(), mode: 0o755, content: program},
		{name: top + "postern.1", mode: 0o644, content: r.pages.manual},
	}
	for shell, script := range r.pages.completions {
		entries = append(entries, entry{name: top + "completions/postern." + shell, mode: 0o644, content: script})
	}
	files, err := r.documents()
	if err != nil {
		return nil, err
	}
	files = append(files, "cli/licences.txt")
	if p.os == "linux" {
		files = append(files, "packaging/postern.service", "packaging/postern.socket")
	}
	for _, name := range files {
		content, err := os.ReadFile(filepath.Join(r.source, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{name: top + inArchive(name), mode: 0o644, content: content})
	}
	return entries, nil
}

// inOrder is a copy in the order of names, in which a folder precedes what is in it.
func inOrder(entries []entry) []entry {
	return slices.SortedFunc(slices.Values(entries), func(a, b entry) int { return cmp.Compare(a.name, b.name) })
}

func writeTarGz(w io.Writer, at time.Time, entries []entry) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := writeTar(z, at, entries); err != nil {
		return err
	}
	return z.Close()
}

func writeTar(w io.Writer, at time.Time, entries []entry) error {
	t := tar.NewWriter(w)
	for _, e := range inOrder(entries) {
		h := &tar.Header{Name: e.name, Mode: tarMode(e.mode), Size: int64(len(e.content)), ModTime: at, Uid: e.owner, Gid: e.owner, Typeflag: tar.TypeReg}
		if e.mode.IsDir() {
			h.Typeflag = tar.TypeDir
		}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(e.content); err != nil {
			return err
		}
	}
	return t.Close()
}

// tarMode is the mode as tar has it.
func tarMode(mode fs.FileMode) int64 {
	const sticky = 0o1000
	m := int64(mode.Perm())
	if mode&fs.ModeSticky != 0 {
		m |= sticky
	}
	return m
}

func writeZip(w io.Writer, at time.Time, entries []entry) error {
	z := zip.NewWriter(w)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	for _, e := range inOrder(entries) {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: at}
		h.SetMode(e.mode)
		f, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := f.Write(e.content); err != nil {
			return err
		}
	}
	return z.Close()
}
