package main

import (
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// small is a fleet that runs in no time.
func small(seed uint64) params {
	p := defaults()
	p.nodes, p.cells, p.accounts, p.seed = 10, 60, 3000, seed
	return p
}

func owners(f *fleet) (all []int) {
	for i := range f.cells {
		all = append(all, f.cells[i].owner)
	}
	return all
}

// check holds the fleet against what is always so.
func check(t *testing.T, f *fleet) {
	t.Helper()
	offline, moving := 0, 0
	for i := range f.cells {
		c := &f.cells[i]
		if c.owner != none && !f.nodes[c.owner].live {
			t.Fatalf("a dead node owns cell %d", i)
		}
		if _, has := c.copies[c.owner]; c.owner != none && !has {
			t.Fatalf("node %d owns cell %d and has no copy", c.owner, i)
		}
		for n := range c.copies {
			if !f.nodes[n].live {
				t.Fatalf("a dead node has a copy of cell %d", i)
			}
		}
		if c.online < 0 || c.online > c.accounts || c.owner == none && c.online > 0 {
			t.Fatalf("cell %d of node %d has %d of %d accounts online", i, c.owner, c.online, c.accounts)
		}
		offline += c.accounts - c.online
		if c.moving {
			moving++
		}
	}
	if offline != f.offline || moving != f.inMove || moving > f.p.moves {
		t.Fatalf("%d accounts are offline, counted are %d; %d of %d handovers, counted are %d", offline, f.offline, moving, f.p.moves, f.inMove)
	}
}

// settled holds a fleet in which nothing happens any more against what is so then.
func settled(t *testing.T, f *fleet) {
	t.Helper()
	check(t, f)
	for i := range f.cells {
		c := &f.cells[i]
		if c.owner == none || c.owner != f.target(c) || c.online != c.accounts {
			t.Fatalf("cell %d is node %d's and not %d's, with %d of %d accounts online", i, c.owner, f.target(c), c.online, c.accounts)
		}
		if len(c.copies) != len(f.wanted(c)) {
			t.Fatalf("cell %d has copies at %v, wanted are %v", i, c.copies, f.wanted(c))
		}
	}
}

func TestLossMovesOnlyTheLostCells(t *testing.T) {
	for n := range small(1).nodes + small(1).zones {
		f := newFleet(small(uint64(n)))
		lost := []int{n}
		if n >= f.p.nodes {
			lost = f.zone(n - f.p.nodes)
		}
		before, copies := owners(f), make([]map[int]bool, len(f.cells))
		for i := range f.cells {
			copies[i] = map[int]bool{}
			for n := range f.cells[i].copies {
				copies[i][n] = true
			}
		}
		f.kill(lost...)
		f.run(ever)
		settled(t, f)
		for i, owner := range owners(f) {
			switch was := before[i]; {
			case !slices.Contains(lost, was):
				if owner != was {
					t.Fatalf("without %v: cell %d moved from %d to %d", lost, i, was, owner)
				}
			case !copies[i][owner]:
				t.Fatalf("without %v: cell %d went to %d, which did not follow it", lost, i, owner)
			}
		}
		if latest := f.p.lease + f.p.watch + f.p.open; f.seen.lastUp > latest || f.seen.firstUp < f.p.lease*3/4 {
			t.Errorf("without %v: cells are up from %v to %v", lost, f.seen.firstUp, f.seen.lastUp)
		}
	}
}

func TestReturnRestoresThePlacement(t *testing.T) {
	for _, moves := range []int{1, 3} {
		p := small(1)
		p.moves = moves
		f := newFleet(p)
		before := owners(f)
		f.kill(f.zone(0)...)
		f.run(ever)
		away := 0
		for i, owner := range owners(f) {
			if owner != before[i] {
				away++
			}
		}
		f.measure()
		f.each = func() { check(t, f) }
		f.revive(f.zone(0)...)
		f.run(ever)
		settled(t, f)
		if after := owners(f); !slices.Equal(after, before) || f.moved != away || away == 0 {
			t.Errorf("%d cells were elsewhere, %d moved; owners were %v and are %v", away, f.moved, before, after)
		}
		if per := p.accounts / p.cells; f.seen.offline > moves*per {
			t.Errorf("with %d handovers at a time of %d accounts each, %d were offline", moves, per, f.seen.offline)
		}
	}
}

// TestRandomLossesOrphanNoCell kills and revives nodes at random times, all of them at
// once too, with and without followers.
func TestRandomLossesOrphanNoCell(t *testing.T) {
	for seed := range uint64(40) {
		p := small(seed)
		p.cells, p.accounts = 20, 400
		p.followers, p.moves = seed%2 == 0, 1+int(seed%3)
		f := newFleet(p)
		f.each = func() { check(t, f) }
		chance := rand.New(rand.NewPCG(seed, 1))
		for range 30 {
			var nodes []int
			for n := range f.nodes {
				if chance.IntN(4) == 0 || seed%10 == 9 {
					nodes = append(nodes, n)
				}
			}
			if chance.IntN(2) == 0 {
				f.kill(nodes...)
			} else {
				f.revive(slices.DeleteFunc(nodes, func(n int) bool { return f.nodes[n].live })...)
			}
			check(t, f)
			f.run(f.now + time.Duration(chance.Int64N(int64(40*time.Second))))
		}
		var dead []int
		for n := range f.nodes {
			if !f.nodes[n].live {
				dead = append(dead, n)
			}
		}
		f.revive(dead...)
		f.run(f.now + 24*time.Hour)
		settled(t, f)
	}
}

func TestDialsKeepTheLimits(t *testing.T) {
	p := small(1)
	p.dials = 20
	f := newFleet(p)
	f.kill(f.zone(1)...)
	f.run(ever)
	if n := most(f.seen.dials); n > 20 {
		t.Errorf("%d dials in a second", n)
	}
	for accounts, want := range map[int]int{1: 5, 200: 5, 1000: 25, 4000: 100, 100_000: 100} {
		if got := concurrency(5, accounts); got != want {
			t.Errorf("%d accounts are dialled %d at a time, wanted %d", accounts, got, want)
		}
	}
}

// TestGroupsAreThoseOfRandomCalls holds the formula against calls that come one by one.
func TestGroupsAreThoseOfRandomCalls(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 0))
	const commit = 2500 * time.Microsecond
	for _, calls := range []float64{1, 50, 400, 3000} {
		n, busy := 0, 0.0 // until when the commit under way takes
		waits, at, end := false, 0.0, 200_000/calls
		for at < end {
			at += chance.ExpFloat64() / calls
			for waits && at > busy { // those who waited share one
				n, busy, waits = n+1, busy+commit.Seconds(), false
			}
			if at > busy {
				n, busy = n+1, at+commit.Seconds()
			} else {
				waits = true
			}
		}
		if got, want := groups(calls, commit), float64(n)/end; math.Abs(got/want-1) > 0.02 {
			t.Errorf("%v calls: %v groups, %v with random calls", calls, got, want)
		}
	}
}

var update = flag.Bool("update", false, "rewrite the tables of docs/cluster.md")

// TestFleetPage holds the tables of the page against the program.
func TestFleetPage(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "cluster.md")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const from, to = "<!-- tables: made by make docs -->\n\n", "\n<!-- end of tables -->"
	head, rest, begins := strings.Cut(string(raw), from)
	had, tail, ends := strings.Cut(rest, to)
	if !begins || !ends {
		t.Fatal("the page has no place for the tables")
	}
	want := tables(defaults())
	if *update {
		if err := os.WriteFile(path, []byte(head+from+want+to+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if had != want {
		t.Errorf("docs/cluster.md is out of date: make docs. It has\n%s\nand the program says\n%s", had, want)
	}
}
