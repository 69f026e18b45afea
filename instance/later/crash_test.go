package later

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"postern/event"
	"postern/store"
)

// image is the file after a commit, which a kill at any moment until the next one leaves.
type image struct {
	raw     []byte
	arrived int // messages that had arrived by then, at least
}

// TestKillAfterEachCommit runs sends of every kind, and starts the program on the file of
// each commit of the run, as after a kill. Every send that was accepted ends once, and no
// message arrives a second time.
func TestKillAfterEachCommit(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", true)
		var images []image
		r.commit = func() {
			raw, err := os.ReadFile(r.path)
			if err != nil {
				t.Error(err)
			}
			images = append(images, image{raw, len(r.arrivals())})
		}
		r.onSend = func(_ context.Context, out event.Outgoing) error {
			if out.To == "3@s.whatsapp.net" {
				return &event.RefusedError{Code: 400, Cause: errors.New("no")}
			}
			return nil
		}
		named := func(name string) func(*Send) { return func(d *Send) { d.Out.ID = name } }
		forever := within(MaxLateMax)
		r.in(id, time.Hour, named("TEXT"), forever)
		r.in(id, time.Hour, named("FILE"), to("2@s.whatsapp.net"), r.file(1_500_000), forever)
		r.in(id, time.Hour, named("REFUSED"), to("3@s.whatsapp.net"), forever)
		r.in(id, time.Hour, named("LATE"), to("4@s.whatsapp.net"), within(time.Minute), func(d *Send) { d.Out.Delay = 2 * time.Minute })
		deleted := r.in(id, 2*time.Hour, named("DELETED"), r.file(5))
		if err := r.s.Delete(bg, id, deleted, nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour + 5*time.Minute)
		r.commit = nil
		r.wantEmpty()
		if len(images) < 12 {
			t.Errorf("%d commits", len(images))
		}
		for i, img := range images {
			t.Run(fmt.Sprint(i), func(t *testing.T) { startsOn(t, r, id, img) })
		}
	})
}

// startsOn starts the program on a file that a kill left.
func startsOn(t *testing.T, before *rig, of int64, img image) {
	r := &rig{TB: t, path: filepath.Join(t.TempDir(), "l.db"), spool: t.TempDir(), offline: map[int64]bool{}, minFree: 1, onSend: before.onSend}
	if err := os.WriteFile(r.path, img.raw, 0o600); err != nil {
		t.Fatal(err)
	}
	r.open()
	accepted, hadBegun := map[string]string{}, map[string]bool{} // message ids by id
	err := r.store.View(func(tx *store.Tx) error {
		return tx.Scan(sends, store.Range{}, func(k, v []byte) (bool, error) {
			w, err := decode(tx, k, v)
			accepted[w.id.String()], hadBegun[w.id.String()] = w.Out.ID, tx.Has(begun, k)
			return true, err
		})
	})
	if err := errors.Join(err, r.store.Close()); err != nil {
		t.Fatal(err)
	}
	r.boot()
	defer r.stop()
	r.connect(of)
	time.Sleep(3 * time.Hour)
	ends := map[string]int{}
	for _, one := range r.told() {
		ends[one.ScheduledID+one.Metadata.ScheduledID]++
		if began := hadBegun[one.ScheduledID]; began != (one.Error.Code == event.SendResultUnknown) {
			t.Errorf("%s, which had begun: %v, ended with %+v", accepted[one.ScheduledID], began, one)
		}
	}
	for id, message := range accepted {
		if ends[id] != 1 {
			t.Errorf("%s ended %d times", message, ends[id])
		}
	}
	if len(ends) != len(accepted) {
		t.Errorf("%d of %d ended: %v", len(ends), len(accepted), ends)
	}
	times := map[string]int{}
	for _, a := range append(before.arrivals()[:img.arrived:img.arrived], r.arrivals()...) {
		if times[a.id]++; times[a.id] > 1 || a.id == "FILE" && a.file != content(1_500_000) {
			t.Errorf("%s arrived %d times, with %d bytes", a.id, times[a.id], len(a.file))
		}
	}
	r.wantEmpty()
}

// TestMemoryDoesNotGrowWithSends starts on a file with many sends.
func TestMemoryDoesNotGrowWithSends(t *testing.T) {
	const many = 30_000
	inBubble(t, nil, func(r *rig) {
		id := r.instance("a", false)
		at := r.store.Now().Add(time.Hour)
		for first := 0; first < many; first += 5000 {
			err := r.store.Update(bg, func(tx *store.Tx) error {
				for i := range 5000 {
					w := &waiting{instance: id, id: newID(at, at.Add(time.Duration(first+i)*time.Millisecond))}
					w.Out, w.LateMax = event.Outgoing{ID: fmt.Sprint(i), To: "1@s.whatsapp.net", Content: event.Content{Text: &event.TextContent{Text: "hello"}}}, 1000
					if err := errors.Join(store.PutJSON(tx, sends, w.key(), w.record), tx.Put(late, w.deadline(), nil)); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		held := func() uint64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.GC()
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		r.stop()
		before := held()
		r.boot()
		synctest.Wait()
		if grown := int64(held()) - int64(before); r.s.Kept() != many || grown > many*100 {
			t.Errorf("%d sends hold %d bytes", r.s.Kept(), grown)
		}
	})
}
