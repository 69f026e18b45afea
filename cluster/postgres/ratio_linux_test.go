package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/batch"
	"postern/batch/record"
	"postern/batch/table"
	"postern/cluster"
	"postern/cluster/postgres/pgtest"
	"postern/delivery/outbox"
	"postern/event"
	"postern/store"
	"postern/store/schema"
)

var ratioBucket = schema.Bucket{Name: "thing", Owner: "test", Key: "number", Value: "200 bytes"}

// process returns a node of the cell "main" that has not begun.
func process(b *testing.B, url, name string, buckets []schema.Bucket) *cluster.Node {
	b.Helper()
	n := cluster.New(cluster.Config{
		Database: open(b, url), Cell: "main", Name: name, Lease: 30 * time.Second, Logger: slog.New(slog.DiscardHandler), Ended: func(err error) { b.Error(err) },
		File: store.Options{Path: filepath.Join(b.TempDir(), name+".db"), Buckets: buckets, MinFree: 1},
	})
	b.Cleanup(func() { _ = n.Stop(context.Background()) })
	return n
}

// lead returns a store that owns a new cell, whose commits wait for a second server.
func lead(b *testing.B, url string, buckets []schema.Bucket) *store.Store {
	b.Helper()
	s, err := process(b, url, "owner", buckets).Lead(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}

func single(b *testing.B, buckets []schema.Bucket) *store.Store {
	b.Helper()
	s, err := store.Open(store.Options{Path: filepath.Join(b.TempDir(), "alone.db"), Buckets: buckets, MinFree: 1})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}

// updates makes n changes by a number of callers, and returns how many a second were made.
func updates(b *testing.B, s *store.Store, callers, n int) float64 {
	b.Helper()
	value := make([]byte, 200)
	var next atomic.Int64
	var work sync.WaitGroup
	began := time.Now()
	for range callers {
		work.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				err := s.Update(context.Background(), func(tx *store.Tx) error {
					return tx.Put("thing", store.Key(uint64(i%5000)), value) //nolint:gosec // small
				})
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	work.Wait()
	return float64(n) / time.Since(began).Seconds()
}

// fleet is instances that send at once.
type fleet struct{}

func (fleet) Instance(int64) (string, event.State, bool) { return "shop", event.Online, true }
func (fleet) Gate(batch.Question) batch.Gate             { return batch.Gate{} }
func (fleet) Send(_ context.Context, _ int64, out event.Outgoing) (batch.Receipt, error) {
	if err := out.Leaving(); err != nil {
		return batch.Receipt{}, err
	}
	return batch.Receipt{WhatsAppID: uuid.NewString(), RecipientJID: "49151@s.whatsapp.net"}, nil
}

// engine runs the batches of a store.
type engine struct {
	*batch.Engine
	box *outbox.Outbox
}

func startEngine(b *testing.B, s *store.Store) engine {
	b.Helper()
	box, err := outbox.Open(s)
	if err != nil {
		b.Fatal(err)
	}
	box.SetDelivery(false)
	e, err := batch.New(batch.Config{Store: s, Outbox: box, Fleet: fleet{}, Enabled: true, NewMessageID: uuid.NewString})
	if err == nil {
		err = e.Start(b.Context())
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = e.Stop(context.Background()) })
	return engine{e, box}
}

// run sends the items of a number of batches, and returns how many a second were sent.
func (e engine) run(b *testing.B, batches, items int) float64 {
	b.Helper()
	owner, later := uuid.New(), false
	ids := make([]uuid.UUID, batches)
	for i := range ids {
		r := batch.CreateRequest{
			Name: "bench", Instances: []record.InstanceRef{{ID: int64(i + 1), Name: "shop"}}, AutoStart: &later,
			Message: event.BatchMessage{Type: "text", Payload: []byte(`{"text":"hello"}`)},
		}
		for n := range items {
			r.Recipients = append(r.Recipients, fmt.Sprintf("49151%08d", n))
		}
		v, err := e.Create(b.Context(), owner, r)
		if err != nil {
			b.Fatal(err)
		}
		ids[i] = v.ID
	}
	began := time.Now()
	for _, id := range ids {
		if _, err := e.StartBatch(b.Context(), owner, id); err != nil {
			b.Fatal(err)
		}
	}
	for _, id := range ids {
		for {
			wake := e.box.Emitted()
			v, err := e.Batch(owner, id)
			if err != nil {
				b.Fatal(err)
			}
			if table.Final(v.Status) {
				if v.Counts.Success != items {
					b.Fatalf("the batch is %s with %+v", v.Status, v.Counts)
				}
				break
			}
			<-wake
		}
	}
	return float64(batches*items) / time.Since(began).Seconds()
}

// delays are put between a node and its database.
var delays = []time.Duration{0, 500 * time.Microsecond, 2 * time.Millisecond}

// eachDelay calls fn with the address of a database that has a synchronous second server.
func eachDelay(b *testing.B, fn func(b *testing.B, url string)) {
	server := pgtest.Start(b)
	server.AddStandby(b, "second")
	for _, delay := range delays {
		b.Run(fmt.Sprintf("delay=%s", delay), func(b *testing.B) {
			database := server.Database(b)
			url := pgtest.URL(database, server)
			if delay > 0 {
				proxy := server.StartProxy(b)
				proxy.Delay = delay
				url = proxy.URL(database)
			}
			fn(b, url)
		})
	}
}

// ratio reports medians of what a file alone and a cell do in turns, and of the ratios of
// the rounds.
func ratio(b *testing.B, file, cell func() float64) {
	var alone, shared, ratios []float64
	for b.Loop() {
		before := file()
		shared = append(shared, cell())
		alone = append(alone, before, file())
		ratios = append(ratios, 2*shared[len(shared)-1]/(before+alone[len(alone)-1]))
	}
	b.ReportMetric(median(alone), "file/s")
	b.ReportMetric(median(shared), "cell/s")
	b.ReportMetric(median(ratios), "x-file")
	b.ReportMetric(0, "ns/op")
}

func median(all []float64) float64 {
	slices.Sort(all)
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

// BenchmarkCellAgainstFile compares changes, and items of batches, of a cell whose commits wait
// for a second server with those of a file alone, in turns in the same run.
func BenchmarkCellAgainstFile(b *testing.B) {
	buckets := append(append(record.Buckets(), outbox.Buckets()...), ratioBucket)
	eachDelay(b, func(b *testing.B, url string) {
		alone, cell := single(b, buckets), lead(b, url, buckets)
		for _, row := range []struct{ callers, changes int }{{1, 500}, {8, 2000}, {64, 20_000}} {
			b.Run(fmt.Sprintf("callers=%d", row.callers), func(b *testing.B) {
				ratio(b, func() float64 { return updates(b, alone, row.callers, row.changes) }, func() float64 { return updates(b, cell, row.callers, row.changes) })
			})
		}
		aloneBatches, cellBatches := startEngine(b, alone), startEngine(b, cell)
		for _, batches := range []int{1, 8} {
			b.Run(fmt.Sprintf("batches=%d", batches), func(b *testing.B) {
				ratio(b, func() float64 { return aloneBatches.run(b, batches, 500) }, func() float64 { return cellBatches.run(b, batches, 500) })
			})
		}
	})
}

// BenchmarkFollower makes 500 commits a second for ten seconds, and reports how long the newest
// one that a standby has was the newest of the owner.
func BenchmarkFollower(b *testing.B) {
	const rate, lasts = 500, 10 * time.Second
	buckets := []schema.Bucket{ratioBucket}
	eachDelay(b, func(b *testing.B, url string) {
		owner := lead(b, url, buckets)
		standby := process(b, url, "standby", buckets)
		ctx, cancel := context.WithCancel(b.Context())
		done := make(chan struct{})
		go func() { defer close(done); _, _ = standby.Lead(ctx) }()
		defer func() { cancel(); <-done }()
		within(b, time.Minute, "it stands by", func() bool { return standby.State().Role == cluster.Standby })
		var behind []float64
		var made float64
		for b.Loop() {
			first := version(b, owner)
			began, at := time.Now(), []time.Time{} // when each version came
			for n := 1; time.Since(began) < lasts; n++ {
				time.Sleep(time.Until(began.Add(time.Duration(n) * time.Second / rate)))
				updates(b, owner, 1, 1)
				at = append(at, time.Now())
				if n%25 == 0 {
					if missing := int(version(b, standby.File()) - first); missing < len(at) { //nolint:gosec // small
						behind = append(behind, time.Since(at[max(0, missing)]).Seconds())
					} else {
						behind = append(behind, 0)
					}
				}
			}
			made = float64(len(at)) / time.Since(began).Seconds()
		}
		slices.Sort(behind)
		b.ReportMetric(made, "commits/s")
		b.ReportMetric(median(behind), "s-behind")
		b.ReportMetric(behind[len(behind)-1], "s-behind-at-most")
		b.ReportMetric(0, "ns/op")
	})
}

func version(b *testing.B, s *store.Store) uint64 {
	b.Helper()
	mark, _, err := s.Mark()
	if err != nil {
		b.Fatal(err)
	}
	return mark.Version
}
