// Package cluster tests nodes of a cell: whole programs on real database servers, which
// are killed, paused and cut off.
package cluster
