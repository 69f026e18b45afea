package delivery

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/delivery/outbox"
	"postern/store"
)

// entriesFile is a closed file with entries of the outbox in every state, one of them removed.
func entriesFile(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, Config{Log: true})
	for i := range byte(6) {
		r.emitBatch(uuid.UUID{2, i % 2})
	}
	r.box.SetDelivery(false)
	r.emitBatch(uuid.UUID{2, 3})
	r.settleBatch(2, true, time.Time{})
	r.settleBatch(3, true, time.Time{})
	r.settleBatch(4, false, time.Now().Add(time.Second))
	r.update(func(tx *store.Tx) error {
		_, err := r.box.Remove(tx, []uint64{2})
		return err
	})
	r.whole("as it is")
	return r
}

// name is what faults call a record of the file.
func name(bucket string, key []byte) string { return fmt.Sprintf("%s/%x", bucket, key) }

// TestCheckReportsEachMissingRecordOfTheOutbox removes one record after the other from the
// outbox and its lane. Most are referred to by another record.
func TestCheckReportsEachMissingRecordOfTheOutbox(t *testing.T) {
	r := entriesFile(t)
	for _, bucket := range []string{outbox.EntryBucket, outbox.StateBucket, "outbox_owner", "outbox_replay", "outbox_batch", dues, records} {
		var keys [][]byte
		r.view(func(tx *store.Tx) error {
			return tx.Scan(bucket, store.Range{}, func(k, v []byte) (bool, error) {
				rec, err := decodeRecord(0, v)
				if bucket != records || err == nil && rec.Waits() {
					keys = append(keys, k)
				}
				return true, nil
			})
		})
		if len(keys) == 0 {
			t.Fatal(bucket)
		}
		for _, k := range keys {
			var value []byte
			r.update(func(tx *store.Tx) (err error) {
				value, err = tx.Get(bucket, k)
				return errors.Join(err, tx.Delete(bucket, k))
			})
			report, err := r.s.Check(t.Context())
			missing := name(bucket, k)
			if bucket == outbox.StateBucket && k[0] == 'd' {
				missing = name(bucket, append([]byte{'p'}, k[1:]...)) // what it counts as
			}
			if err != nil || !strings.Contains(fmt.Sprint(report.Faults), missing) {
				t.Errorf("without %s: %q, %v", missing, report.Faults, err)
			}
			r.update(func(tx *store.Tx) error { return tx.Put(bucket, k, value) })
		}
	}
	r.whole("with all of it again")
}

// TestARepairOfTheOutbox makes missing records and removes orphans. An entry without its
// record, or without its place in the lane, is delivered again.
func TestARepairOfTheOutbox(t *testing.T) {
	r := entriesFile(t)
	first, fourth := r.entry(1), r.entry(4)
	r.update(func(tx *store.Tx) error {
		rec, _, err := Find(tx, fourth.Record)
		return errors.Join(
			err,
			tx.Delete("outbox_replay", store.Key(uuid.UUID{1}, uint64(1))),
			tx.Delete(outbox.EntryBucket, store.Key(uint64(5))),
			tx.Delete(records, store.Key(first.Record)),
			tx.Delete(dues, placeOf(rec).dueKey(rec.DueAt())),
		)
	})
	if err := r.s.Close(); err != nil {
		t.Fatal(err)
	}
	image, err := os.ReadFile(r.path)
	if err != nil {
		t.Fatal(err)
	}
	done, err := store.Repair(t.Context(), r.path, Buckets(), ".old")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"made: record outbox_replay/", "made: record delivery/", "made: record delivery_due/", "removed: record outbox_state/"} {
		if !strings.Contains(strings.Join(done.Told, "\n"), want) {
			t.Errorf("%q does not tell of %q", done.Told, want)
		}
	}
	if kept, err := os.ReadFile(done.Kept); err != nil || !bytes.Equal(kept, image) {
		t.Error("the file that was there is not kept", err)
	}
	r.open()
	r.whole("after the repair")
	waits := r.waiting()
	for _, seq := range []uint64{1, 4, 6} {
		if waits[seq].Entry.Seq != seq {
			t.Errorf("entry %d does not wait: %+v", seq, waits)
		}
	}
	if len(waits) != 3 {
		t.Errorf("%d wait", len(waits))
	}
	r.box.SetDelivery(true)
	if e := r.emitBatch(uuid.UUID{9}); e.Seq != 8 || e.OwnerSeq != 8 { // no number is given twice
		t.Errorf("the next event is %+v", e)
	}
}

// TestEntryWithDamagedRecordIsDelivered by a new record.
func TestEntryWithDamagedRecordIsDelivered(t *testing.T) {
	r := entriesFile(t)
	damaged := r.entry(1).Record
	r.update(func(tx *store.Tx) error {
		return tx.Put(records, store.Key(damaged), []byte{1})
	})
	if got, err := r.renewed(1); err != nil || got == 0 {
		t.Fatalf("%d, %v", got, err)
	}
	if w := r.waiting(); len(w) != 4 || w[1].Entry.Seq != 1 {
		t.Errorf("%+v", w)
	}
	r.settleBatch(1, true, time.Time{})
	if e := r.entry(1); e.State != outbox.Delivered {
		t.Errorf("%+v", e)
	}
}

func (r *rig) renewed(seq uint64) (record uint64, err error) {
	e := r.entry(seq)
	err = r.s.Update(r.t.Context(), func(tx *store.Tx) error {
		record, err = r.l.Renew(tx, seq, e.Record)
		return err
	})
	return record, err
}

// TestAStartMakesDamagedRecordsOfEntriesAnew, and their places in the lane: a flipped bit
// loses no pending entry.
func TestAStartMakesDamagedRecordsOfEntriesAnew(t *testing.T) {
	for _, bucket := range []string{records, dues} {
		r := entriesFile(t)
		before := r.waiting()
		var patterns [][]byte
		r.view(func(tx *store.Tx) error {
			return tx.Scan(bucket, store.Range{}, func(k, v []byte) (bool, error) {
				if rec, err := decodeRecord(0, v); bucket == dues || err == nil && rec.Waits() {
					patterns = append(patterns, sealed(k, v))
				}
				return true, nil
			})
		})
		if err := r.s.Close(); err != nil {
			t.Fatal(err)
		}
		spoil(t, r.path, patterns[:2])
		r.open()
		after := r.waiting()
		for seq, was := range before {
			if is := after[seq]; is.Entry.Seq != seq || is.Record.EventID != was.Record.EventID {
				t.Errorf("%s: entry %d waits as %+v", bucket, seq, is)
			}
		}
		for seq := range before {
			r.settleBatch(seq, true, time.Time{})
		}
		if left := r.waiting(); len(left) > 0 || r.box.Counts().Pending != 0 {
			t.Errorf("%s: left %+v, %+v", bucket, left, r.box.Counts())
		}
	}
}
