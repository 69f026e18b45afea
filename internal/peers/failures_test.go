package peers

import (
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestTenFailuresInAnyMinuteAreTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFailures(10)
		a, b := netip.MustParseAddr("203.0.113.5"), netip.MustParseAddr("203.0.113.6")
		for i := range 10 {
			wait, last := f.Count(a)
			if wait != 0 || last != (i == 9) {
				t.Errorf("failure %d: wait %v, last %v", i+1, wait, last)
			}
			time.Sleep(time.Second)
		}
		if wait, last := f.Count(a); wait != 50*time.Second || last {
			t.Errorf("the eleventh after 10 s: wait %v, last %v", wait, last)
		}
		if wait, _ := f.Count(b); wait != 0 {
			t.Errorf("another address: wait %v", wait)
		}
		time.Sleep(50 * time.Second)
		if wait, last := f.Count(a); wait != 0 || !last {
			t.Errorf("a minute after the first: wait %v, last %v", wait, last)
		}
		if wait, _ := f.Count(a); wait != time.Second {
			t.Errorf("the next: wait %v", wait)
		}
		time.Sleep(time.Hour)
		if wait, last := f.Count(a); wait != 0 || last {
			t.Errorf("an hour later: wait %v, last %v", wait, last)
		}
		if wrong, limited := f.Stats(); wrong != 13 || limited != 2 {
			t.Errorf("counted %d and %d", wrong, limited)
		}
	})
}

func TestNetworkOf64BitsSharesFailures(t *testing.T) {
	f := NewFailures(2)
	for i, want := range []bool{false, false, true} {
		a := netip.AddrFrom16([16]byte{0: 0x20, 1: 1, 15: byte(i)})
		if wait, _ := f.Count(a); wait > 0 != want {
			t.Errorf("%s: wait %v", a, wait)
		}
	}
}

func TestWithoutLimitFailuresAreOnlyCounted(t *testing.T) {
	f := NewFailures(0)
	for range 1000 {
		if wait, last := f.Count(netip.Addr{}); wait != 0 || last {
			t.Fatal(wait, last)
		}
	}
	if wrong, limited := f.Stats(); wrong != 1000 || limited != 0 || len(f.guessers) != 0 {
		t.Error(wrong, limited, len(f.guessers))
	}
}

// TestAddressFloodIsBounded, also from several sides at
// once.
func TestAddressFloodIsBounded(t *testing.T) {
	f := NewFailures(10)
	var flood sync.WaitGroup
	for side := range 4 {
		flood.Go(func() {
			for i := range 3 * maxFailing {
				f.Count(netip.AddrFrom4([4]byte{byte(side), byte(i >> 16), byte(i >> 8), byte(i)}))
			}
		})
	}
	flood.Wait()
	if len(f.guessers) > maxFailing || f.byAge.Len() != len(f.guessers) {
		t.Errorf("%d addresses in the map, %d in the list", len(f.guessers), f.byAge.Len())
	}
}

func TestAddressIsForgottenAfterAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFailures(10)
		for i := range 100 {
			f.Count(netip.AddrFrom4([4]byte{9, 9, 9, byte(i)}))
		}
		time.Sleep(window)
		f.Count(netip.AddrFrom4([4]byte{1, 1, 1, 1}))
		if len(f.guessers) != 1 || f.byAge.Len() != 1 {
			t.Errorf("%d addresses are remembered", len(f.guessers))
		}
	})
}
