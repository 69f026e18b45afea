package store

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// outboxFile is a closed file with entries in every state, one of them removed.
func outboxFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p.db")
	s := openTest(t, path)
	emit := func(batch byte) {
		change(t, s, func(tx *Tx) error {
			return tx.Emit(Emission{Kind: "message.batch.created", Owner: uuid.UUID{1}, Batch: uuid.UUID{2, batch}, Data: struct{}{}})
		})
	}
	for i := range byte(6) {
		emit(i % 2)
	}
	s.SetOutboxDelivery(false)
	emit(3)
	change(t, s, func(tx *Tx) error { return tx.OutboxDelivered(2, 200) })
	change(t, s, func(tx *Tx) error { return tx.OutboxDelivered(3, 200) })
	change(t, s, func(tx *Tx) error { return tx.OutboxRetry(4, tx.Now().Add(1e9), 500, "no") })
	change(t, s, func(tx *Tx) error {
		_, err := tx.OutboxRemove([]uint64{2})
		return err
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func faultsOf(t *testing.T, path string) []string {
	t.Helper()
	r, err := Check(t.Context(), path, []Bucket{thing})
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
	for _, bucket := range []string{outboxEntries, outboxStates, outboxDue, outboxOwner, outboxReplay, outboxBatch} {
		s := openTest(t, path)
		var keys [][]byte
		err := s.View(func(tx *Tx) error {
			return tx.Scan(bucket, Range{}, func(k, _ []byte) (bool, error) {
				keys = append(keys, k)
				return true, nil
			})
		})
		if err != nil || len(keys) == 0 {
			t.Fatal(err, bucket)
		}
		for _, k := range keys {
			var value []byte
			change(t, s, func(tx *Tx) (err error) {
				value, err = tx.Get(bucket, k)
				return err
			})
			change(t, s, func(tx *Tx) error { return tx.Delete(bucket, k) })
			r, err := s.Check(t.Context())
			name := recordName(bucket, k)
			if bucket == outboxStates {
				name = recordName(bucket, append([]byte{OutboxPending.prefix()}, k[1:]...)) // what it counts as
				if k[0] == OutboxDisabled.prefix() {
					name = recordName(bucket, k)
				}
			}
			if err != nil || len(r.Faults) == 0 || !strings.Contains(fmt.Sprint(r.Faults), name) {
				t.Errorf("without %s: %q, %v", name, r.Faults, err)
			}
			change(t, s, func(tx *Tx) error { return tx.Put(bucket, k, value) })
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if faults := faultsOf(t, path); len(faults) > 0 {
		t.Errorf("put back: %q", faults)
	}
}

// TestCheckTellsWhatManyNeedOnce: where one record is missing on which many depend, and
// where all of a bucket is.
func TestCheckTellsWhatManyNeedOnce(t *testing.T) {
	many := thing
	many.Needs = func(*Lookup) Needs {
		return func(key, value []byte) []Need {
			if key == nil {
				return nil
			}
			if string(value) == "all" {
				return []Need{{Bucket: "thing", Key: []byte("lost"), Value: []byte{}, Why: "all need it"}}
			}
			return []Need{{Bucket: "thing", Key: append([]byte("of "), key...), Why: "it is alone"}}
		}
	}
	path := filepath.Join(t.TempDir(), "p.db")
	s, err := Open(Options{Path: path, Buckets: []Bucket{many}, NoSync: true, MinFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	change(t, s, func(tx *Tx) (err error) {
		for i := range 3 * maxLacksTold {
			if i%3 == 0 {
				err = tx.Put("thing", Key(i), []byte("all"))
			} else {
				err = tx.Put("thing", Key(i), []byte("one"))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := Check(t.Context(), path, []Bucket{many})
	if err != nil || len(r.Faults) != maxLacksTold+1 {
		t.Fatalf("%d faults, %v", len(r.Faults), err)
	}
	once := slices.DeleteFunc(slices.Clone(r.Faults), func(f string) bool { return !strings.Contains(f, "all need it") })
	if len(once) != 1 || r.Faults[maxLacksTold] != fmt.Sprintf("and %d more of the kind", maxLacksTold+1) {
		t.Errorf("%q, %q", once, r.Faults[maxLacksTold])
	}
}
