package crash

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"postern/cli/consumer"
	"postern/e2e/powerloss"
	"postern/e2e/rig"
	"postern/event"
)

// traced is a scene whose program keeps files in a folder, and is stopped at each change of
// a file. The events of all instances are durable and have links.
type traced struct {
	*rig.SendScene
	recording *powerloss.Recording
	kept      string // the folder

	mu    sync.Mutex
	fault func(powerloss.Call) powerloss.Fault
}

func newTraced(t *testing.T, env ...string) *traced {
	t.Helper()
	if testing.Short() {
		t.Skip("records a real process")
	}
	w := rig.NewWorld(t)
	var err error
	if w.Folder, err = filepath.EvalSymlinks(w.Folder); err != nil {
		t.Fatal(err)
	}
	k := &traced{kept: filepath.Join(w.Folder, "data", "media")}
	if k.recording, err = powerloss.New(w.Folder); err != nil {
		t.Fatal(err)
	}
	k.recording.Fault = func(c powerloss.Call) powerloss.Fault {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.fault == nil {
			return powerloss.Fault{}
		}
		return k.fault(c)
	}
	nothing := t.TempDir()
	w.Begin = func(cmd *exec.Cmd) (func(), func() error, error) {
		cmd.Env = append(cmd.Env, asRecorded+"=1", "PATH="+nothing)
		return k.begin(t, w, cmd)
	}
	k.SendScene = rig.SendSceneIn(t, w, append([]string{"MEDIA_STORE_KIND=local", "MEDIA_STORE_PATH=" + k.kept, "MEDIA_CACHE=0"}, env...)...)
	k.Call(consumer.Key(k.Sec.GlobalAuthToken), http.MethodPut, "/webhook/options", json.RawMessage(`{"durable":true,"media":"link"}`), nil)
	return k
}

// begin runs the program under the recorder, whose output is a file.
func (k *traced) begin(t *testing.T, w *rig.World, cmd *exec.Cmd) (kill func(), wait func() error, err error) {
	in, out, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	to := w.Output
	go func() {
		_, _ = io.Copy(to, in)
		_ = in.Close()
	}()
	cmd.Stdout, cmd.Stderr = out, out
	p, err := k.recording.Run(cmd)
	_ = out.Close()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSYS) {
		t.Skipf("tracing is not allowed here: %v", err)
	}
	if err != nil {
		return nil, nil, err
	}
	return p.Kill, func() error {
		exit, err := p.Wait()
		if err = errors.Join(err, k.recording.Err()); err != nil {
			t.Error(err)
		}
		if status := exit.ExitStatus(); err == nil && status != 0 {
			err = fmt.Errorf("exit status %d", status)
		}
		return err
	}, nil
}

// on decides about calls from now on; nil: they are done.
func (k *traced) on(fault func(powerloss.Call) powerloss.Fault) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.fault = fault
}

// inKept reports whether a call changes something in the folder of kept files.
func (k *traced) inKept(c powerloss.Call) bool {
	return strings.HasPrefix(c.Path, k.kept+string(filepath.Separator))
}

// step matches a call by its name and a pattern of the path below the folder of kept files;
// "data" is the data file.
func (k *traced) step(c powerloss.Call, name, pattern string) bool {
	if pattern == "data" {
		return c.Name == name && c.Path == k.DataFile()
	}
	relative, err := filepath.Rel(k.kept, c.Path)
	matched, bad := filepath.Match(pattern, relative)
	return c.Name == name && errors.Join(err, bad) == nil && matched
}

type keptRecord struct {
	MessageID, Size              int64
	KeyID, State, Reason, SHA256 string
	Attempts                     int
}

func (k *traced) records() []keptRecord {
	var list struct{ Records []keptRecord }
	k.Call(consumer.Bearer(k.Token), http.MethodGet, "/instance/shop/media/files?limit=200", nil, &list)
	return list.Records
}

