//go:build linux

package bench

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"postern/cli/consumer"
	"postern/e2e/bare"

	wastore "go.mau.fi/whatsmeow/store"
	"golang.org/x/sys/unix"
)

// BenchmarkFleet connects FLEET instances (2000 unless it is set) of the program in a process
// of its own, lets them rest for a minute beside a quarter as many clients of the library alone
// in this one, restarts the network under them, deletes a quarter, and starts the program again.
// It reports what an instance costs, what resting costs, both also as a ratio to a bare client,
// how long it takes until all are back, the longest time without a reconnect, and what a deleted
// instance leaves.
func BenchmarkFleet(b *testing.B) {
	fleet := 2000
	if n, err := strconv.Atoi(os.Getenv("FLEET")); err == nil {
		fleet = n
	}
	for b.Loop() {
		file, folder := filepath.Join(b.TempDir(), "network.db"), b.TempDir()
		n := startNetworkAt(b, "127.0.0.1:18443", file)
		r, p := newProgramIn(b, n, folder)
		r.pair(b) // what only the first one costs
		before := r.held(b)
		for range fleet - fleet/4 {
			r.pair(b)
		}
		most := r.held(b)
		for range fleet / 4 {
			r.pair(b)
		}
		ownBefore := residentMB(b, os.Getpid(), "VmRSS:")
		alone := bareClients(b, n, "memory", fleet/4, 620, func(int) *wastore.Device { return bare.NewDevice() })

		const rest = time.Minute
		spent, spentAlone := processorOf(b, r.process), alone.cpu()
		time.Sleep(rest)
		idle, idleAlone := (processorOf(b, r.process)-spent).Seconds()/rest.Seconds(), (alone.cpu()-spentAlone).Seconds()/rest.Seconds()
		all := r.held(b)
		each, quarter := float64(fleet), float64(fleet/4)
		aloneKB := (residentMB(b, os.Getpid(), "VmRSS:") - ownBefore) * 1024 / quarter
		b.ReportMetric((all.rssMB-before.rssMB)*1024/each, "RSS-KB/instance")
		b.ReportMetric((all.fileMB-before.fileMB)*1024/each, "RSS-KB-of-files/instance")
		b.ReportMetric((all.rssMB-before.rssMB)*1024/each/aloneKB, "RSS-x-bare-client")
		b.ReportMetric((all.heapKB-before.heapKB)/each, "heap-KB/instance")
		b.ReportMetric((all.goroutines-before.goroutines)/each, "goroutines/instance")
		b.ReportMetric(100*idle, "idle-%-of-a-core")
		b.ReportMetric(idle/each/(idleAlone/quarter), "idle-x-bare-client")

		n.end()
		r.awaitOnline(b, 0)
		r.net = startNetworkAt(b, "127.0.0.1:18443", file)
		whole, pause := r.awaitOnline(b, fleet+1)
		b.ReportMetric(whole.Seconds(), "s-until-all-are-back")
		b.ReportMetric(pause.Seconds(), "s-longest-gap")

		for i := len(r.names) - fleet/4; i < len(r.names); i++ {
			r.call(b, consumer.Bearer(r.tokens[i]), http.MethodDelete, "/instance/"+r.names[i], nil, nil)
		}
		time.Sleep(15 * time.Second) // timers of theirs run out
		left := r.held(b)
		b.ReportMetric((left.goroutines-most.goroutines)/quarter, "goroutines-left/deleted")
		b.ReportMetric(float64(left.descriptors-most.descriptors)/quarter, "descriptors-left/deleted")
		b.ReportMetric((left.heapKB-most.heapKB)/quarter, "heap-KB-left/deleted")

		p.stop()
		r, _ = newProgramIn(b, r.net, folder)
		r.awaitOnline(b, fleet-fleet/4+1)
		time.Sleep(rest)
		b.ReportMetric((r.held(b).rssMB-before.rssMB)*1024/(each-quarter), "RSS-KB/instance-after-a-start")
	}
	b.ReportMetric(0, "ns/op")
}

// holding is what the program holds.
type holding struct {
	goroutines, heapKB, rssMB float64 // the heap with stacks, as the last collection found it
	fileMB                    float64 // of rssMB: pages of files, which the system may take back
	descriptors               int
}

func (r *station) held(b *testing.B) holding {
	b.Helper()
	time.Sleep(time.Second)                                                // what the logins left to do
	for turns, n := r.collections(b), 0; r.collections(b) < turns+2; n++ { // what one of them passed over goes with the next
		if n == 100_000 {
			b.Fatal("the collector has no turn")
		}
	}
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", r.process))
	if err != nil {
		b.Skip("needs /proc")
	}
	inUse := r.metric(b, "go_memstats_next_gc_bytes") / (1 + r.metric(b, "go_gc_gogc_percent")/100)
	return holding{r.metric(b, "go_goroutines"), inUse / 1024, residentMB(b, r.process, "VmRSS:"), residentMB(b, r.process, "RssFile:"), len(open)}
}

func (r *station) collections(b *testing.B) float64 {
	b.Helper()
	return r.metric(b, "go_gc_duration_seconds_count")
}

// newProgramIn is newProgram on the data file of a folder.
func newProgramIn(b *testing.B, n *network, folder string) (*station, process) {
	b.Helper()
	var env []string
	for name, value := range n.env {
		env = append(env, name+"="+value)
	}
	p := serve(b, folder, env...)
	return &station{api: p.api, net: n, key: p.key, user: p.user, process: p.pid}, p
}

// processorTime returns what this process has used so far.
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
