package app

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"postern/instance"
)

// TestNewBucketIsComplete reports at once what a bucket lacks: the check of its records,
// their owner and its description. Whether the deletion of an instance removes them
// is checked by e2e/faults, for all buckets.
func TestNewBucketIsComplete(t *testing.T) {
	drawn := packageComments(t)
	own := map[string]bool{}
	for _, b := range instance.Buckets() {
		own[b.Name] = true
	}
	for _, b := range Buckets() {
		if b.Needs == nil {
			t.Errorf("%s lacks Needs, in Buckets() of %s: how a record is decoded and what it refers to, see store.References", b.Name, b.Owner)
		}
		if strings.HasPrefix(b.Key, "instance") && b.Of == nil && b.Gone == nil && !own[b.Name] {
			t.Errorf("%s lacks Of, in Buckets() of %s: its records belong to an instance", b.Name, b.Owner)
		}
		if b.Key == "" || b.Value == "" {
			t.Errorf("%s lacks Key or Value, in Buckets() of %s: its encoding in words", b.Name, b.Owner)
		}
		if !regexp.MustCompile(`\b` + b.Name + `\b`).MatchString(drawn) {
			t.Errorf("%s is not drawn in the doc.go of %s", b.Name, b.Owner)
		}
	}
}

// packageComments returns the text of all doc.go files.
func packageComments(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "doc.go" {
			return err
		}
		raw, err := os.ReadFile(path)
		all.Write(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
