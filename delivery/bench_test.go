package delivery

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"postern/event"
	"postern/store"
	"postern/store/schema"
)

// body is as long as the body of a short text message.
var benchBody = []byte(`{"event":"messages.upsert","data":"` + strings.Repeat("x", 900) + `"}`)

func benchEvent(instance int64, chat int) Event {
	e := testEvent(instance, event.About{Chat: fmt.Sprintf("55%011d@s.whatsapp.net", chat), LID: fmt.Sprintf("9%014d@lid", chat)})
	e.Body = benchBody
	return e
}

func tenDestinations(order event.Order) (to []event.Destination) {
	to = append(to, hook(order), global(order))
	for i := range 8 {
		to = append(to, endpoint(fmt.Sprint("endpoint-", i), order))
	}
	return to
}

// rows returns the rows of this package in a file.
func (r *rig) rows() (n, bytes int) {
	r.view(func(tx *store.Tx) error {
		for _, b := range Buckets() {
			err := tx.Scan(b.Name, store.Range{}, func(k, v []byte) (bool, error) {
				n, bytes = n+1, bytes+len(k)+len(v)
				return true, nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return n, bytes
}

// BenchmarkEmission writes an event for ten destinations and settles all of them. It reports
// the ratio to plain commits that write and delete as many rows of the same sizes, fsync
// included.
func BenchmarkEmission(b *testing.B) {
	for _, order := range []event.Order{event.OrderNone, event.OrderChat} {
		b.Run(string(order), func(b *testing.B) {
			r := newRig(b, Config{Log: true})
			_ = r.s.Close()
			s, err := store.Open(store.Options{Path: r.path, Buckets: append(Buckets(), schema.Bucket{Name: "bare", Owner: "test", Append: true}), MinFree: 1})
			if err != nil {
				b.Fatal(err)
			}
			r.s = s
			if r.l, err = Open(s, Config{Log: true}); err != nil {
				b.Fatal(err)
			}
			before, bytesBefore := r.rows()
			r.cycle(tenDestinations(order), 0)
			after, bytesAfter := r.rows()
			rows, size := after-before, (bytesAfter-bytesBefore)/max(1, after-before)
			chat := 0
			var took, bare time.Duration
			for b.Loop() {
				chat++
				start := time.Now()
				r.cycle(tenDestinations(order), chat)
				took += time.Since(start)
				start = time.Now()
				r.bare(chat, rows, size)
				bare += time.Since(start)
			}
			b.ReportMetric(float64(bare)/float64(took), "of-bare")
			b.ReportMetric(float64(took.Microseconds())/float64(chat)/10, "µs/delivery")
			b.ReportMetric(float64(rows)/10, "rows-kept/delivery")
			b.ReportMetric(float64(rows*size)/10, "B-kept/delivery")
		})
	}
}

// BenchmarkPacked is BenchmarkEmission without the disk and with a hundred events in a commit:
// the processor time for each delivery.
func BenchmarkPacked(b *testing.B) {
	for _, order := range []event.Order{event.OrderNone, event.OrderChat} {
		b.Run(string(order), func(b *testing.B) {
			const each = 100
			r, to := newRig(b, Config{Log: true}), tenDestinations(order)
			written := wrote(b)
			chat := 0
			for b.Loop() {
				r.packed(to, chat, each)
				chat += each
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(chat*len(to)), "µs/delivery")
			b.ReportMetric(float64(wrote(b)-written)/float64(chat*len(to)), "B-written/delivery")
		})
	}
}

func (r *rig) packed(to []event.Destination, chat, each int) {
	all := make([]Event, each)
	r.update(func(tx *store.Tx) (err error) {
		for i := range all {
			if all[i], err = r.l.Emit(tx, benchEvent(int64(1+i%20), chat+i), true, to); err != nil {
				return err
			}
		}
		return nil
	})
	r.update(func(tx *store.Tx) error {
		for _, e := range all {
			for _, a := range e.To {
				if _, _, err := r.l.Settle(tx, a.Due.Record, Attempt{StartedAt: tx.Now(), Duration: time.Millisecond, Status: 200}, true, time.Time{}); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// wrote returns how much the process has written so far.
func wrote(tb testing.TB) (bytes int64) { return proc(tb, "io", "wchar: %d") }

// cycle emits one event and settles all its deliveries as accepted, in two commits.
func (r *rig) cycle(to []event.Destination, chat int) {
	var e Event
	r.update(func(tx *store.Tx) (err error) {
		e, err = r.l.Emit(tx, benchEvent(1, chat), true, to)
		return err
	})
	r.update(func(tx *store.Tx) error {
		for _, a := range e.To {
			if _, _, err := r.l.Settle(tx, a.Due.Record, Attempt{StartedAt: tx.Now(), Duration: time.Millisecond, Status: 200}, true, time.Time{}); err != nil {
				return err
			}
		}
		return nil
	})
}

func (r *rig) bare(n, rows, size int) {
	value := make([]byte, max(0, size-16))
	for range 2 {
		r.update(func(tx *store.Tx) error {
			for i := range rows {
				if err := tx.Put("bare", store.Key(n, i), value); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// BenchmarkMillionPending fills a file with a million pending deliveries, once, and measures
// their cost: the start of the program, its memory, and the next delivery of each lane.
func BenchmarkMillionPending(b *testing.B) {
	const lanes, count = 100, 1_000_000
	r := newRig(b, Config{Log: true})
	r.fill(lanes, count)
	if err := r.s.Close(); err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(r.path)
	if err != nil {
		b.Fatal(err)
	}
	debug.FreeOSMemory()
	idle := anonymous(b)
	start := time.Now()
	if r.s, err = store.Open(store.Options{Path: r.path, Buckets: Buckets(), MinFree: 1}); err != nil {
		b.Fatal(err)
	}
	opened := time.Since(start)
	start = time.Now()
	if r.l, err = Open(r.s, Config{Log: true}); err != nil {
		b.Fatal(err)
	}
	r.view(func(tx *store.Tx) error {
		all, err := Backlogs(tx)
		if len(all) != lanes {
			b.Errorf("%d lanes wait, want %d", len(all), lanes)
		}
		return err
	})
	ledger := time.Since(start)
	above := anonymous(b) - idle
	var next, settle []time.Duration
	n := 0
	for b.Loop() {
		lane := laneBy(tagWebhook, int64(1+n%lanes), "")
		n++
		var rows []Due
		start := time.Now()
		r.view(func(tx *store.Tx) (err error) {
			if rows, err = DueAfter(tx, lane, Due{}, 10); err != nil {
				return err
			}
			_, _, _, err = r.l.Load(tx, rows[0].Record)
			return err
		})
		next = append(next, time.Since(start))
		start = time.Now()
		r.settle(rows[0].Record, n%3 > 0, time.Now().Add(time.Hour))
		settle = append(settle, time.Since(start))
	}
	b.ReportMetric(float64(opened.Milliseconds()), "ms-store-open")
	b.ReportMetric(float64(ledger.Milliseconds()), "ms-ledger-open")
	b.ReportMetric(float64(max(above, anonymous(b)-idle))/(1<<20), "MiB-above-idle")
	b.ReportMetric(float64(info.Size())/count, "B-file/pending")
	b.ReportMetric(float64(p99(next).Microseconds()), "µs-next-p99")
	b.ReportMetric(float64(p99(settle).Microseconds()), "µs-settle-p99")
}

// fill emits count events, each for one of the given number of lanes, in chats.
func (r *rig) fill(lanes, count int) {
	const each = 1000
	for done := 0; done < count; done += each {
		r.update(func(tx *store.Tx) error {
			for i := range each {
				n := done + i
				if _, err := r.l.Emit(tx, benchEvent(int64(1+n%lanes), n/lanes%500), true, []event.Destination{hook(event.OrderChat)}); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// anonymous returns the memory of the process that is not part of a file.
func anonymous(tb testing.TB) (bytes int64) { return proc(tb, "status", "RssAnon: %d kB") << 10 }

// proc returns a number from a file of the process in /proc.
func proc(tb testing.TB, name, format string) (n int64) {
	raw, err := os.ReadFile(filepath.Join("/proc", "self", name))
	if err != nil {
		tb.Skip(err)
	}
	for line := range strings.SplitSeq(string(raw), "\n") {
		if _, err := fmt.Sscanf(line, format, &n); err == nil {
			return n
		}
	}
	return 0
}

func p99(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)*99/100]
}
