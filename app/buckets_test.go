package app

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// unchecked are the buckets without Needs, with the reason.
var unchecked = map[string]string{
	"outbox_owner":  "the entries of the owner restore it; removed as an orphan, it would let numbers be given twice",
	"outbox_forget": "its records are keys only, of batches that no longer exist",
	"outbox_gap":    "a gap names entries that no longer exist; a malformed one is skipped",
}

// TestNewBucketIsComplete reports at once what a bucket lacks: the check of its records and
// its description. Whether the deletion of an instance removes them
// is checked by e2e/faults, for all buckets.
func TestNewBucketIsComplete(t *testing.T) {
	drawn := packageComments(t)
	for _, b := range Buckets() {
		if b.Needs == nil && unchecked[b.Name] == "" {
			t.Errorf("%s lacks Needs or Of, in Buckets() of %s: how a record is decoded, what it refers to and to which instance it belongs, see schema.References", b.Name, b.Owner)
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
