package config

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNewSettingIsComplete reports at once what a row of settings.go needs besides: the
// file, and what to add.
func TestNewSettingIsComplete(t *testing.T) {
	t.Chdir("..")
	read := func(name string) string {
		t.Helper()
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	defaults, page, example := read("config/rules_test.go"), read("docs/configuration.md"), read("config.toml.example")
	for _, s := range settings(&Config{}) {
		if !strings.Contains(defaults, `"`+s.path+`":`) {
			t.Errorf("%s lacks, in config/rules_test.go: its default", s.path)
		}
		key := s.path[strings.LastIndexByte(s.path, '.')+1:]
		if !strings.Contains(page, "\n| "+s.path+" |") || !strings.Contains(example, "\n"+key+" = ") {
			t.Errorf("%s lacks, in docs/configuration.md and config.toml.example: run make docs", s.path)
		}
	}
	// Parts copy sections of the configuration, so only the last name of a field is looked for.
	program := otherSources(t)
	for _, found := range regexp.MustCompile(`"([a-z_.]+)", &c(?:\.\w+)*(\.\w+)`).FindAllStringSubmatch(read("config/settings.go"), -1) {
		if !regexp.MustCompile(regexp.QuoteMeta(found[2]) + `\b`).MatchString(program) {
			t.Errorf("%s lacks, in the part that it is for (see app/parts.go): code that reads %s", found[1], found[2])
		}
	}
}

// otherSources returns the sources of the program without the table of settings and the
// type that it fills.
func otherSources(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, folder := range []string{"app", "cli", "config"} {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || path == "config/settings.go" || path == "config/config.go" {
				return err
			}
			raw, err := os.ReadFile(path)
			all.Write(raw)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}
