package store

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnreadableRecordIsNotWritten: raw JSON that is just readable by itself
// is one level deeper inside its record.
func TestUnreadableRecordIsNotWritten(t *testing.T) {
	type record struct{ Raw json.RawMessage }
	s := openTest(t, filepath.Join(t.TempDir(), "t.db"))
	for levels, want := range map[int]error{9_999: nil, 10_000: ErrUnreadable} {
		raw := json.RawMessage(strings.Repeat("[", levels) + strings.Repeat("]", levels))
		err := s.Update(t.Context(), func(tx *Tx) error { return PutJSON(tx, "thing", Key(levels), record{raw}) })
		if !errors.Is(err, want) {
			t.Errorf("%d levels: %v, want %v", levels, err, want)
		}
		err = s.View(func(tx *Tx) error {
			_, found, err := GetJSON[record](tx, "thing", Key(levels))
			if found != (want == nil) {
				t.Errorf("%d levels: found %v", levels, found)
			}
			return err
		})
		if err != nil {
			t.Errorf("%d levels: %v", levels, err)
		}
	}
}
