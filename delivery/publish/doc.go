// Package publish writes the events of instances: the durable ones in the commit that stores
// their cause, the others after it, and publishes all of them after the commit.
//
// A [Writer] collects the events of one commit. It asks an [Origin] about the instance: where
// its events go, and what it looks like in them. Durable events go to the [delivery.Ledger]
// with a pending delivery for each destination. If the disk is nearly full, they are
// delivered from memory, once, and the log says so.
package publish
