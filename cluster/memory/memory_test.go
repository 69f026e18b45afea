package memory_test

import (
	"testing"

	"postern/cluster"
	"postern/cluster/clustertest"
	"postern/cluster/memory"
)

func TestDatabaseKeepsTheRules(t *testing.T) {
	clustertest.Run(t, func(*testing.T) cluster.Database { return &memory.Database{} })
}
