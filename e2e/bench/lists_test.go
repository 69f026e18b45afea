package bench

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"postern/cli/consumer"
)

// BenchmarkLists asks for pages of large lists, alone and beside 200 commits a second,
// each a change of another instance's webhook. It reports the 99th percentile
// of 300 requests, in milliseconds: 100 000 batches of one user, 200 000 pending
// deliveries and 100 000 stored messages.
func BenchmarkLists(b *testing.B) {
	for _, kind := range []struct {
		name string
		run  func(b *testing.B)
	}{{"batches", listBatches}, {"deliveries", listDeliveries}, {"messages", listMessages}} {
		b.Run(kind.name, func(b *testing.B) {
			for b.Loop() {
				kind.run(b)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// list is a request for one page.
type list struct {
	name, method, path string
	in                 any
}

// measure reports how long each list takes alone and beside writers.
func (p process) measure(b *testing.B, by consumer.Credential, lists ...list) {
	b.Helper()
	writer := p.instance(b, "writer")
	for _, beside := range []string{"alone", "beside"} {
		ctx, stop := context.WithCancel(b.Context())
		var writers sync.WaitGroup
		if beside == "beside" {
			p.write(ctx, b, writer, &writers)
		}
		for _, l := range lists {
			took := make([]time.Duration, 300)
			for i := range took {
				begin := time.Now()
				p.call(b, by, l.method, l.path, l.in)
				took[i] = time.Since(begin)
			}
			b.ReportMetric(ms(percentile(took, 0.5)), "ms-"+l.name+"-"+beside)
			b.ReportMetric(ms(percentile(took, 0.99)), "p99-ms-"+l.name+"-"+beside)
		}
		stop()
		writers.Wait()
	}
}

// write changes the webhook of an instance 200 times a second until ctx ends.
func (p process) write(ctx context.Context, b *testing.B, writer consumer.Credential, writers *sync.WaitGroup) {
	b.Helper()
	writers.Go(func() {
		tick := time.NewTicker(time.Second / 200)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				writers.Go(func() {
					err := p.api.Call(ctx, writer, http.MethodPut, "/instance/writer/webhook", map[string]any{"url": fmt.Sprint(unreachable, n)}, nil)
					if err != nil && ctx.Err() == nil {
						b.Error(err)
					}
				})
			}
		}
	})
}

func listBatches(b *testing.B) {
	const many, clients = 100_000, 64
	p := serve(b, b.TempDir(), "MESSAGE_BATCH_MAX_OPEN=200000")
	defer p.end()
	p.instance(b, "shop")
	owner := consumer.Bearer(p.user)
	var group sync.WaitGroup
	for c := range clients {
		group.Go(func() {
			for n := c; n < many; n += clients {
				if err := p.api.Call(b.Context(), owner, http.MethodPost, "/message/batches", map[string]any{
					"name": fmt.Sprint("spring ", n), "instances": []string{"shop"}, "recipients": []string{"4915100000001"}, "autoStart": false,
					"message": map[string]any{"type": "text", "payload": map[string]any{"text": "hello"}},
				}, nil); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	const path = "/message/batches?limit=50"
	p.measure(b, owner,
		list{"page", http.MethodGet, path, nil},
		list{"status", http.MethodGet, path + "&status=DRAFT", nil},
		list{"query-of-none", http.MethodGet, path + "&query=winter", nil},
		list{"query-of-all", http.MethodGet, path + "&query=spring", nil})
}

func listDeliveries(b *testing.B) {
	folder := b.TempDir()
	p := startPending(b, folder)
	p.shop = p.instance(b, "shop")
	p.point(b, 1)
	p.stop()
	fillPending(b, filepath.Join(folder, "p.db"), 1, 200_000)
	shop := p.shop
	p = startPending(b, folder)
	defer p.end()
	const path = "/instance/shop/webhook/deliveries?limit=100"
	p.measure(b, shop,
		list{"page", http.MethodGet, path, nil},
		list{"state", http.MethodGet, path + "&state=PENDING", nil},
		list{"chat", http.MethodGet, path + "&query=5500000000007@s.whatsapp.net", nil},
		list{"none", http.MethodGet, path + "&state=FAILED", nil})
}

func listMessages(b *testing.B) {
	r, chat := withMessages(b, 100_000)
	by := consumer.Bearer(r.tokens[0])
	p := process{api: r.api, key: r.key}
	filter := func(f map[string]any) map[string]any { return map[string]any{"limit": 100, "filter": f} }
	const path = "/instance/i1/db/messages"
	p.measure(b, by,
		list{"page", http.MethodPost, path, map[string]any{"limit": 100}},
		list{"chat", http.MethodPost, path, filter(map[string]any{"keyRemoteJid": chat})},
		list{"type-of-none", http.MethodPost, path, filter(map[string]any{"messageType": "stickerMessage"})},
		list{"chats", http.MethodGet, "/instance/i1/chats", nil},
		list{"search-of-none", http.MethodGet, "/instance/i1/chats/" + chat + "/messages?query=winter", nil})
}
