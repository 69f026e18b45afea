package delivery

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"postern/delivery/outbox"
	"postern/event"
	"postern/store"
)

// former converts what waits in the outbox's lane to schema version 3: a queue in the outbox,
// with records that follow it.
func (r *rig) former(e outbox.Entry) error {
	return r.s.Update(r.t.Context(), func(tx *store.Tx) error {
		old, _, err := Find(tx, e.Record)
		if err != nil {
			return err
		}
		was := old
		was.Lane = BatchLane
		status := []byte(nil)
		if old.Attempts > 0 {
			status = binary.BigEndian.AppendUint32(status, uint32(old.Attempts))
			status = binary.BigEndian.AppendUint16(status, uint16(old.LastStatus))
			status = binary.BigEndian.AppendUint64(status, uint64(old.NextAttemptAt.UnixMilli()))
			status = append(append(status, make([]byte, 8)...), old.LastError...)
		}
		return errors.Join(
			tx.Delete(dues, placeOf(old).dueKey(old.DueAt())),
			r.l.putRecord(tx, was, &old),
			tx.Put("outbox_due", store.Key(uint64(old.DueAt().UnixMilli()), e.Seq), e.Batch[:]),
			tx.Put("outbox_state", store.Key(byte('p'), e.Seq), status),
		)
	})
}

// waiting is what a file states of a pending entry.
type waiting struct {
	Entry    outbox.Entry
	Record   Record
	Due      Due
	Attempts []Attempt
}

func (r *rig) waiting() (all map[uint64]waiting) {
	r.t.Helper()
	all = map[uint64]waiting{}
	r.view(func(tx *store.Tx) error {
		rows, err := DueAfter(tx, OutboxLane, Due{}, 0)
		for _, d := range rows {
			if _, twice := all[d.OutboxSeq]; twice {
				r.t.Errorf("entry %d is due twice", d.OutboxSeq)
			}
			w := waiting{Due: d}
			w.Entry, _, err = outbox.Get(tx, d.OutboxSeq)
			if err == nil {
				w.Entry, err = Queued(tx, w.Entry)
			}
			if err == nil {
				w.Record, _, err = Find(tx, d.Record)
			}
			if err == nil {
				w.Attempts, err = AttemptsOf(tx, w.Record)
			}
			if err != nil {
				return err
			}
			all[d.OutboxSeq] = w
		}
		return err
	})
	return all
}

// formerFile is a file of schema version 3 with entries of two batches in every state, a
// pending event of an instance, a retry and a replay of batch events. It also lists what is
// pending.
func formerFile(t *testing.T) (r *rig, want map[uint64]waiting) {
	t.Helper()
	r = newRig(t, Config{Log: true, GlobalURL: "https://global.example/in"})
	batches := []uuid.UUID{{1}, {2}}
	for i := range 12 {
		r.emitBatch(batches[i%2])
	}
	for seq := range uint64(4) {
		r.settleBatch(seq+1, false, time.Now().Add(time.Duration(seq)*time.Hour))
	}
	r.settleBatch(2, false, time.Now().Add(time.Minute))
	r.settleBatch(6, true, time.Time{})
	r.settleBatch(7, true, time.Time{})
	sixth := r.entry(6)
	r.update(func(tx *store.Tx) error {
		_, _, err := r.l.Retry(tx, sixth.Record)
		return err
	})
	r.emit(ana, hook(event.OrderChat))
	r.box.SetDelivery(false)
	r.emitBatch(batches[0])
	r.box.SetDelivery(true)
	want = r.waiting()
	if len(want) != 10 {
		t.Fatalf("%d wait", len(want))
	}
	for _, w := range want {
		if err := r.former(w.Entry); err != nil {
			t.Fatal(err)
		}
	}
	return r, want
}

