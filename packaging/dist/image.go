package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// An image is a layout of the Open Container Initiative in a tar: blobs named after
// their digests, and an index of the image for each processor, of which programs that
// know such indexes take their own. manifest.json is how `docker load` without
// containerd knows images; there each processor has its own tag.

// imageUser is the user and the group of the program in its container: an id that
// distributions assign to no user.
const imageUser = 65532

const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// descriptor points to a blob.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *imagePlatform    `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type imagePlatform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

type imageIndex struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Manifests     []descriptor `json:"manifests"`
}

type imageManifest struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Config        descriptor   `json:"config"`
	Layers        []descriptor `json:"layers"`
}

// imageConfig is what of an image's configuration is used here. Healthcheck is
// Docker's addition.
type imageConfig struct {
	Created      time.Time      `json:"created"`
	Architecture string         `json:"architecture"`
	OS           string         `json:"os"`
	Config       containerRules `json:"config"`
	RootFS       struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
	History []imageHistory `json:"history"`
}

type containerRules struct {
	User         string
	ExposedPorts map[string]struct{}
	Env          []string
	Entrypoint   []string
	Cmd          []string
	Healthcheck  healthcheck
	Volumes      map[string]struct{}
	WorkingDir   string
	Labels       map[string]string
}

// healthcheck has its times in nanoseconds.
type healthcheck struct {
	Test                           []string
	Interval, Timeout, StartPeriod time.Duration
	Retries                        int
}

type imageHistory struct {
	Created   time.Time `json:"created"`
	CreatedBy string    `json:"created_by"`
}

// loadable is a row of manifest.json.
type loadable struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// layout is an image while it grows.
type layout struct {
	files []entry
	known map[string]bool
}

func (l *layout) blob(kind string, content []byte) descriptor {
	digest := fmt.Sprintf("%x", sha256.Sum256(content))
	if l.known == nil {
		l.known = map[string]bool{}
	}
	if !l.known[digest] {
		l.known[digest] = true
		l.file("blobs/sha256/"+digest, content)
	}
	return descriptor{MediaType: kind, Digest: "sha256:" + digest, Size: len(content)}
}

func (l *layout) file(name string, content []byte) {
	l.files = append(l.files, entry{name: name, mode: 0o644, content: content})
}

func (l *layout) json(kind string, what any) (descriptor, error) {
	raw, err := json.Marshal(what)
	return l.blob(kind, raw), err
}

// makeImage writes the image of those chosen platforms that have one.
func (r *release) makeImage() error {
	l, tag := &layout{}, "postern:"+strings.NewReplacer("+", "-", "~", "-").Replace(r.packageVersion())
	index := imageIndex{SchemaVersion: 2, MediaType: typeIndex}
	var loads []loadable
	for _, p := range r.platforms {
		if p.os != "linux" || p.arch != "amd64" && p.arch != "arm64" {
			continue
		}
		manifest, load, err := r.addImage(l, p)
		if err != nil {
			return err
		}
		load.RepoTags = []string{tag + "-" + p.arch}
		index.Manifests, loads = append(index.Manifests, manifest), append(loads, load)
	}
	if loads == nil {
		return nil
	}
	all, err := l.json(typeIndex, index)
	if err != nil {
		return err
	}
	all.Annotations = map[string]string{
		"org.opencontainers.image.ref.name": tag[strings.Index(tag, ":")+1:],
		"io.containerd.image.name":          "docker.io/library/" + tag,
	}
	for name, content := range map[string]any{
		"oci-layout":    map[string]string{"imageLayoutVersion": "1.0.0"},
		"index.json":    imageIndex{SchemaVersion: 2, MediaType: typeIndex, Manifests: []descriptor{all}},
		"manifest.json": loads,
	} {
		raw, err := json.Marshal(content)
		if err != nil {
			return err
		}
		l.file(name, raw)
	}
	l.files = append(l.files, entry{name: "blobs/", mode: fs.ModeDir | 0o755}, entry{name: "blobs/sha256/", mode: fs.ModeDir | 0o755})
	var out bytes.Buffer
	if err := writeTar(&out, r.at, l.files); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.made, r.file("image.tar")), out.Bytes(), 0o644)
}

