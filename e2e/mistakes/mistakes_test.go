package mistakes

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"postern/config"
	"postern/e2e/rig"
)

// A mistake is something that an operator does to a stopped program, and takes back. It starts the
// program once or not at all, and leaves it stopped.
type mistake struct {
	name string
	make func(l *life)
}

var mistakes = []mistake{
	{"the built-in sandbox instead of the network", func(l *life) { l.elsewhere(builtIn) }},
	{"a built-in sandbox without a file", func(l *life) { l.elsewhere(append(append([]string{}, builtIn...), "SANDBOX_PATH=")) }},
	{"another network", func(l *life) {
		other := l.other.Endpoint()
		l.elsewhere([]string{
			"WHATSAPP_ENDPOINT=" + other.URL, "WHATSAPP_ENDPOINT_CA=" + l.written("other.pem", other.CA),
			"WHATSAPP_ENDPOINT_ROOT_KEY=" + fmt.Sprintf("%x", other.RootKey[:]),
		})
	}},
	{"another address, which trusts another authority", func(l *life) {
		other := l.other.Endpoint()
		l.wrong([]string{"WHATSAPP_ENDPOINT=" + other.URL, "WHATSAPP_ENDPOINT_CA=" + l.written("other.pem", other.CA)}, true)
	}},
	{"another root key", func(l *life) {
		key := l.other.Endpoint().RootKey
		l.elsewhere([]string{"WHATSAPP_ENDPOINT_ROOT_KEY=" + fmt.Sprintf("%x", key[:])})
	}},
	{"WhatsApp itself", func(l *life) {
		l.elsewhere([]string{"WHATSAPP_ENDPOINT=", "WHATSAPP_ENDPOINT_CA=", "WHATSAPP_ENDPOINT_ROOT_KEY=", "WHATSAPP_PROXY=" + l.trap.URL})
	}},
	{"another folder", func(l *life) {
		l.wrong([]string{"STORE_PATH=" + filepath.Join(l.Folder, "elsewhere", "postern.db")}, false)
	}},
	{"the sandbox's file as data file", func(l *life) { l.wrong([]string{"STORE_PATH=" + l.file("sandbox.db")}, false) }},
	{"the data file as the sandbox's file", func(l *life) { l.wrong(append([]string{"SANDBOX_PATH=" + l.DataFile()}, builtIn...), false) }},
	{"another secret of tokens", func(l *life) { l.wrong([]string{"AUTHENTICATION_JWT_SECRET=" + config.NewSecrets().JWTSecret}, true) }},
	{"another API key", func(l *life) {
		l.wrong([]string{"AUTHENTICATION_GLOBAL_AUTH_TOKEN=" + config.NewSecrets().GlobalAuthToken}, true)
	}},
	{"a setting that is wrong", func(l *life) { l.wrong([]string{"WEBHOOK_WORKERS=many"}, false) }},
	{"a clock an hour ahead", func(l *life) { l.clock("1h") }},
	{"a clock an hour behind", func(l *life) { l.clock("-1h") }},
	{"a clock three weeks ahead", func(l *life) { l.clock("500h") }},
	{"a clock ten years behind", func(l *life) { l.clock("-87600h") }},
	{"a clock ten years ahead", func(l *life) { l.clock("87600h") }},
	{"a clock three weeks behind", func(l *life) { l.clock("-500h") }},
	{"a clock without a battery", func(l *life) { l.clock(fmt.Sprint(-time.Now().Unix(), "s")) }},
	{"a clock without a battery, set while it runs", func(l *life) { l.clock(fmt.Sprint(-time.Now().Unix(), "s>0s")) }},
	{"a clock that jumps ten years ahead", func(l *life) { l.clock("0s>87600h") }},
	{"a clock that jumps three weeks back", func(l *life) { l.clock("0s>-500h") }},
	{"a clock an hour ahead, set while it runs", func(l *life) { l.clock("1h>0s") }},
	{"two programs", (*life).twice},
	{"an older backup, restored", (*life).restored},
	{"an older file, copied", (*life).copied},
}

// wrong starts the program with wrong variables. keep says that it works on the data file.
func (l *life) wrong(env []string, keep bool) {
	if l.attempt(env) {
		l.busy(keep)
		l.end()
	}
}

// elsewhere starts the program on another network than that of the accounts. The operator also
// tries to connect and to log out: without network=forget that gives no account up.
func (l *life) elsewhere(env []string) {
	if l.attempt(env) {
		l.despair(true)
		l.end()
	}
}

// clock starts the program with a wrong clock, on the right network.
func (l *life) clock(shift string) {
	if !rig.CanShiftClock {
		return
	}
	if !l.attempt([]string{rig.ClockShift + "=" + shift}) {
		return
	}
	l.busy(true)
	if _, second, jumps := strings.Cut(shift, ">"); jumps {
		by, err := time.ParseDuration(second)
		if err != nil {
			l.T.Fatal(err)
		}
		l.Await("the clock jumps", func() bool { return time.Until(l.date().Add(-by)).Abs() < time.Minute })
		l.busy(true)
	}
	l.end()
}

