package store

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestStatsTellTheTimeOfWritingAndTheFreePages(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "r.db"))
	put(t, s, "large", strings.Repeat("x", 100*s.Stats().PageSize))
	before := s.Stats()
	put(t, s, "large", "small")
	after := s.Stats()
	if after.FreePages < before.FreePages+100 {
		t.Errorf("%d free pages after 100 were given back, %d before", after.FreePages, before.FreePages)
	}
	if after.WriteTime <= before.WriteTime || before.WriteTime <= 0 {
		t.Errorf("%v were spent writing, %v before", after.WriteTime, before.WriteTime)
	}
}