// addImage adds layer, configuration and manifest for a platform.
func (r *release) addImage(l *layout, p platform) (descriptor, loadable, error) {
	entries, err := r.rootOf(p)
	if err != nil {
		return descriptor{}, loadable{}, err
	}
	var plain, packed bytes.Buffer
	if err := writeTar(&plain, r.at, entries); err != nil {
		return descriptor{}, loadable{}, err
	}
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return descriptor{}, loadable{}, err
	}
	if _, err := z.Write(plain.Bytes()); err != nil {
		return descriptor{}, loadable{}, err
	}
	if err := z.Close(); err != nil {
		return descriptor{}, loadable{}, err
	}
	layer := l.blob(typeLayer, packed.Bytes())
	config, err := l.json(typeConfig, r.imageConfig(p, fmt.Sprintf("sha256:%x", sha256.Sum256(plain.Bytes()))))
	if err != nil {
		return descriptor{}, loadable{}, err
	}
	manifest, err := l.json(typeManifest, imageManifest{SchemaVersion: 2, MediaType: typeManifest, Config: config, Layers: []descriptor{layer}})
	manifest.Platform = &imagePlatform{Architecture: p.arch, OS: p.os}
	return manifest, loadable{Config: blobPath(config), Layers: []string{blobPath(layer)}}, err
}

func blobPath(d descriptor) string { return "blobs/" + strings.Replace(d.Digest, ":", "/", 1) }

func (r *release) imageConfig(p platform, layer string) imageConfig {
	c := imageConfig{
		Created: r.at, Architecture: p.arch, OS: p.os,
		Config: containerRules{
			User:         fmt.Sprintf("%d:%d", imageUser, imageUser),
			ExposedPorts: map[string]struct{}{"8084/tcp": {}},
			Env:          []string{"PATH=/usr/bin", "SERVER_PORT=8084", "STORE_PATH=/data/postern.db"},
			Entrypoint:   []string{"/usr/bin/postern"},
			Cmd:          []string{"serve"},
			Healthcheck: healthcheck{
				Test:     []string{"CMD", "/usr/bin/postern", "healthcheck"},
				Interval: 30 * time.Second, Timeout: 15 * time.Second, StartPeriod: 5 * time.Minute, Retries: 3,
			},
			Volumes:    map[string]struct{}{"/data": {}},
			WorkingDir: "/data",
			Labels: map[string]string{
				"org.opencontainers.image.title":    "Postern",
				"org.opencontainers.image.version":  r.version,
				"org.opencontainers.image.revision": r.commit,
				"org.opencontainers.image.created":  r.at.Format(time.RFC3339),
				"org.opencontainers.image.licenses": "GPL-3.0-or-later",
			},
		},
		History: []imageHistory{{Created: r.at, CreatedBy: "packaging/dist"}},
	}
	c.RootFS.Type, c.RootFS.DiffIDs = "layers", []string{layer}
	return c
}

// rootOf is the file system of the image: the program, whom it trusts, and two folders
// that it may write to.
func (r *release) rootOf(p platform) ([]entry, error) {
	program, err := os.ReadFile(r.programOf(p))
	if err != nil {
		return nil, err
	}
	entries := []entry{
		{name: "usr/bin/postern", mode: 0o755, content: program},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, content: roots()},
		{name: "etc/passwd", mode: 0o644, content: fmt.Appendf(nil, "root:x:0:0:root:/:/sbin/nologin\npostern:x:%d:%d:Postern:/data:/sbin/nologin\n", imageUser, imageUser)},
		{name: "etc/group", mode: 0o644, content: fmt.Appendf(nil, "root:x:0:\npostern:x:%d:\n", imageUser)},
		{name: "data/", mode: fs.ModeDir | 0o700, owner: imageUser},
		{name: "tmp/", mode: fs.ModeDir | fs.ModeSticky | 0o777},
	}
	for _, name := range []string{"LICENSE", "cli/licences.txt"} {
		content, err := os.ReadFile(filepath.Join(r.source, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{name: "usr/share/doc/postern/" + filepath.Base(name), mode: 0o644, content: content})
	}
	return append(entries, foldersAbove(entries)...), nil
}

// foldersAbove are the folders that entries lie in and that are not among them.
func foldersAbove(entries []entry) (folders []entry) {
	var names []string
	for _, e := range entries {
		for i, c := range strings.TrimSuffix(e.name, "/") {
			if c == '/' {
				names = append(names, e.name[:i+1])
			}
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		folders = append(folders, entry{name: name, mode: fs.ModeDir | 0o755})
	}
	return folders
}

// roots are the authorities that Mozilla's programs trust, in PEM.
func roots() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer takes all
	}
	return out.Bytes()
}