func (k *traced) record(key string) keptRecord {
	for _, r := range k.records() {
		if r.KeyID == key {
			return r
		}
	}
	return keptRecord{}
}

func (k *traced) await(key, state, reason string) (r keptRecord) {
	k.T.Helper()
	k.Await(fmt.Sprintf("%s is %s %s", key, state, reason), func() bool {
		r = k.record(key)
		return r.State == state && r.Reason == reason
	})
	return r
}

// receive lets Anne send a document, and waits until its event was delivered and that is
// stored.
func (k *traced) receive(t *testing.T, key string, content []byte) {
	t.Helper()
	act, _ := json.Marshal(map[string]string{"do": "media", "to": rig.OwnNumber, "kind": "document", "fileName": key + ".bin", "data": base64.StdEncoding.EncodeToString(content), "id": key})
	k.Do(t, rig.Act("$anne", string(act)))
	k.AwaitEvent(t, 0, event.MessagesUpsert, fmt.Sprintf(`{"keyId":%q}`, key))
	k.Await("no delivery is pending", func() bool {
		var list struct{ TotalRecords int }
		k.Call(consumer.Key(k.Sec.GlobalAuthToken), http.MethodGet, "/webhook/deliveries?state=PENDING", nil, &list)
		return list.TotalRecords == 0
	})
}

// reported counts the webhooks of a message that came in.
func (k *traced) reported(key string) (n int) {
	for _, w := range k.Webhooks() {
		if w.Event == string(event.MessagesUpsert) && strings.Contains(string(w.Body), fmt.Sprintf(`"keyId":%q`, key)) {
			n++
		}
	}
	return n
}

// files returns the hashes of the files in the folder, by path.
func filesIn(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() || d.Name() == ".postern" {
			return err
		}
		raw, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		relative, _ := filepath.Rel(folder, path)
		sum := sha256.Sum256(raw)
		all[relative] = hex.EncodeToString(sum[:])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// agree reports whether all records are decided, and the files are those of the ones that
// say STORED. A STORED one without its whole file is an error at any time.
func (k *traced) agree(t *testing.T) bool {
	t.Helper()
	records := k.records() // before the files: none of these is being removed
	files := filesIn(t, k.kept)
	stored := 0
	for _, r := range records {
		hash := files[fmt.Sprintf("1/%d", r.MessageID)]
		switch {
		case r.State == "PENDING":
			return false
		case r.State == "STORED" && hash != r.SHA256:
			t.Fatalf("%+v has the file %q", r, hash)
		case r.State == "STORED":
			stored++
		}
	}
	return stored == len(files)
}

// recover starts the program after a kill, and waits until files and records agree.
func (k *traced) recover(t *testing.T) {
	t.Helper()
	k.on(nil)
	k.Start()
	k.AwaitOnline("shop", k.Token)
	for _, r := range k.records() { // a GET keeps it at once; while the instance was offline it slept
		if r.State == "PENDING" {
			if a := k.Request(t, http.MethodGet, fmt.Sprintf("/instance/shop/messages/%d/media", r.MessageID), "", nil); a.Status != http.StatusOK {
				t.Errorf("%+v: %d", r, a.Status)
			}
		}
	}
	k.AwaitFor(time.Minute, "files and records agree", func() bool { return k.agree(t) })
}

// fresh removes all kept files, and the folder of the instance by a start.
func (k *traced) fresh(t *testing.T) {
	t.Helper()
	for _, r := range k.records() {
		if r.State == "STORED" {
			k.Call(consumer.Bearer(k.Token), http.MethodDelete, fmt.Sprintf("/instance/shop/messages/%d/media", r.MessageID), nil, nil)
		}
	}
	k.Kill()
	k.recover(t)
	k.Await("no folder of the instance", func() bool {
		_, err := os.Lstat(filepath.Join(k.kept, "1"))
		return errors.Is(err, fs.ErrNotExist)
	})
}
