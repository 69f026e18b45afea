package moving

import (
	"bytes"
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.mau.fi/whatsmeow/proto/waAdv"
	"go.mau.fi/whatsmeow/store/sqlstore"
	"go.mau.fi/whatsmeow/types"
	waLog "go.mau.fi/whatsmeow/util/log"
	"golang.org/x/sys/unix"

	"postern/cli/consumer"
	"postern/e2e/rig"
)

// storeOf makes a store with devices of so many accounts that no network knows, each
// with some contacts.
func storeOf(t *testing.T, accounts, contacts int) (path string) {
	t.Helper()
	path = databasePath(t)
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=foreign_keys(1)&_pragma=synchronous(0)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	c := sqlstore.NewWithDB(db, "sqlite", waLog.Noop)
	if err := c.Upgrade(t.Context()); err != nil {
		t.Fatal(err)
	}
	for n := range accounts {
		d := c.NewDevice()
		d.ID = &types.JID{User: fmt.Sprint(4_915_100_000_000 + n), Device: 3, Server: types.DefaultUserServer}
		d.Account = &waAdv.ADVSignedDeviceIdentity{
			Details: []byte{1}, AccountSignature: make([]byte, 64), AccountSignatureKey: make([]byte, 32), DeviceSignature: make([]byte, 64),
		}
		if err := d.Save(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < $1)
			INSERT INTO whatsmeow_contacts (our_jid, their_jid, full_name) SELECT $2, (4915200000000 + i) || '@s.whatsapp.net', 'Somebody ' || i FROM n`, contacts, d.ID.String()); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// TestImportErrorsAdviseAndChangeNothing is what a user meets.
func TestImportErrorsAdviseAndChangeNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the program often")
	}
	w := rig.NewWorld(t)
	path := storeOf(t, 2, 1)
	const first, second = "4915100000000", "4915100000001"
	for name, c := range map[string]struct {
		args   []string
		status int
		want   []string
	}{
		"no kind":              {nil, 2, []string{"the kind of the source is missing: whatsmeow or baileys"}},
		"another kind":         {[]string{"venom"}, 2, []string{`unknown kind of source "venom"`}},
		"a flag and no kind":   {[]string{"--from", path}, 2, []string{"the kind of the source is missing"}},
		"no source":            {[]string{"whatsmeow"}, 2, []string{"--from is missing"}},
		"an unknown program":   {[]string{"whatsmeow", "--from", path, "--app", "waha"}, 2, []string{"--app must be one of codechat-go, wuzapi, gowa, evolution-go"}},
		"another program":      {[]string{"whatsmeow", "--from", path, "--app", "gowa"}, 1, []string{"the tables of gowa are missing"}},
		"a file that is none":  {[]string{"whatsmeow", "--from", path + "x"}, 1, []string{path + "x", "no such file", "nothing was written"}},
		"an unknown account":   {[]string{"whatsmeow", "--from", path, "--name", "49@s.whatsapp.net=a"}, 1, []string{"has no such device; it has 4915100000000:3@s.whatsapp.net"}},
		"half a name":          {[]string{"whatsmeow", "--from", path, "--name", "shop"}, 2, []string{"--name must be JID=NAME"}},
		"Baileys by accident":  {[]string{"baileys", "--from", filepath.Dir(path), "--name", "a"}, 2, []string{"--experimental is required"}},
		"Baileys without name": {[]string{"baileys", "--from", filepath.Dir(path), "--experimental"}, 2, []string{"--name is missing"}},
		"no auth state":        {[]string{"baileys", "--from", filepath.Dir(path), "--name", "a", "--experimental"}, 1, []string{"has no creds.json"}},
		"a word too many":      {[]string{"whatsmeow", path}, 2, []string{"unexpected argument"}},
	} {
		output := takeOver(w, c.status, c.args...)
		for _, want := range c.want {
			if !strings.Contains(output, want) {
				t.Errorf("%s: it does not say %q:\n%s", name, want, output)
			}
		}
	}
	if output := takeOver(w, 0, "whatsmeow", "--from", path, "--dry-run"); !strings.Contains(output, "2 accounts would be imported") {
		t.Error(output)
	}
	if left, _ := os.ReadDir(filepath.Dir(w.DataFile())); len(left) != 0 {
		t.Errorf("after mistakes and a dry run there are %v", left)
	}

	w.Start()
	for _, more := range [][]string{nil, {"--dry-run"}} {
		if output := takeOver(w, 1, append([]string{"whatsmeow", "--from", path}, more...)...); !strings.Contains(output, "another Postern is already running on it; stop that one first") {
			t.Errorf("while the program runs: %s", output)
		}
	}
	w.Call(consumer.Key(w.Sec.GlobalAuthToken), http.MethodPost, "/instance", map[string]any{"instanceName": first}, nil)
	w.Stop()
	before, err := os.ReadFile(w.DataFile())
	if err != nil {
		t.Fatal(err)
	}
	if output := takeOver(w, 1, "whatsmeow", "--from", path); !strings.Contains(output, `the instance "`+first+`" already exists here; give 4915100000000:3@s.whatsapp.net another name with --name`) {
		t.Errorf("a name that is taken: %s", output)
	}
	takeOver(w, 0, "whatsmeow", "--from", path, "--name", first+"@s.whatsapp.net=anna", "--dry-run")
	if after, _ := os.ReadFile(w.DataFile()); !bytes.Equal(before, after) {
		t.Error("the data file changed")
	}
	takeOver(w, 0, "whatsmeow", "--from", path, "--name", first+"@s.whatsapp.net=anna")
	if output := takeOver(w, 1, "whatsmeow", "--from", path, "--name", first+"@s.whatsapp.net=bea"); !strings.Contains(output, `already exists, as the instance "anna": it cannot run twice`) {
		t.Errorf("a device twice: %s", output)
	}
	if output := takeOver(w, 1, "whatsmeow", "--from", path, "--name", first+"@s.whatsapp.net=anna"); !strings.Contains(output, `the instances "anna", "`+second+`" exist here already, with these devices`) {
		t.Errorf("all of it twice: %s", output)
	}
	if status, output := rig.Program(t, w.Folder, settings(w), "check"); status != 0 {
		t.Errorf("check: %s", output)
	}
	w.Start()
	tokenOf(w, "anna")
	tokenOf(w, second)
	w.Stop()
}

// TestImportRefusesARunningOrKilledProgram, and a file without its log is reported.
func TestImportRefusesARunningOrKilledProgram(t *testing.T) {
	w := rig.NewWorld(t)
	old := startOld(t, w.Sandbox, databasePath(t))
	old.store.NewDevice()
	killed := databasePath(t)
	for _, suffix := range []string{"", "-wal"} {
		raw, err := os.ReadFile(old.path + suffix)
		if err == nil {
			err = os.WriteFile(killed+suffix, raw, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if output := takeOver(w, 1, "whatsmeow", "--from", old.path); !strings.Contains(output, fmt.Sprintf("process %d", os.Getpid())) || !strings.Contains(output, "stop that program") {
		t.Error(output)
	}
	old.stop()
	if output := takeOver(w, 1, "whatsmeow", "--from", killed); !strings.Contains(output, "-wal") || !strings.Contains(output, "stop the program that uses it") {
		t.Error(output)
	}
	if err := os.Remove(killed + "-wal"); err != nil {
		t.Fatal(err)
	}
	if output := takeOver(w, 1, "whatsmeow", "--from", killed); !strings.Contains(output, killed+" has no -wal file beside it") {
		t.Error(output)
	}
	if output := takeOver(w, 0, "whatsmeow", "--from", storeOf(t, 1, 1), "--dry-run"); strings.Contains(output, "-wal") {
		t.Errorf("of a file without a log: %s", output)
	}
}

// TestImportNamesInaccessibleFiles is for users other than root.
func TestImportNamesInaccessibleFiles(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may read and write everything")
	}
	w := rig.NewWorld(t)
	path := storeOf(t, 1, 1)
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	if output := takeOver(w, 1, "whatsmeow", "--from", path); !strings.Contains(output, "permission denied") {
		t.Error(output)
	}
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(w.Folder, 0o500); err != nil {
		t.Fatal(err)
	}
	if output := takeOver(w, 1, "whatsmeow", "--from", path); !strings.Contains(output, "permission denied") && !strings.Contains(output, "cannot be written") {
		t.Error(output)
	}
	if err := os.Chmod(w.Folder, 0o700); err != nil {
		t.Fatal(err)
	}
}

// TestImportWithoutSpaceLeavesNoPartialAccount: what has no room is refused, those before
// it are whole, and with room the same command continues with the others.
func TestImportWithoutSpaceLeavesNoPartialAccount(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	w := rig.NewWorld(t)
	const accounts = 30
	path := storeOf(t, accounts, 8000)
	for size, said := range map[string]string{"1m": "no account was imported; run the same command again", "66m": "accounts are imported; never start the old program again with these"} {
		small := rig.SmallDisk(t, size)
		env := append(settings(w), "STORE_PATH="+filepath.Join(small, "postern.db"))
		status, output := rig.Program(t, w.Folder, env, "import", "whatsmeow", "--from", path)
		if status != 1 || !strings.Contains(output, "disk is full or nearly full") || !strings.Contains(output, said) {
			t.Errorf("on %s: %d %s", size, status, output[max(0, len(output)-1000):])
		}
		if status, output := rig.Program(t, w.Folder, env, "check"); status != 0 {
			t.Errorf("on %s: %s", size, output)
		}
		if err := unix.Mount("", small, "", unix.MS_REMOUNT, "size=1g"); err != nil {
			t.Fatal(err)
		}
		if status, output := rig.Program(t, w.Folder, env, "import", "whatsmeow", "--from", path); status != 0 || !strings.Contains(output, "NEVER") {
			t.Errorf("with room: %d %s", status, output[max(0, len(output)-1000):])
		}
		if status, output := rig.Program(t, w.Folder, env, "stats", "--json"); status != 0 || !strings.Contains(output, fmt.Sprintf(`{"bucket":"instance","owner":"instance","rows":%d,`, accounts)) {
			t.Errorf("stats: %s", output)
		}
	}
}

// TestInterruptedImportContinues ends it at different moments by
// Ctrl-C and by kill -9, until all accounts are there, each of them whole.
func TestInterruptedImportContinues(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills real processes")
	}
	const accounts, contacts = 40, 300
	w := rig.NewWorld(t)
	path := storeOf(t, accounts, contacts)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for round, pause := 0, 30*time.Millisecond; ; round, pause = round+1, pause+pause/2 {
		var out bytes.Buffer
		cmd := exec.CommandContext(t.Context(), self, "import", "whatsmeow", "--from", path)
		cmd.Dir, cmd.Stdout, cmd.Stderr = w.Folder, &out, &out
		cmd.Env = append(append(os.Environ(), rig.AsProgram+"=1"), settings(w)...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		signal := syscall.SIGINT
		if round%2 == 1 {
			signal = syscall.SIGKILL
		}
		timer := time.AfterFunc(pause, func() { _ = cmd.Process.Signal(signal) })
		err := cmd.Wait()
		timer.Stop()
		if err == nil {
			if !strings.Contains(out.String(), "NEVER") {
				t.Error(out.String())
			}
			break
		}
		if signal == syscall.SIGINT && cmd.ProcessState.ExitCode() == 1 && !strings.Contains(out.String(), "interrupted; ") {
			t.Errorf("after Ctrl-C: %s", out.String())
		}
		if _, err := os.Stat(w.DataFile()); err == nil {
			if status, output := rig.Program(t, w.Folder, settings(w), "check"); status != 0 {
				t.Fatalf("after round %d: %s", round, output)
			}
		}
		if round > 30 {
			t.Fatal("it does not come to an end")
		}
	}
	status, output := rig.Program(t, w.Folder, settings(w), "stats", "--json")
	if status != 0 || !strings.Contains(output, fmt.Sprintf(`{"bucket":"instance","owner":"instance","rows":%d,`, accounts)) {
		t.Errorf("stats: %s", output)
	}
	if want := fmt.Sprintf(`{"bucket":"device","owner":"whatsapp/device","rows":%d,`, accounts*(contacts+2)); !strings.Contains(output, want) {
		t.Errorf("stats do not say %s: %s", want, output)
	}
}
