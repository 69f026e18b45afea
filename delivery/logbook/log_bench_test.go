//go:build unix

package logbook

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/delivery"
	"postern/event"
	"postern/store"
)

const millionRecords = 1_000_000

// million is a file with a million records of mixed kind, instance and state. Only the record
// in the middle matches the rare filters.
type million struct {
	*rig
	rare delivery.Record
}

func newMillion(b *testing.B) *million {
	b.Helper()
	m := &million{rig: &rig{t: b, path: filepath.Join(b.TempDir(), "d.db"), cfg: options{Log: true, MaxEntries: 2 * millionRecords, Retention: 8760 * time.Hour}}}
	m.open()
	b.Cleanup(func() { _ = m.s.Close() })
	rnd := rand.New(rand.NewPCG(1, 2))
	begin := time.Now().Add(-48 * time.Hour)
	for at := 0; at < millionRecords; at += 1000 {
		rows := make([]delivery.Flowed, 1000)
		m.update(func(tx *store.Tx) error {
			for i := range rows {
				r := mixed(rnd, uint64(at+i+1), begin.Add(time.Duration(at+i)*150*time.Millisecond))
				if at+i == millionRecords/2 {
					r.Instance, r.Lane.Instance, r.Chat, r.Duration = 4711, 4711, "5511000000000@s.whatsapp.net", 99*time.Second
					m.rare = r
				}
				rows[i] = delivery.Flowed{Record: r}
			}
			return m.l.PutFlow(tx, rows)
		})
	}
	return m
}

func mixed(rnd *rand.Rand, id uint64, at time.Time) delivery.Record {
	r := delivery.Record{
		ID: id, EventID: uuid.New(), Event: event.Catalogue()[rnd.IntN(27)].Kind, Instance: 1 + rnd.Int64N(200), Name: "shop" + strconv.Itoa(rnd.IntN(200)),
		Chat: fmt.Sprintf("55119%08d@s.whatsapp.net", rnd.IntN(50_000)), URL: "https://receiver.example/hooks/whatsapp", RequestID: uuid.NewString(),
		State: delivery.Delivered, Bytes: 700, CreatedAt: at, Attempts: 1, LastAttemptAt: at, Duration: time.Duration(rnd.IntN(800)) * time.Millisecond, LastStatus: 200,
	}
	r.Lane = delivery.LaneOf(r.Instance, event.Destination{Target: []event.Target{event.TargetWebhook, event.TargetWebhook, event.TargetGlobal, event.TargetEndpoint}[rnd.IntN(4)], Endpoint: "e" + strconv.Itoa(rnd.IntN(8))})
	switch n := rnd.IntN(100); {
	case n < 10:
		r.State, r.LastStatus, r.LastError, r.Answer = delivery.Failed, 500, "receiver answered 500", strings.Repeat("x", 200)
	case n < 12:
		r.State, r.EventSeq, r.ExpiresAt = delivery.Pending, id, at.Add(1000*time.Hour)
	case n < 13:
		r.State, r.Attempts, r.LastAttemptAt = delivery.Dropped, 0, time.Time{}
	}
	return r
}

// BenchmarkListsOfAMillionRecords reads pages with every filter, and with some combined, in the
// worst cases: few records match, or none, or most match all conditions but the last.
func BenchmarkListsOfAMillionRecords(b *testing.B) {
	m := newMillion(b)
	crm, none := "e1", "none"
	middle := m.rare.CreatedAt
	for _, c := range []struct {
		name string
		f    delivery.Filter
	}{
		{"all", delivery.Filter{}},
		{"state", delivery.Filter{States: []delivery.State{delivery.Failed, delivery.Dropped}}},
		{"state nobody has", delivery.Filter{States: []delivery.State{delivery.Cancelled}}},
		{"instance", delivery.Filter{Instance: 7, NoGlobal: true}},
		{"instance nobody has", delivery.Filter{Instance: 9999}},
		{"event", delivery.Filter{Event: event.MessagesUpsert}},
		{"target", delivery.Filter{Target: event.TargetEndpoint}},
		{"endpoint", delivery.Filter{Endpoint: &crm}},
		{"endpoint nobody has", delivery.Filter{Endpoint: &none}},
		{"from", delivery.Filter{From: middle, To: middle.Add(time.Second)}},
		{"slow", delivery.Filter{MinDuration: 790 * time.Millisecond}},
		{"slow and rare", delivery.Filter{MinDuration: 90 * time.Second}},
		{"chat", delivery.Filter{Query: "5511900000123@s.whatsapp.net"}},
		{"chat of one", delivery.Filter{Query: m.rare.Chat}},
		{"chat of nobody", delivery.Filter{Query: "nobody@lid"}},
		{"event id", delivery.Filter{Query: m.rare.EventID.String()}},
		{"request id", delivery.Filter{Query: m.rare.RequestID}},
		{"rare and common", delivery.Filter{Instance: 4711, States: []delivery.State{delivery.Delivered, delivery.Failed, delivery.Dropped}, From: middle.Add(-40 * time.Hour), MinDuration: time.Millisecond, Query: m.rare.Chat}},
		{"all at once, nothing", delivery.Filter{NoGlobal: true, States: []delivery.State{delivery.Delivered}, Event: event.CallUpsert, Target: event.TargetEndpoint, Endpoint: &crm, From: middle.Add(-40 * time.Hour), To: middle.Add(40 * time.Hour), MinDuration: time.Millisecond, Query: "nobody@lid"}},
	} {
		for _, where := range []string{"first", "middle", "back"} {
			b.Run(c.name+"/"+where, func(b *testing.B) { m.pages(b, c.f, where) })
		}
	}
}

