package media

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"postern/event"
)

// TestAnInstanceWaitsForNoQueueOfOthers: with every place taken and thousands
// waiting, who comes with one file has its turn at the next end of one.
func TestAnInstanceWaitsForNoQueueOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		places := newTurns(2)
		ctx, stop := context.WithCancel(t.Context())
		var work sync.WaitGroup
		for i := range 2000 { // two tenants, a second for each file
			work.Go(func() {
				leave, err := places.take(ctx, int64(i%2))
				if err != nil {
					return
				}
				defer leave()
				time.Sleep(time.Second)
			})
		}
		synctest.Wait()
		for range 5 {
			begin := time.Now()
			leave, err := places.take(ctx, 7)
			if waited := time.Since(begin); err != nil || waited > time.Second {
				t.Errorf("waited %s, %v", waited, err)
			}
			leave()
		}
		stop()
		work.Wait()
	})
}

func TestInstanceHasOnePlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		places := newTurns(2)
		first, err := places.take(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := places.take(ctx, 1); !errors.Is(err, event.ErrMedia) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a second place of one instance: %v", err)
		}
		leave, err := places.take(t.Context(), 2)
		if err != nil {
			t.Fatal(err)
		}
		leave()
		first()
	})
}

// TestTurnsAreNeitherLostNorGivenTwice: whatever is taken, left and given up, no
// more than the places are taken, one by each instance, and everyone who waits
// comes to it.
func TestTurnsAreNeitherLostNorGivenTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const instances, files, size = 6, 100, 3
		places := newTurns(size)
		var mu sync.Mutex
		held, all := map[int64]int{}, 0
		add := func(instance int64, n int) {
			mu.Lock()
			defer mu.Unlock()
			held[instance] += n
			if all += n; all > size || held[instance] > 1 {
				t.Errorf("%d places taken, %d by one instance", all, held[instance])
			}
		}
		var work sync.WaitGroup
		for i := range instances * files {
			r := rand.New(rand.NewPCG(1, uint64(i))) //nolint:gosec // a test
			work.Go(func() {
				time.Sleep(time.Duration(r.IntN(50)) * time.Millisecond)
				ctx, cancel := t.Context(), context.CancelFunc(func() {})
				if r.IntN(3) == 0 {
					ctx, cancel = context.WithTimeout(ctx, time.Duration(r.IntN(50))*time.Millisecond)
				}
				defer cancel()
				instance := int64(i % instances)
				leave, err := places.take(ctx, instance)
				if err != nil {
					return
				}
				add(instance, 1)
				time.Sleep(time.Duration(r.IntN(5)) * time.Millisecond)
				add(instance, -1)
				leave()
			})
		}
		work.Wait()
		if places.places != size || len(places.busy)+len(places.waiting)+len(places.order) != 0 {
			t.Errorf("left: %+v", places)
		}
	})
}

// TestAnotherInstancesPicturesAreNotHeld: the pictures of one instance, a
// hundred that wait and one that is looked at for ever, do not affect the others.
func TestAnotherInstancesPicturesAreNotHeld(t *testing.T) {
	l := newLibrary(t, nil)
	leave, err := l.looking.take(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	defer work.Wait()
	defer leave()
	defer cancel()
	for range 100 {
		path := l.spools(t, example(t, "photo.jpg"))
		work.Go(func() { _, _ = l.Prepare(ctx, path, Wish{Instance: 1, Kind: event.MediaImage}) })
	}
	f, err := l.prepares(t, example(t, "photo.jpg"), Wish{Instance: 2, Kind: event.MediaImage})
	if err != nil || f.Thumbnail == nil {
		t.Errorf("%d bytes of a thumbnail, %v", len(f.Thumbnail), err)
	}
}
