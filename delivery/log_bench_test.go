//go:build unix

package delivery

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

	"postern/event"
	"postern/store"
)

const millionRecords = 1_000_000

// million is a file with a million records of mixed kind, instance and state. Only the record
// in the middle matches the rare filters.
type million struct {
	*rig
	rare Record
}

func newMillion(b *testing.B) *million {
	b.Helper()
	m := &million{rig: &rig{t: b, path: filepath.Join(b.TempDir(), "d.db"), cfg: Config{Log: true, MaxEntries: 2 * millionRecords, Retention: 8760 * time.Hour}}}
	m.open()
	b.Cleanup(func() { _ = m.s.Close() })
	rnd := rand.New(rand.NewPCG(1, 2))
	begin := time.Now().Add(-48 * time.Hour)
	for at := 0; at < millionRecords; at += 1000 {
		m.update(func(tx *store.Tx) error {
			for i := range 1000 {
				r := mixed(rnd, uint64(at+i+1), begin.Add(time.Duration(at+i)*150*time.Millisecond))
				if at+i == millionRecords/2 {
					r.Instance, r.Lane.Instance, r.Chat, r.Duration = 4711, 4711, "5511000000000@s.whatsapp.net", 99*time.Second
					m.rare = r
				}
				if err := tx.Put(records, store.Key(r.ID), encodeRecord(r)); err != nil {
					return err
				}
				if err := m.l.note(tx, &r, nil); err != nil {
					return err
				}
			}
			return nil
		})
	}
	m.update(func(tx *store.Tx) error { return tx.TakeID(records, millionRecords) })
	return m
}

func mixed(rnd *rand.Rand, id uint64, at time.Time) Record {
	r := Record{
		ID: id, EventID: uuid.New(), Event: kinds[1+rnd.IntN(27)], Instance: 1 + rnd.Int64N(200), Name: "shop" + strconv.Itoa(rnd.IntN(200)),
		Chat: fmt.Sprintf("55119%08d@s.whatsapp.net", rnd.IntN(50_000)), URL: "https://receiver.example/hooks/whatsapp", RequestID: uuid.NewString(),
		State: Delivered, Bytes: 700, CreatedAt: at, Attempts: 1, LastAttemptAt: at, Duration: time.Duration(rnd.IntN(800)) * time.Millisecond, LastStatus: 200,
	}
	r.Lane = laneOf(r.Instance, event.Destination{Target: []event.Target{event.TargetWebhook, event.TargetWebhook, event.TargetGlobal, event.TargetEndpoint}[rnd.IntN(4)], Endpoint: "e" + strconv.Itoa(rnd.IntN(8))})
	switch n := rnd.IntN(100); {
	case n < 10:
		r.State, r.LastStatus, r.LastError, r.Answer = Failed, 500, "receiver answered 500", strings.Repeat("x", 200)
	case n < 12:
		r.State, r.EventSeq, r.ExpiresAt = Pending, id, at.Add(1000*time.Hour)
	case n < 13:
		r.State, r.Attempts, r.LastAttemptAt = Dropped, 0, time.Time{}
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
		f    Filter
	}{
		{"all", Filter{}},
		{"state", Filter{States: []State{Failed, Dropped}}},
		{"state nobody has", Filter{States: []State{Cancelled}}},
		{"instance", Filter{Instance: 7, NoGlobal: true}},
		{"instance nobody has", Filter{Instance: 9999}},
		{"event", Filter{Event: event.MessagesUpsert}},
		{"target", Filter{Target: event.TargetEndpoint}},
		{"endpoint", Filter{Endpoint: &crm}},
		{"endpoint nobody has", Filter{Endpoint: &none}},
		{"from", Filter{From: middle, To: middle.Add(time.Second)}},
		{"slow", Filter{MinDuration: 790 * time.Millisecond}},
		{"slow and rare", Filter{MinDuration: 90 * time.Second}},
		{"chat", Filter{Query: "5511900000123@s.whatsapp.net"}},
		{"chat of one", Filter{Query: m.rare.Chat}},
		{"chat of nobody", Filter{Query: "nobody@lid"}},
		{"event id", Filter{Query: m.rare.EventID.String()}},
		{"request id", Filter{Query: m.rare.RequestID}},
		{"rare and common", Filter{Instance: 4711, States: []State{Delivered, Failed, Dropped}, From: middle.Add(-40 * time.Hour), MinDuration: time.Millisecond, Query: m.rare.Chat}},
		{"all at once, nothing", Filter{NoGlobal: true, States: []State{Delivered}, Event: event.CallUpsert, Target: event.TargetEndpoint, Endpoint: &crm, From: middle.Add(-40 * time.Hour), To: middle.Add(40 * time.Hour), MinDuration: time.Millisecond, Query: "nobody@lid"}},
	} {
		for _, where := range []string{"first", "middle", "back"} {
			b.Run(c.name+"/"+where, func(b *testing.B) { m.pages(b, c.f, where) })
		}
	}
}

func (m *million) pages(b *testing.B, f Filter, where string) {
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
		if _, err := m.l.List(context.Background(), f, at, 200); err != nil {
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
		if _, err := m.l.Counts(context.Background()); err != nil {
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
		s, err := store.Open(store.Options{Path: m.path, Buckets: Buckets(), NoSync: true, MinFree: 1})
		if err != nil {
			b.Fatal(err)
		}
		m.s = s
		opened := time.Now()
		if m.l, err = Open(s, m.cfg); err != nil {
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
		state State
	}{{"delivered", Delivered}, {"failed", Failed}} {
		b.Run(c.name, func(b *testing.B) {
			r := newRig(b, Config{Log: true})
			if err := r.l.Start(b.Context()); err != nil {
				b.Fatal(err)
			}
			n, to := notice(1), oldWay()
			a := Attempt{StartedAt: time.Now(), Duration: time.Millisecond, Status: 200, RequestID: n.RequestID}
			b.ReportAllocs()
			var caller time.Duration
			for b.Loop() {
				began := time.Now()
				e := r.l.Queued(n, to)
				e.Done(c.state, a)
				caller += time.Since(began)
				if len(r.l.behind.full) > 0 {
					r.flush()
				}
			}
			if err := r.l.Stop(b.Context()); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(caller.Nanoseconds())/float64(b.N), "ns-caller/op")
			b.ReportMetric(float64(r.l.LogDropped()), "dropped")
		})
	}
}
