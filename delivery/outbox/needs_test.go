package outbox

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"postern/store"
)

// outboxFile is a closed file with entries in every state, one of them removed.
func outboxFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p.db")
	s := openTest(t, path)
	emit := func(batch byte) {
		change(t, s, func(tx *store.Tx) error {
			return s.Emit(tx, Emission{Kind: "message.batch.created", Owner: uuid.UUID{1}, Batch: uuid.UUID{2, batch}, Data: struct{}{}})
		})
	}
	for i := range byte(6) {
		emit(i % 2)
	}
	s.SetDelivery(false)
	emit(3)
	change(t, s, func(tx *store.Tx) error { return s.Delivered(tx, 2, 200) })
	change(t, s, func(tx *store.Tx) error { return s.Delivered(tx, 3, 200) })
	change(t, s, func(tx *store.Tx) error { return s.Retry(tx, 4, tx.Now().Add(1e9), 500, "no") })
	change(t, s, func(tx *store.Tx) error {
		_, err := s.Remove(tx, []uint64{2})
		return err
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func faultsOf(t *testing.T, path string) []string {
	t.Helper()
	r, err := store.Check(t.Context(), path, append(Buckets(), thing))
	if err != nil {
		t.Fatal(err)
	}
	return r.Faults
}

// TestCheckTellsEachRecordOfTheOutboxThatIsMissing takes one record after the other
// away. Of most, another one tells; what nobody needs is missed by nobody.
func TestCheckTellsEachRecordOfTheOutboxThatIsMissing(t *testing.T) {
	path := outboxFile(t)
	if faults := faultsOf(t, path); len(faults) > 0 {
		t.Fatalf("of a whole file: %q", faults)
	}
	for _, bucket := range []string{entryRows, stateRows, dueRows, ownerRows, replayRows, batchRows} {
		s := openTest(t, path)
		var keys [][]byte
		err := s.View(func(tx *store.Tx) error {
			return tx.Scan(bucket, store.Range{}, func(k, _ []byte) (bool, error) {
				keys = append(keys, k)
				return true, nil
			})
		})
		if err != nil || len(keys) == 0 {
			t.Fatal(err, bucket)
		}
		for _, k := range keys {
			var value []byte
			change(t, s, func(tx *store.Tx) (err error) {
				value, err = tx.Get(bucket, k)
				return err
			})
			change(t, s, func(tx *store.Tx) error { return tx.Delete(bucket, k) })
			r, err := s.Check(t.Context())
			name := recordName(bucket, k)
			if bucket == stateRows {
				name = recordName(bucket, append([]byte{Pending.prefix()}, k[1:]...)) // what it counts as
				if k[0] == Disabled.prefix() {
					name = recordName(bucket, k)
				}
			}
			if err != nil || len(r.Faults) == 0 || !strings.Contains(fmt.Sprint(r.Faults), name) {
				t.Errorf("without %s: %q, %v", name, r.Faults, err)
			}
			change(t, s, func(tx *store.Tx) error { return tx.Put(bucket, k, value) })
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if faults := faultsOf(t, path); len(faults) > 0 {
		t.Errorf("put back: %q", faults)
	}
}

// recordName is what faults call a record.
func recordName(bucket string, key []byte) string { return fmt.Sprintf("%s/%x", bucket, key) }
