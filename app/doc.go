// Package app is the running program: it starts the parts in order, gives each what
// it needs of the others, and stops them in the opposite order.
//
// app.go wires the parts in order, one function for each. adapters.go, gate.go and hub.go
// fit one part to the interface that another declares, connector.go selects the WhatsApp
// server, notices.go publishes the events of instances, serve.go opens the listeners,
// ready.go and metrics.go report the state, lifecycle.go stops the parts. This package makes
// no decisions about messages; the wired packages do.
//
// Listen opens the listeners before anything else. Start returns when requests are
// answered; if a part cannot start, or its context ends, the started parts are stopped
// again. Stop returns at the end of its context at the latest.
package app
