package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// buildTools builds the programs of others, for this machine, from a module of their own.
func (r *release) buildTools(ctx context.Context) error {
	to := filepath.Join(r.work, "tools") + string(filepath.Separator)
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	_, err := r.run(ctx, filepath.Join(r.source, "packaging", "tools"), host().environment(), "go", "build", "-trimpath", "-o", to,
		"github.com/goreleaser/nfpm/v2/cmd/nfpm", "github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod")
	return err
}

func (r *release) tool(name string) string {
	path := filepath.Join(r.work, "tools", name)
	if host().os == "windows" {
		path += ".exe"
	}
	return path
}

// makeBill writes what the program for a platform is made of.
func (r *release) makeBill(ctx context.Context, p platform) error {
	raw, err := r.run(ctx, r.work, nil, r.tool("cyclonedx-gomod"), "bin", "-json", "-std", "-licenses", "-noserial", "-notimestamp", "-version", r.version, r.programOf(p))
	if err != nil {
		return err
	}
	if raw, err = completeBill(raw); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.made, r.file(p.name()+".cdx.json")), raw, 0o644)
}

// completeBill adds the licences of the program and of Go, which the tool does not find,
// and takes the digests of the tool itself out: they are those of one machine.
func completeBill(raw []byte) ([]byte, error) {
	var bill struct {
		Schema       string           `json:"$schema"`
		Format       string           `json:"bomFormat"`
		Spec         string           `json:"specVersion"`
		Version      int              `json:"version"`
		Metadata     map[string]any   `json:"metadata"`
		Components   []map[string]any `json:"components"`
		Dependencies any              `json:"dependencies,omitempty"`
		Compositions any              `json:"compositions,omitempty"`
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&bill); err != nil {
		return nil, fmt.Errorf("what cyclonedx-gomod wrote: %w", err)
	}
	licensed := func(id string) any {
		return []any{map[string]any{"license": map[string]any{"id": id}}}
	}
	if program, ok := bill.Metadata["component"].(map[string]any); ok {
		program["licenses"] = licensed("GPL-3.0-or-later")
	}
	for _, c := range bill.Components {
		if c["name"] == "std" {
			c["licenses"] = licensed("BSD-3-Clause")
		}
	}
	tools, _ := bill.Metadata["tools"].([]any)
	for _, t := range tools {
		if tool, ok := t.(map[string]any); ok {
			delete(tool, "hashes")
		}
	}
	return json.MarshalIndent(bill, "", "  ")
}
