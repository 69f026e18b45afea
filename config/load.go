package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"postern/event"
	"postern/internal/nearest"
)

// defaultConfigFile is read when it exists and no other was named.
const defaultConfigFile = "config.toml"

// Load reads the file at path, or ./config.toml when path is empty and
// that exists, and lets the environment win over it. All faults are reported
// at once, each with where it stands, its key and its rule. Warnings are about
// variables that look like ours and are not, and about secrets that others can
// read. The error is [Faulty].
func Load(path string, environ []string) (*Config, []string, error) {
	c, warnings, err := read(path, environ)
	return c, warnings, Faulty(err)
}

func read(path string, environ []string) (c *Config, warnings []string, err error) {
	c = &Config{}
	table := settings(c)
	faults, err := loadFile(path, table)
	if err != nil {
		return nil, nil, err
	}
	warnings = openConfig(table, environ)
	unknown, more := loadEnvironment(environ, table)
	warnings = append(warnings, unknown...)
	faults = slices.Concat(faults, more, brokenRules(c, table))
	if len(faults) > 0 {
		return nil, nil, errors.Join(faults...)
	}
	c.loaded = loaded{map[string]string{}, warnings}
	for _, s := range table {
		if s.source != "" {
			c.loaded.sources[s.path] = s.source
		}
	}
	return c, warnings, nil
}

// openConfig warns of a file with secrets that others can read. It looks at the
// table as the file alone has set it.
func openConfig(table []setting, environ []string) []string {
	i := slices.IndexFunc(table, func(s setting) bool {
		return s.source != "" && s.kind != public && s.text() != "" && s.shown() != s.value.toml()
	})
	if i < 0 || handedOver(table[i].source, environ) {
		return nil
	}
	path := table[i].source
	if info, err := os.Stat(path); err != nil || !openToOthers(info.Mode()) {
		return nil
	}
	return []string{fmt.Sprintf("others than the owner may read %s, which holds %s; chmod 600 %s", path, table[i].path, path)}
}

// brokenRules checks the rules over more than one setting, leaving out those
// that look broken only because a value was refused before.
func brokenRules(c *Config, table []setting) (faults []error) {
	for _, r := range c.rules() {
		refused := slices.ContainsFunc(r.keys, func(key string) bool { return find(table, key).faulty })
		if r.broken && !refused {
			faults = append(faults, fmt.Errorf("%s: %s: %s", blame(r.keys, table), r.keys[0], r.text))
		}
	}
	return faults
}

// blame returns the source of the first of the keys that was set.
func blame(keys []string, table []setting) string {
	for _, key := range keys {
		if s := find(table, key); s.source != "" {
			return s.source
		}
	}
	return "configuration"
}

