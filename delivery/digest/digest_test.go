package digest

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"postern/store"
	"postern/store/schema"
)

// rig is a digest of records that are kept in memory.
type rig struct {
	*Digest
	t   *testing.T
	cfg Config
	has map[uint64]Fields
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, has: map[uint64]Fields{}}
	s, err := store.Open(store.Options{
		Path: filepath.Join(t.TempDir(), "d.db"), NoSync: true, MinFree: 1,
		Buckets: []schema.Bucket{bucket("records"), bucket("blocks"), bucket("names"), bucket("keys")},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	r.cfg = Config{
		Store: s, Records: "records", Blocks: "blocks", Names: "names", Keys: "keys",
		Read: func(_ *store.Tx, first, last uint64, fn func(Fields) error) error {
			for id := first; id < last; id++ {
				if f, has := r.has[id]; has {
					if err := fn(f); err != nil {
						return err
					}
				}
			}
			return nil
		},
		Later: func(*store.Tx, uint64, uint64, func(uint64, string) error) error { return nil },
	}
	r.open(false)
	return r
}

func bucket(name string) schema.Bucket {
	return schema.Bucket{Name: name, Owner: "digest", Key: "any", Value: "any"}
}

func (r *rig) open(trusted bool) (found *Inspection, rebuilt int) {
	r.t.Helper()
	var err error
	if r.Digest, found, rebuilt, err = Open(r.cfg, trusted); err != nil {
		r.t.Fatal(err)
	}
	return found, rebuilt
}

func (r *rig) update(fn func(*store.Tx) error) {
	r.t.Helper()
	if err := r.cfg.Store.Update(context.Background(), fn); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) put(all ...Fields) {
	r.t.Helper()
	r.update(func(tx *store.Tx) error {
		for _, f := range all {
			r.has[f.ID] = f
			if err := tx.Put("records", store.Key(f.ID), nil); err != nil {
				return err
			}
			r.Note(tx, f.ID, &f)
		}
		return nil
	})
}

func (r *rig) find(q Query) (ids []uint64) {
	r.t.Helper()
	err := r.cfg.Store.View(func(tx *store.Tx) error {
		m, err := r.Match(tx, q)
		if err != nil {
			return err
		}
		return r.Each(tx, m, All, Quick, func(id uint64) (bool, error) {
			ids = append(ids, id)
			return true, nil
		})
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return ids
}

// TestEveryEventNumberIsFound: the lower six bits of a number and the upper two are stored
// apart.
func TestEveryEventNumberIsFound(t *testing.T) {
	r := newRig(t)
	for event := range 256 {
		r.put(Fields{ID: uint64(event + 1), State: uint8(1 + event%7), Target: uint8(1 + event%3), Event: uint8(event)})
	}
	for event := range 256 {
		only := &EventSet{}
		only[event] = true
		if got := r.find(Query{Events: only}); !slices.Equal(got, []uint64{uint64(event + 1)}) {
			t.Fatalf("event %d finds %v", event, got)
		}
	}
	if n := len(r.find(Query{})); n != 256 {
		t.Errorf("%d of all", n)
	}
}

func TestConditionsOfAQueryHoldTogether(t *testing.T) {
	r := newRig(t)
	made := time.UnixMilli(1_700_000_000_000)
	one := Fields{ID: 70, State: 2, Target: 1, Event: 3, Instance: 9, Made: made, Duration: time.Second, Endpoint: "crm", Chat: "a@s", ChatLID: "b@lid", RequestID: "req"}
	other := one
	other.ID, other.State, other.Target, other.Event, other.Instance, other.Made = 71, 3, 2, 4, 10, made.Add(time.Hour)
	other.Endpoint, other.Chat, other.ChatLID, other.RequestID, other.Duration, other.Marks = "", "", "", "", 0, Replay
	r.put(one, other)
	crm, none := "crm", ""
	for name, q := range map[string]Query{
		"state": {States: SetOf(2, 5)}, "target": {Targets: SetOf(1)}, "instance": {Instance: 9}, "mark": {Without: Replay},
		"endpoint": {Endpoint: &crm}, "to": {To: made}, "slow": {MinDuration: time.Second},
		"chat": {Name: "a@s"}, "lid": {Name: "b@lid"}, "request": {Name: "req"},
	} {
		if got := r.find(q); !slices.Equal(got, []uint64{70}) {
			t.Errorf("%s finds %v", name, got)
		}
	}
	for name, q := range map[string]Query{
		"state": {States: SetOf(3)}, "no endpoint": {Endpoint: &none}, "from": {From: made.Add(1)}, "mark": {With: Replay},
	} {
		if got := r.find(q); !slices.Equal(got, []uint64{71}) {
			t.Errorf("%s finds %v", name, got)
		}
	}
	if got := r.find(Query{States: SetOf(2), Instance: 10}); got != nil {
		t.Errorf("both finds %v", got)
	}
}

// TestOpenRebuildsWhatDoesNotMatch has a row without a record and records without a row.
func TestOpenRebuildsWhatDoesNotMatch(t *testing.T) {
	r := newRig(t)
	r.put(Fields{ID: 1, State: 1, Target: 1}, Fields{ID: 60, State: 2, Target: 1}, Fields{ID: 120, State: 3, Target: 1, Marks: Memory})
	if found, rebuilt := r.open(false); rebuilt != 0 || found.States != [8]uint64{1: 1, 2: 1, 3: 1} || !slices.Equal(found.Memory, []uint64{120}) {
		t.Errorf("%+v, %d blocks", found, rebuilt)
	}
	if found, rebuilt := r.open(true); found != nil || rebuilt != 0 {
		t.Errorf("after a stop: %+v, %d blocks", found, rebuilt)
	}
	r.update(func(tx *store.Tx) error {
		delete(r.has, 60)
		return tx.Delete("records", store.Key(60))
	})
	r.update(func(tx *store.Tx) error {
		return errors.Join(tx.Delete("blocks", store.Key(0)), tx.Delete("blocks", store.Key(2)))
	})
	if found, rebuilt := r.open(false); rebuilt != 3 || found.States != [8]uint64{1: 1, 3: 1} {
		t.Errorf("%+v, %d blocks", found, rebuilt)
	}
	if got := r.find(Query{}); !slices.Equal(got, []uint64{1, 120}) {
		t.Errorf("found %v", got)
	}
}

// TestFurtherNamesFindTheRecord until they are dropped.
func TestFurtherNamesFindTheRecord(t *testing.T) {
	r := newRig(t)
	r.put(Fields{ID: 1, State: 1, Target: 1, RequestID: "first"})
	r.update(func(tx *store.Tx) error { return r.AddName(tx, 1, "second") })
	for _, name := range []string{"first", "second"} {
		if got := r.find(Query{Name: name}); !slices.Equal(got, []uint64{1}) {
			t.Errorf("%s finds %v", name, got)
		}
	}
	r.update(func(tx *store.Tx) error { return r.DropName(tx, 1, "second") })
	if got := r.find(Query{Name: "second"}); got != nil {
		t.Errorf("it finds %v", got)
	}
}
