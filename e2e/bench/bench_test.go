package bench

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/app"
	"postern/batch"
	"postern/batch/record"
	"postern/cli/consumer"
	"postern/config"
	"postern/delivery/outbox"
	"postern/e2e/rig"
	"postern/event"
	"postern/httpapi/tokens"
	"postern/store"
)

// The figures of BENCHMARKS.md that concern the whole program.

// BenchmarkStart starts the real program on a file with 100 000 outbox entries
// and 100 000 items and reports the time until it is ready, and the memory
// that an idle program without instances has, on an empty file.
func BenchmarkStart(b *testing.B) {
	full := filepath.Join(b.TempDir(), "full.db")
	fill(b, full, 100_000, 100_000)
	var ready time.Duration
	var rss float64
	runs := 0
	for b.Loop() {
		took, _ := startOnce(b, full)
		_, idle := startOnce(b, filepath.Join(b.TempDir(), "empty.db"))
		ready += took
		rss += idle
		runs++
	}
	b.ReportMetric(float64(ready.Milliseconds())/float64(runs), "ms-to-ready")
	b.ReportMetric(rss/float64(runs), "idle-RSS-MB")
	b.ReportMetric(0, "ns/op")
}

func fill(b *testing.B, path string, entries, items int) {
	b.Helper()
	s, err := store.Open(store.Options{Path: path, Buckets: app.Buckets(), NoSync: true})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	box, err := outbox.Open(s)
	if err != nil {
		b.Fatal(err)
	}
	owner, id := uuid.New(), uuid.New()
	for done := 0; done < entries; {
		err := s.Update(b.Context(), func(tx *store.Tx) error {
			for range 1000 {
				data := event.BatchItemData{BatchID: id.String(), ItemID: uuid.NewString(), Recipient: "4915112345678"}
				if err := box.Emit(tx, outbox.Emission{Kind: event.BatchItemFailed, Owner: owner, Batch: id, Data: data}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		done += 1000
	}
	engine, err := batch.New(batch.Config{Store: s, Outbox: box, Fleet: asleep{}, NewMessageID: uuid.NewString, MaxRecipients: items})
	if err != nil {
		b.Fatal(err)
	}
	recipients := make([]string, items)
	for i := range recipients {
		recipients[i] = fmt.Sprintf("49%010d", i+1)
	}
	later := false
	_, err = engine.Create(b.Context(), owner, batch.CreateRequest{
		Name: "full", Instances: []record.InstanceRef{{ID: 1, Name: "red"}}, Recipients: recipients, AutoStart: &later,
		Message: event.BatchMessage{Type: "text", Payload: []byte(`{"text":"hello"}`)},
	})
	if err != nil {
		b.Fatal(err)
	}
}

// asleep is a fleet without instances.
type asleep struct{}

func (asleep) Instance(int64) (name string, state event.State, ok bool) {
	return "", "", false
}
func (asleep) Gate(batch.Question) batch.Gate { return batch.Gate{} }
func (asleep) Send(context.Context, int64, event.Outgoing) (batch.Receipt, error) {
	return batch.Receipt{}, event.ErrNotConnected
}

// startOnce starts the program and returns how long it took to be ready and
// its resident memory a second later, in MB.
func startOnce(b *testing.B, file string) (ready time.Duration, rss float64) {
	b.Helper()
	begin := time.Now()
	p := serve(b, b.TempDir(), "STORE_PATH="+file, "WEBHOOK_GLOBAL_ENABLED=true", "WEBHOOK_GLOBAL_URL="+unreachable)
	defer p.end()
	ready = time.Since(begin)
	time.Sleep(time.Second) // memory is read at rest
	return ready, residentMB(b, p.pid, "VmRSS:")
}

// residentMB returns what /proc says of a process under that name.
func residentMB(b testing.TB, pid int, name string) float64 {
	b.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Skip("needs /proc")
	}
	for line := range strings.SplitSeq(string(raw), "\n") {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == name {
			kb, _ := strconv.ParseFloat(fields[1], 64)
			return kb / 1024
		}
	}
	return 0
}

// network is a sandbox in a process of its own, so that what is measured here
// is Postern alone.
type network struct {
	control *consumer.Client
	env     map[string]string
	pid     int
	end     func()
}

func startNetwork(b *testing.B) *network {
	b.Helper()
	return startNetworkAt(b, "127.0.0.1:0", "")
}

// startNetworkAt starts one at an address that keeps its accounts in a file, so that
// it can be started again.
func startNetworkAt(b *testing.B, address, file string) *network {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(self, "sandbox", "--listen", address, "--control", "127.0.0.1:0", "--path", file)
	cmd.Env = append(os.Environ(), rig.AsProgram+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	n := &network{env: map[string]string{}, pid: cmd.Process.Pid, end: sync.OnceFunc(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })}
	b.Cleanup(n.end)
	for lines := bufio.NewScanner(out); n.control == nil && lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if name, value, ok := strings.Cut(line, "="); ok && strings.HasPrefix(name, "WHATSAPP_") {
			n.env[name] = value
		}
		if _, rest, ok := strings.Cut(line, "http://"); ok {
			host, _, _ := strings.Cut(rest, "/")
			n.control = consumer.NewClient("http://" + host)
		}
	}
	if n.control == nil {
		b.Fatal("the sandbox printed no address")
	}
	return n
}

// station is Postern on that network, in this process or in one of its own.
type station struct {
	app     *app.App // nil: in a process of its own
	process int      // of that
	api     *consumer.Client
	net     *network
	key     consumer.Credential
	user    string
	tokens  []string
	names   []string
}

func newStation(b *testing.B) *station {
	b.Helper()
	return newStationOn(b, startNetwork(b))
}

func newStationOn(b *testing.B, n *network) *station {
	b.Helper()
	cfg := config.Default()
	cfg.Server.Listen = "127.0.0.1:0"
	cfg.Store.Path = filepath.Join(b.TempDir(), "p.db")
	cfg.Media.AllowPrivate = true
	cfg.WhatsApp.Endpoint, cfg.WhatsApp.EndpointCA, cfg.WhatsApp.EndpointRootKey =
		n.env["WHATSAPP_ENDPOINT"], n.env["WHATSAPP_ENDPOINT_CA"], n.env["WHATSAPP_ENDPOINT_ROOT_KEY"]
	sec := config.NewSecrets()
	a, err := app.Start(b.Context(), cfg, sec, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = a.Stop(context.Background()) })
	user, err := tokens.ForUser([]byte(sec.JWTSecret), uuid.New(), time.Hour, time.Now())
	if err != nil {
		b.Fatal(err)
	}
	return &station{app: a, api: consumer.NewClient(a.URL()), net: n, key: consumer.Key(sec.GlobalAuthToken), user: user}
}

func (r *station) call(b *testing.B, cred consumer.Credential, method, path string, in, out any) {
	b.Helper()
	if err := r.api.Call(b.Context(), cred, method, path, in, out); err != nil {
		b.Fatal(err)
	}
}

// network asks the sandbox to do something.
func (r *station) network(b *testing.B, path string, in any) {
	b.Helper()
	r.net.ask(b, path, in)
}

func (n *network) ask(b *testing.B, path string, in any) {
	b.Helper()
	if err := n.control.Call(b.Context(), consumer.Credential{}, http.MethodPost, path, in, nil); err != nil {
		b.Fatal(err)
	}
}

// pair adds a connected instance.
func (r *station) pair(b *testing.B) {
	b.Helper()
	name := fmt.Sprintf("i%d", len(r.names)+1)
	var created struct{ Auth struct{ Token string } }
	r.call(b, r.key, http.MethodPost, "/instance", map[string]any{"instanceName": name}, &created)
	var connect struct{ Code string }
	r.call(b, consumer.Bearer(created.Auth.Token), http.MethodGet, "/instance/"+name+"/connect", nil, &connect)
	phone := fmt.Sprintf("4917612%06d", len(r.names)+1)
	r.network(b, "/sandbox/phones", map[string]any{"phone": phone})
	r.network(b, "/sandbox/scan", map[string]any{"phone": phone, "code": connect.Code})
	r.names = append(r.names, name)
	r.tokens = append(r.tokens, created.Auth.Token)
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		var status struct{ ConnectionStatus string }
		r.call(b, consumer.Bearer(created.Auth.Token), http.MethodGet, "/instance/"+name+"/connection/status", nil, &status)
		if status.ConnectionStatus == "ONLINE" {
			return
		}
		if time.Now().After(deadline) {
			b.Fatalf("%s is %s", name, status.ConnectionStatus)
		}
	}
}

