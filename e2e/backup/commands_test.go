package backup

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
	"postern/internal/nightly"
)

func TestBackupOfRunningAndStoppedProgram(t *testing.T) {
	t.Parallel() // it waits more than it works
	o := rig.NewOperator(t)
	o.Pair("red")
	before := o.Files()
	file := filepath.Join(t.TempDir(), "b.tar")
	o.Says(0, "1 instance, 0 batches", "backup", file)
	o.Says(1, "already exists", "backup", file)
	o.Says(2, "FILE is missing", "backup")
	o.Says(2, "FILE is missing", "backup", "")
	o.Says(2, "unexpected argument", "backup", "a", "b")
	o.Says(2, "not an age recipient", "backup", "--recipient", "bob", file+"2")
	o.Says(2, "--url must be", "backup", "--url", "example.org", file+"2")
	o.Says(1, "UNAUTHORIZED", "backup", "--url", o.API.Base, "--key", "not the key at all", file+"2")
	o.Says(1, "connection refused", "backup", "--url", "http://127.0.0.1:1", "--key", "k", file+"2")
	o.Says(1, "no such file or directory", "backup", filepath.Join(file+"-nowhere", "b.tar"))
	out := o.Says(0, "", "backup", "-")
	if !strings.HasPrefix(out, "manifest.json") {
		t.Errorf("standard output begins with %.40q", out)
	}
	if _, err := os.Stat(file + "2"); err == nil {
		t.Error("a backup that failed left a file")
	}
	o.Untouched(before)
	o.Stop()
	o.Says(0, "1 instance, 0 batches", "backup", file+"-stopped")
	o.Says(0, "without secrets", "backup", "--without-secrets", file+"-bare")
	for path, want := range map[string][]string{
		file: {"manifest.json", "postern.db", "secrets.json"}, file + "-stopped": {"manifest.json", "postern.db", "secrets.json"},
		file + "-bare": {"manifest.json", "postern.db"},
	} {
		if got := members(t, path); !slices.Equal(got, want) {
			t.Errorf("%s holds %v", path, got)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
	o.Says(0, "1 instance", "restore", "--force", "--yes", file+"-bare")
}

func members(t *testing.T, path string) (names []string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
	}
}

func TestARestoreRefusesWhatWouldLoseSomething(t *testing.T) {
	o := rig.NewOperator(t)
	token := o.Pair("red")
	folder := t.TempDir()
	file := filepath.Join(folder, "b.tar")
	o.Says(0, "1 instance", "backup", file)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(folder, "cut.tar")
	flipped, longer := filepath.Join(folder, "flipped.tar"), filepath.Join(folder, "longer.tar")
	if err := errors.Join(os.WriteFile(longer, append(bytes.Clone(whole), whole...), 0o600), os.WriteFile(cut, whole[:len(whole)/2], 0o600), os.WriteFile(flipped, flip(whole, len(whole)/2), 0o600)); err != nil {
		t.Fatal(err)
	}
	o.Says(1, "a program is running", "restore", "--force", "--yes", file)
	o.Stop()
	before := o.Files()
	o.Says(2, "FILE is missing", "restore")
	o.Says(1, "--force moves it aside", "restore", file)
	o.Says(2, "add --yes", "restore", "--force", file)
	o.Says(1, "damaged or truncated", "restore", "--force", "--yes", cut)
	o.Says(1, "damaged", "restore", "--force", "--yes", flipped)
	o.Says(1, "unexpected data after its end", "restore", "--force", "--yes", longer)
	o.Says(1, "no such file", "restore", "--force", "--yes", file+"-none")
	o.Says(1, "not a backup of Postern", "restore", "--force", "--yes", o.DataFile())
	o.Says(1, "--identity", "restore", "--force", "--yes", "--identity", file+"-none", file)
	o.Untouched(before)

	if err := os.Remove(o.DataFile()); err != nil {
		t.Fatal(err)
	}
	o.Says(1, "damaged or truncated", "restore", cut)
	o.Says(0, "1 paired account goes on", "restore", file) // nothing is there: nothing has to be forced
	o.Start()
	o.AwaitOnline("red", token)
	o.Stop()
	if left := o.Files(); slices.ContainsFunc(left, func(name string) bool { return strings.Contains(name, "unfinished") }) {
		t.Errorf("left behind: %v", left)
	}
}

func flip(raw []byte, at int) []byte {
	raw = bytes.Clone(raw)
	raw[at] ^= 4
	return raw
}

func TestEncryptedBackupNeedsItsIdentity(t *testing.T) {
	o := rig.NewOperator(t)
	o.Pair("red")
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	other, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	file, key, wrong := filepath.Join(folder, "b.tar.age"), filepath.Join(folder, "key.txt"), filepath.Join(folder, "wrong.txt")
	if err := errors.Join(os.WriteFile(key, []byte("# mine\n"+id.String()+"\n"), 0o600), os.WriteFile(wrong, []byte(other.String()+"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	o.Says(0, "encrypted", "backup", "--recipient", id.Recipient().String(), "--recipient", other.Recipient().String(), file)
	o.Stop()
	o.Says(0, "encrypted", "backup", "--recipient", id.Recipient().String(), file+"2")
	for _, path := range []string{file, file + "2"} {
		raw, err := os.ReadFile(path)
		if err != nil || bytes.Contains(raw, []byte("postern.db")) || bytes.Contains(raw, []byte(o.Sec.JWTSecret)) {
			t.Errorf("%s is not encrypted (%v)", path, err)
		}
	}
	o.Says(1, "pass the identity file with --identity", "restore", "--force", "--yes", file)
	o.Says(1, "any of the identities", "restore", "--force", "--yes", "--identity", wrong, file+"2")
	o.Says(1, "no private key of age", "restore", "--force", "--yes", "--identity", file, file)
	o.Says(0, "1 paired account goes on", "restore", "--force", "--yes", "--identity", key, file)
	o.Says(0, "1 paired account goes on", "restore", "--force", "--yes", "--identity", key, file+"2")
}

func TestWithoutRoomABackupOrRestoreLeavesNothing(t *testing.T) {
	o := rig.NewOperator(t)
	o.Pair("red")
	tiny := rig.SmallDisk(t, "64k")
	o.Says(1, "no space left", "backup", filepath.Join(tiny, "b.tar"))
	if left, _ := os.ReadDir(tiny); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	file := filepath.Join(t.TempDir(), "b.tar")
	o.Says(0, "", "backup", file)
	o.Stop()
	there := rig.SmallDisk(t, "100k")
	status, said := rig.Program(t, o.Folder, append(o.Environment(), "STORE_PATH="+filepath.Join(there, "postern.db")), "restore", file)
	if status != 1 || !strings.Contains(said, "no space left") {
		t.Errorf("restore: %d %s", status, said)
	}
	if left, _ := os.ReadDir(there); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestAnInterruptedBackupOrRestoreLeavesNothing sends SIGINT at many moments.
func TestAnInterruptedBackupOrRestoreLeavesNothing(t *testing.T) {
	o := rig.NewOperator(t)
	token := o.Pair("red")
	for range 4 { // some megabytes
		o.CreateBatchWith("big", []string{"red"}, numbers(5000), strings.Repeat("x", 4000))
	}
	folder := t.TempDir()
	file := filepath.Join(folder, "b.tar")
	took := timed(func() { o.Says(0, "", "backup", file) })
	moments := nightly.Or[time.Duration](8, 20)
	interrupted := 0
	for n := range moments {
		before := o.Files()
		if ended(o, os.Interrupt, took*n/moments, "backup", filepath.Join(folder, "again.tar")) {
			interrupted++
			if left, _ := filepath.Glob(filepath.Join(folder, "again*")); len(left) > 0 {
				t.Fatalf("%d/%d of the time: %v", n, moments, left)
			}
		}
		_ = os.Remove(filepath.Join(folder, "again.tar"))
		o.Await("the snapshot to be gone", func() bool { return slices.Equal(before, o.Files()) })
	}
	o.Stop()
	took = timed(func() { o.Says(0, "", "restore", "--force", "--yes", file) })
	for n := range moments {
		before := o.Files()
		if ended(o, os.Interrupt, took*n/moments, "restore", "--force", "--yes", file) {
			interrupted++
			o.Untouched(before)
		}
	}
	if interrupted < 4 {
		t.Errorf("only %d were interrupted before their end", interrupted)
	}
	o.Start()
	o.AwaitOnline("red", token)
	o.Stop()
}

func numbers(n int) (all []string) {
	for i := range n {
		all = append(all, "49151700"+string(rune('0'+i/1000%10))+string(rune('0'+i/100%10))+string(rune('0'+i/10%10))+string(rune('0'+i%10)))
	}
	return all
}

func timed(do func()) time.Duration {
	began := time.Now()
	do()
	return time.Since(began)
}

// ended runs a command and sends it a signal; it reports whether that came before the
// end.
func ended(o *rig.Operator, with os.Signal, after time.Duration, args ...string) bool {
	status, _ := o.Signalled(with, after, nil, args...)
	return status != 0
}

// TestAKilledRestoreLeavesOneOfBothFiles kills at many moments: a data file is always
// there, and it is whole.
func TestAKilledRestoreLeavesOneOfBothFiles(t *testing.T) {
	o := rig.NewOperator(t)
	token := o.Pair("red")
	o.CreateBatchWith("big", []string{"red"}, numbers(5000), strings.Repeat("x", 4000))
	file := filepath.Join(t.TempDir(), "b.tar")
	o.Says(0, "", "backup", file)
	o.Stop()
	took := timed(func() { o.Says(0, "", "restore", "--force", "--yes", file) })
	moments, killed := nightly.Or[time.Duration](8, 20), 0
	for n := range moments {
		if ended(o, os.Kill, took*n/moments, "restore", "--force", "--yes", file) {
			killed++
		}
		o.Says(0, "no fault", "check")
	}
	if killed < 3 {
		t.Errorf("only %d were killed before their end", killed)
	}
	o.Says(0, "1 paired account goes on", "restore", "--force", "--yes", file)
	if left := o.Files(); slices.ContainsFunc(left, func(name string) bool { return strings.Contains(name, "unfinished") }) {
		t.Errorf("left behind: %v", left)
	}
	o.Start()
	o.AwaitOnline("red", token)
	o.Stop()
}

// TestRestoredBatchWaitsForAStart makes a backup in the middle of a batch.
func TestRestoredBatchWaitsForAStart(t *testing.T) {
	t.Parallel() // it waits more than it works
	for _, resume := range []bool{false, true} {
		o := rig.NewOperator(t)
		token := o.Pair("red")
		b := o.CreateBatchOf(map[string]any{
			"name": "slow", "instances": []string{"red"}, "recipients": numbers(30), "autoResume": true,
			"message": map[string]any{"type": "text", "payload": map[string]any{"text": "for slow"}},
			"options": map[string]any{"delay": map[string]any{"minMs": 100, "maxMs": 100}},
		})
		o.Await("some messages", func() bool { return o.Batch(b.ID).Counts.Success > 3 })
		file := filepath.Join(t.TempDir(), "b.tar")
		o.Says(0, "1 batch", "backup", file)
		o.Await("some more", func() bool { return o.Batch(b.ID).Counts.Success > 12 })
		o.Kill()
		args := []string{"restore", "--force", "--yes", file}
		if resume {
			args = append(args, "--resume-batches")
		}
		o.Says(0, "1 batch", args...)
		o.Start()
		o.AwaitOnline("red", token)
		if resume {
			o.Await("the batch to go on by itself", func() bool { return o.Batch(b.ID).Counts.Pending == 0 })
			o.Stop()
			continue
		}
		time.Sleep(2 * time.Second)
		var is struct {
			Status             event.BatchStatus
			InterruptionReason *string
		}
		o.Call(consumer.Bearer(o.User), http.MethodGet, "/message/batches/"+b.ID.String(), nil, &is)
		if is.Status != event.BatchIsInterrupted || is.InterruptionReason == nil || *is.InterruptionReason != "RESTORED" {
			t.Errorf("the batch is %+v", is)
		}
		o.Stop()
		o.Start() // another start changes nothing about it
		o.AwaitOnline("red", token)
		if got := o.Batch(b.ID); got.Status != event.BatchIsInterrupted {
			t.Errorf("after another start the batch is %s", got.Status)
		}
		o.Call(consumer.Bearer(o.User), http.MethodPost, "/message/batches/"+b.ID.String()+"/start", nil, nil)
		o.Await("the end after a call", func() bool { return o.Batch(b.ID).Counts.Pending == 0 })
		o.Stop()
	}
}

// TestBackupsAreMadeByThemselves sets backup.every and looks at what an operator sees.
func TestBackupsAreMadeByThemselves(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	folder := filepath.Join(t.TempDir(), "backups")
	o := rig.NewOperator(t, "BACKUP_DIR="+folder, "BACKUP_EVERY=1h")
	var made []string
	o.Await("the first backup", func() bool {
		made, _ = filepath.Glob(filepath.Join(folder, "postern-*.tar"))
		return len(made) == 1
	})
	if got := members(t, made[0]); !slices.Equal(got, []string{"manifest.json", "postern.db", "secrets.json"}) {
		t.Errorf("it holds %v", got)
	}
	o.Await("the metric, which comes after the file", func() bool {
		return time.Since(time.Unix(int64(o.Metric("postern_backup_last_success_timestamp_seconds")), 0)) < time.Minute
	})
	o.Stop()

	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(folder, []byte("a file in its place"), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Start()
	o.Await("the warning", func() bool {
		var is struct{ Warnings []string }
		_ = o.API.Call(t.Context(), consumer.Credential{}, http.MethodGet, "/ready", nil, &is)
		return slices.ContainsFunc(is.Warnings, func(w string) bool { return strings.Contains(w, "backup") })
	})
	if last := o.Metric("postern_backup_last_success_timestamp_seconds"); last != 0 {
		t.Errorf("the metric says %v, and there is none", last)
	}
	o.Stop()
	if said := o.Output.String(); !strings.Contains(said, "backup failed; retrying") {
		t.Errorf("the log says nothing:\n%s", said)
	}
}

// TestSlowBackupReaderDelaysNoRequest reads an archive a little at a time while
// others write, and never reads another one to its end.
func TestSlowBackupReaderDelaysNoRequest(t *testing.T) {
	o := rig.NewOperator(t)
	o.Pair("red")
	o.CreateBatchWith("big", []string{"red"}, numbers(5000), strings.Repeat("x", 3000))
	ask := func() *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, o.API.Base+"/admin/backup", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("apikey", o.Sec.GlobalAuthToken)
		resp, err := http.DefaultClient.Do(req)
		if err != nil || resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "application/x-tar" {
			t.Fatalf("%v %v", resp, err)
		}
		return resp
	}
	first, second := ask(), ask() // the snapshot of the first is done, so that a second one is made
	before := o.Metric("postern_store_file_bytes")
	for range 20 {
		var created struct{ ID string }
		o.Call(consumer.Bearer(o.User), http.MethodPost, "/message/batches", map[string]any{
			"name": "b", "instances": []string{"red"}, "recipients": numbers(100), "autoStart": false,
			"message": map[string]any{"type": "text", "payload": map[string]any{"text": "x"}},
		}, &created)
	}
	if _, err := io.CopyN(io.Discard, first.Body, 1000); err != nil {
		t.Fatal(err)
	}
	_ = first.Body.Close()
	raw, err := io.ReadAll(second.Body)
	if err != nil {
		t.Fatal(err)
	}
	_ = second.Body.Close()
	var m struct{ Members []struct{ Size int } }
	r := tar.NewReader(bytes.NewReader(raw))
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(r).Decode(&m); err != nil || len(m.Members) != 2 {
		t.Errorf("manifest %+v %v", m, err)
	}
	o.Await("the copies to be gone", func() bool {
		return !slices.ContainsFunc(o.Files(), func(name string) bool { return strings.Contains(name, ".new-") })
	})
	if after := o.Metric("postern_store_file_bytes"); after > before*2 {
		t.Errorf("the file grew from %v to %v bytes beside a slow reader", before, after)
	}
	var refused struct{ Code string }
	status, answer := o.Raw(consumer.Key(o.Sec.GlobalAuthToken), http.MethodPost, "/admin/backup", `{"recipients":["x"]}`)
	if err := json.Unmarshal([]byte(answer), &refused); err != nil || status != 422 || refused.Code != "INVALID_BACKUP_RECIPIENT" {
		t.Errorf("a recipient that is none: %d %s", status, answer)
	}
	if status, _ := o.Raw(consumer.Key("wrong"), http.MethodPost, "/admin/backup", ""); status != 401 {
		t.Errorf("with a wrong key: %d", status)
	}
	if status, _ := o.Raw(consumer.Bearer(o.User), http.MethodPost, "/admin/backup", ""); status != 401 {
		t.Errorf("with a user's token: %d", status)
	}
	o.Stop()
}

// TestTheFileOfARunningProgramIsChecked flips a byte of a value under a running program.
func TestTheFileOfARunningProgramIsChecked(t *testing.T) {
	o := rig.NewOperator(t)
	o.Pair("red")
	o.CreateBatchWith("marked-batch-name", []string{"red"}, numbers(3), "hello")
	before := o.Files()
	o.Says(0, "no fault", "check")
	o.Kill()
	raw, err := os.ReadFile(o.DataFile())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(raw, []byte("marked-batch-name")) {
		t.Fatal("the batch is not in the file")
	}
	for i := bytes.Index(raw, []byte("marked-batch-name")); i >= 0; {
		raw[i] ^= 0x7
		next := bytes.Index(raw[i+1:], []byte("marked-batch-name"))
		if next < 0 {
			break
		}
		i += 1 + next
	}
	if err := os.WriteFile(o.DataFile(), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	o.Says(1, "batch_spec", "check")
	o.Start()
	o.Says(1, "batch_spec", "check")
	o.Untouched(before)
	status, answer := o.Raw(consumer.Key(o.Sec.GlobalAuthToken), http.MethodPost, "/admin/check", "")
	var report struct {
		Buckets, Records, Bytes int
		Faults                  []string
	}
	if err := json.Unmarshal([]byte(answer), &report); err != nil || status != 200 || report.Buckets < 60 || report.Records < 10 || report.Bytes < 4096 || len(report.Faults) == 0 {
		t.Errorf("%d %s", status, answer)
	}
	o.Stop()
}
