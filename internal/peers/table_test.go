package peers

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"
)

// TestTheTableAgreesWithItsConnections lives random lives and counts again after
// each step.
func TestTheTableAgreesWithItsConnections(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 0))
		total, perAddress := 1+r.IntN(8), r.IntN(4)
		tb := newTable(Limits{Total: total, PerAddress: perAddress, Strangers: seed%2 == 0, spare: time.Second})
		now := time.Now()
		var inside []*conn
		for range 500 {
			now = now.Add(time.Duration(r.IntN(700)) * time.Millisecond)
			switch action := r.IntN(12); {
			case action < 5:
				c := &conn{network: network(netip.AddrFrom4([4]byte{9, 9, 9, byte(r.IntN(4))})), exempt: r.IntN(8) == 0}
				inside = placed(t, &tb, c, inside, now)
			case len(inside) == 0:
			case action < 7:
				tb.work(inside[r.IntN(len(inside))], now)
			case action < 9:
				tb.rest(inside[r.IntN(len(inside))], now)
			case action < 11:
				tb.prove(inside[r.IntN(len(inside))])
			default:
				i := r.IntN(len(inside))
				tb.remove(inside[i])
				tb.remove(inside[i])
				inside = append(inside[:i:i], inside[i+1:]...)
			}
			agrees(t, &tb, inside)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// placed places a newcomer and checks the verdict against a plain count.
func placed(t *testing.T, tb *table, c *conn, inside []*conn, now time.Time) []*conn {
	t.Helper()
	same := 0
	for _, other := range inside {
		if other.network == c.network {
			same++
		}
	}
	atLimit := tb.perAddress > 0 && !c.exempt && same >= tb.perAddress
	p := tb.place(c, now)
	if p.refused && (!atLimit || p.admitted) {
		t.Errorf("refused with %d of its address inside: %+v", same, p)
	}
	if p.evicted != nil {
		spared := !p.evicted.stranger && now.Sub(p.evicted.resting) < tb.spare && (p.evicted.proved || !atLimit)
		if spared || p.evicted.proven > 0 || atLimit && p.evicted.network != c.network {
			t.Errorf("evicted %+v for %+v", p.evicted, c)
		}
		for i, other := range inside {
			if other == p.evicted {
				inside = append(inside[:i:i], inside[i+1:]...)
				break
			}
		}
	}
	if p.admitted {
		return append(inside, c)
	}
	if !atLimit && len(inside) < tb.total {
		t.Errorf("had to wait beside %d of %d", len(inside), tb.total)
	}
	return inside
}

func agrees(t *testing.T, tb *table, inside []*conn) {
	t.Helper()
	resting, strangers, holders := 0, 0, map[netip.Prefix]int{}
	for _, c := range inside {
		holders[c.network]++
		switch {
		case c.inAll == nil:
		case c.stranger:
			strangers++
		default:
			resting++
		}
	}
	if tb.open != len(inside) || tb.open > tb.total || tb.idle.resting.Len() != resting || tb.idle.strangers.Len() != strangers || len(tb.holders) != len(holders) {
		t.Fatalf("%d open of %d, %d resting of %d, %d strangers of %d, %d holders of %d",
			tb.open, len(inside), tb.idle.resting.Len(), resting, tb.idle.strangers.Len(), strangers, len(tb.holders), len(holders))
	}
	for n, h := range tb.holders {
		if h.open != holders[n] {
			t.Fatalf("%s holds %d of %d", n, h.open, holders[n])
		}
	}
	var last time.Time
	for e := tb.idle.resting.Front(); e != nil; e = e.Next() {
		if at := e.Value.(*conn).resting; at.Before(last) {
			t.Fatal("the resting are not in the order of time")
		} else {
			last = at
		}
	}
}
