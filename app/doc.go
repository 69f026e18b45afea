// Package app is the running program: it starts the parts in order, gives each what
// it needs of the others, and stops them in the opposite order.
//
// app.go has the order in which the parts start, and parts.go one function for each.
// adapters.go fits one part to the interface that another declares, as the packages fleet
// and hub do, notices.go tells one part of what another found, connector.go opens the
// connections to WhatsApp, listen.go opens the listeners and serve.go answers at them,
// troubles.go and metrics.go report the state, lifecycle.go stops the parts. This package
// makes no decisions about messages; the wired packages do.
//
// Listen opens the listeners before anything else. Start returns when requests are
// answered; if a part cannot start, or its context ends, the started parts are stopped
// again. Stop returns at the end of its context at the latest.
package app
