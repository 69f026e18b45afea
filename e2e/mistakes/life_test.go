package mistakes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"postern/cli/consumer"
	"postern/e2e/capture"
	"postern/e2e/rig"
	"postern/event"
	"postern/sandbox"
)

// peer is a phone of the right network that writes to the accounts.
const peer = "4915155500002"

// life is one data folder with its accounts, and everything that the program has accepted.
// The right network is the sandbox of the World: it lives in the process of the test.
type life struct {
	*rig.World
	rng   *rand.Rand
	other *sandbox.Server // a network that knows none of the accounts
	trap  *httptest.Server
	dials atomic.Int64 // attempts to reach WhatsApp itself
	up    atomic.Bool  // the webhook receiver accepts

	accounts map[string]*account // those of the right network
	toy      *account            // one of the built-in sandbox
	batches  []accepted
	texts    []received // whose events have to arrive
	backups  []string
	n        int
}

type account struct{ token, ownerJid string }

// received is a text to an account.
type received struct{ account, text string }

type accepted struct {
	id         uuid.UUID
	recipients int
}

// newLife makes an account of the built-in sandbox and three of the right network.
func newLife(t *testing.T, seed uint64) *life {
	l := &life{World: rig.NewWorld(t), rng: rand.New(rand.NewPCG(seed, 0)), accounts: map[string]*account{}}
	var err error
	if l.other, err = sandbox.Open(sandbox.Config{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.other.Close() })
	take := consumer.Receive(http.StatusOK, l.Got)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !l.up.Load() {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		take.ServeHTTP(w, r)
	}))
	t.Cleanup(hook.Close)
	l.trap = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		l.dials.Add(1)
		http.Error(w, "no way to WhatsApp", http.StatusBadGateway)
	}))
	t.Cleanup(l.trap.Close)
	if _, err := l.Sandbox.AddPhone(sandbox.PhoneOptions{Number: peer, PushName: "Anne"}); err != nil {
		t.Fatal(err)
	}
	l.Env = []string{"WEBHOOK_GLOBAL_URL=" + hook.URL, "SANDBOX_PATH=" + l.file("sandbox.db"), "LOG_LEVEL=warn", "WHATSAPP_CONNECT_TIMEOUT=5", "WHATSAPP_RECONNECT_MAX_DELAY=2"}
	l.up.Store(true)

	l.with(builtIn, func() {
		l.Call(l.operator(), http.MethodPut, "/webhook/options", map[string]any{"durable": true, "maxAge": "720h"}, nil)
		l.toy = l.create("toy")
		l.Call(consumer.Bearer(l.toy.token), http.MethodGet, "/instance/toy/connect", nil, nil) // its phone scans by itself
		l.settle("toy", l.toy)
	})
	l.Start()
	for _, name := range []string{"red", "blue", "green"} {
		a := &account{token: l.Pair(name)}
		l.settle(name, a)
		l.accounts[name] = a
	}
	l.Stop()
	return l
}

// builtIn connects every instance to the built-in sandbox.
var builtIn = []string{"WHATSAPP_ENDPOINT=", "WHATSAPP_ENDPOINT_CA=", "WHATSAPP_ENDPOINT_ROOT_KEY=", "SANDBOX_ENABLED=true"}

func (l *life) file(name string) string       { return filepath.Join(l.Folder, "data", name) }
func (l *life) operator() consumer.Credential { return consumer.Key(l.Sec.GlobalAuthToken) }

// with runs do while the program runs with more variables, and stops it in order.
func (l *life) with(env []string, do func()) {
	l.T.Helper()
	right := l.Env
	l.Env = append(slices.Clone(right), env...)
	l.Start()
	do()
	l.Stop()
	l.Env = right
}

func (l *life) create(name string) *account {
	l.T.Helper()
	var created struct{ Auth struct{ Token string } }
	l.Call(l.operator(), http.MethodPost, "/instance", map[string]any{"instanceName": name}, &created)
	return &account{token: created.Auth.Token}
}

// settle waits until an account is online and notes to whom it belongs.
func (l *life) settle(name string, a *account) {
	l.T.Helper()
	l.AwaitOnline(name, a.token)
	a.ownerJid = l.owner(name, a)
	if a.ownerJid == "" {
		l.T.Fatalf("%s is online and belongs to no account", name)
	}
}

// online waits until the account is online.
func (l *life) online(name string, a *account) {
	l.T.Helper()
	var status json.RawMessage
	for deadline := time.Now().Add(time.Minute); !bytes.Contains(status, []byte(`"ONLINE"`)); time.Sleep(10 * time.Millisecond) {
		l.Call(consumer.Bearer(a.token), http.MethodGet, "/instance/"+name+"/connection/status", nil, &status)
		if time.Now().After(deadline) {
			l.T.Fatalf("%s is not online: %s\nThe program said:\n%s", name, status, l.Output)
		}
	}
}

