package batch

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"postern/batch/mailing"
	"postern/batch/record"
	"postern/store"
)

const large = 100_000

// BenchmarkCreate reports how fast a batch of 100 000 is created, as a share of
// what bbolt alone takes for the same records in as many transactions.
func BenchmarkCreate(b *testing.B) {
	b.Run("numbers", func(b *testing.B) { benchCreate(b, func() CreateRequest { return draftOf(large) }) })
	b.Run("variables", func(b *testing.B) { benchCreate(b, func() CreateRequest { return personalDraft(large) }) })
}

// personalDraft is draftOf with an external id and three short variables for each recipient.
func personalDraft(n int) CreateRequest {
	req := draftOf(0)
	req.Message.Payload = []byte(`{"text":"Hello {{name}}, {{amount}} are due on {{due|Friday}}."}`)
	req.List = &mailing.Recipients{}
	for i := range n {
		name, amount, due := fmt.Sprint("Ana ", i%977), fmt.Sprint(i%100, ".50"), fmt.Sprint(1+i%28, " May")
		req.List.Add(mailing.Recipient{Number: fmt.Sprintf("49151%08d", i), Variables: map[string]*string{"name": &name, "amount": &amount, "due": &due}})
	}
	return req
}

func benchCreate(b *testing.B, request func() CreateRequest) {
	b.Helper()
	var ratios []float64
	var took time.Duration
	for b.Loop() {
		s, e := benchEngine(b)
		req := request()
		before := s.Stats().Commits
		begin := time.Now()
		v, err := e.Create(b.Context(), owner, req)
		if err != nil {
			b.Fatal(err)
		}
		took = time.Since(begin)
		bare := bareInserts(b, v.ID, req.given(), int(s.Stats().Commits-before))
		ratios = append(ratios, bare.Seconds()/took.Seconds())
	}
	slices.Sort(ratios)
	b.ReportMetric(took.Seconds()*1000, "ms/batch")
	b.ReportMetric(ratios[len(ratios)/2], "of-bare-inserts")
	b.ReportMetric(0, "ns/op")
}

// draftOf returns a request whose batch no worker takes.
func draftOf(n int) CreateRequest {
	req, no := request(n), false
	req.AutoStart = &no
	return req
}

// bareInserts returns how long bbolt takes for the records of a batch, with the
// options of the store.
func bareInserts(b *testing.B, id uuid.UUID, recipients *mailing.Recipients, commits int) time.Duration {
	b.Helper()
	db, err := bolt.Open(filepath.Join(b.TempDir(), "bare.db"), 0o600, &bolt.Options{
		NoFreelistSync: true, FreelistType: bolt.FreelistMapType, InitialMmapSize: 1 << 30, NoStatistics: true,
	})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	names := [][]byte{[]byte(record.BucketItem), []byte(record.BucketDetails)}
	for _, name := range names {
		if err := db.Update(func(tx *bolt.Tx) error { _, err := tx.CreateBucket(name); return err }); err != nil {
			b.Fatal(err)
		}
	}
	sum := make([]byte, 4) // room for a checksum
	var records, details [][]byte
	for i := range recipients.Len() {
		own := recipients.DetailsAt(i)
		r := record.Item{Input: recipients.At(i), Detailed: len(own) > 0}
		records, details = append(records, slices.Concat(sum, r.Encode())), append(details, slices.Concat(sum, own))
	}
	begin := time.Now()
	for n := range commits {
		err := db.Update(func(tx *bolt.Tx) error {
			items, of := tx.Bucket(names[0]), tx.Bucket(names[1])
			for i := n * len(records) / commits; i < (n+1)*len(records)/commits; i++ {
				err := items.Put(record.ItemKey(id, i), records[i])
				if len(details[i]) > len(sum) {
					err = errors.Join(err, of.Put(record.ItemKey(id, i), details[i]))
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(begin)
}

// BenchmarkCommitsBesideACreation reports how long another writer's commits
// take, alone and while batches of 100 000 are created.
func BenchmarkCommitsBesideACreation(b *testing.B) {
	var alone, beside []time.Duration
	for b.Loop() {
		s, e := benchEngine(b)
		quiet := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(quiet) })
		alone = append(alone, commitTimes(b, s, quiet)...)
		created := make(chan struct{})
		go func() {
			defer close(created)
			for range 3 {
				if _, err := e.Create(b.Context(), owner, draftOf(large)); err != nil {
					b.Error(err)
				}
			}
		}()
		beside = append(beside, commitTimes(b, s, created)...)
	}
	for name, times := range map[string][]time.Duration{"alone": alone, "beside": beside} {
		slices.Sort(times)
		for share, unit := range map[float64]string{0.5: "p50", 0.99: "p99", 1: "max"} {
			at := times[int(share*float64(len(times)-1))]
			b.ReportMetric(float64(at.Microseconds())/1000, unit+"-ms-"+name)
		}
	}
	b.ReportMetric(0, "ns/op")
}

// commitTimes commits one record after the other until end is closed.
func commitTimes(b *testing.B, s *store.Store, end <-chan struct{}) (all []time.Duration) {
	b.Helper()
	value := make([]byte, 200)
	for i := 0; ; i++ {
		select {
		case <-end:
			return all
		default:
		}
		begin := time.Now()
		err := s.Update(b.Context(), func(tx *store.Tx) error {
			return tx.Put(record.BucketOwner, store.Key("bench", i), value)
		})
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, time.Since(begin))
	}
}
