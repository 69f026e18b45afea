package bench

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"postern/cli/consumer"
	"postern/e2e/rig"
)

// BenchmarkGrowth asks the same of programs that hold 1, 10 and 100 times as much:
// items, messages, instances, pending deliveries. It reports the median of each request
// in microseconds; one that makes things tells the time of one of them.
func BenchmarkGrowth(b *testing.B) {
	for _, kind := range []struct {
		name string
		base int
		run  func(b *testing.B, n int)
	}{{"items", 1000, growItems}, {"messages", 1000, growMessages}, {"instances", 20, growInstances}, {"pending", 2000, growPending}} {
		for _, times := range []int{1, 10, 100} {
			b.Run(fmt.Sprint(kind.name, "=", times*kind.base), func(b *testing.B) {
				for b.Loop() {
					kind.run(b, times*kind.base)
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// asks reports the median of 300 requests under a name.
func (p process) asks(b *testing.B, name string, by consumer.Credential, method, path string, in any) {
	b.Helper()
	took := make([]time.Duration, 300)
	for i := range took {
		begin := time.Now()
		p.call(b, by, method, path, in)
		took[i] = time.Since(begin)
	}
	b.ReportMetric(float64(percentile(took, 0.5).Microseconds()), "us-"+name)
}

func growItems(b *testing.B, n int) {
	p := serve(b, b.TempDir())
	defer p.end()
	p.instance(b, "i1")
	recipients := make([]string, n)
	for i := range recipients {
		recipients[i] = fmt.Sprintf("49151%08d", i)
	}
	draft := func(recipients []string) map[string]any {
		return map[string]any{
			"name": "bench", "instances": []string{"i1"}, "recipients": recipients, "autoStart": false,
			"message": map[string]any{"type": "text", "payload": map[string]any{"text": "hello"}},
		}
	}
	owner := consumer.Bearer(p.user)
	var made rig.BatchAnswer
	begin := time.Now()
	if err := p.api.Call(b.Context(), owner, http.MethodPost, "/message/batches", draft(recipients), &made); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(time.Since(begin).Nanoseconds())/1000/float64(n), "us-create-an-item")
	path := "/message/batches/" + made.ID.String()
	p.asks(b, "show", owner, http.MethodGet, path, nil)
	p.asks(b, "page", owner, http.MethodGet, path+"/items?limit=100", nil)
	p.asks(b, "find", owner, http.MethodGet, path+"/items?recipient="+recipients[n-1], nil)
	p.asks(b, "list", owner, http.MethodGet, "/message/batches", nil)
	p.asks(b, "create-another", owner, http.MethodPost, "/message/batches", draft(recipients[:1]))
}

func growMessages(b *testing.B, n int) {
	r, chat := withMessages(b, n)
	p, by := process{api: r.api}, consumer.Bearer(r.tokens[0])
	p.asks(b, "page", by, http.MethodPost, "/instance/i1/db/messages", map[string]any{"limit": 100})
	p.asks(b, "chat", by, http.MethodPost, "/instance/i1/db/messages", map[string]any{"limit": 100, "filter": map[string]any{"keyRemoteJid": chat}})
	p.asks(b, "chats", by, http.MethodGet, "/instance/i1/chats", nil)
	p.asks(b, "send", by, http.MethodPost, "/instance/i1/send/text", map[string]any{"number": "4917612900001", "textMessage": map[string]any{"text": "hello"}})
}

// withMessages has an account with n stored messages in ten chats, of which it names one.
func withMessages(b *testing.B, n int) (r *station, chat string) {
	b.Helper()
	const own = "4917612000001"
	r = newStation(b)
	r.pair(b)
	by := consumer.Bearer(r.tokens[0])
	hook := newLiveHook()
	defer hook.server.Close() // nothing comes once it is stored
	r.call(b, by, http.MethodPut, "/instance/i1/webhook", map[string]any{"url": hook.server.URL, "events": map[string]bool{"historySync": true}}, nil)
	r.call(b, by, http.MethodPut, "/instance/i1/settings", map[string]any{"history": map[string]any{"days": 365}}, nil)
	r.network(b, "/sandbox/phones/"+own+"/act", map[string]any{"do": "history-sync", "conversations": 10, "messages": n / 10})
	hook.history.Wait()
	var chats struct {
		Records []struct{ JID string }
	}
	for begin := time.Now(); len(chats.Records) < 10; time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			b.Fatalf("%d chats were stored", len(chats.Records))
		}
		r.call(b, by, http.MethodGet, "/instance/i1/chats", nil, &chats)
	}
	return r, chats.Records[0].JID
}

func growInstances(b *testing.B, n int) {
	p := serve(b, b.TempDir())
	defer p.end()
	var one consumer.Credential
	begin := time.Now()
	for i := range n {
		one = p.instance(b, fmt.Sprint("i", i))
	}
	b.ReportMetric(float64(time.Since(begin).Microseconds())/float64(n), "us-create")
	last := fmt.Sprint("/instance/i", n-1)
	p.asks(b, "show", one, http.MethodGet, last, nil)
	p.asks(b, "status", one, http.MethodGet, last+"/connection/status", nil)
	p.asks(b, "set-webhook", one, http.MethodPut, last+"/webhook", map[string]any{"url": unreachable})
	begin = time.Now()
	const lists = 20
	for range lists {
		p.call(b, p.key, http.MethodGet, "/instance", nil)
	}
	b.ReportMetric(float64(time.Since(begin).Microseconds())/lists/float64(n), "us-list-an-instance")
}

func growPending(b *testing.B, n int) {
	folder := b.TempDir()
	p := startPending(b, folder)
	shop := p.instance(b, "shop")
	p.shop = shop
	p.point(b, 1)
	p.stop()
	fillPending(b, filepath.Join(folder, "p.db"), 1, n)
	p = startPending(b, folder)
	defer p.end()
	const path = "/instance/shop/webhook/deliveries?limit=100&"
	p.asks(b, "page", shop, http.MethodGet, path+"state=PENDING", nil)
	p.asks(b, "chat", shop, http.MethodGet, path+"query=5500000000007@s.whatsapp.net", nil)
	p.asks(b, "set-webhook", shop, http.MethodPut, "/instance/shop/webhook", map[string]any{"url": unreachable, "events": map[string]any{"messagesUpsert": true}})
	p.asks(b, "status", shop, http.MethodGet, "/instance/shop/connection/status", nil)
}
