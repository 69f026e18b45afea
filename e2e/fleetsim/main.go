// Fleetsim computes what the loss of a node or of a zone would cost a fleet of nodes that
// share many cells, for docs/cluster.md. It is a simulation: nothing of Postern runs in
// it, and Postern has one cell for each process.
//
//	go run ./e2e/fleetsim [-nodes 50] [-zones 3] [-cells 1000] [-accounts 1000000] …
//
// # The model
//
// A cell is one data set with its accounts. One node owns it, by a lease that is renewed
// every quarter of its length. Other nodes may follow it, which means that they have a
// copy. The owner of a cell is the live node with the highest weight for it (rendezvous
// hashing). Its followers are the next node in that order, and the first one in another
// zone.
//
// When a node dies, each of its cells is taken over as soon as a whole lease has passed
// since the last renewal, by the live node with the highest weight. A node without a
// copy loads the rows first, one cell after the other. The new owner then dials the
// accounts, some at a time.
//
// When a node comes back, it is empty. It loads the cells that it is to own or to follow;
// then they are handed over, a limited number at a time: the former owner stops, the new
// one begins, and the next handover follows when all accounts of the cell are online.
//
// A dial never fails, a message never waits for another account, and the engine and
// WhatsApp take what comes.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

// params are what the simulation assumes.
type params struct {
	nodes, zones, cells, accounts int

	lease    time.Duration // of a cell
	watch    time.Duration // pause between two looks at a lease
	follow   time.Duration // pause between two looks for changes
	open     time.Duration // from the takeover of a cell that is loaded to its first dial
	handover time.Duration // in which a cell that is handed over has no owner

	rows int     // of an account
	load float64 // rows that a node loads in a second

	concurrency            int // dials of a cell at a time, at least; one for each 40 accounts, 100 at most
	connectMin, connectMax time.Duration
	dials                  float64 // of the fleet in a second, at most; 0: no limit

	messages            float64 // that an account receives in an hour
	perMessage, perDial float64 // commits
	commit              time.Duration
	moves               int // handovers at a time
	seed                uint64
	followers           bool
}

func defaults() params {
	return params{
		nodes: 50, zones: 3, cells: 1000, accounts: 1_000_000,
		lease: 10 * time.Second, watch: time.Second, follow: 200 * time.Millisecond, open: 300 * time.Millisecond, handover: time.Second,
		rows: 1000, load: 100_000,
		concurrency: 5, connectMin: time.Second, connectMax: 2 * time.Second,
		messages: 12, perMessage: 3, perDial: 3, commit: 2500 * time.Microsecond,
		moves: 1, seed: 1, followers: true,
	}
}

func main() {
	p := defaults()
	flag.IntVar(&p.nodes, "nodes", p.nodes, "number of `nodes`")
	flag.IntVar(&p.zones, "zones", p.zones, "number of `zones`, to which the nodes belong in turn")
	flag.IntVar(&p.cells, "cells", p.cells, "number of `cells`")
	flag.IntVar(&p.accounts, "accounts", p.accounts, "number of `accounts` in all cells")
	flag.DurationVar(&p.lease, "lease", p.lease, "`time` without a renewal after which a cell is taken over")
	flag.IntVar(&p.rows, "rows", p.rows, "`rows` of an account")
	flag.Float64Var(&p.load, "load", p.load, "`rows` that a node loads in a second")
	flag.IntVar(&p.concurrency, "concurrency", p.concurrency, "`dials` of a cell at a time, at least")
	flag.DurationVar(&p.connectMin, "connect-min", p.connectMin, "shortest `time` of a dial with its login")
	flag.DurationVar(&p.connectMax, "connect-max", p.connectMax, "longest `time` of a dial with its login")
	flag.Float64Var(&p.messages, "messages", p.messages, "`messages` that an account receives in an hour")
	flag.Float64Var(&p.perMessage, "commits-per-message", p.perMessage, "`commits` of a received message")
	flag.Float64Var(&p.perDial, "commits-per-dial", p.perDial, "`commits` of a dial with its login")
	flag.DurationVar(&p.commit, "commit", p.commit, "`time` of a group commit with its round trip")
	flag.Uint64Var(&p.seed, "seed", p.seed, "`number` that all chance is drawn from")
	flag.Parse()
	if flag.NArg() > 0 || p.nodes < p.zones || p.zones < 2 || p.cells < 1 || p.accounts < p.cells || p.lease <= 0 || p.load <= 0 || p.connectMin > p.connectMax || p.commit <= 0 {
		fmt.Fprintln(os.Stderr, "fleetsim: it takes flags only, for two zones or more, a node for each zone, an account for each cell, and positive times")
		os.Exit(2)
	}
	fmt.Print(tables(p))
}
