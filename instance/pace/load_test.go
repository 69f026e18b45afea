package pace

import (
	"path/filepath"
	"testing"
	"time"

	"postern/store"
)

// TestAFileWithoutHeadsKeepsWhatLeft: older files had the head beside the limits, and no head for an
// instance that had sent nothing.
func TestAFileWithoutHeadsKeepsWhatLeft(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "p.db"))
	defer func() { _ = s.Close() }()
	now := clocks(time.Now, nil)()
	var all []departure
	for n := range 70 {
		all = append(all, departure{now.awake - time.Minute + time.Duration(n)*time.Millisecond, uint64(n)})
	}
	former := head{0, 70, 71}.encode(now, nil)
	former = former[:3]
	err := s.Update(t.Context(), func(tx *store.Tx) error {
		for id, limits := range map[int64]Limits{1: {PerHour: number(100)}, 2: {PerHour: number(100)}} {
			if err := store.PutJSON(tx, bucket, limitsKey(id), limits); err != nil {
				return err
			}
		}
		for key, value := range map[string][]byte{
			string(formerHeadKey(1)): former,
			string(chunkKey(1, 0)):   encodeChunk(now, 0, all[:64]),
			string(chunkKey(1, 1)):   encodeChunk(now, 64, all[64:]),
		} {
			if err := tx.Put(bucket, []byte(key), value); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		p, err := Open(t.Context(), Config{Store: s})
		if err != nil {
			t.Fatal(err)
		}
		if one, other := p.Status(1).PerHour.Used, p.Status(2).PerHour.Used; one != 71 || other != 0 {
			t.Errorf("%d and %d are counted, not 71 and none", one, other)
		}
	}
	_ = s.View(func(tx *store.Tx) error {
		if tx.Has(bucket, formerHeadKey(1)) || !tx.Has(heads, headKey(1)) || !tx.Has(heads, headKey(2)) {
			t.Error("the heads are not where they belong")
		}
		return nil
	})
}

// TestKillLeavesOnlyPendingSendsInDoubt, at every step of the head and its chunks.
func TestKillLeavesOnlyPendingSendsInDoubt(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "p.db"))
	defer func() { _ = s.Close() }()
	p := newPacer(t, s, Limits{PerDay: number(5000)})
	for n := range int64(3 * chunk) {
		pass, err := p.Begin(1, "a@s.whatsapp.net", "")
		if err != nil || pass.Leave() != nil {
			t.Fatal(err)
		}
		commit(t, s)
		var used int64
		err = s.View(func(tx *store.Tx) error {
			all := map[int64]*found{}
			if err := tx.Scan(bucket, store.Range{Prefix: store.Key(int64(1))}, func(k, v []byte) (bool, error) { return true, take(tx, all, k, v) }); err != nil {
				return err
			}
			if err := tx.Scan(heads, store.Range{}, func(k, v []byte) (bool, error) { return true, takeHead(tx, all, k, v) }); err != nil {
				return err
			}
			l := newLedger(p, 1)
			l.restore(p.cfg.now(), all[1])
			used = int64(len(l.sent))
			for _, d := range l.sent[:n+1] {
				if d.person != 0 {
					t.Errorf("after %d messages the file has one of an unknown time", n+1)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if used != n+2 {
			t.Errorf("after %d messages, one at a time, %d count", n+1, used)
		}
		pass.End(true)
	}
}
