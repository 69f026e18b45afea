package main

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// none is the owner of a cell without one.
const none = -1

type node struct {
	zone   int
	live   bool
	loaded time.Duration // when it has loaded all that it was asked to
}

type cell struct {
	accounts int
	order    []int                 // all nodes, that of the highest weight first
	copies   map[int]time.Duration // by node, from when on it is complete

	owner  int
	epoch  int           // rises with each change of owner
	grant  time.Duration // until when its last owner may act
	lost   time.Duration // since when its accounts are offline
	waits  int           // accounts that are not dialled yet
	online int
	moving bool // it is handed over, and its accounts are not yet back

	// Since the last second: accounts that came online, and messages that had waited for them.
	arrived int
	waited  float64

	rest float64 // group commits a second when nothing happens
}

// event is something that happens at a time.
type event struct {
	at     time.Duration
	seq    int // events of one time happen in the order in which they were made
	happen func()
}

type events []*event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	if e[i].at != e[j].at {
		return e[i].at < e[j].at
	}
	return e[i].seq < e[j].seq
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(*event)) }
func (e *events) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	*e = (*e)[:last]
	return x
}

// fleet is the state of the simulation.
type fleet struct {
	p      params
	random *rand.Rand
	now    time.Duration
	seq    int
	queue  events
	nodes  []node
	cells  []cell

	moved   int           // handovers so far
	inMove  int           // of them not finished
	offline int           // accounts
	gate    time.Duration // before which no dial may begin, with a limit
	ticking bool

	seen figures
	each func() // is called after each event; nil: nothing
}

// figures are what is measured from the last call of measure on.
type figures struct {
	since     time.Duration
	firstUp   time.Duration   // the first cell that was taken over is ready to dial
	lastUp    time.Duration   // the last one
	back      []time.Duration // when accounts came online
	dials     map[int]int     // by second
	nodeDials map[[2]int]int  // by node and second
	commits   float64         // groups in a second, at most
	loaders   int             // nodes that loaded at a time, at most
	offline   int             // accounts at a time, at most
}

func newFleet(p params) *fleet {
	f := &fleet{p: p, random: rand.New(rand.NewPCG(p.seed, 0)), nodes: make([]node, p.nodes), cells: make([]cell, p.cells)}
	for i := range f.nodes {
		f.nodes[i] = node{zone: i % p.zones, live: true}
	}
	for i := range f.cells {
		c := &f.cells[i]
		*c = cell{accounts: p.accounts / p.cells, order: order(i, p.nodes), copies: map[int]time.Duration{}}
		if i < p.accounts%p.cells {
			c.accounts++
		}
		c.owner, c.online = c.order[0], c.accounts
		c.rest = groups(float64(c.accounts)*p.messages/3600*p.perMessage, p.commit)
		for _, n := range f.wanted(c) {
			c.copies[n] = 0
		}
	}
	f.measure()
	return f
}

// order returns all nodes by their weight for a cell. The order of two nodes depends on
// nothing else, so a node that comes or goes changes the place of no other one.
func order(cell, nodes int) []int {
	all := make([]int, nodes)
	for i := range all {
		all[i] = i
	}
	slices.SortFunc(all, func(a, b int) int {
		if weight(cell, a) > weight(cell, b) {
			return -1
		}
		return 1
	})
	return all
}

// weight is a hash of both: the finalizer of SplitMix64, twice.
func weight(cell, node int) uint64 { return mix(mix(uint64(cell)+1) + uint64(node)) }

func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// target returns the node that is to own a cell, or none if no node lives.
func (f *fleet) target(c *cell) int {
	for _, n := range c.order {
		if f.nodes[n].live {
			return n
		}
	}
	return none
}

// wanted returns the nodes that are to have a copy of a cell: its target, and with
// followers the next one and the first one of another zone than the target's.
func (f *fleet) wanted(c *cell) []int {
	var all []int
	apart := false
	for _, n := range c.order {
		if !f.nodes[n].live {
			continue
		}
		if len(all) > 0 && (!f.p.followers || apart) {
			break
		}
		other := len(all) > 0 && f.nodes[n].zone != f.nodes[all[0]].zone
		if len(all) < 2 || other {
			all = append(all, n)
		}
		apart = apart || other
	}
	return all
}

