package pull

import (
	"strings"
	"testing"
	"time"

	"postern/delivery"
	"postern/event"
	"postern/store"
)

// BenchmarkPull reads a hundred thousand events of 1 KiB in pages of a thousand, and acknowledges each, as a share of the
// events per second of a bare scan of the same file.
func BenchmarkPull(b *testing.B) {
	const count = 100_000
	r := newRig(b)
	body := []byte(`{"text":"` + strings.Repeat("x", 1<<10) + `"}`)
	for done := 0; done < count; done += 1000 {
		err := r.store.Update(b.Context(), func(tx *store.Tx) error {
			for range 1000 {
				e := delivery.Event{Kind: event.MessagesUpsert, Instance: shop, Name: "shop", Body: body, ExpiresAt: tx.Steady().Add(time.Hour)}
				if _, err := r.ledger.Emit(tx, e, true, nil); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	var pulled, bare float64
	for b.Loop() {
		if _, err := r.pull(Request{}); err != nil {
			b.Fatal(err)
		}
		if _, err := r.all.Seek(b.Context(), shop, "crm", 0); err != nil {
			b.Fatal(err)
		}
		begun, n := time.Now(), 0
		for n < count {
			p, err := r.pull(Request{})
			if err != nil || len(p.Items) == 0 {
				b.Fatalf("%d events: %v", n, err)
			}
			if _, err := r.all.Ack(b.Context(), shop, "crm", p.Next); err != nil {
				b.Fatal(err)
			}
			n += len(p.Items)
		}
		pulled = count / time.Since(begun).Seconds()
		begun, n = time.Now(), 0
		err := r.store.View(func(tx *store.Tx) error {
			return delivery.EachAfter(tx, shop, 0, func(delivery.Event) bool { n++; return true })
		})
		if err != nil || n != count {
			b.Fatalf("%d events: %v", n, err)
		}
		bare = count / time.Since(begun).Seconds()
	}
	b.ReportMetric(pulled, "events/s")
	b.ReportMetric(pulled/bare, "of-bare-scan")
}
