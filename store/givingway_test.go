package store

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"testing"
	"time"
)

// TestABackupRestsWhileOthersCommit: the backup pauses after each megabyte for as long as
// that took, while it is copied, read and written. Without commits it does not pause.
func TestABackupRestsWhileOthersCommit(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "p.db"))
	change(t, s, func(tx *Tx) error {
		for i := range 4000 {
			if err := tx.Put("thing", Key("filler", i), bytes.Repeat([]byte{byte(i)}, 2000)); err != nil {
				return err
			}
		}
		return nil
	})
	const took = 7 * time.Millisecond
	for _, busy := range []bool{true, false} {
		now, rests := time.Unix(1, 0), 0
		s.watch = watch{
			now: func() time.Time { // the reader looks at its watch: others work meanwhile, and time goes by
				if now = now.Add(took); busy {
					change(t, s, func(tx *Tx) error { return tx.Put("thing", Key("clock"), Key(now.UnixNano())) })
				}
				return now
			},
			sleep: func(d time.Duration) {
				if rests++; d != took {
					t.Errorf("it rests %v after %v of work", d, took)
				}
			},
		}
		n, err := s.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		megabytes := int(n.Size() / giveWay)
		made := rests
		if _, err := n.WriteTo(io.Discard); err != nil {
			t.Error(err)
		}
		written := rests - made
		if err := errors.Join(n.Close()); err != nil {
			t.Error(err)
		}
		// There is no pause after the first megabyte, since it is not known how long that
		// took.
		if least := megabytes - 2; busy && (megabytes < 4 || made < 2*least || written < least) || !busy && rests > 0 {
			t.Errorf("others commit: %v; of %d MB it rested %d times while it was made, and %d while it was written", busy, megabytes, made, written)
		}
	}
}

// TestARestIsShort, however long a slow reader of a backup took.
func TestARestIsShort(t *testing.T) {
	s := &Store{}
	now, slept := time.Unix(1, 0), time.Duration(0)
	s.watch = watch{
		now:   func() time.Time { now = now.Add(time.Hour); s.stats.commits.Add(1); return now },
		sleep: func(d time.Duration) { slept = d },
	}
	g := &givingWay{r: bytes.NewReader(make([]byte, 4*giveWay)), store: s}
	part := make([]byte, giveWay)
	for i := range 4 {
		if _, err := g.ReadAt(part, int64(i)*giveWay); err != nil {
			t.Fatal(err)
		}
	}
	if slept != giveWayMost {
		t.Errorf("it rests %v", slept)
	}
}
