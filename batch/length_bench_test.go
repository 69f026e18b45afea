package batch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/batch/table"
	"postern/event"
	"postern/store"
)

// BenchmarkItemTimes runs a batch of 100 000 and reports the median time of an
// item, in bare commits of the same minute, around the 1 000th and around the
// 99 000th. What lies between is sent without fsync, to save time. The
// environment variable BENCH_FINISHED_ITEMS puts so many finished items into the
// file before, in batches of 100 000.
func BenchmarkItemTimes(b *testing.B) {
	const part = 2000
	finished, _ := strconv.Atoi(os.Getenv("BENCH_FINISHED_ITEMS"))
	var early, late float64
	var ratios []float64
	for b.Loop() {
		l := &timedRun{path: filepath.Join(b.TempDir(), "b.db")}
		l.open(b, true)
		for range finished / large {
			finishedBatch(b, l.s, l.e, large, 0)
		}
		v, err := l.e.Create(b.Context(), owner, draftOf(large))
		if err != nil {
			b.Fatal(err)
		}
		l.id = v.ID
		stopEngine(b, l.s, l.e)
		l.flush(b)
		bare := l.runTo(b, part, false)
		early = float64(medianStep(l.at[:part])) / float64(bare)
		l.runTo(b, large-part, true)
		l.flush(b)
		bare = l.runTo(b, large, false)
		late = float64(medianStep(l.at[large-part:])) / float64(bare)
		ratios = append(ratios, late/early)
	}
	slices.Sort(ratios)
	b.ReportMetric(early, "commits/item-1000")
	b.ReportMetric(late, "commits/item-99000")
	b.ReportMetric(ratios[len(ratios)/2], "late/early")
	b.ReportMetric(0, "ns/op")
}

// timedRun is one batch that is sent over several lives of the program. It is
// its own fleet, which sends at once and keeps nothing but the time, so that it
// is as fast at the end as at the beginning.
type timedRun struct {
	path  string
	s     *store.Store
	e     *Engine
	id    uuid.UUID
	at    []time.Time
	until int
	there chan struct{} // closed when that many were sent
}

func (*timedRun) Instance(int64) (string, event.State, bool) { return "i", event.Online, true }

func (*timedRun) Gate(Question) Gate { return Gate{} }

func (l *timedRun) Send(_ context.Context, _ int64, out event.Outgoing) (Receipt, error) {
	if l.at = append(l.at, time.Now()); len(l.at) == l.until {
		close(l.there)
	}
	return Receipt{WhatsAppID: out.ID, RecipientJID: out.To}, nil
}

func (l *timedRun) open(b *testing.B, noSync bool) {
	b.Helper()
	var err error
	l.s, err = store.Open(store.Options{Path: l.path, Buckets: withOutbox(), NoSync: noSync})
	if err == nil {
		l.e, err = New(Config{Store: l.s, Outbox: replayOnly(b, l.s), Fleet: l, Enabled: true, NewMessageID: func() string { return "3EB0C7A1D2E3F4051627" }})
	}
	if err == nil {
		err = l.e.Start(b.Context())
	}
	if err != nil {
		b.Fatal(err)
	}
}

// runTo continues until so many items are sent, pauses, and returns the median
// of bare commits before and after.
func (l *timedRun) runTo(b *testing.B, until int, noSync bool) (bare time.Duration) {
	b.Helper()
	l.until, l.there = until, make(chan struct{})
	l.open(b, noSync)
	defer stopEngine(b, l.s, l.e)
	times := someCommits(b, l.s)
	if _, err := l.e.StartBatch(b.Context(), owner, l.id); err != nil {
		b.Fatal(err)
	}
	<-l.there
	if until < large {
		if _, err := l.e.Pause(b.Context(), owner, l.id); err != nil {
			b.Fatal(err)
		}
	}
	awaitStatus(b, l.s, l.e, l.id, func(s event.BatchStatus) bool { return s == event.BatchIsPaused || table.Final(s) })
	times = append(times, someCommits(b, l.s)...)
	slices.Sort(times)
	return times[len(times)/2]
}

// flush writes out what was not synced, so that nothing else waits for it.
func (l *timedRun) flush(b *testing.B) {
	b.Helper()
	f, err := os.OpenFile(l.path, os.O_RDWR, 0)
	if err == nil {
		err = errors.Join(f.Sync(), f.Close())
	}
	if err != nil {
		b.Fatal(err)
	}
}

func someCommits(b *testing.B, s *store.Store) []time.Duration {
	end := make(chan struct{})
	time.AfterFunc(300*time.Millisecond, func() { close(end) })
	return commitTimes(b, s, end)
}

func medianStep(at []time.Time) time.Duration {
	var steps []time.Duration
	for i := range at[1:] {
		steps = append(steps, at[i+1].Sub(at[i]))
	}
	slices.Sort(steps)
	return steps[len(steps)/2]
}
