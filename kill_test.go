package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/event"
	"postern/httpapi"
	"postern/sandbox"
	"postern/sandbox/handset"
	"postern/store"
)

// asProgram makes the test binary behave as the postern binary, so that tests
// can start, signal and kill the real program.
const asProgram = "POSTERN_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "1" {
		trapWhenRecorded()
		main()
	}
	handset.SetLogger(slog.New(slog.DiscardHandler)) // the sandboxes of the tests
	if job := os.Getenv(asFlipper); job != "" {
		if err := flipper(job); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// world is everything around one Postern process: a sandbox and a receiver
// that live on when the process is killed.
type world struct {
	t       *testing.T
	folder  string
	sandbox *sandbox.Server
	hook    *httptest.Server
	sec     secrets
	user    string
	owner   uuid.UUID

	cmd    *exec.Cmd
	wait   func() error // for the end of cmd; any number of times
	output *lockedBuffer
	api    *apiClient

	mu     sync.Mutex
	bodies map[string]int // received webhooks by body
	kinds  map[string]int // and by event
	log    []received     // all of them, when keep is set
	keep   bool
	env    []string // more variables of the program

	prepare func(*exec.Cmd) // changes how the program is started; nil: nothing
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, folder: t.TempDir(), sec: secrets{randomHex(), randomHex()}, owner: uuid.New(), bodies: map[string]int{}, kinds: map[string]int{}}
	var err error
	if w.sandbox, err = sandbox.Open(sandbox.Config{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.sandbox.Close() })
	w.hook = httptest.NewServer(receiver(http.StatusOK, w.got))
	t.Cleanup(w.hook.Close)
	if w.user, err = httpapi.MintUserToken([]byte(w.sec.JWTSecret), w.owner, time.Hour, time.Now()); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) got(r received) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bodies[string(r.body)]++
	w.kinds[r.event]++
	if w.keep {
		w.log = append(w.log, r)
	}
}

func (w *world) seen(kind string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.kinds[kind]
}

func (w *world) dataFile() string { return filepath.Join(w.folder, "data", "postern.db") }

// start starts the program and waits until it is ready.
func (w *world) start() {
	w.t.Helper()
	addr := freeAddress(w.t)
	w.output = &lockedBuffer{}
	w.launch(addr)
	w.api = newAPIClient("http://" + addr)
	w.api.http.Transport = witnessed(w.t)
	w.await("ready", func() bool {
		return w.api.call(w.t.Context(), credential{}, http.MethodGet, "/ready", nil, nil) == nil
	})
}

// launch starts the program at addr and does not wait for it.
func (w *world) launch(addr string) {
	w.t.Helper()
	endpoint := w.sandbox.Endpoint()
	ca := filepath.Join(w.folder, "ca.pem")
	if err := os.WriteFile(ca, endpoint.CA, 0o600); err != nil {
		w.t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.Command(self, "serve")
	cmd.Dir = w.folder
	cmd.Stdout, cmd.Stderr = w.output, w.output
	cmd.Env = append(os.Environ(), asProgram+"=1",
		"SERVER_LISTEN="+addr, "STORE_PATH="+w.dataFile(),
		"AUTHENTICATION_GLOBAL_AUTH_TOKEN="+w.sec.GlobalAuthToken, "AUTHENTICATION_JWT_SECRET="+w.sec.JWTSecret,
		"WEBHOOK_GLOBAL_URL="+w.hook.URL, "WEBHOOK_GLOBAL_ENABLED=true",
		"WHATSAPP_ENDPOINT="+endpoint.URL, "WHATSAPP_ENDPOINT_CA="+ca, "WHATSAPP_ENDPOINT_ROOT_KEY="+fmt.Sprintf("%x", endpoint.RootKey[:]),
		"WHATSAPP_RECONNECT_INITIAL_DELAY=1",
	)
	cmd.Env = append(cmd.Env, w.env...)
	if w.prepare != nil {
		w.prepare(cmd)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	wait := sync.OnceValue(cmd.Wait)
	w.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = wait() })
	w.cmd, w.wait = cmd, wait
}

