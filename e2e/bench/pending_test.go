package bench

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"postern/app"
	"postern/cli/consumer"
	"postern/delivery"
	"postern/event"
	"postern/store"
)

// BenchmarkMillionPending starts the real program on a file with a million pending
// deliveries of durable instance events, to one destination and to ten, which all refuse
// connections, and reports what that costs above the same program without them: the time
// until it is ready, resident memory while the relay works at them, and pages of the log.
func BenchmarkMillionPending(b *testing.B) {
	for _, destinations := range []int{1, 10} {
		b.Run(fmt.Sprint("destinations=", destinations), func(b *testing.B) {
			for b.Loop() {
				folder := b.TempDir()
				p := startPending(b, folder)
				p.shop = p.instance(b, "shop")
				p.point(b, destinations)
				idle := p.memory(b)
				p.stop()
				fillPending(b, filepath.Join(folder, "p.db"), destinations, 1_000_000)
				shop := p.shop
				p = startPending(b, folder)
				p.shop = shop
				b.ReportMetric(float64(p.ready.Milliseconds()), "ms-to-ready") // having read the whole file, as after a kill
				busy := p.memory(b)
				b.ReportMetric(busy.anonMB-idle.anonMB, "MB-above-idle")
				b.ReportMetric(busy.fileMB-idle.fileMB, "MB-of-file-mapped")
				b.ReportMetric(ms(p.pages(b, "state=PENDING&limit=100")), "p99-ms-pending")
				b.ReportMetric(ms(p.pages(b, "target=webhook&limit=100")), "p99-ms-webhook")
				b.ReportMetric(ms(p.pages(b, "query=5500000000007@s.whatsapp.net&limit=100")), "p99-ms-chat")
				p.stop()
				p = startPending(b, folder)
				b.ReportMetric(float64(p.ready.Milliseconds()), "ms-to-ready-after-a-stop")
				p.stop()
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// pending is a program of its own whose destinations are not there.
type pending struct {
	process
	ready time.Duration
	shop  consumer.Credential
}

const unreachable = "http://127.0.0.1:1/"

func startPending(b *testing.B, folder string) *pending {
	b.Helper()
	begin := time.Now()
	p := &pending{process: serve(b, folder, "WEBHOOK_GLOBAL_ENABLED=true", "WEBHOOK_GLOBAL_URL="+unreachable, "WEBHOOK_DURABLE_MAX_BYTES=17179869184")}
	p.ready = time.Since(begin)
	return p
}

// point makes the first of ten destinations: the webhook, the global one, endpoints.
func (p *pending) point(b *testing.B, destinations int) {
	b.Helper()
	flags := map[string]any{"messagesUpsert": true}
	p.call(b, p.shop, http.MethodPut, "/instance/shop/webhook", map[string]any{"enabled": true, "url": unreachable, "events": flags})
	endpoints := []map[string]any{}
	for i := range destinations - 2 {
		endpoints = append(endpoints, map[string]any{"id": fmt.Sprint("e", i), "url": unreachable, "events": flags})
	}
	p.call(b, p.shop, http.MethodPut, "/instance/shop/webhook/options", map[string]any{"durable": true, "order": "chat", "maxAge": "720h", "endpoints": endpoints})
	if destinations > 1 {
		p.call(b, p.key, http.MethodPut, "/webhook/options", map[string]any{"durable": true, "order": "chat", "maxAge": "720h"})
	}
}

func fillPending(b *testing.B, path string, destinations, count int) {
	b.Helper()
	s, err := store.Open(store.Options{Path: path, Buckets: app.Buckets(), NoSync: true})
	if err != nil {
		b.Fatal(err)
	}
	ledger, err := delivery.Open(s, delivery.Config{Log: true})
	if err != nil {
		b.Fatal(err)
	}
	to := []event.Destination{{Target: event.TargetWebhook}, {Target: event.TargetGlobal}}
	for i := range 8 {
		to = append(to, event.Destination{Target: event.TargetEndpoint, Endpoint: fmt.Sprint("e", i)})
	}
	to = to[:destinations]
	for i := range to {
		to[i].URL, to[i].Durable, to[i].Order, to[i].MaxAge = unreachable, true, event.OrderChat, 720*time.Hour
	}
	body := []byte(`{"event":"messages.upsert","data":{"text":"` + strings.Repeat("x", 1000) + `"}}`)
	const each = 2000
	for done := 0; done < count/destinations; done += each {
		err := s.Update(b.Context(), func(tx *store.Tx) error {
			for n := done; n < done+each; n++ {
				e := delivery.Event{
					Kind: event.MessagesUpsert, Instance: 1, Name: "shop", OwnerJID: "5511999990000@s.whatsapp.net", Body: body,
					About: event.About{Chat: fmt.Sprintf("55%011d@s.whatsapp.net", n%5000)},
				}
				if _, err := ledger.Emit(tx, e, true, to); err != nil {
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
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil { // else the first commit would write it all
		b.Fatal(err)
	}
}

// resident is what a process holds of memory.
type resident struct{ anonMB, fileMB float64 }

// memory returns the most of what is held in ten seconds.
func (p *pending) memory(b *testing.B) (most resident) {
	b.Helper()
	for range 100 {
		most.anonMB = max(most.anonMB, residentMB(b, p.pid, "RssAnon:"))
		most.fileMB = max(most.fileMB, residentMB(b, p.pid, "RssFile:"))
		time.Sleep(100 * time.Millisecond)
	}
	return most
}

// pages returns the 99th percentile of 200 requests for a page of the log.
func (p *pending) pages(b *testing.B, query string) time.Duration {
	b.Helper()
	var took []time.Duration
	for range 200 {
		begin := time.Now()
		p.call(b, p.shop, http.MethodGet, "/instance/shop/webhook/deliveries?"+query, nil)
		took = append(took, time.Since(begin))
	}
	return percentile(took, 0.99)
}

func percentile(all []time.Duration, p float64) time.Duration {
	slices.Sort(all)
	return all[min(len(all)-1, int(p*float64(len(all))))]
}
