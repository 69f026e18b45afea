package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
)

func TestRowsCountsTheRecordsOfABucket(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "r.db"))
	for i := range 3 {
		put(t, s, fmt.Sprint(i), "x")
	}
	if n, err := s.Rows("thing"); n != 3 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := s.Rows("nothing"); !errors.Is(err, ErrUnknownBucket) {
		t.Errorf("an unknown bucket: %v", err)
	}
}