// loadFile applies the settings of the file. faults are about its content; err means
// that the file could not be used.
func loadFile(path string, table []setting) (faults []error, err error) {
	named := path != ""
	if !named {
		path = defaultConfigFile
	}
	document, err := readDocument(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if _, err := toml.Decode(document, &tree); err != nil {
		return nil, fmt.Errorf("%s: %s", path, syntaxFault(err))
	}
	return applyTree(tree, "", path, table), nil
}

// syntaxFault describes an error of the TOML decoder, without the part of its
// message that quotes the file: that may be a secret with a quote missing.
func syntaxFault(err error) string {
	var parse toml.ParseError
	if !errors.As(err, &parse) {
		return "not valid TOML"
	}
	message := parse.Message
	for _, quoting := range []string{", but got ", " but got ", " but found "} {
		message, _, _ = strings.Cut(message, quoting)
	}
	if !slices.ContainsFunc([]string{"expected ", "unexpected ", "Key "}, func(p string) bool { return strings.HasPrefix(message, p) }) {
		message = "not a value of TOML; a text needs quotes on both sides"
	}
	if parse.LastKey != "" {
		return fmt.Sprintf("line %d, at or after %s: %s", parse.Position.Line, event.Cut(parse.LastKey), message)
	}
	return fmt.Sprintf("line %d: %s", parse.Position.Line, message)
}

// applyTree walks the decoded TOML and sets each leaf by its path.
func applyTree(tree map[string]any, above, file string, table []setting) (faults []error) {
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		v, path := tree[key], above+key
		if strings.Contains(key, ".") { // else it could be a second value of a setting
			faults = append(faults, fmt.Errorf("%s: %s%q: unknown key; a dot within quotes does not separate keys", file, above, event.Cut(key)))
			continue
		}
		if s := find(table, path); s != nil {
			s.source = file
			if err := s.value.accept(v); err != nil {
				s.faulty = true
				faults = append(faults, fmt.Errorf("%s: %s: %w", file, path, err))
			}
			continue
		}
		sub, isTable := v.(map[string]any)
		switch {
		case isTable && hasSection(table, path+"."):
			faults = append(faults, applyTree(sub, path+".", file, table)...)
		case hasSection(table, path+"."):
			faults = append(faults, fmt.Errorf("%s: %s: must be a table", file, event.Cut(path)))
		default:
			faults = append(faults, fmt.Errorf("%s: %s: unknown key; did you mean %s?", file, event.Cut(path), nearestKey(path, isTable, table)))
		}
	}
	return faults
}

// nearestKey returns the known key, or the known section for a table, whose name is
// closest to path.
func nearestKey(path string, isTable bool, table []setting) string {
	var known []string
	for _, s := range table {
		name := s.path
		if isTable {
			name = name[:strings.LastIndexByte(name, '.')]
		}
		known = append(known, name)
	}
	return nearest.Of(path, known)
}

func loadEnvironment(environ []string, table []setting) (warnings []string, faults []error) {
	for _, entry := range environ {
		name, text, _ := strings.Cut(entry, "=")
		s, fromFile := lookUp(table, name)
		switch {
		case s == nil:
			if ours(name, table) {
				warnings = append(warnings, unknownVariable(name, table))
			}
		case text == "":
		case fromFile:
			warning, err := s.takeFile(text, environ)
			warnings, faults = append(warnings, warning...), append(faults, err...)
		default:
			faults = append(faults, s.take(text, "environment "+name)...)
		}
	}
	slices.Sort(warnings)
	return warnings, faults
}

// lookUp returns the setting of a variable, nil when it is none of
// ours, and whether the variable names a file.
func lookUp(table []setting, name string) (s *setting, fromFile bool) {
	for i := range table {
		switch {
		case table[i].env() == name:
			return &table[i], false
		case table[i].kind != public && table[i].fileEnv() == name:
			return &table[i], true
		}
	}
	return nil, false
}

// take sets the value from a text of the environment. The same setting by two
// variables is an error, since neither takes precedence.
func (s *setting) take(text, source string) []error {
	if s.inEnvironment {
		s.faulty = true
		return []error{fmt.Errorf("environment: %s and %s are both set; keep one of them", s.env(), s.fileEnv())}
	}
	s.source, s.inEnvironment = source, true
	if err := s.value.parse(text); err != nil {
		s.faulty = true
		return []error{fmt.Errorf("%s: %w", source, err)}
	}
	return nil
}

func unknownVariable(name string, table []setting) string {
	var known []string
	for _, s := range table {
		known = append(known, s.env())
		if s.kind != public {
			known = append(known, s.fileEnv())
		}
	}
	if i := slices.IndexFunc(table, func(s setting) bool { return s.fileEnv() == name }); i >= 0 {
		return fmt.Sprintf("environment variable %s is not a setting and is ignored; %s is not read from a file, set %s", event.Cut(name), table[i].path, table[i].env())
	}
	return fmt.Sprintf("environment variable %s is not a setting and is ignored; did you mean %s?", event.Cut(name), nearest.Of(name, known))
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
