package cluster

import (
	"context"
	"slices"
	"strconv"
	"time"

	"postern/store"
)

const (
	// noRoomFor is how long a disk counts as full after a write that failed.
	noRoomFor = 10 * time.Second
	// handOverEvery is how often a cell is handed over at most because of a full disk.
	handOverEvery = time.Hour
	// handedOver is the name of the secret of the cell that has the time of the last one, in
	// seconds of Unix by the clock of the database.
	handedOver = "handed_over"
)

// measure notes whether the disk of the file is full.
func (n *Node) measure(s *store.Store) (full bool) {
	full = n.cfg.DiskFull(s)
	n.mu.Lock()
	full = full || n.noRoom != 0 && n.cfg.Awake()-n.noRoom < noRoomFor
	was := n.state.Full
	n.state.Full = full
	n.mu.Unlock()
	switch {
	case full && !was:
		n.log.Error("the disk of this node is full or nearly full: free some space; a standby follows no changes until then, and an owner hands over to a standby with room")
	case !full && was:
		n.log.Info("the disk of this node has room again")
	}
	return full
}

// filled notes that a write failed because the disk is full.
func (n *Node) filled() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.noRoom = n.cfg.Awake()
}

// waitForRoom waits after an error of a disk without room for the file. The file is opened
// again then.
func (n *Node) waitForRoom(ctx context.Context, cause error) {
	n.filled()
	n.mu.Lock()
	n.state.Full = true
	n.mu.Unlock()
	n.log.Error("the disk of this node has no room for the data file: free some space; this node goes on by itself", "error", cause)
	if err := n.closeFile(); err != nil {
		n.log.Warn("the data file was not closed in order, which the next start repairs", "error", err)
	}
	n.pause(ctx, noRoomFor)
}

// yields reports whether a standby leaves the cell to others because its disk is full: to a
// standby with room and, while its writes fail, to none.
func (n *Node) yields(ctx context.Context) bool {
	n.mu.Lock()
	full, failing := n.state.Full, n.noRoom != 0 && n.cfg.Awake()-n.noRoom < noRoomFor
	n.mu.Unlock()
	return full && (failing || n.another(ctx))
}

// another reports whether a standby with room lives.
func (n *Node) another(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	members, err := n.cfg.Database.Members(ctx, n.cfg.Cell)
	if err != nil {
		return false
	}
	var now time.Time // by the server's clock
	for _, m := range members {
		if m.Seen.After(now) {
			now = m.Seen
		}
	}
	return slices.ContainsFunc(members, func(m Member) bool {
		return m.Name != n.cfg.Name && m.Role == string(Standby) && !m.Full && now.Sub(m.Seen) < m.Lease
	})
}

// relieve hands the cell over if the disk of the owner is full and a standby has room, once
// an hour at most.
func (o *grant) relieve() {
	n := o.n
	s := n.File()
	if s == nil || n.cfg.HandOver == nil || o.leaves || !n.measure(s) || !n.another(o.ctx) {
		return
	}
	ctx, cancel := context.WithTimeout(o.ctx, callTimeout)
	defer cancel()
	last, err := n.cfg.Database.Secret(ctx, n.cfg.Cell, handedOver)
	if err != nil {
		n.log.Warn("the cell is not handed over now: the database did not say when it was last", "error", err)
		return
	}
	n.mu.Lock()
	now := n.cfg.Now().Add(-n.ahead)
	n.mu.Unlock()
	if at, err := strconv.ParseInt(string(last), 10, 64); err == nil && now.Sub(time.Unix(at, 0)).Abs() < handOverEvery {
		return
	}
	if err := n.cfg.Database.SetSecret(ctx, n.cfg.Cell, handedOver, strconv.AppendInt(nil, now.Unix(), 10)); err != nil {
		n.log.Warn("the cell is not handed over now: its time was not noted in the database", "error", err)
		return
	}
	o.leaves = true
	n.log.Error("the disk of this node is full or nearly full, and a standby has room: this process stops and hands the cell over; free some space")
	n.cfg.HandOver()
}
