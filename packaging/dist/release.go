package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// release is what is made and of what.
type release struct {
	version string // as git describes it
	commit  string
	at      time.Time // of the commit
	source  string    // the folder of the module
	out     string
	flags   []string // of go build
	tools   bool

	platforms []platform

	work  string // a temporary folder beside out, which becomes out
	made  string // the folder in it that does
	pages pages
}

// pages are what the program says of itself.
type pages struct {
	manual      []byte
	completions map[string][]byte // by shell
}

// sumsFile is the last file of a release; a folder that has it may be replaced.
const sumsFile = "SHA256SUMS"

func (r *release) make(ctx context.Context) (err error) {
	if r.out, err = filepath.Abs(r.out); err != nil {
		return err
	}
	if err := r.replaceable(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(r.out), 0o755); err != nil {
		return err
	}
	if r.work, err = os.MkdirTemp(filepath.Dir(r.out), ".dist-*"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.work)) }()
	r.made = filepath.Join(r.work, "made")
	if err := os.Mkdir(r.made, 0o755); err != nil {
		return err
	}
	if err := r.fill(ctx); err != nil {
		return err
	}
	if err := os.Rename(r.out, filepath.Join(r.work, "before")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(r.made, r.out)
}

// replaceable refuses a folder that this program did not make.
func (r *release) replaceable() error {
	entries, err := os.ReadDir(r.out)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(r.out, sumsFile)); err != nil {
		return fmt.Errorf("-out %s has files and no %s, so it is not from here: name another folder, or empty it", r.out, sumsFile)
	}
	return nil
}

func (r *release) fill(ctx context.Context) error {
	if err := r.readPages(ctx); err != nil {
		return err
	}
	if r.tools {
		if err := r.buildTools(ctx); err != nil {
			return err
		}
	}
	for _, p := range r.platforms {
		begin := time.Now()
		if err := r.makePlatform(ctx, p); err != nil {
			return fmt.Errorf("%s: %w", p.name(), err)
		}
		log.Printf("%-14s %v", p.name(), time.Since(begin).Round(time.Second))
	}
	if err := r.makeImage(); err != nil {
		return fmt.Errorf("image: %w", err)
	}
	licences, err := os.ReadFile(filepath.Join(r.source, "cli", "licences.txt"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.made, r.file("licences.txt")), licences, 0o644); err != nil {
		return err
	}
	return r.sum()
}

// file is the name of a file of the release.
func (r *release) file(rest string) string { return "postern_" + r.packageVersion() + "_" + rest }

func (r *release) makePlatform(ctx context.Context, p platform) error {
	if err := r.compile(ctx, p, r.programOf(p)); err != nil {
		return err
	}
	if err := r.makeArchive(p); err != nil {
		return err
	}
	if !r.tools {
		return nil
	}
	if err := r.makeBill(ctx, p); err != nil {
		return err
	}
	return r.makePackages(ctx, p)
}

// programOf is where the program for a platform is built to.
func (r *release) programOf(p platform) string { return filepath.Join(r.work, p.name(), p.program()) }

// compile builds the program for a platform. The flags carry version and commit, so
// that a folder without version control builds the same.
func (r *release) compile(ctx context.Context, p platform, to string) error {
	args := append(append([]string{"build", "-buildvcs=false"}, r.flags...), "-o", to, ".")
	_, err := r.run(ctx, r.source, p.environment(), "go", args...)
	return err
}

// host is the platform of this machine.
func host() platform {
	p := platform{os: runtime.GOOS, arch: runtime.GOARCH}
	if p.arch == "arm" {
		p.arm = "6"
	}
	return p
}

// readPages builds the program for this machine and asks it for its pages.
func (r *release) readPages(ctx context.Context) (err error) {
	program := filepath.Join(r.work, "host", host().program())
	if err := r.compile(ctx, host(), program); err != nil {
		return err
	}
	if r.pages.manual, err = r.run(ctx, r.work, nil, program, "man"); err != nil {
		return err
	}
	r.pages.completions = map[string][]byte{}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if r.pages.completions[shell], err = r.run(ctx, r.work, nil, program, "completion", shell); err != nil {
			return err
		}
	}
	return nil
}

// run runs a program to its end and returns what it wrote to its standard output.
func (r *release) run(ctx context.Context, folder string, env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = folder
	cmd.Env = append(append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.at.Unix())), env...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, bytes.TrimSpace(said.Bytes()))
	}
	return out.Bytes(), nil
}

// sum writes the digests of all that was made, as sha256sum --check reads them.
func (r *release) sum() error {
	entries, err := os.ReadDir(r.made)
	if err != nil {
		return err
	}
	var lines []string
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(r.made, e.Name()))
		if err != nil {
			return err
		}
		lines = append(lines, fmt.Sprintf("%x  %s\n", sha256.Sum256(content), e.Name()))
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[66:], b[66:]) })
	return os.WriteFile(filepath.Join(r.made, sumsFile), []byte(strings.Join(lines, "")), 0o644)
}
