package app

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// observeCell adds the histogram of what the database takes for a commit, and returns what
// fills it.
func (m *metrics) observeCell() func(time.Duration) {
	commits := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "postern_cluster_commit_seconds", Help: "Time that the database took for a commit of the cell.",
		Buckets: []float64{.00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 5},
	})
	m.registry.MustRegister(commits)
	return func(took time.Duration) { commits.Observe(took.Seconds()) }
}

// collectCell reports the node of a program with store.url.
func (m *metrics) collectCell(c collection) {
	if m.app.cell == nil {
		return
	}
	node := m.app.cell.node
	s := node.State()
	from, _ := node.Takeover()
	c.gauge("postern_cluster_owner", "1 if this node owns the cell and its lease is valid.", oneIf(node.Valid()))
	c.gauge("postern_cluster_epoch", "How often the cell was taken over, as this node knows it.", float64(s.Cell.Epoch))
	c.gauge("postern_cluster_lease_seconds", "What is left of the lease of this node; 0 on a standby.", node.LeaseLeft().Seconds())
	c.gauge("postern_cluster_behind_versions", "Changes that the file of a standby lacks.", float64(s.Behind))
	c.gauge("postern_cluster_behind_seconds", "How long the file of a standby has lacked changes.", node.Behind().Seconds())
	c.counter("postern_cluster_takeovers_total", "How often this process took the cell from another node.", oneIf(from != ""))
	c.gauge("postern_cluster_engine_up", "1 if the database answered the last call of this node.", oneIf(node.Answered()))
	c.gauge("postern_cluster_engine_synchronous", "1 if commits wait for a second copy; 0 also with store.accept_loss and none.", oneIf(node.SecondCopy()))
	for result, n := range m.app.cell.forwarded() {
		c.counter("postern_cluster_forwarded_total", "Requests that this node forwarded to the owner, by result: ok, lost (no answer) or refused (not sent).", float64(n), "result", result)
	}
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