func (m *million) pages(b *testing.B, f delivery.Filter, where string) {
	at := ""
	switch where {
	case "middle":
		at = cursor{id: millionRecords / 2}.String()
	case "back":
		at = cursor{newer: true, id: millionRecords / 2}.String()
	}
	var took []time.Duration
	cpu := cpuTime(b)
	for b.Loop() {
		began := time.Now()
		if _, err := m.log.List(context.Background(), f, at, 200); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	b.ReportMetric(float64((cpuTime(b)-cpu).Microseconds())/1000/float64(len(took)), "ms-cpu")
	reportTimes(b, took)
}

// cpuTime returns the processor time of the process, which is more reliable than the clock on
// a busy machine.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func reportTimes(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	ms := func(p float64) float64 { return float64(took[int(p*float64(len(took)-1))].Microseconds()) / 1000 }
	b.ReportMetric(ms(0.5), "ms-p50")
	b.ReportMetric(ms(0.99), "ms-p99")
	b.ReportMetric(0, "ns/op")
}

func BenchmarkCountsOfAMillionRecords(b *testing.B) {
	m := newMillion(b)
	for b.Loop() {
		if _, err := m.log.Counts(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpenWithAMillionRecords opens a file with a million records. It measures the part of
// this package, and that of the store, which reads the whole file.
func BenchmarkOpenWithAMillionRecords(b *testing.B) {
	m := newMillion(b)
	if info, err := os.Stat(m.path); err == nil {
		b.ReportMetric(float64(info.Size())/millionRecords, "bytes/record")
	}
	var whole, ours time.Duration
	for b.Loop() {
		_ = m.s.Close()
		began := time.Now()
		s, err := store.Open(store.Options{Path: m.path, Buckets: buckets(), NoSync: true, MinFree: 1})
		if err != nil {
			b.Fatal(err)
		}
		m.s = s
		opened := time.Now()
		if m.l, m.log, err = m.cfg.open(s, nil); err != nil {
			b.Fatal(err)
		}
		whole, ours = whole+time.Since(began), ours+time.Since(opened)
	}
	b.ReportMetric(float64(whole.Milliseconds())/float64(b.N), "ms-start")
	b.ReportMetric(float64(ours.Milliseconds())/float64(b.N), "ms-ledger")
	b.ReportMetric(heapMB(), "MB-heap")
	b.ReportMetric(0, "ns/op")
}

func heapMB() float64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return float64(s.HeapAlloc) / (1 << 20)
}

// BenchmarkWriteBehind measures what the log costs a delivery of the in-memory flow: the time
// of the code that delivers, and all processor time including the commits.
func BenchmarkWriteBehind(b *testing.B) {
	for _, c := range []struct {
		name  string
		state delivery.State
	}{{"delivered", delivery.Delivered}, {"failed", delivery.Failed}} {
		b.Run(c.name, func(b *testing.B) {
			r := newRig(b, options{Log: true})
			if err := r.start(b.Context()); err != nil {
				b.Fatal(err)
			}
			n, to := notice(1), oldWay()
			a := delivery.Attempt{StartedAt: time.Now(), Duration: time.Millisecond, Status: 200, RequestID: n.RequestID}
			b.ReportAllocs()
			var caller time.Duration
			for b.Loop() {
				began := time.Now()
				e := r.log.Queued(n, to)
				e.Done(c.state, a)
				caller += time.Since(began)
				if len(r.log.behind.full) > 0 {
					r.flush()
				}
			}
			if err := r.stop(b.Context()); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(caller.Nanoseconds())/float64(b.N), "ns-caller/op")
			b.ReportMetric(float64(r.log.LogDropped()), "dropped")
		})
	}
}
