package bench

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"postern/cli/consumer"
	"postern/e2e/rig"
)

// BenchmarkBackup makes a backup of a file of GB gigabytes (5 unless it is set) while 64
// clients make batches, one commit each, and compares with the same clients before it; then
// it restores the backup, and compares with a bare copy of the file.
func BenchmarkBackup(b *testing.B) {
	gigabytes := 5
	if n, err := strconv.Atoi(os.Getenv("GB")); err == nil {
		gigabytes = n
	}
	folder := b.TempDir()
	path, archive := filepath.Join(folder, "p.db"), filepath.Join(folder, "b.tar")
	fillLarge(b, path, int64(gigabytes)<<30)
	p := serve(b, folder, "MESSAGE_BATCH_MAX_OPEN=0")
	p.instance(b, "red")
	for b.Loop() {
		first := fileSize(b, path)
		alone, calls := clientsBeside(b, p, func() { time.Sleep(15 * time.Second) })
		each := float64(fileSize(b, path)-first) / float64(calls)
		before, size := residentMB(b, p.pid, "RssAnon:"), fileSize(b, path)
		most := &atomic.Int64{}
		took := time.Duration(0)
		beside, more := clientsBeside(b, p, func() {
			ctx, stop := context.WithCancel(b.Context())
			go func() {
				for ctx.Err() == nil {
					most.Store(max(most.Load(), int64(residentMB(b, p.pid, "RssAnon:")*1024)))
					time.Sleep(100 * time.Millisecond)
				}
			}()
			begun := time.Now()
			getBackup(b, p, archive)
			took = time.Since(begun)
			stop()
		})
		b.ReportMetric(alone.Seconds()*1000, "ms-p99-alone")
		b.ReportMetric(beside.Seconds()*1000, "ms-p99-beside")
		b.ReportMetric(float64(beside)/float64(alone), "x-alone")
		b.ReportMetric(took.Seconds(), "s-backup")
		b.ReportMetric(float64(most.Load())/1024-before, "MB-more")
		grown := float64(fileSize(b, path) - size)
		b.ReportMetric(100*grown/float64(size), "%-growth")
		b.ReportMetric(100*(grown-each*float64(more))/float64(size), "%-growth-beyond-the-clients")
	}
	p.stop()
	forget(b, archive)
	size := float64(fileSize(b, archive)) / 1e6
	begun := time.Now()
	restore(b, folder, archive)
	b.ReportMetric(size/time.Since(begun).Seconds(), "MB/s-restored")
	forget(b, archive)
	b.ReportMetric(size/readAll(b, archive).Seconds(), "MB/s-bare-read")
	b.ReportMetric(0, "ns/op")
}

// clientsBeside has 64 clients make batches for as long as do takes, and returns the 99th
// percentile of their calls and how many there were.
func clientsBeside(b *testing.B, p process, do func()) (p99 time.Duration, calls int) {
	b.Helper()
	batch := map[string]any{
		"name": "b", "instances": []string{"red"}, "recipients": []string{"4915112345678"}, "autoStart": false,
		"message": map[string]any{"type": "text", "payload": map[string]any{"text": "hello"}},
	}
	ctx, stop := context.WithCancel(b.Context())
	var mu sync.Mutex
	var all []time.Duration
	var work sync.WaitGroup
	for range 64 {
		work.Go(func() {
			var mine []time.Duration
			for ctx.Err() == nil {
				begun := time.Now()
				if err := p.api.Call(b.Context(), consumer.Bearer(p.user), http.MethodPost, "/message/batches", batch, nil); err != nil {
					b.Error(err)
					return
				}
				mine = append(mine, time.Since(begun))
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, mine...)
		})
	}
	do()
	stop()
	work.Wait()
	slices.Sort(all)
	return all[len(all)*99/100], len(all)
}

// getBackup makes the program create a backup and stores it, as a user would.
func getBackup(b *testing.B, p process, to string) {
	b.Helper()
	_ = os.Remove(to)
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.CommandContext(b.Context(), self, "backup", "--url", p.api.Base, "--key", secrets.GlobalAuthToken, to)
	cmd.Dir = filepath.Dir(to)
	cmd.Env = append(os.Environ(), rig.AsProgram+"=1")
	if said, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, said)
	}
}

func restore(b *testing.B, folder, archive string) {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.CommandContext(b.Context(), self, "restore", "--force", "--yes", archive)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), rig.AsProgram+"=1", "STORE_PATH="+filepath.Join(folder, "p.db"))
	if said, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, said)
	}
}

func fileSize(b *testing.B, path string) int64 {
	b.Helper()
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	return info.Size()
}
