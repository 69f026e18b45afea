package cluster

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"postern/cluster/postgres/pgtest"
	"postern/e2e/rig"
)

// nemesis is a network of three nodes whose lines can be cut.
type nemesis struct {
	*network
	*rand.Rand
	engine, peer, whatsapp []*pgtest.Proxy // one of each node
	disks                  []string        // its file system, empty: it has none of its own
	copies                 int             // that were made of the database
}

// failure is what a round begins with. It ends by itself.
type failure struct {
	name string
	does func(n *nemesis, k int)
}

var failures = []failure{
	{"is killed", func(n *nemesis, k int) { n.nodes[k].Kill() }},
	{"is stopped in order", func(n *nemesis, k int) {
		_ = n.nodes[k].Cmd.Process.Signal(syscall.SIGTERM)
		n.nodes[k].exit()
	}},
	{"is paused for more than its lease", func(n *nemesis, k int) { n.pauses(k, lease+n.upTo(3*time.Second)) }},
	{"is paused for less than its lease", func(n *nemesis, k int) { n.pauses(k, n.upTo(lease)) }},
	{"is cut off from the database", func(n *nemesis, k int) { n.cut(n.engine[k], 8*time.Second) }},
	{"is late at the database", func(n *nemesis, k int) {
		release := n.engine[k].Hold()
		time.Sleep(n.upTo(8 * time.Second))
		release()
	}},
	{"cannot be reached by the others", func(n *nemesis, k int) { n.cut(n.peer[k], 5*time.Second) }},
	{"is cut off from WhatsApp", func(n *nemesis, k int) { n.cut(n.whatsapp[k], 5*time.Second) }},
	{"loses answers of WhatsApp", func(n *nemesis, k int) {
		for range 4 {
			n.whatsapp[k].Lose() // the library sends the same stanza again on the next connection
			time.Sleep(n.upTo(time.Second))
		}
	}},
	{"loses its network", func(n *nemesis, k int) {
		if n.segment == nil {
			return
		}
		n.segment.link(n.nodes[k].name, false)
		time.Sleep(n.upTo(10 * time.Second))
		n.segment.link(n.nodes[k].name, true)
	}},
	{"is killed, and its clock is an hour behind", func(n *nemesis, k int) {
		n.nodes[k].Kill()
		if n.nodes[k].shift = ""; rig.CanShiftClock {
			n.nodes[k].shift = "-1h"
		}
	}},
	{"has no room on its disk", (*nemesis).fillsDisk},
	{"sees the database paused", func(n *nemesis, _ int) {
		n.primary.Pause()
		time.Sleep(n.upTo(4 * time.Second))
		n.primary.Resume()
	}},
	{"sees waits for the second copy cancelled", func(n *nemesis, _ int) {
		n.copying.Darken(true)
		for range 5 {
			time.Sleep(n.upTo(400 * time.Millisecond))
			n.primary.CancelWaits(n.t)
		}
		n.copying.Cut()
		n.copying.Darken(false)
	}},
	{"sees the copy of the database cut off and promoted", (*nemesis).promotesCopy},
}

func (n *nemesis) upTo(most time.Duration) time.Duration {
	return time.Duration(n.Int64N(int64(most)))
}

func (n *nemesis) pauses(k int, d time.Duration) {
	n.nodes[k].pause()
	time.Sleep(d)
	_ = n.nodes[k].Cmd.Process.Signal(syscall.SIGCONT)
}

// cut loses what a line carries for a while.
func (n *nemesis) cut(line *pgtest.Proxy, most time.Duration) {
	line.Darken(true)
	time.Sleep(n.upTo(most))
	line.Cut() // bytes of its connections are missing
	line.Darken(false)
}

// fillsDisk takes all room of a node's file system for a while.
func (n *nemesis) fillsDisk(k int) {
	if n.disks[k] == "" {
		return
	}
	ballast := filepath.Join(n.disks[k], "ballast")
	f, err := os.Create(ballast)
	if err != nil {
		n.t.Fatal(err)
	}
	block := make([]byte, 1<<20)
	for err == nil {
		_, err = f.Write(block)
	}
	f.Close()
	time.Sleep(n.upTo(5 * time.Second))
	if err := os.Remove(ballast); err != nil {
		n.t.Fatal(err)
	}
}

// promotesCopy cuts the copy of the database off, so that commits wait, kills the primary and
// promotes the copy, and then makes a new copy.
func (n *nemesis) promotesCopy(int) {
	n.copying.Darken(true)
	time.Sleep(n.upTo(time.Second))
	n.primary.Kill()
	n.copying.Cut()
	n.copy.Alone(n.t)
	n.copy.Promote(n.t)
	n.primary = n.copy
	for _, line := range n.engine {
		line.Lead(n.primary.Port)
	}
	n.copying.Darken(false)
	n.copying.Lead(n.primary.Port)
	n.copies++
	n.copy = n.primary.AddStandbyBy(n.t, fmt.Sprintf("copy%d", n.copies), n.copying.Port)
}
