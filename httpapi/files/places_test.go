package files

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestPlacesBoundAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlaces(3, 2)
		leave, err := p.take(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.take(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if _, err := p.take(t.Context(), 1); err == nil || time.Since(begun) != placeWait {
			t.Errorf("a third of one instance: %v after %v", err, time.Since(begun))
		}
		if _, err := p.take(t.Context(), 2); err != nil {
			t.Error("another instance:", err)
		}
		if _, err := p.take(t.Context(), 3); err == nil {
			t.Error("a fourth")
		}
		go func() {
			time.Sleep(time.Second)
			leave()
		}()
		if _, err := p.take(t.Context(), 1); err != nil {
			t.Error("after one has ended:", err)
		}
	})
}