// after makes something happen later.
func (f *fleet) after(pause time.Duration, happen func()) {
	f.seq++
	heap.Push(&f.queue, &event{at: f.now + pause, seq: f.seq, happen: happen})
}

// run lets everything happen that is going to until a time.
func (f *fleet) run(until time.Duration) {
	for len(f.queue) > 0 && f.queue[0].at <= until {
		e := heap.Pop(&f.queue).(*event)
		f.now = e.at
		e.happen()
		if f.each != nil {
			f.each()
		}
	}
	if until != ever {
		f.now = until
	}
}

const ever = time.Duration(math.MaxInt64)

func (f *fleet) between(least, most time.Duration) time.Duration {
	return least + time.Duration(f.random.Float64()*float64(most-least))
}

// measure forgets the figures and begins to measure.
func (f *fleet) measure() {
	f.seen = figures{since: f.now, dials: map[int]int{}, nodeDials: map[[2]int]int{}}
}

// kill ends nodes at once.
func (f *fleet) kill(nodes ...int) {
	for _, n := range nodes {
		f.nodes[n].live = false
	}
	for i := range f.cells {
		c := &f.cells[i]
		for _, n := range nodes {
			delete(c.copies, n)
		}
		if c.owner == none || f.nodes[c.owner].live {
			continue
		}
		// The last renewal is up to a quarter of a lease ago.
		f.leave(c, f.p.lease-f.between(0, f.p.lease/4))
		f.takeOver(c, c.grant-f.now+f.between(0, f.p.watch))
	}
	f.copy()
}

// leave ends the ownership of a cell, whose owner may act for a while yet.
func (f *fleet) leave(c *cell, grant time.Duration) {
	f.offline += c.online
	f.seen.offline = max(f.seen.offline, f.offline)
	c.owner, c.grant, c.lost, c.online = none, f.now+grant, f.now, 0
	c.epoch++
	f.tick()
}

// revive starts nodes without any copy.
func (f *fleet) revive(nodes ...int) {
	for _, n := range nodes {
		f.nodes[n] = node{zone: f.nodes[n].zone, live: true, loaded: f.now}
	}
	f.copy()
	f.move()
}

// copy begins the copies that are wanted and removes the others. Without followers a
// node copies ahead only what another one owns and hands over to it.
func (f *fleet) copy() {
	for i := range f.cells {
		c := &f.cells[i]
		f.trim(c)
		for _, n := range f.wanted(c) {
			if f.p.followers || c.owner != none {
				f.complete(c, n)
			}
		}
	}
}

// trim removes the copies that are not wanted, but for the owner's.
func (f *fleet) trim(c *cell) {
	wanted := f.wanted(c)
	for n := range c.copies {
		if n != c.owner && !slices.Contains(wanted, n) {
			delete(c.copies, n)
		}
	}
}

// complete returns when a node has a copy of a cell; it loads one if it has none.
func (f *fleet) complete(c *cell, n int) time.Duration {
	ready, has := c.copies[n]
	if !has {
		rows := float64(c.accounts * f.p.rows)
		ready = max(f.now, f.nodes[n].loaded) + time.Duration(rows/f.p.load*float64(time.Second))
		f.nodes[n].loaded, c.copies[n] = ready, ready
		loaders := 0
		for _, other := range f.nodes {
			if other.live && other.loaded > f.now {
				loaders++
			}
		}
		f.seen.loaders = max(f.seen.loaders, loaders)
	}
	return ready
}

// takeOver makes the target of a cell its owner after a pause, when it has a copy.
func (f *fleet) takeOver(c *cell, pause time.Duration) {
	epoch := c.epoch
	f.after(pause, func() {
		if c.epoch != epoch {
			return
		}
		n := f.target(c)
		if n == none {
			f.takeOver(c, f.p.watch)
			return
		}
		if ready := f.complete(c, n); ready > f.now {
			f.takeOver(c, ready-f.now)
			return
		}
		f.own(c, n)
	})
}

func (f *fleet) own(c *cell, n int) {
	if f.now < c.grant {
		panic("a cell is taken over while its last owner may act")
	}
	c.owner, c.waits = n, c.accounts
	c.epoch++
	f.trim(c)
	up := f.now + f.p.open
	if f.seen.firstUp == 0 {
		f.seen.firstUp = up
	}
	f.seen.lastUp = up
	for range concurrency(f.p.concurrency, c.accounts) {
		f.dialNext(c, c.epoch, f.p.open)
	}
}

