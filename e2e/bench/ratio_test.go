package bench

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"postern/store"
	"postern/whatsapp/device"
)

// way is one way to send texts. Ways take turns in one run, on one network, so that
// what they are checked against had the same machine.
type way struct {
	name    string
	send    func(ctx context.Context, caller int, to string) error
	cpu     func() time.Duration // processor time of what sends, so far; nil: not reported
	commits func() float64       // of its store, so far; nil: none
	others  func() time.Duration // processor time of the network and of those who call; nil: not reported

	callers int             // 0: as many as the benchmark has
	whole   func(texts int) // sends all of a round by itself; nil: send does
}

// figure is one round of a way.
type figure struct{ perSecond, cpu, others, commits float64 }

// hold sends rounds of texts to that many contacts by each way in turn, and reports the medians, and of
// the first way how it stands to each of the others.
func hold(b *testing.B, callers, contacts, texts int, ways []way) {
	b.Helper()
	const rounds = 5
	all := make([][]figure, len(ways))
	for range 2 { // the first goes to strangers; the second to sessions without an answer
		for _, w := range ways {
			w.round(b, callers, contacts, contacts)
		}
	}
	for n := range rounds {
		for i := range ways {
			i = (i + n) % len(ways)
			all[i] = append(all[i], ways[i].round(b, callers, contacts, texts))
		}
	}
	for i, w := range ways {
		rate := spread(all[i], func(f figure) float64 { return f.perSecond })
		b.ReportMetric(rate[1], w.name+"-texts/s")
		line := fmt.Sprintf("%s: %.0f texts/s (%.0f to %.0f)", w.name, rate[1], rate[0], rate[2])
		if i > 0 {
			ratios := make([]figure, rounds)
			for n := range rounds {
				ratios[n].perSecond = all[0][n].perSecond / all[i][n].perSecond
			}
			ratio := spread(ratios, func(f figure) float64 { return f.perSecond })
			b.ReportMetric(ratio[1], "x-"+w.name)
			line += fmt.Sprintf(", %s is %.2f of it (%.2f to %.2f)", ways[0].name, ratio[1], ratio[0], ratio[2])
		}
		if w.cpu != nil {
			cpu := spread(all[i], func(f figure) float64 { return f.cpu })
			b.ReportMetric(cpu[1], w.name+"-cpu-ms/text")
			line += fmt.Sprintf(", %.3f ms of processor each (%.3f to %.3f)", cpu[1], cpu[0], cpu[2])
		}
		if w.others != nil {
			others := spread(all[i], func(f figure) float64 { return f.others })
			b.ReportMetric(others[1], w.name+"-others-cpu-ms/text")
			line += fmt.Sprintf(" and %.3f ms of the others (%.3f to %.3f)", others[1], others[0], others[2])
		}
		if w.commits != nil {
			commits := spread(all[i], func(f figure) float64 { return f.commits })
			b.ReportMetric(commits[1], w.name+"-commits/text")
			line += fmt.Sprintf(", %.2f commits each (%.2f to %.2f)", commits[1], commits[0], commits[2])
		}
		b.Log(line)
	}
	b.ReportMetric(0, "ns/op")
}

// spread returns the least, the median and the most of the reports of rounds.
func spread(all []figure, of func(figure) float64) [3]float64 {
	var v []float64
	for _, f := range all {
		v = append(v, of(f))
	}
	slices.Sort(v)
	return [3]float64{v[0], v[len(v)/2], v[len(v)-1]}
}

// round sends that many texts by as many callers.
func (w way) round(b *testing.B, callers, contacts, texts int) (f figure) {
	b.Helper()
	var cpu, others time.Duration
	var commits float64
	if w.cpu != nil {
		cpu = w.cpu()
	}
	if w.others != nil {
		others = w.others()
	}
	if w.commits != nil {
		commits = w.commits()
	}
	begin := time.Now()
	if w.whole != nil {
		w.whole(texts)
	} else {
		w.share(b, max(callers, w.callers), contacts, texts)
	}
	n := float64(texts)
	f.perSecond = n / time.Since(begin).Seconds()
	time.Sleep(200 * time.Millisecond) // the last receipts come in, and are this way's
	if w.cpu != nil {
		f.cpu = (w.cpu() - cpu).Seconds() * 1e3 / n
	}
	if w.others != nil {
		f.others = (w.others() - others).Seconds() * 1e3 / n
	}
	if w.commits != nil {
		f.commits = (w.commits() - commits) / n
	}
	return f
}