func freeAddress(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(nil)
	defer s.Close()
	return strings.TrimPrefix(s.URL, "http://")
}

// kill ends the program between any two instructions.
func (w *world) kill() {
	_ = w.cmd.Process.Signal(syscall.SIGKILL)
	_ = w.wait()
}

// stop ends the program in order and fails the test when it does not.
func (w *world) stop() {
	w.t.Helper()
	_ = w.cmd.Process.Signal(syscall.SIGTERM)
	if err := w.wait(); err != nil {
		w.t.Errorf("stop: %v\n%s", err, w.output)
	}
}

// await polls until ok, with patience for slow machines.
func (w *world) await(what string, ok func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.kill()
			w.t.Fatalf("%s: not within a minute; the program said:\n%s", what, w.output)
		}
	}
}

func (w *world) call(cred credential, method, path string, in, out any) {
	w.t.Helper()
	if err := w.api.call(w.t.Context(), cred, method, path, in, out); err != nil {
		w.kill()
		w.t.Fatalf("%v; the program said:\n%s", err, w.output)
	}
}

// pair creates an instance and lets a new phone scan its code.
func (w *world) pair(name string) (token string) {
	w.t.Helper()
	var created struct{ Auth struct{ Token string } }
	w.call(apiKey(w.sec.GlobalAuthToken), http.MethodPost, "/instance", map[string]any{"instanceName": name}, &created)
	token = created.Auth.Token
	var connect struct{ Code string }
	w.call(bearer(token), http.MethodGet, "/instance/"+name+"/connect", nil, &connect)
	if _, err := w.sandbox.AutoScan(connect.Code); err != nil {
		w.t.Fatal(err)
	}
	w.awaitOnline(name, token)
	return token
}

func (w *world) awaitOnline(name, token string) {
	w.t.Helper()
	w.await(name+" online", func() bool {
		var status struct{ ConnectionStatus string }
		err := w.api.call(w.t.Context(), bearer(token), http.MethodGet, "/instance/"+name+"/connection/status", nil, &status)
		return err == nil && status.ConnectionStatus == "ONLINE"
	})
}

type batchAnswer struct {
	ID     uuid.UUID
	Status event.BatchStatus
	Counts event.BatchCounts
}

func (w *world) createBatch(name string, instances, recipients []string) batchAnswer {
	w.t.Helper()
	return w.createBatchWith(name, instances, recipients, "for "+name)
}

func (w *world) createBatchWith(name string, instances, recipients []string, text string) batchAnswer {
	w.t.Helper()
	var b batchAnswer
	w.call(bearer(w.user), http.MethodPost, "/message/batches", map[string]any{
		"name": name, "instances": instances, "recipients": recipients,
		"message": map[string]any{"type": "text", "payload": map[string]any{"text": text}},
	}, &b)
	return b
}

func (w *world) batch(id uuid.UUID) batchAnswer {
	w.t.Helper()
	var b batchAnswer
	w.call(bearer(w.user), http.MethodGet, "/message/batches/"+id.String(), nil, &b)
	return b
}

type itemAnswer struct {
	ID                  string
	Status              string
	NormalizedRecipient string
}

func (w *world) items(id uuid.UUID) []itemAnswer {
	w.t.Helper()
	return pages[itemAnswer](w, w.user, "/message/batches/"+id.String()+"/items")
}

// pages reads a list to its end.
func pages[T any](w *world, token, path string) (all []T) {
	w.t.Helper()
	for cursor := ""; ; {
		var page struct {
			NextCursor *string
			Records    []T
		}
		w.call(bearer(token), http.MethodGet, path+"?limit=200"+cursor, nil, &page)
		all = append(all, page.Records...)
		if page.NextCursor == nil {
			return all
		}
		cursor = "&nextCursor=" + *page.NextCursor
	}
}

