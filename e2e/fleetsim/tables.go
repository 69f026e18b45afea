package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// loss is one row of the first table.
type loss struct {
	what    string  // a node, or a zone
	copies  string  // warm: followers have them; cold: no node
	dials   float64 // of the fleet in a second, at most; 0: no limit
	load    float64 // rows that a node loads in a second
	cells   int
	figures figures
	before  float64 // group commits a second
	whole   time.Duration
}

// lose kills a node or a zone of a fresh fleet and lets all accounts come back.
func lose(p params, zone bool) (*fleet, loss) {
	f := newFleet(p)
	row := loss{what: "node", copies: "cold", dials: p.dials, load: p.load, before: f.groups()}
	lost := []int{f.cells[0].owner}
	if zone {
		row.what, lost = "zone", f.zone(f.nodes[lost[0]].zone)
	}
	if p.followers {
		row.copies = "warm"
	}
	f.kill(lost...)
	for i := range f.cells {
		if f.cells[i].owner == none {
			row.cells++
		}
	}
	f.run(ever)
	row.figures, row.whole = f.seen, f.now
	return f, row
}

// come is one row of the second table.
type come struct {
	what                     string
	moves, moved, offline    int
	takes                    time.Duration
	dials                    int
	fewestBefore, mostBefore int
	fewestAfter, mostAfter   int
}

// comeBack revives what lose has killed.
func comeBack(f *fleet, what string) come {
	row := come{what: what, moves: f.p.moves}
	row.fewestBefore, row.mostBefore = f.perNode()
	var dead []int
	for n := range f.nodes {
		if !f.nodes[n].live {
			dead = append(dead, n)
		}
	}
	f.measure()
	f.revive(dead...)
	f.run(ever)
	row.moved, row.offline, row.takes = f.moved, f.seen.offline, f.now-f.seen.since
	row.dials = most(f.seen.dials)
	row.fewestAfter, row.mostAfter = f.perNode()
	return row
}

// tables returns the tables of docs/cluster.md.
func tables(p params) string {
	var b strings.Builder
	f := newFleet(p)
	fewest, most := f.perNode()
	copies := 0
	for i := range f.cells {
		copies += len(f.cells[i].copies) - 1
	}
	fmt.Fprintf(&b, "%s nodes in %d zones, %s cells, %s accounts. A node owns %d to %d cells. At rest the engine has, in a second, %s group commits, %s renewals of leases and %s looks of followers for changes.\n\n",
		number(p.nodes), p.zones, number(p.cells), number(p.accounts), fewest, most,
		number(int(f.groups())), number(int(float64(p.cells)*4/p.lease.Seconds())), number(int(float64(copies)/p.follow.Seconds())))
	b.WriteString("| Lost | Copies | Dials at most | Cells | Accounts | Cells answer after | Half of the accounts after | All after | Dials a second, fleet | of one node | Group commits a second, before | at most | Rows read a second |\n" +
		"|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	var returns []come
	for _, zone := range []bool{false, true} {
		for _, v := range []struct {
			followers bool
			dials     float64
		}{{true, 0}, {false, 0}, {true, 1000}} {
			if v.dials > 0 && !zone {
				continue
			}
			p.followers, p.dials = v.followers, v.dials
			f, row := lose(p, zone)
			b.WriteString(row.String())
			if !v.followers || v.dials > 0 {
				continue
			}
			returns = append(returns, comeBack(f, row.what))
			if zone {
				p := p
				p.moves = 16
				f, row := lose(p, zone)
				returns = append(returns, comeBack(f, row.what))
			}
		}
	}
	b.WriteString("\n| Comes back | Handovers at a time | Cells that move | Takes | Accounts offline at a time, at most | Dials a second, at most | Cells of a node before | after |\n|---|---|---|---|---|---|---|---|\n")
	for _, row := range returns {
		fmt.Fprintf(&b, "| %s | %d | %d | %s | %s | %s | %d to %d | %d to %d |\n", row.what, row.moves, row.moved, span(row.takes), number(row.offline), number(row.dials), row.fewestBefore, row.mostBefore, row.fewestAfter, row.mostAfter)
	}
	return b.String()
}

func (l loss) String() string {
	limit := "–"
	if l.dials > 0 {
		limit = number(int(l.dials)) + " a second"
	}
	perNode := 0
	for _, n := range l.figures.nodeDials {
		perNode = max(perNode, n)
	}
	return fmt.Sprintf("| %s | %s | %s | %d | %s | %s to %s | %s | %s | %s | %s | %s | %s | %s |\n", l.what, l.copies, limit, l.cells, number(len(l.figures.back)),
		span(l.figures.firstUp), span(l.figures.lastUp), span(l.figures.back[len(l.figures.back)/2]), span(l.whole),
		number(most(l.figures.dials)), number(perNode), number(int(l.before)), number(int(l.figures.commits)), number(int(float64(l.figures.loaders)*l.load)))
}

func most(bySecond map[int]int) (n int) {
	for _, count := range bySecond {
		n = max(n, count)
	}
	return n
}

// number has its digits in threes.
func number(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + " " + digits[i:]
	}
	return digits
}

// span is a time as a person would say it.
func span(d time.Duration) string {
	switch s := int(d.Round(time.Second).Seconds()); {
	case s < 100:
		return fmt.Sprintf("%d s", s)
	case s < 6000:
		return fmt.Sprintf("%d min", (s+30)/60)
	default:
		return fmt.Sprintf("%.1f h", float64(s)/3600)
	}
}
