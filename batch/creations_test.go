package batch

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"postern/batch/mailing"
	"postern/batch/record"
	"postern/store"
)

// TestLargeCreationsTakeTurnsByUser queues many batches of one user before one of
// another, which comes second.
func TestLargeCreationsTakeTurnsByUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c creations
		first, second := uuid.New(), uuid.New()
		leave, err := c.enter(t.Context(), first, 1)
		if err != nil {
			t.Fatal(err)
		}
		var order []uuid.UUID
		for _, owner := range []uuid.UUID{first, first, first, second} {
			go func() {
				leave, err := c.enter(t.Context(), owner, 1)
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, owner)
				leave()
			}()
			synctest.Wait()
		}
		leave()
		synctest.Wait()
		if want := []uuid.UUID{first, second, first, first}; !slices.Equal(order, want) {
			t.Errorf("%v, want %v", order, want)
		}
		if c.busy != 0 || c.waiting != 0 || len(c.owners)+len(c.queues) != 0 {
			t.Errorf("left are %d at work, %d waiting, %v", c.busy, c.waiting, c.queues)
		}
	})
}

// TestACreationThatWaitsTooLongIsRefused holds the only turn.
func TestACreationThatWaitsTooLongIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c creations
		leave, err := c.enter(t.Context(), owner, 1)
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if _, err := c.enter(t.Context(), owner, 1); !errors.Is(err, ErrCreating) || time.Since(begin) != creationWait {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.enter(gone, owner, 1); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		ctx, end := context.WithCancel(t.Context())
		for range maxCreationsOfOwner {
			go func() { _, _ = c.enter(ctx, owner, 1) }()
		}
		synctest.Wait()
		begin = time.Now()
		if _, err := c.enter(t.Context(), owner, 1); !errors.Is(err, ErrCreating) || time.Since(begin) != 0 {
			t.Errorf("behind as many as may wait: %v after %v", err, time.Since(begin))
		}
		end()
		synctest.Wait()
		go func() { _, _ = c.enter(t.Context(), owner, maxWaitingBytes-5) }()
		synctest.Wait()
		begin = time.Now()
		if _, err := c.enter(t.Context(), uuid.New(), 6); !errors.Is(err, ErrCreating) || time.Since(begin) != 0 {
			t.Errorf("behind as many bytes as may wait: %v after %v", err, time.Since(begin))
		}
		time.Sleep(creationWait)
		synctest.Wait()
		if c.bytes != 0 {
			t.Errorf("%d bytes are counted of none that waits", c.bytes)
		}
		leave()
		if c.busy != 0 || c.waiting != 0 || len(c.owners)+len(c.queues) != 0 {
			t.Errorf("left are %d at work, %d waiting, %v", c.busy, c.waiting, c.queues)
		}
	})
}

// TestLargeBatchesAtOnceShareNoCommit creates some at once: a commit carries one chunk,
// so another writer waits for no more than that.
func TestLargeBatchesAtOnceShareNoCommit(t *testing.T) {
	most := 0
	s := openStoreBy(t, store.Options{OnCommit: func(calls int, _ time.Duration) { most = max(most, calls) }})
	e := listEngine(t, s)
	errs := make(chan error, 8)
	for range cap(errs) {
		go func() {
			_, err := e.Create(t.Context(), owner, draftOf(5*chunk))
			errs <- err
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if items := records(t, s, record.BucketItem); most != creators || items != cap(errs)*5*chunk {
		t.Errorf("a commit carries %d calls, and there are %d items", most, items)
	}
}

// TestPackedRecipientsAreThoseGiven compares a batch of packed recipients with one of
// strings, duplicates and long texts among them.
func TestPackedRecipientsAreThoseGiven(t *testing.T) {
	given := []string{"+49 151 00000001", "4915100000001", "004915100000001", "4915100000001@c.us", "04915100000001"}
	for i := range 3 * blockTexts {
		given = append(given, fmt.Sprintf("+49 (151) %08d", i), fmt.Sprintf("49151%08d@s.whatsapp.net", i/2))
	}
	var all [2][]Item
	for i := range all {
		s := openTestStore(t)
		e := listEngine(t, s)
		req := draftOf(0)
		if req.Recipients = given; i == 1 {
			req.Recipients, req.List = nil, &mailing.Recipients{}
			for _, text := range given {
				req.List.AddText([]byte(text))
			}
		}
		v, err := e.Create(t.Context(), owner, req)
		if err != nil {
			t.Fatal(err)
		}
		if v.Counts.Received == nil || *v.Counts.Received != len(given) || v.Counts.Total != 3*blockTexts+2 {
			t.Errorf("counts %+v", v.Counts)
		}
		p := Page{Limit: 200}
		for {
			l, err := e.Items(owner, v.ID, ItemFilter{}, p)
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range l.Records {
				all[i] = append(all[i], Item{RecipientInput: item.RecipientInput, NormalizedRecipient: item.NormalizedRecipient, Position: item.Position})
			}
			if l.NextCursor == nil {
				break
			}
			p.Next = *l.NextCursor
		}
	}
	if !reflect.DeepEqual(all[0], all[1]) || len(all[0]) != 3*blockTexts+2 {
		t.Errorf("%d and %d items, or others", len(all[0]), len(all[1]))
	}
}

// BenchmarkCommitsBesideTwentyCreations reports how long another writer's commits take
// while twenty batches of 100 000 are created at once.
func BenchmarkCommitsBesideTwentyCreations(b *testing.B) {
	var beside []time.Duration
	for b.Loop() {
		s, e := benchEngine(b)
		created := make(chan struct{})
		go func() {
			defer close(created)
			errs := make(chan error, 20)
			for range cap(errs) {
				go func() {
					_, err := e.Create(b.Context(), owner, draftOf(large))
					errs <- err
				}()
			}
			for range cap(errs) {
				if err := <-errs; err != nil {
					b.Error(err)
				}
			}
		}()
		beside = append(beside, commitTimes(b, s, created)...)
	}
	slices.Sort(beside)
	for share, unit := range map[float64]string{0.5: "p50", 0.99: "p99", 1: "max"} {
		b.ReportMetric(float64(beside[int(share*float64(len(beside)-1))].Microseconds())/1000, unit+"-ms")
	}
	b.ReportMetric(0, "ns/op")
}

// blockTexts is how many recipients package mailing keeps in one block.
const blockTexts = 1024