func (l *life) owner(name string, a *account) string {
	l.T.Helper()
	var is struct{ OwnerJid string }
	l.Call(consumer.Bearer(a.token), http.MethodGet, "/instance/"+name, nil, &is)
	return is.OwnerJid
}

// attempt starts the program with more variables and waits until it answers or has ended.
func (l *life) attempt(env []string) (answers bool) {
	l.T.Helper()
	right := l.Env
	defer func() { l.Env = right }()
	l.Env = append(slices.Clone(right), env...)
	addr := rig.FreeAddress(l.T)
	l.Output = &capture.Buffer{}
	l.Launch(addr)
	l.API = consumer.NewClient("http://" + addr)
	ended := make(chan struct{})
	wait := l.Wait
	go func() { _ = wait(); close(ended) }()
	for {
		if l.API.Call(l.T.Context(), consumer.Credential{}, http.MethodGet, "/health", nil, nil) == nil {
			return true
		}
		select {
		case <-ended:
			return false
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// end stops the program in order or kills it; what it answered until then holds.
func (l *life) end() {
	l.T.Helper()
	if l.rng.IntN(2) == 0 {
		l.Kill()
		return
	}
	_ = l.Cmd.Process.Signal(syscall.SIGTERM)
	_ = l.Wait()
}

// try calls the program; a refusal is fine here, an answer is a promise.
func (l *life) try(cred consumer.Credential, method, path string, in, out any) bool {
	l.T.Helper()
	return l.API.Call(l.T.Context(), cred, method, path, in, out) == nil
}

// busy does what users and an impatient operator do meanwhile. keep says that what the program
// accepts now has to be there at the end.
func (l *life) busy(keep bool) {
	l.T.Helper()
	for range l.rng.IntN(4) {
		name := []string{"red", "blue", "green", "toy"}[l.rng.IntN(4)]
		a := l.account(name)
		bearer := consumer.Bearer(a.token)
		switch l.rng.IntN(6) {
		case 0:
			l.batch(keep)
		case 1:
			l.try(bearer, http.MethodPost, "/instance/"+name+"/restart", nil, nil)
		case 2:
			l.try(bearer, http.MethodGet, "/instance/"+name+"/connection/status", nil, nil)
		case 3:
			l.n++
			l.try(bearer, http.MethodPost, "/instance/"+name+"/send/text", map[string]any{"number": peer, "textMessage": map[string]any{"text": fmt.Sprint("out ", l.n)}}, nil)
		case 4:
			l.try(l.operator(), http.MethodGet, "/instance", nil, nil)
		case 5:
			l.text(name, keep)
		}
	}
	time.Sleep(time.Duration(l.rng.IntN(300)) * time.Millisecond) // for refusals of the network to arrive
}

// despair is busy where the network is a wrong one: the operator also tries to connect and to
// log out. The program has to refuse whatever would give an account up.
func (l *life) despair(keep bool) {
	l.T.Helper()
	for name, a := range l.accounts {
		bearer := consumer.Bearer(a.token)
		switch l.rng.IntN(4) {
		case 0:
			l.try(bearer, http.MethodGet, "/instance/"+name+"/connect", nil, nil)
		case 1:
			l.try(bearer, http.MethodDelete, "/instance/"+name+"/logout", nil, nil)
		case 2:
			l.try(bearer, http.MethodGet, "/instance/"+name+"/connect/code/4915155500099", nil, nil)
		}
	}
	l.busy(keep)
}

func (l *life) account(name string) *account {
	if name == "toy" {
		return l.toy
	}
	return l.accounts[name]
}

// batch creates a batch; when the program accepts it, it has to be there from then on.
func (l *life) batch(keep bool) {
	l.T.Helper()
	recipients := make([]string, 1+l.rng.IntN(4))
	for i := range recipients {
		l.n++
		recipients[i] = fmt.Sprintf("49151777%05d", l.n)
	}
	var made struct{ ID uuid.UUID }
	if l.try(consumer.Bearer(l.User), http.MethodPost, "/message/batches", map[string]any{
		"name": fmt.Sprint("batch ", l.n), "instances": []string{"red", "blue"}, "recipients": recipients,
		"message": map[string]any{"type": "text", "payload": map[string]any{"text": "hello"}}, "autoResume": true,
	}, &made) && keep {
		l.batches = append(l.batches, accepted{made.ID, len(recipients)})
	}
}

// text makes the peer write to an account of the right network. keep says that the file which gets it
// is kept.
func (l *life) text(name string, keep bool) {
	l.T.Helper()
	a := l.accounts[name]
	if a == nil {
		return
	}
	l.n++
	text := fmt.Sprintf("in %d.", l.n)
	number, _, _ := strings.Cut(a.ownerJid, "@")
	number, _, _ = strings.Cut(number, ":")
	rec := httptest.NewRecorder()
	l.Sandbox.Control().ServeHTTP(rec, httptest.NewRequestWithContext(l.T.Context(), http.MethodPost, "/sandbox/phones/"+peer+"/act",
		strings.NewReader(fmt.Sprintf(`{"do":"text","to":%q,"text":%q}`, number, text))))
	if rec.Code >= 300 {
		l.T.Fatalf("the peer cannot write: %d %s", rec.Code, rec.Body)
	}
	if keep {
		l.texts = append(l.texts, received{name, text})
	}
}

// stored waits until the data file has all texts: another file that runs in its place takes from the
// network what still waits there.
func (l *life) stored() {
	l.T.Helper()
	if !l.attempt(nil) {
		l.T.Fatalf("the program does not start:\n%s", l.Output)
	}
	for _, t := range l.texts {
		l.Await("the message "+t.text, func() bool {
			var page json.RawMessage
			l.try(consumer.Bearer(l.accounts[t.account].token), http.MethodPost, "/instance/"+t.account+"/db/messages", map[string]any{"limit": 50}, &page)
			return bytes.Contains(page, []byte(t.text))
		})
	}
	l.end()
}

// check starts the program as it should be, and everything is there: each account online under its
// token, each batch with its items and its first event, each text. toys says to look at the account
// of the built-in sandbox instead of the others.
func (l *life) check() {
	// The receiver was down meanwhile: on a slow machine for as many attempts as the next
	// one comes minutes later.
	const afterFailures = 7 * time.Minute
	l.T.Helper()
	l.up.Store(true)
	l.Start()
	for name, a := range l.accounts {
		l.online(name, a)
		if is := l.owner(name, a); is != a.ownerJid {
			l.T.Fatalf("%s belongs to %q, and belonged to %q", name, is, a.ownerJid)
		}
	}
	if is := l.owner("toy", l.toy); is != l.toy.ownerJid {
		l.T.Fatalf("toy belongs to %q, and belonged to %q", is, l.toy.ownerJid)
	}
	for _, b := range l.batches {
		if is := l.Batch(b.id); is.Counts.Total != b.recipients {
			l.T.Fatalf("batch %s has %d items, %d were accepted", b.id, is.Counts.Total, b.recipients)
		}
		l.AwaitFor(afterFailures, "the first event of batch "+b.id.String(), func() bool { return l.BodyWith(event.BatchCreated, b.id.String()) })
	}
	for name := range l.accounts {
		l.text(name, true)
	}
	for _, t := range l.texts {
		l.AwaitFor(afterFailures, "the event of the text "+t.text, func() bool { return l.BodyWith(event.MessagesUpsert, t.text) })
	}
	l.texts, l.batches = nil, l.batches[max(0, len(l.batches)-20):]
	if n := l.dials.Load(); n != 0 {
		l.T.Fatalf("the program tried %d times to reach WhatsApp itself", n)
	}
}

// leave fills the file with what waits, with the receiver down, and ends the program.
func (l *life) leave() {
	l.T.Helper()
	l.up.Store(false)
	if l.rng.IntN(3) == 0 {
		l.backUp()
	}
	l.batch(true)
	for name := range l.accounts {
		if l.rng.IntN(2) == 0 {
			l.text(name, true)
		}
	}
	l.end()
}

// checkToy starts the program with the built-in sandbox, as it is right for one account.
func (l *life) checkToy() {
	l.T.Helper()
	l.with(builtIn, func() { l.online("toy", l.toy) })
}

func (l *life) backUp() {
	l.T.Helper()
	name := filepath.Join(l.Folder, fmt.Sprintf("backup-%d.tar", len(l.backups)))
	if status, output := rig.Beside(l.T, l.World).Runs(nil, "backup", name); status != 0 {
		l.T.Fatalf("backup: status %d\n%s", status, output)
	}
	l.backups = append(l.backups, name)
}

// newest returns the newest file with the prefix, which a command has moved aside.
func newest(pattern string) (string, error) {
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		return "", errors.Join(err, fmt.Errorf("no file %s", pattern))
	}
	age := func(name string) time.Time {
		is, err := os.Stat(name)
		if err != nil {
			return time.Time{}
		}
		return is.ModTime()
	}
	return slices.MaxFunc(names, func(a, b string) int { return age(a).Compare(age(b)) }), nil
}

// issuedIn returns the year in which a token of the output was issued.
func issuedIn(t *testing.T, output string) int {
	t.Helper()
	claims := jwt.RegisteredClaims{}
	if _, _, err := jwt.NewParser().ParseUnverified(strings.TrimSpace(output), &claims); err != nil {
		t.Fatal(err)
	}
	return claims.ExpiresAt.Year()
}
