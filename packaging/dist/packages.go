package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// packageInfo is what nfpm reads, as far as it is used here.
type packageInfo struct {
	Name          string            `json:"name"`
	Arch          string            `json:"arch"`
	Platform      string            `json:"platform"`
	Version       string            `json:"version"`
	VersionSchema string            `json:"version_schema"`
	Release       string            `json:"release"`
	Section       string            `json:"section"`
	Priority      string            `json:"priority"`
	Maintainer    string            `json:"maintainer"`
	Description   string            `json:"description"`
	License       string            `json:"license"`
	MTime         time.Time         `json:"mtime"`
	Depends       []string          `json:"depends"`
	Recommends    []string          `json:"recommends,omitempty"`
	Contents      []packaged        `json:"contents"`
	Scripts       map[string]string `json:"scripts"`
	RPM           map[string]string `json:"rpm,omitempty"`
}

// packaged is a file or a folder of a package.
type packaged struct {
	Source string       `json:"src,omitempty"`
	Path   string       `json:"dst"`
	Type   string       `json:"type,omitempty"`
	Info   packagedInfo `json:"file_info"`
}

type packagedInfo struct {
	Mode  fs.FileMode `json:"mode"`
	Owner string      `json:"owner"`
	Group string      `json:"group"`
	MTime time.Time   `json:"mtime"`
}

const description = `WhatsApp accounts as an HTTP API
Postern connects WhatsApp accounts, reports by webhook and by WebSocket what happens
on them, and sends batches of messages that survive a crash. Everything is kept in
one file.`

// makePackages writes the .deb and the .rpm for a platform that has such.
func (r *release) makePackages(ctx context.Context, p platform) error {
	if p.deb != "" {
		info, err := r.debOf(p)
		if err != nil {
			return err
		}
		if err := r.pack(ctx, p, info, "deb", "postern_"+r.packageVersion()+"_"+p.deb+".deb"); err != nil {
			return err
		}
	}
	if p.rpm != "" {
		info, err := r.rpmOf(p)
		if err != nil {
			return err
		}
		return r.pack(ctx, p, info, "rpm", "postern-"+r.packageVersion()+"-1."+p.rpm+".rpm")
	}
	return nil
}

// pack has nfpm make one.
func (r *release) pack(ctx context.Context, p platform, info packageInfo, kind, name string) error {
	raw, err := json.MarshalIndent(info, "", "  ")
	if err != nil {
		return err
	}
	described := filepath.Join(r.work, p.name(), kind+".json")
	if err := os.WriteFile(described, raw, 0o644); err != nil {
		return err
	}
	_, err = r.run(ctx, r.source, nil, r.tool("nfpm"), "package", "--config", described, "--packager", kind, "--target", filepath.Join(r.made, name))
	return err
}

func (r *release) debOf(p platform) (packageInfo, error) {
	info, err := r.packageOf(p)
	if err != nil {
		return packageInfo{}, err
	}
	// passwd makes the user, before the files are unpacked.
	info.Depends, info.Recommends = []string{"ca-certificates", "passwd"}, []string{"ffmpeg"}
	info.Contents = append(info.Contents,
		r.packaged(r.written(p, "copyright"), "/usr/share/doc/postern/copyright", 0o644),
		r.packaged(r.written(p, "zsh"), "/usr/share/zsh/vendor-completions/_postern", 0o644),
	)
	return info, nil
}

func (r *release) rpmOf(p platform) (packageInfo, error) {
	info, err := r.packageOf(p)
	if err != nil {
		return packageInfo{}, err
	}
	info.Depends = []string{"ca-certificates"} // and what makes users, which is called otherwise in each system
	info.RPM = map[string]string{"summary": "WhatsApp accounts as an HTTP API", "group": "System Environment/Daemons", "buildhost": "localhost"}
	info.Contents = append(info.Contents,
		r.packaged(r.written(p, "copyright"), "/usr/share/licenses/postern/copyright", 0o644),
		r.packaged(r.written(p, "zsh"), "/usr/share/zsh/site-functions/_postern", 0o644),
	)
	return info, nil
}

// packageOf is what both kinds have.
func (r *release) packageOf(p platform) (packageInfo, error) {
	if err := r.writeParts(p); err != nil {
		return packageInfo{}, err
	}
	documents, err := r.packagedDocuments()
	if err != nil {
		return packageInfo{}, err
	}
	file := func(source, path string) packaged {
		return r.packaged(filepath.Join(r.source, filepath.FromSlash(source)), path, 0o644)
	}
	settings := file("config.toml.example", "/etc/postern/config.toml")
	settings.Type, settings.Info.Mode, settings.Info.Group = "config|noreplace", 0o640, "postern" // it may name what only the service may read
	folder, secrets := r.packaged("", "/etc/postern", 0o755), r.packaged("", "/etc/postern/secrets", 0o700)
	folder.Type, secrets.Type = "dir", "dir"
	scripts := map[string]string{}
	for _, when := range []string{"preinstall", "postinstall", "preremove", "postremove"} {
		scripts[when] = filepath.Join(r.source, "packaging", "scripts", when+".sh")
	}
	arch := p.arch
	if p.arm != "" {
		arch += p.arm // as nfpm calls it
	}
	return packageInfo{
		Name: "postern", Arch: arch, Platform: p.os, Version: r.packageVersion(), VersionSchema: "none", Release: "1",
		Section: "net", Priority: "optional", Maintainer: "The maintainers of Postern <maintainers@postern.invalid>",
		Description: description, License: "GPL-3.0-or-later", MTime: r.at, Scripts: scripts,
		Contents: append(documents,
			r.packaged(r.programOf(p), "/usr/bin/postern", 0o755),
			file("packaging/postern.service", "/usr/lib/systemd/system/postern.service"),
			file("packaging/postern.socket", "/usr/lib/systemd/system/postern.socket"),
			folder, settings, secrets,
			r.packaged(r.written(p, "man"), "/usr/share/man/man1/postern.1.gz", 0o644),
			r.packaged(r.written(p, "bash"), "/usr/share/bash-completion/completions/postern", 0o644),
			r.packaged(r.written(p, "fish"), "/usr/share/fish/vendor_completions.d/postern.fish", 0o644),
		),
	}, nil
}

func (r *release) packaged(source, path string, mode fs.FileMode) packaged {
	return packaged{Source: source, Path: path, Info: packagedInfo{Mode: mode, Owner: "root", Group: "root", MTime: r.at}}
}

// written is where writeParts puts a part.
func (r *release) written(p platform, part string) string {
	return filepath.Join(r.work, p.name(), "part-"+part)
}

// writeParts writes what packages have and no folder of the source.
func (r *release) writeParts(p platform) error {
	var manual bytes.Buffer
	z, err := gzip.NewWriterLevel(&manual, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(r.pages.manual); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	copyright := []byte("Postern is free software under the GPL, version 3 or later.\n\n")
	for _, name := range []string{"LICENSE", "cli/licences.txt"} {
		text, err := os.ReadFile(filepath.Join(r.source, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		copyright = append(append(copyright, text...), '\n')
	}
	parts := map[string][]byte{"man": manual.Bytes(), "copyright": copyright}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		parts[shell] = r.pages.completions[shell]
	}
	for part, content := range parts {
		if err := os.WriteFile(r.written(p, part), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
