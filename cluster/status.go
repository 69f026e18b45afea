package cluster

import (
	"context"
	"slices"
	"time"
)

// CellStatus is what GET /admin/cluster and postern status report.
type CellStatus struct {
	Cell    string      `json:"cell" doc:"Name of the cell." example:"main"`
	Role    Role        `json:"role" doc:"What this node is: owner, standby, loading or connecting." example:"owner"`
	Node    string      `json:"node" doc:"Name of this node." example:"db-2"`
	Epoch   uint64      `json:"epoch" doc:"Rises by one with each takeover." example:"3"`
	Version uint64      `json:"version" doc:"Rises by one with each commit." example:"90210"`
	Owner   *CellOwner  `json:"owner" doc:"The owner, while its lease is valid; null: there is none."`
	Nodes   []CellNode  `json:"nodes" doc:"The nodes that live, and those that went within the last hour."`
	Engine  *CellEngine `json:"engine" doc:"The database; null while it does not answer."`

	Reason string `json:"reason,omitempty" doc:"Why this node waits for the database." example:"the database cannot be reached"`
}

// CellOwner is the owner of a cell.
type CellOwner struct {
	Node    string    `json:"node" doc:"Name of the owner." example:"db-2"`
	Address *string   `json:"address" doc:"Where other nodes reach it; null: they do not." example:"http://10.0.0.12:8084"`
	Since   time.Time `json:"since" doc:"When it took the cell." example:"2026-05-04T10:00:00.000Z"`
	LeaseMs int64     `json:"leaseMs" doc:"How long it owns the cell without a renewal, in milliseconds." example:"10000"`
}

// CellNode is a node of a cell: this one, one that lives, or one that went within the last
// hour.
type CellNode struct {
	Node           string    `json:"node" doc:"Name of the node." example:"db-1"`
	Address        *string   `json:"address" doc:"Where other nodes reach it; null: they do not." example:"http://10.0.0.11:8084"`
	Role           string    `json:"role" doc:"owner, standby or gone, or what it does before it is one of them." example:"standby"`
	ProgramVersion string    `json:"programVersion" doc:"Version of its program." example:"v1.4.0"`
	SeenAt         time.Time `json:"seenAt" doc:"When it was seen last." example:"2026-05-04T10:00:00.000Z"`
	BehindVersions uint64    `json:"behindVersions" doc:"Commits that its copy lacks." example:"0"`
	BehindMs       int64     `json:"behindMs" doc:"For how long its copy has lacked them, in milliseconds." example:"0"`
	Differs        []string  `json:"differs" doc:"Names of settings that differ from those of the owner."`
}

// CellEngine is the database server.
type CellEngine struct {
	Version     string   `json:"version" doc:"Version of PostgreSQL." example:"15.14"`
	Primary     string   `json:"primary" doc:"Host and port of the server that takes changes." example:"10.0.0.21:5432"`
	Synchronous []string `json:"synchronous" doc:"Servers that a commit waits for."`
	AcceptLoss  bool     `json:"acceptLoss" doc:"Whether a server without a second copy is accepted." example:"false"`
	RoundTripMs float64  `json:"roundTripMs" doc:"Time of one question to it, in milliseconds." example:"0.4"`
}

// gone is the role of a node that is not seen any more.
const gone = "gone"

// Status asks the database for the state of the cell. If it does not answer, Status
// reports what the node saw last.
func (n *Node) Status(ctx context.Context) CellStatus {
	s := n.State()
	out := CellStatus{Cell: n.cfg.Cell, Role: s.Role, Node: n.cfg.Name, Epoch: s.Cell.Epoch, Version: s.Cell.Version, Nodes: []CellNode{}}
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
func Look(ctx context.Context, db Database, cell string) (out CellStatus, found bool, err error) {
	server, err := db.Check(ctx)
	if err != nil {
		return out, false, err
	}
	c, found, err := db.Look(ctx, cell)
	if err != nil || !found {
		return out, found, err
	}
	members, err := db.Members(ctx, cell)
	return CellStatus{
		Cell: cell, Epoch: c.Epoch, Version: c.Version, Owner: holderOf(c, members, server.Now), Nodes: peersOf(c, members, server.Now), Engine: engineOf(server, false),
	}, true, err
}

func engineOf(s Server, acceptLoss bool) *CellEngine {
	names := s.Synchronous
	if names == nil {
		names = []string{}
	}
	return &CellEngine{Version: s.Version, Primary: s.Primary, Synchronous: names, AcceptLoss: acceptLoss, RoundTripMs: float64(s.RoundTrip.Microseconds()) / 1000}
}

// holderOf returns the owner whose registration is not older than its lease.
func holderOf(c Cell, members []Member, now time.Time) *CellOwner {
	at := slices.IndexFunc(members, func(m Member) bool { return m.Name == c.Owner.Name && m.Run == c.Owner.Run })
	if c.Owner.Name == "" || c.Released || at < 0 || now.Sub(members[at].Seen) > members[at].Lease {
		return nil
	}
	return &CellOwner{Node: c.Owner.Name, Address: orNull(c.Owner.Address), Since: c.Since.UTC().Truncate(time.Millisecond), LeaseMs: members[at].Lease.Milliseconds()}
}

func peersOf(c Cell, members []Member, now time.Time) []CellNode {
	out := make([]CellNode, 0, len(members))
	var owner Member
	for _, m := range members {
		if m.Name == c.Owner.Name {
			owner = m
		}
	}
	for _, m := range members {
		p := CellNode{
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
func (s CellStatus) Well() bool {
	return s.Owner != nil && slices.ContainsFunc(s.Nodes, func(p CellNode) bool { return p.Role == string(Standby) && p.BehindMs <= 5000 })
}
