package page

import (
	"encoding/json"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"postern/event"
)

// tables returns the page's texts by language. All languages have the same files.
func tables(t *testing.T) map[string]map[string]string {
	t.Helper()
	all := map[string]map[string]string{}
	names, err := fs.Glob(files, "console/words/*/*.js")
	if err != nil || len(names) < 3 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		raw, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(string(raw)), "export default "), ";")
		part := map[string]string{}
		if err := json.Unmarshal([]byte(text), &part); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if keys := len(regexp.MustCompile(`(?m)^"`).FindAllString(text, -1)); keys != len(part) {
			t.Errorf("%s has %d lines and %d keys: a key is repeated", name, keys, len(part))
		}
		language := path.Base(path.Dir(name))
		if all[language] == nil {
			all[language] = map[string]string{}
		}
		for key, text := range part {
			if all[language][key] != "" {
				t.Errorf("%s has %s, which another file of %s repeats", name, key, language)
			}
			all[language][key] = text
		}
	}
	return all
}

func TestEveryLanguageHasEveryWord(t *testing.T) {
	all := tables(t)
	hole := regexp.MustCompile(`\{\w+\}`)
	holes := func(text string) []string {
		found := hole.FindAllString(text, -1)
		slices.Sort(found)
		return slices.Compact(found)
	}
	for language, table := range all {
		for key, text := range all["en"] {
			translated, is := table[key]
			switch {
			case !is || translated == "":
				t.Errorf("%s has no %s", language, key)
			case !slices.Equal(holes(text), holes(translated)):
				t.Errorf("%s of %s has %v instead of %v", key, language, holes(translated), holes(text))
			}
		}
		for key := range table {
			if _, is := all["en"][key]; !is {
				t.Errorf("%s of %s is not in English", key, language)
			}
		}
	}
}

// TestModulesUseOnlyExistingWords collects the keys in the modules and those composed of a
// name: states, events, pages.
func TestModulesUseOnlyExistingWords(t *testing.T) {
	words := tables(t)["en"]
	wanted := map[string]string{}
	source := ""
	err := fs.WalkDir(files, "console", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".js") || strings.HasPrefix(name, "console/words/") {
			return err
		}
		raw, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		source += string(raw)
		for _, found := range regexp.MustCompile(`\b(t|rich|many)\("([^"]+)"\s*[,)]`).FindAllStringSubmatch(string(raw), -1) {
			if found[1] == "many" {
				wanted[found[2]+".one"], wanted[found[2]+".other"] = name, name
			} else {
				wanted[found[2]] = name
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range event.Catalogue() {
		if d.Flag != "" {
			wanted["event."+string(d.Flag)] = "the catalogue of events"
		}
	}
	for _, state := range event.States() {
		wanted["state."+string(state)] = "the states of an instance"
	}
	for _, found := range regexp.MustCompile(`\{ at: "(\w+)"`).FindAllStringSubmatch(source, -1) {
		wanted["nav."+found[1]] = "the table of pages"
	}
	for key, where := range wanted {
		if words[key] == "" {
			t.Errorf("%s uses %q, which does not exist", where, key)
		}
	}
	// The other keys are composed and belong to one of these families.
	families := regexp.MustCompile(`^(group|column|tab|theme|live|do|held|limits|filter|code|nav|pair|options\.order|proxy|events|figure|settings|event|state|delivery|scope|replay|tick|message|batch\.state|batch\.count|batches\.is|item)\.`)
	for key := range words {
		if wanted[key] == "" && !families.MatchString(key) && !strings.Contains(source, `"`+key+`"`) {
			t.Errorf("%q is unused", key)
		}
	}
}

// TestTheEventsAreThoseOfTheCatalogue compares data/events.js with the catalogue.
func TestTheEventsAreThoseOfTheCatalogue(t *testing.T) {
	raw, err := files.ReadFile("console/data/events.js")
	if err != nil {
		t.Fatal(err)
	}
	got, want := map[string]string{}, map[string]string{}
	for _, found := range regexp.MustCompile(`(?m)^  (\w+): "([^"]+)",$`).FindAllStringSubmatch(string(raw), -1) {
		got[found[1]] = found[2]
	}
	for _, d := range event.Catalogue() {
		if d.Family == event.Instance {
			want[string(d.Flag)] = string(d.Kind)
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("the page has %v, the catalogue %v", got, want)
	}
}