// BenchmarkInstance reports what one connected instance costs.
func BenchmarkInstance(b *testing.B) {
	const instances = 50
	for b.Loop() {
		r := newStation(b)
		r.pair(b) // what only the first one costs
		before := usedNow(b)
		for range instances {
			r.pair(b)
		}
		after := usedNow(b)
		b.ReportMetric(float64(after.goroutines-before.goroutines)/instances, "goroutines/instance")
		b.ReportMetric((after.heapKB-before.heapKB)/instances, "heap-KB/instance")
		b.ReportMetric((after.rssMB-before.rssMB)*1024/instances, "RSS-KB/instance")
	}
	b.ReportMetric(0, "ns/op")
}

type used struct {
	goroutines    int
	heapKB, rssMB float64
}

func usedNow(b *testing.B) used {
	time.Sleep(500 * time.Millisecond) // what the logins left to do
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return used{runtime.NumGoroutine(), float64(m.HeapAlloc) / 1024, residentMB(b, os.Getpid(), "VmRSS:")}
}

// BenchmarkBatchThroughTheClient reports items per second through the real
// client library, one batch on one instance and eight on eight, to contacts
// that were written to before.
func BenchmarkBatchThroughTheClient(b *testing.B) {
	const items = 400
	for b.Loop() {
		r := newStation(b)
		for range 8 {
			r.pair(b)
		}
		r.batches(b, 8, items) // first contact: keys and device lists
		one := r.batches(b, 1, items)
		eight := r.batches(b, 8, items)
		b.ReportMetric(one, "items/s-1-instance")
		b.ReportMetric(eight, "items/s-8-instances")
	}
	b.ReportMetric(0, "ns/op")
}

// batches runs n batches of that many items, each on its own instance, and
// returns items per second.
func (r *station) batches(b *testing.B, n, items int) float64 {
	b.Helper()
	recipients := make([]string, items)
	for i := range recipients {
		recipients[i] = fmt.Sprintf("4917699%06d", i+1)
	}
	begin := time.Now()
	var made []rig.BatchAnswer
	for i := range n {
		var v rig.BatchAnswer
		r.call(b, consumer.Bearer(r.user), http.MethodPost, "/message/batches", map[string]any{
			"name": "bench", "instances": r.names[i : i+1], "recipients": recipients,
			"message": map[string]any{"type": "text", "payload": map[string]any{"text": "hello"}},
		}, &v)
		made = append(made, v)
	}
	for _, v := range made {
		for v.Status != event.BatchIsCompleted {
			time.Sleep(5 * time.Millisecond)
			r.call(b, consumer.Bearer(r.user), http.MethodGet, "/message/batches/"+v.ID.String(), nil, &v)
			if v.Status == event.BatchIsWithErrors {
				b.Fatalf("batch ended with errors: %+v", v.Counts)
			}
		}
	}
	return float64(n*items) / time.Since(begin).Seconds()
}
