package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"postern/event"
)

// defaultConfigFile is read when it exists and no other was named.
const defaultConfigFile = "config.toml"

// loadConfig reads the file at path, or ./config.toml when path is empty and
// that exists, and lets the environment win over it. All faults are reported
// at once, each with where it stands, its key and its rule. Warnings are about
// variables that look like ours and are not.
func loadConfig(path string, environ []string) (c *Config, warnings []string, err error) {
	c = &Config{}
	table := settings(c)
	if err := loadFile(path, table); err != nil {
		return nil, nil, err
	}
	warnings, err = loadEnvironment(environ, table)
	if err != nil {
		return nil, nil, err
	}
	if err := c.validate(); err != nil {
		return nil, nil, fmt.Errorf("configuration: %w", err)
	}
	return c, warnings, nil
}

func loadFile(path string, table []setting) error {
	named := path != ""
	if !named {
		path = defaultConfigFile
	}
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return nil
	}
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	var tree map[string]any
	if _, err := toml.Decode(string(raw), &tree); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := applyTree(tree, "", table); err != nil {
		return prefixEach(path, err)
	}
	return nil
}

// applyTree walks the decoded TOML and sets each leaf by its path.
func applyTree(tree map[string]any, above string, table []setting) error {
	var errs []error
	for key, v := range tree {
		path := above + key
		if s := find(table, path); s != nil {
			if err := s.value.accept(v); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", path, err))
			}
			continue
		}
		sub, isTable := v.(map[string]any)
		if isTable && hasSection(table, path+".") {
			errs = append(errs, applyTree(sub, path+".", table))
			continue
		}
		errs = append(errs, fmt.Errorf("%s: unknown key; did you mean %s?", path, event.Nearest(path, paths(table))))
	}
	return errors.Join(errs...)
}

func loadEnvironment(environ []string, table []setting) (warnings []string, err error) {
	var errs []error
	for _, entry := range environ {
		name, text, _ := strings.Cut(entry, "=")
		i := slices.IndexFunc(table, func(s setting) bool { return s.env() == name })
		switch {
		case i < 0 && ours(name, table):
			warnings = append(warnings, fmt.Sprintf("environment variable %s is not a setting and is ignored; did you mean %s?", name, event.Nearest(name, envNames(table))))
		case i >= 0 && text != "":
			if err := table[i].value.parse(text); err != nil {
				errs = append(errs, fmt.Errorf("environment: %s: %w", name, err))
			}
		}
	}
	slices.Sort(warnings)
	return warnings, errors.Join(errs...)
}

// ours reports whether name begins with the first word of one of our settings.
func ours(name string, table []setting) bool {
	prefix, _, found := strings.Cut(name, "_")
	return found && hasSection(table, strings.ToLower(prefix)+".") && prefix == strings.ToUpper(prefix)
}

func find(table []setting, path string) *setting {
	for i := range table {
		if table[i].path == path {
			return &table[i]
		}
	}
	return nil
}

func hasSection(table []setting, prefix string) bool {
	return slices.ContainsFunc(table, func(s setting) bool { return strings.HasPrefix(s.path, prefix) })
}

func paths(table []setting) []string {
	all := make([]string, len(table))
	for i, s := range table {
		all[i] = s.path
	}
	return all
}

func envNames(table []setting) []string {
	all := make([]string, len(table))
	for i, s := range table {
		all[i] = s.env()
	}
	return all
}

// prefixEach puts the file's name before each of the joined errors.
func prefixEach(path string, err error) error {
	var all []error
	for line := range strings.SplitSeq(err.Error(), "\n") {
		all = append(all, fmt.Errorf("%s: %s", path, line))
	}
	slices.SortFunc(all, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(all...)
}

// exampleConfig is config.toml.example: every setting with its meaning, its
// variable and its default.
func exampleConfig() string {
	var b strings.Builder
	b.WriteString("# Postern's configuration. Every line shows the default; nothing needs to be set.\n" +
		"# The environment wins over this file: the variable is the path in upper case with\n" +
		"# _ for every dot, so server.listen is SERVER_LISTEN.\n")
	section := ""
	for _, s := range settings(&Config{}) {
		dot := strings.LastIndexByte(s.path, '.')
		if s.path[:dot] != section {
			section = s.path[:dot]
			fmt.Fprintf(&b, "\n[%s]\n", section)
		}
		fmt.Fprintf(&b, "# %s\n%s = %s\n", s.doc, s.path[dot+1:], s.value.toml())
	}
	return b.String()
}
