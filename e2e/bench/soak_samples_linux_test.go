package bench

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// sample is what the program held at one moment.
type sample struct {
	after       time.Duration
	anonMB      float64 // resident memory that is not the file's
	fileMB      float64 // the data file on the disk
	descriptors int
	goroutines  int
	delivered   int64         // at the healthy destinations, so far
	sent        int64         // events, so far
	behind      time.Duration // of the healthy destination that is last
	last        int           // that destination
	commits     float64       // so far
	writing     float64       // seconds that they took in writing and fsync, so far
}

// watch takes samples until ctx ends, or a healthy destination is as far behind as
// makes what waits for it expire, where no rest of the run would help it.
func (s *soak) watch(ctx context.Context, every time.Duration) (samples []sample) {
	begin := time.Now()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return samples
		case <-tick.C:
			samples = append(samples, s.look(time.Since(begin)))
			if now := samples[len(samples)-1]; now.behind > maxAge {
				s.Errorf("after %v a healthy destination is %v behind, that numbered %d", now.after, now.behind, now.last)
				return samples
			}
		}
	}
}

func (s *soak) look(after time.Duration) sample {
	s.Helper()
	proc := fmt.Sprintf("/proc/%d", s.w.Cmd.Process.Pid)
	open, err := os.ReadDir(filepath.Join(proc, "fd"))
	if err != nil {
		s.Fatalf("%v; the program said:\n%s", err, s.w.Output)
	}
	info, err := os.Stat(s.w.DataFile())
	if err != nil {
		s.Fatal(err)
	}
	now := sample{
		after: after, anonMB: residentMB(s.T, s.w.Cmd.Process.Pid, "RssAnon:"), fileMB: float64(info.Size()) / (1 << 20),
		descriptors: len(open), goroutines: int(s.w.Metric("go_goroutines")),
		commits: s.w.Metric("postern_store_commits_total"), writing: s.w.Metric("postern_store_write_seconds_total"),
	}
	if now.anonMB == 0 {
		s.Fatal("no RssAnon in /proc")
	}
	for i := range s.sent {
		now.sent += s.sent[i].Load()
	}
	for k, r := range s.got {
		if k != dead && k != slow {
			now.delivered += r.count()
			// Of texts, since a presence may be without a recipient (settleDown).
			missing := s.texts[k/2].Load() - r.texts.Load()
			if behind := time.Duration(float64(missing*textsOf) / s.rate * float64(time.Second)); behind > now.behind {
				now.behind, now.last = behind, k
			}
		}
	}
	return now
}

// report writes a table of ten rows, and the rates.
func (s *soak) report(samples []sample, long time.Duration) {
	s.Helper()
	if len(samples) == 0 {
		s.Fatal("no samples")
	}
	last := samples[len(samples)-1]
	s.Logf("%d events in %v, %.0f a second; the dead destination was asked %d times, the slow one took %d",
		last.sent, long, float64(last.sent)/last.after.Seconds(), s.got[dead].requests.Load(), s.got[slow].count())
	var table strings.Builder
	table.WriteString("| After | Events | Delivered (8 healthy) | Behind, s (which) | Commits a second | One, ms | Memory, MB | Descriptors | Goroutines | File, MB |\n|---|---|---|---|---|---|---|---|---|---|\n")
	var before sample
	for i := range 10 {
		one := samples[max(0, (i+1)*len(samples)/10-1)]
		commits := max(1, one.commits-before.commits)
		fmt.Fprintf(&table, "| %v | %d | %d | %.1f (%d) | %.0f | %.2f | %.0f | %d | %d | %.0f |\n", one.after.Round(time.Second), one.sent, one.delivered, one.behind.Seconds(), one.last,
			commits/max(1, (one.after-before.after).Seconds()), (one.writing-before.writing)/commits*1000, one.anonMB, one.descriptors, one.goroutines, one.fileMB)
		before = one
	}
	s.Logf("\n%s", table.String())
}

// judge holds the last third of the run against the third before it, when what
// is kept has come round: what grows with time grows on.
func (s *soak) judge(samples []sample) {
	s.Helper()
	third := len(samples) / 3
	if samples[third].after < 10*time.Minute {
		s.Log("too short to say whether anything grows")
		return
	}
	before, after := samples[third:2*third], samples[2*third:]
	for _, f := range []struct {
		name  string
		of    func(sample) float64
		slack float64 // above which it has grown
	}{
		{"seconds that the last healthy destination is behind", func(x sample) float64 { return x.behind.Seconds() }, 2},
		{"memory in MB", func(x sample) float64 { return x.anonMB }, 16},
		{"descriptors", func(x sample) float64 { return float64(x.descriptors) }, 16},
		{"goroutines", func(x sample) float64 { return float64(x.goroutines) }, 32},
		{"size of the file in MB", func(x sample) float64 { return x.fileMB }, 32},
	} {
		was, is := median(before, f.of), median(after, f.of)
		if is > was*1.1+f.slack {
			s.Errorf("%s grew from %.0f to %.0f", f.name, was, is)
		}
	}
}

func median(samples []sample, of func(sample) float64) float64 {
	values := make([]float64, 0, len(samples))
	for _, one := range samples {
		values = append(values, of(one))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

func receives(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv.URL
}
