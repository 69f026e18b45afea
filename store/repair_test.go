package store

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// brokenOutbox is a file in which an entry lost its places among what is due and in
// the order of its owner, and its image.
func brokenOutbox(t *testing.T) (path string, image []byte) {
	t.Helper()
	path = outboxFile(t)
	s := openTest(t, path)
	change(t, s, func(tx *Tx) error {
		return errors.Join(tx.Delete(outboxReplay, Key(uuid.UUID{1}, uint64(1))), tx.Delete(outboxEntries, Key(uint64(5))))
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	image, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, image
}

func TestARepairMakesWhatIsMissingAndRemovesOrphans(t *testing.T) {
	path, image := brokenOutbox(t)
	id, err := FileID(path)
	if err != nil || id == "" {
		t.Fatal(id, err)
	}
	done, err := Repair(t.Context(), path, []Bucket{thing}, ".old")
	if err != nil || done.Made != 1 || done.Removed != 4 || done.Kept != path+".old" {
		t.Fatalf("%+v, %v", done, err)
	}
	for _, want := range []string{"made: record outbox_replay/", "removed: record outbox_state/", "removed: record outbox_due/"} {
		if !strings.Contains(strings.Join(done.Told, "\n"), want) {
			t.Errorf("%q does not tell of %q", done.Told, want)
		}
	}
	if kept, err := os.ReadFile(done.Kept); err != nil || !bytes.Equal(kept, image) {
		t.Error("the file that was there is not kept", err)
	}
	if faults := faultsOf(t, path); len(faults) > 0 {
		t.Errorf("%q", faults)
	}
	s := openTest(t, path)
	defer s.Close()
	if s.ID() != id {
		t.Errorf("the ID is %q instead of %q", s.ID(), id)
	}
	change(t, s, func(tx *Tx) error { // no number is given twice
		err := tx.Emit(Emission{Kind: "message.batch.created", Owner: uuid.UUID{1}, Batch: uuid.UUID{9}, Data: struct{}{}})
		if e, found, _ := tx.Outbox(8); !found || e.OwnerSeq != 8 {
			t.Errorf("the next event is %+v, %t", e, found)
		}
		return err
	})
}

// TestARepairThatCannotBeDoneLeavesTheFileAsItIs: interrupted, in a folder that takes no
// file, beside a file of the name of the kept one, under a program.
func TestARepairThatCannotBeDoneLeavesTheFileAsItIs(t *testing.T) {
	ended, end := context.WithCancelCause(t.Context())
	end(errors.New("interrupted"))
	for name, c := range map[string]struct {
		ctx    context.Context
		before func(path string) error
		is     func(error) bool
	}{
		"interrupted": {ended, nil, func(err error) bool { return strings.Contains(err.Error(), "interrupted") }},
		"the name is taken": {
			t.Context(), func(path string) error { return os.WriteFile(path+".old", nil, 0o600) },
			func(err error) bool { return errors.Is(err, fs.ErrExist) },
		},
		"there is none": {t.Context(), os.Remove, func(err error) bool { return errors.Is(err, fs.ErrNotExist) }},
	} {
		path, image := brokenOutbox(t)
		if c.before != nil {
			if err := c.before(path); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Repair(c.ctx, path, []Bucket{thing}, ".old"); err == nil || !c.is(err) {
			t.Errorf("%s: %v", name, err)
		}
		if after, err := os.ReadFile(path); err == nil && !bytes.Equal(after, image) {
			t.Errorf("%s: the file was changed", name)
		}
		if left, _ := filepath.Glob(path + leftoverSuffix + "*"); len(left) > 0 {
			t.Errorf("%s: there is %q", name, left)
		}
	}
	path, _ := brokenOutbox(t)
	s := openTest(t, path)
	defer s.Close()
	if _, err := Repair(t.Context(), path, []Bucket{thing}, ".old"); !errors.Is(err, ErrLocked) {
		t.Errorf("under a program: %v", err)
	}
}

// TestARepairEndsOnRecordsThatContradictEachOther: what can never be right is refused,
// and not written for ever.
func TestARepairEndsOnRecordsThatContradictEachOther(t *testing.T) {
	torn := thing
	torn.Needs = func(*Lookup) Needs {
		return func(key, _ []byte) []Need {
			if key == nil {
				return nil
			}
			return []Need{{Bucket: "thing", Key: []byte("x"), Value: []byte("never right"), Is: func([]byte) bool { return false }, Why: "it cannot be"}}
		}
	}
	path := filepath.Join(t.TempDir(), "p.db")
	s := openTest(t, path)
	change(t, s, func(tx *Tx) error { return tx.Put("thing", []byte("a"), nil) })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Repair(t.Context(), path, []Bucket{torn}, ".old"); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
	onlyFile(t, path)
}
