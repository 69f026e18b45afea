//go:build linux

package bench

import (
	"bufio"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"postern/cli/consumer"

	"golang.org/x/sys/unix"
)

// BenchmarkFleet connects FLEET instances (2000 unless it is set), lets them rest for a minute, restarts the network under
// them, and deletes a quarter. It reports what an instance costs, what resting costs, how long it takes until all are back,
// how long nobody came back meanwhile, and what a deleted instance leaves.
func BenchmarkFleet(b *testing.B) {
	fleet := 2000
	if n, err := strconv.Atoi(os.Getenv("FLEET")); err == nil {
		fleet = n
	}
	for b.Loop() {
		file := filepath.Join(b.TempDir(), "network.db")
		n := startNetworkAt(b, "127.0.0.1:18443", file)
		r := newStationOn(b, n)
		r.pair(b) // what only the first one costs
		before := held(b)
		for range fleet - fleet/4 {
			r.pair(b)
		}
		most := held(b)
		for range fleet / 4 {
			r.pair(b)
		}
		all := held(b)
		each := float64(fleet)
		b.ReportMetric((all.rssMB-before.rssMB)*1024/each, "RSS-KB/instance")
		b.ReportMetric(float64(all.goroutines-before.goroutines)/each, "goroutines/instance")

		const rest = time.Minute
		spent := processorTime(b)
		time.Sleep(rest)
		b.ReportMetric(100*(processorTime(b)-spent).Seconds()/rest.Seconds(), "idle-%-of-a-core")

		n.end()
		r.awaitOnline(b, 0)
		r.net = startNetworkAt(b, "127.0.0.1:18443", file)
		whole, pause := r.awaitOnline(b, fleet+1)
		b.ReportMetric(whole.Seconds(), "s-until-all-are-back")
		b.ReportMetric(pause.Seconds(), "s-nobody-came-back")

		for i := len(r.names) - fleet/4; i < len(r.names); i++ {
			r.call(b, consumer.Bearer(r.tokens[i]), http.MethodDelete, "/instance/"+r.names[i], nil, nil)
		}
		left := held(b)
		quarter := float64(fleet / 4)
		b.ReportMetric(float64(left.goroutines-most.goroutines)/quarter, "goroutines-left/deleted")
		b.ReportMetric(float64(left.descriptors-most.descriptors)/quarter, "descriptors-left/deleted")
		b.ReportMetric((left.heapKB-most.heapKB)/quarter, "heap-KB-left/deleted")
	}
	b.ReportMetric(0, "ns/op")
}

type holding struct {
	used
	descriptors int
}

func held(b *testing.B) holding {
	b.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		b.Skip("needs /proc")
	}
	return holding{usedNow(b), len(open)}
}

// processorTime is what this process has used so far.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	runtime.Gosched()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// awaitOnline waits until so many instances are online, and returns how long it took
// and the longest time in between in which their number did not change.
func (r *station) awaitOnline(b *testing.B, want int) (whole, pause time.Duration) {
	b.Helper()
	begin := time.Now()
	last, changed := r.online(b), begin
	for last != want {
		if time.Since(begin) > 5*time.Minute {
			b.Fatalf("%d instances are online, not %d", last, want)
		}
		time.Sleep(50 * time.Millisecond)
		if now := r.online(b); now != last {
			pause = max(pause, time.Since(changed))
			last, changed = now, time.Now()
		}
	}
	return time.Since(begin), pause
}

// online counts the instances that are.
func (r *station) online(b *testing.B) int {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, r.api.Base+"/metrics", nil)
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set(r.key.Name, r.key.Value)
	resp, err := r.api.HTTP.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), `postern_instances{state="online"} `); ok {
			n, err := strconv.Atoi(value)
			if err != nil {
				b.Fatal(err)
			}
			return n
		}
	}
	b.Fatal("no figure for the instances that are online")
	return 0
}