// concurrency is how many accounts of a cell are dialled at a time.
func concurrency(least, accounts int) int { return max(least, min(100, accounts/40)) }

// dialNext dials the next account of a cell after a pause, and then the one after it.
func (f *fleet) dialNext(c *cell, epoch int, pause time.Duration) {
	f.after(pause, func() {
		if c.epoch != epoch || c.waits == 0 {
			return
		}
		c.waits--
		var pause time.Duration
		if f.p.dials > 0 {
			pause = max(0, f.gate-f.now)
			f.gate = f.now + pause + time.Duration(float64(time.Second)/f.p.dials)
		}
		f.after(pause, func() { f.dial(c, epoch) })
	})
}

// dial dials one account.
func (f *fleet) dial(c *cell, epoch int) {
	if c.epoch != epoch {
		return
	}
	second := int(f.now / time.Second)
	f.seen.dials[second]++
	f.seen.nodeDials[[2]int{c.owner, second}]++
	f.after(f.between(f.p.connectMin, f.p.connectMax), func() {
		if c.epoch != epoch {
			return
		}
		c.online++
		c.arrived++
		c.waited += (f.now - c.lost).Hours() * f.p.messages
		f.offline--
		f.seen.back = append(f.seen.back, f.now)
		if c.online == c.accounts {
			f.whole(c)
		}
		f.dialNext(c, epoch, 0)
	})
}

// whole is called when all accounts of a cell are online.
func (f *fleet) whole(c *cell) {
	if c.moving {
		c.moving = false
		f.inMove--
	}
	f.move()
}

// move hands cells over to their targets, as many at a time as may be. It waits while a
// cell has no owner for another cause.
func (f *fleet) move() {
	var next time.Duration
	for i := range f.cells {
		if c := &f.cells[i]; c.owner == none && !c.moving {
			return
		}
	}
	for i := range f.cells {
		c := &f.cells[i]
		if f.inMove == f.p.moves {
			return
		}
		n := f.target(c)
		if n == c.owner || c.online < c.accounts {
			continue
		}
		if ready := f.complete(c, n); ready > f.now {
			if next == 0 || ready < next {
				next = ready
			}
			continue
		}
		f.moved++
		f.inMove++
		c.moving = true
		f.leave(c, f.p.handover)
		f.takeOver(c, f.p.handover)
	}
	if next > 0 {
		f.after(next-f.now, f.move)
	}
}

// tick measures each second, as long as an account is offline.
func (f *fleet) tick() {
	if f.ticking {
		return
	}
	f.ticking = true
	f.after(time.Second, func() {
		f.ticking = false
		f.seen.commits = max(f.seen.commits, f.groups())
		if f.offline > 0 {
			f.tick()
		}
	})
}

// groups returns the group commits of the last second in all cells.
func (f *fleet) groups() (sum float64) {
	for i := range f.cells {
		c := &f.cells[i]
		if c.arrived == 0 && c.online == c.accounts {
			sum += c.rest
			continue
		}
		calls := float64(c.online)*f.p.messages/3600*f.p.perMessage + c.waited*f.p.perMessage + float64(c.arrived)*f.p.perDial
		c.arrived, c.waited = 0, 0
		sum += groups(calls, f.p.commit)
	}
	return sum
}

// groups returns how many group commits in a second calls commits become that come by
// chance: what comes while one is on its way shares the next one.
func groups(calls float64, commit time.Duration) float64 {
	if calls == 0 {
		return 0
	}
	s := commit.Seconds()
	return 1 / (s + math.Exp(-calls*s)/calls)
}

// perNode returns how many cells the live node with the fewest owns, and that with the most.
func (f *fleet) perNode() (fewest, most int) {
	counts := make([]int, f.p.nodes)
	for i := range f.cells {
		if f.cells[i].owner != none {
			counts[f.cells[i].owner]++
		}
	}
	fewest = f.p.cells
	for n, count := range counts {
		if f.nodes[n].live {
			fewest, most = min(fewest, count), max(most, count)
		}
	}
	return fewest, most
}

// zone returns the nodes of a zone.
func (f *fleet) zone(z int) (all []int) {
	for n := range f.nodes {
		if f.nodes[n].zone == z {
			all = append(all, n)
		}
	}
	return all
}
