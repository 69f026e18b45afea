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
	c, _, warnings, err = loadSettings(path, environ)
	return c, warnings, err
}

// loadSettings is loadConfig that also returns the table, which tells where
// each value came from.
func loadSettings(path string, environ []string) (c *Config, table []setting, warnings []string, err error) {
	c = &Config{}
	table = settings(c)
	if err := loadFile(path, table); err != nil {
		return nil, nil, nil, err
	}
	warnings, err = loadEnvironment(environ, table)
	if err != nil {
		return nil, nil, nil, err
	}
	if err := c.validate(); err != nil {
		return nil, nil, nil, fmt.Errorf("configuration: %w", err)
	}
	return c, table, warnings, nil
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
	if err := applyTree(tree, "", path, table); err != nil {
		return prefixEach(path, err)
	}
	return nil
}

// applyTree walks the decoded TOML and sets each leaf by its path.
func applyTree(tree map[string]any, above, file string, table []setting) error {
	var errs []error
	for key, v := range tree {
		path := above + key
		if s := find(table, path); s != nil {
			if err := s.value.accept(v); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", path, err))
			}
			s.source = file
			continue
		}
		sub, isTable := v.(map[string]any)
		if isTable && hasSection(table, path+".") {
			errs = append(errs, applyTree(sub, path+".", file, table))
			continue
		}
		errs = append(errs, fmt.Errorf("%s: unknown key; did you mean %s?", path, event.Nearest(path, paths(table))))
	}
	return errors.Join(errs...)
}

// fileSuffix makes a variable name a file that holds the value, as systemd and
// container engines hand secrets over.
const fileSuffix = "_FILE"

func loadEnvironment(environ []string, table []setting) (warnings []string, err error) {
	var errs []error
	for _, entry := range environ {
		name, text, _ := strings.Cut(entry, "=")
		switch s, fromFile := lookUp(table, name); {
		case s == nil && ours(name, table):
			warnings = append(warnings, fmt.Sprintf("environment variable %s is not a setting and is ignored; did you mean %s?", name, event.Nearest(name, envNames(table))))
		case s == nil || text == "":
		case fromFile:
			warning, err := s.readFile(text)
			if warning != "" {
				warnings = append(warnings, warning)
			}
			errs = append(errs, err)
		default:
			errs = append(errs, s.take(text, "environment "+name))
		}
	}
	slices.Sort(warnings)
	return warnings, errors.Join(errs...)
}

// lookUp returns the setting that a variable is for, nil when it is none of
// ours, and whether the variable names a file.
func lookUp(table []setting, name string) (s *setting, fromFile bool) {
	for i := range table {
		switch {
		case table[i].env() == name:
			return &table[i], false
		case table[i].secret && table[i].env()+fileSuffix == name:
			return &table[i], true
		}
	}
	return nil, false
}

// take sets the value from a text of the environment. The same setting by two
// variables is a mistake: nobody could tell which one counts.
func (s *setting) take(text, source string) error {
	if strings.HasPrefix(s.source, "environment ") || strings.HasPrefix(s.source, "file ") {
		return fmt.Errorf("environment: %s and %s are both set; keep one of them", s.env(), s.env()+fileSuffix)
	}
	if err := s.value.parse(text); err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	s.source = source
	return nil
}

// maxSecretFile bounds a file that holds a secret; a larger one is none.
const maxSecretFile = 64 << 10

// readFile sets the value from the file that a variable names, without the
// line break at its end.
func (s *setting) readFile(path string) (warning string, err error) {
	name := s.env() + fileSuffix
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("environment: %s: %w", name, err)
	}
	if info.Size() > maxSecretFile {
		return "", fmt.Errorf("environment: %s: %s has %d bytes; a secret has less", name, path, info.Size())
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("environment: %s: %w", name, err)
	}
	text := strings.TrimSuffix(strings.TrimSuffix(string(raw), "\n"), "\r")
	if text == "" {
		return "", fmt.Errorf("environment: %s: %s is empty", name, path)
	}
	if info.Mode().Perm()&0o007 != 0 {
		warning = fmt.Sprintf("%s: %s can be read by everybody; chmod 600 it", name, path)
	}
	return warning, s.take(text, "file "+path)
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
