package diagnosis

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/whatsapp/proxy/proxytest"
)

// finding is a line of postern doctor --json.
type finding struct{ Check, Level, Message, Advice string }

// doctor runs the command and returns what it found by check, and its status.
func (o *operator) doctor(env ...string) (status int, found map[string][]finding) {
	o.t.Helper()
	status, output := o.Runs(env, "doctor", "--json")
	var all []finding
	line, _, _ := strings.Cut(output[max(strings.Index(output, "["), 0):], "\n")
	if err := json.Unmarshal([]byte(line), &all); err != nil {
		o.t.Fatalf("%v: %s", err, output)
	}
	found = map[string][]finding{}
	faults := false
	for _, f := range all {
		found[f.Check] = append(found[f.Check], f)
		faults = faults || f.Level == "fault"
		if !slices.Contains([]string{"ok", "warning", "fault"}, f.Level) || f.Message == "" || (f.Advice == "") != (f.Level == "ok") {
			o.t.Errorf("%+v", f)
		}
	}
	if faults != (status == 1) || status > 1 {
		o.t.Errorf("status %d of %s", status, output)
	}
	return status, found
}

// is wants the only finding of a check, or one of many.
func is(t *testing.T, found map[string][]finding, check, level, words string) {
	t.Helper()
	if !slices.ContainsFunc(found[check], func(f finding) bool { return f.Level == level && strings.Contains(f.Message, words) }) {
		t.Errorf("%s is %+v, want %s with %q", check, found[check], level, words)
	}
}

// checks are all that there are.
var checks = []string{
	"configuration", "secrets", "data folder", "file system", "fsync", "free space", "program", "clock", "WhatsApp", "proxies", "global webhook", "instance webhooks",
	"ffmpeg", "open files", "data file", "backup", "left behind",
}

func (o *operator) sets(name, token, url string) {
	o.t.Helper()
	o.Call(consumer.Bearer(token), http.MethodPut, "/instance/"+name+"/webhook", map[string]any{"url": url, "events": map[string]bool{}}, nil)
}

// TestDoctorOfRunningAndStoppedProgram: it finds the same of both, changes
// nothing, and calls no webhook.
func TestDoctorOfRunningAndStoppedProgram(t *testing.T) {
	o := newOperator(t)
	red, blue := o.Pair("red"), o.Pair("blue")
	var mu sync.Mutex
	var asked []string
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.Method+" "+r.RequestURI)
	}))
	defer hook.Close()
	gone := "http://" + rig.FreeAddress(t)
	o.sets("red", red, hook.URL+"/in?token=secret")
	o.sets("blue", blue, gone+"/in")
	for _, running := range []bool{true, false} {
		if !running {
			o.Stop()
		}
		before := o.Files()
		status, found := o.doctor()
		for _, check := range checks {
			if len(found[check]) == 0 {
				t.Errorf("running %t: no %s", running, check)
			}
		}
		if status != 0 {
			t.Errorf("running %t: status %d: %+v", running, status, found)
		}
		is(t, found, "secrets", "ok", "owner only")
		is(t, found, "data folder", "ok", "can be written")
		is(t, found, "fsync", "ok", "p99")
		is(t, found, "free space", "ok", "free")
		is(t, found, "clock", "ok", "s apart")
		is(t, found, "WhatsApp", "ok", "web.whatsapp.com (whatsapp.endpoint in its place) is reached")
		is(t, found, "WhatsApp", "ok", "mmg.whatsapp.net")
		is(t, found, "global webhook", "ok", o.Hook.URL+" is reached")
		is(t, found, "instance webhooks", "warning", gone+", of blue: the connection was refused")
		if len(found["instance webhooks"]) != 1 {
			t.Errorf("%+v", found["instance webhooks"])
		}
		is(t, found, "data file", "ok", "no fault")
		is(t, found, "backup", "warning", "no automatic backup is configured")
		if running {
			is(t, found, "program", "ok", "it runs and is ready, with 2 instances")
			is(t, found, "open files", "ok", "the program may have")
		} else {
			is(t, found, "program", "ok", "none runs on")
			is(t, found, "open files", "ok", "this shell may have")
		}
		o.Await("nothing to be left", func() bool { return slices.Equal(before, o.Files()) })
	}
	if len(asked) > 0 {
		t.Errorf("the webhook was asked: %q", asked)
	}
	out := o.Says(0, "", "doctor")
	if strings.Contains(out, "secret") && strings.Contains(out, "token=") || strings.Count(out, "\n") < len(checks) {
		t.Errorf("it says\n%s", out)
	}
	o.Says(2, "unknown flag: --jsn; did you mean --json?", "doctor", "--jsn")
	o.Says(2, `unexpected argument "red"`, "doctor", "red")
	o.Says(1, "no such file", "doctor", "--config", "nowhere.toml")
}

