package httpapi

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/batch"
	"postern/event"
	"postern/httpapi/rest"
	"postern/store"
)

// BenchmarkMemoryOfALargeBatch reports the maximum growth of the resident memory of the process while a batch of 100 000 is created
// over HTTP, while it is processed, and while all of it is read. This includes the pages of the data file that the process touched,
// which are also reported separately.
func BenchmarkMemoryOfALargeBatch(b *testing.B) {
	const n = 100_000
	most := map[string]float64{}
	for b.Loop() {
		r := newRigWith(b, store.Options{NoSync: true})
		r.box.SetDelivery(false)
		r.instance("a")
		base := r.listen()
		debug.FreeOSMemory()
		before := residentMB(b, "VmRSS")
		watch := func(name string, fn func()) {
			peak := watchResident(b, "VmRSS")
			fn()
			most[name] = max(most[name], peak()-before)
		}
		file := residentMB(b, "RssFile")
		var v batch.View
		watch("creating", func() { v = r.postLarge(base, n) })
		watch("processing", func() { r.process(v.ID) })
		watch("reading", func() { r.readWhole(base+"/message/batches/"+v.ID.String()+"/processing", n) })
		most["of-the-file"] = max(most["of-the-file"], residentMB(b, "RssFile")-file)
	}
	for name, mb := range most {
		b.ReportMetric(mb, "MB-"+name)
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkLargeCreation reports how long a batch of 100 000 with variables takes to be created over HTTP, and the maximum growth of
// the resident memory meanwhile, with the pages of the data file and without them.
func BenchmarkLargeCreation(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // as that of the program, see TestMain
	const n = 100_000
	const text = `"name":"large","instances":["a"],"autoStart":false,"message":{"type":"text","payload":{"text":"Hello {{name|there}}, {{amount}} are due on {{due|Friday}}."}}`
	values := func(i int) (name, amount, due string) {
		return fmt.Sprint("Ana ", i%977), fmt.Sprint(i%100, ".50"), fmt.Sprint(1+i%28, " May")
	}
	for name, body := range map[string]struct {
		path  string
		write func(w io.Writer) (contentType string)
	}{
		"JSON": {"/message/batches", func(w io.Writer) string {
			fmt.Fprint(w, "{", text, `,"recipients":[`)
			for i := range n {
				name, amount, due := values(i)
				fmt.Fprintf(w, `{"number":"4915%09d","externalId":"c-%d","variables":{"name":%q,"amount":%q,"due":%q}}`, i, i, name, amount, due)
				if i < n-1 {
					fmt.Fprint(w, ",")
				}
			}
			fmt.Fprint(w, "]}")
			return rest.ContentTypeJSON
		}},
		"CSV": {csvPath, func(w io.Writer) string {
			form := multipart.NewWriter(w)
			_ = form.WriteField("batch", "{"+text+"}")
			file, _ := form.CreateFormFile("file", "people.csv")
			fmt.Fprintln(file, "number,externalId,name,amount,due")
			for i := range n {
				name, amount, due := values(i)
				fmt.Fprintf(file, "4915%09d,c-%d,%s,%s,%s\n", i, i, name, amount, due)
			}
			_ = form.Close()
			return form.FormDataContentType()
		}},
	} {
		b.Run(name, func(b *testing.B) {
			var most, own, seconds float64
			for b.Loop() {
				r := newRigWith(b, store.Options{NoSync: true})
				r.instance("a")
				base := r.listen()
				path := filepath.Join(b.TempDir(), "body") // the client takes no memory by it
				f, err := os.Create(path)
				if err != nil {
					b.Fatal(err)
				}
				w := bufio.NewWriter(f)
				kind := body.write(w)
				if err := errors.Join(w.Flush(), f.Close()); err != nil {
					b.Fatal(err)
				}
				if f, err = os.Open(path); err != nil {
					b.Fatal(err)
				}
				debug.FreeOSMemory()
				before, ownBefore := residentMB(b, "VmRSS"), residentMB(b, "RssAnon")
				peak, ownPeak := watchResident(b, "VmRSS"), watchResident(b, "RssAnon")
				begin := time.Now()
				req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, base+body.path, f)
				if err != nil {
					b.Fatal(err)
				}
				req.Header.Set("Authorization", "Bearer "+r.token)
				req.Header.Set("Content-Type", kind)
				res, err := http.DefaultClient.Do(req)
				if err != nil {
					b.Fatal(err)
				}
				if v := decoded[batch.View](b, res); v.Counts.Total != n {
					b.Fatal(v.Counts)
				}
				_ = res.Body.Close()
				seconds = time.Since(begin).Seconds()
				most, own = max(most, peak()-before), max(own, ownPeak()-ownBefore)
			}
			b.ReportMetric(seconds, "s/batch")
			b.ReportMetric(most, "MB-growth")
			b.ReportMetric(own, "MB-without-the-file")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// listen serves the rig's handler on loopback.
func (r *rig) listen() (base string) {
	r.t.Helper()
	l, err := new(net.ListenConfig).Listen(r.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	srv := NewServer(r.h, slog.New(slog.DiscardHandler))
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	r.t.Cleanup(func() {
		_ = srv.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			r.t.Error(err)
		}
	})
	return "http://" + l.Addr().String()
}

func (r *rig) fetch(method, url string, body io.Reader) *http.Response {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, url, body)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+r.token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	return res
}

// postLarge creates a batch whose body is generated while it is sent.
func (r *rig) postLarge(base string, n int) batch.View {
	r.t.Helper()
	read, write := io.Pipe()
	go func() {
		w := bufio.NewWriter(write)
		fmt.Fprint(w, `{"name":"large","instances":["a"],"message":{"type":"text","payload":{"text":"hello"}},"recipients":["+49 151 00000000"`)
		for i := range n - 1 {
			fmt.Fprintf(w, `,"+49 151 %08d"`, i+1)
		}
		fmt.Fprint(w, `]}`)
		_ = write.CloseWithError(w.Flush())
	}()
	res := r.fetch(http.MethodPost, base+"/message/batches", read)
	defer res.Body.Close()
	return decoded[batch.View](r.t, res)
}

// instantFleet sends at once.
type instantFleet struct{ noFleet }

func (instantFleet) Instance(int64) (string, event.State, bool) { return "a", event.Online, true }

func (instantFleet) Send(_ context.Context, _ int64, out event.Outgoing) (batch.Receipt, error) {
	return batch.Receipt{WhatsAppID: out.ID, RecipientJID: out.To}, nil
}

// process runs an engine on the rig's file until the batch is complete.
func (r *rig) process(id uuid.UUID) {
	r.t.Helper()
	r.processBy(instantFleet{}, id)
}

func (r *rig) processBy(fleet batch.Fleet, id uuid.UUID) {
	r.t.Helper()
	e, err := batch.New(batch.Config{Store: r.store, Outbox: r.box, Fleet: fleet, NewMessageID: func() string { return "3EB0C7A1D2E3F4051627" }, Enabled: true})
	if err == nil {
		err = e.Start(r.t.Context())
	}
	if err != nil {
		r.t.Fatal(err)
	}
	for done := false; !done; {
		wake := r.box.Emitted()
		v, err := r.engine.Batch(r.user, id)
		if err != nil {
			r.t.Fatal(err)
		}
		if done = !slices.Contains(batch.Unfinished(), v.Status); !done {
			<-wake
		}
	}
	if err := e.Stop(context.Background()); err != nil {
		r.t.Fatal(err)
	}
}

// readWhole reads the answer record by record and counts the recipients.
func (r *rig) readWhole(url string, want int) {
	r.t.Helper()
	res := r.fetch(http.MethodGet, url, nil)
	defer res.Body.Close()
	dec := json.NewDecoder(res.Body)
	got := 0
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			r.t.Fatal(err)
		}
		if tok == "batchItemId" { // of each item's one attempt
			got++
		}
	}
	if got != want {
		r.t.Errorf("%d attempts of %d were read", got, want)
	}
}

// watchResident samples a line of residentMB until the returned function is called, which returns the maximum.
func watchResident(b *testing.B, line string) (peak func() float64) {
	end, most := make(chan struct{}), make(chan float64)
	go func() {
		m := residentMB(b, line)
		for tick := time.NewTicker(2 * time.Millisecond); ; {
			select {
			case <-tick.C:
				m = max(m, residentMB(b, line))
			case <-end:
				tick.Stop()
				most <- m
				return
			}
		}
	}()
	return func() float64 { close(end); return <-most }
}

// residentMB reads a line of the process's own status in /proc.
func residentMB(b *testing.B, line string) float64 {
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Error(err)
		return 0
	}
	for l := range strings.SplitSeq(string(raw), "\n") {
		if rest, ok := strings.CutPrefix(l, line+":"); ok {
			kb, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb / 1024
		}
	}
	return 0
}
