package bench

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"postern/app"
	"postern/delivery"
	"postern/delivery/outbox"
	"postern/event"
	"postern/store"
)

// BenchmarkLargeStart starts the real program on a file of GB gigabytes (5 unless it is
// set) of which nothing is in memory: after an orderly stop, and after a kill. A bare read
// of the file, from its beginning to its end, is the reference.
func BenchmarkLargeStart(b *testing.B) {
	gigabytes := 5
	if n, err := strconv.Atoi(os.Getenv("GB")); err == nil {
		gigabytes = n
	}
	folder := os.Getenv("LARGE")
	if folder == "" {
		folder = b.TempDir()
	}
	path := filepath.Join(folder, "p.db")
	if _, err := os.Stat(path); err != nil {
		fillLarge(b, path, int64(gigabytes)<<30)
	}
	p := serve(b, folder)
	p.stop()
	for b.Loop() {
		forget(b, path)
		begun := time.Now()
		p := serve(b, folder)
		b.ReportMetric(time.Since(begun).Seconds(), "s-after-a-stop")
		p.end()
		forget(b, path)
		begun = time.Now()
		p = serve(b, folder)
		b.ReportMetric(time.Since(begun).Seconds(), "s-after-a-kill")
		begun = time.Now()
		p.stop()
		b.ReportMetric(time.Since(begun).Seconds(), "s-stop")
		forget(b, path)
		b.ReportMetric(readAll(b, path).Seconds(), "s-bare-read")
	}
	b.ReportMetric(0, "ns/op")
}

// fillLarge writes events that were delivered, the first million with a record in the log, until
// the file is so large.
func fillLarge(b *testing.B, path string, size int64) {
	b.Helper()
	s, err := store.Open(store.Options{Path: path, Buckets: app.Buckets(), NoSync: true})
	if err != nil {
		b.Fatal(err)
	}
	box, err := outbox.Open(s)
	if err != nil {
		b.Fatal(err)
	}
	ledger, err := delivery.Open(s, delivery.Config{Log: true, Outbox: box, GlobalURL: unreachable})
	if err != nil {
		b.Fatal(err)
	}
	owner, text := uuid.New(), strings.Repeat("x", 3000)
	const each, logged = 2000, 1_000_000
	for done := 0; ; done += each {
		batch := uuid.New()
		err := s.Update(b.Context(), func(tx *store.Tx) error {
			for range each {
				if err := box.Emit(tx, outbox.Emission{Kind: event.BatchProgress, Owner: owner, Batch: batch, Data: text}); err != nil {
					return err
				}
			}
			return nil
		})
		err2 := s.Update(b.Context(), func(tx *store.Tx) error {
			for seq := uint64(done) + 1; seq <= uint64(done)+each && err == nil; seq++ {
				if done < logged {
					var e outbox.Entry
					if e, _, err = outbox.Head(tx, seq); err == nil {
						_, _, err = ledger.Settle(tx, e.Record, delivery.Attempt{StartedAt: tx.Now(), Status: 200, RequestID: uuid.NewString()}, true, time.Time{})
					}
				} else {
					err = box.Ended(tx, seq, 1, 200)
				}
			}
			return err
		})
		if done+each == logged {
			box.OnEmit(func(*store.Tx, outbox.Entry) (uint64, error) { return 0, nil })
		}
		info, err3 := os.Stat(path)
		if err := errors.Join(err, err2, err3); err != nil {
			b.Fatal(err)
		}
		if info.Size() >= size {
			break
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}

// forget has the system forget what it has of the file in memory.
func forget(b *testing.B, path string) {
	b.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	if err := errors.Join(f.Sync(), unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED), f.Close()); err != nil {
		b.Fatal(err)
	}
}

func readAll(b *testing.B, path string) time.Duration {
	b.Helper()
	begun := time.Now()
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for buffer := make([]byte, 1<<20); err == nil; {
		_, err = f.Read(buffer)
	}
	return time.Since(begun)
}
