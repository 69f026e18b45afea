package config

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// exampleConfig is config.toml.example: every setting with its meaning and its
// default.
func exampleConfig() string {
	return ("# Postern's configuration. Every line shows the default; nothing needs to be set.\n" +
		"# The environment wins over this file: the variable is the path in upper case with\n" +
		"# _ for every dot, so server.listen is SERVER_LISTEN.\n") + sections(settings(&Config{}), func(s setting) string { return s.path }, func(s setting, key string) string {
		return fmt.Sprintf("# %s\n%s = %s\n", s.doc, key, s.value.toml())
	})
}

const (
	tableBegin = "<!-- settings: made by make docs -->\n"
	tableEnd   = "<!-- end of settings -->\n"
)

// settingsTable returns the part of docs/configuration.md that the table of
// settings decides.
func settingsTable() string {
	var b strings.Builder
	b.WriteString("\n| Setting | Variable | Default | Values | Meaning |\n|---|---|---|---|---|\n")
	for _, s := range settings(&Config{}) {
		def := "`" + s.value.toml() + "`"
		if s.kind == hidden {
			def = "generated"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", s.path, s.env(), def, s.value.values(), s.doc)
	}
	return b.String() + "\n"
}

func TestExampleConfigEqualsTheDefaults(t *testing.T) {
	const path = "config.toml.example"
	t.Chdir("..")
	if *update {
		if err := os.WriteFile(path, []byte(exampleConfig()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(raw) != exampleConfig() {
		t.Errorf("%s is not what the table of settings says; run make docs", path)
	}
	// Read back as a file, it must change nothing.
	fromFile, _, err := Load(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defaults := &Config{}
	read := bound(fromFile)
	for i, want := range settings(defaults) {
		if got := read[i].value.toml(); got != want.value.toml() {
			t.Errorf("%s: %s in the file, %s by default", want.path, got, want.value.toml())
		}
	}
}

// bound returns the table over an existing configuration, keeping its values.
func bound(c *Config) []setting {
	kept := *c
	table := settings(c)
	*c = kept
	return table
}

func TestExampleConfigurationPageHasEverySetting(t *testing.T) {
	t.Chdir("..")
	path := filepath.Join("docs", "configuration.md")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(raw), tableBegin)
	old, after, ended := strings.Cut(rest, tableEnd)
	if !found || !ended {
		t.Fatalf("%s has no place for the table between %q and %q", path, tableBegin, tableEnd)
	}
	if old == settingsTable() {
		return
	}
	if !*update {
		t.Fatalf("%s is not what the table of settings says; run make docs", path)
	}
	if err := os.WriteFile(path, []byte(before+tableBegin+settingsTable()+tableEnd+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestEveryVariableThatADocumentNamesExists(t *testing.T) {
	t.Chdir("..")
	pages, err := filepath.Glob(filepath.Join("docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	table := settings(&Config{})
	named := 0
	for _, page := range append(pages, "README.md") {
		raw, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		// Only what is set to something: codes of errors look like variables too.
		for _, found := range regexp.MustCompile(`\b([A-Z]+(?:_[A-Z]+)+)(?:=|: )`).FindAllStringSubmatch(string(raw), -1) {
			if !ours(found[1], table) {
				continue
			}
			named++
			if s, _ := lookUp(table, found[1]); s == nil {
				t.Errorf("%s: %s is no variable", page, found[1])
			}
		}
	}
	if named < 6 {
		t.Errorf("only %d variables were found", named)
	}
}
