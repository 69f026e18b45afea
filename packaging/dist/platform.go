package main

import (
	"regexp"
	"strings"
)

// platform is one that the program is built for.
type platform struct {
	os, arch string // as Go calls them
	arm      string // GOARM
	deb, rpm string // what Debian and Fedora call it; empty: no package for it
}

// platforms are all of them. ARMv6 has no packages: Debian's name for it, armhf, is
// that of ARMv7, and who has such a machine takes the archive.
var platforms = []platform{
	{os: "linux", arch: "amd64", deb: "amd64", rpm: "x86_64"},
	{os: "linux", arch: "arm64", deb: "arm64", rpm: "aarch64"},
	{os: "linux", arch: "arm", arm: "7", deb: "armhf", rpm: "armv7hl"},
	{os: "linux", arch: "arm", arm: "6"},
	{os: "linux", arch: "riscv64", deb: "riscv64", rpm: "riscv64"},
	{os: "darwin", arch: "amd64"},
	{os: "darwin", arch: "arm64"},
	{os: "windows", arch: "amd64"},
	{os: "windows", arch: "arm64"},
}

// name is the platform in the names of files, such as linux_armv7.
func (p platform) name() string { return p.os + "_" + p.archName() }

func (p platform) archName() string {
	if p.arm != "" {
		return p.arch + "v" + p.arm
	}
	return p.arch
}

// program is the name of the program's file.
func (p platform) program() string {
	if p.os == "windows" {
		return "postern.exe"
	}
	return "postern"
}

// environment is what has Go build for it, whatever the caller's environment says: the
// oldest processors of its kind.
func (p platform) environment() []string {
	return []string{
		"CGO_ENABLED=0", "GOOS=" + p.os, "GOARCH=" + p.arch, "GOARM=" + p.arm,
		"GOAMD64=v1", "GOARM64=v8.0", "GORISCV64=rva20u64", "GOEXPERIMENT=", "GOFIPS140=off",
	}
}

func find(name string) (platform, bool) {
	for _, p := range platforms {
		if p.os+"/"+p.archName() == name {
			return p, true
		}
	}
	return platform{}, false
}

func known() (names []string) {
	for _, p := range platforms {
		names = append(names, p.os+"/"+p.archName())
	}
	return names
}

// versionForm is what a version may look like: it is part of names of files.
var versionForm = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._+-]*$`)

var (
	tagged    = regexp.MustCompile(`^v?([0-9]+\.[0-9]+\.[0-9]+)$`)
	candidate = regexp.MustCompile(`^v?([0-9]+\.[0-9]+\.[0-9]+)-([a-z]+[.0-9]*)$`)
	after     = regexp.MustCompile(`^v?([0-9]+\.[0-9]+\.[0-9]+)(?:-([a-z]+[.0-9]*))?-([0-9]+)-(g[0-9a-f]+)$`)
)

// packageVersion is a version as packages have it, in an order that is that of time:
// 1.2.0 for v1.2.0, 1.2.0~rc.1 for v1.2.0-rc.1, 1.2.0+3.gabcdef0 for three commits
// behind v1.2.0, and 0.0.0+20260131235959.abcdef0 for a commit without a tag before it.
func (r *release) packageVersion() string {
	v, dirty := strings.CutSuffix(r.version, "-dirty")
	var is string
	if m := tagged.FindStringSubmatch(v); m != nil {
		is = m[1]
	} else if m := candidate.FindStringSubmatch(v); m != nil {
		is = m[1] + "~" + m[2]
	} else if m := after.FindStringSubmatch(v); m != nil {
		is = m[1]
		if m[2] != "" {
			is += "~" + m[2]
		}
		is += "+" + m[3] + "." + m[4]
	} else {
		is = "0.0.0+" + r.at.Format("20060102150405") + "." + strings.NewReplacer("-", ".", "_", ".").Replace(v)
	}
	if dirty {
		is += "+dirty"
	}
	return is
}