// checkItems compares the items' results with what the phones decrypted.
func (w *world) checkItems(id uuid.UUID, name string) {
	w.t.Helper()
	results := map[string]int{}
	for _, item := range w.items(id) {
		results[item.Status]++
		decrypted := w.decrypted(item.NormalizedRecipient, "for "+name)
		if decrypted > 1 {
			w.t.Errorf("%s decrypted the text %d times", item.NormalizedRecipient, decrypted)
		}
		switch item.Status {
		case "SUCCESS":
			if decrypted != 1 {
				w.t.Errorf("%s: SUCCESS, and the phone decrypted %d", item.NormalizedRecipient, decrypted)
			}
		case "UNKNOWN":
			w.await("item.unknown of "+item.ID, func() bool { return w.bodyWith(event.BatchItemUnknown, item.ID) })
		default:
			w.t.Errorf("%s ended as %s", item.NormalizedRecipient, item.Status)
		}
	}
	w.t.Logf("%s: %v", name, results)
}

// decrypted counts how often the phone of number read the text. Receipts reach
// the program after the phone has read it, so nothing is waited for.
func (w *world) decrypted(number, text string) (n int) {
	phone, ok := w.sandbox.Phone(number)
	if !ok {
		return 0
	}
	for _, m := range phone.Received() {
		if m.Text == text {
			n += m.Count
		}
	}
	return n
}

func (w *world) bodyWith(kind event.Kind, text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for body := range w.bodies {
		if strings.Contains(body, string(kind)) && strings.Contains(body, text) {
			return true
		}
	}
	return false
}

// awaitOutbox waits until the receiver has been quiet for a moment, so that
// the program is not stopped with deliveries on their way.
func (w *world) awaitOutbox() {
	last, since := -1, time.Now()
	w.await("quiet", func() bool {
		w.mu.Lock()
		n := len(w.bodies)
		w.mu.Unlock()
		if n != last {
			last, since = n, time.Now()
		}
		return time.Since(since) > 300*time.Millisecond
	})
}

// checkOutbox reads the data file: each event of the batch was received and is
// marked as delivered.
func (w *world) checkOutbox(id uuid.UUID) {
	w.t.Helper()
	s, err := store.Open(store.Options{Path: w.dataFile(), Buckets: buckets()})
	if err != nil {
		w.t.Fatal(err)
	}
	defer s.Close()
	var entries []store.OutboxEntry
	err = s.View(func(tx *store.Tx) (err error) {
		entries, err = tx.OutboxOfBatch(id, 0, 100_000)
		return err
	})
	if err != nil || len(entries) == 0 {
		w.t.Errorf("batch %s: %d events, %v", id, len(entries), err)
	}
	for _, e := range entries {
		w.mu.Lock()
		times := w.bodies[string(e.Body)]
		w.mu.Unlock()
		if times == 0 || e.State != store.OutboxDelivered {
			w.t.Errorf("event %d %s: received %d times, %s", e.Seq, e.Kind, times, e.State)
		}
		if !json.Valid(e.Body) {
			w.t.Errorf("event %d: damaged body", e.Seq)
		}
	}
}

// TestAStopInOrderInterruptsTheBatchAndTheNextStartGoesOn is the gentle twin
// of the kill test.
func TestAStopInOrderInterruptsTheBatchAndTheNextStartGoesOn(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	w := newWorld(t)
	w.start()
	token := w.pair("red")
	recipients := make([]string, 200)
	for i := range recipients {
		recipients[i] = fmt.Sprintf("49171000%04d", i+1)
	}
	b := w.createBatch("gentle", []string{"red"}, recipients)
	w.await("some items sent", func() bool { return w.batch(b.ID).Counts.Processed >= 10 })
	w.stop()
	if !w.bodyWith(event.BatchInterrupted, "GRACEFUL_SHUTDOWN") {
		// The relay stops with the process; the event is delivered by the next one.
		t.Log("interrupted was not delivered before the end")
	}
	w.start()
	w.awaitOnline("red", token)
	w.await("the end of the batch", func() bool { return w.batch(b.ID).Status == event.BatchIsCompleted })
	w.await("the events", func() bool {
		return w.bodyWith(event.BatchInterrupted, "GRACEFUL_SHUTDOWN") && w.seen(string(event.BatchRecovered)) == 1 && w.seen(string(event.BatchCompleted)) == 1
	})
	w.checkItems(b.ID, "gentle")
	w.stop()
}
