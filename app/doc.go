// Package app is the running program: it starts the parts in order, gives each what
// it needs of the others, and stops them in the opposite order.
//
// app.go reads straight through, a function a part. adapters.go, gate.go and hub.go fit
// one part to the interface that another declares, connector.go says which WhatsApp is
// talked to, notices.go hands on what instances tell, serve.go opens the listeners,
// ready.go and metrics.go say how it is, lifecycle.go stops. Nothing here decides what becomes of a
// message; that is in the packages that are wired.
//
// Listen takes the addresses before anything else is touched. Start returns when
// requests are answered; when a part cannot start, or its context ends, what was
// started is stopped again. Stop gives up at the end of its context.
package app