// date returns the time of day by the clock of the program.
func (l *life) date() (at time.Time) {
	l.T.Helper()
	resp, err := http.Get(l.API.Base + "/health")
	if err == nil {
		_ = resp.Body.Close()
		at, err = http.ParseTime(resp.Header.Get("Date"))
	}
	if err != nil {
		l.T.Fatalf("the time of the program: %v", err)
	}
	return at
}

// twice starts the program, and a second one on the same file, which has to end.
func (l *life) twice() {
	if !l.attempt(nil) {
		l.T.Fatalf("the program does not start:\n%s", l.Output)
	}
	if status, output := rig.Beside(l.T, l.World).Runs([]string{"SERVER_LISTEN=127.0.0.1:0"}, "serve"); status == 0 || !strings.Contains(output, "already") {
		l.T.Fatalf("the second program: status %d\n%s", status, output)
	}
	l.busy(true)
	l.end()
}

// restored puts an older backup in place of the data file, runs it, and takes the data file back.
func (l *life) restored() {
	if len(l.backups) == 0 {
		return
	}
	l.stored()
	o := rig.Beside(l.T, l.World)
	if status, output := o.Runs(nil, "restore", "--force", "--yes", l.backups[l.rng.IntN(len(l.backups))]); status != 0 {
		l.T.Fatalf("restore: status %d\n%s", status, output)
	}
	if l.attempt(nil) {
		l.busy(false)
		l.end()
	}
	replaced, err := newest(l.DataFile() + ".replaced-*")
	if err != nil {
		l.T.Fatal(err)
	}
	l.move(replaced, l.DataFile())
}

// copied keeps a copy of the data file, lets the program work on, puts the copy in place of the
// file, runs that, and takes the file back. What lies beside the file stays as it is.
func (l *life) copied() {
	older, current := l.DataFile()+"-older", l.DataFile()+"-current"
	l.duplicate(l.DataFile(), older)
	if l.attempt(nil) {
		l.busy(true)
		l.end()
	}
	l.stored()
	l.move(l.DataFile(), current)
	l.move(older, l.DataFile())
	if l.attempt(nil) {
		l.busy(false)
		l.end()
	}
	l.move(current, l.DataFile())
}

func (l *life) move(from, to string) {
	if err := os.Rename(from, to); err != nil {
		l.T.Fatal(err)
	}
}

func (l *life) duplicate(from, to string) {
	in, err := os.Open(from)
	if err != nil {
		l.T.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		l.T.Fatal(err)
	}
	if _, err = io.Copy(out, in); err == nil {
		err = out.Close()
	}
	if err != nil {
		l.T.Fatal(err)
	}
}

func (l *life) written(name string, content []byte) string {
	path := filepath.Join(l.Folder, name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		l.T.Fatal(err)
	}
	return path
}

// number returns a variable that is a number.
func number(t *testing.T, name string, or uint64) uint64 {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		return or
	}
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestOperatorMistakesLoseNothing makes ROUNDS mistakes one to four in a
// row, and then starts the program as it should be. SEED chooses them.
func TestOperatorMistakesLoseNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	seed := number(t, "SEED", rand.Uint64N(1<<32))
	rounds := int(number(t, "ROUNDS", uint64(len(mistakes))))
	t.Logf("SEED=%d ROUNDS=%d", seed, rounds)
	l := newLife(t, seed)
	order := l.rng.Perm(len(mistakes))
	for round, checks := 0, 0; round < rounds; checks++ {
		l.leave()
		for range 1 + l.rng.IntN(4) {
			if round == rounds {
				break
			}
			m := mistakes[order[round%len(order)]]
			if round++; round%len(order) == 0 {
				order = l.rng.Perm(len(mistakes))
			}
			l.T.Logf("%d: %s", round, m.name)
			m.make(l)
		}
		if checks%5 == 4 || round == rounds {
			l.checkToy()
		}
		l.check()
	}
	l.Stop()
}

// TestTheClockIsSetOff holds the tool itself: a program of the tests can have a wrong clock.
func TestTheClockIsSetOff(t *testing.T) {
	if !rig.CanShiftClock {
		t.Skip("the clock of a process cannot be set off here")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	secrets := config.NewSecrets()
	cmd := exec.CommandContext(t.Context(), self, "token", "user", "--id", "0196f0a0-0000-7000-8000-000000000001", "--ttl", "1h")
	cmd.Env = append(os.Environ(), rig.AsProgram+"=1", rig.ClockShift+"=-87600h", "AUTHENTICATION_JWT_SECRET="+secrets.JWTSecret, "AUTHENTICATION_GLOBAL_AUTH_TOKEN="+secrets.GlobalAuthToken)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if issued := issuedIn(t, string(out)); issued > 2017 {
		t.Errorf("the token was issued in %d", issued)
	}
}
