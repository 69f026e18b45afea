package messages

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"postern/event"
	"postern/store"
)

// BenchmarkCheck holds the messages of an instance against their indexes, a million
// records in all.
func BenchmarkCheck(b *testing.B) {
	path := filepath.Join(b.TempDir(), "p.db")
	s, err := store.Open(store.Options{Path: path, Buckets: buckets(), NoSync: true, MinFree: 1})
	if err != nil {
		b.Fatal(err)
	}
	a := &Archive{cfg: Config{Owner: there}}
	const messages, step = 333_000, 3_000
	for from := 0; from < messages; from += step {
		err := s.Update(b.Context(), func(tx *store.Tx) error {
			if from == 0 {
				if err := tx.Put(instances, store.Key(1), nil); err != nil {
					return err
				}
				if err := tx.Put(chatNamesBucket, indexed(), nil); err != nil {
					return err
				}
			}
			for n := from; n < from+step; n++ {
				chat := fmt.Sprintf("%d@s.whatsapp.net", n%5000)
				m := event.Message{KeyID: fmt.Sprintf("%016X", n*2654435761), KeyRemoteJID: &chat, MessageType: "conversation", Content: json.RawMessage(`{"text":"` + fmt.Sprintf("%0100d", n) + `"}`)}
				if _, err := a.StoreMessage(tx, 1, &m); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	var took time.Duration
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b.Loop() {
		begun := time.Now()
		report, err := store.Check(b.Context(), path, buckets())
		took += time.Since(begun)
		if err != nil || len(report.Faults) > 0 || report.Records < 3*messages {
			b.Fatal(report, err)
		}
	}
	runtime.ReadMemStats(&after)
	b.ReportMetric(took.Seconds()/float64(b.N), "s/check")
	b.ReportMetric(float64(after.HeapSys)/(1<<20), "MiB-heap")
	b.ReportMetric(0, "ns/op")
}
