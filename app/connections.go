package app

import (
	"log/slog"
	"net"

	"postern/internal/peers"
)

// Limits of client connections, WebSockets included. Each costs some
// kilobytes and a descriptor of the system.
const (
	maxConnections    = 20_000
	minConnections    = 8
	scrapeConnections = 64 // at the metrics' own address
)

// cellInstances is how many instances a node of a cell is assumed to have before it owns
// the cell.
const cellInstances = 1000

// ownDescriptors is the number of descriptors besides connections: the data
// file, the log, files on their way.
const ownDescriptors = 64

// clientConnections returns how many client connections leave enough descriptors for ours. At
// least half of all descriptors are left, for instances that are added later.
func clientConnections(descriptors, ours int) int {
	return max(minConnections, min(maxConnections, descriptors/2, descriptors-ours))
}

// LoneConnections returns the limit of client connections for a command that serves
// without instances.
func LoneConnections() int { return clientConnections(peers.Descriptors(), ownDescriptors) }

// perAddress returns the limit of one address: never more than half of all, so that
// one client cannot exhaust them. 0 is none.
func perAddress(configured int64, total int) int {
	if configured == 0 {
		return 0
	}
	return min(int(configured), max(1, total/2))
}

// ours returns how many descriptors the program needs for itself.
func (a *App) ours() int {
	instances := cellInstances
	if a.registry != nil {
		instances = len(a.registry.List())
	}
	if a.sandbox != nil {
		instances *= 2 // the other end of each connection is here too
	}
	return ownDescriptors + scrapeConnections + int(a.cfg.Webhook.Workers) + relayConnections + instances
}

// limited returns a listener for clients. Trusted proxies bring many and have no
// limit of their own. strangers says that its requests have credentials, see
// [peers.Limits].
func (a *App) limited(l net.Listener, total int, proxies peers.Proxies, strangers bool) *peers.Listener {
	return peers.Listen(l, peers.Limits{
		Total: total, PerAddress: perAddress(a.cfg.Server.MaxConnectionsPerAddress, total), Exempt: proxies, Strangers: strangers, Logger: a.log,
	})
}

// The minimum memory of Go, in bytes: docs/operation.md has the
// measurements.
const (
	baseMemory     = 48 << 20
	instanceMemory = 300 << 10
)

// warnRoom warns of limits of the system that are below what so many instances need.
func warnRoom(log *slog.Logger, instances, descriptors int, memory int64) {
	if needs := peers.Enough(instances); descriptors < needs {
		log.Warn("the limit of open files may be too low for the instances; raise LimitNOFILE= of the service, ulimit -n, or --ulimit nofile of the container",
			"limit", descriptors, "needs", needs, "instances", instances)
	}
	if needs := baseMemory + int64(instances)*instanceMemory; memory < needs {
		log.Warn("the memory limit may be too low for the instances; raise MemoryMax= of the service, --memory of the container, or GOMEMLIMIT",
			"limit_bytes", memory, "needs_bytes", needs, "instances", instances)
	}
}
