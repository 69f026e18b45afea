package cluster

import (
	"context"
	"slices"
	"time"
)

// Status is what GET /admin/cluster and postern status report.
type Status struct {
	Cell    string  `json:"cell"`
	Role    Role    `json:"role"`
	Node    string  `json:"node"`
	Epoch   uint64  `json:"epoch"`
	Version uint64  `json:"version"`
	Owner   *Holder `json:"owner"` // null: no lease is valid
	Nodes   []Peer  `json:"nodes"`
	Engine  *Engine `json:"engine"` // null: the database does not answer

	Reason string `json:"reason,omitempty"` // why the node waits for the database
}

// Holder is the owner of a cell.
type Holder struct {
	Node    string    `json:"node"`
	Address *string   `json:"address"`
	Since   time.Time `json:"since"`
	LeaseMs int64     `json:"leaseMs"`
}

// Peer is a node of a cell: this one, one that lives, or one that went within the last
// hour.
type Peer struct {
	Node           string    `json:"node"`
	Address        *string   `json:"address"`
	Role           string    `json:"role"` // owner, standby, gone, or what it does before it is one of them
	ProgramVersion string    `json:"programVersion"`
	SeenAt         time.Time `json:"seenAt"`
	BehindVersions uint64    `json:"behindVersions"`
	BehindMs       int64     `json:"behindMs"`
	Differs        []string  `json:"differs"` // names of settings that differ from the owner's
}

// Engine is the database server.
type Engine struct {
	Version     string   `json:"version"`
	Primary     string   `json:"primary"`
	Synchronous []string `json:"synchronous"`
	AcceptLoss  bool     `json:"acceptLoss"`
	RoundTripMs float64  `json:"roundTripMs"`
}

// gone is the role of a node that is not seen any more.
const gone = "gone"

// Status asks the database for the state of the cell. If it does not answer, Status
// reports what the node saw last.
func (n *Node) Status(ctx context.Context) Status {
	s := n.State()
	out := Status{Cell: n.cfg.Cell, Role: s.Role, Node: n.cfg.Name, Epoch: s.Cell.Epoch, Version: s.Cell.Version, Nodes: []Peer{}}
	if s.Reason != nil {
		out.Reason = s.Reason.Error()
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	server, err := n.cfg.Database.Check(ctx)
	if err == nil {
		out.Engine = engineOf(server, n.cfg.AcceptLoss)
	}
	cell, found, err := n.cfg.Database.Look(ctx, n.cfg.Cell)
	if err != nil || !found {
		return out
	}
	out.Epoch, out.Version = cell.Epoch, cell.Version
	members, err := n.cfg.Database.Members(ctx, n.cfg.Cell)
	if err != nil {
		return out
	}
	out.Owner, out.Nodes = holderOf(cell, members, server.Now), peersOf(cell, members, server.Now)
	return out
}

// Look returns the state of a cell for a process that is no node of it.
func Look(ctx context.Context, db Database, cell string) (out Status, found bool, err error) {
	server, err := db.Check(ctx)
	if err != nil {
		return out, false, err
	}
	c, found, err := db.Look(ctx, cell)
	if err != nil || !found {
		return out, found, err
	}
	members, err := db.Members(ctx, cell)
	return Status{
		Cell: cell, Epoch: c.Epoch, Version: c.Version, Owner: holderOf(c, members, server.Now), Nodes: peersOf(c, members, server.Now), Engine: engineOf(server, false),
	}, true, err
}

func engineOf(s Server, acceptLoss bool) *Engine {
	names := s.Synchronous
	if names == nil {
		names = []string{}
	}
	return &Engine{Version: s.Version, Primary: s.Primary, Synchronous: names, AcceptLoss: acceptLoss, RoundTripMs: float64(s.RoundTrip.Microseconds()) / 1000}
}

// holderOf returns the owner whose registration is not older than its lease.
func holderOf(c Cell, members []Member, now time.Time) *Holder {
	at := slices.IndexFunc(members, func(m Member) bool { return m.Name == c.Owner.Name && m.Run == c.Owner.Run })
	if c.Owner.Name == "" || c.Released || at < 0 || now.Sub(members[at].Seen) > members[at].Lease {
		return nil
	}
	return &Holder{Node: c.Owner.Name, Address: orNull(c.Owner.Address), Since: c.Since.UTC().Truncate(time.Millisecond), LeaseMs: members[at].Lease.Milliseconds()}
}

func peersOf(c Cell, members []Member, now time.Time) []Peer {
	out := make([]Peer, 0, len(members))
	var owner Member
	for _, m := range members {
		if m.Name == c.Owner.Name {
			owner = m
		}
	}
	for _, m := range members {
		p := Peer{
			Node: m.Name, Address: orNull(m.Address), Role: m.Role, ProgramVersion: m.Program, SeenAt: m.Seen.UTC().Truncate(time.Millisecond), Differs: differences(owner, m),
		}
		switch {
		case now.Sub(m.Seen) > m.Lease:
			p.Role = gone
		case m.Name != owner.Name && m.Version < c.Version:
			p.BehindVersions, p.BehindMs = c.Version-m.Version, m.Behind.Milliseconds()
		}
		out = append(out, p)
	}
	return out
}

// differences returns the names of settings in which a node differs from the owner.
func differences(owner, m Member) []string {
	names := []string{}
	for name, digest := range m.Digests {
		if own, has := owner.Digests[name]; has && own != digest {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Well reports whether the cell has an owner whose lease is valid and a standby that is
// at most five seconds behind.
func (s Status) Well() bool {
	return s.Owner != nil && slices.ContainsFunc(s.Nodes, func(p Peer) bool { return p.Role == string(Standby) && p.BehindMs <= 5000 })
}