// TestTheOutboxOfSchemaVersion3IsTakenOver unchanged, whenever the start that does it is
// killed: the next start can continue from the file after each commit.
func TestTheOutboxOfSchemaVersion3IsTakenOver(t *testing.T) {
	r, want := formerFile(t)
	lanes := r.due(BatchLane)
	if got := r.waiting(); len(got) != 0 {
		t.Fatalf("%d are due before", len(got))
	}
	r.whole("before")
	if err := r.s.Close(); err != nil {
		t.Fatal(err)
	}
	images := r.images(3)
	if len(images) < 4 {
		t.Fatalf("%d commits", len(images))
	}
	for i, image := range images {
		again := &rig{t: t, path: image, cfg: r.cfg}
		again.open()
		again.whole(fmt.Sprint("after the kill at commit ", i))
		if diff := cmp.Diff(want, again.waiting()); diff != "" {
			t.Errorf("after the kill at commit %d: %s", i, diff)
		}
		if got := again.due(BatchLane); !cmp.Equal(got, lanes) {
			t.Errorf("repetitions that wait: %v, want %v", got, lanes)
		}
		if c := again.box.Counts(); c != (outbox.Counts{Pending: 10, Delivered: 2, Disabled: 1}) {
			t.Errorf("counted: %+v", c)
		}
		if err := again.s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// images takes the outbox over, a few entries per commit, and returns copies of the file from
// before and after each commit.
func (r *rig) images(step int) (paths []string) {
	r.t.Helper()
	folder := r.t.TempDir()
	keep := func() {
		raw, err := os.ReadFile(r.path)
		if err != nil {
			r.t.Error(err)
			return
		}
		path := filepath.Join(folder, fmt.Sprint(len(paths), ".db"))
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			r.t.Error(err)
		}
		paths = append(paths, path)
	}
	keep()
	var err error
	if r.s, err = store.Open(store.Options{Path: r.path, Buckets: Buckets(), NoSync: true, MinFree: 1, OnCommit: func(int, time.Duration) { keep() }}); err != nil {
		r.t.Fatal(err)
	}
	if r.box, err = outbox.Open(r.s); err != nil {
		r.t.Fatal(err)
	}
	r.cfg.Outbox = r.box
	l := &Ledger{store: r.s, cfg: r.cfg.withDefaults(), log: r.l.log}
	l.url.Store(&r.cfg.GlobalURL)
	l.kicks = make(chan struct{}, 1)
	r.view(func(tx *store.Tx) error {
		last, err := tx.LastID(records)
		l.ids.Store(last)
		return err
	})
	if err := errors.Join(l.openDigest(), l.adopt(step), r.s.Close()); err != nil {
		r.t.Fatal(err)
	}
	return paths
}

// whole requires that a check of the open file finds nothing.
func (r *rig) whole(when string) {
	r.t.Helper()
	if report, err := r.s.Check(r.t.Context()); err != nil || len(report.Faults) > 0 {
		r.t.Errorf("%s: %q, %v", when, report.Faults, err)
	}
}

// TestEntryOlderThanTheLogGetsARecord, and an entry with a damaged record a new one, with
// the attempts that the outbox counted.
func TestEntryOlderThanTheLogGetsARecord(t *testing.T) {
	r, want := formerFile(t)
	r.update(func(tx *store.Tx) error {
		return errors.Join(
			r.l.dropRecord(tx, want[1].Record), outbox.SetRecord(tx, 1, 0),
			tx.Put(records, store.Key(want[2].Record.ID), []byte{1}),
		)
	})
	r.reopen()
	got := r.waiting()
	if len(got) != len(want) {
		t.Fatalf("%d wait, want %d", len(got), len(want))
	}
	for seq, was := range want {
		is := got[seq]
		if is.Entry.Attempts != was.Entry.Attempts || !is.Due.At.Equal(was.Due.At) || is.Entry.LastError != was.Entry.LastError || is.Record.EventID != was.Record.EventID ||
			(is.Record.ID == was.Record.ID) != (seq > 2) {
			t.Errorf("entry %d: %+v, was %+v", seq, is, was)
		}
	}
}

// TestDamageInSchema3FileCostsNoEntry: a start that finds damaged records of pending
// entries takes the attempts from the outbox, and sends nothing twice.
func TestDamageInSchema3FileCostsNoEntry(t *testing.T) {
	r, want := formerFile(t)
	var patterns [][]byte
	r.view(func(tx *store.Tx) error {
		for _, seq := range []uint64{2, 9} {
			key := store.Key(want[seq].Record.ID)
			raw, err := tx.Get(records, key)
			if err != nil {
				return err
			}
			patterns = append(patterns, sealed(key, raw))
		}
		return nil
	})
	if err := r.s.Close(); err != nil {
		t.Fatal(err)
	}
	spoil(t, r.path, patterns)
	r.open()
	got := r.waiting()
	if len(got) != len(want) {
		t.Fatalf("%d wait, want %d", len(got), len(want))
	}
	for seq, was := range want {
		is := got[seq]
		if is.Entry.Attempts != was.Entry.Attempts || !is.Due.At.Equal(was.Due.At) || is.Record.EventID != was.Record.EventID {
			t.Errorf("entry %d: %+v, was %+v", seq, is, was)
		}
	}
}