func TestTheDoctorNamesEachFault(t *testing.T) {
	t.Parallel() // it waits more than it works
	o := newOperator(t)
	o.Pair("red")
	late := httptest.NewServer(http.NotFoundHandler())
	defer late.Close()
	off := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodOptions || r.RequestURI != "*" {
			t.Errorf("it was asked %s %s", r.Method, r.RequestURI)
		}
		w.Header().Set("Date", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
	}))
	off.Config.DisableGeneralOptionsHandler = true
	off.Start()
	defer off.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	backups := t.TempDir()
	wrong := filepath.Join(o.Folder, "wrong.toml")
	if err := os.WriteFile(wrong, []byte("[store]\npaht = 'x'\n[log]\nlevel = 'loud'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dead := rig.FreeAddress(t)
	for what, c := range map[string]struct {
		env                 []string
		check, level, words string
	}{
		"a clock that is off":        {[]string{"WEBHOOK_GLOBAL_URL=" + off.URL}, "clock", "fault", "1h0m0s apart"},
		"a webhook that is down":     {[]string{"WEBHOOK_GLOBAL_URL=http://" + dead + "/secret"}, "global webhook", "fault", "http://" + dead + "/********: the connection was refused"},
		"an untrusted certificate":   {[]string{"WEBHOOK_GLOBAL_URL=" + secure.URL}, "global webhook", "fault", "not signed by a trusted authority"},
		"no TLS":                     {[]string{"WEBHOOK_GLOBAL_URL=" + strings.Replace(late.URL, "http:", "https:", 1)}, "global webhook", "fault", "does not speak TLS"},
		"an address that is refused": {[]string{"WEBHOOK_DENY_PRIVATE=true"}, "global webhook", "fault", "not allowed"},
		"a name that is none":        {[]string{"WEBHOOK_GLOBAL_URL=http://nowhere.invalid"}, "global webhook", "fault", "host"},
		"WhatsApp is down":           {[]string{"WHATSAPP_ENDPOINT=wss://" + dead + "/ws"}, "WhatsApp", "fault", "the connection was refused"},
		"a proxy that is down":       {[]string{"WHATSAPP_PROXY=socks5://me:word@" + dead}, "WhatsApp", "fault", "through the proxy socks5://" + dead},
		"another key":                {[]string{"AUTHENTICATION_GLOBAL_AUTH_TOKEN=another key of 16 bytes"}, "program", "fault", "401"},
		"another address":            {[]string{"SERVER_LISTEN=" + dead}, "program", "fault", "did not answer"},
		"no backup":                  {[]string{"BACKUP_DIR=" + backups, "BACKUP_EVERY=1h"}, "backup", "fault", "there is none in " + backups},
		"a variable that is none":    {[]string{"STORE_PAHT=x"}, "configuration", "warning", "did you mean STORE_PATH"},
	} {
		_, found := o.doctor(c.env...)
		is(t, found, c.check, c.level, c.words)
		for _, f := range found["WhatsApp"] {
			if strings.Contains(f.Message, "word") {
				t.Errorf("%s: %s", what, f.Message)
			}
		}
	}
	status, out := o.Runs(nil, "doctor", "--config", wrong)
	if status != 1 || !strings.Contains(out, "store.paht: unknown key") || !strings.Contains(out, "log.level") || strings.Count(out, "\n") != 2 {
		t.Errorf("a wrong configuration: %d %s", status, out)
	}
}

func TestDoctorFindsDiskFaults(t *testing.T) {
	o := newOperator(t, "BACKUP_DIR=backups", "BACKUP_EVERY=1h")
	o.Pair("red")
	var made []string
	o.Await("a backup", func() bool {
		made, _ = filepath.Glob(filepath.Join(o.Folder, "backups", "postern-*.tar"))
		return len(made) == 1
	})
	_, found := o.doctor()
	is(t, found, "backup", "ok", filepath.Base(made[0]))
	o.Stop()
	if err := os.Rename(made[0], filepath.Join(filepath.Dir(made[0]), "postern-20200101T000000Z.tar")); err != nil {
		t.Fatal(err)
	}
	_, found = o.doctor()
	is(t, found, "backup", "warning", "postern-20200101T000000Z.tar")

	if err := os.Chmod(o.DataFile(), 0o644); err != nil {
		t.Fatal(err)
	}
	_, found = o.doctor()
	is(t, found, "secrets", "warning", "chmod 600")
	_, found = o.doctor("AUTHENTICATION_GLOBAL_AUTH_TOKEN=", "AUTHENTICATION_JWT_SECRET=")
	is(t, found, "secrets", "fault", "no secrets beside it")

	raw, err := os.ReadFile(o.DataFile())
	if err != nil {
		t.Fatal(err)
	}
	for i := range raw[:len(raw)/2] {
		if i > 3*4096 && i%512 == 0 {
			raw[i] ^= 8
		}
	}
	if err := os.WriteFile(o.DataFile(), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	_, found = o.doctor()
	is(t, found, "data file", "fault", "")
	if err := os.WriteFile(o.DataFile(), []byte(strings.Repeat("no data file\n", 4096)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, found = o.doctor()
	is(t, found, "data file", "fault", "")

	tiny := t.TempDir()
	if err := unix.Mount("tmpfs", tiny, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("no small file system can be mounted here: %v", err)
	}
	defer func() { _ = unix.Unmount(tiny, unix.MNT_DETACH) }()
	_, found = o.doctor("STORE_PATH=" + filepath.Join(tiny, "postern.db"))
	is(t, found, "file system", "warning", "tmpfs: it is in memory")
	is(t, found, "free space", "fault", "64.0 MiB must stay free")
	is(t, found, "fsync", "fault", "no space left on device")
	if left, _ := os.ReadDir(tiny); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if err := unix.Mount("", tiny, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	_, found = o.doctor("STORE_PATH=" + filepath.Join(tiny, "postern.db"))
	is(t, found, "data folder", "fault", "nothing can be written")
}

// TestDoctorLimitsEachWait: hosts that hang are waited for at the same time,
// and Ctrl-C ends the wait.
// TestDoctorNamesTheUserForUnreadableFile, and not that it is damaged, or that no
// program runs.
func TestDoctorNamesTheUserForUnreadableFile(t *testing.T) {
	o := newOperator(t)
	if err := os.Chmod(o.DataFile(), 0); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"check"}, {"stats"}, {"backup", filepath.Join(t.TempDir(), "b.tar")}} {
		if status, said := o.Unprivileged(args...); status != 1 || !strings.Contains(said, "cannot be read; run this command as the user") {
			t.Errorf("%q: %d %s", args, status, said)
		}
	}
	status, said := o.Unprivileged("doctor")
	if status != 1 || strings.Contains(said, "none runs on") || strings.Contains(said, "damaged") || !strings.Contains(said, "unknown whether one runs") {
		t.Errorf("%d %s", status, said)
	}
	o.Stop()
}

func TestDoctorLimitsEachWait(t *testing.T) {
	t.Parallel() // it waits more than it works
	o := newOperator(t)
	hang := "https://" + silent(t)
	for _, name := range []string{"a", "b", "c", "d"} {
		var created struct{ Auth struct{ Token string } }
		o.Call(consumer.Key(o.Sec.GlobalAuthToken), http.MethodPost, "/instance", map[string]any{"instanceName": name}, &created)
		o.sets(name, created.Auth.Token, "https://"+silent(t)+"/"+name)
	}
	env := []string{"WEBHOOK_GLOBAL_URL=" + hang, "WHATSAPP_ENDPOINT=wss://" + silent(t) + "/ws"}
	before, began := o.Files(), time.Now()
	_, found := o.doctor(env...)
	if took := time.Since(began); took > 12*time.Second {
		t.Errorf("it took %v", took)
	}
	is(t, found, "global webhook", "fault", "no answer within 5s")
	is(t, found, "WhatsApp", "fault", "no answer within 5s")
	if len(found["instance webhooks"]) != 4 {
		t.Errorf("%+v", found["instance webhooks"])
	}
	if status, took := o.Signalled(os.Interrupt, time.Second, env, "doctor"); status != 1 || took > 2*time.Second {
		t.Errorf("after SIGINT: status %d, %v later", status, took)
	}
	o.Await("nothing to be left", func() bool { return slices.Equal(before, o.Files()) })
}

// TestTheDoctorTriesTheProxiesOfSingleInstances: each once, of a running program and of a
// stopped one, and tells no password.
func TestTheDoctorTriesTheProxiesOfSingleInstances(t *testing.T) {
	t.Parallel() // it waits more than it works
	o := newOperator(t)
	way, gone := proxytest.New(t, "http"), proxytest.New(t, "http")
	way.Ask("someone:pa55word")
	for name, via := range map[string]string{"red": way.URL("someone:pa55word"), "blue": way.URL("someone:pa55word"), "green": gone.URL("me:hidden")} {
		token := o.Pair(name)
		o.Call(consumer.Bearer(token), http.MethodPut, "/instance/"+name+"/proxy", map[string]any{"url": via}, nil)
		o.AwaitOnline(name, token)
	}
	_, found := o.doctor()
	is(t, found, "proxies", "ok", "through 2 proxies of single instances")
	gone.Close()
	for _, running := range []bool{true, false} {
		if !running {
			o.Stop()
		}
		before := len(way.Asked())
		_, found := o.doctor()
		is(t, found, "proxies", "warning", "of green: the proxy failed at connect: the connection was refused")
		if all := found["proxies"]; len(all) != 1 || strings.Contains(all[0].Message, "hidden") || strings.Contains(all[0].Message, "me:") {
			t.Errorf("running %t: %+v", running, all)
		}
		if n := len(way.Asked()) - before; n < 1 || n > 2 { // for the socket, and for media
			t.Errorf("running %t: the proxy of two instances was dialled %d times", running, n)
		}
	}
}
