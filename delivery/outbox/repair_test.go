package outbox

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"

	"postern/store"
)

// brokenOutbox is a file in which an entry lost its places among what is due and in
// the order of its owner, and its image.
func brokenOutbox(t *testing.T) (path string, image []byte) {
	t.Helper()
	path = outboxFile(t)
	s := openTest(t, path)
	change(t, s, func(tx *store.Tx) error {
		return errors.Join(tx.Delete(replayRows, store.Key(uuid.UUID{1}, uint64(1))), tx.Delete(entryRows, store.Key(uint64(5))))
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
	id, err := store.FileID(path)
	if err != nil || id == "" {
		t.Fatal(id, err)
	}
	done, err := store.Repair(t.Context(), path, append(Buckets(), thing), ".old")
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
	change(t, s, func(tx *store.Tx) error { // no number is given twice
		err := s.Emit(tx, Emission{Kind: "message.batch.created", Owner: uuid.UUID{1}, Batch: uuid.UUID{9}, Data: struct{}{}})
		if e, found, _ := Get(tx, 8); !found || e.OwnerSeq != 8 {
			t.Errorf("the next event is %+v, %t", e, found)
		}
		return err
	})
}
