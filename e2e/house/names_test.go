package house

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// maxWords is how many words the name of a test may have.
const maxWords = 8

var (
	testName = regexp.MustCompile(`(?m)^func (?:Test|Benchmark|Fuzz)([A-Z]\w*)\(`)
	nameWord = regexp.MustCompile(`[A-Z]*[a-z0-9]+|[A-Z]+`) // an abbreviation counts with the word after it
)

func TestTestNamesAreShort(t *testing.T) {
	names := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, found := range testName.FindAllSubmatch(source, -1) {
			names++
			if n := len(nameWord.FindAll(found[1], -1)); n > maxWords {
				t.Errorf("%s: %s has %d words, at most %d are allowed", path, found[1], n, maxWords)
			}
		}
		return nil
	})
	if err != nil || names < 1000 {
		t.Errorf("%d names, %v", names, err)
	}
}