// share has that many callers send texts.
func (w way) share(b *testing.B, callers, contacts, texts int) {
	b.Helper()
	var wait sync.WaitGroup
	for c := range callers {
		wait.Go(func() {
			for n := c; n < texts; n += callers {
				if err := w.send(context.Background(), c, fmt.Sprintf("4917699%06d", n%contacts+1)); err != nil {
					b.Errorf("%s: %v", w.name, err)
					return
				}
			}
		})
	}
	wait.Wait()
}

// bareClients are clients of the library alone, on devices that make returns.
func bareClients(b *testing.B, n *network, name string, clients, phones int, make func(int) *wastore.Device) way {
	b.Helper()
	all := []*whatsmeow.Client{}
	for i := range clients {
		all = append(all, bareClient(b, n, fmt.Sprintf("4917%d%07d", phones, i+1), make(i)))
	}
	return way{name: name, cpu: ownProcessor(b), others: func() time.Duration { return processorOf(b, n.pid) }, send: func(ctx context.Context, caller int, to string) error {
		_, err := all[caller%clients].SendMessage(ctx, types.NewJID(to, types.DefaultUserServer), &waE2E.Message{Conversation: new("hello")})
		return err
	}}
}

// onFile makes devices of the program's own store, on a file of their own. The library
// uses it as any other: each write is a commit.
func onFile(b *testing.B) (make func(int) *wastore.Device, commits func() float64) {
	b.Helper()
	s, err := store.Open(store.Options{Path: filepath.Join(b.TempDir(), "bare.db"), Buckets: device.Buckets()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	c, err := device.Open(s, nil)
	if err != nil {
		b.Fatal(err)
	}
	return func(i int) *wastore.Device { return c.New(int64(i + 1)) }, func() float64 { return float64(s.Stats().Commits) }
}

// bareClient pairs a client of the library with a phone, and connects it.
func bareClient(b *testing.B, n *network, phone string, d *wastore.Device) *whatsmeow.Client {
	b.Helper()
	root, err := hex.DecodeString(n.env["WHATSAPP_ENDPOINT_ROOT_KEY"])
	if err != nil || len(root) != 32 {
		b.Fatalf("the network's key: %x, %v", root, err)
	}
	if whatsmeow.WACertPubKey != [32]byte(root) {
		whatsmeow.WACertPubKey = [32]byte(root)
	}
	c := whatsmeow.NewClient(d, nil)
	h := n.client(b)
	c.SetWebsocketHTTPClient(h)
	c.SetPreLoginHTTPClient(h)
	codes, online := make(chan string, 1), make(chan struct{})
	var once sync.Once
	c.AddEventHandler(func(e any) {
		switch e := e.(type) {
		case *events.QR:
			codes <- e.Codes[0]
		case *events.Connected:
			once.Do(func() { close(online) })
		}
	})
	b.Cleanup(c.Disconnect)
	if err := c.Connect(); err != nil {
		b.Fatal(err)
	}
	n.ask(b, "/sandbox/phones", map[string]any{"phone": phone})
	n.ask(b, "/sandbox/scan", map[string]any{"phone": phone, "code": <-codes})
	select {
	case <-online:
	case <-time.After(30 * time.Second):
		b.Fatal("the bare client did not come online")
	}
	return c
}

// client speaks HTTP and WebSocket with the network only.
func (n *network) client(b *testing.B) *http.Client {
	b.Helper()
	ca, err := os.ReadFile(n.env["WHATSAPP_ENDPOINT_CA"])
	if err != nil {
		b.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		b.Fatal("the network's CA is not PEM")
	}
	address, _, _ := strings.Cut(strings.TrimPrefix(n.env["WHATSAPP_ENDPOINT"], "wss://"), "/")
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		},
	}
	b.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}
