// Package consumer is the other side of the interface: a client that calls a running
// Postern as its users do, and a receiver of webhooks. The demo, the listen command
// and the tests use it.
package consumer
