package cluster

import (
	"fmt"
	"time"
)

// clockOff is how far two clocks may be apart before a node reports it.
const clockOff = time.Minute

// compareClock notes how far the clock of this machine is ahead of the server's.
func (n *Node) compareClock(server time.Time) {
	n.mu.Lock()
	n.ahead = n.cfg.Now().Sub(server)
	n.mu.Unlock()
	n.logWarnings()
}

// newest returns the time of the newest change that was not made with the clock of this
// machine.
func (n *Node) newest() time.Time {
	if n.grant != nil {
		return n.grant.g.Stamp
	}
	return n.state.Cell.Stamp
}

// Warnings returns what an operator should look at although the node works.
func (n *Node) Warnings() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []string
	if off := n.ahead.Round(time.Second); off.Abs() > clockOff {
		word := "ahead of"
		if off < 0 {
			word = "behind"
		}
		all = append(all, fmt.Sprintf("the clock of this machine is %s %s that of the database: synchronise both by NTP (timedatectl); retries, sending windows and ages follow the clock of the node that owns the data", off.Abs(), word))
	}
	if off := n.newest().Sub(n.cfg.Now()).Round(time.Second); off > clockOff {
		all = append(all, fmt.Sprintf("the newest change in the database is from %s in the future: the clock of a node is or was ahead; synchronise all by NTP (timedatectl). With this node as owner, retries, sending windows and ages wait until that time", off))
	}
	return all
}

// logWarnings logs warnings when their number has changed.
func (n *Node) logWarnings() {
	all := n.Warnings()
	n.mu.Lock()
	changed := len(all) != n.warned
	n.warned = len(all)
	n.mu.Unlock()
	if !changed {
		return
	}
	for _, w := range all {
		n.log.Warn("look at this node of the cell, as the warning says", "warning", w)
	}
	if len(all) == 0 {
		n.log.Info("the warnings of this node of the cell are over")
	}
}
