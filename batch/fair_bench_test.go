package batch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/batch/record"
	"postern/event"
	"postern/store"
)

const (
	many      = 1000 // batches at once
	fewEach   = 30   // items of each
	instances = 20
)

// BenchmarkManyBatches runs 1 000 batches at once on 20 instances, which all
// come online in one moment. It reports how long the slowest batch took, how
// many items others sent at most between two of one batch, and the longest that
// one waited for its next item, each in means of all of them, and the resident
// memory that they took. Since all share their commits, a slow one is a long
// wait of every batch: only the items of others report whether turns are fair.
func BenchmarkManyBatches(b *testing.B) {
	var slowest, turns, longest, more, rate float64
	for b.Loop() {
		f := &stopwatches{}
		s, err := store.Open(store.Options{Path: filepath.Join(b.TempDir(), "b.db"), Buckets: withOutbox()})
		if err != nil {
			b.Fatal(err)
		}
		e, err := New(Config{Store: s, Outbox: replayOnly(b, s), Fleet: f, Enabled: true, NewMessageID: uuid.NewString})
		if err == nil {
			err = e.Start(b.Context())
		}
		if err != nil {
			b.Fatal(err)
		}
		made := createMany(b, e)
		before := resident(b)
		for _, id := range made {
			if _, err := e.StartBatch(b.Context(), owner, id); err != nil {
				b.Fatal(err)
			}
		}
		for _, id := range made {
			awaitStatus(b, s, e, id, func(s event.BatchStatus) bool { return s == event.BatchWaitingForInstance })
		}
		begin := time.Now()
		f.begin(begin)
		e.InstanceChanged(1, event.Online)
		for _, id := range made {
			await(b, s, e, id)
			more = max(more, resident(b)-before)
		}
		rate = many * fewEach / time.Since(begin).Seconds()
		stopEngine(b, s, e)
		slowest, turns, longest = f.unfairness()
	}
	b.ReportMetric(slowest, "slowest/mean")
	b.ReportMetric(turns, "most-others/mean")
	b.ReportMetric(longest, "longest-wait/mean")
	b.ReportMetric(more, "RSS-MB-more")
	b.ReportMetric(rate, "items/s")
	b.ReportMetric(0, "ns/op")
}

func createMany(b *testing.B, e *Engine) (made []uuid.UUID) {
	b.Helper()
	for n := range many {
		req := draftOf(0)
		req.Instances = nil
		for i := range instances {
			req.Instances = append(req.Instances, record.InstanceRef{ID: int64(i + 1), Name: fmt.Sprint("i", i+1)})
		}
		for i := range fewEach {
			req.Recipients = append(req.Recipients, fmt.Sprintf("%04d%07d", n+1000, i))
		}
		v, err := e.Create(b.Context(), owner, req)
		if err != nil {
			b.Fatal(err)
		}
		made = append(made, v.ID)
	}
	return made
}

// stopwatches is a fleet that sends at once and takes the time of each batch,
// which the first four digits of its recipients tell.
type stopwatches struct {
	mu    sync.Mutex
	start time.Time
	last  [many]time.Time
	waits []time.Duration
	sent  int       // items of all batches
	turn  [many]int // sent at each batch's last item
	turns []int     // items sent from one of a batch to its next
}

// Instance is online once begin was called.
func (f *stopwatches) Instance(int64) (string, event.State, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.start.IsZero() {
		return "i", event.Offline, true
	}
	return "i", event.Online, true
}

func (*stopwatches) Gate(Question) Gate { return Gate{} }

func (f *stopwatches) Send(_ context.Context, _ int64, out event.Outgoing) (Receipt, error) {
	n, _ := strconv.Atoi(out.To[:4])
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sent++
	last, turn := &f.last[n-1000], &f.turn[n-1000]
	if *turn > 0 {
		f.waits, f.turns = append(f.waits, now.Sub(*last)), append(f.turns, f.sent-*turn)
	}
	*last, *turn = now, f.sent
	return Receipt{WhatsAppID: out.ID, RecipientJID: out.To}, nil
}

// begin is called when all batches wait.
func (f *stopwatches) begin(at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.start = at
}

// unfairness returns the time of the slowest batch, the most items that were
// sent from one of a batch to its next, and the longest wait for one, each in
// means.
func (f *stopwatches) unfairness() (slowest, turns, longest float64) {
	var took []time.Duration
	for _, end := range f.last {
		took = append(took, end.Sub(f.start))
	}
	return largestInMeans(took), largestInMeans(f.turns), largestInMeans(f.waits)
}

func largestInMeans[T int | time.Duration](all []T) float64 {
	var sum, most T
	for _, d := range all {
		sum, most = sum+d, max(most, d)
	}
	return float64(most) * float64(len(all)) / float64(sum)
}

// resident returns the resident memory of this process in MB.
func resident(b *testing.B) float64 {
	b.Helper()
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Skip("needs /proc")
	}
	pages, _ := strconv.Atoi(strings.Fields(string(raw))[1])
	return float64(pages*os.Getpagesize()) / (1 << 20)
}
